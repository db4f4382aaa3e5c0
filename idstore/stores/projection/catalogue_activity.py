"""Questions to the catalogue about parties: how much and how fast they allocate."""

from idstore.stores.projection.catalogue_base import CatalogueConnection
from idstore.stores.sqlite_files import reading
from idstore.vocabulary import event_name


class ActivityQuestions(CatalogueConnection):
    """The activity of parties."""

    def _last_before(self, moment: int, origin: str, actor: str | None = None) -> int:
        """Return the sequence number of the last event before ``moment`` in ``origin``, a store; 0 if none.

        actor  consider only events by that party.
        Only a store's own events are ordered by time: imported events are older than their sequence numbers
        suggest.
        Cost: the events after it.
        """
        where, values = ("actor = ? AND", (self._number(actor),)) if actor is not None else ("", ())
        row: tuple[int] | None = self._db.execute(
            f"SELECT sequence FROM event WHERE {where} +origin = ? AND at < ? ORDER BY sequence DESC LIMIT 1",
            (*values, self._number(origin), moment),
        ).fetchone()
        return row[0] if row else 0

    @reading
    def allocated(
        self, actor: str, namespace: str, since: int, limit: int, store: str
    ) -> tuple[int, list[str]]:
        """Count a party's allocations in a namespace of ``store`` since a moment, up to ``limit``.

        If the count is below ``limit``, also return the party's allocation events, in any namespace, whose
        identifiers are no longer listed.
        """
        rows = self._db.execute(
            "SELECT namespace, o.text, token FROM event JOIN term o ON o.id = origin"
            " LEFT JOIN identifier ON hash = about"
            " WHERE sequence > ? AND at >= ? AND event.actor = ? AND act IN (?, ?)"
            " AND (namespace = ? OR namespace IS NULL)",
            (
                self._last_before(since, store, actor),
                since,
                *map(self._number, (actor, "Mint", "Registration", namespace)),
            ),
        )
        listed, unlisted = 0, []
        for base, origin, token in rows:
            if base is None:
                unlisted.append(event_name(origin, token))
            else:
                listed += 1
            if listed >= limit:
                rows.close()
                return listed, []
        return listed, unlisted

    @reading
    def has_acted(self, actor: str) -> bool:
        """Whether the party has caused any event."""
        return (
            self._db.execute("SELECT 1 FROM event WHERE actor = ? LIMIT 1", (self._number(actor),)).fetchone()
            is not None
        )

    @reading
    def pace(self, since: int, store: str) -> list[tuple[str, int, int, int]]:
        """Return the parties that allocated in ``store`` since a moment, the fastest first.

        For each: party, identifiers, most identifiers in one minute, and that minute (milliseconds since
        1970).
        """
        return self._db.execute(
            "SELECT t.text, SUM(many), MAX(many), minute * 60000 FROM (SELECT actor, at / 60000 AS minute,"
            " COUNT(*) AS many FROM event NOT INDEXED"
            " WHERE sequence > ? AND at >= ? AND act IN (?, ?) GROUP BY 1, 2) JOIN term t ON t.id = actor"
            " GROUP BY actor ORDER BY 3 DESC, 1",
            (self._last_before(since, store), since, self._number("Mint"), self._number("Registration")),
        ).fetchall()
