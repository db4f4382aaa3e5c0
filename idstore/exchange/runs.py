"""What files say of one subject, and how an event is kept as a row: everything of it as N-Triples write it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.event import Event, split
from idstore.model.party import node
from idstore.model.terms import Term, written
from idstore.registry.replaying import is_general, request_node
from idstore.stores.engine import canonical
from idstore.vocabulary import IDS, PROV, RDF, XSD, event_name, party_name

ABOUT: Final = str(IDS.about)
_TYPE, _BY, _AT = str(RDF.type), str(PROV.wasAssociatedWith), str(PROV.endedAtTime)
_HEAD: Final = frozenset({_TYPE, ABOUT, _BY, _AT})
_REQUEST: Final = IDS.requestDigest.value
_DATED: Final = f'"^^{XSD.dateTime}'
_ANY: Final = "<x:> <x:>"

Pairs: TypeAlias = list[tuple[str, str]]
"""What is said of a subject: predicates and objects, as N-Triples write them."""


def runs(said: Iterable[bytes]) -> Iterator[tuple[str, Pairs]]:
    """What is said of one subject, as long as nothing else is spoken of in between."""
    subject = ""
    pairs: Pairs = []
    for line in chain.from_iterable(map(_lines, said)):
        about, name, value = line.split(" ", 2)
        if about != subject:
            if pairs:
                yield subject, pairs
            subject, pairs = about, []
        pairs.append((name, value))
    if pairs:
        yield subject, pairs


def _lines(text: bytes) -> list[str]:
    """The triples of N-Triples without their dots; the one end of line in each is that after it."""
    *lines, _ = text.decode().replace(" .\n", "\n").split("\n")
    return lines


def row_of(subject: str, pairs: Pairs, said: Mapping[str, str]) -> tuple[tuple[object, ...] | None, Pairs]:
    """The row of an event, None if its head is not whole; and what is said of it that it would not say of itself.

    said  the pairs by predicate.
    """
    try:
        origin, token = split(subject[1:-1])
        kind, about = _iri(said[_TYPE]), _iri(said[ABOUT])
        by, party = _party(_iri(said[_BY]))
        at = _moment(said[_AT])
        arguments = sorted([(name[1:-1], _canonical(value)) for name, value in dict.fromkeys(pairs) if name not in _HEAD])
    except (KeyError, ValueError, InvalidData):
        return None, pairs
    if not 0 <= token < 1 << 63:
        return None, pairs
    kept = "\n".join([f"{name} {value}" for name, value in arguments])
    request = (
        next(request_node(written(value).value).value for name, value in arguments if name == _REQUEST) if f"<{_REQUEST}>" in said else None
    )
    row = (about, at, origin, token, kind, by, kept, is_general(_named(kind), about), request)
    own = {_TYPE: said[_TYPE], ABOUT: said[ABOUT], _BY: party, _AT: f'"{times.lexical(at)}{_DATED}'}
    named = f"<{event_name(origin, token)}>" == subject
    if named and own.items() <= said.items() and len(said) == len(pairs):
        return row, []
    head = own.keys() if named else ()
    odd = [(name, value) for name, value in pairs if name in _HEAD and not (name in head and _same(value, own[name]))]
    return row, odd


def event_of(row: Sequence[Any]) -> Event:
    """The event that is kept so: what it is about, when, its origin and token, its kind, by whom, and its other arguments as `row_of` gives them."""
    key, at, origin, token, kind, by, said = row
    arguments = tuple([_argument(line) for line in said.split("\n")]) if said else ()
    return Event(origin, token, _named(kind), NamedNode(key), by, at, arguments)


@lru_cache(maxsize=4096)
def _argument(line: str) -> tuple[NamedNode, Term]:
    name, _, value = line.partition(" ")
    return _named(name), written(value)


@lru_cache(maxsize=1024)
def _named(iri: str) -> NamedNode:
    return NamedNode(iri)


def _iri(text: str) -> str:
    """The IRI that N-Triples write so. Raises ValueError."""
    if not text.startswith("<") or text.startswith("<<"):
        raise ValueError(text)
    return text[1:-1]


@lru_cache(maxsize=4096)
def _party(iri: str) -> tuple[str, str]:
    """The party that an IRI stands for: its name, and its own IRI as N-Triples write it."""
    name = party_name(NamedNode(iri))
    return name, str(node(name))


def _moment(text: str) -> int:
    """The moment that N-Triples write so. Raises ValueError, InvalidData."""
    if text.endswith(_DATED) and "\\" not in text:
        return times.parse(text[1 : -len(_DATED)])
    found = written(text)
    if not isinstance(found, Literal):
        raise ValueError(text)  # noqa: TRY004 it is the file's fault
    return times.parse(found.value)


def _same(text: str, kept: str) -> bool:
    """Whether the engine keeps a term in that form."""
    if text == kept:
        return True
    try:
        return _canonical(text) == kept
    except ValueError:
        return False


def _canonical(text: str) -> str:
    """A term as the engine keeps it. Raises ValueError for one that is neither an IRI nor a literal."""
    if text.startswith("<") and not text.startswith("<<"):
        return text
    if not text.startswith('"'):
        raise ValueError(text)
    return canonical(f"{_ANY} {text}").removeprefix(f"{_ANY} ").removesuffix(" .") if text.endswith(">") else text
