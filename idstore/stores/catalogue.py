"""The catalogue: what lists, pages, counts and the order of events are answered from, so that nothing ever scans.

A SQLite file beside the engine, a projection of the log like the engine itself; `Catalogue.apply` is its only way to change. Every
row says which audience may see it: 0 for everyone, else the number of an access-list or closed-log graph. Counts are kept per
audience, so that no number moves when somebody else drafts.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from heapq import merge
from itertools import islice
from pathlib import Path

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.frozen import dataclass
from idstore.model.terms import hashed
from idstore.stores.auditing import Auditing
from idstore.stores.founding import sync_folder
from idstore.stores.intake import Intake
from idstore.stores.prepared import Prepared
from idstore.stores.rows import EVERYONE, STAGES, EventRow, Texts
from idstore.stores.sqlite import connect, iterating, reading, transaction
from idstore.stores.telling import remedy, unnumbered
from idstore.vocabulary import PUBLIC_LOG, event_name

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE identifier (
    n INTEGER PRIMARY KEY, hash INTEGER NOT NULL, iri TEXT NOT NULL, namespace INTEGER NOT NULL, owner INTEGER NOT NULL,
    stage INTEGER NOT NULL, audience INTEGER NOT NULL, created INTEGER NOT NULL, fixated INTEGER);
CREATE INDEX identifier_hash ON identifier (hash);
CREATE INDEX identifier_created ON identifier (audience, created);
CREATE INDEX identifier_owner ON identifier (audience, owner, created);
CREATE INDEX identifier_namespace ON identifier (audience, namespace, created);
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY, origin INTEGER NOT NULL, token INTEGER NOT NULL, act INTEGER NOT NULL, about INTEGER NOT NULL,
    actor INTEGER NOT NULL, at INTEGER NOT NULL, audience INTEGER NOT NULL, publication INTEGER, digest INTEGER NOT NULL);
CREATE UNIQUE INDEX event_name ON event (token, origin);
CREATE INDEX event_about ON event (about);
CREATE INDEX event_actor ON event (actor, sequence);
CREATE INDEX event_audience ON event (audience, sequence);
CREATE UNIQUE INDEX event_publication ON event (publication) WHERE publication IS NOT NULL;
CREATE TABLE tally (
    audience INTEGER, namespace INTEGER, owner INTEGER, stage INTEGER, count INTEGER NOT NULL,
    PRIMARY KEY (audience, namespace, owner, stage)) WITHOUT ROWID;
CREATE TABLE daily (
    audience INTEGER, day INTEGER, namespace INTEGER, count INTEGER NOT NULL, PRIMARY KEY (audience, day, namespace)) WITHOUT ROWID;
CREATE TABLE series (
    namespace INTEGER, series TEXT, issued INTEGER NOT NULL, highest INTEGER NOT NULL, PRIMARY KEY (namespace, series)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which identifiers or events to list; what is None does not restrict.

    audiences  graphs whose private rows are seen; None sees all (an administrator). Public rows are always seen.
    since, until  milliseconds since 1970; until is exclusive.
    """

    audiences: frozenset[str] | None = frozenset()
    namespace: str | None = None
    owner: str | None = None
    stage: str | None = None
    since: int | None = None
    until: int | None = None


def _within(moment: str, chosen: Selection) -> tuple[list[str], list[object]]:
    """The condition for the time."""
    limits = {f"{moment} >= ?": chosen.since, f"{moment} < ?": chosen.until}
    kept = {condition: limit for condition, limit in limits.items() if limit is not None}
    return list(kept), [*kept.values()]


