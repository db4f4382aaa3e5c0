r"""Article metadata in BibTeX and BibLaTeX: an entry begins with ``@`` at the start of a line.

LaTeX in fields becomes text (``{\'E}tude``, ``---``, ``$\alpha$``). In a DOI only escapes are resolved. A
bare ``%`` or ``&`` is a character, since BibTeX has neither comments nor columns within fields. ``@string``
applies to the entries after it; ``#`` joins texts.
Source: O. Patashnik, BibTeXing, 1988; P. Kime et al., The biblatex Package, sections 2.1 and 2.2.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.exchange import limits
from idstore.exchange.articles import (
    ArticleEntry,
    Stream,
    failure,
    library,
    nonblank,
    unpaged,
    unread_doi,
    unread_note,
)
from idstore.schemes.article_fields import FORMULA, meant

_BLOCK_START: Final = re.compile(rb"[ \t]*@")
_FIELDS: Final = {
    "issn": ("issn",),
    "volume": ("volume",),
    "issue": ("number", "issue"),
    "page": ("pages",),
    "title": ("title",),
    "subtitle": ("subtitle",),
    "doi": ("doi",),
}
"""Names of each field in BibTeX and BibLaTeX; the first one present counts."""
_MARK: Final = re.compile(r'\\.|["{}#]', re.DOTALL)
_SPECIAL: Final = re.compile(r"\\.|[%&]", re.DOTALL)
"""Signs for comments and columns in LaTeX, which are mere characters in a field."""
_LOGO: Final = re.compile(r"\\([A-Za-z]*TeXe?)(?![A-Za-z])")
_LINK: Final = re.compile(r"\\href\s*\{[^{}]*\}")
"""A link, up to its text."""
_BEGINS_A_WORD: Final = re.compile(r"(?:^|(?<=[\s{}$(\[~-]))\\([A-Za-z]+)(?![A-Za-z]|\s*\{\s*[^\s}])")
"""A macro without an argument that could stand for the first letter of a word."""
_SILENT: Final = re.compile(
    "begin|[bB]igg?|boldmath|cal|displaystyle|em|end|footnotesize|[hH]uge|kern|[lL]arge|LARGE|left|limits"
    "|newline|no(?:break|indent|limits)|normal(?:font|size)|par|protect|relax|right|script(?:size|style)"
    "|small|strut|textstyle|tiny|unboldmath|(?:med|small)skip|vspace|xspace"
    "|bf(?:series)?|mdseries|(?:it|sc|sl|up)shape|(?:rm|sf|tt)(?:family)?|it|sc|sl"
)
"""Macros that print nothing and that the package pylatexenc does not know."""
_IN_DOI: Final = re.compile(
    r"\\([#$%&_{}])|\\(text[a-z]+|sim)(?![A-Za-z]) ?|\\(~)(?=\{\})|\$(?=[<>\\])|(?<=[<>m])\$"
    r"|\\(?:url|ensuremath)(?=\{)|[{}]"
)
"""Escapes that programs write for characters of a DOI."""
_SHORT_MATHS: Final = re.compile(r"\$(\\?[^$\\A-Za-z])\$")
"""A single sign in the mode for mathematics."""
_MATHS: Final = re.compile(r"(?<!\\)\$[^$]+\$|\\(?:ensuremath|begin)\b|\\[(\[]")
_WORD: Final = re.compile(r"[^\s{}\"#=,]+|")
"""A value without braces or quotes: a number, or the name of a string."""
_ARTICLES: Final = frozenset({"article", "misc", "review", "suppperiodical"})
"""Types of entries that are articles, or may be."""
_INHERITING: Final = ("xref", "xdata")
_OWN: Final = frozenset({"doi", "crossref", "pages"})
"""Fields that say something of one entry alone."""
_ARTICLE_NUMBER: Final = ("eid", "articleno", "article-number")
"""Fields for the number of an article without pages: of biblatex and REVTeX, of ACM, of Web of Science."""
_PROSE: Final = frozenset({"abstract", "annote", "annotation", "references", "title", "subtitle"})
"""Fields of texts that may name the DOIs of other articles."""
_LIBRARY_PREFIX: Final = "Middleware could not be fully applied: "
"""The beginning of the package's error for malformed LaTeX."""
_CHARACTERS: Final = {
    "textless": "<", "textgreater": ">", "textasciitilde": "~", "sim": "~", "textunderscore": "_",
    "textbar": "|", "textbackslash": "\\", "textasciicircum": "^",
}  # fmt: skip


