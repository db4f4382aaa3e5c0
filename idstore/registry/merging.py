"""Two registries that came to be apart: what of the other comes in, and in what the two differ.

Whatever the other publishes comes in. What it keeps private stays out, and so do its parties: they would see, and administer, what is here.
"""

from collections.abc import Sequence
from typing import Literal

from pyoxigraph import NamedNode

from idstore.frozen import dataclass
from idstore.model.event import Event, split
from idstore.model.record import Record
from idstore.registry.replaying import BEGINNINGS, Replaying, fold, keeps_to_itself
from idstore.stores import View
from idstore.vocabulary import IDS, RDF

Reception = Literal["taken", "private", "parties", "held"]
"""What becomes of what another registry tells about one thing.

``taken``: it comes in. ``private``: it is not published there. ``parties``: it is about a party or storage there. ``held``: it is published there and
kept here, but not published here, or was released here: it waits, for taking it in would publish what is here.
"""

Side = Literal["here", "there", "both"]


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

    def homes(self, view: View) -> frozenset[str]:
        """The stores of which all that happened is this registry's own: this one, and those that it is a copy of."""
        begun = (quad.subject for quad in view.quads(None, RDF.type, IDS.Initialization))
        return frozenset({self.store.origin, *(split(event.value)[0] for event in begun if isinstance(event, NamedNode))})

    def reception(self, view: View, told: Sequence[tuple[Event, bool]]) -> Reception:
        """What becomes of what another registry tells about one thing: its events, each with whether its graph says that it is private."""
        events = [event for event, _ in told]
        if any(keeps_to_itself(event) for event in events):
            return "parties"
        record = fold(events)
        if any(hidden and not event.internal for event, hidden in told) or not (record is None or record.public):
            return "private"
        here = self._folded(view, events[0].about)[0]
        return "taken" if here is None or here.public else "held"

    def divergence(self, view: View, about: NamedNode, told: Sequence[Event]) -> Divergence | None:
        """In what the events here and those told of an identifier differ; None if they do not.

        Where what is told does not begin at the beginning, it is news to be added to what is here.
        """
        own = {event.iri: event for event, _ in self._history(view, about)}
        shared = own.keys() & {event.iri for event in told}
        news = [event for event in told if event.iri not in own]
        whole = any(event.kind in BEGINNINGS for event in told)
        ours = [event for event in own.values() if whole and event.iri not in shared and not event.internal]
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
