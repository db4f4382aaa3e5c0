"""The catalogue's part of `verify`: comparison with the log, and recounting."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from idstore.model import times
from idstore.model.listing import STAGES, EventDetails, EventRow, Listing, Series
from idstore.model.terms import hashed
from idstore.stores.projection.catalogue_base import CatalogueConnection
from idstore.stores.projection.catalogue_rows import EVERYONE
from idstore.stores.sqlite_files import iterating, reading
from idstore.vocabulary import PUBLIC_LOG

_COUNTERS: Final = {"tally": "audience, namespace, owner, stage", "daily": "audience, day, namespace"}
"""Key columns of each counter table."""
_COLUMNS: Final = {
    "tally": "audience, namespace, owner, stage",
    "daily": f"audience, created / {times.DAY}, namespace",
}
"""The same keys, computed from the columns of ``identifier``."""
_GROUPS: Final = {"tally": "1, 2, 3, 4", "daily": "1, 2, 3"}


class AuditQuestions(CatalogueConnection):
    """The questions of `verify`."""

    @iterating
    def details(self) -> Iterator[EventDetails]:
        """Yield every event, in order. Memory: constant."""
        rows = self._db.execute(
            "SELECT sequence, COALESCE(o.text, ''), token, audience, g.text, publication, a.text, about,"
            " b.text, at, digest, target FROM event"
            " LEFT JOIN term o ON o.id = origin LEFT JOIN term g ON g.id = audience"
            " LEFT JOIN term a ON a.id = act LEFT JOIN term b ON b.id = actor ORDER BY sequence"
        )
        for (
            sequence,
            origin,
            token,
            audience,
            graph,
            publication,
            act,
            about,
            actor,
            at,
            digest,
            target,
        ) in rows:
            log_graph = PUBLIC_LOG.value if audience == EVERYONE else graph
            yield EventDetails(
                EventRow(sequence, origin, token, log_graph, publication),
                act,
                about,
                actor,
                at,
                digest,
                target,
            )

    @iterating
    def faults(self) -> Iterator[str]:
        """Yield the faults of the file."""
        for (message,) in self._db.execute("PRAGMA integrity_check"):
            if message != "ok":
                yield f"{self._path}: {message}"

    @reading
    def listed(self, iri: str) -> Listing | None:
        """Return the listing of an identifier."""
        row = self._db.execute(
            "SELECT n.text, o.text, stage, audience, a.text, created, fixated FROM identifier"
            " JOIN term n ON n.id = namespace JOIN term o ON o.id = owner"
            " LEFT JOIN term a ON a.id = audience WHERE hash = ? AND iri = ?",
            (hashed(iri), iri),
        ).fetchone()
        if row is None:
            return None
        namespace, owner, stage, audience, graph, created, fixated = row
        return Listing(
            iri,
            namespace,
            owner,
            STAGES[stage],
            None if audience == EVERYONE else graph,
            created,
            fixated,
            new=False,
        )

    @iterating
    def listings(self) -> Iterator[tuple[str, int]]:
        """Yield every listed identifier and the number of its listings. Memory: constant."""
        yield from self._db.execute("SELECT iri, COUNT(*) FROM identifier GROUP BY iri")

    # counters

    @iterating
    def miscounts(
        self, issued: Mapping[Series, int], highest: Mapping[Series, int]
    ) -> Iterator[tuple[str, str]]:
        """Yield counters that differ from the listings or the issued labels, each with the reason."""
        for table, keys in _COUNTERS.items():
            rows = self._db.execute(
                f"SELECT {keys}, SUM(counted), SUM(kept) FROM (SELECT {keys}, count AS kept, 0 AS counted"
                f" FROM {table} UNION ALL"
                f" SELECT {_COLUMNS[table]}, 0, COUNT(*) FROM identifier GROUP BY {_GROUPS[table]})"
                f" GROUP BY {keys} HAVING SUM(counted) <> SUM(kept)"
            )
            for *key, counted, kept in rows:
                words = ", ".join(
                    self._words(name, value) for name, value in zip(keys.split(", "), key, strict=True)
                )
                yield f"{table} of {words}", f"says {kept}, and there are {counted}"
        kept_series = self._kept_series()
        for base, series in sorted(kept_series.keys() | issued.keys()):
            expected = issued.get((base, series), 0), highest.get((base, series), 0)
            stored = kept_series.get((base, series), (0, 0))
            if expected != stored:
                yield (
                    f"series {series!r} of {base}",
                    (
                        f"says {stored[0]} issued, highest {stored[1]},"
                        f" and there are {expected[0]}, highest {expected[1]}"
                    ),
                )

    def _kept_series(self) -> dict[Series, tuple[int, int]]:
        rows = self._db.execute(
            "SELECT COALESCE(text, '?'), series, issued, highest FROM series LEFT JOIN term ON id = namespace"
        )
        return {(base, series): (count, top) for base, series, count, top in rows}

    def _words(self, column: str, value: int) -> str:
        """Return a key of a counter in words."""
        if column == "stage":
            return STAGES[value] if value in range(len(STAGES)) else f"stage {value}"
        if column == "day":
            return times.day_text(value)
        if column == "audience" and value == EVERYONE:
            return "everyone"
        row = self._db.execute("SELECT text FROM term WHERE id = ?", (value,)).fetchone()
        return str(row[0]) if row else f"{column} {value}"


def recount(
    database: sqlite3.Connection, issued: Mapping[Series, int], highest: Mapping[Series, int]
) -> None:
    """Recount the listings, and adopt the numbers of issued labels, in the open transaction.

    Raises sqlite3.Error.
    """
    for table, columns in _COLUMNS.items():
        database.execute(f"DELETE FROM {table}")
        database.execute(
            f"INSERT INTO {table} SELECT {columns}, COUNT(*) FROM identifier GROUP BY {_GROUPS[table]}"
        )
    database.execute("DELETE FROM series")
    database.executemany(
        "INSERT INTO series SELECT id, ?, ?, ? FROM term WHERE text = ?",
        [(series, count, highest[base, series], base) for (base, series), count in issued.items()],
    )
