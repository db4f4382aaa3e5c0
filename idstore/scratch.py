"""Temporary files: private folders that are removed even after a kill, and errors of SQLite files in them."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Final
from weakref import finalize

from idstore.errors import StoreUnavailable
from idstore.forks import LockHandle

_PREFIX: Final = "idstore-scratch-"
_MIN_AGE: Final = 60.0
"""Seconds for which a new folder is kept: the process that created it may not have locked it yet."""


@contextmanager
def folder() -> Iterator[Path]:
    """Create a private folder in ``TMPDIR`` and remove it when the block ends.

    Raises OSError: it cannot be created.
    The folder is locked while in use. Folders that killed processes of this user left are removed first.
    """
    _sweep(Path(tempfile.gettempdir()))
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = LockHandle(path, os.O_RDONLY | os.O_DIRECTORY)
    remove = finalize(lock, _remove_own, os.getpid(), path)  # at the end of the process, if not before
    try:
        # a disk without locks: no other process can lock and remove the folder there
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield path
    finally:
        lock.close()
        remove()


def _remove_own(process: int, path: Path) -> None:
    """Remove a folder, but not in a fork of the process that made it."""
    if os.getpid() == process:
        rmtree(path, ignore_errors=True)


@contextmanager
def sorting_in(work: str, folder: str | Path) -> Iterator[None]:
    """Use temporary SQLite files. Raises StoreUnavailable: there is not enough space for them.

    work    description of the work that needs them.
    folder  their location.
    """
    import sqlite3

    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(
            f"{work} needs more space than there is in {folder}: {error};"
            " free some, or name another folder in TMPDIR",
            path=str(folder),
        ) from error


def _sweep(parent: Path) -> None:
    """Remove abandoned folders as far as possible."""
    with suppress(OSError):
        for abandoned in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove(abandoned)


def _remove(abandoned: Path) -> None:
    """Remove a folder of this user that no process has locked. Raises OSError."""
    handle = LockHandle(abandoned, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle.fileno())
        if status.st_uid != os.geteuid() or time.time() - status.st_mtime < _MIN_AGE:
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        rmtree(abandoned, ignore_errors=True)
    finally:
        handle.close()
