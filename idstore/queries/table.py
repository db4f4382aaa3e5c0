"""Tables for human readers: aligned columns, abbreviated IRIs."""

import unicodedata
from collections.abc import Mapping
from typing import BinaryIO, Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.characters import printable

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
_GAP: Final = "  "
_LOCAL: Final = frozenset("_-.")


def write(
    variables: list[str],
    rows: list[tuple[Term | None, ...]],
    prefixes: Mapping[str, str],
    out: BinaryIO,
    longest_cell: int | None = None,
) -> None:
    """Write a heading, a rule and the rows.

    Control characters are escaped: cells may hold texts of other parties.

    longest_cell  characters of a cell at most, ``…`` as the last one of a longer cell; None for no limit.
    """
    heading = [_cut(variable, longest_cell) for variable in variables]
    texts = [[_cut(_text(term, prefixes), longest_cell) for term in row] for row in rows]
    widths = [
        max((_width(cell) for cell in column), default=0) for column in zip(heading, *texts, strict=True)
    ]
    rule = ["-" * width for width in widths]
    for line in (heading, rule, *texts):
        padded = _GAP.join(
            cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)
        )
        out.write(f"{padded.rstrip()}\n".encode())


def _text(term: Term | None, prefixes: Mapping[str, str]) -> str:
    match term:
        case None:
            return ""
        case NamedNode():
            return _short(term.value, prefixes)
        case Literal():
            return printable(term.value) + (f"@{term.language}" if term.language else "")
        case Triple():
            parts = " ".join(_text(part, prefixes) for part in (term.subject, term.predicate, term.object))
            return f"<<( {parts} )>>"
    return str(term)


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return the IRI as ``skos:exactMatch`` if a prefix matches and the rest is a simple name."""
    for prefix, space in prefixes.items():
        local = iri[len(space) :]
        if iri.startswith(space) and local and all(c.isalnum() or c in _LOCAL for c in local):
            return f"{prefix}:{local}"
    return printable(iri)


def _width(text: str) -> int:
    """Return the number of columns on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
