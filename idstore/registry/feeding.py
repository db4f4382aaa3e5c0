"""The feed of changes: what each event made different, in triples, so that another store can follow."""

from collections.abc import Iterable, Iterator, Sequence

from pyoxigraph import NamedNode, Quad

from idstore.errors import InvalidData
from idstore.frozen import dataclass
from idstore.model.event import Event
from idstore.model.party import Party, PartyFacts, node
from idstore.model.storage import fold as fold_storage
from idstore.registry.replaying import OF_STORAGE, fold, fold_namespace, fold_party, home_of, party_state
from idstore.registry.trails import Trails, entry
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.stores.rows import EventRow
from idstore.vocabulary import IDS, PUBLIC_LOG, party_name

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Step:
    """What one event made different.

    number  its place: for administrators in this store, for others in the public feed.
    """

    number: int
    event: Event
    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]


class Feeding(Trails):
    """Following what happens, in triples."""

    def steps(self, party: Party, after: int = 0) -> Iterator[Step]:
        """What every event behind a number made different, in the order of the numbers.

        Administrators are given everything, by sequence numbers; everybody else what is public, by publication numbers. Whoever carries out
        all steps from 0 on has what `Registry.quads` gives an administrator, or what of it is public; whoever had that at a number and
        carries out the steps behind it as well. Raises InvalidData: nothing has that number yet. Cost: for each event the log of what it is about. Memory: flat.
        """
        while True:
            with self.store.reading() as view:
                whole = self.sight(view, party).everything
                _reached(after, view.catalogue.applied if whole else view.catalogue.publication)
                rows = self._rows(view, after, whole)
                found = [self._step(view, row, whole) for row in rows]
            yield from found
            if len(rows) < _PAGE:
                return
            after = found[-1].number

    def _rows(self, view: View, after: int, whole: bool) -> Sequence[EventRow]:
        if whole:
            return view.catalogue.events(Selection(None), after=after, limit=_PAGE)
        return view.catalogue.published(after, _PAGE)

    def _step(self, view: View, row: EventRow, whole: bool) -> Step:
        number = _number(row, whole)
        event = entry(view, row).event
        known = [
            (_number(other, whole), entry(view, other).event)
            for other in self._related(view, event)
            if whole or other.publication is not None
        ]
        before = self._quads(view, event, [past for place, past in known if place < number], whole)
        after = self._quads(view, event, [past for place, past in known if place <= number], whole)
        had = set(before)
        return Step(number, event, tuple(_sorted(had.difference(after))), tuple(quad for quad in after if quad not in had))

    def _related(self, view: View, event: Event) -> Sequence[EventRow]:
        """The events that state depends on as this one does: about the same thing."""
        everything = Selection(None)
        found = view.catalogue.events(everything, about=event.about.value)
        if event.kind == IDS.Initialization or _of_party(event):
            name = event.by if event.kind == IDS.Initialization else party_name(event.about)
            begun = [row for row in view.catalogue.events(everything, kinds=["Initialization"]) if entry(view, row).event.by == name]
            own = view.catalogue.events(everything, about=node(name).value)
            found = list({row.iri: row for row in [*begun, *own, *found]}.values())
        return found

    def _quads(self, view: View, about: Event, known: Sequence[Event], whole: bool) -> list[Quad]:
        """What is kept of events about one thing, and of what they make."""
        if not known:
            return []
        bases = self._facts(view).by_base
        if about.about.value in bases and any(event.kind == IDS.NamespaceAddition for event in known):
            made = fold_namespace([*known]).quads()
        elif about.kind == IDS.Initialization or _of_party(about):
            made = party_state(_party(about, known))
        elif about.kind in OF_STORAGE:
            made = fold_storage(known).quads()
        else:
            return _of_identifier(known, whole)
        return made + [quad for event in known for quad in event.quads(home_of(event, bases) or PUBLIC_LOG)]


def _reached(after: int, last: int) -> None:
    """Raises InvalidData: whoever follows from a number that is yet to come would miss what gets the numbers before."""
    if after > last:
        raise InvalidData(
            f"nothing has the number {after} yet, the last is {last}; is this the registry that you follow?", after=after, last=last
        )


def _of_identifier(known: Sequence[Event], whole: bool) -> list[Quad]:
    record = fold([*known])
    if record is None:  # the parent of a batch
        return [quad for event in known for quad in event.quads(home_of(event, ()) or PUBLIC_LOG)]
    if whole:
        return record.quads() + [quad for event in known for quad in event.quads(record.home(event))]
    made = [quad for quad in record.quads() if quad.graph_name == NamedNode(record.namespace)]
    return made + [quad for event in known for quad in event.quads(PUBLIC_LOG)]


def _party(about: Event, known: Sequence[Event]) -> PartyFacts:
    return fold_party(about.by if about.kind == IDS.Initialization else party_name(about.about), [*known])


def _of_party(event: Event) -> bool:
    return event.kind in (IDS.PartyAddition, IDS.Joining, IDS.Leaving, IDS.Suspension, IDS.Reinstatement)


def _number(row: EventRow, whole: bool) -> int:
    return row.sequence if whole else row.publication or 0


def _sorted(quads: Iterable[Quad]) -> list[Quad]:
    return sorted(quads, key=str)
