"""The lock of a store's directory: one writer, or several readers."""

import errno
import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from idstore.errors import StoreBusy, StoreUnavailable
from idstore.forks import LockHandle
from idstore.permissions import conform
from idstore.remedies import Remedy
from idstore.stores.threads import start

_LOG: Final = logging.getLogger(__name__)
_LONG: Final = 1.0
"""Seconds from which a wait for the lock is logged."""
_MAX_CLOSED = 0.5
"""Maximum seconds for which a writer keeps readers out."""
_MIN_OPEN = 0.1
"""Seconds until the writer keeps readers out again."""
_POLL_INTERVAL = 0.02
"""Seconds between two checks whether to go on waiting."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""Linux's boot ID: another one after each start of the system."""
_HOLDER: Final = re.compile(r"process (\d{1,19})")
_STARTED: Final = re.compile(r"boot (\S+)")
_MAX_MOVES = 3
"""Number of times that the folder may be replaced while a process waits."""


class DirectoryLock:
    """An advisory lock on a file of the directory.

    The system drops it when its process ends, so it is never stale.
    The lock is also released when this object is collected. A writer stores its process number in the file
    while it holds the lock, for the error of a process that waited in vain. It also stores the boot ID, once
    it has found all that was written before, so that the next writer knows whether unsynced writes can be
    lost.

    restarted  whether the system may have started since a writer said `found_whole`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = path.absolute()  # independent of later changes of the working directory
        self._file: LockHandle | None = None
        self._opened: list[LockHandle] = []  # by an `acquire` that may have been interrupted
        self._writes = False
        self.restarted = False

    def acquire(self, *, shared: bool, wait: float, unless: Callable[[], bool] | None = None) -> None:
        """Take the lock within ``wait`` seconds.

        unless  called repeatedly; a true result ends the wait.
        An interrupt can come when the lock is held already: the caller calls `release` in any case.
        Raises StoreBusy, naming the process that holds the lock; StoreUnavailable: the file cannot be opened.
        """
        begun = time.monotonic()
        deadline = begun + wait
        handle = self._lock_shared(deadline, unless or _never) if shared else self._lock_exclusive(deadline)
        if (waited := time.monotonic() - begun) >= _LONG:
            _LOG.info("%s: waited %.1f s for other processes", self._path.parent, waited)
        if handle is None:
            holder = self._holder()
            by = f"process {holder}" if holder else "another process, or by readers"
            raise StoreBusy(
                f"the store {self._path.parent} is in use by {by}, and did not become free"
                f" within {wait:g} s; try again, or wait longer",
                holder=holder,
                wait=wait,
                remedy=Remedy.WAIT_LONGER,
            )
        self.restarted = not _boot() or _STARTED.findall(self._text()) != [_boot()]
        if not shared:
            self._write(handle, f"process {os.getpid()}\n" + ("" if self.restarted else _this_boot()))
        self._file, self._writes = handle, not shared
        self._opened.clear()

    def found_whole(self) -> None:
        """Note that no write from before the system's start is lost, for the writers until the next start."""
        if self._file is not None:
            self.restarted = False
            self._write(self._file, f"process {os.getpid()}\n{_this_boot()}")

    @staticmethod
    def _write(handle: LockHandle, text: str) -> None:
        with suppress(OSError):  # on a full disk the holder stays unnamed, and the next writer looks again
            os.truncate(handle.fileno(), 0)
            os.pwrite(handle.fileno(), text.encode(), 0)

    def _lock_shared(self, deadline: float, unless: Callable[[], bool]) -> LockHandle | None:
        """Take the shared lock, after any writer that closed the gate. Returns None on a timeout."""
        with self._gate(fcntl.LOCK_SH, deadline, unless) as passed:
            return self._take(fcntl.LOCK_SH, deadline, unless) if passed else None

    def _lock_exclusive(self, deadline: float) -> LockHandle | None:
        """Take the exclusive lock. Returns None on a timeout.

        A stream of readers could keep a writer out for ever, so the writer closes the gate to new readers. It
        reopens the gate soon, since a present reader may never leave.
        """
        handle = self._take(fcntl.LOCK_EX, 0)
        while handle is None and time.monotonic() < deadline:
            with self._gate(fcntl.LOCK_EX, deadline) as closed:
                if closed:
                    handle = self._take(fcntl.LOCK_EX, min(deadline, time.monotonic() + _MAX_CLOSED))
            if handle is None:
                handle = self._take(fcntl.LOCK_EX, min(deadline, time.monotonic() + _MIN_OPEN))
        return handle

    @contextmanager
    def _gate(self, kind: int, deadline: float, unless: Callable[[], bool] | None = None) -> Iterator[bool]:
        """Hold the gate, a lock on the directory itself. Yields False on a timeout."""
        directory = LockHandle(self._path.parent)
        self._opened.append(directory)
        handle = _take(directory, kind, deadline, unless or _never)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                handle.close()

    def _take(
        self, kind: int, deadline: float, unless: Callable[[], bool] | None = None
    ) -> LockHandle | None:
        """Lock the file at the path. Returns None on a timeout.

        A waiting process may have opened the file of a folder that was moved away, so the file is checked
        after locking.
        """
        for _ in range(_MAX_MOVES):
            handle = _take(self._open(shared=kind == fcntl.LOCK_SH), kind, deadline, unless or _never)
            if handle is None or self._is(handle):
                return handle
            handle.close()
        return None

    def _is(self, handle: LockHandle) -> bool:
        with suppress(OSError):  # the file is no longer visible
            return os.path.samestat(os.fstat(handle.fileno()), self._place.stat())
        return False

    def _open(self, *, shared: bool) -> LockHandle:
        try:
            existed = self._path.exists()
            handle = LockHandle(
                self._path, os.O_RDONLY if shared and existed else os.O_RDWR | os.O_CREAT, 0o600
            )
            self._opened.append(handle)
            if not existed:
                conform(self._path)
            return handle  # noqa: TRY300
        except OSError as error:
            raise StoreUnavailable(
                f"the store's lock {self._path} cannot be opened: {error.strerror};"
                " free some space, or check the folder's permissions"
            ) from error

    def _holder(self) -> int | None:
        """Return the number of the writing process that holds the lock.

        None if it is not known, or if it has ended: the number of a killed writer stays in the file.
        """
        named = _HOLDER.match(self._text())
        return None if named is None or _is_gone(int(named[1])) else int(named[1])

    def _text(self) -> str:
        try:
            return self._path.read_text(errors="replace")[:200]
        except OSError:
            return ""

    def duplicate(self) -> "DirectoryLock":
        """Return the same lock, held until both locks are released. Raises OSError: it is not held."""
        if self._file is None:
            raise OSError(f"the lock {self._path} is not held")
        other = DirectoryLock(self._path)
        other._file = self._file.duplicate()
        return other

    def is_in_place(self) -> bool:
        """Whether the locked file is still the one at the path."""
        return self._file is not None and self._is(self._file)

    def check(self) -> None:
        """Raise StoreUnavailable if the locked file is not the one at the path."""
        if not self.is_in_place():
            place = self._path.parent
            raise StoreUnavailable(
                f"the store at {place} was moved, removed or replaced meanwhile; open it where it is",
                path=str(place),
            )

    def release(self) -> None:
        """Release the lock."""
        handle, self._file = self._file, None
        if handle is not None:
            if self._writes:
                self._write(handle, "" if self.restarted else _this_boot())
            handle.close()
        while self._opened:
            self._opened.pop().close()


