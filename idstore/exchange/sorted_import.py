"""The triples of files to import, sorted on disk: events by time, other triples by the identifier described.

Files that `export` wrote keep the triples of an event, and those of a binding, together: one pass reads them.
In other files these triples may be scattered: then a scratch engine groups them by subject first.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Final, Self, TypeAlias

from pyoxigraph import RdfFormat, parse

from idstore.errors import ExchangeError
from idstore.exchange import patch
from idstore.exchange.effects import LISTED, SELECTIONS, Effect, EventSelection
from idstore.exchange.event_rows import ABOUT, event_of, row_of, subject_groups
from idstore.exchange.rdf_parser import HIDDEN, hidden_marked, ntriples, ntriples_batches
from idstore.exchange.scratch_engine import ScratchEngine
from idstore.model.event import Event
from idstore.progress import Progress
from idstore.vocabulary import ARGUMENTS, IDS, RDF, event_name

_SCHEMA: Final = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-65536;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, key TEXT, at INTEGER, origin TEXT, token INTEGER, kind TEXT, by TEXT,
    arguments TEXT, general INTEGER, hidden INTEGER, request TEXT);
CREATE TABLE state (key TEXT, triples TEXT);
CREATE TABLE subject (hash INTEGER, whole INTEGER);
CREATE TABLE place (id INTEGER PRIMARY KEY, number INTEGER, single INTEGER);
CREATE TABLE left_out (id INTEGER PRIMARY KEY);
CREATE VIEW coming AS SELECT * FROM event WHERE id NOT IN (SELECT id FROM left_out);
CREATE TABLE claim (hash INTEGER, claimed TEXT, number INTEGER, key TEXT);
BEGIN;
"""
"""One transaction that never commits: no other connection reads this scratch database."""
_HAS_PROPERTY: Final = "instr(char(10) || arguments, char(10) || ? || ' ')"
_HAS_VALUE: Final = "instr(arguments || char(10), ' <' || ? || '>' || char(10))"
"""Conditions of events: an argument for a property, or with an IRI; each is a line of ``arguments``."""
_ROWS: Final = 20_000
"""Rows in one batch of inserts."""
_OF_RECORDS: Final = frozenset(map(str, ARGUMENTS))
_SUBJECT, _VALUE_OF, _PARTIAL, _HIDDEN = str(RDF.subject), str(IDS.valueOf), str(IDS.partial), str(HIDDEN)

ImportFile: TypeAlias = tuple[Path, RdfFormat | None, str]
"""A path, its format (None for an RDF patch), and the name of the format."""


@dataclass(frozen=True, slots=True)
class EventGroup:
    """The events and other triples of one identifier.

    key     its IRI.
    events  its events to be loaded in bulk, with their numbers, in order.
    state   other triples of the identifier and of its bindings, as N-Triples.
    """

    key: str
    events: tuple[tuple[int, Event], ...]
    state: tuple[str, ...]


