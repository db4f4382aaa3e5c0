"""Lists and counts of identifiers, and allocation rates of parties."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, TypeVar

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, LimitReached, NotRegistered, UnknownScheme
from idstore.model import terms, times
from idstore.model.filter import Filter
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import iri_of, name_of
from idstore.progress import never
from idstore.registry.bindings import Bindings
from idstore.registry.imports.replay import fold
from idstore.registry.visibility import Sight, graph_of
from idstore.schemes import Generating
from idstore.stores.contract import View
from idstore.vocabulary import IDS, OWL, RDF, RDFS

T = TypeVar("T")
_PAGE: Final = 1000
"""Most records that `list` reads at once; it reads longer lists from a snapshot."""


@dataclass(frozen=True, slots=True)
class IdentifierCounts:
    """Counts of the identifiers that a party sees.

    tallies  namespace, owner, stage, number.
    days     day of creation, namespace, number: days since 1970-01-01.
    """

    tallies: Sequence[tuple[str, str, str, int]]
    days: Sequence[tuple[int, str, int]]

    @property
    def total(self) -> int:
        """The number of all visible identifiers."""
        return sum(count for *_, count in self.tallies)


@dataclass(frozen=True, slots=True)
class Pace:
    """The allocation rate of a party.

    total   identifiers in the period.
    most    the largest number within one minute.
    minute  start of that minute.
    """

    party: str
    total: int
    most: int
    minute: datetime


@dataclass(frozen=True, slots=True)
class Fullness:
    """How full a namespace is.

    identifiers  how many identifiers of it the party sees.
    space        how many labels of the shortest length there are, in schemes that generate labels; else None.
    """

    identifiers: int
    space: int | None


class Lists(Bindings):
    """Lists and counts of identifiers."""

    def list(
        self,
        party: Party,
        filter: Filter = Filter(),
        *,
        limit: int | None = 100,
        after: str | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> list[Record]:
        """Return the records that the party may see, newest first. Raises UnknownNamespace, InvalidData.

        after  only those that follow a record: the time of its creation, a blank and its IRI (`position`).
               New identifiers do not move those that follow.
        cancelled  is called for each identifier that is looked at; once it returns True, the list ends.
        Cost: grows with the records returned; of deprecated or released ones, with all that are visible; of
        those without a name, 20 µs for each that is looked at.
        Raises LimitReached: it was cancelled.
        """
        filter.check_identifiers()
        place = None if after is None else _place(after)
        if filter.released:
            with self.store.snapshot() as snapshot:
                return [*_following(self._released(snapshot, party, filter, cancelled), place)[:limit]]
        if filter.doi is not None:
            doi = filter.doi
            articles = self.store.read(lambda view: self._with_doi(view, party, doi, filter))
            return [*_following(articles, place)[:limit]]
        if filter.without_name is not None and not filter.deprecated:
            with self.store.snapshot() as snapshot:
                return [*islice(self._unnamed(snapshot, party, filter, place, cancelled), limit)]
        if filter.deprecated:
            with self.store.snapshot() as snapshot:  # how many there are is not known before
                return [*_following(self._deprecated(snapshot, party, filter, cancelled), place)[:limit]]

        def question(view: View) -> list[Record]:
            selection, sight = self.core.selection(view, party, filter), self.core.sight(view, party)
            return [
                self.core.load(view, NamedNode(iri), sight)
                for iri in view.catalogue.identifiers(selection, limit, place)
            ]

        if limit is not None and limit <= _PAGE:
            return self.store.read(question)
        with self.store.snapshot() as snapshot:  # a long read must not block writers
            return question(snapshot)

    def list_bound(
        self,
        text: str,
        party: Party,
        filter: Filter = Filter(),
        *,
        limit: int | None = 100,
        after: str | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> Sequence[Record]:
        """Return the visible records that are bound to a URI or have it as target, newest first, then by IRI.

        text   the URI, in any written form.
        after, cancelled  as in `list`.
        Cost: all of them are read, also with a limit. An act meanwhile counts or not.
        Raises InvalidData, AmbiguousIdentifier, UnknownNamespace, LimitReached.
        """
        filter.check_identifiers()
        if filter.released:
            raise InvalidData("released identifiers have no bindings; leave released out", field="released")
        place = None if after is None else _place(after)

        def articles(view: View) -> Collection[NamedNode] | None:
            """Return the articles of the filter, None without one. Raises UnknownNamespace."""
            self.core.selection(view, party, filter)
            return (
                None if filter.doi is None else self._articles(view, filter.doi, self.core.sight(view, party))
            )

        def passing(view: View, iris: Iterable[str]) -> Sequence[Record]:
            return self._passing(view, self.core.sight(view, party), iris, filter)

        only, bound = self.store.read(articles), _until(self._bound_to(text, party), cancelled)
        wanted = (iri for iri in bound if only is None or NamedNode(iri) in only)
        return _following(_newest_first(self._in_parts(wanted, passing)), place)[:limit]

    def _with_doi(self, view: View, party: Party, doi: str, filter: Filter) -> Sequence[Record]:
        sight = self.core.sight(view, party)
        return self._passing(view, sight, [iri.value for iri in self._articles(view, doi, sight)], filter)

    def _unnamed(
        self,
        view: View,
        party: Party,
        filter: Filter,
        place: tuple[int, str] | None,
        cancelled: Callable[[], bool],
    ) -> Iterator[Record]:
        """Yield the visible records without a name in the filter's language.

        Cost: a scan, which reads the names alone of other records.
        """
        selection, sight = self.core.selection(view, party, filter), self.core.sight(view, party)
        for iri in _until(view.catalogue.identifiers(selection, None, place), cancelled):
            node = NamedNode(iri)
            names = [quad.object for quad in view.quads(node, RDFS.label) if sight.sees(graph_of(quad))]
            if not any(isinstance(one, Literal) and name_of(one)[0] == filter.without_name for one in names):
                yield self.core.load(view, node, sight)

    def _deprecated(
        self, view: View, party: Party, filter: Filter, cancelled: Callable[[], bool]
    ) -> Sequence[Record]:
        sight = self.core.sight(view, party)
        quads = self.core.visible_quads(view, sight, None, OWL.deprecated, TRUE, of_records=True)
        iris = {terms.iri_of(quad.subject).value for quad in _until(quads, cancelled)}
        return self._passing(view, sight, _until(iris, cancelled), filter)

    def _released(
        self, view: View, party: Party, filter: Filter, cancelled: Callable[[], bool]
    ) -> Sequence[Record]:
        """Return the visible released identifiers that pass a filter, as they were, newest first."""
        sight = self.core.sight(view, party)
        base = None if filter.namespace is None else self.core.namespace(view, filter.namespace).base
        quads = [*_until(self.core.visible_quads(view, sight, None, RDF.type, IDS.Release), cancelled)]
        abouts = {about.object for quad in quads for about in view.quads(iri_of(quad.subject), IDS.about)}
        pasts = (self.core.history(view, iri_of(about), sight) for about in _until(abouts, cancelled))
        folded = (fold([event for event, _ in past]) for past in pasts)
        return _newest_first(
            record
            for record in folded
            if record is not None and record.stage is Stage.RELEASED and _passes(record, filter, base)
        )

    def _passing(self, view: View, sight: Sight, iris: Iterable[str], filter: Filter) -> Sequence[Record]:
        """Return the visible records among some that pass a filter, newest first, then by IRI."""
        base = None if filter.namespace is None else self.core.namespace(view, filter.namespace).base
        records = []
        for iri in iris:
            with suppress(NotRegistered):  # only a binding to it is visible
                records.append(self.core.load(view, NamedNode(iri), sight))
        return _newest_first(record for record in records if _passes(record, filter, base))

    def counts(self, party: Party) -> IdentifierCounts:
        """Return the counts of the identifiers that the party sees, from counters."""

        def question(view: View) -> IdentifierCounts:
            audiences = self.core.audiences(view, party)
            return IdentifierCounts(view.catalogue.tallies(audiences), view.catalogue.days(audiences))

        return self.store.read(question)

    def fullness(self, name: str, party: Party) -> Fullness:
        """Return how full a namespace is, as far as the party sees it. Raises UnknownNamespace."""

        def question(view: View) -> Fullness:
            namespace = self.core.namespace(view, name)
            tallies = view.catalogue.tallies(self.core.audiences(view, party))
            seen = sum(count for base, _, _, count in tallies if base == namespace.base)
            return Fullness(seen, _space(namespace))

        return self.store.read(question)

    def pace(self, party: Party, since: datetime) -> Sequence[Pace]:
        """Return the allocation rates since a moment, the fastest first.

        Administrators get all parties, others themselves.
        """
        start = times.milliseconds(times.checked(since, "since"))

        def question(view: View) -> Sequence[Pace]:
            everything = self.core.sight(view, party).everything
            return [
                Pace(name, total, most, times.of(minute))
                for name, total, most, minute in view.catalogue.pace(start, self.store.origin)
                if everything or name == party.name
            ]

        return self.store.read(question)


def position(record: Record) -> str:
    """Return the position of a record in lists: the time of its creation and its IRI."""
    return f"{times.iso(record.created)} {record.iri}"


def _place(position: str) -> tuple[int, str]:
    """Return time and IRI of a position. Raises InvalidData."""
    moment, _, iri = position.partition(" ")
    with suppress(InvalidData):
        return times.milliseconds(times.parse(moment)), terms.iri(iri).value
    raise InvalidData(
        f"{position!r} is no position in a list; give the one that came with a page",
        field="after",
        text=position,
    )


def _until(items: Iterable[T], cancelled: Callable[[], bool]) -> Iterator[T]:
    """Yield the items. Raises LimitReached once ``cancelled`` returns True."""
    for item in items:
        if cancelled():
            raise LimitReached("the list was cancelled", limit="cancelled")
        yield item


def _order(record: Record) -> tuple[int, str]:
    return times.milliseconds(record.created), record.iri


def _following(records: Sequence[Record], place: tuple[int, str] | None) -> Sequence[Record]:
    """Return the records after a place in their order."""
    return [record for record in records if place is None or _order(record) < place]


def _newest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=_order, reverse=True)


def _passes(record: Record, filter: Filter, base: str | None) -> bool:
    """Return whether a filter, whose namespace is ``base``, accepts a record."""
    pairs = ((base, record.namespace), (filter.party, record.owner), (filter.stage, record.stage.value))
    return (
        all(value is None or value == actual for value, actual in pairs)
        and (record.deprecated or not filter.deprecated)
        and _is_unnamed(record, filter)
        and filter.is_within(record.created)
    )


def _is_unnamed(record: Record, filter: Filter) -> bool:
    """Return whether a record lacks the name that the filter says, if it says one."""
    return filter.without_name is None or filter.without_name not in dict(record.names)


def _space(namespace: Namespace) -> int | None:
    """Return how many labels of the shortest length there are; None if they are not generated."""
    try:
        code = namespace.scheme
    except UnknownScheme:  # its package is not installed
        return None
    return code.space(namespace.context.settings) if isinstance(code, Generating) else None
