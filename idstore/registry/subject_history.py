"""The history of a subject in the change feed: its log is folded once, and each event tells what it changes.

The quads of a subject are those of its state, and those of its events.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from pyoxigraph import NamedNode, Quad

from idstore.model import namespace as namespaces
from idstore.model import steps
from idstore.model import storage as storages
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import PartyFacts
from idstore.model.record import Record
from idstore.model.storage import Storage
from idstore.registry.imports.replay import fold, fold_namespace, fold_party, home_of, party_state
from idstore.registry.parties import party_after
from idstore.registry.party_descriptions import Naming, namings
from idstore.vocabulary import IDS, PUBLIC_LOG

T = TypeVar("T")
State: TypeAlias = Record | Namespace | PartyFacts | Storage | None
"""None: nothing created the subject, as for the parent event of a batch."""


@dataclass(frozen=True, slots=True)
class Folding:
    """How events make the state of a subject.

    fold   returns the state that results from events in any order.
    apply  returns the state after an event that is later than all others.
    """

    fold: Callable[[list[Event]], State]
    apply: Callable[[Any, Event], State]


IDENTIFIER: Final = Folding(fold, steps.apply)
"""The folding of identifiers, and of subjects without a state."""
NAMESPACE: Final = Folding(
    lambda events: fold_namespace(events) if any(map(_adds_namespace, events)) else None,
    lambda state, event: None if state is None else namespaces.apply(state, event),
)
STORAGE: Final = Folding(lambda events: storages.fold(events) if events else None, storages.apply)


def party_folding(name: str) -> Folding:
    """Return the folding of the party with a name."""
    return Folding(partial(fold_party, name), party_after)


@dataclass(frozen=True, slots=True)
class SubjectChange:
    """The change of one subject by one event.

    before, after  quads before and after the event. Both lack most quads that the event does not change.
    named_before, named_after  the parties that the subject names before and after the event, each with the
                   graph; only parties that `before` or `after` name.
    """

    event: Event
    before: list[Quad]
    after: list[Quad]
    named_before: set[Naming]
    named_after: set[Naming]


class SubjectHistory:
    """The states of a subject, one after the other.

    numbers  of its events, ascending.
    read     returns the event with a number.
    before   the number before which the history begins. Cost: the log up to there.
    whole    whether private quads count.
    """

    def __init__(
        self,
        folding: Folding,
        numbers: Sequence[int],
        read: Callable[[int], Event],
        before: int,
        *,
        whole: bool,
    ) -> None:
        self._folding, self._numbers, self._read, self._whole = folding, numbers, read, whole
        self._next = bisect_left(numbers, before)
        self._past = [read(number) for number in numbers[: self._next]]
        self._last = max((event.order for event in self._past), default=None)
        self._state = folding.fold(self._past)
        quads = self._own_quads(self._state) + self._event_quads(self._state, self._past)
        self._namings = Counter(namings(quads))

    def names(self, before: int) -> set[Naming]:
        """Return the parties that the quads before a number name, each with the graph.

        The history goes on from there, as by `change`.
        """
        self._skip(before)
        return {naming for naming, count in self._namings.items() if count}

    def change(self, number: int) -> SubjectChange:
        """Return the change by the event with a number. The numbers of calls rise."""
        self._skip(number)
        return self._take()

    def _skip(self, before: int) -> None:
        while self._next < len(self._numbers) and self._numbers[self._next] < before:
            self._take()

    def _take(self) -> SubjectChange:
        """Apply the next event. Cost: what it changes, and a look at each binding and value."""
        event = self._read(self._numbers[self._next])
        self._next += 1
        old, new = self._state, self._after(event)
        moved = self._past if self._homes(old) != self._homes(new) else []
        kept_old, kept_new = _without_shared(old, new)
        before = self._own_quads(kept_old) + self._event_quads(old, moved)
        after = self._own_quads(kept_new) + self._event_quads(new, [*moved, event])
        self._past.append(event)
        self._state = new
        names = {*namings(before), *namings(after)}
        named_before = {naming for naming in names if self._namings[naming]}
        self._namings.subtract(namings(before))
        self._namings.update(namings(after))
        named_after = {naming for naming in names if self._namings[naming]}
        return SubjectChange(event, before, after, named_before, named_after)

    def _after(self, event: Event) -> State:
        """Return the state after the next event. One that is older than another folds the log again."""
        if self._last is None or event.order > self._last:
            self._last = event.order
            if not _adds_namespace(event):
                return self._folding.apply(self._state, event)
        return self._folding.fold([*self._past, event])

    def _homes(self, state: State) -> object:
        """Return what decides the graphs of events."""
        if not isinstance(state, Record):
            return None
        return (state.log, state.private_graph, state.owner_graph) if self._whole else PUBLIC_LOG

    def _own_quads(self, state: State) -> list[Quad]:
        if state is None:
            return []
        if isinstance(state, PartyFacts):
            return party_state(state)
        quads = state.quads()
        if isinstance(state, Record) and not self._whole:
            public = NamedNode(state.namespace)
            return [quad for quad in quads if quad.graph_name == public]
        return quads

    def _event_quads(self, state: State, events: Iterable[Event]) -> list[Quad]:
        return [quad for event in events for quad in event.quads(self._home(state, event))]

    def _home(self, state: State, event: Event) -> NamedNode:
        if isinstance(state, Record):
            return state.home(event) if self._whole else PUBLIC_LOG
        return home_of(event, ()) or PUBLIC_LOG


def _adds_namespace(event: Event) -> bool:
    return event.kind == IDS.NamespaceAddition


def _without_shared(old: State, new: State) -> tuple[State, State]:
    """Return two states of a record without bindings and values whose quads are the same in both."""
    if not (
        isinstance(old, Record)
        and isinstance(new, Record)
        and (old.graph, old.owner_graph) == (new.graph, new.owner_graph)
    ):
        return old, new
    triples = {(one.relation, one.target) for one in _not_shared(old.bindings, new.bindings)}
    indexes = {value.index for value in _not_shared(old.values, new.values)}

    def kept(record: Record) -> Record:
        return replace(
            record,
            # another party's binding may state the same triple
            bindings=tuple(one for one in record.bindings if (one.relation, one.target) in triples)
            if triples
            else (),
            values=tuple(value for value in record.values if value.index in indexes) if indexes else (),
        )

    return kept(old), kept(new)


def _not_shared(old: Sequence[T], new: Sequence[T]) -> list[T]:
    """Return the elements of either that are not the same objects in both: steps keep what they leave."""
    if old is new:
        return []
    shared = {id(one) for one in old} & {id(one) for one in new}
    return [one for one in (*old, *new) if id(one) not in shared]
