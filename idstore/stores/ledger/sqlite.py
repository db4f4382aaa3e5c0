"""The ledger in a SQLite file, for a store in one directory.

One connection writes. Another one reads, so that a reader never sees a row before it is durable. Long reads
fetch row by row or page by page. They keep no read transaction open, so SQLite can reuse its log.
"""

import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import RLock
from typing import Final
from uuid import uuid4

from pyoxigraph import NamedNode

from idstore.disk_errors import cause_and_remedy
from idstore.errors import IdstoreError, StoreReadOnly, StoreUnavailable
from idstore.model.change import Claim
from idstore.stores.ledger import store_format
from idstore.stores.ledger.contract import Head, NumberedClaim, Row
from idstore.stores.ledger.integrity import checked, checksum, damaged, faults, in_order
from idstore.stores.ledger.sqlite_writer import SqliteTransaction, SqliteWriter, find_head
from idstore.stores.sqlite_files import address, connect, iterating, lossless, reading, transaction

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ORIGIN_CHECKSUM: Final = "store-checksum"
_PAGE: Final = 1000
"""Number of claims read at once."""
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE row (
    number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL, token INTEGER NOT NULL,
    checksum INTEGER NOT NULL, body TEXT);
CREATE TABLE claim (key TEXT PRIMARY KEY, holder TEXT, digest TEXT, number INTEGER NOT NULL) WITHOUT ROWID;
"""
_ROWS: Final = "SELECT number, sequence, at, token, checksum, body FROM row"
_CLAIMS: Final = "SELECT key, holder, digest, number FROM claim"
_CLAIMS_AHEAD: Final = (
    "SELECT count(*) FROM claim WHERE number > max(?, (SELECT coalesce(max(number), 0) FROM row))"
)
"""Counts claims beyond the last row; a concurrent commit adds both."""


class SqliteLedger:
    """See `idstore.stores.ledger.contract.Ledger`.

    create     create the file, which must not exist.
    origin     UUID of a new store; random by default.
    read_only  `transaction` raises StoreUnavailable.
    locked     whether no other process can write: see `idstore.stores.sqlite_files.address`.
    Raises StoreUnavailable, StoreDamaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        read_only: bool = False,
        locked: bool = True,
        origin: str | None = None,
    ) -> None:
        self._path, self._locked = path, locked
        self._lock = RLock()
        self._verified: Head | None = None
        if not create:
            store_format.check_first_format(path.parent)
        try:
            with ExitStack() as opened:
                writing = opened.enter_context(
                    closing(connect(path, create=create, read_only=read_only, locked=locked))
                )
                writing.text_factory = lossless
                if create:
                    _create(writing, origin or str(uuid4()), generation=1)
                (store_format.check if read_only else store_format.migrate)(writing, path)
                self.origin, generation = _read_meta(writing, path)
                if not read_only:
                    writing.execute("PRAGMA synchronous=FULL")
                    writing.execute("PRAGMA journal_size_limit=67108864")
                self._writer = SqliteWriter(writing, path, generation)
                self._reader = (
                    writing if read_only else opened.enter_context(closing(connect(path, read_only=True)))
                )
                self._reader.text_factory = lossless
                self._read_only = read_only
                self._opened = opened.pop_all()
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, IdstoreError):
                raise
            why, remedy = cause_and_remedy(error, path)
            raise StoreUnavailable(
                f"the ledger {path} cannot be opened: {why}; {remedy}", path=str(path)
            ) from error

    @property
    def generation(self) -> int:
        """Number of the present generation of engine and catalogue."""
        return self._writer.generation

    @reading
    def head(self) -> Head:
        """Return the head of the journal."""
        with self._lock:
            self._verified = find_head(self._reader, self._path, self._verified)
            return self._verified

    @iterating
    def rows(self, after: int) -> Iterator[Row]:
        """Yield the rows after a number up to the last, in order and without gaps. Cost: about 10 µs each."""
        last = self.head().number
        rows = (row for number in range(after + 1, last + 1) if (row := self._row(number)) is not None)
        yield from in_order(str(self._path), rows, after, last)

    def _row(self, number: int) -> Row | None:
        with self._lock:
            values = self._reader.execute(f"{_ROWS} WHERE number = ?", (number,)).fetchone()
        if values is None:
            return None
        *numbers, stored_checksum, body = values
        return checked(str(self._path), Head._make(numbers), body, stored_checksum)

    @reading
    def claim(self, key: NamedNode) -> NumberedClaim | None:
        """Return the claim of a key."""
        with self._lock:
            values = self._reader.execute(f"{_CLAIMS} WHERE key = ?", (key.value,)).fetchone()
        return None if values is None else self._numbered(values)

    @iterating
    def claims(self, until: int) -> Iterator[Claim]:
        """Yield the claims of rows up to a number, by key."""
        last = ""
        while True:
            with self._lock:
                page = self._reader.execute(
                    f"{_CLAIMS} WHERE key > ? AND number <= ? ORDER BY key LIMIT ?", (last, until, _PAGE)
                ).fetchall()
            for values in page:
                yield self._numbered(values).claim
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    def _numbered(self, values: tuple[str, str | None, str | None, int]) -> NumberedClaim:
        key, holder, digest, number = values
        try:
            node = NamedNode(key)
            return NumberedClaim(
                Claim(node, node if holder is None else NamedNode(holder), digest or ""), number
            )
        except (TypeError, ValueError) as error:
            raise damaged(str(self._path), f"the claim of {key!r} differs from the data written") from error

    def transaction(self) -> SqliteTransaction:
        """Return a transaction.

        It begins when its block is entered; only one thread at a time may enter one.
        """
        if self._read_only:
            raise StoreReadOnly(f"{self._path} is open for reading only")
        return SqliteTransaction(self._writer)

    def scrub(self) -> None:
        """Rewrite the file without what it keeps of deleted rows, and empty its log."""
        with self._lock:
            self._writer.scrub()

    def faults(self) -> Iterator[str]:
        """Yield the faults of the file. Reads the whole file on a separate connection."""
        try:
            with closing(connect(self._path, read_only=True, locked=self._locked)) as database:
                database.text_factory = lossless
                yield from _faults(database, self._path)
        except (OSError, sqlite3.Error) as error:
            yield f"{self._path}: {error}"

    def copy(self, target: Path, head: Head, generation: int) -> None:
        """Create a ledger of the same origin with the given head: one row without body, and its claims.

        The claims are those up to the head. The ledger is on disk on return. Raises StoreUnavailable: the
        file exists, or cannot be written.
        """
        try:
            with closing(connect(target, create=True)) as database:
                database.execute("ATTACH ? AS source", (address(self._path, "ro", locked=self._locked),))
                _create(database, self.origin, generation, head)
            for path in (target, target.parent):
                _sync(path)
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, IdstoreError):
                raise
            why, remedy = cause_and_remedy(error, target)
            raise StoreUnavailable(
                f"{target} cannot be written: {why}; {remedy}", path=str(target)
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._opened.close()


def _create(database: sqlite3.Connection, origin: str, generation: int, head: Head | None = None) -> None:
    """Create the tables on disk. With ``head``: copy the claims of the attached database ``source``."""
    database.execute("PRAGMA synchronous=FULL")
    with transaction(database):
        for statement in _SCHEMA.split(";")[:-1]:
            database.execute(statement)
        database.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            [("store", origin), ("generation", str(generation)), (_ORIGIN_CHECKSUM, _checksum_of(origin))],
        )
        if head is not None and head.number:
            database.execute("INSERT INTO row VALUES (?, ?, ?, ?, ?, NULL)", (*head, checksum(head, None)))
            database.execute(
                "INSERT INTO claim SELECT * FROM source.claim WHERE number <= ? ORDER BY key", (head.number,)
            )
        database.execute(f"PRAGMA user_version={store_format.FORMAT}")
    database.execute("PRAGMA main.journal_mode=WAL")


