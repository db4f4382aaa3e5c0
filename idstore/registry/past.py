"""How things stood at a moment in the past, read from the log, and what became different between two moments."""

from collections.abc import Iterator

from pyoxigraph import NamedNode

from idstore.errors import NotRegistered
from idstore.frozen import dataclass, replace
from idstore.model import times
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.registry.core import Sight
from idstore.registry.replaying import BEGINNINGS, fold
from idstore.registry.trails import Trails, entry
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import ONTOLOGY

_PAGE = 1000
_BEGUN = frozenset(kind.value.removeprefix(ONTOLOGY) for kind in BEGINNINGS)


@dataclass(frozen=True, slots=True)
class Difference:
    """An identifier that was not the same at two moments; None where it was not there: not allocated yet, or released."""

    iri: str
    before: Record | None
    after: Record | None


class Past(Trails):
    """Reading former states. What a party sees of the past is what it sees of the log today."""

    def at(self, text: str, moment: int, party: Party) -> Record:
        """An identifier as it stood at a moment (milliseconds since 1970; what happened in it included).

        Raises NotRegistered: it was not there then, or the party may not see it; InvalidIdentifier.
        """
        with self.store.reading() as view:
            about = self._about(view, text, party)
            sight = self.sight(view, party)
            found = self._standing(view, NamedNode(about), sight, moment)
        if found is None:
            raise NotRegistered(
                text, f"{text} was not there at {times.iso(moment)}, or is not yours to see; `idstore log --id` tells what happened"
            )
        return found

    def all_at(self, moment: int, party: Party, namespace: str | None = None) -> Iterator[Record]:
        """Every identifier as it stood at a moment, in the order in which they were allocated. Memory: flat.

        Raises UnknownNamespace.
        """
        base = self._base(namespace)
        after = 0
        while True:
            with self.store.reading() as view:
                sight = self.sight(view, party)
                chosen = Selection(self.audiences(view, party), until=moment + 1)
                rows = view.catalogue.events(chosen, kinds=_BEGUN, after=after, limit=_PAGE)
                found = []
                for row in rows:
                    beginning = entry(view, row).event
                    past = [event for event, _ in self._history(view, beginning.about, sight) if event.at <= moment]
                    if next(event for event in past if event.kind in BEGINNINGS) == beginning:  # another store may have begun it as well
                        found.append(self._discreet(view, _there(fold(past)), sight))
            yield from (record for record in found if record is not None and base in (None, record.namespace))
            if len(rows) < _PAGE:
                return
            after = rows[-1].sequence

    def differences(self, since: int, until: int, party: Party, namespace: str | None = None) -> Iterator[Difference]:
        """What of the identifiers is not at ``until`` as it was at ``since`` (milliseconds since 1970), by IRI.

        Raises UnknownNamespace. Cost: the events in between, and the log of each identifier that they are about. Memory: their names.
        """
        base = self._base(namespace)
        for iri in sorted(self._changed(since, until, party)):
            with self.store.reading() as view:
                before, after = (self._standing(view, NamedNode(iri), self.sight(view, party), moment) for moment in (since, until))
            some = after or before
            if before != after and some is not None and base in (None, some.namespace):
                yield Difference(iri, before, after)

    def _standing(self, view: View, about: NamedNode, sight: Sight, moment: int) -> Record | None:
        """The identifier at a moment, None if it was not there."""
        past = [event for event, _ in self._history(view, about, sight) if event.at <= moment]
        return self._discreet(view, _there(fold(past)), sight)

    def _discreet(self, view: View, record: Record | None, sight: Sight) -> Record | None:
        """The record as `show` gives it: who else was on the grant list is for those who are on it today."""
        if record is None or not (record.grants or record.offered):
            return record
        try:
            close = sight.sees(self._load(view, record.iri, sight).private_graph)
        except NotRegistered:  # released: who sees its log was its owner
            close = True
        return record if close else replace(record, grants=(), offered=None)

    def _base(self, namespace: str | None) -> str | None:
        if namespace is None:
            return None
        with self.store.reading() as view:
            return self._namespace(view, namespace).base

    def _changed(self, since: int, until: int, party: Party) -> set[str]:
        """What the events between two moments are about, namespaces and parties left out."""
        found: set[str] = set()
        after = 0
        while True:
            with self.store.reading() as view:
                others = self._facts(view).by_base
                chosen = Selection(self.audiences(view, party), since=since + 1, until=until + 1)
                rows = view.catalogue.events(chosen, after=after, limit=_PAGE)
                found |= {about for row in rows if (about := entry(view, row).event.about.value) not in others}
            if len(rows) < _PAGE:
                return found
            after = rows[-1].sequence


def _there(record: Record | None) -> Record | None:
    """The record, if the identifier was there."""
    return None if record is None or record.stage is Stage.RELEASED else record
