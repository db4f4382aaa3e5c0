"""Command groups that import a command only when it is used."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from idstore.cli.call import Call
from idstore.cli.options import drop_shadowed_options, is_shared, with_shared_options
from idstore.cli.output import stdout_errors

PLAIN: Final[dict[str, Any]] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
"""Plain help, without markup, that scripts and screen readers can read."""
HELP_OPTIONS: Final = ["-h", "--help"]
HELP_LENGTH: Final = 1_000
"""Longest summary of a command in characters: it is never cut."""


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """Commands under one word (``namespace add``): help of the group, and ``module:function`` per command."""

    text: str
    commands: Mapping[str, str]


Section = Mapping[str, "str | CommandGroup"]
"""Command name → ``module:function``, or a group."""


class LazyGroup(TyperGroup):
    """A group of commands from a table: section title in the help → its commands."""

    sections: Mapping[str, Section] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, or print the help or the version. Raises StdoutError."""
        with stdout_errors():
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 the signature is typer's
        """Return the names of the commands, in the order of the table."""
        return [name for commands in self.sections.values() for name in commands]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:  # noqa: ARG002
        """Import and return a command, or return None for an unknown name."""
        target = next(
            (commands[cmd_name] for commands in self.sections.values() if cmd_name in commands), None
        )
        match target:
            case CommandGroup():
                return lazy_group(cmd_name, target.text, {"Commands": target.commands})
            case str():
                return _load(cmd_name, target)
        return None

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        """Return the command that the first argument names. Fails with similar names."""
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            self._fail_unknown(ctx, args[0])
        return args[0], command, args[1:]

    def _fail_unknown(self, ctx: Any, name: str) -> NoReturn:
        from difflib import get_close_matches

        close = get_close_matches(name, self.list_commands(ctx))
        raise ctx.fail(
            f"no such command {name!r}" + (f" (did you mean {' or '.join(close)}?)" if close else "")
        )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by section, each with its summary."""
        for title, commands in self.sections.items():
            loaded = [(name, self.get_command(ctx, name)) for name in commands]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, command.get_short_help_str(HELP_LENGTH)) for name, command in loaded if command]
                )


class PlainCommand(TyperCommand):
    """A command whose usage line shows required arguments as ``ID``, not as ``{ID}``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, or print the help. Raises StdoutError.

        An option of one value that stands twice is an error: the last value would count, without a word.
        Of the shared options the last value counts, so that a script can follow an alias that has some.
        """
        with stdout_errors():
            if not ctx.resilient_parsing:
                *_, order = self.make_parser(ctx).parse_args(args=[*args])
                for parameter, times in Counter(order).items():
                    several = is_shared(parameter) or any(
                        getattr(parameter, kind, False) for kind in ("multiple", "is_flag", "count")
                    )
                    if times > 1 and not several:
                        ctx.fail(f"{parameter.opts[0]} stands {times} times; give it once")
            return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def _no_op(call: Call) -> None:
    """Do nothing: a group only reads the shared options."""


def lazy_group(
    name: str,
    text: str,
    sections: Mapping[str, Section],
    callback: Callable[..., None] = _no_op,
    *,
    root: bool = False,
) -> LazyGroup:
    """Return a group with the shared options.

    text      the help of the group.
    callback  a function of a `Call` and the group's own options, called before the command.
    root      whether to offer shell completion.
    """
    settings = {"help_option_names": HELP_OPTIONS}
    app = typer.Typer(
        name=name, cls=LazyGroup, help=text, context_settings=settings, add_completion=root, **PLAIN
    )
    app.callback()(with_shared_options(callback))
    group = typer.main.get_command(app)
    assert isinstance(group, LazyGroup)
    group.sections = sections
    return group


def _load(name: str, target: str) -> TyperCommand:
    module, _, function = target.partition(":")
    app = typer.Typer(add_completion=False, **PLAIN)
    app.command(name, cls=PlainCommand)(with_shared_options(getattr(import_module(module), function)))
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return drop_shadowed_options(command)
