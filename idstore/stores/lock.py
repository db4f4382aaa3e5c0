"""The lock of a store's directory: one writer, or several readers."""

import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from idstore.errors import StoreBusy, StoreUnavailable
from idstore.stores.background import start
from idstore.stores.inherited import Handle

_CLOSED = 0.5
"""Seconds for which a writer keeps readers out, at most."""
_OPEN = 0.1
"""Seconds until it does so again."""
_LOOK = 0.02
"""Seconds between two looks whether it is still worth to wait."""
_MOVES = 3
"""How often the folder may be exchanged for another one while somebody waits."""


class DirectoryLock:
    """An advisory lock on a file of the directory, dropped by the system when its process ends, so that none is ever stale.

    It is given up as well when nobody has this object any more. While it holds the lock, a writer leaves its process number in the file, for the
    message of whoever waits in vain.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = path.absolute()  # wherever the process goes
        self._file: Handle | None = None
        self._writes = False

    def acquire(self, *, shared: bool, wait: float, unless: Callable[[], bool] | None = None) -> None:
        """Take the lock within ``wait`` seconds.

        unless  asked again and again while it waits; ends the wait when it says so.
        Raises StoreBusy, naming the process that holds it; StoreUnavailable when the file cannot be opened.
        """
        limit = time.monotonic() + wait
        handle = self._read_in(limit, unless or _never) if shared else self._write_in(limit)
        if handle is None:
            holder = self._holder()
            raise StoreBusy(
                f"the store {self._path.parent} is in use by {holder}, and did not become free within {wait:g} s;"
                " try again, or wait longer with --wait",
                holder=holder,
                wait=wait,
            )
        if not shared:
            with suppress(OSError):  # a full disk: then nobody knows who holds it
                os.truncate(handle.fileno(), 0)
                os.pwrite(handle.fileno(), f"process {os.getpid()}".encode(), 0)
        self._file, self._writes = handle, not shared

    def _read_in(self, limit: float, unless: Callable[[], bool]) -> Handle | None:
        """Take the shared lock; behind a writer that closed the gate. None if it was not had in time."""
        with self._gate(fcntl.LOCK_SH, limit, unless) as passed:
            return self._take(fcntl.LOCK_SH, limit, unless) if passed else None

    def _write_in(self, limit: float) -> Handle | None:
        """Take the exclusive lock; None if it was not had in time.

        Readers who come one after the other would keep a writer out for ever: it closes the gate to them. Not for long, since there may
        be one inside who does not leave.
        """
        handle = self._take(fcntl.LOCK_EX, 0)
        while handle is None and time.monotonic() < limit:
            with self._gate(fcntl.LOCK_EX, limit) as closed:
                if closed:
                    handle = self._take(fcntl.LOCK_EX, min(limit, time.monotonic() + _CLOSED))
            if handle is None:
                handle = self._take(fcntl.LOCK_EX, min(limit, time.monotonic() + _OPEN))
        return handle

    @contextmanager
    def _gate(self, kind: int, limit: float, unless: Callable[[], bool] | None = None) -> Iterator[bool]:
        """Hold the gate, a lock on the directory itself. Gives whether it was had in time."""
        handle = _take(Handle(self._path.parent), kind, limit, unless or _never)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                handle.close()

    def _take(self, kind: int, limit: float, unless: Callable[[], bool] | None = None) -> Handle | None:
        """Take the lock of the file that is there then: who waits may have opened that of a folder that was moved away. None if it was not had in time."""
        for _ in range(_MOVES):
            handle = _take(self._open(shared=kind == fcntl.LOCK_SH), kind, limit, unless or _never)
            if handle is None or self._is(handle):
                return handle
            handle.close()
        return None

    def _is(self, handle: Handle) -> bool:
        with suppress(FileNotFoundError, NotADirectoryError):
            return os.path.samestat(os.fstat(handle.fileno()), self._place.stat())
        return False

    def _open(self, *, shared: bool) -> Handle:
        try:
            return Handle(self._path, os.O_RDONLY if shared and self._path.exists() else os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StoreUnavailable(
                f"the store's lock {self._path} cannot be opened: {error.strerror}; free some space, or check the folder's permissions"
            ) from error

    def _holder(self) -> str:
        """Who holds the lock, as far as is known: the number of a writer that was killed stays behind."""
        try:
            said = self._path.read_text(errors="replace")[:200]
        except OSError:
            return "another process"
        return "a reading process" if not said else "another process" if _is_gone(said) else said

    def again(self) -> "DirectoryLock":
        """The same lock, held until this one and that one are released."""
        assert self._file is not None
        other = DirectoryLock(self._path)
        other._file = self._file.again()
        return other

    def check(self) -> None:
        """Raise StoreUnavailable where the file that is locked is not the one that is there by now."""
        if self._file is None or not self._is(self._file):
            place = self._path.parent
            raise StoreUnavailable(f"the store at {place} was moved, removed or replaced meanwhile; open it where it is", path=str(place))

    def fileno(self) -> int:
        """The number of the open file that is locked, for another process to be given it."""
        assert self._file is not None
        return self._file.fileno()

    @classmethod
    def of(cls, path: Path, number: int) -> "DirectoryLock":
        """The same lock in a process that was given it, held until that one is released as well."""
        given = cls(path)
        given._file = Handle.of(number)
        return given

    def release(self) -> None:
        """Give the lock up."""
        handle, self._file = self._file, None
        if handle is not None:
            if self._writes:
                with suppress(OSError):  # it is the next one's to say who holds it
                    os.truncate(handle.fileno(), 0)
            handle.close()


def _is_gone(holder: str) -> bool:
    """Whether the process that a text names has ended."""
    _, _, number = holder.partition(" ")
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):  # somebody else's, or no number
        return False
    return False


def _never() -> bool:
    return False


def _take(handle: Handle, kind: int, limit: float, unless: Callable[[], bool] = _never) -> Handle | None:
    """Lock an open file, which is given back; None, and it is closed, if the lock was not had in time.

    Waiters queue in the kernel, so that none is passed over for ever.
    """
    if _try(handle, kind):
        return handle
    if time.monotonic() >= limit:
        handle.close()
        return None
    # a thread that blocks in the kernel keeps its place in the queue; polling would not
    waiter = _Waiter(handle, kind)
    try:
        while not waiter.done.wait(max(0.0, min(_LOOK, limit - time.monotonic()))) and time.monotonic() < limit and not unless():
            continue
    except BaseException:
        if waiter.leave():
            handle.close()
        raise
    if not waiter.leave():
        return None
    if waiter.failure is not None:
        handle.close()
        raise _without_locks(waiter.failure)
    return handle


def _try(handle: Handle, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        handle.close()
        raise _without_locks(error) from error
    return True


def _without_locks(error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the store's file system refuses locks: {error.strerror}")


class _Waiter:
    """A thread in the queue for a lock. If it is left, it closes the file when it gets the lock after all."""

    def __init__(self, handle: Handle, kind: int) -> None:
        self.done = threading.Event()
        self.failure: OSError | None = None
        self._handle = handle
        self._kind = kind
        self._left = False
        self._deciding = threading.Lock()
        start(threading.Thread(target=self._block, daemon=True, name="idstore-lock"))

    def _block(self) -> None:
        try:
            fcntl.flock(self._handle, self._kind)
        except OSError as error:
            self.failure = error
        with self._deciding:
            self.done.set()
            if self._left:
                self._handle.close()

    def leave(self) -> bool:
        """Wait no longer. Whether the lock was had."""
        with self._deciding:
            self._left = not self.done.is_set()
            return not self._left
