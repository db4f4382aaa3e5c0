"""Histories: all that a log tells of one identifier."""

from pyoxigraph import NamedNode

from idstore.frozen import dataclass
from idstore.model.change import Entry, entry_of
from idstore.model.event import Event
from idstore.model.record import Record, claim_line


@dataclass(frozen=True, slots=True)
class Told:
    """An event in the order of a store.

    sequence  its place.
    graph     where it is kept.
    since     the place of the event with which it became public, its own or a later one; None while it is not public.
    """

    sequence: int
    event: Event
    graph: NamedNode
    since: int | None


@dataclass(frozen=True, slots=True)
class History:
    """An identifier from its beginning, for a store that knows nothing of it.

    events  all about it, in order.
    record  what they give; ``state`` its triples, as N-Quads.
    claims  labels and request keys that it takes, with itself as their holder.
    issued  its label: namespace's base, series, number there.
    """

    events: tuple[Told, ...]
    record: Record
    state: str
    claims: tuple[tuple[NamedNode, NamedNode], ...]
    issued: tuple[str, str, int]

    @property
    def entry(self) -> Entry:
        """How the catalogue lists it."""
        return entry_of(self.record, fresh=True)

    def lines(self) -> str:
        """Every quad that appears with it, as N-Quads."""
        claims = [claim_line(claimed, holder) for claimed, holder in self.claims]
        return "".join([self.state, *claims, *[told.event.lines(told.graph) for told in self.events]])
