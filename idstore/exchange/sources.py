"""Inputs to read: a file, standard input or a binary stream.

The first bytes, not the name, tell whether it is gzip.
"""

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from operator import itemgetter
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from idstore.errors import ExchangeError, InvalidData

STDIN: Final = "-"
PACKED: Final = ".gz"
"""The file name extension of gzip files."""
_MOST: Final = 10
"""Most flaws that an error names."""
_CHUNK: Final = 1 << 16
"""Bytes read at once."""
_GZIP: Final = b"\x1f\x8b"
_BROKEN: Final = (EOFError, zlib.error, OSError)
"""Errors of a medium, and of its gzip data."""

Readable = str | PathLike[str] | IO[bytes]
"""A path, ``-`` for standard input, or a binary stream (which is left open)."""
Failure = Callable[[str, int | None, str], InvalidData]
"""Called with the name of a source, the line and the reason; returns the error."""


def ending(name: str) -> str:
    """Return the extension of a file name in lower case, without ``.gz``: ``.ttl``."""
    return Path(name.lower().removesuffix(PACKED)).suffix


class Flaws:
    """Errors in single entries of a source, for one summary. Memory: the first `_MOST`."""

    def __init__(self) -> None:
        self._count = 0
        self._first: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return self._count > 0

    def add(self, line: int, reason: str) -> None:
        """Add a flaw."""
        self._count += 1
        self._first = sorted([*self._first, (line, reason)], key=itemgetter(0))[:_MOST]

    def summary(self) -> tuple[int, str]:
        """Return the line of the first flaw, and all flaws as one reason."""
        (line, reason), *others = self._first
        more = self._count - len(self._first)
        reasons = [reason, *(f"line {number}: {other}" for number, other in others)]
        return line, "; ".join([*reasons, *([f"and {more} more"] if more else [])])


class Source:
    """An uncompressed stream of bytes.

    name   its name in messages.
    fail   makes the error to raise if it cannot be read.
    """

    def __init__(self, stream: BinaryIO, name: str, fail: Failure) -> None:
        raw = io.BufferedReader(cast("io.RawIOBase", stream), _CHUNK)
        self._stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
        self._raw = raw
        self._line = 1
        self._fail = fail
        self.name = name

    def error(self, line: int | None, reason: str) -> InvalidData:
        """Return an error about this source."""
        return self._fail(self.name, line, reason)

    def skip_mark(self) -> None:
        """Skip a byte order mark at the beginning. Raises as `read`."""
        with self._translated():
            skip_mark(self._stream)

    def begins_as_xml(self) -> bool:
        """Whether the content begins like XML, and not with an IRI of Turtle. Raises as `read`."""
        with self._translated():
            start = self._stream.peek(_CHUNK)[:_CHUNK].lstrip()
        return re.match(rb"<(\?xml|!|[\w:.-]+\s)", start) is not None

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, none at the end.

        Raises the error of ``fail``: the medium fails, or gzip data are damaged or cut off.
        """
        try:
            content = self._stream.read1(
                size
            )  # if gzip data are cut off, it returns the bytes before that point
        except _BROKEN as error:
            raise self._broken(error) from error
        self._line += content.count(b"\n")
        return content

    def read_line(self, size: int) -> bytes:
        """Return the next line, at most ``size`` bytes of it; nothing at the end. Raises as `read`."""
        with self._translated():
            line = self._stream.readline(size)
        self._line += line.endswith(b"\n")
        return line

    def lines(self, size: int) -> Iterator[bytes]:
        """Yield the lines, at most ``size`` bytes of each. Raises as `read`."""
        with self._translated():
            while line := self._stream.readline(size):
                self._line += line.endswith(b"\n")
                yield line

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise self._broken(error) from error

    def _broken(self, error: EOFError | zlib.error | OSError) -> InvalidData:
        """Return the error for a failure of the medium."""
        match error:
            case EOFError():
                reason = "the gzip data end too soon; fetch the file again"
            case gzip.BadGzipFile() | zlib.error():
                reason = f"the gzip data are damaged ({error}); fetch the file again"
            case _:
                reason = f"it cannot be read: {error.strerror or error}"
        return self.error(self._line, reason)

    def chunks(self) -> Iterator[bytes]:
        """Yield all content in chunks, checked to be UTF-8. Raises as `read`, and if it is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            before = self._line
            chunk = self.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line = before + error.object.count(b"\n", 0, error.start)
                reason = f"it is not UTF-8 (byte 0x{error.object[error.start]:02x}); save it as UTF-8"
                raise self.error(line, reason) from error
            if not chunk:
                return
            yield chunk

    def detach(self) -> None:
        """Detach the stream without closing it."""
        with suppress(ValueError):  # its owner has closed it
            self._raw.detach()


def skip_mark(stream: "io.BufferedReader[Any] | gzip.GzipFile") -> None:
    """Skip a UTF-8 byte order mark at the start of a stream: editors write it, parsers take it for data."""
    if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))


@contextmanager
def opened(file: Readable, fail: Failure = ExchangeError) -> Iterator[Source]:
    """Open an input.

    Raises the error of ``fail``: there is no such file, it is not readable, standard input is closed.
    """
    if isinstance(file, str | PathLike) and file != STDIN:
        name = fspath(file)
        with _open(name, fail) as stream:
            yield _source(stream, name, fail)
        return
    name = "standard input" if file == STDIN else str(getattr(file, "name", "the stream"))
    if file == STDIN and sys.stdin is None:
        raise fail(name, None, "it is closed; give a file, or pipe something in")
    source = _source(sys.stdin.buffer if file == STDIN else cast("BinaryIO", file), name, fail)
    try:
        yield source
    finally:
        source.detach()


def _open(name: str, fail: Failure) -> BinaryIO:
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        raise fail(name, None, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _source(stream: BinaryIO, name: str, fail: Failure) -> Source:
    try:
        return Source(stream, name, fail)
    except OSError as error:  # a folder can be opened, but not read
        raise fail(name, None, f"it cannot be read: {error.strerror or error}") from error
