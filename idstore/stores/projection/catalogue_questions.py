"""Questions to the catalogue: lists, pages, counts and the order of events, answered from indexes.

Every row names the audience that may see it: `EVERYONE`, or the number of an access-list or closed-log graph.
Counts are kept per audience, so that a count never reveals a private identifier.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final

from idstore.model.event import split
from idstore.model.listing import STAGES, EventRow, Selection
from idstore.model.terms import hashed
from idstore.stores.projection.catalogue_activity import ActivityQuestions
from idstore.stores.projection.catalogue_audit import AuditQuestions
from idstore.stores.projection.catalogue_base import EVENT_ROWS, event_row
from idstore.stores.projection.catalogue_rows import EVERYONE
from idstore.stores.sqlite_files import iterating, reading
from idstore.vocabulary import PUBLIC_LOG, event_name

_DRAFT = STAGES.index("created")
_LAST: Final = 2**63 - 1
"""The largest number of a row."""


def _time_conditions(moment: str, selection: Selection) -> tuple[list[str], list[object]]:
    limits = {f"{moment} >= ?": selection.since, f"{moment} < ?": selection.until}
    conditions = {condition: limit for condition, limit in limits.items() if limit is not None}
    return list(conditions), [*conditions.values()]


class Questions(AuditQuestions, ActivityQuestions):
    """See `idstore.stores.contract.Catalogue`. Answers reflect the connection's state."""

    # identifiers

    @reading
    def identifiers(
        self, selection: Selection, limit: int | None, after: tuple[int, str] | None = None
    ) -> list[str]:
        """Return IRIs of identifiers, newest first: see `idstore.stores.contract.Catalogue.identifiers`."""
        where, values = _time_conditions("created", selection)
        for column, text in (("namespace", selection.namespace), ("owner", selection.owner)):
            if text is not None:
                where.append(f"{column} = ?")
                values.append(self._number(text))
        audiences = (
            self._listing_audiences() if selection.audiences is None else self._audiences(selection.audiences)
        )
        if selection.stage is not None:
            stage = STAGES.index(selection.stage)
            where.append("+stage = ?")
            values.append(stage)
            audiences = [audience for audience in audiences if (audience == EVERYONE) is (stage != _DRAFT)]
        if after is not None:
            where.append("created <= ? AND (created < ? OR n < ?)")
            values += [after[0], after[0], self._place(after[1], audiences)]
        conditions = " AND ".join(["audience = ?", *where])
        statement = f"SELECT created, n, iri FROM identifier WHERE {conditions} ORDER BY created DESC, n DESC"
        newest = self._merged(
            [(statement, [audience, *values]) for audience in audiences], limit, reverse=True
        )
        return [iri for _, _, iri in newest]

    def _place(self, iri: str, audiences: Collection[int]) -> int:
        """Return the number of an identifier that one of the audiences sees, else one after all numbers."""
        row = self._db.execute(
            "SELECT n, audience FROM identifier WHERE hash = ? AND iri = ?", (hashed(iri), iri)
        ).fetchone()
        return row[0] if row is not None and row[1] in audiences else _LAST

    def _listing_audiences(self) -> list[int]:
        """Return every audience that sees an identifier. Cost: one look-up for each."""
        rows = self._db.execute(
            "WITH RECURSIVE seen (one) AS (SELECT min(audience) FROM identifier UNION ALL"
            " SELECT (SELECT min(audience) FROM identifier WHERE audience > one)"
            " FROM seen WHERE one IS NOT NULL) SELECT one FROM seen WHERE one IS NOT NULL"
        )
        return [audience for (audience,) in rows]

    def _merged(
        self, queries: Sequence[tuple[str, Sequence[object]]], limit: int | None, *, reverse: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return the rows of several sorted queries, in order, up to a limit.

        All cursors are closed, since an open one would keep the connection at its state.
        """
        cursors = [self._db.execute(statement, values) for statement, values in queries]
        try:
            return list(islice(merge(*cursors, reverse=reverse), limit))
        finally:
            for cursor in cursors:
                cursor.close()

    @iterating
    def sorted_identifiers(
        self, *, namespace: str | None = None, audience: str | None = None
    ) -> Iterator[str]:
        """Yield IRIs of identifiers in ascending order. Memory: constant.

        With ``namespace``: the public ones of that namespace. With ``audience``: the private ones of that
        access list. With neither: all.
        """
        where, values = "1", []
        if namespace is not None:
            where, values = "audience = ? AND namespace = ?", [EVERYONE, self._number(namespace)]
        if audience is not None:
            where, values = "audience = ?", [self._number(audience)]
        for (iri,) in self._db.execute(f"SELECT iri FROM identifier WHERE {where} ORDER BY iri", values):
            yield iri

    @reading
    def targeting(self, sketches: Collection[str], audiences: frozenset[str] | None) -> list[str]:
        """Return IRIs of identifiers that a visible event led or bound to a target of these sketches.

        Cost: grows with the visible events.
        """
        values: list[object] = [hashed(sketch) for sketch in sorted(sketches)]
        where = f"target IN ({','.join('?' * len(values))})"
        if audiences is not None:
            where += " AND event.audience IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(self._audiences(audiences)))
        rows = self._db.execute(
            f"SELECT DISTINCT iri FROM event JOIN identifier ON hash = about WHERE {where} ORDER BY iri",
            values,
        ).fetchall()
        return [iri for (iri,) in rows]

    # events

    @reading
    def events(
        self,
        selection: Selection,
        *,
        about: str | None = None,
        kinds: Collection[str] = (),
        after: int = 0,
        limit: int | None = None,
    ) -> list[EventRow]:
        """Return events after a sequence number, oldest first.

        The selection's ``owner`` is the acting party. ``kinds`` are local names; none means all kinds.
        Cost: grows with the rows returned, the rows that time or kind exclude, and the audiences.
        """
        where, values = _time_conditions("at", selection)
        where.append("sequence > ?")
        values.append(after)
        if kinds:
            where.append(f"act IN ({','.join('?' * len(kinds))})")
            values += [self._number(kind) for kind in kinds]
        audiences = None if selection.audiences is None else self._audiences(selection.audiences)
        if about is None and selection.owner is None and audiences is not None:
            return self._event_rows(
                [(["audience = ?", *where], [audience, *values]) for audience in audiences], limit
            )
        if selection.owner is not None:
            where.append("actor = ?")
            values.append(self._number(selection.owner))
        if about is not None:
            where.append("about = ?")
            values.append(hashed(about))
        # not by the index of audiences: events about one subject or by one party are fewer
        if audiences is not None:
            where.append("+audience IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(audiences))
        return self._event_rows([(where, values)], limit)

    @reading
    def published(self, after: int, limit: int) -> list[EventRow]:
        """Return the public feed after a publication number, without gaps."""
        return self._event_rows([(["publication > ?"], [after])], limit, "publication")

    def _event_rows(
        self,
        queries: Sequence[tuple[Sequence[str], Sequence[object]]],
        limit: int | None,
        order: str = "sequence",
    ) -> list[EventRow]:
        """Return event rows that meet any of several conditions, merged."""
        statements = [
            (f"{EVENT_ROWS}{' AND '.join(where)} ORDER BY {order}", values) for where, values in queries
        ]
        return [event_row(row) for row in self._merged(statements, limit)]

    @iterating
    def ordered_events(self, graph: str) -> Iterator[str]:
        """Yield IRIs of the events of a log graph by time, origin and token: the same order in every store.

        Memory: constant.
        """
        audience = EVERYONE if graph == PUBLIC_LOG.value else self._number(graph)
        rows = self._db.execute(
            "SELECT o.text, token FROM event JOIN term o ON o.id = origin WHERE audience = ? ORDER BY at,"
            " o.text, token",
            (audience,),
        )
        for origin, token in rows:
            yield event_name(origin, token)

    def knows(self, event: str) -> bool:
        """Whether the store holds an event. Raises ValueError: the text is not the IRI of an event."""
        return self.place_of(event) is not None

    @reading
    def place_of(self, event: str) -> int | None:
        """Return the sequence number of an event, None if the store lacks it.

        Raises ValueError: not the IRI of an event.
        """
        origin, token = split(event)
        row = self._db.execute(
            "SELECT sequence FROM event JOIN term ON id = origin WHERE text = ? AND token = ?",
            (origin, token),
        ).fetchone()
        return None if row is None else int(row[0])

    @reading
    def mentions(self, about: str) -> bool:
        """Whether any event is about an IRI. False positives are possible, false negatives are not.

        Cost: one look-up.
        """
        return (
            self._db.execute("SELECT 1 FROM event WHERE about = ? LIMIT 1", (hashed(about),)).fetchone()
            is not None
        )

    @reading
    def last_event(self) -> tuple[int, str] | None:
        """Return sequence number and IRI of the last event, None if there is none."""
        row = self._db.execute(
            "SELECT sequence, token, o.text FROM event NOT INDEXED JOIN term o ON o.id = origin ORDER BY"
            " sequence DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        sequence, token, origin = row
        return sequence, event_name(origin, token)

    # counts

    def _counter_condition(self, audiences: frozenset[str] | None) -> tuple[str, list[int]]:
        seen = [] if audiences is None else self._audiences(audiences)
        return (f"audience IN ({','.join('?' * len(seen))})", seen) if seen else ("1", [])

    @reading
    def tallies(self, audiences: frozenset[str] | None) -> list[tuple[str, str, str, int]]:
        """Return namespace, owner, stage and count of the identifiers that the audiences see."""
        where, values = self._counter_condition(audiences)
        rows = self._db.execute(
            "SELECT n.text, o.text, stage, SUM(count) FROM tally"
            " JOIN term n ON n.id = namespace JOIN term o ON o.id = owner"
            f" WHERE {where} GROUP BY namespace, owner, stage HAVING SUM(count) > 0 ORDER BY 1, 2, 3",
            values,
        ).fetchall()
        return [(namespace, owner, STAGES[stage], count) for namespace, owner, stage, count in rows]

    @reading
    def days(self, audiences: frozenset[str] | None) -> list[tuple[int, str, int]]:
        """Return day (since 1970), namespace and count of the identifiers that the audiences see."""
        where, values = self._counter_condition(audiences)
        return self._db.execute(
            f"SELECT day, n.text, SUM(count) FROM daily JOIN term n ON n.id = namespace"
            f" WHERE {where} GROUP BY day, namespace HAVING SUM(count) > 0 ORDER BY 1, 2",
            values,
        ).fetchall()

    @reading
    def counts(self) -> tuple[int, int]:
        """Return the number of identifiers and the number of events."""
        counts: tuple[int, int] = self._db.execute(
            "SELECT (SELECT COALESCE(SUM(count), 0) FROM tally), (SELECT COUNT(*) FROM event)"
        ).fetchone()
        return counts

    @reading
    def series(self, namespace: str) -> dict[str, tuple[int, int]]:
        """Return, for each series of a namespace, the number of labels ever issued and the highest number."""
        rows = self._db.execute(
            "SELECT series, issued, highest FROM series JOIN term ON id = namespace WHERE text = ?",
            (namespace,),
        ).fetchall()
        return {series: (issued, highest) for series, issued, highest in rows}

    @reading
    def note(self, name: str) -> str | None:
        """Return the text of a note."""
        row = self._db.execute("SELECT text FROM note WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])
