"""The journal: every change, durable before anybody is told of it.

One SQLite file in WAL mode. A transaction takes all changes that wait at that moment (group commit); with ``synchronous=FULL`` it
returns when they are on disk. Engine and catalogue are projections of it.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from operator import attrgetter, index
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode, Quad, RdfFormat
from pyoxigraph import parse as parse_rdf

from idstore import randomness
from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.frozen import dataclass, replace
from idstore.model.change import Change, Entry
from idstore.model.event import decode, encode
from idstore.model.record import Stage
from idstore.stores import migrations
from idstore.stores.sqlite import PRIMARY, connect, iterating, reading, transaction, undo

FORMAT = 1
"""Version of the directory's layout; see `idstore.stores.migrations`."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FREE = 256
"""Pages (4 kB each) that may stay unused in the file."""

_MANY = 32
"""Transactions that make it worth having SQLite's log grow at once."""
_LOG = 1 << 22
"""Bytes that SQLite's log grows to, about, before it is written over from the beginning."""
_ROOM = 16 * _LOG
"""Bytes that must be free on the disk for that: the last ones are for those who need them."""

_MALFORMED: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IdstoreError,
    LookupError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What is raised by reading a change that is not what was written."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE change (
    sequence INTEGER PRIMARY KEY, token INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Written:
    """A change as the journal holds it.

    sequence   of its last event, in this store.
    token, at  of its last event.
    event      IRI of its first event: the engine has applied the change when it knows that event.
    body       the change.
    """

    sequence: int
    token: int
    at: int
    event: str
    body: str


def write(change: Change, sequence: int) -> Written:
    """A change for the journal; ``sequence`` is that of its last event."""
    first, last = change.events[0][0], change.events[-1][0]
    return Written(sequence, last.token, last.at, first.iri.value, _encode(change))


_listed = attrgetter(*Entry.__match_args__)
_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def _encode(change: Change) -> str:
    return _dumps(
        (
            [(encode(event), graph.value) for event, graph in change.events],
            change.begins,
            _nquads(change.add),
            _nquads(change.remove),
            [(claimed.value, holder.value) for claimed, holder in change.claims],
            [_listed(entry) for entry in change.entries],
            [(encode(event), graph.value) for event, graph in change.moved],
            change.issued,
        )
    )


def read(written: Written) -> Change:
    """Read a change that `write` wrote, with the records that it begins.

    Raises one of `_MALFORMED` where it did not; whoever takes the change need not expect that.
    """
    written.body.encode()  # what is no text was let through
    events, begins, add, remove, claims, entries, moved, issued = json.loads(written.body)
    change = Change(
        tuple((decode(event), NamedNode(graph)) for event, graph in events),
        begins,
        tuple(_read_nquads(add)),
        tuple(_read_nquads(remove)),
        tuple((NamedNode(claimed), NamedNode(holder)) for claimed, holder in claims),
        tuple(Entry(*entry) for entry in entries),
        tuple((decode(event), NamedNode(graph)) for event, graph in moved),
        tuple((base, series, _number(number)) for base, series, number in issued),
    )
    if change.events[0][0].name != written.event:
        raise ValueError(f"it begins with {change.events[0][0].name}, and not with {written.event}")
    for event, _ in (*change.events, *change.moved):
        _number(event.token), _number(event.at)
    for entry in change.entries:
        Stage(entry.stage), _number(entry.created), _number(entry.fixated or 0)
    return replace(change, begun=tuple(change.records()))


def _number(value: int) -> int:
    """The number. Raises TypeError, OverflowError: it is none, or more than a catalogue holds."""
    index(value).to_bytes(8, "big", signed=True)
    return value


def _nquads(quads: Iterable[Quad]) -> str:
    return "".join([f"{quad} .\n" for quad in quads])


def _read_nquads(text: str) -> list[Quad]:
    return list(parse_rdf(text, format=RdfFormat.N_QUADS)) if text else []


