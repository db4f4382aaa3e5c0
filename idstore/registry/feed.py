"""The change feed: the triples that each event added and removed, so that another store can follow."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pyoxigraph import NamedNode, Quad

from idstore.model.event import Event
from idstore.model.listing import EventRow, Selection
from idstore.model.party import OF_PARTIES, Party, node
from idstore.model.terms import iri_of
from idstore.registry.core import Core, Part, read_event
from idstore.registry.imports.replay import OF_STORAGE
from idstore.registry.log import check_reached, entry
from idstore.registry.party_descriptions import Naming, descriptions
from idstore.registry.subject_history import (
    IDENTIFIER,
    NAMESPACE,
    STORAGE,
    Folding,
    SubjectHistory,
    party_folding,
)
from idstore.registry.visibility import graph_of
from idstore.stores.contract import View
from idstore.vocabulary import IDS, PUBLIC_LOG, hides, party_name

Subject: TypeAlias = tuple[NamedNode, Folding | str]
"""What an event is about, and how its state is folded; of a party, its name."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class FeedStep:
    """The changes made by one event.

    number  its sequence number in this store for administrators; its publication number for others.
    """

    number: int
    event: Event
    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]


class Feed(Part):
    """The change feed in triples."""

    def steps(self, party: Party, after: int = 0, limit: int | None = None) -> Iterator[FeedStep]:
        """Yield the changes made by every event after a number, in the order of the numbers.

        limit  how many events at most; None: all.
        Administrators get everything, by sequence number. Others get what is public, by publication number.
        All steps from 0 on produce the quads that `Registry.quads` gives an administrator, or the public part
        of them. The steps after a number produce the same from the state at that number.
        Raises InvalidData: no event has that number yet. Cost: for each page of 500 events, the logs of their
        subjects up to there.
        Memory: the parties, and the subjects of a page.
        """
        parties: dict[str, Counter[NamedNode]] = {}
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(limit, _PAGE)
            page = self.store.read(partial(self._page, party, parties, after, size))
            yield from page
            if len(page) < size:
                return
            after = page[-1].number
            limit = None if limit is None else limit - size

    def _page(
        self, party: Party, parties: dict[str, Counter[NamedNode]], after: int, size: int, view: View
    ) -> list[FeedStep]:
        return _Page(self.core, view, party, parties).steps(after, size)


class _Page:
    """A page of the feed, in one state of the store.

    parties  of each party so far: the number of subjects in each graph that name it.
    """

    def __init__(self, core: Core, view: View, party: Party, parties: dict[str, Counter[NamedNode]]) -> None:
        self._core, self._view, self._parties = core, view, parties
        self._whole = core.sight(view, party).everything
        self._audiences = None if self._whole else frozenset[str]()
        self._subjects: dict[Subject, SubjectHistory] = {}

    def steps(self, after: int, size: int) -> list[FeedStep]:
        """Return the steps after a number. Raises InvalidData."""
        catalogue = self._view.catalogue
        check_reached(after, catalogue.sequence if self._whole else catalogue.publication)
        rows = (
            catalogue.events(Selection(None), after=after, limit=size)
            if self._whole
            else catalogue.published(after, size)
        )
        return [self._step(row) for row in rows]

    def _step(self, row: EventRow) -> FeedStep:
        number, event = self._number(row), entry(self._view, row).event
        subject = self._subject(event)
        if subject not in self._subjects:
            self._subjects[subject] = self._history(*subject, number)
        change = self._subjects[subject].change(number)
        before, after = change.before, change.after
        for name in sorted({name for name, _ in change.named_before | change.named_after}):
            if name not in self._parties:
                self._parties[name] = self._namings(name, number, {subject: change.named_before})
            graphs = self._parties[name]
            before += _description(name, graphs)
            graphs.subtract(graph for other, graph in change.named_before if other == name)
            graphs.update(graph for other, graph in change.named_after if other == name)
            after += _description(name, graphs)
        had = set(before)
        return FeedStep(
            number,
            event,
            tuple(_sorted(had.difference(after))),
            tuple(dict.fromkeys(quad for quad in after if quad not in had)),
        )

    def _namings(self, name: str, number: int, known: Mapping[Subject, set[Naming]]) -> Counter[NamedNode]:
        """Return how many subjects in each graph name a party before the event of that number.

        known  the parties that the subject of that event names before it.
        Once a public graph names the party, the others do not count.
        """
        counts: Counter[NamedNode] = Counter()
        done: set[str] = set()
        for event in self._events_naming(name, number):
            if event.about in done:
                continue
            done.add(event.about)
            if event.by == name and not self._whole:
                return Counter([PUBLIC_LOG])  # every event that the public sees
            subject = self._subject(event)
            if subject in known:
                names = known[subject]
            else:
                names = (self._subjects.get(subject) or self._history(*subject, number)).names(number)
            counts.update(graph for other, graph in names if other == name)
            if any(not hides(graph) for graph in counts):
                break
        return counts

    def _events_naming(self, name: str, number: int) -> Iterator[Event]:
        """Yield the events before a number that can make triples name a party.

        They are those about it, those that give to it (also later ones), and those by it; for all but
        administrators, the public ones of them.
        """
        view, seen = self._view, self._audiences
        about = view.catalogue.events(Selection(seen), about=node(name).value)
        yield from self._events_before(about, number)
        for quad in view.quads(None, IDS.withOwner, node(name), None if self._whole else PUBLIC_LOG):
            yield read_event(view, iri_of(quad.subject), graph_of(quad))
        after: int | None = 0
        while after is not None:
            rows = view.catalogue.events(Selection(seen, owner=name), after=after, limit=_PAGE)
            yield from self._events_before(rows, number)
            after = rows[-1].sequence if len(rows) == _PAGE else None

    def _events_before(self, rows: Iterable[EventRow], number: int) -> Iterator[Event]:
        return (entry(self._view, row).event for row in rows if 0 < self._number(row) < number)

    def _subject(self, event: Event) -> Subject:
        """Return the subject of an event, and the kind of its state."""
        about = NamedNode(event.about)
        if event.about in self._core.facts(self._view).by_base:
            return about, NAMESPACE
        if event.kind == IDS.Initialization:
            return about, event.by
        if event.kind in OF_PARTIES:
            return about, party_name(about)
        return about, STORAGE if event.kind in OF_STORAGE else IDENTIFIER

    def _history(self, about: NamedNode, kind: Folding | str, before: int) -> SubjectHistory:
        """Return the history of a subject from the state before a number on."""
        catalogue = self._view.catalogue
        seen = Selection(self._audiences)
        rows = catalogue.events(seen, about=about.value)
        if isinstance(kind, str):
            begun = catalogue.events(seen, kinds=["Initialization"])
            rows += [row for row in begun if entry(self._view, row).event.by == kind]
            rows += catalogue.events(seen, about=node(kind).value)
        by_number = {number: row for row in rows if (number := self._number(row))}
        return SubjectHistory(
            party_folding(kind) if isinstance(kind, str) else kind,
            sorted(by_number),
            lambda number: entry(self._view, by_number[number]).event,
            before,
            whole=self._whole,
        )

    def _number(self, row: EventRow) -> int:
        """Return the number of an event in the feed, 0 without one."""
        return row.sequence if self._whole else row.publication or 0


def _description(name: str, graphs: Counter[NamedNode]) -> list[Quad]:
    """Return the description of a party with that many subjects in each graph that name it."""
    return list(descriptions({(name, graph) for graph, count in graphs.items() if count}))


def _sorted(quads: Iterable[Quad]) -> list[Quad]:
    return sorted(quads, key=str)
