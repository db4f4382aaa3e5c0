"""The reference of the command line, made from its help: ``python -m idstore.cli.reference > docs/cli.md``."""

import sys
from collections.abc import Iterator
from typing import Any, Final

from idstore.cli.app import NAME, application
from idstore.cli.lazy import LazyGroup
from idstore.cli.options import PREFIX

WIDTH: Final = 100
HEAD: Final = """\
# The command line

Made from `idstore --help` by `python -m idstore.cli.reference`; a test compares the two. Every command takes the options `--store`,
`--user`, `--wait`, `--json` and `--quiet`, before its name or after it; they are listed once, here at the top. Data goes to standard
output, talk to standard error. Where a FILE or a list is taken, `-` is standard input. Times are ISO 8601, in UTC where they do not say.

| exit code | |
|---|---|
| 0 | done |
| 1 | failed unexpectedly |
| 2 | usage: a command line that says nothing, or names a file that cannot be written; unknown scheme, ambiguous identifier, refused query |
| 3 | invalid identifier or input data; a file to read that is not there |
| 4 | not found, or not yours to see |
| 5 | shapes or invariants broken |
| 6 | store busy or unavailable |
| 7 | not permitted |
| 8 | conflict: taken, there already, wrong stage, frozen, exhausted, request key |
| 9 | time or memory limit reached |
| 130 | interrupted: Ctrl-C |
| 141 | whoever read the output went away, as `head` does |
| 143 | terminated: SIGTERM |

With `IDSTORE_TRACEBACK=1` in the environment an unexpected failure (exit code 1) shows where in the program it happened; send that along when you report it.
"""


def reference() -> str:
    """The whole page, in Markdown."""
    app = application()
    context = app.make_context(NAME, [], resilient_parsing=True, terminal_width=WIDTH)
    parts = [HEAD, f"```text\n{app.get_help(context)}\n```\n"]
    parts += [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _commands(app, context)]
    return "\n".join(parts)


def _commands(group: LazyGroup, above: Any) -> Iterator[tuple[str, str]]:
    """Path and help of each command below a group, without the shared options."""
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        for parameter in command.params:
            if str(parameter.name).startswith(PREFIX):
                parameter.hidden = True  # type: ignore[attr-defined]
        context = command.make_context(name, [], parent=above, resilient_parsing=True)
        if isinstance(command, LazyGroup):
            yield from _commands(command, context)
        else:
            yield context.command_path, command.get_help(context)


if __name__ == "__main__":
    sys.stdout.write(reference())
