r"""Metadata of articles in BibTeX and BibLaTeX: an entry begins at the beginning of a line, with ``@``.

LaTeX in fields is read as text (``{\'E}tude``, ``---``, ``$\alpha$``); a DOI stays as it is but for what is escaped in it, and a bare ``%`` or ``&`` is
a character, for BibTeX has neither comments nor columns within fields. ``@string`` is known to the entries behind it; what ``#`` joins is one text.
Source: O. Patashnik, BibTeXing, 1988; P. Kime et al., The biblatex Package, sections 2.1 and 2.2.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange.articles import Entry, Stream, cleaned, failure, library

_LONGEST: Final = 1 << 20
"""Bytes of one entry: memory stays bounded."""
_BEGUN: Final = re.compile(rb"[ \t]*@")
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
_MARK: Final = re.compile(r'\\.|["{}#]', re.DOTALL)
_SPECIAL: Final = re.compile(r"\\.|[%&]", re.DOTALL)
"""What begins a comment or a column in LaTeX, and is but a character in a field."""
_LOGO: Final = re.compile(r"\\([A-Za-z]*TeXe?)(?![A-Za-z])")
_LINK: Final = re.compile(r"\\href\s*\{[^{}]*\}")
"""A link, up to its text."""
_BEGINS_A_WORD: Final = re.compile(r"(?:^|(?<=[\s{}$(\[~-]))\\([A-Za-z]+)(?![A-Za-z]|\s*\{\s*[^\s}])")
"""A macro without an argument from which a word could get its first letter."""
_SILENT: Final = re.compile(
    "begin|[bB]igg?|boldmath|cal|displaystyle|em|end|footnotesize|[hH]uge|kern|[lL]arge|LARGE|left|limits|newline|no(?:break|indent|limits)"
    "|normal(?:font|size)|par|protect|relax|right|script(?:size|style)|small|strut|textstyle|tiny|unboldmath|(?:med|small)skip|vspace|xspace"
    "|bf(?:series)?|mdseries|(?:it|sc|sl|up)shape|(?:rm|sf|tt)(?:family)?|it|sc|sl"
)
"""Macros that print nothing themselves, which are no part of what the package knows."""
_IN_DOI: Final = re.compile(
    r"\\([#$%&_{}])|\\(text[a-z]+|sim)(?![A-Za-z]) ?|\\(~)(?=\{\})|\$(?=[<>\\])|(?<=[<>m])\$|\\(?:url|ensuremath)(?=\{)|[{}]"
)
"""What programs that write BibTeX make of a DOI's characters."""
_CHARACTERS: Final = {
    "textless": "<", "textgreater": ">", "textasciitilde": "~", "sim": "~", "textunderscore": "_", "textbar": "|",
    "textbackslash": "\\", "textasciicircum": "^",
}  # fmt: skip


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
        self._keys = middlewares.NormalizeFieldKeys()
        self._latex = middlewares.LatexDecodingMiddleware(keep_math_mode=False)
        self._macros = [
            library(file, f"pylatexenc.{name}", "BibTeX").get_default_latex_context_db() for name in ("latex2text", "latexwalker")
        ]
        self._entry, self._string = model.Entry, model.String
        self._strings: dict[str, str] = {}

    def read(self, line: int, text: bytes) -> Iterator[Entry]:
        """The entries of a block, or what is wrong with it."""
        try:
            said = text.decode()
        except UnicodeDecodeError as error:
            place = line + text.count(b"\n", 0, error.start)
            yield Entry(self._file, line, failure(self._file, place, f"it is not UTF-8 (byte 0x{error.object[error.start]:02x})"))
            return
        found = self._bibtex.parse_string(said, parse_stack=[self._keys])
        for block in found.strings:
            with suppress(InvalidData):  # whoever uses it is told that it is not defined
                self._strings[block.key.lower()] = self._joined(block.value)
        for block in [*found.entries, *found.failed_blocks]:
            place = line + (block.start_line or 0)
            yield Entry(self._file, place, self._fields(place, block))

    def _fields(self, line: int, block: Any) -> "dict[str, str] | InvalidData":
        if not isinstance(block, self._entry):
            return failure(self._file, line, f"it is not BibTeX: {_reason(block.error)}")
        said = {field.key: str(field.value) for field in block.fields}
        found = {name: next((said[key] for key in keys if key in said), "") for name, keys in _FIELDS.items()}
        try:
            return cleaned({name: self._read(name, text) for name, text in found.items()})
        except InvalidData as error:
            return failure(self._file, line, error.message)

    def _read(self, name: str, value: str) -> str:
        """The text that a field's value says. Raises InvalidData."""
        text = self._joined(value)
        return _IN_DOI.sub(_in_doi, text) if name == "doi" else self._decoded(text)

    def _joined(self, value: str) -> str:
        """A value without what encloses it; several that ``#`` joins are one. Raises InvalidData: one of several has no definition."""
        pieces = [*_pieces(value)]
        return "".join(self._piece(piece, alone=len(pieces) == 1) for piece in pieces)

    def _piece(self, piece: str, *, alone: bool) -> str:
        if piece[:1] + piece[-1:] in ("{}", '""') and len(piece) > 1:
            return piece[1:-1]
        found = piece if alone or piece.isdigit() else None  # values without quotes are common
        text = self._strings.get(piece.lower(), found)
        if text is None:
            raise InvalidData(f"{piece!r}, which a # joins, is not defined; write @string{{{piece} = {{…}}}} before the entry, or quotes")
        return text

    def _decoded(self, text: str) -> str:
        """What LaTeX says. Raises InvalidData; also where a word may begin with what a macro stands for, and nobody knows what that is."""
        escaped = _SPECIAL.sub(lambda mark: mark[0] if mark[0] not in "%&" else f"\\{mark[0]}", text)
        escaped = _LINK.sub("", _LOGO.sub(r"{\1}", escaped))
        for macro in _BEGINS_A_WORD.findall(escaped):
            if not _SILENT.fullmatch(macro) and all(known.get_macro_spec(macro) is None for known in self._macros):
                raise InvalidData(f"what \\{macro} stands for is not known here; write that in its place")
        block = self._latex.transform_string(self._string("", escaped), None)
        if not isinstance(block, self._string):
            raise InvalidData(f"it is not LaTeX: {_reason(block.error)}")
        return str(block.value)


def _pieces(value: str) -> Iterator[str]:
    """What ``#`` joins, outside of braces and quotes."""
    depth, quoted, begun = 0, False, 0
    for mark in _MARK.finditer(value):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        quoted ^= mark[0] == '"' and not depth
        if mark[0] == "#" and not depth and not quoted:
            yield value[begun : mark.start()].strip()
            begun = mark.end()
    yield value[begun:].strip()


def _in_doi(mark: re.Match[str]) -> str:
    return mark[1] or mark[3] or (_CHARACTERS.get(mark[2], mark[0]) if mark[2] else "")


def _reason(error: object) -> str:
    text = " ".join(str(error).split()).partition(". Note: ")[0]
    return text or "the entry does not end, or begins another within it"
