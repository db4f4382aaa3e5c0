"""Past states of identifiers, read from the log, and the differences between two moments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from pyoxigraph import NamedNode

from idstore.errors import NotRegistered
from idstore.model import times
from idstore.model.listing import Selection
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, Stage, written
from idstore.registry.imports.replay import BEGINNINGS, fold
from idstore.registry.log import QUESTION, Log, entry
from idstore.registry.visibility import Sight
from idstore.remedies import Remedy
from idstore.stores.contract import View
from idstore.vocabulary import ONTOLOGY

_BEGUN = frozenset(kind.value.removeprefix(ONTOLOGY) for kind in BEGINNINGS)


@dataclass(frozen=True, slots=True)
class Difference:
    """An identifier that changed between two moments.

    before, after  the record at the first and at the second moment; None where it did not exist: not yet
                   allocated, or released.
    """

    iri: str
    before: Record | None
    after: Record | None


class PastStates(Log):
    """Past states. A party sees of the past what it sees of the log today."""

    def at(self, id: Identifier, moment: datetime, party: Party) -> Record:
        """Return the state of an identifier at a moment, its events included.

        Raises NotRegistered: it did not exist then, or the party may not see it; InvalidIdentifier.
        """

        def question(view: View) -> Record | None:
            about = self._subject(view, id, party)
            return self._standing(view, NamedNode(about), self.core.sight(view, party), moment)

        record = self.store.read(question)
        if record is None:
            raise NotRegistered(
                written(id),
                f"{written(id)} was not there at {times.iso(moment)}, or is not visible to you;"
                " its log tells what happened",
                remedy=Remedy.READ_LOG,
            )
        return record

    def all_at(self, moment: datetime, party: Party, namespace: str | None = None) -> Iterator[Record]:
        """Yield the state of every identifier at a moment, in order of allocation. Memory: flat.

        Raises UnknownNamespace.
        """
        base = self._base(namespace)
        after: int | None = 0
        while after is not None:
            records, after = self.store.read(partial(self._standing_after, after, moment, party))
            yield from (record for record in records if base in (None, record.namespace))

    def _standing_after(
        self, after: int, moment: datetime, party: Party, view: View
    ) -> tuple[list[Record], int | None]:
        """Return a page of states at a moment, and the number of the last event read.

        None after the last page.
        """
        sight, latest = self.core.sight(view, party), times.milliseconds(moment)
        selection = Selection(self.core.audiences(view, party), until=latest + 1)
        rows = view.catalogue.events(selection, kinds=_BEGUN, after=after, limit=QUESTION)
        records = []
        for row in rows:
            beginning = entry(view, row).event
            past = [
                event
                for event, _ in self.core.history(view, NamedNode(beginning.about), sight)
                if event.moment <= latest
            ]
            # after a merge an identifier can have several beginnings; the first one counts
            if next(event for event in past if event.kind in BEGINNINGS) == beginning:
                records.append(self._redacted(view, _unless_released(fold(past)), sight))
        last = rows[-1].sequence if len(rows) == QUESTION else None
        return [record for record in records if record is not None], last

    def differences(
        self, since: datetime, until: datetime, party: Party, namespace: str | None = None
    ) -> Iterator[Difference]:
        """Yield the identifiers whose state differs between two moments, by IRI.

        Raises UnknownNamespace. Cost: the events in between, and the log of each identifier that they
        concern. Memory: the IRIs of those.
        """
        base = self._base(namespace)
        for iri in sorted(self._changed(since, until, party)):
            before, after = self.store.read(partial(self._standing_at, NamedNode(iri), party, (since, until)))
            record = after or before
            if before != after and record is not None and base in (None, record.namespace):
                yield Difference(iri, before, after)

    def _standing_at(
        self, about: NamedNode, party: Party, moments: Sequence[datetime], view: View
    ) -> list[Record | None]:
        """Return the state of the identifier at each of several moments."""
        sight = self.core.sight(view, party)
        return [self._standing(view, about, sight, moment) for moment in moments]

    def _standing(self, view: View, about: NamedNode, sight: Sight, moment: datetime) -> Record | None:
        """Return the state of the identifier at a moment; None if it did not exist."""
        latest = times.milliseconds(moment)
        past = [event for event, _ in self.core.history(view, about, sight) if event.moment <= latest]
        return self._redacted(view, _unless_released(fold(past)), sight)

    def _redacted(self, view: View, record: Record | None, sight: Sight) -> Record | None:
        """Return the record as `show` gives it: only a party on today's grant list sees the former list."""
        if record is None or not (record.grants or record.offered):
            return record
        try:
            listed = sight.sees(self.core.load(view, record.node, sight).private_graph)
        except NotRegistered:  # released: only its former owner sees its log
            listed = True
        return record if listed else replace(record, grants=(), offered=None)

    def _base(self, namespace: str | None) -> str | None:
        if namespace is None:
            return None
        return self.store.read(lambda view: self.core.namespace(view, namespace).base)

    def _changed(self, since: datetime, until: datetime, party: Party) -> set[str]:
        """Return the subjects of the events between two moments, without namespaces and parties."""
        changed: set[str] = set()
        after: int | None = 0
        while after is not None:
            about, after = self.store.read(partial(self._changed_after, after, since, until, party))
            changed |= about
        return changed

    def _changed_after(
        self, after: int, since: datetime, until: datetime, party: Party, view: View
    ) -> tuple[set[str], int | None]:
        """Return a page of those subjects, and the number of the last event read.

        None after the last page.
        """
        namespaces = self.core.facts(view).by_base
        selection = Selection(
            self.core.audiences(view, party),
            since=times.milliseconds(since) + 1,
            until=times.milliseconds(until) + 1,
        )
        rows = view.catalogue.events(selection, after=after, limit=QUESTION)
        about = {about for row in rows if (about := entry(view, row).event.about) not in namespaces}
        return about, rows[-1].sequence if len(rows) == QUESTION else None


def _unless_released(record: Record | None) -> Record | None:
    """Return the record, or None if it was released."""
    return None if record is None or record.stage is Stage.RELEASED else record
