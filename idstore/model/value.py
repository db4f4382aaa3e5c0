"""Typed values of handles, as a record holds them."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData
from idstore.frozen import dataclass
from idstore.model import times
from idstore.model.event import Event
from idstore.model.terms import Term
from idstore.schemes import value_types
from idstore.vocabulary import DCTERMS, IDS, RDF, XSD

_SECOND: Final = 1000


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a handle.

    data         text, in the form of its type; or bytes.
    at           when it was last set, milliseconds since 1970.
    ttl          how long it may be kept by whoever resolved it, in seconds.
    until        instead of that, the moment until when (milliseconds since 1970).
    permissions  four digits, see `idstore.schemes.value_types.PERMITTED`.
    """

    index: int
    type: str
    data: str | bytes
    at: int = 0
    ttl: int = value_types.TTL
    until: int | None = None
    permissions: str = value_types.PERMISSIONS

    @property
    def public(self) -> bool:
        """Whether everyone may read it who sees the handle; if not, the owner and administrators may."""
        return public(self.permissions)

    @property
    def text(self) -> str:
        """The data; bytes in hexadecimal."""
        return self.data if isinstance(self.data, str) else self.data.hex().upper()

    @property
    def iri(self) -> NamedNode | None:
        """Where it leads, if it is a URL that everyone may read."""
        if not (self.public and isinstance(self.data, str) and value_types.is_type("URL.", self.type)):
            return None
        try:
            return NamedNode(self.data)
        except ValueError:  # from a file: this registry sets no such value
            return None

    def is_type(self, asked: str) -> bool:
        """Whether it is of a type, without ASCII case; a type that ends in a dot includes its subtypes."""
        return value_types.is_type(asked, self.type)

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """What an event says of it."""
        lasts: Term = integer(self.ttl) if self.until is None else times.literal(self.until)
        data = Literal(self.data) if isinstance(self.data, str) else Literal(self.text, datatype=XSD.hexBinary)
        return [
            (IDS.index, integer(self.index)),
            (IDS.valueType, Literal(self.type)),
            (IDS.data, data),
            (IDS.ttl, lasts),
            (IDS.permissions, Literal(self.permissions)),
        ]

    def node(self, handle: NamedNode) -> NamedNode:
        """Its name: the handle's, and its index."""
        return NamedNode(f"{handle.value}#{self.index}")

    def told(self, handle: NamedNode) -> list[tuple[NamedNode, Term]]:
        """What is stored of it."""
        return [(RDF.type, IDS.HandleValue), (IDS.valueOf, handle), (DCTERMS.modified, times.literal(self.at)), *self.arguments()]


def public(permissions: str) -> bool:
    """Whether permissions let everyone read."""
    return permissions[2:3] == "1"


def integer(number: int) -> Literal:
    """A whole number."""
    return Literal(str(number), datatype=XSD.integer)


def _read(said: dict[NamedNode, Term], at: int) -> Value:
    data, lasts = said[IDS.data], said[IDS.ttl]
    assert isinstance(data, Literal) and isinstance(lasts, Literal)
    ends = lasts.datatype == XSD.dateTime
    return Value(
        index(said[IDS.index]),
        said[IDS.valueType].value,
        bytes.fromhex(data.value) if data.datatype == XSD.hexBinary else data.value,
        at,
        value_types.TTL if ends else int(lasts.value),
        times.parse(lasts.value) if ends else None,
        value_types.permissions_of(said[IDS.permissions].value),
    )


def said(event: Event) -> Value:
    """The value that an event sets. Raises InvalidData for one that says it by halves."""
    try:
        return _read(dict(event.arguments), event.at)
    except (KeyError, ValueError, AssertionError) as error:
        raise InvalidData(f"the event {event.iri.value} sets no whole value: {error}", id=event.iri.value) from error


def index(term: Term | None) -> int:
    """The index that an event or a value names. Raises InvalidData."""
    return value_types.index_of("" if term is None else term.value)


def parse(quads: Iterable[Quad]) -> Value:
    """Read a value from its quads. Raises KeyError or ValueError if something is missing or malformed."""
    values = {quad.predicate: quad.object for quad in quads}
    found = {name: value for name, value in values.items() if isinstance(value, NamedNode | Literal)}
    return _read(found, times.parse(found[DCTERMS.modified].value))


def put(values: Sequence[Value], one: Value) -> tuple[Value, ...]:
    """The values with one more, in the place of the one of its index."""
    return tuple(sorted([*drop(values, one.index), one], key=lambda value: value.index))


def drop(values: Iterable[Value], gone: int) -> tuple[Value, ...]:
    """The values without the one of that index."""
    return tuple(value for value in values if value.index != gone)


def first_url(values: Iterable[Value]) -> Value | None:
    """Where a handle leads: its URL of the lowest index that everyone may read; only without one, one of a subtype."""
    found = [value for value in values if value.iri is not None]
    return min(found, key=lambda value: (not value.is_type(value_types.URL), value.index), default=None)


def free_index(values: Iterable[Value]) -> int:
    """The lowest index that no value has."""
    taken = {value.index for value in values}
    return next(index for index in range(1, value_types.HIGHEST) if index not in taken)


def matching(values: Iterable[Value], types: Sequence[str], indexes: Sequence[int]) -> tuple[Value, ...]:
    """The values asked for, by type or by index; all when neither is."""
    return tuple(value for value in values if value_types.asked_for(types, indexes, value.index, value.type))
