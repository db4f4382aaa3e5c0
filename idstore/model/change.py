"""Changes: the only way in which the content of a store changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pyoxigraph import NamedNode, Quad

from idstore.model.event import Event
from idstore.model.listing import Listing, listing_of
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.vocabulary import IDS, REGISTRY_GRAPH


class Claim(NamedTuple):
    """A label or a request key that is taken for ever.

    key     the node of the label or the request key.
    holder  the identifier that holds the claim.
    digest  hash of a request's arguments, which must be the same if the key is used again; empty for a label.
    """

    key: NamedNode
    holder: NamedNode
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """An atomic set of differences: a store applies all of them or none.

    events     the log entries, in order, each with its graph.
    begins     whether the events begin new records (Mint, Registration): records and listings then follow
               from the events.
    add        quads to add, without those of the events.
    remove     quads to remove; each of them must be present.
    claims     labels and request keys to claim; none of them may be taken already.
    listings   identifiers whose listing changes.
    moved      earlier events that move with their record, each with its new graph.
    issued     labels issued: base of the namespace, series, number in the series.
    begun      the records that the events begin, if the caller has them already; otherwise the change derives
               them from the events.
    """

    events: tuple[tuple[Event, NamedNode], ...]
    begins: bool = False
    add: tuple[Quad, ...] = ()
    remove: tuple[Quad, ...] = ()
    claims: tuple[Claim, ...] = ()
    listings: tuple[Listing, ...] = ()
    moved: tuple[tuple[Event, NamedNode], ...] = ()
    issued: tuple[tuple[str, str, int], ...] = ()
    begun: tuple[Record, ...] = field(default=(), compare=False, repr=False)

    def records(self) -> Iterator[Record]:
        """Yield the records that the events begin."""
        if self.begun:
            yield from self.begun
        elif self.begins:
            for event, _ in self.events:
                record = apply(None, event)
                assert record is not None
                yield record

    def quads(self) -> list[Quad]:
        """Return every quad that the change adds: `add`, and those of its records and events."""
        quads = list(self.add)
        for record in self.records():
            quads += record.quads()
        for event, graph in self.events:
            quads += event.quads(graph)
        return quads

    def all_listings(self) -> list[Listing]:
        """Return the listing of every identifier whose listing changes."""
        return [*self.listings, *(listing_of(record, new=True) for record in self.records())]

    @property
    def concerns_registry(self) -> bool:
        """Whether the change affects the registry's facts about parties and namespaces."""
        return any(
            quad.graph_name == REGISTRY_GRAPH or quad.predicate == IDS.suspended
            for quad in (*self.add, *self.remove)
        )
