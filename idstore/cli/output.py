"""What a command prints: data on standard output, talk on standard error."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

from idstore.cli import exits
from idstore.cli.ending import Misuse, Terminated, interrupt_in
from idstore.errors import IdstoreError
from idstore.frozen import dataclass

TRACEBACK = "IDSTORE_TRACEBACK"
"""The environment variable that asks for the traceback of an unexpected failure."""

_CHUNK: Final = 1 << 16
"""Bytes that are copied at once."""


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
        with delivering():
            print(_dumps(record) if self.json else text)

    def made(self, iri: str, record: Mapping[str, object]) -> None:
        """Print a new identifier; where it does not arrive, say which one there is now. Raises Undelivered, BrokenPipeError."""
        try:
            self.data(iri, record)
            flush()
        except Undelivered:
            self.failure("undelivered", f"{iri} was made, and could not be printed", {"id": iri})
            raise

    def say(self, text: str) -> None:
        """Tell the user something that is no result; it may have several lines."""
        if not self.quiet:
            _talk("\n".join(map(one_line, text.split("\n"))))

    def warn(self, text: str) -> None:
        """Tell the user what to look at, though the command succeeded."""
        if not self.quiet:
            _talk(_dumps({"warning": text}) if self.json else f"idstore: warning: {one_line(text)}")

    def failure(self, code: str, message: str, fields: Mapping[str, object] | None = None) -> None:
        """Print one line about what failed; with ``--json`` an object of ``error``, ``message`` and the fields."""
        said = {"error": code, "message": message}
        _talk(_dumps(said | {**(fields or {}), **said}) if self.json else f"idstore: {one_line(message)}")

    @property
    def shows_progress(self) -> bool:
        """Whether somebody watches: standard error is a terminal on which a line can be written again, and not told to be quiet."""
        if self.quiet or self.json or sys.stderr is None or sys.stderr.closed or os.environ.get("TERM") == "dumb":
            return False
        return sys.stderr.isatty()


def _talk(text: str) -> None:
    """Print a line on standard error. Where nobody can be told, what was done and its data still count."""
    if sys.stderr is None:  # closed before we began: print would take standard output instead
        return
    try:
        print(text, file=sys.stderr)
    except (OSError, ValueError):  # full, gone or closed
        _discard(sys.stderr)


class Undelivered(OSError):
    """Standard output cannot be written."""


@contextmanager
def delivering() -> Iterator[None]:
    """What the block writes goes to standard output, and the system names no file when it fails. Raises Undelivered, BrokenPipeError."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename is not None:
            raise
        raise Undelivered(error.errno, error.strerror) from error


def flush() -> None:
    """Hand everything printed to the system, so that a failure to do so is ours to report. Raises Undelivered, BrokenPipeError."""
    if sys.stdout is not None:
        with delivering():
            sys.stdout.flush()


def deliver(stream: IO[bytes]) -> None:
    """Copy a stream to standard output, behind what was printed. Raises Undelivered, BrokenPipeError."""
    flush()
    while chunk := stream.read(_CHUNK):
        with delivering():
            sys.stdout.buffer.write(chunk)


def carry_out(command: Callable[[], int], output: Output) -> int:
    """Run a command, and give its exit code. Errors have been printed, and what it printed has arrived."""
    try:
        code = command()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the one place where whatever happened becomes a line and a code
        code = report(error, output)
    try:
        flush()
    except (OSError, KeyboardInterrupt) as error:  # what was printed has not arrived, however the command ended
        code = report(error, output)
    return code


def report(error: BaseException, output: Output) -> int:
    """Print what ended a command, and give its exit code."""
    error = interrupt_in(error) or error
    match error:
        case BrokenPipeError():
            _discard(sys.stdout)
            return exits.PIPE_CLOSED
        case Terminated():
            output.failure("terminated", "terminated")
            return exits.TERMINATED
        case KeyboardInterrupt():
            output.failure("interrupted", "interrupted")
            return exits.INTERRUPTED
        case Misuse():
            output.failure("usage", _usage(error.message, error.command))
            return exits.USAGE
        case IdstoreError():
            output.failure(error.code, error.message, error.fields)
            return exits.exit_code(error)
        case OSError(strerror=str(reason)):
            if isinstance(error, Undelivered):
                _discard(sys.stdout)
            output.failure("system", f"{_place(error)}: {reason}")
            return exits.FAILED
        case _:
            return _report_typers(error, output)


def _report_typers(error: BaseException, output: Output) -> int:
    """The same for what typer raises, and for what nobody expects."""
    import typer
    from typer.exceptions import TyperException

    match error:
        case typer.Exit():
            return error.exit_code
        case typer.Abort():
            return report(KeyboardInterrupt(), output)
        case TyperException():
            context = getattr(error, "ctx", None)
            output.failure("usage", _usage(error.format_message(), Misuse.command if context is None else context.command_path))
            return exits.USAGE
        case _:
            return _unexpected(error, output)


def _usage(message: str, command: str) -> str:
    """The message in this program's form: no capital, no full stop, and where to read on."""
    said = message.strip().rstrip(".")
    return f"{said[:1].lower()}{said[1:]}; see `{command} --help`"


def _unexpected(error: BaseException, output: Output) -> int:
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    kind = type(error).__name__
    output.failure("unexpected", f"unexpected failure, please report it: {kind}: {error} ({TRACEBACK}=1 shows where)", {"type": kind})
    return exits.FAILED


def _place(error: OSError) -> str:
    """Where it failed, as far as the system says."""
    if isinstance(error, Undelivered):
        return "standard output"
    if error.filename is not None:
        return str(error.filename)
    try:
        os.getcwd()  # noqa: PTH109 whether there is one: no name that is not absolute can be found without
    except OSError:
        return "the working directory"
    return "the system"


def _discard(stream: IO[str]) -> None:
    """Point a standard stream at nothing: the interpreter flushes it once more at its end, and would fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def one_line(text: str) -> str:
    """The text with line ends and other control characters escaped: it stays one line and cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _dumps(record: Mapping[str, object]) -> str:
    import json

    return json.dumps(record, ensure_ascii=False, default=str)
