"""Random histories of identifiers for tests of the catalogue.

The changes that a registry would make, the histories that result, and a model of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from idstore.model import times
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.history import History, LoggedEvent
from idstore.model.listing import Listing, listing_of
from idstore.model.party import node
from idstore.model.record import Record, Stage
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.sqlite_files import connect
from idstore.vocabulary import IDS, PUBLIC_LOG, SKOS, XSD

ORIGINS = ("0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e", "1c2f6b63-8e1d-4b2d-8d1f-2a3b4c5d6e7f")
BASES = ("http://rdl.example.org/data#", "https://hdl.handle.net/20.500.1/")
PARTIES = ("ann", "ben", "gil")
BEGINNING = 1_790_000_000_000
ACTS = (
    "comment",
    "internal",
    "confined",
    "fixate",
    "release",
    "revoke",
    "offer",
    "accept",
    "grant",
    "ungrant",
)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a history: a new identifier (``mint``, ``publish``) or an act on an existing one.

    ``number`` and ``value`` choose the identifier and the kind of act.
    """

    kind: str
    number: int
    value: int


STEPS = st.builds(
    Step, st.sampled_from(("mint", "mint", "publish", *ACTS)), st.integers(0, 30), st.integers(0, 5)
)
CHANGES = st.lists(st.lists(STEPS, min_size=1, max_size=3), max_size=30)
"""Strategy of steps that make one change each."""


@dataclass(slots=True)
class Life:
    """An identifier and the events about it with their sequence numbers.

    public  number of the event that published it.
    """

    record: Record
    number: int
    events: list[tuple[int, Event]] = field(default_factory=list)
    public: int | None = None

    @property
    def told(self) -> list[LoggedEvent]:
        """Return its events in the form that a bulk load takes."""
        told = []
        for sequence, event in self.events:
            graph = self.record.home(event)
            told.append(
                LoggedEvent(
                    sequence, event, graph, max(sequence, self.public or 0) if graph == PUBLIC_LOG else None
                )
            )
        return told


