"""The options that every command shares, before or after its name.

A command is a function whose first parameter is a `Call`; `shared` gives it the options. What stands nearer to the end of the command
line wins. A command that has an option of the same name keeps its own (``log --user``): the shared one then stands before the command.
"""

import inspect
import os
from collections.abc import Callable
from dataclasses import field, replace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from idstore.cli.output import Output
from idstore.frozen import dataclass

STORE = "IDSTORE_STORE"
USER = "IDSTORE_USER"
WAIT = 10.0
"""Seconds to wait for a busy store."""
PREFIX = "shared_"
"""What the shared options are called among a command's parameters."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a command was called, beside its own parameters."""

    given_store: str | None = None
    given_user: str | None = None
    wait: float = WAIT
    output: Output = field(default_factory=Output)

    @property
    def store(self) -> str:
        """Directory or address of the store: as given, from the environment, or the user's own."""
        return self.given_store or os.environ.get(STORE) or _own_store()

    @property
    def user(self) -> str:
        """The acting party: as given, from the environment, or the login name."""
        return self.given_user or os.environ.get(USER) or _login_name()

    def with_options(self, store: str | None, user: str | None, wait: float | None, output: Output) -> "Call":
        """This call, with what was given closer to the end of the command line."""
        return replace(
            self,
            given_store=self.given_store if store is None else store,
            given_user=self.given_user if user is None else user,
            wait=self.wait if wait is None else wait,
            output=Output(json=self.output.json or output.json, quiet=self.output.quiet or output.quiet),
        )


def _own_store() -> str:
    from platformdirs import user_data_path

    return str(user_data_path("idstore", appauthor=False))


def _login_name() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a container may run under a number that has no name
        raise typer.BadParameter(f"this account has no login name; say who you are with --user NAME or {USER}") from None


def _seconds(value: float | None) -> float | None:
    if value is not None and not value >= 0:  # said so, NaN is refused as well
        raise typer.BadParameter(f"{value:g} is no waiting time; give seconds, 0 or more")
    return value


def remember(
    context: typer.Context,
    shared_store: Annotated[
        str | None, typer.Option("--store", metavar="DIR-or-URL", help=f"The store. [{STORE}; default: a folder of yours]")
    ] = None,
    shared_user: Annotated[str | None, typer.Option("--user", metavar="NAME", help=f"Who acts. [{USER}; default: your login name]")] = None,
    shared_wait: Annotated[
        float | None, typer.Option("--wait", metavar="S", callback=_seconds, help=f"Seconds to wait for a busy store. [default: {WAIT:g}]")
    ] = None,
    shared_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    shared_quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but data and errors.")] = False,
) -> None:
    """Take note of the shared options in the context, for the levels below."""
    above = context.obj if isinstance(context.obj, Call) else Call()
    context.obj = above.with_options(shared_store, shared_user, shared_wait, Output(json=shared_json, quiet=shared_quiet))


_SHARED = [parameter for parameter in inspect.signature(remember).parameters.values() if parameter.name.startswith(PREFIX)]


def shared(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """The command as typer reads it: with the shared options after its own.

    command   a function of a `Call` and of its own parameters; it returns nothing, or its exit code.
    """

    def called(context: typer.Context, **arguments: Any) -> int | None:
        remember(context, **{name: arguments.pop(name) for name in [*arguments] if name.startswith(PREFIX)})
        return command(context.obj, **arguments)

    signature = inspect.signature(command, eval_str=True)
    _, *own = signature.parameters.values()
    context, *_ = inspect.signature(called).parameters.values()
    own = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own]
    options = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in _SHARED]
    called.__signature__ = signature.replace(parameters=[context, *own, *options])  # type: ignore[attr-defined]
    called.__doc__ = command.__doc__
    return called


def keep_own(command: TyperCommand) -> TyperCommand:
    """The command without those shared options whose names it uses for options of its own."""
    own = {text for option in command.params if not _is_shared(option) for text in option.opts}
    command.params = [option for option in command.params if not (_is_shared(option) and own.intersection(option.opts))]
    return command


def _is_shared(option: Any) -> bool:
    return str(option.name).startswith(PREFIX)
