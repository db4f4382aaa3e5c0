"""Standard output for data, standard error for messages, and the exit code of a command."""

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Final

from idstore.characters import printable, printable_json, safe
from idstore.cli import exits
from idstore.cli.remedies import with_command
from idstore.cli.termination import Terminated, UsageError, interrupt_of
from idstore.errors import IdstoreError
from idstore.remedies import Remedy

TRACEBACK = "IDSTORE_TRACEBACK"
"""Environment variable that asks for the traceback of an unexpected failure."""

_CHUNK: Final = 1 << 16
"""Bytes that are copied at once."""
_CAPITALISED_WORD: Final = re.compile(r"\A[A-Z][a-z]*(?=[ :])")
_PLAIN_TERMINALS: Final = frozenset({"", "dumb", "unknown"})
"""Values of ``TERM``, in lower case, of terminals that cannot rewrite a line."""
_LISTED: Final = 10
"""Items of each kind that a report lists without --json."""


@dataclass(frozen=True, slots=True)
class Output:
    """The printer of a command.

    json    data, warnings and errors are JSON objects, one per line.
    quiet   only data and errors are printed.
    """

    json: bool = False
    quiet: bool = False

    def data(self, text: str, record: Mapping[str, object]) -> None:
        """Print one result on standard output: ``text``, or with ``--json`` ``record``.

        Raises StdoutError, BrokenPipeError.
        """
        with stdout_errors():
            print(_dumps(record) if self.json else safe(text))

    def heading(self, *columns: str) -> None:
        """Print the names of columns above the rows on a terminal; programs get the rows alone."""
        if not (self.json or self.quiet) and sys.stdout is not None and sys.stdout.isatty():
            with stdout_errors():
                print("\t".join(columns).upper())

    def new_identifier(self, iri: str, record: Mapping[str, object]) -> None:
        """Print a new identifier on standard output; if that fails, name it on standard error.

        Raises StdoutError, BrokenPipeError.
        """
        try:
            self.data(iri, record)
            flush()
        except (StdoutError, BrokenPipeError):
            self.error("undelivered", f"{iri} was created but could not be printed", {"id": iri})
            raise

    def info(self, text: str) -> None:
        """Print a message, which may have several lines, on standard error."""
        if not self.quiet:
            _print_stderr("\n".join(map(printable, text.split("\n"))))

    def warn(self, text: str) -> None:
        """Print a warning on standard error."""
        if not self.quiet:
            _print_stderr(_dumps({"warning": text}) if self.json else f"idstore: warning: {printable(text)}")

    def error(self, code: str, message: str, fields: Mapping[str, object] | None = None) -> None:
        """Print an error as one line on standard error, with the command behind its remedy.

        With ``--json`` the line is an object with ``error``, ``message`` and the fields.
        """
        remedy = (fields or {}).get("remedy")
        message = with_command(message, None if remedy is None else Remedy(str(remedy)))
        required = {"error": code, "message": message}
        if self.json:
            _print_stderr(_dumps(required | {**(fields or {}), **required}))
        else:
            _print_stderr(f"idstore: {printable(message)}")

    @property
    def shows_progress(self) -> bool:
        """Whether standard error is a terminal that can rewrite a line; False if quiet or JSON."""
        return (
            not (self.quiet or self.json)
            and sys.stderr is not None
            and not sys.stderr.closed
            and sys.stderr.isatty()
            and os.environ.get("TERM", "").lower() not in _PLAIN_TERMINALS
        )


def _print_stderr(text: str) -> None:
    """Print a line on standard error.

    A failure to do so is ignored: the command's changes and data still count.
    """
    if sys.stderr is None:  # closed before the process began: print would write to standard output instead
        return
    try:
        print(text, file=sys.stderr)
    except (OSError, ValueError):  # full, gone or closed
        _discard(sys.stderr)


class StdoutError(OSError):
    """Standard output cannot be written."""


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Raise StdoutError for a failed write in the block that names no file.

    BrokenPipeError passes unchanged.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename is not None:
            raise
        raise StdoutError(error.errno, error.strerror) from error


def flush() -> None:
    """Flush standard output, so that a failure is reported here. Raises StdoutError, BrokenPipeError."""
    if sys.stdout is not None:
        with stdout_errors():
            sys.stdout.flush()


