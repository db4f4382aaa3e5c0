"""RDF terms from external text, with errors that quote the text."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from idstore.characters import BIDI, CONTROLS, LINE_ENDS, SURROGATES
from idstore.errors import InvalidData
from idstore.vocabulary import XSD

if TYPE_CHECKING:
    from decimal import Decimal

Term: TypeAlias = NamedNode | Literal
"""A term in object position: idstore writes no blank nodes and no triple terms."""

TEXT_LIMIT: Final = 64 << 10
"""Maximum size of a text (name, comment, reason, label, request key, IRI), in bytes of UTF-8."""

UNDETERMINED = "und"
"""Code of BCP 47 for an undetermined language. Such texts become plain literals."""

# compiled at first use: compilation takes longer than an allocation, which needs no expression
_ABSOLUTE: Final = r"[A-Za-z][A-Za-z0-9+.-]*:\S+"
_FORBIDDEN: Final = rf'[{CONTROLS}{LINE_ENDS}{BIDI}{SURROGATES} <>"{{}}|\\^`]'
_DECIMALS = 18
"""Decimals of the engine's xsd:decimal. The engine does not treat a value with more decimals as a number,
so that it would break the shapes."""
_ARGUMENTS: Final = {
    "IRI": "target",
    "IRI of a relation": "relation",
    "IRI of a justification": "justification",
    "IRI of a licence": "licence",
    "URL": "data",
    "language tag": "lang",
    "request key": "request_key",
    "text to redact": "text",
    "delivery key": "delivery",
}
"""The argument that holds a text, where messages call it by another name."""
_LANGUAGE: Final = r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*|[xX](-[A-Za-z0-9]{1,8})+"
"""A tag of BCP 47: a language of two or three letters, or a private tag. No language has a longer code."""


def check_size(text: str, what: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text unchanged. Raises InvalidData if it has more bytes of UTF-8 than the limit."""
    if 4 * len(text) > limit and (size := len(text.encode(errors="surrogatepass"))) > limit:
        raise InvalidData(
            f"the {what} has {size} bytes of UTF-8, more than the {limit} allowed; shorten it",
            field=_argument(what),
            size=size,
            limit=limit,
        )
    return text


@lru_cache(maxsize=4096)
def iri(text: str, what: str = "IRI") -> NamedNode:
    """Return an absolute IRI. Raises InvalidData, with the position of the first invalid character."""
    check_size(text, what)
    invalid = re.search(_FORBIDDEN, text)
    if invalid is not None:
        raise InvalidData(
            f"{text!r} is not an absolute {what}: {invalid.group()!r} at position {invalid.start()}"
            " must be percent-encoded",
            field=_argument(what),
            text=text,
            position=invalid.start(),
        )
    if not re.fullmatch(_ABSOLUTE, text):
        raise InvalidData(
            f"{text!r} is not an absolute {what}; begin it with a scheme, as in http://example.org/a",
            field=_argument(what),
            text=text,
            position=0,
        )
    try:
        return NamedNode(text)
    except ValueError as error:
        raise InvalidData(
            f"{text!r} is not an absolute {what}: {error}", field=_argument(what), text=text, position=0
        ) from error


@lru_cache(maxsize=256)
def language(text: str, field: str = "lang") -> str:
    """Return a BCP 47 language tag in lower case.

    field  the argument that it is.
    Raises InvalidData.
    """
    check_size(text, "language tag")
    try:
        if re.fullmatch(_LANGUAGE, text):
            return Literal("", language=text.lower()).language or UNDETERMINED
    except ValueError:  # matches the expression, but is not a tag: en-12
        pass
    raise InvalidData(
        f"{text!r} is not a language tag; write one as en, pt-br or deu", field=field, text=text
    )


def language_or_none(text: str) -> str:
    """Return a language tag in lower case, or `UNDETERMINED` as it is. Raises InvalidData."""
    return text if text == UNDETERMINED else language(text)


