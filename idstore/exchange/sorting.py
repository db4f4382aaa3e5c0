"""The triples of files, sorted on disk: events by time, and with each identifier all that the files say of it.

Files that `export` wrote have the triples of an event, and those of a binding, together; they are read once. In others these may stand
in several places: then a scratch engine brings them together first.
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
from idstore.exchange.parsing import HIDDEN, marked, portions
from idstore.exchange.parsing import written as written_out
from idstore.exchange.runs import ABOUT, event_of, row_of, runs
from idstore.model.event import Event
from idstore.progress import Progress
from idstore.stores.engine import Scratch
from idstore.vocabulary import IDS, RDF, event_name

_SCHEMA: Final = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-65536;
CREATE TABLE event (
    id INTEGER PRIMARY KEY, key TEXT, at INTEGER, origin TEXT, token INTEGER, kind TEXT, by TEXT, said TEXT, general INTEGER,
    hidden INTEGER, request TEXT);
CREATE TABLE state (key TEXT, said TEXT);
CREATE TABLE subject (hash INTEGER, whole INTEGER);
CREATE TABLE place (id INTEGER PRIMARY KEY, number INTEGER, single INTEGER);
CREATE TABLE left_out (id INTEGER PRIMARY KEY);
CREATE VIEW coming AS SELECT * FROM event WHERE id NOT IN (SELECT id FROM left_out);
CREATE TABLE claim (hash INTEGER, claimed TEXT, number INTEGER, key TEXT);
BEGIN;
"""
"""One transaction that never ends: nobody else reads it, and it is thrown away."""
_ROWS: Final = 20_000
"""Rows that are written at once."""
_SUBJECT, _VALUE_OF, _PARTIAL, _HIDDEN = str(RDF.subject), str(IDS.valueOf), str(IDS.partial), str(HIDDEN)

File: TypeAlias = tuple[Path, RdfFormat | None, str]
"""A file, its format (None for a patch), and what the format is called."""


@dataclass(frozen=True, slots=True)
class Group:
    """What the files say of one thing.

    key     its IRI.
    events  those about it that are to be taken in together, with their numbers, in order.
    state   other triples about it and its bindings, as N-Triples write them.
    """

    key: str
    events: tuple[tuple[int, Event], ...]
    state: tuple[str, ...]


