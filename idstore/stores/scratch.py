"""Folders for work that is thrown away, also where a process was killed at it: they may hold what only some may see."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from idstore.stores.founding import discard
from idstore.stores.inherited import Handle

_PREFIX: Final = "idstore-scratch-"
_YOUNG: Final = 60.0
"""Seconds for which a folder is left alone: whoever made it may not have its lock yet."""


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that nobody else may read, gone when the block ends; those that this user's killed processes left are removed first.

    It is where ``TMPDIR`` says, locked as long as it is used. Raises OSError: it cannot be made.
    """
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        lock = Handle(Path(name), os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # a disk without locks: then nobody gets one to remove it by
                fcntl.flock(lock, fcntl.LOCK_SH)
            yield Path(name)
        finally:
            lock.close()


def _sweep(place: Path) -> None:
    """Remove what is left there, as far as that can be done."""
    with suppress(OSError):
        for left in place.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove(left)


def _remove(left: Path) -> None:
    """Remove a folder of this user's own that nobody uses. Raises OSError."""
    handle = Handle(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle.fileno())
        if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _YOUNG:
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        discard([left])
    finally:
        handle.close()