def check_text(text: str, what: str) -> str:
    """Return a text unchanged.

    Raises InvalidData if it is empty, too long, not UTF-8, or holds a NUL character.
    """
    check_size(text, what)
    if not text.strip():
        raise InvalidData(
            f"the {what} is empty; give at least one character", field=_argument(what), text=text
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidData(
            f"the {what} {text!r} is not UTF-8 text (position {error.start})",
            field=_argument(what),
            text=text,
            position=error.start,
        ) from None
    if "\x00" in text:
        raise InvalidData(
            f"the {what} {text!r} holds a NUL character (position {text.index(chr(0))})",
            field=_argument(what),
            text=text,
            position=text.index("\x00"),
        )
    return text


def _argument(what: str) -> str:
    """Return the name of the argument that holds what a message calls ``what``."""
    return _ARGUMENTS.get(what, what.replace(" ", "_"))


def hashed(text: str) -> int:
    """Return a 63-bit hash of a text."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def integer(number: int) -> Literal:
    """Return the literal of an integer."""
    return Literal(str(number), datatype=XSD.integer)


def is_share(value: "Decimal") -> bool:
    """Whether the value is 0, or a number up to 1 that does not vanish within the decimals kept."""
    return value.is_finite() and 0 <= value <= 1 and (not value or value.adjusted() >= -_DECIMALS)


def share(value: "Decimal | float") -> Literal:
    """Return the literal of a number from 0 to 1, rounded to the decimals kept. Raises InvalidData."""
    from decimal import Decimal

    number = Decimal(str(value))
    if not is_share(number):
        raise InvalidData(
            f"{value} is not a confidence; give a number from 0 to 1 with at most {_DECIMALS} decimals",
            field="confidence",
            text=str(value),
        )
    return Literal(format(abs(round(number, _DECIMALS)).normalize(), "f"), datatype=XSD.decimal)


def lines(subject: NamedNode | str, pairs: Iterable[tuple[NamedNode, Term]], graph: NamedNode) -> str:
    """Return the properties of a subject in a graph as N-Quads.

    A subject given as text must be in N-Quads already.
    """
    start, end = str(subject), f"{graph!s} .\n"
    return "".join([f"{start} {predicate!s} {value!s} {end}" for predicate, value in pairs])


def triples(nquads: str) -> set[str]:
    """Return the triples in the output of `lines`, in N-Triples without the final dot."""
    return {line.rpartition(" <")[0] for line in nquads.split("\n") if line}


def tagged(text: str, lang: str) -> Literal:
    """Return the literal of a text in a language."""
    return Literal(text) if lang == UNDETERMINED else Literal(text, language=lang)


def stem(iri: str) -> str:
    """Return the part of an IRI up to the last ``/``, ``#`` or ``=``; empty for a text that is not an IRI.

    >>> stem("http://www.wikidata.org/entity/Q42"), stem("info:pronom/x-fmt/3"), stem("urn:isbn:0451450523")
    ('http://www.wikidata.org/entity/', 'info:pronom/', 'urn:isbn:')
    >>> stem("Q42")
    ''
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
_DATATYPES: Final = {
    datatype.value: datatype
    for datatype in (XSD.boolean, XSD.dateTime, XSD.decimal, XSD.hexBinary, XSD.integer)
}


def parse_term(text: str) -> Term:
    """Parse a term in N-Triples. Raises ValueError if the text is not a term, or is a blank node."""
    if text.startswith("<") and not text.startswith("<<"):
        return NamedNode(text[1:-1])
    simple = re.fullmatch(_SIMPLE, text)
    if simple is not None and (simple[3] is None or simple[3] in _DATATYPES):
        content, tag, datatype = simple.groups()
        return (
            Literal(content, datatype=_DATATYPES[datatype])
            if datatype
            else Literal(content, language=tag)
            if tag
            else Literal(content)
        )
    (quad,) = parse(f"<x:> <x:> {text} .", format=RdfFormat.N_TRIPLES)
    if not isinstance(quad.object, NamedNode | Literal):
        raise ValueError(f"{text} is neither an IRI nor a literal")  # noqa: TRY004 the text is wrong
    return quad.object


def iri_of(value: object) -> NamedNode:
    """Return a stored term that must be an IRI."""
    assert isinstance(value, NamedNode)
    return value


def text_of(value: object) -> str:
    """Return the text of a stored term that must be a literal."""
    assert isinstance(value, Literal)
    return value.value


def name_of(value: Term) -> tuple[str, str]:
    """Return language and text of a stored name."""
    assert isinstance(value, Literal)
    return (value.language or UNDETERMINED, value.value)
