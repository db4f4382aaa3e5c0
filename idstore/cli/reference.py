"""The reference of the command line: ``python -m idstore.cli.reference > docs/cli.md``."""

import sys
from collections.abc import Iterator
from typing import Any, Final

from idstore.cli.app import NAME, application
from idstore.cli.lazy import LazyGroup
from idstore.cli.options import SHARED_PREFIX

WIDTH: Final = 100
HEAD: Final = """\
# The command line

Generated from `idstore --help` by `python -m idstore.cli.reference`; a test compares the two. Every command
takes the options `--store`, `--user`, `--wait`, `--json` and `--quiet`, before or after its name; this page
lists them once, at the top. Data goes to standard output; messages, warnings and errors go to standard error.
For a FILE or a list, `-` is standard input. Times are ISO 8601, in UTC unless they have an offset.

| exit code | |
|---|---|
| 0 | done |
| 1 | failed unexpectedly |
| 2 | usage, or a file that cannot be written; unknown scheme, ambiguous identifier, refused query |
| 3 | invalid identifier or input data; a file to read that does not exist |
| 4 | not found, or not visible to the acting party |
| 5 | shapes or invariants broken |
| 6 | store busy or unavailable, or the outcome of a change is unknown |
| 7 | not permitted |
| 8 | conflict: taken, exists already, wrong stage, frozen, exhausted, request key |
| 9 | time or memory limit reached |
| 130 | interrupted: Ctrl-C |
| 141 | the reader of the output closed it, as `head` does |
| 143 | terminated: SIGTERM |

With `IDSTORE_TRACEBACK=1` in the environment, an unexpected failure (exit code 1) prints a traceback; include
it in a report.

`idstore --install-completion` installs completion of commands and options for your shell.
`_IDSTORE_COMPLETE=source_zsh idstore` prints the script alone, as do `source_bash` and `source_fish`.
"""


def reference() -> str:
    """Return the page in Markdown."""
    app = application()
    context = app.make_context(NAME, [], resilient_parsing=True, terminal_width=WIDTH)
    parts = [HEAD, f"```text\n{app.get_help(context)}\n```\n"]
    parts += [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _commands(app, context)]
    return "\n".join(parts)


def _commands(group: LazyGroup, parent: Any) -> Iterator[tuple[str, str]]:
    """Yield path and help of each command below a group, without the shared options."""
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        for parameter in command.params:
            if str(parameter.name).startswith(SHARED_PREFIX):
                parameter.hidden = True  # type: ignore[attr-defined]
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        if isinstance(command, LazyGroup):
            yield from _commands(command, context)
        else:
            yield context.command_path, command.get_help(context)


if __name__ == "__main__":
    sys.stdout.write(reference())
