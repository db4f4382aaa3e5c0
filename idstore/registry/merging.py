"""Two registries that came to be apart: what of the other comes in, and in what the two differ.

Whatever the other publishes comes in. What it keeps private stays out, and so do its parties: they would see, and administer, what is here.
Nor does it say who owns a namespace that is known here, or who may allocate there.
"""

from collections.abc import Container, Sequence
from typing import Literal

from pyoxigraph import NamedNode

from idstore.frozen import dataclass
from idstore.model.event import Event
from idstore.model.record import Record, Stage
from idstore.registry.replaying import BEGINNINGS, Replaying, check_rules, fold, keeps_to_itself
from idstore.stores import View
from idstore.vocabulary import IDS

Verdict = Literal["taken", "private", "parties", "held"]
"""What becomes of what is told about one thing.

``taken``: it comes in. ``private``: it is not published there. ``parties``: it is about a party or storage there. ``held``: it waits for what became
of it here. It is published there, and a draft here, which it would publish; or it was released here, is published here and was released there, or
is registered here in another spelling.
"""

Side = Literal["here", "there", "both"]


_GOVERNING = frozenset({IDS.NamespaceAddition, IDS.NamespaceAllowance, IDS.NamespaceFreeze, IDS.Transfer})


@dataclass(frozen=True, slots=True)
class Reception:
    """What becomes of what is told about one thing.

    out  the names of the events that stay out.
    """

    verdict: Verdict
    out: frozenset[str]


@dataclass(frozen=True, slots=True)
class Divergence:
    """An identifier of which two registries tell differently.

    side    where something happened that the other does not know: ``here``, ``there``, ``both``.
    common  as both know it; None: not at all.
    here, there, merged  as it is here, as it is there, and as it will be.
    """

    iri: str
    side: Side
    common: Record | None
    here: Record | None
    there: Record | None
    merged: Record | None


class Merging(Replaying):
    """Meeting another registry's log."""

    def reception(self, view: View, homes: Container[str], told: Sequence[tuple[Event, bool]]) -> Reception:
        """What becomes of what is told about one thing: its events, each with whether its graph says that it is private.

        homes  the stores whose events are this registry's own.
        Raises InvalidData: a namespace with other rules than here.
        """
        own = [event for event, _ in told if event.origin in homes]
        others = [event for event, _ in told if event.origin not in homes]
        if others and self._is_namespace(view, others[0].about, own):
            return Reception("taken", self._own_matters(view, own, others))
        news = [event for event in own if not view.catalogue.knows(event.name)]
        if not (news or others):
            return Reception("taken", frozenset())
        known = [event for event, _ in self._history(view, told[0][0].about)]
        held = self._contradicts(view, known, news)
        ours = known if held else [*known, *news]
        verdict = self._verdict(view, ours, [pair for pair in told if pair[0].origin not in homes or not held]) if others else "taken"
        out = {event.name for event in others if verdict != "taken" or event.withheld} | {event.name for event in news if held}
        return Reception("held" if held else verdict, frozenset(out))

    def _verdict(self, view: View, ours: Sequence[Event], told: Sequence[tuple[Event, bool]]) -> Verdict:
        """What becomes of what other registries tell, where these events are this one's own."""
        events = [event for event, _ in told]
        if any(keeps_to_itself(event) for event in events):
            return "parties"
        record, here = fold(events), fold([*ours])
        if any(hidden and not event.withheld for event, hidden in told) or not (record is None or record.public):
            return "private"
        if here is not None and not here.public:
            return "held"
        names = {event.name for event in ours}
        return "held" if self._contradicts(view, ours, [event for event in events if event.name not in names]) else "taken"

    def _contradicts(self, view: View, known: Sequence[Event], news: Sequence[Event]) -> bool:
        """Whether news take a published identifier out of the public, bring a released one back, or spell in another way what is registered here."""
        before = fold([*known])
        if before is None:
            return self._is_spelled_otherwise(view, news)
        after = fold([*known, *news])
        assert after is not None
        return not after.public if before.public else before.stage is Stage.RELEASED and after.stage is not Stage.RELEASED

    def _is_spelled_otherwise(self, view: View, news: Sequence[Event]) -> bool:
        """Whether the label with which an identifier begins is the same name as another's here."""
        known = self._facts(view).by_base
        for event in news:
            if event.kind in BEGINNINGS and event.text(IDS.inNamespace) in known:
                return view.holder(self._beginning(view, event)[0]) not in (None, event.about)
        return False

    def _is_namespace(self, view: View, about: NamedNode, own: Sequence[Event]) -> bool:
        """Whether it is a namespace that this registry has, or that one of its homes adds."""
        return about.value in self._facts(view).by_base or any(event.kind == IDS.NamespaceAddition for event in own)

    def _own_matters(self, view: View, own: Sequence[Event], others: Sequence[Event]) -> frozenset[str]:
        """Events about a namespace of this registry's that others keep to themselves: what only some of them may read, who owns it, who may allocate."""
        added = [event for event, _ in self._history(view, others[0].about)] + [*own]
        first = min((event for event in added if event.kind == IDS.NamespaceAddition), key=lambda event: event.order)
        for event in others:
            if event.kind == IDS.NamespaceAddition:
                check_rules(first, event)
        staying = (event.name for event in others if event.kind in _GOVERNING or event.withheld)
        return frozenset(name for name in staying if not view.catalogue.knows(name))

    def divergence(self, view: View, about: NamedNode, told: Sequence[Event]) -> Divergence | None:
        """In what the events here and those told of an identifier differ; None if they do not.

        Where what is told does not begin at the beginning, it is news to be added to what is here.
        """
        own = {event.iri: event for event, _ in self._history(view, about)}
        shared = own.keys() & {event.iri for event in told}
        news = [event for event in told if event.iri not in own]
        whole = any(event.kind in BEGINNINGS for event in told)
        ours = [event for event in own.values() if whole and event.iri not in shared and not event.withheld]
        if not (news or ours):
            return None
        merged = fold([*own.values(), *news])
        if merged is None:  # a namespace, a party
            return None
        common = [event for event in own.values() if not whole or event.iri in shared]
        side: Side = "both" if news and ours else "there" if news else "here"
        return Divergence(about.value, side, fold(common), fold([*own.values()]), fold([*common, *news]), merged)

    def here_alone(self, view: View, about: NamedNode) -> Divergence:
        """An identifier that the other does not know."""
        here = self._folded(view, about)[0]
        return Divergence(about.value, "here", None, here, None, here)