def copy_to_stdout(stream: IO[bytes]) -> None:
    """Copy a stream to standard output, after the text printed so far; to a terminal as safe text.

    Raises StdoutError, BrokenPipeError.
    """
    flush()
    if sys.stdout.isatty():
        _copy_to_terminal(stream)
        return
    while chunk := stream.read(_CHUNK):
        with stdout_errors():
            sys.stdout.buffer.write(chunk)


def _copy_to_terminal(stream: IO[bytes]) -> None:
    """Copy a stream of UTF-8 to the terminal, with controls escaped. Raises as `copy_to_stdout`."""
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    pending = ""
    while chunk := stream.read(_CHUNK):
        text = pending + decoder.decode(chunk)
        pending = text[len(text.removesuffix("\r")) :]  # half of a line end, perhaps
        with stdout_errors():
            sys.stdout.write(safe(text.removesuffix("\r")))
    with stdout_errors():
        sys.stdout.write(safe(pending + decoder.decode(b"", final=True)))


def run_command(command: Callable[[], int], output: Output) -> int:
    """Run a command, flush its output, print its error if there is one, and return the exit code."""
    try:
        code = command()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the one place that reports every error
        code = report(error, output)
    try:
        flush()
    except (OSError, KeyboardInterrupt) as error:  # the output is lost, however the command ended
        code = report(error, output)
    return code


def report(error: BaseException, output: Output) -> int:
    """Print the error that ended a command, and return the exit code."""
    error = interrupt_of(error) or error
    match error:
        case BrokenPipeError():
            _discard(sys.stdout)
            return exits.PIPE_CLOSED
        case Terminated():
            output.error("terminated", "terminated")
            return exits.TERMINATED
        case KeyboardInterrupt():
            output.error("interrupted", "interrupted")
            return exits.INTERRUPTED
        case UsageError():
            output.error("usage", f"{error.message.rstrip('.')}; see `{error.command} --help`")
            return exits.USAGE
        case IdstoreError():
            output.error(error.code, error.message, error.details())
            return exits.exit_code(error)
        case OSError(strerror=str(reason)):
            if isinstance(error, StdoutError):
                _discard(sys.stdout)
            output.error("system", f"{_location(error)}: {reason}")
            return exits.FAILED
        case _:
            return _report_other(error, output)


def _report_other(error: BaseException, output: Output) -> int:
    """Print an error that typer raised, or an unexpected one, and return the exit code."""
    import typer
    from typer.exceptions import TyperException

    match error:
        case typer.Exit():
            return error.exit_code
        case typer.Abort():
            return report(KeyboardInterrupt(), output)
        case TyperException():
            context = getattr(error, "ctx", None)
            command = UsageError.command if context is None else context.command_path
            output.error("usage", _usage(error.format_message(), command))
            return exits.USAGE
        case _:
            return _report_unexpected(error, output)


def _usage(message: str, command: str) -> str:
    """Return a usage message of typer without full stop, with a pointer to the help.

    An initial word of the language loses its capital; a name or a path keeps it.
    """
    text = message.strip().rstrip(".")
    text = _CAPITALISED_WORD.sub(lambda word: word[0].lower(), text, count=1)
    return f"{text}; see `{command} --help`"


def _report_unexpected(error: BaseException, output: Output) -> int:
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    kind = type(error).__name__
    output.error(
        "unexpected",
        f"unexpected failure, please report it: {kind}: {error} ({TRACEBACK}=1 shows where)",
        {"type": kind},
    )
    return exits.FAILED


def _location(error: OSError) -> str:
    """Return what failed, as far as the system tells."""
    if isinstance(error, StdoutError):
        return "standard output"
    if error.filename is not None:
        return str(error.filename)
    try:
        os.getcwd()  # noqa: PTH109 checks that there is one: without it no relative name can be found
    except OSError:
        return "the working directory"
    return "the system"


def _discard(stream: IO[str]) -> None:
    """Redirect a standard stream to the null device, so that the flush at exit does not fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _dumps(record: Mapping[str, object]) -> str:
    import json

    return printable_json(json.dumps(record, ensure_ascii=False, default=str))


def limited_lines(kind: str, texts: Sequence[str]) -> list[str]:
    """Return a line for each of the first texts, and one with the number of the others."""
    more = [f"{kind}\tand {len(texts) - _LISTED} more; --json lists all"] if len(texts) > _LISTED else []
    return [f"{kind}\t{text}" for text in texts[:_LISTED]] + more
