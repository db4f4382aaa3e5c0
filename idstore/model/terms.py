"""Making RDF terms from outside text, with errors that name the text."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from idstore.errors import InvalidData
from idstore.vocabulary import XSD

if TYPE_CHECKING:
    from decimal import Decimal

Term: TypeAlias = NamedNode | Literal
"""What may stand in object position: idstore writes no blank nodes and no quoted triples."""

UNDETERMINED = "und"
"""BCP 47's code for "no particular language"; such texts are plain literals."""

# expressions are compiled when they are first used: that takes longer than to allocate an identifier, which uses none
_ABSOLUTE: Final = r"[A-Za-z][A-Za-z0-9+.-]*:\S+"
_FORBIDDEN: Final = r'[\x00-\x20<>"{}|\\^`\x7f-\x9f\ud800-\udfff]'
_DECIMALS = 18
"""Decimals that the engine's xsd:decimal holds; what has more is no number to it, and breaks the shapes."""
_LANGUAGE: Final = r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*"


@lru_cache(maxsize=4096)
def iri(text: str, what: str = "IRI") -> NamedNode:
    """An absolute IRI. Raises InvalidData with the position of the first character that cannot stand in one."""
    bad = re.search(_FORBIDDEN, text)
    if bad is not None:
        raise InvalidData(
            f"{text!r} is not an absolute {what}: {bad.group()!r} at position {bad.start()} must be percent-encoded",
            text=text,
            position=bad.start(),
        )
    if not re.fullmatch(_ABSOLUTE, text):
        raise InvalidData(f"{text!r} is not an absolute {what}; begin it with a scheme, as in http://example.org/a", text=text, position=0)
    try:
        return NamedNode(text)
    except ValueError as error:
        raise InvalidData(f"{text!r} is not an absolute {what}: {error}", text=text, position=0) from error


@lru_cache(maxsize=256)
def language(text: str) -> str:
    """A BCP 47 language tag, lower case. Raises InvalidData."""
    try:
        if re.fullmatch(_LANGUAGE, text):
            return Literal("", language=text.lower()).language or UNDETERMINED
    except ValueError:  # of that form, and no tag all the same: en-12
        pass
    raise InvalidData(f"{text!r} is not a language tag; write en or pt-br", text=text)


def plain(text: str, what: str) -> str:
    """A text that can be stored as a literal. Raises InvalidData: empty, or with characters that UTF-8 cannot carry."""
    if not text.strip():
        raise InvalidData(f"the {what} is empty; give at least one character", text=text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidData(f"the {what} {text!r} is not UTF-8 text (position {error.start})", text=text, position=error.start) from None
    if "\x00" in text:
        raise InvalidData(
            f"the {what} {text!r} holds a NUL character (position {text.index(chr(0))})", text=text, position=text.index("\x00")
        )
    return text


def hashed(text: str) -> int:
    """A 63-bit number for a text, to find it by or to compare it with."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def is_share(value: "Decimal") -> bool:
    """Whether it is a number from 0 to 1 of which something is left when it is written; NaN cannot even be compared."""
    return value.is_finite() and 0 <= value <= 1 and (not value or value.adjusted() >= -_DECIMALS)


def share(value: "Decimal") -> Literal:
    """The literal of a number from 0 to 1, rounded to the decimals that can be kept. Raises InvalidData."""
    if not is_share(value):
        raise InvalidData(f"{value} is no confidence; give a number from 0 to 1 with at most {_DECIMALS} decimals", text=str(value))
    return Literal(format(abs(round(value, _DECIMALS)).normalize(), "f"), datatype=XSD.decimal)


def lines(subject: NamedNode | str, pairs: Iterable[tuple[NamedNode, Term]], graph: NamedNode) -> str:
    """What is said of a subject in a graph, as N-Quads; a subject that is a text is written as such."""
    start, end = str(subject), f"{graph!s} .\n"
    return "".join([f"{start} {predicate!s} {value!s} {end}" for predicate, value in pairs])


def triples(nquads: str) -> set[str]:
    """The triples of what `lines` wrote, as N-Triples write them but for the dot."""
    return {line.rpartition(" <")[0] for line in nquads.split("\n")}


def tagged(text: str, lang: str) -> Literal:
    """The literal of a text in a language."""
    return Literal(text) if lang == UNDETERMINED else Literal(text, language=lang)


def stem(iri: str) -> str:
    """What an IRI has in common with others of its kind: everything up to its last ``/``, ``#`` or ``=``; of a bare text nothing.

    >>> stem("http://www.wikidata.org/entity/Q42"), stem("info:pronom/x-fmt/3"), stem("urn:isbn:0451450523"), stem("Q42")
    ('http://www.wikidata.org/entity/', 'info:pronom/', 'urn:isbn:', '')
    """
    scheme, colon, rest = iri.partition(":")
    if not colon:
        return ""
    if not rest.startswith("//"):
        cut = rest.find("/") if scheme == "info" else rest.rfind(":")
        return f"{scheme}:{rest[: cut + 1]}"
    head = rest.rstrip("/#")
    cut = max(head.rfind("/"), head.rfind("#"), head.rfind("=") if "?" in head else -1)
    return f"{scheme}:{head[: cut + 1]}" if cut > 1 else iri


_SIMPLE: Final = r'"([^"\\]*)"(?:@([A-Za-z0-9-]+)|\^\^<([^<>\\]+)>)?'
_DATATYPES: Final = {datatype.value: datatype for datatype in (XSD.boolean, XSD.dateTime, XSD.decimal, XSD.hexBinary, XSD.integer)}


def written(text: str) -> Term:
    """The term that N-Triples write so. Raises ValueError if it is none, or a blank node."""
    if text.startswith("<") and not text.startswith("<<"):
        return NamedNode(text[1:-1])
    simple = re.fullmatch(_SIMPLE, text)
    if simple is not None and (simple[3] is None or simple[3] in _DATATYPES):
        said, tag, datatype = simple.groups()
        return Literal(said, datatype=_DATATYPES[datatype]) if datatype else Literal(said, language=tag) if tag else Literal(said)
    (quad,) = parse(f"<x:> <x:> {text} .", format=RdfFormat.N_TRIPLES)
    if not isinstance(quad.object, NamedNode | Literal):
        raise ValueError(f"{text} is neither an IRI nor a literal")  # noqa: TRY004 it is the text's fault
    return quad.object


def named(value: object) -> NamedNode:
    """A stored term that is an IRI."""
    assert isinstance(value, NamedNode)
    return value


def text_of(value: object) -> str:
    """The text of a stored term that is a literal."""
    assert isinstance(value, Literal)
    return value.value


def name_of(value: Term) -> tuple[str, str]:
    """A stored name: its language, and its text."""
    assert isinstance(value, Literal)
    return (value.language or UNDETERMINED, value.value)
