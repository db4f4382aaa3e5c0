"""Rows for people: aligned columns, IRIs abbreviated."""

import unicodedata
from collections.abc import Mapping
from typing import BinaryIO, Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
_GAP: Final = "  "
_LOCAL: Final = frozenset("_-.")


def write(variables: list[str], rows: list[tuple[Term | None, ...]], prefixes: Mapping[str, str], out: BinaryIO) -> None:
    """Write a heading, a rule and the rows. What could steer a terminal is escaped: other parties wrote it."""
    texts = [[_text(term, prefixes) for term in row] for row in rows]
    widths = [max((_width(cell) for cell in column), default=0) for column in zip(variables, *texts, strict=True)]
    rule = ["-" * width for width in widths]
    for line in (variables, rule, *texts):
        padded = _GAP.join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True))
        out.write(f"{padded.rstrip()}\n".encode())


def _text(term: Term | None, prefixes: Mapping[str, str]) -> str:
    match term:
        case None:
            return ""
        case NamedNode():
            return _short(term.value, prefixes)
        case Literal():
            return _printable(term.value) + (f"@{term.language}" if term.language else "")
        case Triple():
            return f"<<( {' '.join(_text(part, prefixes) for part in (term.subject, term.predicate, term.object))} )>>"
    return str(term)


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    """The IRI with a prefix, where what follows is a plain name: ``skos:exactMatch``."""
    for prefix, space in prefixes.items():
        local = iri[len(space) :]
        if iri.startswith(space) and local and all(c.isalnum() or c in _LOCAL for c in local):
            return f"{prefix}:{local}"
    return _printable(iri)


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _width(text: str) -> int:
    """Columns on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
