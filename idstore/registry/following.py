"""The trails as they grow."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from idstore.model.event import Event
from idstore.model.party import Party
from idstore.registry.trails import Entry, Trails, entry
from idstore.stores import View
from idstore.stores.catalogue import Selection

PAGE = 1000
"""Events that are read at once, at most."""


@dataclass(frozen=True, slots=True)
class Interest:
    """Which events to read; what is None does not restrict.

    id           those about this identifier or namespace.
    user         those by this party.
    since, until milliseconds since 1970; ``until`` is exclusive.
    """

    id: str | None = None
    user: str | None = None
    since: int | None = None
    until: int | None = None


@dataclass(slots=True)
class Place:
    """How far a trail was read; reading on moves it.

    follows      whether events are wanted that were passed over because they were not visible, and are public since.
    last         the name of the last event that was read: its number would say how much happened that the reader may not see.
    publication  of the last event that was made public by then.
    shown        events read that may turn up again, because they are made public later. Memory: 100 bytes for each.
    """

    follows: bool = True
    last: str | None = None
    publication: int | None = None
    shown: set[int] = field(default_factory=set)


class Following(Trails):
    """Reading on where one stopped."""

    def news(self, party: Party, interest: Interest = Interest(), place: Place | None = None) -> list[Entry]:
        """The next events that the party may see, oldest first, at most a page; behind them older ones that became public.

        Nothing is given twice, nothing that is public is missed. Empty when there is nothing new, also in a state older than what was read.
        Raises NotRegistered for an ``id`` that nothing visible is about.
        """
        place = place or Place(follows=False)
        with self.store.reading() as view:
            about = None if interest.id is None else self._about(view, interest.id, party)
            chosen = Selection(self.audiences(view, party), owner=interest.user, since=interest.since, until=interest.until)
            after = 0 if place.last is None else view.catalogue.place_of(place.last)
            if after is None:
                return []
            rows = view.catalogue.events(chosen, about=about, after=after, limit=PAGE)
            found = [entry(view, row) for row in rows]
            if place.publication is None:
                place.publication = view.catalogue.publication
            if place.follows:
                place.shown |= {row.token for row in rows if (row.publication or place.publication + 1) > place.publication}
                if len(rows) < PAGE:
                    found += [one for one in _late(view, place) if _concerns(one.event, interest, about)]
            place.last = rows[-1].iri if rows else place.last
        return found


def _late(view: View, place: Place) -> Iterator[Entry]:
    """Events that became public since, and were not shown before."""
    assert place.publication is not None
    while rows := view.catalogue.published(place.publication, PAGE):
        place.publication = rows[-1].publication or place.publication
        for row in rows:
            if row.token in place.shown:
                place.shown.discard(row.token)
            else:
                yield entry(view, row)


def _concerns(event: Event, interest: Interest, about: str | None) -> bool:
    return (
        about in (None, event.about.value)
        and interest.user in (None, event.by)
        and (interest.since is None or event.at >= interest.since)
        and (interest.until is None or event.at < interest.until)
    )
