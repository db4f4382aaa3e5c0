"""Protection of open stores against forks of the process.

A forked child inherits locks, SQLite connections and engines that it cannot use. An inherited lock would be
held as long as the child lives. Neither SQLite nor the engine supports forks, and the engine's threads stay
in the parent. So a child drops inherited locks, and neither uses nor closes inherited databases: closing
changes files by name, although other processes may have written them meanwhile. After its parent had an
engine open, a child cannot open a store; a newly started process can.
"""

import errno
import fcntl
import os
import sqlite3
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from idstore.errors import StoreForked

_NO_ENGINE: Final = (
    "this process was forked from one that had a store open, and cannot open a store itself;"
    " open it in a newly started process (`spawn` in multiprocessing)"
)

_STREAMS: Final = 2
"""The highest number of a standard stream."""
_FORKING: Final = threading.RLock()
"""Held during a fork, and while a handle is opened or closed, so that a child knows every open handle."""
_HANDLES: Final["WeakSet[LockHandle]"] = WeakSet()
_DATABASES: Final["WeakSet[Any]"] = WeakSet()
_INHERITED: Final[list[Any]] = []


class _Engines:
    """State of the engine in this process.

    opened   an engine was opened in this process: then the engine starts its threads, once per process.
    forked   an engine was opened in an ancestor of this forked process.
    """

    opened = False
    forked = False


class LockHandle:
    """A file that is open for its lock.

    It is closed by `close`, by the garbage collector, or in a forked child.
    Raises OSError.
    """

    _number: int | None = None

    def __init__(self, path: Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> None:
        with _FORKING:
            self._number = _above_streams(os.open(path, flags, mode))
            _HANDLES.add(self)

    def fileno(self) -> int:
        """Return the file descriptor. Raises OSError: the handle is closed."""
        if self._number is None:
            raise OSError(errno.EBADF, "it is closed")
        return self._number

    def duplicate(self) -> "LockHandle":
        """Return a second handle of the same open file: the lock is held until both are closed."""
        other = LockHandle.__new__(LockHandle)
        with _FORKING:
            other._number = _duplicate(self.fileno())  # noqa: SLF001 an instance of the same class
            _HANDLES.add(other)
        return other

    def close(self) -> None:
        """Close the file, which releases its lock."""
        if sys.is_finalizing():  # a thread that the interpreter ended may hold `_FORKING` for ever
            self._close()
        else:
            with _FORKING:
                self._close()

    def _close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    __del__ = close


def _above_streams(number: int) -> int:
    """Return the same open file under a number above the standard streams, which a program may replace."""
    if number > _STREAMS:
        return number
    try:
        return _duplicate(number)
    finally:
        os.close(number)


def _duplicate(number: int) -> int:
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _STREAMS + 1)


class Connection(sqlite3.Connection):
    """A SQLite connection that a forked child does not close.

    file  device and inode of its file, once it is registered.
    """

    file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connection unless it is inherited."""
        if not is_inherited(self):
            super().close()
            unregister(self)


def register(database: Any, path: Path | None = None) -> None:
    """Keep forked children from using a database: a connection with the path of its file, or an engine.

    Raises OSError.
    """
    if path is not None:
        database.file = _identity(path)
    _DATABASES.add(database)


def unregister(database: Any) -> None:
    """Forget a closed database."""
    _DATABASES.discard(database)


def is_inherited(database: Any) -> bool:
    """Whether a database was opened by the parent of this forked process; only the parent may close it."""
    return any(inherited is database for inherited in _INHERITED)


def refuse_inherited(file: Path) -> None:
    """Raise StoreForked if this process inherited a connection to a file. Raises OSError.

    SQLite keeps one record of a file's locks per process, and a child has its parent's record.
    """
    files = {database.file for database in _INHERITED if isinstance(database, Connection)}
    if files and file.exists() and _identity(file) in files:
        raise StoreForked


def _identity(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino


def leave_open(*databases: object) -> None:
    """Keep databases open for ever, even when the interpreter ends."""
    import ctypes

    for database in databases:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))


def engine_opened() -> None:
    """Record that an engine is about to be opened: later children of this process lack its threads."""
    _Engines.opened = True


def lacks_engine_threads() -> bool:
    """Whether this process was forked from one with an open engine.

    An engine on disk would wait for its threads for ever.
    """
    return _Engines.forked


def refuse_fork() -> None:
    """Raise StoreForked if this process was forked from one that had an engine open."""
    if _Engines.forked:
        raise StoreForked(_NO_ENGINE)


def _inherit() -> None:
    """In a forked child: drop locks, and keep inherited databases open, even when the interpreter ends.

    The C library's exit handlers would make the engine wait for its threads, so the child exits without them.
    """
    _FORKING.release()
    _Engines.forked |= _Engines.opened
    for handle in list(_HANDLES):
        handle.close()
    _INHERITED.extend(_DATABASES)
    if _INHERITED or _Engines.opened:
        import ctypes

        for database in _INHERITED:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
        with suppress(AttributeError):  # without on_exit in the C library, a child must end with `os._exit`
            library = ctypes.CDLL(None)
            library.on_exit(library["_exit"], None)
            library.on_exit(library.fcloseall, None)  # the last one registered runs first


os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_inherit)