class Lives:
    """Builder of changes that keeps the resulting histories."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.sequence = 0
        self.issued: dict[tuple[str, str], int] = {}

    def change(self, steps: Sequence[Step]) -> Change | None:
        """Return the change that the possible ones of the steps make.

        Each step is about another identifier.
        """
        begins = steps[0].kind in ("mint", "publish")
        if begins:
            return self._begin([step for step in steps if step.kind in ("mint", "publish")])
        chosen: dict[str, Step] = {}
        names = list(self.lives)
        for step in steps if names else ():
            name = names[step.number % len(names)]
            if step.kind in ACTS and self._event(self.lives[name].record, step, 0) is not None:
                chosen.setdefault(name, step)
        return self._act(chosen) if chosen else None

    def all(self, changes: Sequence[Sequence[Step]]) -> Iterator[tuple[int, Change]]:
        """Yield every change with the sequence number of its first event."""
        for steps in changes:
            first = self.sequence + 1
            change = self.change(steps)
            if change is not None:
                yield first, change

    def histories(self) -> list[History]:
        """Return all histories by identifier."""
        return [
            History(
                tuple(life.told),
                life.record,
                "",
                (),
                (life.record.namespace, f"s{life.number % 2}", life.number),
            )
            for life in self.lives.values()
        ]

    def listings(self) -> list[tuple[int, Listing]]:
        """Return every listed identifier with the number of its first event."""
        records = [(life.events[0][0], life.record) for life in self.lives.values()]
        return [
            (place, listing_of(record, new=False))
            for place, record in records
            if record.stage is not Stage.RELEASED
        ]

    def told(self) -> list[LoggedEvent]:
        """Return every event in order."""
        return sorted(
            [told for life in self.lives.values() for told in life.told], key=lambda told: told.sequence
        )

    def feed(self) -> list[int]:
        """Return the sequence numbers of public events in the order of the public feed."""
        return [
            told.sequence
            for told in sorted(self.told(), key=lambda told: (told.since or 0, told.sequence))
            if told.since is not None
        ]

    def _next(self, value: int) -> tuple[str, int, int]:
        """Return origin, token and time of the next event."""
        self.sequence += 1
        return (
            ORIGINS[value % 2],
            (self.sequence * 2_654_435_761) % 2**62,
            BEGINNING + self.sequence * times.DAY // 5,
        )

    def _begin(self, steps: Sequence[Step]) -> Change:
        events, issued = [], []
        for step in steps:
            number = len(self.lives)
            base, label = BASES[step.number % 2], f"R{number}"
            origin, token, at = self._next(step.value)
            arguments: list[tuple[NamedNode, Term]] = [
                (IDS.inNamespace, NamedNode(base)),
                (SKOS.notation, Literal(label)),
                (IDS.type, IDS.Identifier),
            ]
            if step.kind == "publish":
                arguments.append((IDS.stage, IDS.Fixated))
            kind = IDS.Mint if step.kind == "mint" else IDS.Registration
            event = Event(origin, token, kind, base + label, PARTIES[step.value % 3], at, tuple(arguments))
            record = apply(None, event)
            assert record is not None
            public = self.sequence if record.public else None
            self.lives[label] = Life(record, number, [(self.sequence, event)], public)
            events.append((event, record.log))
            issued.append((base, f"s{number % 2}", number))
        for base, series, _ in issued:
            self.issued[base, series] = self.issued.get((base, series), 0) + 1
        return Change(tuple(events), begins=True, issued=tuple(issued))

    def _act(self, chosen: dict[str, Step]) -> Change:
        events, listings, moved = [], [], []
        for name, step in chosen.items():
            life = self.lives[name]
            before = life.record
            event = self._event(before, step, self._next(step.value))
            assert event is not None
            after = apply(before, event)
            assert after is not None
            moved += [
                (past, after.home(past))
                for _, past in reversed(life.events)
                if after.home(past) != before.home(past)
            ]
            events.append((event, after.home(event)))
            if listing_of(before, new=False) != listing_of(after, new=False):
                listings.append(listing_of(after, new=False))
            life.record = after
            life.events.append((self.sequence, event))
            if life.public is None and after.public:
                life.public = self.sequence
        return Change(tuple(events), listings=tuple(listings), moved=tuple(moved))

    @staticmethod
    def _event(record: Record, step: Step, head: Any) -> Event | None:
        """Return the event of a step on a record, None if the step is impossible.

        With ``head`` 0, the call only tests.
        """
        party = node(PARTIES[step.value % 3])
        acts: dict[str, tuple[bool, NamedNode, tuple[tuple[NamedNode, Term], ...]]] = {
            "comment": (record.stage is not Stage.RELEASED, IDS.Comment, ()),
            "internal": (
                record.stage is not Stage.RELEASED,
                IDS.Comment,
                ((IDS.internal, Literal("true", datatype=XSD.boolean)),),
            ),
            "confined": (
                record.stage is not Stage.RELEASED,
                IDS.Comment,
                ((IDS.permissions, Literal("110")),),
            ),
            "fixate": (record.stage is Stage.CREATED, IDS.Fixation, ()),
            "release": (record.stage is Stage.CREATED, IDS.Release, ()),
            "revoke": (
                record.stage in (Stage.CREATED, Stage.FIXATED),
                IDS.Revocation,
                ((IDS.reason, Literal("abuse")),),
            ),
            "offer": (record.stage in (Stage.CREATED, Stage.FIXATED), IDS.Transfer, ((IDS.party, party),)),
            "accept": (record.offered is not None, IDS.Transfer, ((IDS.party, node(record.offered or "")),)),
            "grant": (record.stage is Stage.CREATED, IDS.Grant, ((IDS.party, party),)),
            "ungrant": (record.stage is Stage.CREATED, IDS.Ungrant, ((IDS.party, party),)),
        }
        possible, kind, arguments = acts[step.kind]
        if record.stage in (Stage.RELEASED, Stage.TOMBSTONE) or not possible:
            return None
        by = record.offered if step.kind == "accept" and record.offered else record.owner
        origin, token, at = head or ("", 0, 0)
        return Event(origin, token, kind, record.node.value, by, at, arguments)


def take_all(catalogue: Catalogue, changes: Sequence[tuple[int, Change]]) -> None:
    """Apply each change as an act in a batch of its own."""
    for mark, (first, change) in enumerate(changes, 1):
        take(catalogue, first, change, mark)


def take(catalogue: Catalogue, first: int, change: Change, mark: int) -> None:
    """Apply a change as the only act of a batch."""
    catalogue.begin()
    catalogue.savepoint()
    catalogue.take(change, first)
    catalogue.release()
    catalogue.finish(mark, first + len(change.events) - 1)
    catalogue.commit()


_DUMP = {
    "event": "SELECT sequence, o.text, token, a.text, about, b.text, at, g.text, publication, digest"
    " FROM event LEFT JOIN term o ON o.id = origin LEFT JOIN term a ON a.id = act"
    " LEFT JOIN term b ON b.id = actor LEFT JOIN term g ON g.id = audience ORDER BY 1",
    "identifier": "SELECT i.n, hash, iri, n.text, o.text, stage, g.text, created, fixated"
    " FROM identifier i LEFT JOIN term n ON n.id = namespace"
    " LEFT JOIN term o ON o.id = owner LEFT JOIN term g ON g.id = audience ORDER BY 1",
    "tally": "SELECT g.text, n.text, o.text, stage, count"
    " FROM tally LEFT JOIN term g ON g.id = audience LEFT JOIN term n ON n.id = namespace"
    " LEFT JOIN term o ON o.id = owner ORDER BY 1, 2, 3, 4",
    "daily": "SELECT g.text, day, n.text, count"
    " FROM daily LEFT JOIN term g ON g.id = audience LEFT JOIN term n ON n.id = namespace ORDER BY 1, 2, 3",
    "series": "SELECT n.text, series, issued, highest"
    " FROM series LEFT JOIN term n ON n.id = namespace ORDER BY 1, 2",
    "note": "SELECT * FROM note ORDER BY 1",
    "meta": "SELECT * FROM meta WHERE key <> 'mark' ORDER BY 1",
}


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of a catalogue except the mark, with texts in place of their numbers."""
    with closing(connect(path, read_only=True)) as database:
        return {table: database.execute(statement).fetchall() for table, statement in _DUMP.items()}


def dump(path: Path) -> list[str]:
    """Return every row of a catalogue unchanged, read through a separate connection."""
    with closing(connect(path, read_only=True)) as database:
        return list(database.iterdump())
