"""Base of all questions to the catalogue."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from idstore.errors import StoreDamaged
from idstore.model.listing import EventRow
from idstore.stores.projection.catalogue_rows import EVERYONE, META
from idstore.stores.sqlite_files import reading
from idstore.vocabulary import PUBLIC_LOG

EVENT_ROWS: Final = (
    "SELECT sequence, o.text, token, audience, g.text, publication FROM event"
    " JOIN term o ON o.id = origin LEFT JOIN term g ON g.id = audience WHERE "
)
"""Start of a statement whose rows `event_row` reads."""


class CatalogueConnection:
    """A reading connection to the catalogue at ``path``."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._db = database
        self._path = path

    @reading
    def meta(self) -> dict[str, int]:
        """Return the catalogue's progress, see `META`. Raises StoreDamaged: it is missing."""
        meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        if not all(isinstance(meta.get(key), int) for key in META):
            raise StoreDamaged(
                f"the store is damaged: {self._path} lacks its mark or its event numbers;"
                " keep its files, and restore a backup",
                path=str(self._path),
            )
        return meta

    @property
    def mark(self) -> int:
        """Number of the last journal row applied to the catalogue."""
        return self.meta()["mark"]

    @property
    def sequence(self) -> int:
        """Sequence number of the last event, 0 if there is none."""
        return self.meta()["sequence"]

    @property
    def publication(self) -> int:
        """Last publication number in the public feed, 0 if there is none."""
        return self.meta()["publication"]

    def _number(self, text: str) -> int | None:
        """Return the number of a text, None if no row has it."""
        try:
            row = self._db.execute("SELECT id FROM term WHERE text = ?", (text,)).fetchone()
        except UnicodeEncodeError:  # an argument that is not UTF-8: no row has such a text
            return None
        return row[0] if row else None

    def _audiences(self, audiences: Iterable[str]) -> list[int]:
        """Return the numbers of the audiences, and of everyone."""
        return [
            EVERYONE,
            *(number for graph in sorted(audiences) if (number := self._number(graph)) is not None),
        ]


def event_row(row: tuple[int, str, int, int, str | None, int | None]) -> EventRow:
    """Convert a row of `EVENT_ROWS`."""
    sequence, origin, token, audience, graph, publication = row
    return EventRow(sequence, origin, token, PUBLIC_LOG.value if audience == EVERYONE else graph, publication)
