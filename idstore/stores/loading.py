"""Filling a generation that nobody uses yet with whole histories: in bulk, and not change by change."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from idstore.model import times
from idstore.model.event import digest
from idstore.model.history import History, Told
from idstore.model.terms import hashed
from idstore.stores.catalogue import Catalogue
from idstore.stores.generation import Generation
from idstore.stores.rows import EVERYONE, STAGES
from idstore.stores.sqlite import transaction

_PORTION: Final = 900_000
"""Quads that the engine is given at once: it puts a million into effect together. On disk 0.2 kB each, for the one that is loaded and the next."""
_FIRST: Final = 100_000
"""Quads that it is given first; the next portion has twice as many."""
_BUFFER: Final = 1 << 20
"""Bytes that are written at once."""
_LARGE: Final = 1 << 32
"""Bytes of tables from which on the engine compresses all that it merges; those of fewer would come out larger than they were loaded."""
_ROWS: Final = 20_000
"""Rows that the catalogue is given at once."""
_STEP: Final = 200_000
"""Rows of one of the catalogue's transactions."""
_CACHE: Final = -65_536
"""Memory for sorting, as SQLite takes it: kB, negative."""

_TABLES: Final = """
CREATE TEMP TABLE loaded_event (
    sequence INTEGER PRIMARY KEY, origin INTEGER, token INTEGER, act INTEGER, about INTEGER, actor INTEGER, at INTEGER, audience INTEGER,
    since INTEGER, digest INTEGER);
CREATE TEMP TABLE loaded_identifier (
    n INTEGER PRIMARY KEY, hash INTEGER, iri TEXT, namespace INTEGER, owner INTEGER, stage INTEGER, audience INTEGER, created INTEGER,
    fixated INTEGER);
"""
_PUBLICATION: Final = (
    "CREATE TEMP TABLE loaded_publication AS SELECT sequence AS place, ? + row_number() OVER (ORDER BY since, sequence) AS number"
    " FROM loaded_event WHERE since IS NOT NULL"
)
_EVENTS: Final = (
    "INSERT INTO event (sequence, origin, token, act, about, actor, at, audience, publication, digest)"
    " SELECT sequence, origin, token, act, about, actor, at, audience, number, digest FROM loaded_event"
    " LEFT JOIN loaded_publication ON place = sequence WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
)
_IDENTIFIERS: Final = (
    "INSERT INTO identifier (n, hash, iri, namespace, owner, stage, audience, created, fixated)"
    " SELECT n, hash, iri, namespace, owner, stage, audience, created, fixated FROM loaded_identifier WHERE n > ? AND n <= ? ORDER BY n"
)
_TALLIES: Final = (
    "INSERT INTO tally (audience, namespace, owner, stage, count) SELECT audience, namespace, owner, stage, COUNT(*) FROM loaded_identifier"
    " WHERE true GROUP BY 1, 2, 3, 4 ON CONFLICT DO UPDATE SET count = count + excluded.count"
)
_DAYS: Final = (
    f"INSERT INTO daily (audience, day, namespace, count) SELECT audience, created / {times.DAY}, namespace, COUNT(*) FROM loaded_identifier"
    " WHERE true GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET count = count + excluded.count"
)


class Loading:
    """Takes histories into a generation; `finish` ends it. Raises OSError or sqlite3.Error: then the generation is of no use.

    Engine and catalogue are filled beside each other: the engine in a thread of its own.
    """

    def __init__(self, generation: Generation) -> None:
        self._engine = _EngineLoading(generation)
        self._catalogue = _CatalogueLoading(generation.catalogue)

    def take(self, history: History) -> None:
        """Take a history in, some time before the end."""
        self._engine.take(history.lines())
        self._catalogue.take(history)

    def finish(self, applied: int) -> None:
        """Take in all that was given; ``applied`` is the sequence number of the last event then."""
        self._engine.finish()
        self._catalogue.finish(applied)
        self._engine.settle()

    def stop(self) -> None:
        """Wait for what is under way, whatever comes of it."""
        self._engine.stop()


