"""Options that every command shares, before or after the command's name.

A command is a function whose first parameter is a `Call`; `with_shared_options` adds the options. The value
nearest to the end of the command line takes precedence. A command that has an option of the same name keeps
its own (``log --user``): the shared option is then given before the command's name.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from idstore.cli.call import STORE, USER, WAIT, Call
from idstore.cli.output import Output
from idstore.cli.termination import UsageError

SHARED_PREFIX = "shared_"
"""Prefix of the shared options' names among a command's parameters."""


def _seconds(value: float | None) -> float | None:
    if value is not None and not value >= 0:  # written so that NaN is refused as well
        raise typer.BadParameter(f"{value:g} is no waiting time; give seconds, 0 or more")
    return value


def update_call(
    context: typer.Context,
    shared_store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="DIR-or-URL", help=f"The store. [{STORE}; default: your data folder]"
        ),
    ] = None,
    shared_user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help=f"The acting party. [{USER}; default: your login name]"),
    ] = None,
    shared_wait: Annotated[
        float | None,
        typer.Option(
            "--wait",
            metavar="S",
            callback=_seconds,
            help=f"Seconds to wait for a busy store. [default: {WAIT:g}]",
        ),
    ] = None,
    shared_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    shared_quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but data and errors.")] = False,
) -> None:
    """Store the shared options as a `Call` in the context, for the subcommands."""
    parent = context.obj if isinstance(context.obj, Call) else Call()
    context.obj = parent.with_options(
        shared_store, shared_user, shared_wait, Output(json=shared_json, quiet=shared_quiet)
    )


_SHARED = [
    parameter
    for parameter in inspect.signature(update_call).parameters.values()
    if parameter.name.startswith(SHARED_PREFIX)
]


def with_shared_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return a command in the form that typer reads, with the shared options after its own.

    command   a function of a `Call` and its own parameters; it returns None or an exit code.
    """

    def wrapper(context: typer.Context, **arguments: Any) -> int | None:
        shared = {name: arguments.pop(name) for name in [*arguments] if name.startswith(SHARED_PREFIX)}
        update_call(context, **shared)
        try:
            return command(context.obj, **arguments)
        except UsageError as error:
            error.command = context.command_path
            raise

    signature = inspect.signature(command, eval_str=True)
    _, *own = signature.parameters.values()
    context, *_ = inspect.signature(wrapper).parameters.values()
    own = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own]
    options = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in _SHARED]
    parameters = [context, *own, *options]
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__doc__ = command.__doc__
    return wrapper


def drop_shadowed_options(command: TyperCommand) -> TyperCommand:
    """Remove the shared options whose names a command uses for options of its own, and return the command."""
    own = {text for option in command.params if not is_shared(option) for text in option.opts}
    command.params = [
        option for option in command.params if not (is_shared(option) and own.intersection(option.opts))
    ]
    return command


def is_shared(option: Any) -> bool:
    """Return whether an option is one of those that every command has."""
    return str(option.name).startswith(SHARED_PREFIX)