def _text(raw: bytes) -> str:
    """A text of the file, also where it was damaged so that it is none, which `read` says with the number of the change."""
    return raw.decode(errors="surrogateescape")


class Journal:
    """The journal of one store. Not safe for several threads at once: its owner holds a lock.

    create  make it, for the store of the UUID ``store``; unless given, for a new one.
    """

    def __init__(
        self, path: Path, *, create: bool = False, store: str | None = None, durable: bool = True, read_only: bool = False
    ) -> None:
        self._path = path
        self._appended = 0 if durable and not read_only else _MANY  # transactions, so far as they are counted
        with ExitStack() as opened:
            try:
                self._db = opened.enter_context(closing(connect(path, create=create, read_only=read_only)))
                self._db.text_factory = _text
                if create:
                    self._create(store or randomness.uuid())
                if read_only:
                    migrations.check(self._db, path, FORMAT)
                else:
                    migrations.migrate(self._db, path, FORMAT)
                    self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
                    self._db.execute("PRAGMA journal_size_limit=67108864")
                self.meta: dict[str, str] = dict(self._db.execute("SELECT key, value FROM meta"))
            except (OSError, sqlite3.Error) as error:
                if isinstance(error, StoreUnavailable):
                    raise
                raise StoreUnavailable(
                    f"the journal {path} cannot be opened: {error}; check the disk, and the folder's permissions", path=str(path)
                ) from error
            if not (_UUID.fullmatch(self.meta.get("store", "")) and self.meta.get("generation", "").isdecimal()):
                raise StoreDamaged(
                    f"the store is damaged: {path} does not say which store this is, or which of its generations is the present one;"
                    f" keep its files, and restore a backup",
                    path=str(path),
                )
            opened.pop_all()

    def _create(self, store: str) -> None:
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";")[:-1]:
            self._db.execute(statement)
        start = {"store": store, "generation": "1"}
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", start.items())
        self._db.execute(f"PRAGMA user_version={FORMAT}")
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA journal_mode=WAL")

    @property
    def store(self) -> str:
        """The store's UUID."""
        return self.meta["store"]

    @property
    def generation(self) -> int:
        """Which engine and catalogue are the present ones."""
        return int(self.meta["generation"])

    @reading
    def last(self) -> tuple[int, int, int]:
        """Sequence, token and time of the last event; zeros in a store without any."""
        row: tuple[int, int, int] | None = self._db.execute(
            "SELECT sequence, token, at FROM change ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        return row or (0, 0, 0)

    def append(self, changes: list[Written]) -> None:
        """Make changes durable, all or none. Raises StoreUnavailable: none is there."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO change VALUES (?, ?, ?, ?, ?)",
                [(c.sequence, c.token, c.at, c.event, c.body) for c in changes],
            )
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self.undo()
            raise self._refused(error, "try again") from error
        except BaseException:  # interrupted: unless it was committed, nothing is there
            self.undo()
            raise
        if self._appended < _MANY:
            self._appended += 1
            if self._appended == _MANY:
                self._extend_log()

    def _refused(self, error: sqlite3.Error, then: str) -> StoreUnavailable:
        """What to raise where the disk refused a transaction.

        When syncing fails, or what comes after that, SQLite's log has the whole of it: whoever opens the file after a kill would take it for
        done. The next transaction is written in its place, so there is one that changes nothing.
        """
        done, code = "nothing was changed", getattr(error, "sqlite_errorcode", 0)
        if code & PRIMARY == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_WRITE:
            try:
                with transaction(self._db):
                    self._db.execute(f"PRAGMA user_version={FORMAT}")  # which SQLite writes also where it is the same
            except sqlite3.Error:
                done = "whether that comes into effect the next opening shows"
        return StoreUnavailable(f"the journal {self._path} cannot be written: {error}; {done}, free some space and {then}")

    def _extend_log(self) -> None:
        """Have SQLite's log grow at once as long as it will: a transaction that makes it grow takes the disk twice as long as one that does not.

        What is too large for its cache, SQLite writes to the log before it is committed, and leaves there when it is taken back. Cost: 10 ms.
        """
        db = self._db
        try:
            disk = os.statvfs(self._path)
            if disk.f_bavail * disk.f_frsize > _ROOM and self._path.with_name(f"{self._path.name}-wal").stat().st_size < _LOG:
                db.execute("PRAGMA cache_size=10")
                db.execute("BEGIN IMMEDIATE")
                db.execute("INSERT INTO change VALUES (-1, 0, 0, '', zeroblob(?))", (_LOG,))
        except (OSError, sqlite3.Error):
            pass  # the disk is full or fails: whoever needs it is told
        finally:
            with suppress(sqlite3.Error):  # what could not be taken back yet is, before the next
                self.undo()
                db.execute("PRAGMA cache_size=-2000")

    def undo(self) -> None:
        """Take back what was begun and not committed, if anything was."""
        undo(self._db)

    def switch(self, generation: int, last: Written) -> None:
        """Make another generation the present one, whose last change is ``last``: the earlier changes are part of it."""
        db = self._db
        try:
            with transaction(db):
                db.execute("DELETE FROM change")
                db.execute(
                    "INSERT INTO change VALUES (?, ?, ?, ?, ?)",
                    (last.sequence, last.token, last.at, last.event, last.body),
                )
                db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (str(generation),))
        except sqlite3.Error as error:
            raise self._refused(error, "open the store again") from error
        self.meta["generation"] = str(generation)

    @iterating
    def after(self, sequence: int) -> Iterator[Written]:
        """The changes after a sequence number, oldest first."""
        for row in self._db.execute("SELECT * FROM change WHERE sequence > ? ORDER BY sequence", (sequence,)):
            yield Written(*row)

    def change(self, written: Written) -> Change | None:
        """What was written; None if that was taken in whole, and no text of it was kept. Raises StoreDamaged."""
        if not written.body:
            return None
        try:
            return read(written)
        except _MALFORMED as error:
            raise self.damaged(written.sequence) from error

    def damaged(self, sequence: int) -> StoreDamaged:
        """What to raise where the change with that sequence number is not what was written."""
        return StoreDamaged(
            f"the store is damaged: {self._path}: change {sequence} is not what was written there; keep its files, and restore a backup",
            path=str(self._path),
            sequence=sequence,
        )

    @reading
    def event(self, sequence: int) -> str | None:
        """The first event of the change with that sequence number; None if the journal has forgotten it, or never had it."""
        found: tuple[str] | None = self._db.execute("SELECT event FROM change WHERE sequence = ?", (sequence,)).fetchone()
        return self._iri(sequence, found[0]) if found else None

    @iterating
    def newest_first(self) -> Iterator[tuple[int, str]]:
        """Sequence and first event of every change, newest first."""
        for sequence, event in self._db.execute("SELECT sequence, event FROM change ORDER BY sequence DESC"):
            yield sequence, self._iri(sequence, event)

    def _iri(self, sequence: int, event: str) -> str:
        """The name of a change's event. Raises StoreDamaged: it is none."""
        try:
            return NamedNode(event).value
        except _MALFORMED as error:
            raise self.damaged(sequence) from error

    def prune(self, sequence: int) -> None:
        """Forget changes up to ``sequence``, which engine and catalogue have on disk; the last one is always kept."""
        self._db.execute("DELETE FROM change WHERE sequence <= ? AND sequence < (SELECT max(sequence) FROM change)", (sequence,))

    def shrink(self) -> None:
        """Give the room of what was forgotten back to the disk. Raises sqlite3.Error. Cost: what is left is written anew."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        if free > _FREE:
            self._db.execute("VACUUM")

    def close(self) -> None:
        """Close the file."""
        self._db.close()
