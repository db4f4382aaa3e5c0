"""What is read of a catalogue to compare it with the log, and counting anew."""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from idstore.frozen import dataclass
from idstore.model import times
from idstore.model.change import Entry
from idstore.model.event import split
from idstore.model.terms import hashed
from idstore.stores.rows import EVERYONE, STAGES, EventRow
from idstore.stores.sqlite import iterating, reading, transaction
from idstore.vocabulary import PUBLIC_LOG

Series: TypeAlias = tuple[str, str]
"""A namespace's base, and a series of its labels."""

_COUNTED = {"tally": "audience, namespace, owner, stage", "daily": "audience, day, namespace"}
_COLUMNS = {"tally": "audience, namespace, owner, stage", "daily": f"audience, created / {times.DAY}, namespace"}
_GROUPED = {"tally": "1, 2, 3, 4", "daily": "1, 2, 3"}


@dataclass(frozen=True, slots=True)
class Logged:
    """All that a catalogue knows of an event.

    act, actor  texts; None where they cannot be found.
    about       `hashed` IRI.
    digest      see `idstore.model.event.digest`.
    """

    row: EventRow
    act: str | None
    about: int
    actor: str | None
    at: int
    digest: int


class Auditing:
    """The catalogue's part of ``idstore verify``."""

    _db: sqlite3.Connection
    _path: Path

    @iterating
    def logged(self) -> Iterator[Logged]:
        """Every event, in order. Memory: flat."""
        found = self._db.execute(
            "SELECT sequence, COALESCE(o.text, ''), token, audience, g.text, publication, a.text, about, b.text, at, digest FROM event"
            " LEFT JOIN term o ON o.id = origin LEFT JOIN term g ON g.id = audience LEFT JOIN term a ON a.id = act"
            " LEFT JOIN term b ON b.id = actor ORDER BY sequence"
        )
        for sequence, origin, token, audience, graph, publication, act, about, actor, at, digest in found:
            place = PUBLIC_LOG.value if audience == EVERYONE else graph
            yield Logged(EventRow(sequence, origin, token, place, publication), act, about, actor, at, digest)

    @iterating
    def faults(self) -> Iterator[str]:
        """What is wrong with the file itself."""
        for (message,) in self._db.execute("PRAGMA integrity_check"):
            if message != "ok":
                yield f"{self._path}: {message}"

    def knows(self, event: str) -> bool:
        """Whether an event is in the log's order. Raises ValueError if that is no event's name."""
        return self.place_of(event) is not None

    @reading
    def place_of(self, event: str) -> int | None:
        """The sequence number of an event; None where it is not in the log's order. Raises ValueError if that is no event's name."""
        origin, token = split(event)
        found = self._db.execute(
            "SELECT sequence FROM event JOIN term ON id = origin WHERE text = ? AND token = ?", (origin, token)
        ).fetchone()
        return None if found is None else int(found[0])

    @reading
    def tells_of(self, about: str) -> bool:
        """Whether any event is about something. Cost: one look into an index, whose numbers may say yes by chance, never no."""
        return self._db.execute("SELECT 1 FROM event WHERE about = ? LIMIT 1", (hashed(about),)).fetchone() is not None

    @reading
    def listed(self, iri: str) -> Entry | None:
        """How an identifier is listed."""
        row = self._db.execute(
            "SELECT n.text, o.text, stage, audience, a.text, created, fixated FROM identifier JOIN term n ON n.id = namespace JOIN term o ON o.id = owner"
            " LEFT JOIN term a ON a.id = audience WHERE hash = ? AND iri = ?",
            (hashed(iri), iri),
        ).fetchone()
        if row is None:
            return None
        namespace, owner, stage, audience, graph, created, fixated = row
        return Entry(iri, namespace, owner, STAGES[stage], None if audience == EVERYONE else graph, created, fixated, fresh=False)

    @iterating
    def listings(self) -> Iterator[tuple[str, int]]:
        """Every identifier that is listed, and how often. Memory: flat."""
        yield from self._db.execute("SELECT iri, COUNT(*) FROM identifier GROUP BY iri")

    # what was checked

    @reading
    def checked(self, shapes: int) -> int | None:
        """Up to which event everything was found to keep the shapes that the number stands for; None if that is not known."""
        kept = dict(self._db.execute("SELECT key, value FROM meta WHERE key IN ('checked', 'shapes')"))
        return kept["checked"] if kept.get("shapes") == shapes else None

    def keep_checked(self, sequence: int, shapes: int) -> None:
        """Take note of that. Raises sqlite3.Error."""
        with_it = "INSERT INTO meta VALUES ('shapes', ?), ('checked', ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        self._db.execute(with_it, (shapes, sequence))

    # counters

    @iterating
    def miscounts(self, issued: Mapping[Series, int], highest: Mapping[Series, int]) -> Iterator[tuple[str, str]]:
        """Counters that differ from what is listed, or from the labels issued by namespace and series; each with what is wrong."""
        for table, columns in _COUNTED.items():
            found = self._db.execute(
                f"SELECT {columns}, SUM(counted), SUM(kept) FROM (SELECT {columns}, count AS kept, 0 AS counted FROM {table} UNION ALL"
                f" SELECT {_COLUMNS[table]}, 0, COUNT(*) FROM identifier GROUP BY {_GROUPED[table]}) GROUP BY {columns} HAVING SUM(counted) <> SUM(kept)"
            )
            for *place, counted, kept in found:
                said = ", ".join(self._said(name, value) for name, value in zip(columns.split(", "), place, strict=True))
                yield f"{table} of {said}", f"says {kept}, and there are {counted}"
        kept_series = self._kept_series()
        for key in sorted(kept_series.keys() | issued.keys()):
            right, told = (issued.get(key, 0), highest.get(key, 0)), kept_series.get(key, (0, 0))
            if right != told:
                yield (
                    f"series {key[1]!r} of {key[0]}",
                    f"says {told[0]} issued, highest {told[1]}, and there are {right[0]}, highest {right[1]}",
                )

    def _kept_series(self) -> dict[Series, tuple[int, int]]:
        found = self._db.execute("SELECT COALESCE(text, '?'), series, issued, highest FROM series LEFT JOIN term ON id = namespace")
        return {(base, series): (count, top) for base, series, count, top in found}

    def _said(self, column: str, value: int) -> str:
        """A column of a counter, in words."""
        if column == "stage" and value in range(len(STAGES)):
            return STAGES[value]
        if column == "day":
            return times.day_text(value)
        if column == "audience" and value == EVERYONE:
            return "everyone"
        row = self._db.execute("SELECT text FROM term WHERE id = ?", (value,)).fetchone()
        return str(row[0]) if row else f"{column} {value}"

    def recount(self, issued: Mapping[Series, int], highest: Mapping[Series, int]) -> None:
        """Count anew what is listed, and take over the numbers of labels issued. All or nothing."""
        db = self._db
        with transaction(db):
            for table, columns in _COLUMNS.items():
                db.execute(f"DELETE FROM {table}")
                db.execute(f"INSERT INTO {table} SELECT {columns}, COUNT(*) FROM identifier GROUP BY {_GROUPED[table]}")
            db.execute("DELETE FROM series")
            db.executemany(
                "INSERT INTO series SELECT id, ?, ?, ? FROM term WHERE text = ?",
                [(series, count, highest[base, series], base) for (base, series), count in issued.items()],
            )
