r"""Metadata of articles in BibTeX and BibLaTeX: an entry begins at the beginning of a line, with ``@``.

LaTeX in fields is read as text (``{\'E}tude``, ``---``, ``$\alpha$``); ``@string`` is known to the entries behind it.
Source: O. Patashnik, BibTeXing, 1988; P. Kime et al., The biblatex Package, sections 2.1 and 2.2.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.articles import Entry, Stream, cleaned, failure, library

_LONGEST: Final = 1 << 20
"""Bytes of one entry: memory stays bounded."""
_BEGUN: Final = re.compile(rb"[ \t]*@")
_STRING: Final = re.compile(rb"[ \t]*@string", re.IGNORECASE)
_FIELDS: Final = {
    "issn": ("issn",),
    "volume": ("volume",),
    "issue": ("number", "issue"),
    "page": ("pages",),
    "title": ("title",),
    "subtitle": ("subtitle",),
    "doi": ("doi",),
}
"""Of each field what BibTeX and BibLaTeX call it, what counts first."""


def entries(stream: Stream) -> Iterator[Entry]:
    """The articles, in file order. Raises InvalidData as `idstore.exchange.metadata.entries`, and where the package is not installed."""
    reader = _Reader(stream.name)
    for line, text in _blocks(stream):
        yield from reader.read(line, text)


def _blocks(stream: Stream) -> Iterator[tuple[int, bytes]]:
    """What stands from one ``@`` at the beginning of a line to the next, with its line. Raises InvalidData."""
    begun, number, held = 1, 0, b""
    while line := stream.read_line(_LONGEST + 1):
        number += 1
        if _BEGUN.match(line) and held:
            yield begun, held
            begun, held = number, b""
        held += line
        if len(held) > _LONGEST:
            raise failure(stream.name, begun, f"an entry is longer than {_LONGEST} bytes; begin each at the beginning of a line")
    if held:
        yield begun, held


class _Reader:
    """Reads blocks one after the other."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._bibtex = library(file, "bibtexparser", "BibTeX")
        middlewares = library(file, "bibtexparser.middlewares", "BibTeX")
        model = library(file, "bibtexparser.model", "BibTeX")
        self._decode = [middlewares.LatexDecodingMiddleware(keep_math_mode=False), middlewares.NormalizeFieldKeys()]
        self._entry, self._string = model.Entry, model.String
        self._strings: dict[str, Any] = {}

    def read(self, line: int, text: bytes) -> Iterator[Entry]:
        """The entries of a block, or what is wrong with it."""
        try:
            said = text.decode()
        except UnicodeDecodeError as error:
            place = line + text.count(b"\n", 0, error.start)
            yield Entry(self._file, line, failure(self._file, place, f"it is not UTF-8 (byte 0x{error.object[error.start]:02x})"))
            return
        known = [] if _STRING.match(text) else [*self._strings.values()]  # the latest definition holds
        found = self._bibtex.parse_string(said, library=self._bibtex.Library(known), append_middleware=self._decode)
        self._strings |= {block.key: block for block in found.blocks if isinstance(block, self._string)}
        for block in [*found.entries, *found.failed_blocks]:
            place = line + (block.start_line or 0)
            yield Entry(self._file, place, self._fields(place, block))

    def _fields(self, line: int, block: Any) -> "dict[str, str] | InvalidData":
        if not isinstance(block, self._entry):
            return failure(self._file, line, f"it is not BibTeX: {_reason(block.error)}")
        said = {field.key: str(field.value) for field in block.fields}
        return cleaned({name: next((said[key] for key in keys if key in said), None) for name, keys in _FIELDS.items()})


def _reason(error: object) -> str:
    text = " ".join(str(error).split()).partition(". Note: ")[0]
    return text or "the entry does not end, or begins another within it"