def entries(stream: Stream) -> Iterator[ArticleEntry]:
    """Yield the articles in file order.

    Raises InvalidData as `metadata.entries`, and if the package is not installed.
    """
    reader = _BibtexReader(stream.name)
    for line, text in _blocks(stream):
        yield from reader.read(line, text)
    yield from reader.end()


def _blocks(stream: Stream) -> Iterator[tuple[int, bytes]]:
    """Yield each block, from an ``@`` at the start of a line to the next one, with its line.

    Raises InvalidData.
    """
    first, number, block = 1, 0, b""
    while line := stream.read_line(limits.LINE + 1):
        number += 1
        if _BLOCK_START.match(line) and block:
            yield first, block
            first, block = number, b""
        block += line
        if len(block) > limits.LINE:
            reason = f"an entry is longer than {limits.LINE} bytes; begin each at the beginning of a line"
            raise failure(stream.name, first, reason)
    if block:
        yield first, block


class _BibtexReader:
    """A reader of blocks in order: it keeps the definitions of ``@string``."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._bibtex = library(file, "bibtexparser", "BibTeX")
        middlewares = library(file, "bibtexparser.middlewares", "BibTeX")
        model = library(file, "bibtexparser.model", "BibTeX")
        self._latex = middlewares.LatexDecodingMiddleware(keep_math_mode=False)
        self._macros = [
            library(file, f"pylatexenc.{name}", "BibTeX").get_default_latex_context_db()
            for name in ("latex2text", "latexwalker")
        ]
        self._entry, self._string = model.Entry, model.String
        self._strings: dict[str, str] = {}
        self._too_long: dict[str, InvalidData] = {}
        self._size = 0
        self._waiting: deque[_Waiting] = deque()

    def read(self, line: int, text: bytes) -> Iterator[ArticleEntry]:
        """Yield the entries of a block, or its error."""
        try:
            decoded = text.decode()
        except UnicodeDecodeError as error:
            reason = f"it is not UTF-8 (byte 0x{error.object[error.start]:02x})"
            error_line = line + text.count(b"\n", 0, error.start)
            yield ArticleEntry(self._file, line, failure(self._file, error_line, reason))
            return
        parsed = self._bibtex.parse_string(decoded, parse_stack=[])
        for block in parsed.strings:
            self._define(line, block.key.lower(), block.value)
        for block in [*parsed.entries, *parsed.failed_blocks]:
            yield from self._add(line, block)

    def end(self) -> Iterator[ArticleEntry]:
        """Yield the entries that still wait for the one that they refer to."""
        for waiting in self._waiting:
            yield self._finished(waiting)
        self._waiting.clear()

    def _add(self, line: int, block: Any) -> Iterator[ArticleEntry]:
        """Yield the articles that are complete with a block, in file order.

        An entry with ``crossref`` waits for the later one that it names, which is no article itself.
        """
        first = line + (block.start_line or 0)
        values: Mapping[str, str] | InvalidData
        parent, key, kind = "", "", ""
        if isinstance(block, self._entry):
            values = {field.key.lower(): str(field.value) for field in block.fields}
            broken = [field for field in block.fields if not _is_value(str(field.value))]
            other = next((name for name in _INHERITING if name in values), None)
            key, kind = block.key.lower(), block.entry_type.lower()
            if broken:
                place = line + (broken[0].start_line or 0)
                reason = (
                    f"the field {broken[0].key} does not end where it should; is a comma missing after it?"
                )
                values = failure(self._file, place, reason)
            elif len(values) < len(block.fields):
                names = Counter(field.key.lower() for field in block.fields)
                reason = f"the field {max(names, key=names.__getitem__)} stands twice; leave one of the two"
                values = failure(self._file, first, reason)
            elif other is not None:
                reason = f"it takes fields from another entry by {other}, which is not read; write them out"
                values = failure(self._file, first, reason)
            else:
                parent = _bare(values.get("crossref", "")).lower()
        else:
            values = failure(self._file, first, f"it is not BibTeX: {_reason(block.error)}")
        children = [child for child in self._waiting if child.parent == key] if key else []
        for child in children:
            child.inherit(values)
        if not children:
            self._waiting.append(_Waiting(first, values, parent, kind))
        while self._waiting and (not self._waiting[0].parent or len(self._waiting) > limits.BIBTEX_WAITING):
            yield self._finished(self._waiting.popleft())

    def _finished(self, waiting: "_Waiting") -> ArticleEntry:
        if waiting.parent:
            reason = (
                f"no entry after it has the key {waiting.parent!r}, which its crossref names; write it there,"
                " or write its fields out"
            )
            return ArticleEntry(self._file, waiting.line, failure(self._file, waiting.line, reason))
        values = {} if isinstance(waiting.values, InvalidData) else waiting.values
        formula = any(_MATHS.search(values.get(name, "")) for name in ("title", "subtitle"))
        doubts = (*_unused(values), *([FORMULA] if formula else []))
        if values and waiting.kind not in _ARTICLES:
            doubts = (f"the entry is of type {waiting.kind}, which is no article", *doubts)
        return ArticleEntry(
            self._file, waiting.line, self._fields(waiting.line, waiting.values), doubts=doubts
        )

    def _define(self, line: int, name: str, value: str) -> None:
        """Define a string. Raises InvalidData: the strings of the file are too long together."""
        try:
            self._strings[name] = self._joined(value)
        except InvalidData as error:  # an entry that uses the string reports it
            if "limit" in error.fields:
                self._too_long[name] = error
            return
        self._size += len(self._strings[name])
        if self._size > limits.BIBTEX_STRINGS:
            reason = f"the strings of the file have more than {limits.BIBTEX_STRINGS} characters"
            raise failure(self._file, line, reason)

    def _fields(self, line: int, values: "Mapping[str, str] | InvalidData") -> "dict[str, str] | InvalidData":
        if isinstance(values, InvalidData):
            return values
        for name, key in _misnamed(values):
            return failure(self._file, line, f"the field {key!r} is not known; write {name!r}", field=key)
        raw = {
            name: next((values[key] for key in keys if key in values), "") for name, keys in _FIELDS.items()
        }
        try:
            return nonblank({name: self._read(name, text) for name, text in raw.items()})
        except InvalidData as error:
            return failure(self._file, line, error.message)

    def _read(self, name: str, value: str) -> str:
        """Return the text of a field's value. Raises InvalidData."""
        text = self._joined(value)
        return _doi(text) if name == "doi" else self._decoded(text)

    def _joined(self, value: str) -> str:
        """Return a value without its delimiters, with the parts around ``#`` joined.

        Raises InvalidData: a part is undefined, or the text is too long.
        """
        pieces = [*_pieces(value)]
        texts, size = [], 0
        for piece in pieces:
            texts.append(self._piece(piece, alone=len(pieces) == 1))
            size += len(texts[-1])
            if size > limits.BIBTEX_TEXT and len(pieces) > 1:
                raise InvalidData(
                    f"the joined text has more than {limits.BIBTEX_TEXT} characters", limit=limits.BIBTEX_TEXT
                )
        return "".join(texts)

    def _piece(self, piece: str, *, alone: bool) -> str:
        if piece[:1] + piece[-1:] in ("{}", '""') and len(piece) > 1:
            return piece[1:-1]
        unquoted = piece if alone or piece.isdigit() else None  # values without quotes are common
        if piece.lower() in self._too_long:
            raise self._too_long[piece.lower()]
        text = self._strings.get(piece.lower(), unquoted)
        if text is None:
            raise InvalidData(
                f"{piece!r}, which a # joins, is not defined;"
                f" write @string{{{piece} = {{…}}}} before the entry, or put the text in quotes"
            )
        return text

    def _decoded(self, text: str) -> str:
        """Return LaTeX as text.

        Raises InvalidData: malformed, nested too deep, or an unknown macro may begin a word.
        """
        if _depth(text) > limits.BIBTEX_DEPTH:
            raise InvalidData(f"its braces are nested more than {limits.BIBTEX_DEPTH} deep; remove some")
        escaped = _SPECIAL.sub(lambda mark: mark[0] if mark[0] not in "%&" else f"\\{mark[0]}", text)
        escaped = _LINK.sub("", _LOGO.sub(r"{\1}", escaped))
        for macro in _BEGINS_A_WORD.findall(escaped):
            if not _SILENT.fullmatch(macro) and all(
                macros.get_macro_spec(macro) is None for macros in self._macros
            ):
                raise InvalidData(f"the macro \\{macro} is not known; write its text in its place")
        block = self._latex.transform_string(self._string("", escaped), None)
        if not isinstance(block, self._string):
            raise InvalidData(f"it is not LaTeX: {_reason(block.error)}")
        return str(block.value)