class _EngineLoading:
    """Quads on their way to the engine, portion by portion, in files: while it loads one, the next is written.

    The first portions are small, so that it begins early; the others are as large as it takes, for it merges what it was given apart.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._before = generation.size
        self._pool = ThreadPoolExecutor(1, "idstore-load")
        self._under_way: list[Future[None]] = []
        self._limit, self._size = _FIRST, 0
        self._file = self._opened()

    def take(self, lines: str) -> None:
        self._file.write(lines)
        self._size += lines.count("\n")
        if self._size >= self._limit:
            self.settle()
            self._hand_over()
            self._file = self._opened()
            self._limit, self._size = min(2 * self._limit, _PORTION), 0

    def _opened(self) -> IO[str]:
        return tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", buffering=_BUFFER, suffix=".nq", dir=self._generation.folder
        )

    def _hand_over(self) -> None:
        """Have the engine load what was taken since the last time, after what was handed over before."""
        self._file.flush()
        self._under_way.append(self._pool.submit(self._carry, self._file))

    def _carry(self, file: IO[str]) -> None:
        with file:
            self._generation.load(Path(file.name))

    def finish(self) -> None:
        """Have the engine load the rest, and merge its tables where there are many and most are new: they take half the room then."""
        self._hand_over()
        self._under_way.append(self._pool.submit(self._merge))

    def _merge(self) -> None:
        size = self._generation.size
        if size >= max(_LARGE, 2 * self._before):
            self._generation.merge()

    def settle(self) -> None:
        """Return when the engine has loaded what was handed over."""
        while self._under_way:
            self._under_way.pop(0).result()

    def stop(self) -> None:
        try:
            self._pool.shutdown()
        except BaseException:  # a second interrupt: nobody is to use that folder while something is still written there
            self._generation.abandon()
            raise
        self._file.close()


class _CatalogueLoading:
    """Rows on their way to the catalogue: kept in any order, and put in sorted."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._db = catalogue._db
        self._db.executescript(_TABLES)
        self._events: list[tuple[int | None, ...]] = []
        self._identifiers: list[tuple[int | str | None, ...]] = []
        self._issued: Counter[tuple[str, str]] = Counter()
        self._highest: Counter[tuple[str, str]] = Counter()

    def take(self, history: History) -> None:
        about = hashed(history.record.iri.value)
        self._events += [self._logged(told, about) for told in history.events]
        entry, catalogue = history.entry, self._catalogue
        if entry.stage in STAGES:
            audience = EVERYONE if entry.audience is None else catalogue.texts.number(entry.audience)
            namespace, owner = catalogue.texts.number(entry.namespace), catalogue.texts.number(entry.owner)
            place = history.events[0].sequence
            row = (place, about, entry.iri, namespace, owner, STAGES.index(entry.stage), audience, entry.created, entry.fixated)
            self._identifiers.append(row)
        base, series, number = history.issued
        self._issued[base, series] += 1
        self._highest[base, series] = max(self._highest[base, series], number)
        if len(self._events) >= _ROWS:
            self._put()

    def _logged(self, told: Told, about: int) -> tuple[int | None, ...]:
        event, term = told.event, self._catalogue.texts.number
        audience = self._catalogue.texts.audience(told.graph.value)
        return (
            told.sequence, term(event.origin), event.token, term(event.act), about, term(event.by), event.at, audience, told.since, digest(event),
        )  # fmt: skip

    def _put(self) -> None:
        with transaction(self._db):
            self._db.executemany("INSERT INTO loaded_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._events)
            self._db.executemany("INSERT INTO loaded_identifier VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._identifiers)
        self._events.clear()
        self._identifiers.clear()

    def finish(self, applied: int) -> None:
        self._put()
        db, catalogue = self._db, self._catalogue
        (usual,) = db.execute("PRAGMA cache_size").fetchone()
        db.execute(f"PRAGMA cache_size = {_CACHE}")
        db.execute(_PUBLICATION.replace("?", str(catalogue.publication)))
        db.execute("CREATE INDEX temp.loaded_place ON loaded_publication (place)")
        with self._unindexed():
            self._copy(_EVENTS, applied)
            self._copy(_IDENTIFIERS, applied)
        (published,) = db.execute("SELECT COUNT(*) FROM loaded_publication").fetchone()
        with transaction(db):
            db.execute(_TALLIES)
            db.execute(_DAYS)
            self._count_labels()
            catalogue.applied, catalogue.publication = applied, catalogue.publication + published
            db.execute("UPDATE meta SET value = ? WHERE key = 'applied'", (catalogue.applied,))
            db.execute("UPDATE meta SET value = ? WHERE key = 'publication'", (catalogue.publication,))
        for table in ("loaded_event", "loaded_identifier", "loaded_publication"):
            db.execute(f"DROP TABLE temp.{table}")
        db.execute(f"PRAGMA cache_size = {usual}")

    def _copy(self, statement: str, last: int) -> None:
        for start in range(0, last, _STEP):
            with transaction(self._db):
                self._db.execute(statement, (start, start + _STEP))

    def _count_labels(self) -> None:
        self._db.executemany(
            "INSERT INTO series (namespace, series, issued, highest) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET issued = issued + excluded.issued, highest = max(highest, excluded.highest)",
            [
                (self._catalogue.texts.number(base), series, many, self._highest[base, series])
                for (base, series), many in self._issued.items()
            ],
        )

    @contextmanager
    def _unindexed(self) -> Iterator[None]:
        """Without the indexes meanwhile, where the load outweighs what is there: to make them anew is much faster then."""
        (more,) = self._db.execute("SELECT COUNT(*) FROM loaded_event").fetchone()
        (there,) = self._db.execute("SELECT COUNT(*) FROM event").fetchone()
        found = []
        if more > there:
            found = self._db.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('event', 'identifier')"
            ).fetchall()
        for name, _ in found:
            self._db.execute(f"DROP INDEX {name}")
        yield
        for _, statement in found:
            self._db.execute(statement)