class Sorted:
    """Files read, and sorted in ``folder``.

    whole  whether nothing says that it is a part only.
    Raises ExchangeError (malformed, half an event). Memory: flat.
    """

    def __init__(self, files: Sequence[File], folder: Path, progress: Progress) -> None:
        self.whole = True
        self._source = ", ".join(str(path) for path, *_ in files)
        self._claims: list[tuple[int, str, int, str]] = []
        with ExitStack() as opened:
            self._db = opened.enter_context(closing(sqlite3.connect(folder / "sorted.sqlite", isolation_level=None)))
            self._db.executescript(_SCHEMA)
            if not self._fill_from(files, progress):
                self._db.executescript("DELETE FROM event; DELETE FROM state; BEGIN")
                scratch = Scratch(folder / "engine")
                patches = patch.Patches()
                for file in files:
                    _gather(scratch, file, patches, progress)
                self._fill(written_out(scratch.triples()), last=True)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    # reading in

    def __len__(self) -> int:
        """Events that they tell of, those that stay out included."""
        found: tuple[int] = self._db.execute("SELECT IFNULL(MAX(id), 0) FROM event").fetchone()
        return found[0]

    def _fill_from(self, files: Sequence[File], progress: Progress) -> bool:
        """Take in what files say as they say it; False if that does not do."""
        plain = [(path, format, name) for path, format, name in files if format is not None]
        with closing(portions(plain, progress)) as said:
            return len(plain) == len(files) and self._fill(said)

    def _fill(self, said: Iterable[bytes], *, last: bool = False) -> bool:
        """Take in what is said of each subject; False if what is said of one event or binding does not stand together."""
        events: list[tuple[object, ...]] = []
        state: list[tuple[str, str]] = []
        subjects: list[tuple[int, bool]] = []
        for subject, pairs in runs(said):
            told = dict(pairs)
            hidden = told.pop(_HIDDEN, None) is not None
            if hidden:
                pairs = [pair for pair in pairs if pair[0] != _HIDDEN]  # noqa: PLW2901 the mark is ours, and not the file's
            rest = pairs
            of = told.get(_SUBJECT) or told.get(_VALUE_OF)  # a binding, or a handle's value
            whole = ABOUT in told or of is not None
            subjects.append((hash(subject), whole))
            if _PARTIAL in told:
                self.whole = False
            if ABOUT in told:
                row, rest = row_of(subject, pairs, told)
                if row is None and not last:
                    return False
                if row is None:
                    raise ExchangeError(
                        self._source, None, f"{subject} is not a whole event: its kind, party or time is missing or malformed"
                    )
                events.append((*row, hidden))
            if rest:
                state.append(((of or subject)[1:-1], "\n".join([f"{subject} {name} {value}" for name, value in rest])))
            if len(subjects) >= _ROWS:
                self._put(events, state, subjects)
        self._put(events, state, subjects)
        scattered = self._db.execute("SELECT 1 FROM subject GROUP BY hash HAVING COUNT(*) > 1 AND MAX(whole) LIMIT 1").fetchone()
        self._db.execute("DELETE FROM subject")
        return scattered is None or last

    def _put(self, events: list[tuple[object, ...]], state: list[tuple[str, str]], subjects: list[tuple[int, bool]]) -> None:
        many = self._db.executemany
        many(
            "INSERT INTO event (key, at, origin, token, kind, by, said, general, request, hidden) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            events,
        )
        many("INSERT INTO state VALUES (?, ?)", state)
        many("INSERT INTO subject VALUES (?, ?)", subjects)
        for rows in (events, state, subjects):
            rows.clear()

    # what stays out

    def things(self, homes: Collection[str] = ()) -> Iterator[str]:
        """What the events are about, by IRI; only what another store than ``homes`` tells of."""
        self._db.execute("CREATE INDEX IF NOT EXISTS event_key ON event (key)")
        known = json.dumps([*homes])
        found = self._db.execute(
            "SELECT DISTINCT key FROM event WHERE origin NOT IN (SELECT value FROM json_each(?)) ORDER BY key", (known,)
        )
        return (key for (key,) in found)

    def about(self, key: str) -> list[tuple[int, Event, bool]]:
        """The events about something that do not stay out, in order: where they are kept, and whether only some may see them there."""
        found = self._db.execute(
            "SELECT id, hidden, key, at, origin, token, kind, by, said FROM coming WHERE key = ? ORDER BY at, origin, token", (key,)
        ).fetchall()
        return [(id, event_of(row), bool(hidden)) for id, hidden, *row in found]

    def tells_of(self, key: str) -> bool:
        """Whether any event is about something, those that stay out included."""
        return self._db.execute("SELECT 1 FROM event WHERE key = ? LIMIT 1", (key,)).fetchone() is not None

    def leave_out(self, ids: Iterable[int]) -> None:
        """Have events stay out, named by where they are kept."""
        self._db.executemany("INSERT INTO left_out VALUES (?)", [(id,) for id in ids])

    # in order

    def added(self) -> dict[str, tuple[int, str, int]]:
        """The namespaces that the files add, with the order of the event that first does."""
        found = self._db.execute("SELECT key, at, origin, token FROM coming WHERE kind = ?", (IDS.NamespaceAddition.value,))
        ordered = sorted(((at, origin, token), key) for key, at, origin, token in found)
        return {key: order for order, key in reversed(ordered)}

    def number(
        self,
        after: int,
        known: Callable[[str], bool],
        single: Callable[[str], bool],
        same: Callable[[Event], None],
        progress: Progress,
    ) -> tuple[int, int]:
        """Number the events in order, the first one ``after`` + 1.

        known   whether an event needs no number.
        single  whether those about something are to be taken in one by one.
        same    is given those that are known.
        progress  is told how far it has come.
        Returns how many have a number, and how many are known.
        """
        passed, number = 0, after
        rows: list[tuple[int, int, bool]] = []
        total = len(self)
        progress("sorting", 0, total)
        for id, general, *row in self._db.execute(
            "SELECT id, general, key, at, origin, token, kind, by, said FROM coming ORDER BY at, origin, token"
        ):
            key, _, origin, token, *_ = row
            if known(event_name(origin, token)):
                same(event_of(row))
                passed += 1
                continue
            number += 1
            rows.append((id, number, bool(general) or single(key)))
            if len(rows) >= _ROWS:
                self._db.executemany("INSERT INTO place VALUES (?, ?, ?)", rows)
                rows.clear()
                progress("sorting", number - after + passed, total)
        self._db.executemany("INSERT INTO place VALUES (?, ?, ?)", rows)
        return number - after, passed

    def lost_requests(self) -> set[tuple[str, str]]:
        """Request keys, as `request_node` names them, with which events with a number made several identifiers, with each of these but the first."""
        self._db.execute("CREATE INDEX IF NOT EXISTS event_request ON event (request) WHERE request IS NOT NULL")
        rows = self._db.execute(
            "SELECT request, key FROM event JOIN place USING (id) WHERE request IN"
            " (SELECT request FROM event WHERE request IS NOT NULL GROUP BY request HAVING COUNT(DISTINCT key) > 1) ORDER BY number"
        )
        first: dict[str, str] = {}
        return {(request, key) for request, key in rows if first.setdefault(request, key) != key}

    def singles(self) -> Iterator[tuple[int, Event]]:
        """The events to be taken in one by one, with their numbers, in order."""
        found = self._db.execute(
            "SELECT number, key, at, origin, token, kind, by, said FROM place JOIN event USING (id) WHERE single ORDER BY number"
        )
        return ((number, event_of(row)) for number, *row in found)

    def groups(self, *, state: bool) -> Iterator[Group]:
        """The other events, together with those about the same; with ``state`` also what else is said of it."""
        found = self._db.execute(
            "SELECT key, number, at, origin, token, kind, by, said FROM place JOIN event USING (id) WHERE NOT single UNION ALL"
            " SELECT key, NULL, NULL, NULL, NULL, NULL, NULL, said FROM state WHERE ? ORDER BY 1, 2",
            (state,),
        )
        for key, rows in groupby(found, key=itemgetter(0)):
            said: list[str] = []
            told: list[tuple[int, Event]] = []
            for row in rows:
                if row[1] is None:
                    said += row[-1].split("\n")
                else:
                    told.append((row[1], event_of((key, *row[2:]))))
            yield Group(key, tuple(told), tuple(said))

    # what only one may have

    def claim(self, claimed: str, number: int, key: str) -> None:
        """Take note that the event of that number claims a label or a request key for ``key``."""
        self._claims.append((hash(claimed), claimed, number, key))
        if len(self._claims) >= _ROWS:
            self._put_claims()

    def _put_claims(self) -> None:
        self._db.executemany("INSERT INTO claim VALUES (?, ?, ?, ?)", self._claims)
        self._claims.clear()

    def contested(self) -> tuple[str, str] | None:
        """Two that claim the same, the later one first; None if there are no such two."""
        self._put_claims()
        found = self._db.execute("SELECT hash FROM claim GROUP BY hash HAVING COUNT(*) > 1").fetchall()
        for (mark,) in found:
            rows = self._db.execute("SELECT claimed, number, key FROM claim WHERE hash = ? ORDER BY claimed, number", (mark,)).fetchall()
            for (one, _, first), (other, _, later) in pairwise(rows):
                if one == other and first != later:
                    return later, first
        return None


def _gather(scratch: Scratch, file: File, patches: patch.Patches, progress: Progress) -> None:
    """Bring together what a file says; a patch is carried out on what was read so far. Raises ExchangeError."""
    path, format, name = file
    if format is not None:
        said = portions([(path, format, name)], progress)
        scratch.load(quad.triple for text in said for quad in parse(text, format=RdfFormat.N_TRIPLES, lenient=True))
        return
    for quad, appears in patches.changes(path):
        for triple in marked([quad]):
            scratch.change(triple, appears=appears)
