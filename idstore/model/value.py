"""Typed values of handles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final, TypedDict

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.event import Event
from idstore.model.terms import Term, check_size, integer
from idstore.schemes import value_types
from idstore.vocabulary import DCTERMS, IDS, RDF, XSD

DATA_LIMIT: Final = 1 << 20
"""Maximum size of the data of a value, in bytes (of UTF-8 for a text)."""
TOTAL_LIMIT: Final = 4 << 20
"""Maximum size of the data of all values of a handle, in bytes: each look-up reads them."""

_UNSET: Final = times.of(0)
"""The time of a value that was not set yet."""


class DataDocument(TypedDict):
    """The data of a typed value: a text, or bytes in hexadecimal.

    format  ``string`` or ``hex``.
    value   the text, or the pairs of hexadecimal digits.
    """

    format: str
    value: str


class ValueDocument(TypedDict):
    """A typed value of a handle.

    index        its number.
    type         such as ``URL`` or ``EMAIL``.
    data         the text or the bytes.
    ttl          how long a client may cache the value, in seconds; or the end of that time.
    permissions  four digits: whether administrators may read and write it, and all others.
    timestamp    moment of the last change.
    """

    index: int
    type: str
    data: DataDocument
    ttl: int | str
    permissions: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value of a handle.

    data         a text in the form that the type requires, or bytes.
    at           time of the last change.
    ttl          how long a client may cache the value, in seconds.
    until        alternative to ``ttl``: the end of that time.
    permissions  four digits, see `idstore.schemes.value_types.PERMITTED`.
    """

    index: int
    type: str
    data: str | bytes
    at: datetime = _UNSET
    ttl: int = value_types.TTL
    until: datetime | None = None
    permissions: str = value_types.PERMISSIONS

    @property
    def size(self) -> int:
        """The size of the data in bytes (of UTF-8 for a text)."""
        return len(self.data.encode(errors="surrogatepass") if isinstance(self.data, str) else self.data)

    @property
    def public(self) -> bool:
        """Whether all who see the handle may read the value; if not, only owner and administrators may."""
        return public(self.permissions)

    @property
    def text(self) -> str:
        """The data as text; bytes in hexadecimal."""
        return self.data if isinstance(self.data, str) else self.data.hex().upper()

    @property
    def iri(self) -> str | None:
        """The URL, if the value is one that everyone may read."""
        if not (self.public and isinstance(self.data, str) and value_types.is_type("URL.", self.type)):
            return None
        try:
            return NamedNode(self.data).value
        except ValueError:  # possible only in imported values: the registry checks those that it sets
            return None

    def as_dict(self) -> ValueDocument:
        """Return all fields as JSON has them; ``ttl`` is seconds, or a time as text."""
        return {
            "index": self.index,
            "type": self.type,
            "data": {"format": "string" if isinstance(self.data, str) else "hex", "value": self.text},
            "ttl": self.ttl if self.until is None else times.iso(self.until),
            "permissions": self.permissions,
            "timestamp": times.iso(self.at),
        }

    def is_type(self, wanted: str) -> bool:
        """Whether the value has a type, without ASCII case; a type with a final dot includes its subtypes."""
        return value_types.is_type(wanted, self.type)

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """Return the arguments of an event that sets the value."""
        lifetime: Term = integer(self.ttl) if self.until is None else times.literal(self.until)
        data = (
            Literal(self.data) if isinstance(self.data, str) else Literal(self.text, datatype=XSD.hexBinary)
        )
        return [
            (IDS.index, integer(self.index)),
            (IDS.valueType, Literal(self.type)),
            (IDS.data, data),
            (IDS.ttl, lifetime),
            (IDS.permissions, Literal(self.permissions)),
        ]

    def node(self, handle: NamedNode) -> NamedNode:
        """Return the IRI of the value: the handle with the index as fragment."""
        return NamedNode(f"{handle.value}#{self.index}")

    def properties(self, handle: NamedNode) -> list[tuple[NamedNode, Term]]:
        """Return the stored predicates and objects of the value."""
        return [
            (RDF.type, IDS.HandleValue),
            (IDS.valueOf, handle),
            (DCTERMS.modified, times.literal(self.at)),
            *self.arguments(),
        ]


def check_data(data: str | bytes) -> None:
    """Raise InvalidData if data exceed `DATA_LIMIT`."""
    if isinstance(data, str):
        check_size(data, "data of the value", DATA_LIMIT)
    elif len(data) > DATA_LIMIT:
        raise InvalidData(
            f"the data of the value have {len(data)} bytes, more than the {DATA_LIMIT} allowed; shorten them",
            size=len(data),
            limit=DATA_LIMIT,
        )


def public(permissions: str) -> bool:
    """Whether permissions include public reading."""
    return permissions[2:3] == "1"


def _read(properties: dict[NamedNode, Term], at: datetime) -> Value:
    data, lifetime = properties[IDS.data], properties[IDS.ttl]
    assert isinstance(data, Literal) and isinstance(lifetime, Literal)
    ends = lifetime.datatype == XSD.dateTime
    return Value(
        index(properties[IDS.index]),
        properties[IDS.valueType].value,
        bytes.fromhex(data.value) if data.datatype == XSD.hexBinary else data.value,
        at,
        value_types.TTL if ends else int(lifetime.value),
        times.parse(lifetime.value) if ends else None,
        value_types.permissions_of(properties[IDS.permissions].value),
    )


def from_event(event: Event) -> Value:
    """Return the value that an event sets. Raises InvalidData if the event is incomplete or malformed."""
    try:
        return _read(dict(event.arguments), event.at)
    except (KeyError, ValueError, AssertionError) as error:
        raise InvalidData(
            f"the event {event.iri} sets an incomplete or malformed value: {error}", id=event.iri
        ) from error


def index(term: Term | None) -> int:
    """Return the index in a term. Raises InvalidData."""
    return value_types.index_of("" if term is None else term.value)


def parse(quads: Iterable[Quad]) -> Value:
    """Read a value from its quads. Raises KeyError or ValueError if a property is missing or malformed."""
    values = {quad.predicate: quad.object for quad in quads}
    properties = {name: value for name, value in values.items() if isinstance(value, NamedNode | Literal)}
    return _read(properties, times.parse(properties[DCTERMS.modified].value))


def put(values: Sequence[Value], new: Value) -> tuple[Value, ...]:
    """Return the values with a new one, which replaces the one with its index."""
    return tuple(sorted([*drop(values, new.index), new], key=attrgetter("index")))


def drop(values: Iterable[Value], index: int) -> tuple[Value, ...]:
    """Return the values without the one with the index."""
    return tuple(value for value in values if value.index != index)


def first_url(values: Iterable[Value]) -> Value | None:
    """Return the public URL value with the lowest index; values of type URL precede those of a subtype."""
    first: Value | None = None
    for value in sorted(values, key=attrgetter("index")):
        if (first is None or value.is_type(value_types.URL)) and value.iri is not None:
            if value.is_type(value_types.URL):
                return value
            first = value
    return first


def free_index(values: Iterable[Value]) -> int:
    """Return the lowest unused index."""
    taken = {value.index for value in values}
    return next(index for index in range(1, value_types.HIGHEST) if index not in taken)


def matching(values: Iterable[Value], types: Sequence[str], indexes: Sequence[int]) -> tuple[Value, ...]:
    """Return the values with one of the types or indexes; all values if both are empty."""
    return tuple(
        value for value in values if value_types.is_requested(types, indexes, value.index, value.type)
    )
