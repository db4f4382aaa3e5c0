"""RDF/XML, read description by description: a malformed one leaves the others readable.

The parser of RDF cannot go on after an error. So each child of ``rdf:RDF`` is parsed as a document of its
own, with the head of the file: entities, namespaces, base and language.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final
from xml.parsers import expat

from pyoxigraph import Quad, RdfFormat, parse

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.sources import Source
from idstore.vocabulary import PREFIXES

_ROOT: Final = f"{PREFIXES['rdf']} RDF"
_REFERENCE: Final = re.compile(r"&([^#;\s][^;\s]*);")
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
_TAG: Final = re.compile(rb"<([^\s/>]+)")


def quads(
    source: Source, fail: Callable[[int | None, str], InvalidData], skip: Callable[[int, str], None]
) -> Iterator[tuple[int, Quad]]:
    """Yield the quads of a file, each with the first line of its description. Memory: one description.

    fail  makes the error from the line, if it is known, and the reason.
    skip  called with line and reason of a malformed description.
    Raises the error of ``fail``: XML that is not well-formed, or more than the limits allow.
    """
    for line, document in _Descriptions(source, fail).documents():
        try:
            triples = list(parse(document, format=RdfFormat.RDF_XML))
        except SyntaxError as error:
            skip(line, error.msg)
        else:
            yield from ((line, triple) for triple in triples)


class _Descriptions:
    """The descriptions of a file, cut out of its bytes."""

    def __init__(self, source: Source, fail: Callable[[int | None, str], InvalidData]) -> None:
        self._source, self._fail = source, fail
        self._parser = expat.ParserCreate("utf-8", " ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._declare
        self._buffer, self._offset = bytearray(), 0
        self._head: bytes | None = None
        self._tail = b""
        self._entities: dict[str, int] = {}
        self._depth = self._root = 0
        self._divided = False  # otherwise the root is the only description
        self._line = 1
        self._ready: list[tuple[int, bytes]] = []

    def documents(self) -> Iterator[tuple[int, bytes]]:
        """Yield each description with its line, as a document."""
        for chunk in self._source.chunks():
            self._buffer += chunk
            self._parse(chunk)
            if len(self._buffer) > limits.RDF_TERM:
                raise self._error(f"a description has more than {limits.RDF_TERM} bytes; divide it")
            yield from self._ready
            self._ready.clear()
        self._parse(b"")
        yield from self._ready

    def _parse(self, chunk: bytes) -> None:
        """Parse a chunk; an empty chunk ends the file."""
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            reason = f"it is not well-formed XML: {expat.ErrorString(error.code)}"
            raise self._fail(error.lineno, reason) from error

    def _error(self, reason: str) -> InvalidData:
        return self._fail(self._parser.CurrentLineNumber, reason)

    def _start(self, name: str, _: object) -> None:
        self._depth += 1
        if self._depth > limits.XML_DEPTH:
            raise self._error(f"elements are nested more than {limits.XML_DEPTH} deep")
        if self._depth == 1:
            self._root = self._parser.CurrentByteIndex
            self._divided = name == _ROOT
        if self._depth == 1 + self._divided:
            self._cut(self._parser.CurrentByteIndex)
            self._line = self._parser.CurrentLineNumber

    def _end(self, _: str) -> None:
        self._depth -= 1
        if self._depth == 0 and self._head is not None:
            self._cut(self._parser.CurrentByteIndex if self._divided else None)

    def _cut(self, index: int | None) -> None:
        """Take the bytes up to an index of the file, or all: first the head, then descriptions."""
        size = len(self._buffer) if index is None else index - self._offset
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._offset += size
        if self._head is not None:
            self._ready.append((self._line, self._head + piece + self._tail))
            return
        tag = _TAG.match(piece, self._root)
        self._tail = b"</" + tag[1] + b">" if tag is not None else b""
        self._head = _COMMENT.sub(b"", piece)
        if len(self._head) > limits.RDFXML_HEAD:
            raise self._error(f"more than {limits.RDFXML_HEAD} bytes come before the first description")

    def _declare(self, name: str, _: object, value: str | None, *__: object) -> None:
        """Refuse an entity that grows large: the parser of RDF replaces entities within entities."""
        size = len(value or "")
        size += sum(self._entities.get(reference, 0) for reference in _REFERENCE.findall(value or ""))
        self._entities[name] = size
        if size > limits.RDFXML_HEAD:
            raise self._error(f"the entity {name} stands for more than {limits.RDFXML_HEAD} characters")
