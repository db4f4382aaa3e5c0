"""Changes: the one way in which anything in a store becomes different."""

from collections.abc import Iterator

from pyoxigraph import NamedNode, Quad

from idstore.frozen import dataclass, field
from idstore.model.event import Event
from idstore.model.record import Record, Stage, claim_line, claim_quad
from idstore.model.steps import apply


@dataclass(frozen=True, slots=True)
class Entry:
    """How the catalogue lists an identifier after a change.

    fresh       whether the catalogue has not listed it before.
    audience    the graph of its record where it is private, None when everyone sees it.
    stage       ``created``, ``fixated``, ``tombstone`` or ``released`` (no longer listed).
    """

    iri: str
    namespace: str
    owner: str
    stage: str
    audience: str | None
    created: int
    fixated: int | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become different, in one piece or not at all.

    events      the log entries, in order, each with the graph that it goes to.
    begins      whether the events begin new records (Mint, Registration): the store derives records and listing from them by itself,
                later than the answer.
    add         other quads that appear, beside the events' own.
    remove      quads that disappear; every one must be there.
    claims      labels (and request keys) that become taken, with their holder; none may be taken already.
    entries     identifiers whose listing changes.
    moved       earlier events that move with their record, each with its new graph.
    issued      labels issued: namespace's base, series, number there.
    begun       the records that its events begin, where somebody has them already.
    """

    events: tuple[tuple[Event, NamedNode], ...]
    begins: bool = False
    add: tuple[Quad, ...] = ()
    remove: tuple[Quad, ...] = ()
    claims: tuple[tuple[NamedNode, NamedNode], ...] = ()
    entries: tuple[Entry, ...] = ()
    moved: tuple[tuple[Event, NamedNode], ...] = ()
    issued: tuple[tuple[str, str, int], ...] = ()
    begun: tuple[Record, ...] = field(default=(), compare=False, repr=False)

    @property
    def allocates(self) -> bool:
        """Whether it does nothing but begin records: whoever does not know of it yet sees a state that was there."""
        return self.begins and not (self.add or self.remove or self.entries or self.moved)

    def records(self) -> Iterator[Record]:
        """The records that its events begin."""
        if self.begun:
            yield from self.begun
        elif self.begins:
            for event, _ in self.events:
                record = apply(None, event)
                assert record is not None
                yield record

    def quads(self) -> list[Quad]:
        """Every quad that appears: its own, its records', its events', its claims'."""
        made = list(self.add)
        for record in self.records():
            made += record.quads()
        for event, graph in self.events:
            made += event.quads(graph)
        return made + [claim_quad(claimed, holder) for claimed, holder in self.claims]

    def lines(self) -> str:
        """Its `quads` as N-Quads."""
        made = [f"{quad} .\n" for quad in self.add]
        made += [record.lines() for record in self.records()]
        made += [event.lines(graph) for event, graph in self.events]
        made += [claim_line(claimed, holder) for claimed, holder in self.claims]
        return "".join(made)

    def listed(self) -> list[Entry]:
        """Every identifier whose listing changes."""
        return [*self.entries, *(entry_of(record, fresh=True) for record in self.records())]


def entry_of(record: Record, *, fresh: bool) -> Entry:
    """How the catalogue lists a record."""
    audience = None if record.public or record.stage is Stage.RELEASED else record.graph.value
    return Entry(record.iri.value, record.namespace, record.owner, record.stage.value, audience, record.created, record.fixated, fresh)
