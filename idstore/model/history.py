"""Histories: all events of one identifier, and the state that follows from them."""

from dataclasses import dataclass

from pyoxigraph import NamedNode

from idstore.model.change import Claim
from idstore.model.event import Event
from idstore.model.listing import Listing, listing_of
from idstore.model.record import Record


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event and its position in the log of a store.

    sequence  position of the event.
    graph     graph that holds the event.
    since     position of the event that made it public, its own or a later one; None while it is private.
    """

    sequence: int
    event: Event
    graph: NamedNode
    since: int | None


@dataclass(frozen=True, slots=True)
class History:
    """The complete history of an identifier, for a store that does not hold the identifier yet.

    events  all events about the identifier, in order.
    record  the record that the events result in.
    state   the triples of the record, as N-Quads.
    claims  labels and request keys that the identifier holds.
    issued  its label: base of the namespace, series, number in the series.
    """

    events: tuple[LoggedEvent, ...]
    record: Record
    state: str
    claims: tuple[Claim, ...]
    issued: tuple[str, str, int]

    @property
    def listing(self) -> Listing:
        """The identifier's entry in the catalogue."""
        return listing_of(self.record, new=True)

    def lines(self) -> str:
        """Return all quads of the record and its events, as N-Quads."""
        return "".join([self.state, *[entry.event.lines(entry.graph) for entry in self.events]])
