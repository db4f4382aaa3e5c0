"""The trails: who did what when, for the whole registry, one party, one identifier; lists and counts."""

from collections.abc import Collection, Iterator, Sequence

from pyoxigraph import NamedNode

from idstore.errors import NotRegistered
from idstore.frozen import dataclass, replace
from idstore.model.event import Event
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.core import read_event
from idstore.registry.naming import Naming
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.stores.rows import EventRow
from idstore.vocabulary import IDS, RDF

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in a trail.

    sequence     its place in this store; only administrators are told, for its gaps say how much happened that others may not see.
    publication  its place in the public feed, None while it is not public.
    """

    event: Event
    sequence: int | None
    publication: int | None


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on an identifier or a namespace."""

    text: str
    by: str
    at: int
    internal: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """How many identifiers a party sees: by namespace, owner and stage, and by day of creation and namespace."""

    tallies: Sequence[tuple[str, str, str, int]]
    days: Sequence[tuple[int, str, int]]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(count for *_, count in self.tallies)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a party allocates.

    total   identifiers in the period.
    most    the most of them within one minute.
    minute  when that minute began, milliseconds since 1970.
    """

    party: str
    total: int
    most: int
    minute: int


class Trails(Naming):
    """Reading what happened."""

    def log(
        self,
        party: Party,
        *,
        id: str | None = None,
        user: str | None = None,
        since: int | None = None,
        until: int | None = None,
        kinds: Collection[str] = (),
        after: int = 0,
    ) -> Iterator[Entry]:
        """Events that the party may see, oldest first, page by page.

        id           only those about this identifier or namespace.
        user         only those by this party.
        since, until milliseconds since 1970; ``until`` is exclusive.
        kinds        only these kinds, by local name: ``Mint``, ``Bind``; none: all.
        after        only those behind this sequence number, for administrators.
        Raises NotRegistered for an ``id`` that nothing visible is about, NotPermitted.
        """
        if after:
            self.only_administrators(party)
        with self.store.reading() as view:
            about = None if id is None else self._about(view, id, party)
        while True:
            with self.store.reading() as view:
                chosen = Selection(self.audiences(view, party), owner=user, since=since, until=until)
                rows = view.catalogue.events(chosen, about=about, kinds=kinds, after=after, limit=_PAGE)
                page = [entry(view, row, numbered=self.sight(view, party).everything) for row in rows]
            yield from page
            if len(rows) < _PAGE:
                return
            after = rows[-1].sequence

    def published(self, after: int = 0, limit: int = _PAGE) -> Sequence[Entry]:
        """The public feed behind a publication number: without gaps, nothing is missed."""
        with self.store.reading() as view:
            return [entry(view, row) for row in view.catalogue.published(after, limit)]

    def _about(self, view: View, text: str, party: Party) -> str:
        """What the trail is about: an identifier, also one released since whose events the party may see, or a namespace."""
        facts = self._facts(view)
        known = facts.by_name.get(text) or facts.by_base.get(text)
        if known is not None:
            return known.base
        try:
            return self._identify(view, text, party).value
        except NotRegistered:
            sight = self.sight(view, party)
            for namespace, label in self._readings(view, text):
                iri = NamedNode(namespace.scheme.iri(label, namespace.context))
                if any(self._seen_quads(view, sight, None, IDS.about, iri)):
                    return iri.value
            raise

    def remarks(self, text: str, party: Party) -> list[Remark]:
        """The comments on an identifier or a namespace that the party may see, oldest first. Raises as `show`."""
        with self.store.reading() as view:
            facts = self._facts(view)
            known = facts.by_name.get(text) or facts.by_base.get(text)
            about = known.iri if known is not None else self._identify(view, text, party)
            found = self._history(view, about, self.sight(view, party))
        return [Remark(said.value, event.by, event.at, event.internal) for event, _ in found for said in event.all(RDF.value)]

    def list(self, party: Party, chosen: Selection = Selection(), *, limit: int | None = 100) -> list[Record]:
        """Records that the party may see, newest first. Raises UnknownNamespace."""
        with self.store.reading() as view:
            if chosen.namespace is not None:
                chosen = replace(chosen, namespace=self._namespace(view, chosen.namespace).base)
            sight = self.sight(view, party)
            found = view.catalogue.identifiers(replace(chosen, audiences=self.audiences(view, party)), limit)
            return [self._load(view, NamedNode(iri), sight) for iri in found]

    def pace(self, party: Party, since: int) -> Sequence[Pace]:
        """Who allocated how fast since a moment (milliseconds since 1970), the fastest first: all for administrators, else oneself."""
        with self.store.reading() as view:
            everything = self.sight(view, party).everything
            return [Pace(*row) for row in view.catalogue.pace(since, self.store.origin) if everything or row[0] == party.name]

    def counts(self, party: Party) -> Counts:
        """How many identifiers the party sees, from counters."""
        with self.store.reading() as view:
            audiences = self.audiences(view, party)
            return Counts(view.catalogue.tallies(audiences), view.catalogue.days(audiences))


def entry(view: View, row: EventRow, *, numbered: bool = False) -> Entry:
    """The event that a row lists; its sequence number only where it is asked for."""
    assert row.graph is not None
    return Entry(read_event(view, NamedNode(row.iri), NamedNode(row.graph)), row.sequence if numbered else None, row.publication)
