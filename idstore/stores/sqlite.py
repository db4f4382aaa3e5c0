"""How the store's SQLite files are opened."""

import os
import sqlite3
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20


def address(path: Path, mode: str) -> str:
    """The URI of a SQLite file; ``mode`` is ``ro``, ``rw`` or ``rwc``.

    In a folder where nothing may be written SQLite cannot keep track of readers; nor does it need to there, as long as nobody writes
    (the store's lock sees to that) and everything written before is in the file itself.
    """
    log = path.with_name(f"{path.name}-wal")
    untouchable = mode == "ro" and not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    return f"{path.resolve().as_uri()}?mode={mode}" + ("&immutable=1" if untouchable else "")


def connect(path: Path, *, create: bool = False, read_only: bool = False) -> sqlite3.Connection:
    """A connection for several threads, one at a time, on which transactions are begun by hand. Raises OSError, sqlite3.Error."""
    if not (create or read_only):
        settle(path)
    mode = "ro" if read_only else "rwc" if create else "rw"
    return sqlite3.connect(address(path, mode), uri=True, isolation_level=None, check_same_thread=False)


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
