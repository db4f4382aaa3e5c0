"""Command groups that import a command when it is used: starting one costs nothing of the others."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from idstore.cli.call import Call
from idstore.cli.options import keep_own, shared
from idstore.cli.output import delivering
from idstore.frozen import dataclass

PLAIN: Final[dict[str, Any]] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
"""Plain help: it can be grepped, read aloud and compared."""
HELP_OPTIONS: Final = ["-h", "--help"]
WHOLE: Final = 1_000
"""Characters of the one-line help that are shown: all, on several lines if need be."""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under one word (``namespace add``): the group's help, and what carries out each command, as ``module:function``."""

    text: str
    commands: Mapping[str, str]


Section = Mapping[str, "str | Group"]
"""Commands by name: ``module:function``, or a group."""


class LazyGroup(TyperGroup):
    """A group of commands by a table: the title of a section in the help → its commands."""

    sections: Mapping[str, Section] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, or print the help or the version that it asks for. Raises Undelivered."""
        with delivering():
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 typer calls it so
        """The names of the commands, in the order of the table."""
        return [name for commands in self.sections.values() for name in commands]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:  # noqa: ARG002
        """Import a command. None if there is none of that name."""
        target = next((commands[cmd_name] for commands in self.sections.values() if cmd_name in commands), None)
        match target:
            case Group():
                return lazy_group(cmd_name, target.text, {"Commands": target.commands})
            case str():
                return _load(cmd_name, target)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        """The command that the first argument names. Fails with the names that look alike."""
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            self._fail_unknown(ctx, args[0])
        return args[0], command, args[1:]

    def _fail_unknown(self, ctx: Any, name: str) -> NoReturn:
        close = get_close_matches(name, self.list_commands(ctx))
        raise ctx.fail(f"no such command {name!r}" + (f" (did you mean {' or '.join(close)}?)" if close else ""))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with one line each, in their sections."""
        for title, commands in self.sections.items():
            loaded = [(name, self.get_command(ctx, name)) for name in commands]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(WHOLE)) for name, command in loaded if command])


class PlainCommand(TyperCommand):
    """A command whose usage line names what is required as it is, ``ID`` and not ``{ID}``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, or print the help that it asks for. Raises Undelivered."""
        with delivering():
            return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def _no_more(call: Call) -> None:
    """A group does nothing but to take note of the shared options."""


def lazy_group(
    name: str, text: str, sections: Mapping[str, Section], callback: Callable[..., None] = _no_more, *, outermost: bool = False
) -> LazyGroup:
    """A group with the shared options.

    text       its help.
    callback   a function of `Call` and options of the group's own, called before the command.
    outermost  whether to offer the shell's completion.
    """
    settings = {"help_option_names": HELP_OPTIONS}
    app = typer.Typer(name=name, cls=LazyGroup, help=text, context_settings=settings, add_completion=outermost, **PLAIN)
    app.callback()(shared(callback))
    group = typer.main.get_command(app)
    assert isinstance(group, LazyGroup)
    group.sections = sections
    return group


def _load(name: str, target: str) -> TyperCommand:
    module, _, function = target.partition(":")
    app = typer.Typer(add_completion=False, **PLAIN)
    app.command(name, cls=PlainCommand)(shared(getattr(import_module(module), function)))
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return keep_own(command)
