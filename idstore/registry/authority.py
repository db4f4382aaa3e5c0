"""Authority metadata: who answers for an identifier, now and before, when it was last changed, and who vetted it.

It is read off the log, so that it is as public as the identifier itself, and kept as long.
Source: PILIN, Authority Metadata Policy.
"""

from pyoxigraph import Literal, NamedNode

from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.steps import STEPS, apply
from idstore.model.terms import Term
from idstore.registry.core import living
from idstore.registry.naming import Naming
from idstore.vocabulary import IDS, SKOS


@dataclass(frozen=True, slots=True)
class Tenure:
    """Who managed an identifier since when, milliseconds since 1970."""

    manager: str
    since: int


@dataclass(frozen=True, slots=True)
class Vetting:
    """Who found when that an identifier and what is said of it are right; ``outdated``: it was changed since."""

    by: str
    at: int
    note: str | None
    outdated: bool


@dataclass(frozen=True, slots=True)
class Authority:
    """The authority metadata of an identifier, as far as the party that asks may see its log.

    created    milliseconds since 1970.
    updated    when the identifier, or what is said of it, was last changed, and by whom.
    managers   the present one first.
    """

    iri: str
    created: int
    created_by: str
    updated: int
    updated_by: str
    managers: tuple[Tenure, ...]
    vettings: tuple[Vetting, ...]


class Vouching(Naming):
    """Who answers for identifiers."""

    def authority(self, text: str, party: Party) -> Authority:
        """The authority metadata of an identifier. Raises as `show`."""
        with self.store.reading() as view:
            iri = self._identify(view, text, party)
            events = [event for event, _ in self._history(view, iri, self.sight(view, party))]
        return _told(iri, events)

    def vet(self, text: str, party: Party, note: str | None = None) -> Event:
        """Say that an identifier and what is said of it were looked over and found right; whoever sees it may. Its state does not change.

        Raises NotRegistered, StageConflict (a tombstone), InvalidData.
        """
        arguments: list[tuple[NamedNode, Term]] = [] if note is None else [(SKOS.note, Literal(terms.plain(note, "note")))]
        with self._acting(party) as turn:
            record = self._seen(turn, self._identify(turn, text, party), party)
            living(record)
            event = self._event(turn, IDS.Vetting, record.iri, party, *arguments)
            self._record_event(turn, record, event)
            return event


def _told(iri: NamedNode, events: list[Event]) -> Authority:
    """What the events about an identifier, in their order, say."""
    record: Record | None = None
    tenures: list[Tenure] = []
    for event in events:
        record = apply(record, event)
        assert record is not None
        if not tenures or record.owner != tenures[-1].manager:
            tenures.append(Tenure(record.owner, event.at))
    last = [event for event in events if event.kind in STEPS][-1:] or events[:1]
    updated = last[0]
    vettings = [
        Vetting(event.by, event.at, event.text(SKOS.note), event.order < updated.order) for event in events if event.kind == IDS.Vetting
    ]
    first = events[0]
    return Authority(iri.value, first.at, first.by, updated.at, updated.by, tuple(reversed(tenures)), tuple(reversed(vettings)))
