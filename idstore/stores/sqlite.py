"""How the store's SQLite files are opened."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.stores.inherited import Connection, identity, leave_alone, refuse_heirs
from idstore.stores.telling import unnumbered

P = ParamSpec("P")
T = TypeVar("T")
_CHUNK: Final = 1 << 20
PRIMARY: Final = 0xFF
"""The part of an error's code that says what kind it is."""


def address(path: Path, mode: str) -> str:
    """The URI of a SQLite file; ``mode`` is ``ro``, ``rw`` or ``rwc``.

    In a folder where nothing may be written SQLite cannot keep track of readers; nor does it need to there, as long as nobody writes
    (the store's lock sees to that) and everything written before is in the file itself.
    """
    log = path.with_name(f"{path.name}-wal")
    untouchable = mode == "ro" and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    return f"{path.resolve().as_uri()}?mode={mode}" + ("&immutable=1" if untouchable else "")


def connect(path: Path, *, create: bool = False, read_only: bool = False) -> sqlite3.Connection:
    """A connection for several threads, one at a time, on which transactions are begun by hand.

    Raises OSError, sqlite3.Error; StoreUnavailable in a fork of a process that had the file open.
    """
    refuse_heirs(path)
    if not (create or read_only):
        settle(path)
    mode = "ro" if read_only else "rwc" if create else "rw"
    database = sqlite3.connect(address(path, mode), uri=True, isolation_level=None, check_same_thread=False, factory=Connection)
    database.file = identity(path)
    leave_alone(database)
    return database


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """What the block does takes effect when it ends, all or nothing. Raises sqlite3.Error, and what the block raises: nothing of it is there."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException:  # an interrupt may also come when it is committed: then it stays
        undo(db)
        raise


def undo(db: sqlite3.Connection) -> None:
    """Take back what was begun and not committed, if anything was. Raises sqlite3.Error."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def settle(path: Path) -> None:
    """Write the log of a SQLite file, as far as there is one, once more, and bring it to disk. Raises OSError.

    If a process was told that the disk failed, and ended, the system may still show what it wrote, and yet never bring it to disk: SQLite
    would take it for safe, and write on behind a gap. Cost: none after a process that ended well, for it leaves no log.
    """
    log = path.with_name(f"{path.name}-wal")
    if not (log.exists() and log.stat().st_size):
        return
    with log.open("r+b", buffering=0) as file:
        place = 0
        while chunk := os.pread(file.fileno(), _CHUNK, place):
            place += os.pwrite(file.fileno(), chunk, place)
        os.fsync(file)


def reading(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method that reads the SQLite file at ``_path``, and raises StoreUnavailable where that fails."""

    @wraps(method)
    def read(self: Any, /, *given: P.args, **named: P.kwargs) -> T:
        try:
            return method(self, *given, **named)
        except sqlite3.ProgrammingError:  # a mistake of ours
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable(self._path, error) from error

    return read


def iterating(method: Callable[Concatenate[Any, P], Iterator[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """A generator that does so."""

    @wraps(method)
    def read(self: Any, /, *given: P.args, **named: P.kwargs) -> Iterator[T]:
        try:
            yield from method(self, *given, **named)
        except sqlite3.ProgrammingError:  # a mistake of ours
            raise
        except sqlite3.DatabaseError as error:
            raise unreadable(self._path, error) from error

    return read


@contextmanager
def sorting_in(work: str, folder: str | Path) -> Iterator[None]:
    """Work in SQLite files that are thrown away. Raises StoreUnavailable: there is no room for them.

    work    what needs them.
    folder  where they are.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(
            f"{work} needs more room than there is in {folder}: {error}; free some, or name another folder in TMPDIR", path=str(folder)
        ) from error


def unreadable(path: Path, error: sqlite3.DatabaseError) -> StoreUnavailable:
    """What to raise. Reading writes as well: what is sorted goes to temporary files, which may find no room.

    SQLite says that a file is malformed also where the disk failed once to read it.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code & PRIMARY in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreDamaged(
            f"the store is damaged: {unnumbered(path)}: {error}; try again, and if it stays so, keep its files, and restore a backup"
        )
    full = code == sqlite3.SQLITE_FULL
    remedy = "free some space for temporary files, or name another folder for them in TMPDIR" if full else "check the disk"
    return StoreUnavailable(f"{unnumbered(path)} cannot be read: {error}; {remedy}", path=unnumbered(path))