def _read_meta(database: sqlite3.Connection, path: Path) -> tuple[str, int]:
    """Return the store's UUID and the present generation. Raises StoreDamaged."""
    meta: dict[str, str] = dict(database.execute("SELECT key, value FROM meta"))
    origin, generation = meta.get("store", ""), meta.get("generation", "")
    if not (_UUID.fullmatch(origin) and generation.isdecimal()):
        raise damaged(str(path), "it lacks the store's UUID or its present generation")
    if meta.get(_ORIGIN_CHECKSUM, _checksum_of(origin)) != _checksum_of(origin):
        raise damaged(str(path), "the store's UUID differs from the data written")
    return origin, int(generation)


def _checksum_of(origin: str) -> str:
    return str(zlib.crc32(origin.encode(errors="surrogateescape")))


def _faults(database: sqlite3.Connection, path: Path) -> Iterator[str]:
    for (line,) in database.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"{path}: {line}"
    rows = database.execute(f"{_ROWS} ORDER BY number")

    def claims_after(number: int) -> int:
        (ahead,) = database.execute(_CLAIMS_AHEAD, (number,)).fetchone()
        return int(ahead)

    yield from faults(
        str(path),
        ((Head._make(numbers), body, stored_checksum) for *numbers, stored_checksum, body in rows),
        claims_after,
    )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
