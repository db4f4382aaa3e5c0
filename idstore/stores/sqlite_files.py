"""Opening of the store's SQLite files, and translation of their errors."""

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from idstore.disk_errors import is_full, unnumbered
from idstore.errors import StoreBusy, StoreDamaged, StoreUnavailable
from idstore.forks import Connection, refuse_inherited, register
from idstore.permissions import conform
from idstore.remedies import Remedy

P = ParamSpec("P")
T = TypeVar("T")
_CHUNK: Final = 1 << 20
_LOCK_TIMEOUT: Final = 30.0
"""Seconds to wait for a transaction of another process; the store's lock usually prevents them."""
_CACHED: Final = 128
"""Statements that a connection of one thread at a time keeps prepared.

Threads must share none: from Python 3.12 on, one thread can get a statement that another has not ended.
"""
_ALTERED: Final = re.compile("Could not decode to UTF-8|no such (column|table)")
"""Recognises errors about altered texts and definitions."""
PRIMARY_CODE: Final = 0xFF
"""Mask of the primary code in an extended error code."""


def address(path: Path, mode: str, *, locked: bool = True) -> str:
    """Return the URI of a SQLite file; ``mode`` is ``ro`` or ``rw``.

    In a folder without write permission SQLite cannot keep its shared memory. It needs none while no process
    writes and the log is empty.
    locked  whether no process can write: the store's lock is held, or the file is of nobody else.
    Raises StoreUnavailable: the log is not empty, and there is no shared memory; StoreBusy: a process may
    begin to write.
    """
    immutable = False
    if mode == "ro" and not os.access(path.parent, os.W_OK):
        log = _log(path)
        immutable = not (log.exists() and log.stat().st_size)
        if not (immutable or _memory(path).exists()):
            raise StoreUnavailable(
                f"{path} has changes in its log that a killed process left; an account with write permission"
                " must open the store once",
                path=str(path),
                remedy=Remedy.OPEN_ONCE,
            )
    if immutable and not locked:
        raise StoreBusy(f"another process may write {path} meanwhile; try again", path=str(path))
    return f"{path.resolve().as_uri()}?mode={mode}" + ("&immutable=1" if immutable else "")


def connect(path: Path, *, create: bool = False, read_only: bool = False, locked: bool = True) -> Connection:
    """Open a connection without implicit transactions, for several threads: at a time if it only reads.

    create  create the file, which must not exist; its log gets the same permissions.
    locked  as for `address`.
    Raises OSError, sqlite3.Error; StoreUnavailable in a fork of a process that had the file open, and where
    only a writer can make it readable.
    """
    if create:
        _make(path)
    refuse_inherited(path)
    database = sqlite3.connect(
        address(path, "ro" if read_only else "rw", locked=locked),
        timeout=_LOCK_TIMEOUT,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0 if read_only else _CACHED,
        factory=Connection,
    )
    try:
        register(database, path)
        if read_only:
            _conform_companions(database, path)
        elif not create:
            settle(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _conform_companions(database: sqlite3.Connection, path: Path) -> None:
    """Conform the log and the shared memory of a SQLite file, which its first reader makes.

    SQLite gives them the rights of the file, but the group of the reader. Raises OSError.
    """
    with suppress(sqlite3.Error):  # the caller's first statement meets it again
        database.execute("PRAGMA schema_version").fetchone()
    for companion in (_log(path), _memory(path)):
        with suppress(FileNotFoundError):
            conform(companion)


def _make(path: Path) -> None:
    """Create an empty file. Raises OSError."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    conform(path)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit the changes of the block, or roll them back. Raises sqlite3.Error and the block's errors."""
    try:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("COMMIT")
    except BaseException:  # an interrupt may come after the commit, which then stays
        undo(database)
        raise


def undo(database: sqlite3.Connection) -> None:
    """Roll back the open transaction, if there is one. Raises sqlite3.Error."""
    if database.in_transaction:
        database.execute("ROLLBACK")


def vacuum(database: sqlite3.Connection) -> None:
    """Rewrite a SQLite file without deleted content, and empty its log. Raises sqlite3.Error."""
    database.execute("VACUUM")
    [(busy, *_)] = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise sqlite3.OperationalError("its log is in use by another reader")


def copy_file(path: Path, target: Path) -> None:
    """Copy a SQLite file with its log, byte by byte, while no process writes. Raises OSError."""
    shutil.copyfile(path, target)
    with suppress(FileNotFoundError):
        shutil.copyfile(_log(path), _log(target))


def settle(database: sqlite3.Connection, path: Path) -> None:
    """Rewrite the log of a SQLite file unchanged, and sync it. Raises OSError, sqlite3.Error.

    After a failed sync the system may still show the written data without ever bringing it to disk. If the
    process that saw the error has ended, SQLite would trust the log and append after a gap. SQLite's own lock
    keeps other writers out meanwhile.
    Cost: none after a process that ended normally, since it leaves no log.
    """
    log = _log(path)
    if not (log.exists() and log.stat().st_size):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        with suppress(FileNotFoundError), log.open("r+b", buffering=0) as file:
            offset = 0
            while chunk := os.pread(file.fileno(), _CHUNK, offset):
                offset += os.pwrite(file.fileno(), chunk, offset)
            os.fsync(file)
    finally:
        undo(database)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _memory(path: Path) -> Path:
    return path.with_name(f"{path.name}-shm")


def lossless(raw: bytes) -> str:
    """Decode text; bytes that are not UTF-8, which only damage causes, become surrogates.

    For ``text_factory``.
    """
    return raw.decode(errors="surrogateescape")


def reading(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Decorate a method that reads the SQLite file at ``self._path``.

    The method then raises StoreUnavailable or StoreDamaged instead of SQLite's errors.
    """

    @wraps(method)
    def read(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except sqlite3.ProgrammingError:  # a bug, such as use of a closed connection
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable(self._path, error) from error

    return read


def iterating(
    method: Callable[Concatenate[Any, P], Iterator[T]],
) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Decorate a generator as `reading` decorates a method."""

    @wraps(method)
    def read(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        try:
            yield from method(self, *args, **kwargs)
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable(self._path, error) from error

    return read


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite reports a damaged file, or contents that idstore never writes."""
    if isinstance(error, sqlite3.IntegrityError) or _ALTERED.match(str(error)):
        return True
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def unreadable(path: Path, error: sqlite3.DatabaseError) -> StoreUnavailable:
    """Return the error for an unreadable file. The disk may be full: SQLite sorts rows in temporary files.

    SQLite reports a malformed file even after a single failed read of the disk.
    """
    if is_damage(error):
        return StoreDamaged(
            f"the store is damaged: {unnumbered(path)}: {error};"
            " try again, and if it stays so, keep its files, and restore a backup"
        )
    full = is_full(error, path)
    remedy = (
        "free some space for temporary files, or name another folder for them in TMPDIR"
        if full
        else "check the disk"
    )
    return StoreUnavailable(f"{unnumbered(path)} cannot be read: {error}; {remedy}", path=unnumbered(path))
