"""What a command prints: data on standard output, talk on standard error."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

import typer
from typer.exceptions import TyperException

from idstore.cli import exits
from idstore.errors import IdstoreError
from idstore.frozen import dataclass

TRACEBACK = "IDSTORE_TRACEBACK"
"""The environment variable that asks for the traceback of an unexpected failure."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's words go.

    json    data, warnings and errors are JSON objects, one per line.
    quiet   nothing is said but data and errors.
    """

    json: bool = False
    quiet: bool = False

    def data(self, text: str, record: Mapping[str, object]) -> None:
        """Print one result: ``text`` for people and pipes, ``record`` with ``--json``."""
        print(_dumps(record) if self.json else text)

    def say(self, text: str) -> None:
        """Tell the user something that is no result."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        """Tell the user what to look at, though the command succeeded."""
        if not self.quiet:
            print(_dumps({"warning": text}) if self.json else f"idstore: warning: {one_line(text)}", file=sys.stderr)

    def failure(self, code: str, message: str, fields: Mapping[str, object] | None = None) -> None:
        """Print one line about what failed; with ``--json`` an object of ``error``, ``message`` and the fields."""
        said = {"error": code, "message": message}
        line = _dumps(said | {**(fields or {}), **said}) if self.json else f"idstore: {one_line(message)}"
        with suppress(OSError):  # nobody is left to be told
            print(line, file=sys.stderr)

    @property
    def shows_progress(self) -> bool:
        """Whether somebody watches: standard error is a terminal, and not told to be quiet."""
        return not (self.quiet or self.json) and sys.stderr is not None and sys.stderr.isatty()


def flush() -> None:
    """Hand everything printed to the system, so that a failure to do so is ours to report."""
    if sys.stdout is not None:
        sys.stdout.flush()


def report(error: BaseException, output: Output) -> int:
    """Print what ended a command, and give its exit code."""
    match error:
        case typer.Exit():
            return error.exit_code
        case BrokenPipeError():
            _discard_output()
            return exits.PIPE_CLOSED
        case KeyboardInterrupt() | typer.Abort():
            output.failure("interrupted", "interrupted")
            return exits.INTERRUPTED
        case TyperException():
            output.failure("usage", _usage(error))
            return exits.USAGE
        case IdstoreError():
            output.failure(error.code, error.message, error.fields)
            return exits.exit_code(error)
        case OSError(strerror=str(reason)):
            _discard_output()
            output.failure("system", f"{_place(error)}: {reason}")
            return exits.FAILED
        case _:
            return _unexpected(error, output)


def _usage(error: TyperException) -> str:
    """Typer's message in this program's form: no capital, no full stop, and where to read on."""
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "idstore"
    return f"{message[:1].lower()}{message[1:]}; see `{command} --help`"


def _unexpected(error: BaseException, output: Output) -> int:
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    kind = type(error).__name__
    output.failure("unexpected", f"unexpected failure, please report it: {kind}: {error} ({TRACEBACK}=1 shows where)", {"type": kind})
    return exits.FAILED


def _place(error: OSError) -> str:
    return str(error.filename) if error.filename is not None else "standard output"


def _discard_output() -> None:
    """Point standard output at nothing: the interpreter flushes it once more at its end, and would complain again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: str) -> str:
    """The text with line ends and other control characters escaped: it stays one line and cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _dumps(record: Mapping[str, object]) -> str:
    import json

    return json.dumps(record, ensure_ascii=False, default=str)