class SortedImport:
    """The files, read and sorted in a scratch database in ``folder``.

    whole  whether the files are a complete export: none of them says that it is partial.
    Raises ExchangeError (malformed, an incomplete event). Memory: flat.
    """

    def __init__(self, files: Sequence[ImportFile], folder: Path, progress: Progress) -> None:
        self.whole = True
        self._source = ", ".join(str(path) for path, *_ in files)
        self._claims: list[tuple[int, str, int, str]] = []
        with ExitStack() as opened:
            self._db = opened.enter_context(
                closing(sqlite3.connect(folder / "sorted.sqlite", isolation_level=None))
            )
            self._db.executescript(_SCHEMA)
            if not self._fill_from(files, progress):
                self._db.executescript("DELETE FROM event; DELETE FROM state; BEGIN")
                engine = ScratchEngine(folder / "engine")
                patches = patch.Patches()
                for file in files:
                    _gather(engine, file, patches, progress)
                with closing(engine.triples()) as triples:
                    self._fill(ntriples(triples), last=True)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    # reading in

    def __len__(self) -> int:
        """Return the number of events in the files, those left out included."""
        row: tuple[int] = self._db.execute("SELECT IFNULL(MAX(id), 0) FROM event").fetchone()
        return row[0]

    def _fill_from(self, files: Sequence[ImportFile], progress: Progress) -> bool:
        """Read the files in one pass.

        Return False if a patch, or scattered triples, need the scratch engine.
        """
        plain = [(path, format, name) for path, format, name in files if format is not None]
        with closing(ntriples_batches(plain, progress)) as batches:
            return len(plain) == len(files) and self._fill(batches)

    def _fill(self, batches: Iterable[bytes], *, last: bool = False) -> bool:
        """Store the triples of each subject.

        Return False if the triples of one event or binding are scattered.
        """
        events: list[tuple[object, ...]] = []
        state: list[tuple[str, str]] = []
        subjects: list[tuple[int, bool]] = []
        for subject, pairs in subject_groups(batches):
            values = dict(pairs)
            hidden = values.pop(_HIDDEN, None) is not None
            if hidden:
                pairs = [pair for pair in pairs if pair[0] != _HIDDEN]  # noqa: PLW2901 no part of the file
            rest = pairs
            owner = values.get(_SUBJECT) or values.get(_VALUE_OF)  # of a binding, or of a handle's value
            whole = ABOUT in values or owner is not None
            subjects.append((hash(subject), whole))
            if values.pop(_PARTIAL, None) is not None:
                self.whole = False
                rest = [pair for pair in rest if pair[0] != _PARTIAL]
            if ABOUT in values:
                self._check_terms(subject, values)
                row, rest = row_of(subject, pairs, values)
                if row is None and not last:
                    return False
                if row is None:
                    reason = (
                        f"{subject} is not a whole event: its kind, party or time is missing or malformed"
                    )
                    raise ExchangeError(self._source, None, reason)
                events.append((*row, hidden))
            if rest:
                state.append(
                    (
                        (owner or subject)[1:-1],
                        "\n".join([f"{subject} {name} {value}" for name, value in rest]),
                    )
                )
            if len(subjects) >= _ROWS:
                self._put(events, state, subjects)
        self._put(events, state, subjects)
        scattered = self._db.execute(
            "SELECT 1 FROM subject GROUP BY hash HAVING COUNT(*) > 1 AND MAX(whole) LIMIT 1"
        ).fetchone()
        self._db.execute("DELETE FROM subject")
        return scattered is None or last

    def _check_terms(self, subject: str, values: Iterable[str]) -> None:
        """Raise ExchangeError if an event has a property of records in the place of an argument's term."""
        odd = next((name for name in values if name in _OF_RECORDS), None)
        if odd is not None:
            raise ExchangeError(
                self._source,
                None,
                f"{subject} is an event with {odd}, a property of records; exports of development versions of"
                " idstore had those, and cannot be imported: export tables there, and import these",
            )

    def _put(
        self, events: list[tuple[object, ...]], state: list[tuple[str, str]], subjects: list[tuple[int, bool]]
    ) -> None:
        insert = self._db.executemany
        insert(
            "INSERT INTO event (key, at, origin, token, kind, by, arguments, general, request, hidden)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            events,
        )
        insert("INSERT INTO state VALUES (?, ?)", state)
        insert("INSERT INTO subject VALUES (?, ?)", subjects)
        for rows in (events, state, subjects):
            rows.clear()

    # events that are left out

    def things(self, homes: Collection[str] = ()) -> Iterator[str]:
        """Yield the IRIs that the events are about, in order.

        homes  origins whose events do not count.
        """
        self._db.execute("CREATE INDEX IF NOT EXISTS event_key ON event (key)")
        origins = json.dumps([*homes])
        rows = self._db.execute(
            "SELECT DISTINCT key FROM event WHERE origin NOT IN (SELECT value FROM json_each(?))"
            " ORDER BY key",
            (origins,),
        )
        return (key for (key,) in rows)

    def about(self, key: str) -> list[tuple[int, Event, bool]]:
        """Return the events about an IRI that are not left out, in order.

        Each comes with its row number, and with whether its graph is restricted.
        """
        rows = self._db.execute(
            "SELECT id, hidden, key, at, origin, token, kind, by, arguments FROM coming WHERE key = ?"
            " ORDER BY at, origin, token",
            (key,),
        ).fetchall()
        return [(id, event_of(row), bool(hidden)) for id, hidden, *row in rows]

    def mentions(self, key: str) -> bool:
        """Return whether any event is about an IRI, those left out included."""
        return self._db.execute("SELECT 1 FROM event WHERE key = ? LIMIT 1", (key,)).fetchone() is not None

    def leave_out(self, ids: Iterable[int]) -> None:
        """Leave out events, by row number."""
        self._db.executemany("INSERT INTO left_out VALUES (?)", [(id,) for id in ids])

    # events in order

    def added(self) -> dict[str, tuple[int, str, int]]:
        """Return the namespaces that the files add, each with the order of the first event that adds it."""
        rows = self._db.execute(
            "SELECT key, at, origin, token FROM coming WHERE kind = ?", (IDS.NamespaceAddition.value,)
        )
        ordered = sorted(((at, origin, token), key) for key, at, origin, token in rows)
        return {key: order for order, key in reversed(ordered)}

    def number(
        self,
        after: int,
        is_known: Callable[[str], bool],
        is_single: Callable[[str], bool],
        check_same: Callable[[Event], None],
        progress: Progress,
    ) -> tuple[int, int]:
        """Number the new events in order, starting at ``after`` + 1.

        is_known    called with an event's IRI: whether the registry holds the event, so that it needs no
                    number.
        is_single   called with an IRI: whether the events about it are replayed one by one.
        check_same  called with each known event.
        progress    called with the events done so far.
        Returns the number of new events, and the number of known ones.
        """
        passed, number = 0, after
        rows: list[tuple[int, int, bool]] = []
        total = len(self)
        progress("sorting", 0, total)
        for id, general, *row in self._db.execute(
            "SELECT id, general, key, at, origin, token, kind, by, arguments FROM coming"
            " ORDER BY at, origin, token"
        ):
            key, _, origin, token, *_ = row
            if is_known(event_name(origin, token)):
                check_same(event_of(row))
                passed += 1
                continue
            number += 1
            rows.append((id, number, bool(general) or is_single(key)))
            if len(rows) >= _ROWS:
                self._db.executemany("INSERT INTO place VALUES (?, ?, ?)", rows)
                rows.clear()
                progress("sorting", number - after + passed, total)
        self._db.executemany("INSERT INTO place VALUES (?, ?, ?)", rows)
        return number - after, passed

    def lost_requests(self) -> set[tuple[str, str]]:
        """Return the request keys that several identifiers share among the numbered events.

        Each is paired with an identifier, except the first one, which keeps the request key. `request_node`
        names the keys.
        """
        self._db.execute(
            "CREATE INDEX IF NOT EXISTS event_request ON event (request) WHERE request IS NOT NULL"
        )
        rows = self._db.execute(
            "SELECT request, key FROM event JOIN place USING (id) WHERE request IN"
            " (SELECT request FROM event WHERE request IS NOT NULL GROUP BY request"
            " HAVING COUNT(DISTINCT key) > 1) ORDER BY number"
        )
        first: dict[str, str] = {}
        return {(request, key) for request, key in rows if first.setdefault(request, key) != key}

    def singles(self) -> Iterator[tuple[int, Event]]:
        """Yield the events to be replayed one by one, with their numbers, in order."""
        rows = self._db.execute(
            "SELECT number, key, at, origin, token, kind, by, arguments FROM place JOIN event USING (id)"
            " WHERE single ORDER BY number"
        )
        return ((number, event_of(row)) for number, *row in rows)

    def effects(self) -> list[Effect]:
        """Return what the numbered events change about power. Cost: one pass over them for each kind."""
        return [effect for one in SELECTIONS if (effect := self._effect(one)).count]

    def _effect(self, selection: EventSelection) -> Effect:
        conditions = [f"kind IN ({', '.join('?' for _ in selection.kinds)})"]
        conditions += [_HAS_PROPERTY] * len(selection.properties) + [_HAS_VALUE] * len(selection.values)
        values = [term.value for term in (*selection.kinds, *selection.properties, *selection.values)]
        count, first = self._count(" OR ".join(conditions), values, LISTED)
        return Effect(selection.power, count, first)

    def targeted(self) -> Iterator[str]:
        """Yield the identifiers whose targets, or values, the numbered events set, in order."""
        rows = self._db.execute(
            "SELECT DISTINCT key FROM place JOIN event USING (id)"  # noqa: S608 constants
            f" WHERE {_HAS_PROPERTY} OR {_HAS_PROPERTY} ORDER BY key",
            (IDS.target.value, IDS.data.value),
        )
        return (key for (key,) in rows)

    def acted_on_by(self, parties: Collection[str]) -> set[str]:
        """Return the IRIs that events by one of these parties are about."""
        rows = self._db.execute(
            "SELECT DISTINCT key FROM coming WHERE by IN (SELECT value FROM json_each(?))",
            [json.dumps([*parties])],
        )
        return {key for (key,) in rows}

    def of_origins(self, origins: Collection[str]) -> tuple[int, Event | None]:
        """Return the number of numbered events that come from these stores, and the first of them."""
        condition = "origin IN (SELECT value FROM json_each(?))"
        count, first = self._count(condition, [json.dumps([*origins])], 1)
        return count, first[0] if first else None

    def _count(self, condition: str, values: Sequence[str], most: int) -> tuple[int, tuple[Event, ...]]:
        """Return the number of numbered events that meet a condition, and at most ``most`` of the first."""
        source = f"FROM place JOIN event USING (id) WHERE {condition}"
        (count,) = self._db.execute(f"SELECT COUNT(*) {source}", values).fetchone()
        rows = self._db.execute(
            f"SELECT key, at, origin, token, kind, by, arguments {source} ORDER BY number LIMIT {most}",
            values,
        )
        return count, tuple(map(event_of, rows))

    def groups(self, *, state: bool) -> Iterator[EventGroup]:
        """Yield the other events grouped by identifier; with ``state`` also its other triples."""
        found = self._db.execute(
            "SELECT key, number, at, origin, token, kind, by, arguments FROM place JOIN event USING (id)"
            " WHERE NOT single UNION ALL"
            " SELECT key, NULL, NULL, NULL, NULL, NULL, NULL, triples FROM state WHERE ? ORDER BY 1, 2",
            (state,),
        )
        for key, rows in groupby(found, key=itemgetter(0)):
            triples: list[str] = []
            events: list[tuple[int, Event]] = []
            for row in rows:
                if row[1] is None:
                    triples += row[-1].split("\n")
                else:
                    events.append((row[1], event_of((key, *row[2:]))))
            yield EventGroup(key, tuple(events), tuple(triples))

    # unique claims

    def claim(self, claimed: str, number: int, key: str) -> None:
        """Note that event ``number`` claims a label or a request key for the identifier ``key``."""
        self._claims.append((hash(claimed), claimed, number, key))
        if len(self._claims) >= _ROWS:
            self._put_claims()

    def _put_claims(self) -> None:
        self._db.executemany("INSERT INTO claim VALUES (?, ?, ?, ?)", self._claims)
        self._claims.clear()

    def contested(self) -> tuple[str, str] | None:
        """Return two identifiers that claim one label or request key, the later one first; or None."""
        self._put_claims()
        hashes = self._db.execute("SELECT hash FROM claim GROUP BY hash HAVING COUNT(*) > 1").fetchall()
        for (value,) in hashes:
            rows = self._db.execute(
                "SELECT claimed, number, key FROM claim WHERE hash = ? ORDER BY claimed, number", (value,)
            ).fetchall()
            for (one, _, first), (other, _, later) in pairwise(rows):
                if one == other and first != later:
                    return later, first
        return None


def _gather(engine: ScratchEngine, file: ImportFile, patches: patch.Patches, progress: Progress) -> None:
    """Load a file into the engine; apply a patch to what the engine holds. Raises ExchangeError."""
    path, format, name = file
    if format is not None:
        batches = ntriples_batches([(path, format, name)], progress)
        engine.load(
            quad.triple for text in batches for quad in parse(text, format=RdfFormat.N_TRIPLES, lenient=True)
        )
        return
    for quad, appears in patches.changes(path):
        for triple in hidden_marked([quad]):
            engine.change(triple, appears=appears)