@dataclass(slots=True)
class _Waiting:
    """An entry in file order.

    values  its fields as they are written, or its error.
    parent  the key of the entry that it takes missing fields from, empty if there is none, or it was found.
    kind    its type, in lower case; empty if it is no BibTeX.
    """

    line: int
    values: Mapping[str, str] | InvalidData
    parent: str
    kind: str

    def inherit(self, values: Mapping[str, str] | InvalidData) -> None:
        """Take the missing fields from another entry, but for its DOI, which names something else."""
        self.parent = ""
        if not (isinstance(values, InvalidData) or isinstance(self.values, InvalidData)):
            passed_on = {name: text for name, text in values.items() if name not in _OWN}
            self.values = {**passed_on, **self.values}


def _doi(text: str) -> str:
    """Return a DOI without TeX's escapes. Raises InvalidData: some TeX is left."""
    shown = _SHORT_MATHS.sub(r"\1", text)
    plain = _IN_DOI.sub(_in_doi, shown)
    if "\\" in plain or plain.count("$") > shown.count(r"\$"):
        raise InvalidData(
            f"the DOI {text!r} has TeX that is not known; write its characters", field="doi", value=text
        )
    return plain


def _bare(value: str) -> str:
    """Return a value without its delimiters."""
    return value[1:-1].strip() if value[:1] + value[-1:] in ("{}", '""') else value.strip()


