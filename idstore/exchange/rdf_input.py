"""Parsing of RDF files that come from elsewhere, within `idstore.exchange.limits`."""

import re
from collections.abc import Callable, Iterator
from typing import IO, Final, Protocol, cast

from pyoxigraph import Quad, RdfFormat, parse

from idstore.errors import InvalidData
from idstore.exchange import limits

RECOVERABLE: Final = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS, RdfFormat.TURTLE, RdfFormat.TRIG)
"""Formats whose parser can go on after a malformed statement."""
_TOKEN: Final = re.compile(rb'[\[{]|[\]}]|"(?:[^"\\]++|\\.)*+("|\\?\Z)', re.DOTALL)
"""A bracket, or a string, which the end of the bytes may cut off, perhaps after a backslash."""
_STRING_END: Final = re.compile(rb'(?:[^"\\]++|\\.)*+("|\\?\Z)', re.DOTALL)


class ByteStream(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""


def quads(
    stream: ByteStream,
    format: RdfFormat,
    fail: Callable[[int | None, str], InvalidData],
    skip: Callable[[int | None, str], None] | None = None,
) -> Iterator[Quad]:
    """Yield the quads of a file.

    fail  makes the error from the line, if it is known, and the reason.
    skip  called with line and reason of a syntax error in a format of `RECOVERABLE`, which then does not end
          the reading: the parser goes on after the statement.
    Raises the error of ``fail``: a syntax error, or more than the limits allow.
    """
    counted = _LineCount(_DepthCheck(stream) if format == RdfFormat.JSON_LD else stream)
    try:
        parsed = parse(cast("IO[bytes]", counted), format=format)
        while True:
            try:
                yield from parsed
            except SyntaxError as error:
                if skip is None or format not in RECOVERABLE:
                    raise fail(error.lineno, error.msg) from error
                skip(error.lineno, error.msg)
            else:
                return
    except MemoryError as error:
        raise fail(
            counted.line_of_term,
            f"a term has more than {limits.RDF_TERM} bytes, which no registry stores; shorten it",
        ) from error
    except _TooDeepError as error:
        raise fail(error.line, f"it is nested more than {limits.JSON_DEPTH} deep") from error


class _TooDeepError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _LineCount:
    """A stream that counts its lines, for terms that the parser gives up.

    The parser gives up when its buffer is full: it holds the last `limits.RDF_TERM` bytes, from the beginning
    of the term.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._bytes = 0
        self._line = 1
        self._line_start = 0

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes."""
        data = self._stream.read(size)
        if lines := data.count(b"\n"):
            self._line += lines
            self._line_start = self._bytes + data.rindex(b"\n") + 1
        self._bytes += len(data)
        return data

    @property
    def line_of_term(self) -> int | None:
        """The line of the term that fills the buffer; None if the term has several lines."""
        return self._line if self._line_start <= self._bytes - limits.RDF_TERM else None


class _DepthCheck:
    """A stream of JSON that ends with an error where the nesting is too deep.

    The parser itself would use memory with the square of the depth, and end the process.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._depth = 0
        self._line = 1
        self._open: bytes | None = None
        """What the last bytes left open: a string, perhaps after a backslash."""

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes. Raises _TooDeepError."""
        data = self._stream.read(size)
        at = 0
        if self._open is not None and data:
            before = self._open
            end = _STRING_END.match(before + data)
            assert end is not None, "the expression matches everything"
            self._close(end[1])
            at = end.end() - len(before)
        for token in _TOKEN.finditer(data, at):
            sign = token[0][:1]
            if sign == b'"':
                self._close(token[1])
            else:
                self._depth += 1 if sign in b"[{" else -1
            if self._depth > limits.JSON_DEPTH:
                raise _TooDeepError(self._line + data.count(b"\n", 0, token.start()))
        self._line += data.count(b"\n")
        return data

    def _close(self, end: bytes) -> None:
        self._open = None if end == b'"' else end
