"""Merge of two registries: which events of the other one are accepted, and how the two differ.

All public events of the other registry are accepted. Its private events are not, and neither are its parties,
which would gain rights to read and administer this registry. Ownership of and permissions for a namespace
that is known here are not accepted either.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal

from pyoxigraph import NamedNode

from idstore.errors import ImportConflict
from idstore.model.event import Event
from idstore.model.record import Record, Stage
from idstore.registry.imports.replay import (
    BEGINNINGS,
    Replay,
    assigned_elsewhere,
    check_rules,
    fold,
    fold_namespace,
    is_imported,
    keeps_to_itself,
)
from idstore.stores.contract import View
from idstore.vocabulary import IDS

Verdict = Literal["taken", "private", "parties", "held"]
"""The decision about the incoming events about one subject.

``taken``: accepted. ``private``: not published there. ``parties``: about a party or storage there.
``held``: in conflict with the state here. The identifier is published there and a draft here, which the
events would publish; or it was released here; or it is published here and was released there; or it is
registered here in another spelling; or a public value there has the index of a private one here.
"""

Side = Literal["here", "there", "both"]


_GOVERNING = frozenset(
    {
        IDS.NamespaceAddition,
        IDS.NamespaceAllowance,
        IDS.NamespaceFreeze,
        IDS.NamespaceChange,
        IDS.Transfer,
    }
)


_RULING = frozenset({IDS.NamespaceAddition, IDS.NamespaceChange})
"""Events that set the rules of a namespace; each registry adds types of its own."""


@dataclass(frozen=True, slots=True)
class Reception:
    """The decision about the incoming events about one subject.

    out  the names of the events that are not accepted.
    """

    verdict: Verdict
    out: frozenset[str]


@dataclass(frozen=True, slots=True)
class Divergence:
    """An identifier whose log differs between two registries.

    side    which registry has events that the other lacks: ``here``, ``there``, ``both``.
    common  the state known to both; None: none.
    here, there, merged  the state here, there, and after the merge.
    """

    iri: str
    side: Side
    common: Record | None
    here: Record | None
    there: Record | None
    merged: Record | None


class Merge(Replay):
    """Comparison with another registry's log."""

    def reception(
        self, view: View, homes: Container[str], incoming: Sequence[tuple[Event, bool]]
    ) -> Reception:
        """Decide about the incoming events about one subject, each with whether its graph is private.

        homes  the stores whose events are this registry's own.
        Raises InvalidData: a namespace with other rules than here. Raises ImportConflict.
        """
        own = [event for event, _ in incoming if event.origin in homes]
        others = [event for event, _ in incoming if event.origin not in homes]
        if others and self._is_namespace(view, NamedNode(others[0].about), own):
            return Reception("taken", self._withheld(view, own, others))
        new_events = [event for event in own if not view.catalogue.knows(event.iri)]
        if not (new_events or others):
            return Reception("taken", frozenset())
        local = [event for event, _ in self.core.history(view, NamedNode(incoming[0][0].about))]
        held = self._contradicts(view, local, new_events)
        ours = local if held else [*local, *new_events]
        verdict = (
            self._verdict(view, ours, [pair for pair in incoming if pair[0].origin not in homes or not held])
            if others
            else "taken"
        )
        if verdict == "held":
            self._check_assigned(view, local, others)
        out = {event.iri for event in others if verdict != "taken" or event.withheld} | {
            event.iri for event in new_events if held
        }
        return Reception("held" if held else verdict, frozenset(out))

    def _verdict(self, view: View, ours: Sequence[Event], incoming: Sequence[tuple[Event, bool]]) -> Verdict:
        """Decide about the events of other registries; ``ours`` are this registry's own."""
        events = [event for event, _ in incoming]
        if any(keeps_to_itself(event) for event in events):
            return "parties"
        record, here = fold(events), fold([*ours])
        if any(hidden and not event.withheld for event, hidden in incoming) or not (
            record is None or record.public
        ):
            return "private"
        if here is not None and not here.public:
            return "held"
        names = {event.iri for event in ours}
        new_events = [event for event in events if event.iri not in names]
        contradicts = self._contradicts(view, ours, new_events) or _displaces(ours, new_events)
        return "held" if contradicts else "taken"

    def _check_assigned(self, view: View, local: Sequence[Event], others: Sequence[Event]) -> None:
        """Raise ImportConflict if a local identifier has a label here that another registry assigns."""
        begun = next((event for event in others if event.kind in BEGINNINGS), None)
        home = None if begun is None else self.core.facts(view).by_base.get(begun.text(IDS.inNamespace) or "")
        if begun is None or home is None or not assigned_elsewhere(home):
            return
        record = fold([*local])
        if record is not None and is_imported(others) and not is_imported(local):
            raise ImportConflict(
                f"{record.label} is registered there as {begun.text(IDS.name)!r}, and is a local identifier"
                f" ({record.stage.value}) of {record.owner} here; nothing was imported; decide which of the"
                " two has the name",
                id=record.iri,
            )

    def _contradicts(self, view: View, local: Sequence[Event], new_events: Sequence[Event]) -> bool:
        """Return whether new events contradict the local state.

        They do if they hide a published identifier, revive a released one, or respell one that is registered
        here.
        """
        before = fold([*local])
        if before is None:
            return self._is_respelled(view, new_events)
        after = fold([*local, *new_events])
        assert after is not None
        return (
            not after.public
            if before.public
            else before.stage is Stage.RELEASED and after.stage is not Stage.RELEASED
        )

    def _is_respelled(self, view: View, new_events: Sequence[Event]) -> bool:
        """Return whether the label of a new identifier equals another identifier's label here."""
        namespaces = self.core.facts(view).by_base
        for event in new_events:
            if event.kind in BEGINNINGS and event.text(IDS.inNamespace) in namespaces:
                claim = view.claim(self._beginning(view, event)[0])
                return claim is not None and claim.holder.value != event.about
        return False

    def _is_namespace(self, view: View, about: NamedNode, own: Sequence[Event]) -> bool:
        """Return whether the subject is a namespace of this registry, or is added by one of its homes."""
        return about.value in self.core.facts(view).by_base or any(
            event.kind == IDS.NamespaceAddition for event in own
        )

    def _withheld(self, view: View, own: Sequence[Event], others: Sequence[Event]) -> frozenset[str]:
        """Return the incoming events about a local namespace that are not accepted.

        Those are private events, and events about its ownership and permissions.
        """
        local = [event for event, _ in self.core.history(view, NamedNode(others[0].about))] + [*own]
        here = fold_namespace([event for event in local if event.kind in _RULING])
        for event in others:
            if event.kind == IDS.NamespaceAddition:
                changes = (
                    other
                    for other in others
                    if other.kind == IDS.NamespaceChange and other.origin == event.origin
                )
                check_rules(here, fold_namespace([event, *changes]))
        staying = (event.iri for event in others if event.kind in _GOVERNING or event.withheld)
        return frozenset(name for name in staying if not view.catalogue.knows(name))

    def divergence(self, view: View, about: NamedNode, incoming: Sequence[Event]) -> Divergence | None:
        """Return how the events here and the incoming ones about an identifier differ; None if they do not.

        Incoming events without the beginning of the identifier count as additions to the events here.
        """
        own = {event.iri: event for event, _ in self.core.history(view, about)}
        shared = own.keys() & {event.iri for event in incoming}
        new_events = [event for event in incoming if event.iri not in own]
        complete = any(event.kind in BEGINNINGS for event in incoming)
        ours = [
            event for event in own.values() if complete and event.iri not in shared and not event.withheld
        ]
        if not (new_events or ours):
            return None
        merged = fold([*own.values(), *new_events])
        if merged is None:  # a namespace, a party
            return None
        common = [event for event in own.values() if not complete or event.iri in shared]
        side: Side = "both" if new_events and ours else "there" if new_events else "here"
        return Divergence(
            about.value, side, fold(common), fold([*own.values()]), fold([*common, *new_events]), merged
        )

    def here_alone(self, view: View, about: NamedNode) -> Divergence:
        """Return the divergence of an identifier that the other registry does not know."""
        here = self._folded(view, about)[0]
        return Divergence(about.value, "here", None, here, None, here)


def _displaces(ours: Sequence[Event], others: Sequence[Event]) -> bool:
    """Return whether events of another registry put a public value in the place of a private one here."""
    hidden = _private_values(ours)
    return bool(hidden) and not hidden <= _private_values([*ours, *others])


def _private_values(events: Sequence[Event]) -> set[int]:
    """Return the indexes of the values of a handle that are not public."""
    record = fold([*events])
    return set() if record is None else {value.index for value in record.values if not value.public}
