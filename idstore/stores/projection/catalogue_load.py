"""Bulk loading of whole histories into a catalogue that is not in use yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from idstore.model.history import History
from idstore.model.listing import STAGES
from idstore.model.terms import hashed
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.catalogue_intake import EVENT, IDENTIFIER, Counts

_ROWS: Final = 20_000
"""Maximum number of events in memory; likewise of counters."""
_STEP: Final = 200_000
"""Range of sequence numbers that one transaction copies into a table."""
_CACHE: Final = -65_536
"""Sort memory as SQLite expects it: negative kB."""
_TABLES: Final = """
CREATE TEMP TABLE loaded_event (
    sequence INTEGER PRIMARY KEY, origin INTEGER, token INTEGER, act INTEGER, about INTEGER, actor INTEGER,
    at INTEGER, audience INTEGER,
    since INTEGER, digest INTEGER, target INTEGER);
CREATE TEMP TABLE loaded_identifier (
    n INTEGER PRIMARY KEY, hash INTEGER, iri TEXT, namespace INTEGER, owner INTEGER, stage INTEGER,
    audience INTEGER, created INTEGER,
    fixated INTEGER);
CREATE TEMP TABLE loaded_publication (sequence INTEGER PRIMARY KEY, publication INTEGER);
"""
_PUBLISH: Final = (
    "INSERT INTO loaded_publication SELECT sequence, ? + row_number() OVER (ORDER BY since, sequence)"
    " FROM loaded_event WHERE since IS NOT NULL"
)
_EVENTS: Final = (
    "INSERT INTO event SELECT sequence, origin, token, act, about, actor, at, audience, publication, digest,"
    " target FROM loaded_event LEFT JOIN loaded_publication USING (sequence)"
    " WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
)
_IDENTIFIERS: Final = (
    "INSERT INTO identifier SELECT * FROM loaded_identifier WHERE n > ? AND n <= ? ORDER BY n"
)


class CatalogueLoading:
    """Loads histories in any order; `finish` copies their rows into the tables, sorted. Memory: constant.

    No transaction may be open. Every method raises sqlite3.Error: then the catalogue is unusable.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._db, self._terms = catalogue.loading()
        self._counts = Counts()
        self._events: list[tuple[int | None, ...]] = []
        self._identifiers: list[tuple[int | str | None, ...]] = []
        self._db.executescript(_TABLES)
        catalogue.begin()

    def take(self, history: History) -> None:
        """Load a history."""
        terms, counts, iri = self._terms, self._counts, hashed(history.record.iri)
        for numbered in history.events:
            self._events.append(
                terms.event(
                    numbered.sequence,
                    numbered.event,
                    terms.audience(numbered.graph.value),
                    numbered.since,
                    iri,
                )
            )
        listing = history.listing
        if listing.stage in STAGES:
            row = terms.listing(listing)
            self._identifiers.append((history.events[0].sequence, iri, listing.iri, *row))
            counts.count(row[:5], 1)
        base, series, number = history.issued
        counts.issue(terms.number(base), series, number)
        if len(self._events) >= _ROWS:
            self._flush()
            self._catalogue.commit()
            self._catalogue.begin()

    def _flush(self) -> None:
        self._db.executemany(EVENT.replace("INTO ", "INTO temp.loaded_"), self._events)
        self._db.executemany(IDENTIFIER.replace("INTO ", "INTO temp.loaded_"), self._identifiers)
        self._events.clear()
        self._identifiers.clear()
        if len(self._counts) >= _ROWS:
            self._counts.write(self._db)

    def finish(self, mark: int, sequence: int) -> None:
        """Copy all rows into the tables; see `Catalogue.finish`."""
        self._flush()
        self._counts.write(self._db)
        self._catalogue.commit()
        (cache_size,) = self._db.execute("PRAGMA cache_size").fetchone()
        self._db.execute(f"PRAGMA cache_size = {_CACHE}").fetchall()
        published = self._publish()
        with self._without_indexes():
            self._copy(_EVENTS, sequence)
            self._copy(_IDENTIFIERS, sequence)
        self._catalogue.begin()
        self._catalogue.publish(published)
        self._catalogue.finish(mark, sequence)
        self._catalogue.commit()
        for table in ("event", "identifier", "publication"):
            self._db.execute(f"DROP TABLE temp.loaded_{table}")
        self._db.execute(f"PRAGMA cache_size = {cache_size}").fetchall()

    def _publish(self) -> int:
        """Assign publication numbers to the public events, and return their count; see `catalogue_intake`."""
        return self._db.execute(_PUBLISH, (self._catalogue.own.publication,)).rowcount

    def _copy(self, statement: str, last: int) -> None:
        for start in range(0, last, _STEP):
            self._catalogue.begin()
            self._db.execute(statement, (start, start + _STEP))
            self._catalogue.commit()

    @contextmanager
    def _without_indexes(self) -> Iterator[None]:
        """Drop the indexes meanwhile if more rows are loaded than exist: rebuilding is much faster then."""
        (loaded,) = self._db.execute("SELECT COUNT(*) FROM loaded_event").fetchone()
        (existing,) = self._db.execute("SELECT COUNT(*) FROM event").fetchone()
        indexes = []
        if loaded > existing:
            indexes = self._db.execute(
                "SELECT name, sql FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND"
                " tbl_name IN ('event', 'identifier')"
            ).fetchall()
        for name, _ in indexes:
            self._db.execute(f"DROP INDEX {name}")
        yield
        for _, statement in indexes:
            self._db.execute(statement)
            self._catalogue.checkpoint()
