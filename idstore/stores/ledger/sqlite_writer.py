"""Transactions of the SQLite ledger, and the handling of failed commits.

A commit appends pages to SQLite's log and syncs it. If the sync fails, the log still holds the whole
transaction: after a crash, the next opening would apply it. So a second transaction, without changes,
overwrites it. If the second one is synced, the first is refused. Otherwise the outcome is unknown, and no
further changes are accepted.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from idstore.disk_errors import cause_and_remedy
from idstore.errors import AlreadyRegistered, OutcomeUnknown, StoreBusy, StoreUnavailable
from idstore.model.change import Claim
from idstore.stores.ledger.contract import EMPTY_HEAD, Head, NumberedClaim, Row
from idstore.stores.ledger.integrity import checked, checksum
from idstore.stores.ledger.store_format import FORMAT
from idstore.stores.sqlite_files import PRIMARY_CODE, is_damage, transaction, undo, unreadable, vacuum

_GROW_AFTER: Final = 32
"""Number of commits after which SQLite's log is grown at once."""
_LOG_SIZE: Final = 1 << 22
"""Approximate size of SQLite's log in bytes before it is reused from the beginning."""
_ROOM: Final = 16 * _LOG_SIZE
"""Bytes that must be free on the disk for growing the log."""

_HEAD: Final = "SELECT number, sequence, at, token FROM row ORDER BY number DESC LIMIT 1"
_LAST: Final = "SELECT number, sequence, at, token, checksum, body FROM row ORDER BY number DESC LIMIT 1"
_ADD_ROW: Final = "INSERT INTO row (number, sequence, at, token, checksum, body) VALUES (?, ?, ?, ?, ?, ?)"
_FILL: Final = (
    "INSERT INTO row (number, sequence, at, token, checksum, body) VALUES (-1, 0, 0, 0, 0, zeroblob(?))"
)
_ADD_CLAIM: Final = "INSERT INTO claim (key, holder, digest, number) VALUES (?, ?, ?, ?)"


def find_head(database: sqlite3.Connection, path: Path, verified: Head | None) -> Head:
    """Return the head of the journal. Its last row is checked unless the head equals ``verified``.

    Raises StoreDamaged.
    """
    values = database.execute(_HEAD).fetchone()
    if values is None:
        return EMPTY_HEAD
    if values == verified:
        return Head._make(values)
    *numbers, stored_checksum, body = database.execute(_LAST).fetchone()
    return checked(str(path), Head._make(numbers), body, stored_checksum).head


