"""Events as rows of the scratch database of an import. All terms are spelled as in N-Triples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData
from idstore.exchange.scratch_engine import canonical
from idstore.model import times
from idstore.model.event import Event, split
from idstore.model.party import node
from idstore.model.terms import Term, parse_term
from idstore.registry.imports.replay import is_general, request_node
from idstore.vocabulary import IDS, PROV, RDF, XSD, argument_property, event_name, party_name

ABOUT: Final = str(IDS.about)
_TYPE, _BY, _AT = str(RDF.type), str(PROV.wasAssociatedWith), str(PROV.endedAtTime)
_HEAD: Final = frozenset({_TYPE, ABOUT, _BY, _AT})
_REQUEST: Final = IDS.requestDigest.value
_DATED: Final = f'"^^{XSD.dateTime}'
_ANY: Final = "<x:> <x:>"

Pairs: TypeAlias = list[tuple[str, str]]
"""Predicates and objects of one subject, as N-Triples write them."""


def subject_groups(batches: Iterable[bytes]) -> Iterator[tuple[str, Pairs]]:
    """Group adjacent triples of N-Triples by subject; a subject may come again later."""
    subject = ""
    pairs: Pairs = []
    for line in chain.from_iterable(map(_lines, batches)):
        next_subject, name, value = line.split(" ", 2)
        if next_subject != subject:
            if pairs:
                yield subject, pairs
            subject, pairs = next_subject, []
        pairs.append((name, value))
    if pairs:
        yield subject, pairs


def _lines(text: bytes) -> list[str]:
    """Split N-Triples into lines without their final dots."""
    *lines, _ = text.decode().replace(" .\n", "\n").split("\n")
    return lines


def row_of(subject: str, pairs: Pairs, values: Mapping[str, str]) -> tuple[tuple[object, ...] | None, Pairs]:
    """Return the row of an event, and those of its pairs that do not follow from that row.

    values  the pairs by predicate.
    The row is None if the kind, subject, party or time is missing or malformed.
    """
    try:
        origin, token = split(subject[1:-1])
        kind, about = _iri(values[_TYPE]), _iri(values[ABOUT])
        by, party = _party(_iri(values[_BY]))
        at = _moment(values[_AT])
        arguments = sorted(
            [
                (_property(name), _canonical(value))
                for name, value in dict.fromkeys(pairs)
                if name not in _HEAD
            ]
        )
    except (KeyError, ValueError, InvalidData):
        return None, pairs
    if not 0 <= token < 1 << 63:
        return None, pairs
    encoded = "\n".join([f"{name} {value}" for name, value in arguments])
    request = None
    if f"<{_REQUEST}>" in values:
        request = next(
            request_node(parse_term(value).value).value for name, value in arguments if name == _REQUEST
        )
    row = (about, at, origin, token, kind, by, encoded, is_general(_named(kind), about), request)
    own = {
        _TYPE: values[_TYPE],
        ABOUT: values[ABOUT],
        _BY: party,
        _AT: f'"{times.lexical(times.of(at))}{_DATED}',
    }
    named = f"<{event_name(origin, token)}>" == subject
    if named and own.items() <= values.items() and len(values) == len(pairs):
        return row, []
    head = own.keys() if named else ()
    odd = [
        (name, value)
        for name, value in pairs
        if name in _HEAD and not (name in head and _same(value, own[name]))
    ]
    return row, odd


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of a row.

    row  subject, time, origin, token, kind, party, and other arguments as `row_of` encodes them.
    """
    key, at, origin, token, kind, by, encoded = row
    arguments = tuple([_argument(line) for line in encoded.split("\n")]) if encoded else ()
    return Event(origin, token, _named(kind), key, by, at, arguments)


@lru_cache(maxsize=4096)
def _argument(line: str) -> tuple[NamedNode, Term]:
    name, _, value = line.partition(" ")
    return _named(name), parse_term(value)


@lru_cache(maxsize=1024)
def _property(term: str) -> str:
    """Return the IRI of the property that the argument with a term, as N-Triples write it, sets."""
    return argument_property(NamedNode(term[1:-1])).value


@lru_cache(maxsize=1024)
def _named(iri: str) -> NamedNode:
    return NamedNode(iri)


def _iri(text: str) -> str:
    """Read an IRI from N-Triples. Raises ValueError."""
    if not text.startswith("<") or text.startswith("<<"):
        raise ValueError(text)
    return text[1:-1]


@lru_cache(maxsize=4096)
def _party(iri: str) -> tuple[str, str]:
    """Return the name of the party with this IRI, and the party's IRI as N-Triples."""
    name = party_name(NamedNode(iri))
    return name, str(node(name))


def _moment(text: str) -> int:
    """Read a date and time from N-Triples, in milliseconds since 1970. Raises ValueError, InvalidData."""
    if text.endswith(_DATED) and "\\" not in text:
        return times.milliseconds(times.parse(text[1 : -len(_DATED)]))
    term = parse_term(text)
    if not isinstance(term, Literal):
        raise ValueError(text)  # noqa: TRY004 it is the file's fault
    return times.milliseconds(times.parse(term.value))


def _same(text: str, canonical_text: str) -> bool:
    """Return whether the engine stores a term in this canonical form."""
    if text == canonical_text:
        return True
    try:
        return _canonical(text) == canonical_text
    except ValueError:
        return False


def _canonical(text: str) -> str:
    """Return a term in the form that the engine stores.

    Raises ValueError unless it is an IRI or a literal.
    """
    if text.startswith("<") and not text.startswith("<<"):
        return text
    if not text.startswith('"'):
        raise ValueError(text)
    return (
        canonical(f"{_ANY} {text}").removeprefix(f"{_ANY} ").removesuffix(" .")
        if text.endswith(">")
        else text
    )
