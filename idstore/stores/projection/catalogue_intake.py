"""Applying changes to the catalogue.

The rules for counters, series and publication are here; the bulk loader uses them too. Publication: an event
becomes public together with the event that made its record public, or immediately if the record is public
already. Publication numbers follow the sequence number of that event, then the event's own.
"""

import sqlite3
from operator import itemgetter
from typing import Final, TypeAlias

from idstore.model import times
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.listing import STAGES, Listing
from idstore.model.terms import hashed
from idstore.stores.projection.catalogue_rows import EVERYONE, Terms

EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
IDENTIFIER: Final = "INSERT INTO identifier VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_RELIST: Final = (
    "UPDATE identifier SET namespace = ?, owner = ?, stage = ?, audience = ?, created = ?, fixated = ?"
    " WHERE n = ?"
)
_TALLY: Final = (
    "INSERT INTO tally VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
)
_DAILY: Final = (
    "INSERT INTO daily VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
)
_SERIES: Final = (
    "INSERT INTO series VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET issued = issued + excluded.issued, highest = max(highest, excluded.highest)"
)
_EMPTY_TALLY: Final = (
    "DELETE FROM tally WHERE audience = ? AND namespace = ? AND owner = ? AND stage = ? AND count = 0"
)
_EMPTY_DAILY: Final = "DELETE FROM daily WHERE audience = ? AND day = ? AND namespace = ? AND count = 0"

_Places: TypeAlias = dict[str, tuple[int, int]]
"""For each subject of a change's events: the sequence number of its first event, and the hash of its IRI."""


class Counts:
    """Increments of counters and series, added up and written at once."""

    def __init__(self) -> None:
        self._tally: dict[tuple[int, ...], int] = {}
        self._daily: dict[tuple[int, ...], int] = {}
        self._series: dict[tuple[int, str], tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._tally) + len(self._daily) + len(self._series)

    def count(self, listed: tuple[int, int, int, int, int], by: int) -> None:
        """Count a newly listed identifier (1) or a removed one (-1).

        listed  namespace, owner, stage, audience and created.
        """
        namespace, owner, stage, audience, created = listed
        tally, daily = (audience, namespace, owner, stage), (audience, created // times.DAY, namespace)
        self._tally[tally] = self._tally.get(tally, 0) + by
        self._daily[daily] = self._daily.get(daily, 0) + by

    def issue(self, namespace: int, series: str, number: int) -> None:
        """Count an issued label."""
        issued, highest = self._series.get((namespace, series), (0, number))
        self._series[namespace, series] = (issued + 1, max(highest, number))

    def write(self, database: sqlite3.Connection) -> None:
        """Write the increments, and reset them. Raises sqlite3.Error."""
        execute = database.execute
        for counters, add, remove_empty in (
            (self._tally, _TALLY, _EMPTY_TALLY),
            (self._daily, _DAILY, _EMPTY_DAILY),
        ):
            for key, by in counters.items():
                if by:
                    execute(add, (*key, by))
                if by < 0:
                    execute(remove_empty, key)
            counters.clear()
        for (namespace, series), (issued, highest) in self._series.items():
            execute(_SERIES, (namespace, series, issued, highest))
        self._series.clear()


class Intake:
    """Writes changes on the writer's connection.

    publication  last publication number in the public feed.
    """

    def __init__(self, database: sqlite3.Connection, terms: Terms, publication: int) -> None:
        self.publication = publication
        self._db = database
        self._terms = terms

    def take(self, change: Change, first: int) -> None:
        """Apply a change; ``first`` is the sequence number of its first event. Raises sqlite3.Error."""
        places: _Places = {}
        for sequence, (event, _) in enumerate(change.events, first):
            about = event.about
            if about not in places:
                places[about] = (sequence, hashed(about))
        moved = self._moved(change, places, first) if change.moved else {}
        for sequence, (event, graph) in enumerate(change.events, first):
            for move in moved.get(sequence, ()):
                self._move(*move)
            audience = self._terms.audience(graph.value)
            publication = self._publish() if audience == EVERYONE else None
            self._db.execute(
                EVENT, self._terms.event(sequence, event, audience, publication, places[event.about][1])
            )
        self._list(change, places, first)

    def _publish(self) -> int:
        self.publication += 1
        return self.publication

    def _list(self, change: Change, places: _Places, first: int) -> None:
        """List identifiers in the order of their events, and count."""
        counts = Counts()
        for number, listing in enumerate(change.all_listings(), first):
            self._enter(*(places.get(listing.iri) or (number, hashed(listing.iri))), listing, counts)
        for base, series, number in change.issued:
            counts.issue(self._terms.number(base), series, number)
        if counts:
            counts.write(self._db)

    def _enter(self, place: int, iri: int, listing: Listing, counts: Counts) -> None:
        row = self._terms.listing(listing) if listing.stage in STAGES else None
        existing = None if listing.new else self._listed(iri, listing.iri)
        if existing is not None:
            place = existing[0]
            counts.count(existing[1:], -1)
        if row is not None:
            counts.count(row[:5], 1)
        if row is None and existing is not None:
            self._db.execute("DELETE FROM identifier WHERE n = ?", (place,))
        elif row is not None and existing is not None:
            self._db.execute(_RELIST, (*row, place))
        elif row is not None:
            self._db.execute(IDENTIFIER, (place, iri, listing.iri, *row))

    def _listed(self, hash: int, iri: str) -> tuple[int, int, int, int, int, int] | None:
        row: tuple[int, int, int, int, int, int] | None = self._db.execute(
            "SELECT n, namespace, owner, stage, audience, created FROM identifier WHERE hash = ? AND iri = ?",
            (hash, iri),
        ).fetchone()
        return row

    # events that move with their record

    def _moved(
        self, change: Change, places: _Places, first: int
    ) -> dict[int, list[tuple[int, int | None, str]]]:
        """Return earlier events that move, by the sequence number of the event that moves them.

        Each with its sequence number, publication number and new graph, in order.
        """
        moves_by_event: dict[int, list[tuple[int, int | None, str]]] = {}
        for event, graph in change.moved:
            place = self._place(event)
            if place is not None:
                moves_by_event.setdefault(places.get(event.about, (first, 0))[0], []).append(
                    (*place, graph.value)
                )
        for moves in moves_by_event.values():
            moves.sort(key=itemgetter(0))
        return moves_by_event

    def _place(self, event: Event) -> tuple[int, int | None] | None:
        row: tuple[int, int | None] | None = self._db.execute(
            "SELECT sequence, publication FROM event WHERE token = ? AND origin = ?",
            (event.token, self._terms.number(event.origin)),
        ).fetchone()
        return row

    def _move(self, sequence: int, publication: int | None, graph: str) -> None:
        audience = self._terms.audience(graph)
        if audience != EVERYONE:
            publication = None
        elif publication is None:
            publication = self._publish()
        self._db.execute(
            "UPDATE event SET audience = ?, publication = ? WHERE sequence = ?",
            (audience, publication, sequence),
        )