def _is_value(value: str) -> bool:
    """Whether a text is a value of BibTeX: texts in braces or quotes, and words, joined by ``#``."""
    return all(_is_text(piece) or _WORD.fullmatch(piece) for piece in _pieces(value))


def _unused(values: Mapping[str, str]) -> Iterator[str]:
    """Yield what numbers an article beside the fields that are read."""
    for names in _FIELDS.values():
        first, *others = [name for name in names if _bare(values.get(name, ""))] or [""]
        for name in others:
            if _bare(values[name]) != _bare(values[first]):
                yield f"the field {name} ({_bare(values[name])}) is not used beside {first}"
    for name in ("part", "series", "supplement"):
        if text := _bare(values.get(name, "")):
            yield f"the field {name} ({text}) is not used"
    number = next(filter(None, (_bare(values.get(name, "")) for name in _ARTICLE_NUMBER)), "")
    yield from unpaged(_bare(values.get("pages", "")), number)
    yield from unread_doi({name: _bare(text) for name, text in values.items()}, "doi", _PROSE)
    if said := unread_note(_bare(values.get("note", ""))):
        yield f"the field note ({said}) is not used"
    title = _bare(values.get("issuetitle", ""))
    if re.search(r"\bsup", title, re.IGNORECASE):
        yield f"the field issuetitle ({title}) is not used"


def _misnamed(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield fields under names that are not those of BibTeX: the name, and the one that is used."""
    for key, value in values.items():
        names = _FIELDS.get(meant(key) or "", ())
        if (
            names
            and key not in names
            and _bare(value)
            and not any(_bare(values.get(one, "")) for one in names)
        ):
            yield names[0], key


def _is_text(piece: str) -> bool:
    """Whether the braces or quotes at the beginning of a text end with it."""
    if piece[:1] not in ("{", '"'):
        return False
    depth = 0
    for mark in _MARK.finditer(piece):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        ends = mark[0] == "}" and not depth if piece[0] == "{" else mark[0] == '"' and not depth
        if ends and mark.start() > 0:
            return mark.end() == len(piece)
    return False


def _pieces(value: str) -> Iterator[str]:
    """Yield the parts that ``#`` joins, outside of braces and quotes."""
    depth, quoted, start = 0, False, 0
    for mark in _MARK.finditer(value):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        quoted ^= mark[0] == '"' and not depth
        if mark[0] == "#" and not depth and not quoted:
            yield value[start : mark.start()].strip()
            start = mark.end()
    yield value[start:].strip()


def _depth(text: str) -> int:
    """Return how deep the braces of a text are nested."""
    steps = ({"{": 1, "}": -1}.get(mark[0], 0) for mark in _MARK.finditer(text))
    return max(accumulate(steps), default=0)


def _in_doi(mark: re.Match[str]) -> str:
    return mark[1] or mark[3] or (_CHARACTERS.get(mark[2], mark[0]) if mark[2] else "")


def _reason(error: object) -> str:
    text = " ".join(str(error).split()).partition(". Note: ")[0].removeprefix(_LIBRARY_PREFIX)
    if text.startswith("maximum recursion depth"):
        return "it is nested too deep"
    return text or "the entry does not end, or begins another within it"
