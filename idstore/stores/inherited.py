"""What is open, and what becomes of it where whoever opened it is interrupted, or the process forks.

A child gives up the locks that it inherits: it would hold them as long as it lives, whatever its parent does. But databases it neither uses nor
closes: closing acts on files by their names, where others may have written by then; and neither SQLite nor the engine knows of children. What SQLite
keeps of a file that is open is the parent's, so that a child opens none of those again. The engine's threads stayed with the parent, so that a
child opens an engine to read alone, for writing waits for them; `idstore.stores.elsewhere` has another process write.
"""

import errno
import fcntl
import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from idstore.errors import StoreUnavailable

FORKED: Final = (
    "the store was opened by another process, of which this one is a fork; use it there, or open it in a process that was started anew"
    " (`spawn` in multiprocessing)"
)
_WITHOUT_THREADS: Final = (
    "this process is a fork of one that had a store open, and what is asked for needs threads of the engine that stayed there;"
    " ask for it in a process that was started anew (`spawn` in multiprocessing)"
)

_STREAMS: Final = 2
"""The highest number of a standard stream."""
_FORKING: Final = threading.RLock()
"""Held by whoever forks, and while a file is open that is not known, or known that is not open."""
_HANDLES: Final["WeakSet[Handle]"] = WeakSet()
_DATABASES: Final["WeakSet[Any]"] = WeakSet()
_INHERITED: Final[list[Any]] = []


class _Engine:
    """What was done with it in this process, and those that it is a fork of.

    used        whether one was opened: it starts its threads then, once in a process.
    threadless  whether they stayed elsewhere.
    """

    used = False
    threadless = False


class Handle:
    """A file that is open for the sake of its lock, until it is closed, or until nobody has this object any more.

    Whoever opened it may have been interrupted.
    Raises OSError.
    """

    _number: int | None = None

    def __init__(self, path: Path, flags: int = os.O_RDONLY) -> None:
        with _FORKING:
            self._number = _beyond_streams(os.open(path, flags, 0o666))
            _HANDLES.add(self)

    def fileno(self) -> int:
        """Its number, by which the system knows it."""
        if self._number is None:
            raise OSError(errno.EBADF, "it is closed")
        return self._number

    @classmethod
    def of(cls, number: int) -> "Handle":
        """The open file that another process gave to this one under a number."""
        given = cls.__new__(cls)
        with _FORKING:
            given._number = number
            _HANDLES.add(given)
        return given

    def again(self) -> "Handle":
        """The same, open until both are closed: they have one lock."""
        other = Handle.__new__(Handle)
        with _FORKING:
            other._number = fcntl.fcntl(self.fileno(), fcntl.F_DUPFD_CLOEXEC, _STREAMS + 1)
            _HANDLES.add(other)
        return other

    def close(self) -> None:
        """Close it, and give up its lock."""
        with _FORKING:
            number, self._number = self._number, None
            if number is not None:
                os.close(number)

    __del__ = close


def _beyond_streams(number: int) -> int:
    """An open file under a number that no standard stream has: those a process replaces that is started with streams of its own."""
    if number > _STREAMS:
        return number
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _STREAMS + 1)
    finally:
        os.close(number)


class Connection(sqlite3.Connection):
    """A connection to a file, that `leave_alone` can know."""

    file: tuple[int, int]

    def close(self) -> None:
        """Close it, unless it is the parent's."""
        if not is_inherited(self):
            super().close()
            closed(self)


def leave_alone(database: Any) -> None:
    """Have children leave a database alone that was just opened."""
    _DATABASES.add(database)


def closed(database: Any) -> None:
    """Take note that it is closed."""
    _DATABASES.discard(database)


def identity(file: Path) -> tuple[int, int]:
    """By what a file is known, whatever its name. Raises OSError."""
    found = file.stat()
    return found.st_dev, found.st_ino


def refuse_heirs(file: Path) -> None:
    """Raise StoreUnavailable if this process inherited a connection to a file, as far as it is there. Raises OSError."""
    theirs = {database.file for database in _INHERITED if isinstance(database, Connection)}
    if theirs and file.exists() and identity(file) in theirs:
        raise StoreUnavailable(FORKED)


def lacks_threads() -> bool:
    """Whether this process cannot have an engine write: it is a fork of one that did."""
    return _Engine.threadless


def need_threads() -> None:
    """To be called before an engine is opened to write. Raises StoreUnavailable if this process cannot have one write."""
    if _Engine.threadless:
        raise StoreUnavailable(_WITHOUT_THREADS)
    start_threads()


def start_threads() -> None:
    """To be called before an engine is opened, to read as well: a fork will lack what it starts."""
    _Engine.used = True


def is_inherited(database: Any) -> bool:
    """Whether a database is the parent's, which it alone may close."""
    return any(one is database for one in _INHERITED)


def _inherit() -> None:
    """In a child; nothing may ever close the databases, not even the end of the interpreter, nor the engine look for its threads in that of the process."""
    _FORKING.release()
    _Engine.threadless |= _Engine.used
    for handle in list(_HANDLES):
        handle.close()
    _INHERITED.extend(_DATABASES)
    if _INHERITED or _Engine.used:
        import ctypes

        for database in _INHERITED:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
        with suppress(AttributeError):  # a system without it: there a child must end with `os._exit`
            system = ctypes.CDLL(None)
            system.on_exit(system._exit, None)
            system.on_exit(system.fcloseall, None)  # comes before it


os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_inherit)