def _this_boot() -> str:
    return f"boot {_boot()}\n" if _boot() else ""


@cache
def _boot() -> str:
    """Return the boot ID, empty if the system has none."""
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _is_gone(process: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # another user's process
        return False
    return False


def _never() -> bool:
    return False


def _take(
    handle: LockHandle, kind: int, deadline: float, unless: Callable[[], bool] = _never
) -> LockHandle | None:
    """Lock an open file and return it. On a timeout, close it and return None.

    Waiters queue in the kernel, so that each gets its turn.
    """
    if _try(handle, kind):
        return handle
    if time.monotonic() >= deadline:
        handle.close()
        return None
    # a thread blocked in the kernel keeps its place in the queue; polling does not
    waiter = _Waiter(handle, kind)
    try:
        while (
            not waiter.done.wait(max(0.0, min(_POLL_INTERVAL, deadline - time.monotonic())))
            and time.monotonic() < deadline
            and not unless()
        ):
            continue
    except BaseException:
        if waiter.abandon():
            handle.close()
        raise
    if not waiter.abandon():
        return None
    if waiter.failure is not None:
        handle.close()
        raise _without_locks(waiter.failure)
    return handle


def _try(handle: LockHandle, kind: int) -> bool:
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
    """A thread that queues for a lock. If abandoned, it closes the file once it gets the lock."""

    def __init__(self, handle: LockHandle, kind: int) -> None:
        self.done = threading.Event()
        self.failure: OSError | None = None
        self._handle = handle
        self._kind = kind
        self._abandoned = False
        self._deciding = threading.Lock()
        start(threading.Thread(target=self._block, daemon=True, name="idstore-lock"))

    def _block(self) -> None:
        try:
            fcntl.flock(self._handle, self._kind)
        except OSError as error:
            self.failure = error
        with self._deciding:
            self.done.set()
            if self._abandoned:
                self._handle.close()

    def abandon(self) -> bool:
        """Stop waiting. Returns whether the lock was obtained."""
        with self._deciding:
            self._abandoned = not self.done.is_set()
            return not self._abandoned
