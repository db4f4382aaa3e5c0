"""The options that every command shares, before or after its name.

A command is a function whose first parameter is a `Call`; `shared` gives it the options. What stands nearer to the end of the command
line wins. A command that has an option of the same name keeps its own (``log --user``): the shared one then stands before the command.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from idstore.cli.call import STORE, USER, WAIT, Call
from idstore.cli.ending import Misuse
from idstore.cli.output import Output

PREFIX = "shared_"
"""What the shared options are called among a command's parameters."""


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
        try:
            return command(context.obj, **arguments)
        except Misuse as error:
            error.command = context.command_path
            raise

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