class Catalogue(Auditing):
    """The catalogue of one generation. Its owner holds a lock."""

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._path = path
        with ExitStack() as opened:
            try:
                self._db = opened.enter_context(closing(connect(path, create=create, read_only=read_only)))
                if create:
                    self._create()
                if not read_only:
                    self._db.execute("PRAGMA synchronous=NORMAL")
                meta = dict(self._db.execute("SELECT key, value FROM meta"))
            except StoreUnavailable:
                raise
            except (OSError, sqlite3.Error) as error:
                raise StoreUnavailable(
                    f"the catalogue {unnumbered(path)} cannot be opened: {error}; {remedy(error)}", path=unnumbered(path)
                ) from error
            if not all(isinstance(meta.get(key), int) for key in ("applied", "publication")):
                raise StoreDamaged(
                    f"the store is damaged: {path} does not say how far it has come; keep its files, and restore a backup", path=str(path)
                )
            opened.pop_all()
        self.texts = Texts(self._db)
        self.applied: int = meta["applied"]
        self.publication: int = meta["publication"]

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(f"BEGIN;{_SCHEMA}INSERT INTO meta VALUES ('applied', 0), ('publication', 0);COMMIT;")

    # changing

    def apply(self, batch: Iterable[Prepared]) -> None:
        """Take in changes in one transaction. Raises sqlite3.Error: nothing was taken in."""
        db, applied = self._db, self.applied
        taken = Intake(db, self.texts, self.publication)
        try:
            with transaction(db):
                for prepared in batch:
                    taken.take(prepared)
                    applied = prepared.sequence
                taken.finish()
                db.execute("UPDATE meta SET value = ? WHERE key = 'applied'", (applied,))
                db.execute("UPDATE meta SET value = ? WHERE key = 'publication'", (taken.publication,))
        except BaseException:
            self.texts.forget()
            raise
        self.applied, self.publication = applied, taken.publication

    def sync(self) -> None:
        """Bring everything taken in to disk. Raises OSError, sqlite3.Error."""
        log = self._path.with_name(f"{self._path.name}-wal")
        if log.exists():  # synced by ourselves: a checkpoint does nothing while somebody reads
            sync_folder(log)
            sync_folder(log.parent)
        with suppress(sqlite3.OperationalError):
            _, whole, done = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if whole == done:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy(self, path: Path) -> None:
        """A copy in a new file."""
        copy = sqlite3.connect(path)
        try:
            self._db.backup(copy)
        finally:
            copy.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # reading

    def _find(self, text: str) -> int | None:
        try:
            row = self._db.execute("SELECT id FROM term WHERE text = ?", (text,)).fetchone()
        except UnicodeEncodeError:  # no text, such as an argument that is not UTF-8: nothing is called so
            return None
        return row[0] if row else None

    @reading
    def identifiers(self, chosen: Selection, limit: int | None) -> list[str]:
        """IRIs of identifiers, newest first. Cost: the rows given, and the audiences."""
        where, values = _within("created", chosen)
        for column, text in (("namespace", chosen.namespace), ("owner", chosen.owner)):
            if text is not None:
                where.append(f"{column} = ?")
                values.append(self._find(text))
        audiences = self._listing(chosen.audiences)
        if chosen.stage is not None:
            where.append("+stage = ?")
            values.append(STAGES.index(chosen.stage))
            audiences = [one for one in audiences if (one == EVERYONE) is (chosen.stage != STAGES[0])]
        statement = f"SELECT created, n, iri FROM identifier WHERE {' AND '.join(['audience = ?', *where])} ORDER BY created DESC, n DESC"
        newest = merge(*(self._db.execute(statement, [one, *values]) for one in audiences), reverse=True)
        return [iri for _, _, iri in islice(newest, limit)]

    def _listing(self, audiences: frozenset[str] | None) -> list[int]:
        """Numbers of those audiences, and everyone; for None of all that see an identifier."""
        if audiences is not None:
            return self._seen(audiences)
        found = self._db.execute(
            "WITH RECURSIVE seen (one) AS (SELECT min(audience) FROM identifier UNION ALL"
            " SELECT (SELECT min(audience) FROM identifier WHERE audience > one) FROM seen WHERE one IS NOT NULL)"
            " SELECT one FROM seen WHERE one IS NOT NULL"
        )
        return [one for (one,) in found]

    def _seen(self, audiences: frozenset[str]) -> list[int]:
        return [EVERYONE, *(number for graph in sorted(audiences) if (number := self._find(graph)) is not None)]

    @iterating
    def sorted_identifiers(self, *, namespace: str | None = None, audience: str | None = None) -> Iterator[str]:
        """IRIs of identifiers, sorted: of a namespace, if given, those that everyone sees; of an access list, if given, those it alone sees; else all.

        Memory: flat.
        """
        where, values = "1", []
        if namespace is not None:
            where, values = "audience = ? AND namespace = ?", [EVERYONE, self._find(namespace)]
        if audience is not None:
            where, values = "audience = ?", [self._find(audience)]
        for (iri,) in self._db.execute(f"SELECT iri FROM identifier WHERE {where} ORDER BY iri", values):
            yield iri

    @iterating
    def ordered_events(self, graph: str) -> Iterator[str]:
        """IRIs of the events of a log graph by time, origin and token: the order that is the same in every store. Memory: flat."""
        audience = EVERYONE if graph == PUBLIC_LOG.value else self._find(graph)
        found = self._db.execute(
            "SELECT o.text, token FROM event JOIN term o ON o.id = origin WHERE audience = ? ORDER BY at, o.text, token", (audience,)
        )
        for origin, token in found:
            yield event_name(origin, token)

    @reading
    def events(
        self,
        chosen: Selection,
        *,
        about: str | None = None,
        kinds: Collection[str] = (),
        after: int = 0,
        limit: int | None = None,
    ) -> list[EventRow]:
        """Events, oldest first; ``owner`` of the selection is who acted, ``kinds`` are local names (none: all).

        Cost: the rows given, those that are left out by time or kind, and the audiences.
        """
        where, values = _within("at", chosen)
        where.append("sequence > ?")
        values.append(after)
        if kinds:
            where.append(f"act IN ({','.join('?' * len(kinds))})")
            values += [self._find(kind) for kind in kinds]
        seen = None if chosen.audiences is None else self._seen(chosen.audiences)
        if about is None and chosen.owner is None and seen is not None:
            pages = [self._rows(["audience = ?", *where], [one, *values]) for one in seen]
            return list(islice(merge(*pages), limit))
        if chosen.owner is not None:
            where.append("actor = ?")
            values.append(self._find(chosen.owner))
        if about is not None:
            where.append("about = ?")
            values.append(hashed(about))
        if seen is not None:  # not by the index: those about one thing, or by one party, are fewer
            where.append("+audience IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(seen))
        return list(islice(self._rows(where, values), limit))

    @reading
    def published(self, after: int, limit: int) -> list[EventRow]:
        """The public feed after a publication number: no gaps, nothing missed."""
        return list(islice(self._rows(["publication > ?"], [after], "publication"), limit))

    def _rows(self, where: Sequence[str], values: Sequence[object], order: str = "sequence") -> Iterator[EventRow]:
        found = self._db.execute(
            "SELECT sequence, o.text, token, audience, g.text, publication FROM event"
            f" JOIN term o ON o.id = origin LEFT JOIN term g ON g.id = audience WHERE {' AND '.join(where)} ORDER BY {order}",
            values,
        )
        for sequence, origin, token, audience, graph, publication in found:
            yield EventRow(sequence, origin, token, PUBLIC_LOG.value if audience == EVERYONE else graph, publication)

    def _counted(self, audiences: frozenset[str] | None) -> tuple[str, list[int]]:
        """The condition for what an audience sees."""
        seen = [] if audiences is None else self._seen(audiences)
        return (f"audience IN ({','.join('?' * len(seen))})", seen) if seen else ("1", [])

    @reading
    def tallies(self, audiences: frozenset[str] | None) -> list[tuple[str, str, str, int]]:
        """Namespace, owner, stage and count of what an audience sees."""
        where, values = self._counted(audiences)
        found = self._db.execute(
            f"SELECT n.text, o.text, stage, SUM(count) FROM tally JOIN term n ON n.id = namespace JOIN term o ON o.id = owner"
            f" WHERE {where} GROUP BY namespace, owner, stage HAVING SUM(count) > 0 ORDER BY 1, 2, 3",
            values,
        )
        return [(namespace, owner, STAGES[stage], count) for namespace, owner, stage, count in found]

    @reading
    def days(self, audiences: frozenset[str] | None) -> list[tuple[int, str, int]]:
        """Day (since 1970), namespace and count of what an audience sees."""
        where, values = self._counted(audiences)
        found: Iterable[tuple[int, str, int]] = self._db.execute(
            f"SELECT day, n.text, SUM(count) FROM daily JOIN term n ON n.id = namespace"
            f" WHERE {where} GROUP BY day, namespace HAVING SUM(count) > 0 ORDER BY 1, 2",
            values,
        )
        return list(found)

    def _before(self, moment: int, origin: str, actor: str | None = None) -> int:
        """The sequence number of the last event before ``moment`` that happened in the store ``origin``, of a party if one is given; 0 if there is none.

        Only a store's own events rise in time: what it takes in from others comes later and is older. Cost: the events after it.
        """
        where, values = ("actor = ? AND", (self._find(actor),)) if actor is not None else ("", ())
        found: tuple[int] | None = self._db.execute(
            f"SELECT sequence FROM event WHERE {where} +origin = ? AND at < ? ORDER BY sequence DESC LIMIT 1",
            (*values, self._find(origin), moment),
        ).fetchone()
        return found[0] if found else 0

    @reading
    def last(self) -> tuple[int, str] | None:
        """Sequence number and name of the last event; None if there is none."""
        found = self._db.execute(
            "SELECT sequence, token, o.text FROM event NOT INDEXED JOIN term o ON o.id = origin ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        sequence, token, origin = found
        return sequence, event_name(origin, token)

    @reading
    def latest(self) -> int:
        """The time of the latest event, wherever it happened; 0 if there is none. Cost: every event is looked at."""
        found: tuple[int] = self._db.execute("SELECT COALESCE(MAX(at), 0) FROM event").fetchone()
        return found[0]

    @reading
    def allocated(self, actor: str, namespace: str, since: int, limit: int, store: str) -> tuple[int, list[str]]:
        """How many identifiers a party has allocated in a namespace of the store ``store`` since a moment, counted up to ``limit``.

        And, where they are fewer, the events of those that it has allocated anywhere and that are not listed any more.
        """
        found = self._db.execute(
            "SELECT namespace, o.text, token FROM event JOIN term o ON o.id = origin LEFT JOIN identifier ON hash = about"
            " WHERE sequence > ? AND at >= ? AND event.actor = ? AND act IN (?, ?) AND (namespace = ? OR namespace IS NULL)",
            (self._before(since, store, actor), since, *map(self._find, (actor, "Mint", "Registration", namespace))),
        )
        listed, gone = 0, []
        for place, origin, token in found:
            if place is None:
                gone.append(event_name(origin, token))
            else:
                listed += 1
            if listed >= limit:
                return listed, []
        return listed, gone

    @reading
    def has_acted(self, actor: str) -> bool:
        """Whether any event is by that party."""
        return self._db.execute("SELECT 1 FROM event WHERE actor = ? LIMIT 1", (self._find(actor),)).fetchone() is not None

    @reading
    def pace(self, since: int, store: str) -> list[tuple[str, int, int, int]]:
        """Who allocated in the store ``store`` since a moment: party, identifiers, most in one minute, and that minute (milliseconds since 1970); the fastest first."""
        found: Iterable[tuple[str, int, int, int]] = self._db.execute(
            "SELECT t.text, SUM(many), MAX(many), minute * 60000 FROM (SELECT actor, at / 60000 AS minute, COUNT(*) AS many FROM event NOT INDEXED"
            " WHERE sequence > ? AND at >= ? AND act IN (?, ?) GROUP BY 1, 2) JOIN term t ON t.id = actor GROUP BY actor ORDER BY 3 DESC, 1",
            (self._before(since, store), since, self._find("Mint"), self._find("Registration")),
        )
        return list(found)

    @reading
    def series(self, namespace: str) -> dict[str, tuple[int, int]]:
        """How many labels of each series were ever issued, and the highest number."""
        found = self._db.execute("SELECT series, issued, highest FROM series JOIN term ON id = namespace WHERE text = ?", (namespace,))
        return {series: (issued, highest) for series, issued, highest in found}

    @reading
    def counts(self) -> tuple[int, int]:
        """Number of identifiers and of events listed."""
        found: tuple[int, int] = self._db.execute(
            "SELECT (SELECT COALESCE(SUM(count), 0) FROM tally), (SELECT COUNT(*) FROM event)"
        ).fetchone()
        return found
