"""What is read: a file, standard input or a binary stream, gzip or plain; which of the two its first bytes say, not its name."""

import codecs
import gzip
import io
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
"""The ending of what gzip compressed."""
_TOLD: Final = 10
"""Flaws that an error names, at most."""
_CHUNK: Final = 1 << 16
"""Bytes read at once."""
_GZIP: Final = b"\x1f\x8b"
_BROKEN: Final = (EOFError, zlib.error, OSError)
"""How a medium, or what packs it, fails."""

Readable = str | PathLike[str] | IO[bytes]
"""A path, ``-`` for standard input, or a binary stream (which is left open)."""
Failure = Callable[[str, int | None, str], InvalidData]
"""Makes the error for what is wrong with a source: its name, the line, the reason."""


def ending(name: str) -> str:
    """The ending of a file's name in lower case, without the one that says that it is compressed: ``.ttl``."""
    return Path(name.lower().removesuffix(PACKED)).suffix


class Flaws:
    """What is wrong with single entries of a source, to be told in one go. Memory: the first `_TOLD`."""

    def __init__(self) -> None:
        self._many = 0
        self._first: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return self._many > 0

    def add(self, line: int, reason: str) -> None:
        """Take one in."""
        self._many += 1
        self._first = sorted([*self._first, (line, reason)], key=itemgetter(0))[:_TOLD]

    def told(self) -> tuple[int, str]:
        """The line of the first, and all of them as one reason."""
        (line, reason), *others = self._first
        more = self._many - len(self._first)
        told = [reason, *(f"line {place}: {other}" for place, other in others), *([f"and {more} more"] if more else [])]
        return line, "; ".join(told)


class Source:
    """Bytes from somewhere, uncompressed.

    name   what messages call it.
    fail   the error to raise when it cannot be read.
    """

    def __init__(self, stream: BinaryIO, name: str, fail: Failure) -> None:
        raw = io.BufferedReader(cast("io.RawIOBase", stream), _CHUNK)
        self._stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
        self._raw = raw
        self._line = 1
        self._fail = fail
        self.name = name

    def error(self, line: int | None, reason: str) -> InvalidData:
        """What to raise about this source."""
        return self._fail(self.name, line, reason)

    def skip_mark(self) -> None:
        """Step over a byte order mark at the beginning. Raises as `read`."""
        with self._translated():
            skip_mark(self._stream)

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end. Raises what ``fail`` makes: the medium fails, gzip data are damaged or cut off."""
        try:
            found = self._stream.read1(size)  # what there is: of gzip data that are cut off, all that came before
        except _BROKEN as error:
            raise self._broken(error) from error
        self._line += found.count(b"\n")
        return found

    def read_line(self, size: int) -> bytes:
        """The next line, or so many bytes of it; nothing at the end. Raises as `read`."""
        with self._translated():
            found = self._stream.readline(size)
        self._line += found.endswith(b"\n")
        return found

    def lines(self, size: int) -> Iterator[bytes]:
        """Line by line, of each so many bytes at most. Raises as `read`."""
        with self._translated():
            while found := self._stream.readline(size):
                self._line += found.endswith(b"\n")
                yield found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            raise self._broken(error) from error

    def _broken(self, error: EOFError | zlib.error | OSError) -> InvalidData:
        """What to raise where the medium fails."""
        match error:
            case EOFError():
                reason = "the gzip data end too soon; fetch the file again"
            case gzip.BadGzipFile() | zlib.error():
                reason = f"the gzip data are damaged ({error}); fetch the file again"
            case _:
                reason = f"it cannot be read: {error.strerror or error}"
        return self.error(self._line, reason)

    def chunks(self) -> Iterator[bytes]:
        """All of it piece by piece, proven to be UTF-8. Raises as `read`, and when it is not."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            before = self._line
            chunk = self.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line = before + error.object.count(b"\n", 0, error.start)
                raise self.error(line, f"it is not UTF-8 (byte 0x{error.object[error.start]:02x}); save it as UTF-8") from error
            if not chunk:
                return
            yield chunk

    def detach(self) -> None:
        """Let go of the stream, without closing it."""
        with suppress(ValueError):  # its owner closed it before we were done
            self._raw.detach()


def skip_mark(stream: "io.BufferedReader[Any] | gzip.GzipFile") -> None:
    """Step over a byte order mark (UTF-8) at the beginning of a stream: editors put one there, and parsers take it for data."""
    if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))


@contextmanager
def opened(file: Readable, fail: Failure = ExchangeError) -> Iterator[Source]:
    """Open what is to be read. Raises what ``fail`` makes: there is no such file, it may not be read, standard input is closed."""
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
    except OSError as error:  # a folder opens, and fails at the first byte
        raise fail(name, None, f"it cannot be read: {error.strerror or error}") from error
