"""Error messages about disks: full disks, and paths without the numbers of generations and snapshots."""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_NUMBER: Final = (
    r"(/generation-|/snapshots/(?=\d+-))\d+(?:-\d+)?(?=/(?:engine|catalogue|base-|draft|broken)|[\s:;,]|$)"
)
"""Matches the number of a generation or snapshot by what follows it.

A folder above the store may have a similar name.
"""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXT: Final = re.compile(r"No space left|[Qq]uota exceeded|disk is full")
"""Recognises errors without a number: the engine passes on the system's message only."""
_MIN_FREE: Final = 1 << 20
"""Bytes of free space below which an input/output error means a full disk."""


def unnumbered(text: object) -> str:
    """Remove generation and snapshot numbers from a text such as a path or an error.

    These numbers reveal how many changes the store has seen.
    """
    return re.sub(_NUMBER, r"\1…", f"{text}")


def is_full(error: Exception, path: str | os.PathLike[str] | None = None) -> bool:
    """Whether an error of the system, of SQLite or of the engine means that the disk is full.

    path  a file or folder on that disk. SQLite reports some full disks as input/output errors; then the free
          space decides.
    """
    import sqlite3

    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code == sqlite3.SQLITE_FULL or (
            code & 0xFF == sqlite3.SQLITE_IOERR and path is not None and has_little_space(path)
        )
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _FULL
    return _FULL_TEXT.search(f"{error}") is not None


def cause_and_remedy(error: Exception, path: str | os.PathLike[str] | None = None) -> tuple[str, str]:
    """Return why something cannot be read or written, and what to do then; ``path`` as for `is_full`."""
    if is_full(error, path):
        return "the disk is full", "free some space and try again"
    return unnumbered(error), "check the disk and the folder's permissions, and try again"


def has_little_space(path: str | os.PathLike[str]) -> bool:
    """Whether the file system of the nearest existing folder has almost no free space."""
    for place in (Path(path), *Path(path).absolute().parents):
        with suppress(FileNotFoundError, NotADirectoryError):
            try:
                system = os.statvfs(place)
            except PermissionError:
                return False
            return system.f_blocks > 0 and system.f_bavail * system.f_frsize < _MIN_FREE
    return False
