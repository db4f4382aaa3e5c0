"""How a catalogue takes changes in: rows and counters are gathered over many changes, and written many at a time.

SQLite lets other threads run while it executes a statement, and takes the interpreter back after each; so a statement has many rows.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from idstore.model import times
from idstore.model.change import Entry
from idstore.model.event import Event
from idstore.model.terms import hashed
from idstore.stores.prepared import Prepared
from idstore.stores.rows import EVERYONE, STAGES, Texts

_ROWS: Final = 100
"""Rows of one statement."""
_COLUMNS: Final = {"event": 10, "identifier": 9}


class Intake:
    """What one transaction takes in.

    texts        the numbers of texts; it adds to them.
    publication  the last number in the public feed.
    """

    def __init__(self, db: sqlite3.Connection, texts: Texts, publication: int) -> None:
        self.publication = publication
        self._db = db
        self._texts = texts
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _COLUMNS}
        self._tally: Counter[tuple[int, int, int, int]] = Counter()
        self._daily: Counter[tuple[int, int, int]] = Counter()
        self._series: dict[tuple[int, str], tuple[int, int]] = {}

    def take(self, prepared: Prepared) -> None:
        """Take in a change. Raises sqlite3.Error."""
        change = prepared.change
        if change.moved or not all(entry.fresh for entry in prepared.listed):
            self._write_rows()  # it changes rows that may be among them
        first = prepared.sequence - len(change.events) + 1
        for event, graph in change.moved:
            self._move(event, graph.value)
        for place, ((event, graph), marks) in enumerate(zip(change.events, prepared.marks, strict=True), first):
            self._log(place, event, graph.value, *marks)
        for place, entry in enumerate(prepared.listed, first):
            self._enter(place, entry)
        for base, series, number in change.issued:
            key = (self._texts.number(base), series)
            many, highest = self._series.get(key, (0, number))
            self._series[key] = (many + 1, max(highest, number))

    def finish(self) -> None:
        """Write what was gathered. Raises sqlite3.Error."""
        self._write_rows()
        more = "ON CONFLICT DO UPDATE SET count = count + excluded.count"
        self._db.executemany(f"INSERT INTO tally VALUES (?, ?, ?, ?, ?) {more}", _counted(self._tally))
        self._db.executemany(f"INSERT INTO daily VALUES (?, ?, ?, ?) {more}", _counted(self._daily))
        self._db.executemany(
            "INSERT INTO series VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET issued = issued + excluded.issued, highest = max(highest, excluded.highest)",
            [(*key, *value) for key, value in self._series.items()],
        )

    def _write_rows(self) -> None:
        for table, rows in self._rows.items():
            one = f"({','.join('?' * _COLUMNS[table])})"
            many = ",".join([one] * _ROWS)
            whole = len(rows) - len(rows) % _ROWS
            for start in range(0, whole, _ROWS):
                self._db.execute(f"INSERT INTO {table} VALUES {many}", list(chain.from_iterable(rows[start : start + _ROWS])))
            self._db.executemany(f"INSERT INTO {table} VALUES {one}", rows[whole:])
            rows.clear()

    def _log(self, sequence: int, event: Event, graph: str, about: int, digest: int) -> None:
        audience = self._texts.audience(graph)
        origin, act, actor = self._texts.number(event.origin), self._texts.number(event.act), self._texts.number(event.by)
        publication = self._publish(audience)
        self._rows["event"].append((sequence, origin, event.token, act, about, actor, event.at, audience, publication, digest))

    def _publish(self, audience: int) -> int | None:
        if audience != EVERYONE:
            return None
        self.publication += 1
        return self.publication

    def _move(self, event: Event, graph: str) -> None:
        audience = self._texts.audience(graph)
        self._db.execute(
            "UPDATE event SET audience = ?, publication = ? WHERE token = ? AND origin = ?",
            (audience, self._publish(audience), event.token, self._texts.number(event.origin)),
        )

    def _enter(self, place: int, entry: Entry) -> None:
        known = None if entry.fresh else self._listed(entry.iri)
        if known is not None:
            n, namespace, owner, stage, audience, created = known
            self._count(audience, namespace, owner, stage, created, -1)
            self._db.execute("DELETE FROM identifier WHERE n = ?", (n,))
            place = n
        if entry.stage not in STAGES:
            return
        namespace, owner, stage = self._texts.number(entry.namespace), self._texts.number(entry.owner), STAGES.index(entry.stage)
        audience = EVERYONE if entry.audience is None else self._texts.number(entry.audience)
        row = (place, hashed(entry.iri), entry.iri, namespace, owner, stage, audience, entry.created, entry.fixated)
        self._rows["identifier"].append(row)
        self._count(audience, namespace, owner, stage, entry.created, 1)

    def _listed(self, iri: str) -> tuple[int, int, int, int, int, int] | None:
        found: tuple[int, int, int, int, int, int] | None = self._db.execute(
            "SELECT n, namespace, owner, stage, audience, created FROM identifier WHERE hash = ? AND iri = ?", (hashed(iri), iri)
        ).fetchone()
        return found

    def _count(self, audience: int, namespace: int, owner: int, stage: int, created: int, by: int) -> None:
        self._tally[audience, namespace, owner, stage] += by
        self._daily[audience, times.day(created), namespace] += by


def _counted(counts: Counter[Any]) -> Iterator[Sequence[int]]:
    """Rows that add to a counter."""
    return ((*key, by) for key, by in counts.items() if by)