class SqliteWriter:
    """The writing connection and its state.

    generation  the present generation.
    verified    the last head read or written.
    """

    def __init__(self, database: sqlite3.Connection, path: Path, generation: int) -> None:
        self.database = database
        self.path = path
        self.generation = generation
        self.verified: Head | None = None
        self._log = path.with_name(f"{path.name}-wal")
        self._files = {path: _identity(path)}
        """The files in use, each with its device and inode."""
        self._commits = 0
        self._unknown = False

    def begin(self) -> Head:
        """Begin a transaction and return the head of the journal. Raises StoreUnavailable."""
        if self._unknown:
            raise StoreUnavailable(
                f"{self.path} takes no changes after a commit whose outcome is unknown; open the store again"
            )
        try:
            undo(self.database)
            self.database.execute("BEGIN IMMEDIATE")
            self.verified = find_head(self.database, self.path, self.verified)
        except sqlite3.Error as error:
            raise self.refused(error) from error
        return self.verified

    def commit(self) -> None:
        """Commit. Raises StoreUnavailable, OutcomeUnknown."""
        self._check_place()
        try:
            self.database.execute("COMMIT")
        except sqlite3.Error as error:
            self.roll_back()
            if not (_wrote_nothing(error) or self._overwrite()):
                self._unknown = True
                why, _ = cause_and_remedy(error, self.path)
                raise OutcomeUnknown(
                    f"{self.path} cannot be written: {why}; whether the change was made shows"
                    " when the store is open again: check the disk, and open the store again",
                    path=str(self.path),
                ) from error
            raise self.refused(error) from error
        if self._commits < _GROW_AFTER:
            self._commits += 1
            if self._commits == _GROW_AFTER:
                self._grow_log()

    def _check_place(self) -> None:
        """Raise StoreUnavailable if another process removed or replaced the file, or its log.

        SQLite would go on writing into files that no later opening finds.
        """
        if self._log not in self._files:
            self._files[self._log] = _identity(self._log)
        for path, identity in self._files.items():
            if identity is None or _identity(path) != identity:
                self.roll_back()
                raise StoreUnavailable(
                    f"{path} was moved, removed or replaced meanwhile; nothing was changed: put the file"
                    " back, or restore a backup",
                    path=str(self.path.parent),
                )

    def _overwrite(self) -> bool:
        """Overwrite a transaction that could not be synced.

        Returns whether the overwriting transaction is on disk.
        """
        try:
            with transaction(self.database):
                # SQLite writes the page even if the value is unchanged
                self.database.execute(f"PRAGMA user_version={FORMAT}")
        except sqlite3.Error:
            return False
        return True

    def scrub(self) -> None:
        """Rewrite the file without deleted content, and empty the log. Raises StoreUnavailable."""
        try:
            vacuum(self.database)
        except sqlite3.Error as error:
            raise self.refused(error) from error

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        with suppress(sqlite3.Error):  # `begin` tries again
            undo(self.database)

    def refused(self, error: sqlite3.Error) -> StoreUnavailable:
        """Return the error for a transaction that changed nothing."""
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
        if code == sqlite3.SQLITE_BUSY:
            return StoreBusy(
                f"another process is writing {self.path}; nothing was changed, try again", path=str(self.path)
            )
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            return unreadable(self.path, error)
        why, remedy = cause_and_remedy(error, self.path)
        return StoreUnavailable(
            f"{self.path} cannot be written: {why}; nothing was changed, {remedy}", path=str(self.path)
        )

    def _grow_log(self) -> None:
        """Grow SQLite's log to its final size: a commit that makes it grow takes twice as long.

        Data that exceeds SQLite's cache goes to the log before the commit, and stays there after a rollback.
        Cost: 10 ms.
        """
        try:
            disk = os.statvfs(self.path)
            if disk.f_bavail * disk.f_frsize > _ROOM and self._log.stat().st_size < _LOG_SIZE:
                self.database.execute("PRAGMA cache_size=10")
                self.database.execute("BEGIN IMMEDIATE")
                self.database.execute(_FILL, (_LOG_SIZE,))
        except (OSError, sqlite3.Error):
            pass  # the disk is full or failing: the next commit reports it
        finally:
            self.roll_back()
            with suppress(sqlite3.Error):
                self.database.execute("PRAGMA cache_size=-2000")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None: there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _wrote_nothing(error: sqlite3.Error) -> bool:
    """Whether a commit failed before its last page was in SQLite's log, so that no opening finds it there."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


class SqliteTransaction:
    """See `idstore.stores.ledger.contract.LedgerTransaction`. An error ends the transaction."""

    def __init__(self, writer: SqliteWriter) -> None:
        self._writer = writer
        self._head = EMPTY_HEAD
        self._generation: int | None = None

    def __enter__(self) -> Self:
        try:
            self._head = self._writer.begin()
        except BaseException:
            self._writer.roll_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.roll_back()

    @property
    def head(self) -> Head:
        """Head of the journal."""
        return self._head

    def append(self, rows: Sequence[Row], claims: Sequence[NumberedClaim]) -> None:
        """Append rows and their claims."""
        self._check_open()
        for number, row in enumerate(rows, self._head.number + 1):
            assert row.head.number == number, f"row {row.head.number} does not follow row {number - 1}"
        try:
            self._add_rows(rows)
            self._add_claims(claims)
        except BaseException:
            self._writer.roll_back()
            raise

    def switch(self, generation: int, row: Row, claims: Iterable[NumberedClaim]) -> None:
        """Make another generation the present one."""
        try:
            self._execute("DELETE FROM row")
            self._add_rows([row])
            self._execute("UPDATE meta SET value = ? WHERE key = 'generation'", str(generation))
            self._add_claims(claims)
        except BaseException:
            self._writer.roll_back()
            raise
        self._generation = generation

    def replace_digests(self, claims: Sequence[Claim]) -> None:
        """Replace the digests of claims that are made already."""
        for key, _, digest in claims:
            self._execute("UPDATE claim SET digest = ? WHERE key = ?", digest, key.value)

    def prune(self, number: int) -> None:
        """Delete rows up to a number, but never the last one."""
        self._execute("DELETE FROM row WHERE number <= ? AND number < ?", number, self._head.number)

    def commit(self) -> None:
        """Make all changes durable, or none."""
        self._check_open()
        self._writer.commit()
        self._writer.verified = self._head
        if self._generation is not None:
            self._writer.generation = self._generation

    def _check_open(self) -> None:
        """Raise StoreUnavailable if an error ended the transaction: SQLite would commit each statement."""
        if not self._writer.database.in_transaction:
            raise StoreUnavailable(
                "the transaction has ended since an earlier step failed; nothing was changed, try again"
            )

    def _execute(self, statement: str, *values: object) -> None:
        self._check_open()
        try:
            self._writer.database.execute(statement, values)
        except sqlite3.Error as error:
            self._writer.roll_back()
            raise self._writer.refused(error) from error

    def _add_rows(self, rows: Sequence[Row]) -> None:
        try:
            self._writer.database.executemany(
                _ADD_ROW, [(*head, checksum(head, body), body) for head, body in rows]
            )
        except sqlite3.Error as error:
            raise self._writer.refused(error) from error
        if rows:
            self._head = rows[-1].head

    def _add_claims(self, claims: Iterable[NumberedClaim]) -> None:
        last: NumberedClaim | None = None

        def values() -> Iterator[tuple[str, str | None, str | None, int]]:
            nonlocal last
            for last in claims:
                (key, holder, digest), number = last
                yield key.value, None if holder == key else holder.value, digest or None, number

        try:
            self._writer.database.executemany(_ADD_CLAIM, values())
        except sqlite3.IntegrityError as error:
            assert last is not None
            raise self._taken(last.claim.key.value) from error
        except sqlite3.Error as error:
            raise self._writer.refused(error) from error

    def _taken(self, key: str) -> AlreadyRegistered:
        (holder,) = self._writer.database.execute(
            "SELECT coalesce(holder, key) FROM claim WHERE key = ?", (key,)
        ).fetchone()
        return AlreadyRegistered(f"{key} is taken by {holder}", id=key)
