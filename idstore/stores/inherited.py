"""What is open, and what becomes of it where whoever opened it is interrupted, or the process forks.

A child gives up the locks that it inherits: it would hold them as long as it lives, whatever its parent does. But databases it neither uses nor
closes: closing acts on files by their names, where others may have written by then; and neither SQLite nor the engine knows of children: what one
opens shares the parent's bookkeeping with it, and waits for threads that are not there.
"""

import errno
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from idstore.errors import StoreUnavailable

FORKED: Final = (
    "the store was opened by another process, of which this one is a fork; use it there, or open it in a process that was started anew"
    " (`spawn` in multiprocessing)"
)

_FORKING: Final = threading.RLock()
"""Held by whoever forks, and while a file is open that is not known, or known that is not open."""
_HANDLES: Final["WeakSet[Handle]"] = WeakSet()
_DATABASES: Final["WeakSet[Any]"] = WeakSet()
_INHERITED: Final[list[Any]] = []


class Handle:
    """A file that is open for the sake of its lock, until it is closed, or until nobody has this object any more.

    Whoever opened it may have been interrupted.
    Raises OSError.
    """

    _number: int | None = None

    def __init__(self, path: Path, flags: int = os.O_RDONLY) -> None:
        with _FORKING:
            self._number = os.open(path, flags, 0o666)
            _HANDLES.add(self)

    def fileno(self) -> int:
        """Its number, by which the system knows it."""
        if self._number is None:
            raise OSError(errno.EBADF, "it is closed")
        return self._number

    def again(self) -> "Handle":
        """The same, open until both are closed: they have one lock."""
        other = Handle.__new__(Handle)
        with _FORKING:
            other._number = os.dup(self.fileno())
            _HANDLES.add(other)
        return other

    def close(self) -> None:
        """Close it, and give up its lock."""
        with _FORKING:
            number, self._number = self._number, None
            if number is not None:
                os.close(number)

    __del__ = close


class Connection(sqlite3.Connection):
    """A connection that `leave_alone` can know."""

    def close(self) -> None:
        """Close it."""
        super().close()
        closed(self)


def leave_alone(database: Any) -> None:
    """Have children leave a database alone that was just opened."""
    _DATABASES.add(database)


def closed(database: Any) -> None:
    """Take note that it is closed."""
    _DATABASES.discard(database)


def refuse_heirs() -> None:
    """Raise StoreUnavailable if this process inherited a database: the engine was seen to wait for ever there, whichever store was opened."""
    if _INHERITED:
        raise StoreUnavailable(FORKED)


def _inherit() -> None:
    """In a child; nothing may ever close the databases, not even the end of the interpreter."""
    _FORKING.release()
    for handle in list(_HANDLES):
        handle.close()
    _INHERITED.extend(_DATABASES)
    if _INHERITED:
        import ctypes

        for database in _INHERITED:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_inherit)
