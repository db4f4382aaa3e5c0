"""Snapshots: frozen states of a store, read without its lock by queries and by readers in other processes.

A snapshot is a folder ``snapshots/GENERATION-MARK``. It contains the engine as of that journal row and, once
published for other processes, the catalogue. All readers of a state share its snapshot, each with a shared
lock on a file in it. A process that gets the exclusive lock at once removes a superseded snapshot. Unfinished
snapshots of killed processes are recognised and removed the same way.
"""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from idstore.forks import LockHandle
from idstore.permissions import conform, conform_tree
from idstore.stores.files import GENERATION, discard, sync_tree
from idstore.stores.projection.generation import CATALOGUE
from idstore.stores.projection.oxigraph import ENGINE

_IN_USE: Final = "in-use"
_DRAFT: Final = "draft-"
_NO_NUMBER: Final = -1
_MAX_AGE: Final = 60.0
"""Seconds after which an unlocked draft, or a remaining request, counts as abandoned."""


class Use:
    """A reader's hold on a snapshot, until released.

    origin  the store's UUID.
    """

    def __init__(self, folder: Path, handle: LockHandle) -> None:
        self.folder = folder
        self.origin = os.pread(handle.fileno(), 100, 0).decode(errors="replace")
        self._handle = handle

    @property
    def made(self) -> float:
        """Time at which the snapshot was made, seconds since 1970."""
        return os.fstat(self._handle.fileno()).st_mtime

    @property
    def engine(self) -> Path:
        """Folder of the engine."""
        return self.folder / ENGINE

    def is_of(self, generation: Path) -> bool:
        """Whether the snapshot is of a generation."""
        return _order(self.folder.name)[0] == _number(generation)

    @property
    def has_catalogue(self) -> bool:
        """Whether the snapshot includes the catalogue."""
        return (self.folder / CATALOGUE).exists()

    def complete(self, copy: Callable[[Path], None]) -> None:
        """Add the catalogue of the same state, which ``copy`` writes to a file on disk.

        Raises OSError, sqlite3.Error.
        """
        draft = self.folder / f"{_DRAFT}{secrets.token_hex(8)}"
        try:
            copy(draft)
            conform(draft)
            draft.rename(self.folder / CATALOGUE)
        finally:
            draft.unlink(missing_ok=True)

    def release(self) -> None:
        """Release the snapshot."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Snapshots:
    """The snapshots of a store, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._requests = folder / "requests"

    def use(self, name: str) -> Use | None:
        """Return a hold on a snapshot, None if there is none of that name. Cost: about 20 µs."""
        place = self.folder / name / _IN_USE
        try:
            handle = LockHandle(place)
        except OSError:
            return None
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if _is_at(handle, place):  # it was not removed before the lock was obtained
                return Use(place.parent, handle)
        handle.close()
        return None

    def newest(self) -> Use | None:
        """Return a hold on the newest snapshot that has a catalogue, None if there is none."""
        for name in sorted(self._names(), key=_order, reverse=True):
            use = self.use(name)
            if use is not None and use.has_catalogue:
                return use
            if use is not None:
                use.release()
        return None

    def make(self, origin: str, fill: Callable[[Path], str]) -> Use:
        """Create a snapshot and return a hold on it.

        ``fill`` writes the engine to the given folder and returns the name.
        The snapshot is on disk before it gets its name. If another process has created one of that name,
        return that one. Raises OSError, and the errors of ``fill``.
        """
        _make_folder(self.folder)
        draft, handle = self._new_draft()
        name = ""
        try:
            os.write(handle.fileno(), origin.encode())
            name = fill(draft / ENGINE)
            conform_tree(draft)
            sync_tree(draft)
            draft.rename(self.folder / name)
        except BaseException as error:
            handle.close()
            discard([draft])
            others = self.use(name) if name and isinstance(error, OSError) else None
            if others is None:
                raise
            return others
        return Use(self.folder / name, handle)

    def _new_draft(self) -> tuple[Path, LockHandle]:
        """Create the folder of a draft, locked. Raises OSError."""
        while True:
            draft = self.folder / f"{_DRAFT}{secrets.token_hex(8)}"
            _make_folder(draft)
            handle = LockHandle(draft / _IN_USE, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_SH)
                if _is_at(handle, draft / _IN_USE):  # no sweep removed it before the lock was obtained
                    conform(draft / _IN_USE)
                    return draft, handle
            except BaseException:
                handle.close()
                discard([draft])
                raise
            handle.close()

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a folder on the store's disk, in use until the end of the block. Raises OSError."""
        _make_folder(self.folder)
        draft, handle = self._new_draft()
        try:
            yield draft
        finally:
            handle.close()
            discard([draft])

    def sweep(self, keep: str | None = None) -> None:
        """Remove every unused snapshot but ``keep``, as far as possible.

        Cost: almost none without snapshots.
        """
        for name in self._names():
            if name != keep:
                _remove(self.folder / name)
        for request in _entries(self._requests):
            if _age(request) > _MAX_AGE:
                self.withdraw(request)

    def sweep_former(self, generation: Path) -> bool:
        """Remove every unused snapshot of another generation. Return whether nothing of others may remain.

        A draft may be of another one. It stays, because its maker may not have locked it yet.
        Cost: about 10 µs without snapshots of others.
        """
        number = _number(generation)
        for name in self._names():
            if _order(name)[0] not in (number, _NO_NUMBER):
                _remove(self.folder / name)
        return all(_order(name)[0] == number for name in self._names())

    def _names(self) -> list[str]:
        return [entry.name for entry in _entries(self.folder) if entry != self._requests]

    # a reader requests a snapshot with an empty file; the process that holds the store writes a name into it

    def ask(self) -> Path:
        """Request a complete snapshot of the present state. Raises OSError."""
        _make_folder(self.folder)
        _make_folder(self._requests)
        request = self._requests / secrets.token_hex(8)
        request.touch(exist_ok=False)
        conform(request)
        return request

    def withdraw(self, request: Path) -> None:
        """Remove a request, answered or not. One that cannot be removed, such as another user's, stays."""
        with suppress(OSError):
            request.unlink()

    def answered(self, request: Path) -> Use | None:
        """Return a hold on the snapshot that answers a request, None while there is no answer."""
        try:
            name = request.read_text()
        except OSError:
            return None
        return self.use(name) if name else None

    def unanswered(self) -> list[Path]:
        """Return the requests without an answer. Cost: about 10 µs without requests."""
        return [
            request for request in _entries(self._requests) if "." not in request.name and _size(request) == 0
        ]

    def answer(self, requests: list[Path], use: Use) -> list[Path]:
        """Answer requests with a snapshot, and return the requests that cannot be answered.

        Keep the snapshot until the readers had time to take hold of it.
        """
        return [request for request in requests if not self._answer(request, use)]

    def _answer(self, request: Path, use: Use) -> bool:
        draft = request.with_suffix(".answer")
        try:
            draft.write_text(use.folder.name)
            if request.exists():  # the reader still waits
                draft.rename(request)
            draft.unlink(missing_ok=True)
        except OSError:
            self.withdraw(draft)
            return False
        return True


def _is_at(handle: LockHandle, place: Path) -> bool:
    """Whether the locked file is still in its place. Raises OSError, except if nothing is there."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), place.stat())
    except FileNotFoundError:
        return False


def _make_folder(folder: Path) -> None:
    """Create a folder unless it exists, for the people who may use its parent. Raises OSError."""
    with suppress(FileExistsError):
        folder.mkdir()
        conform(folder)


def name_of(generation: Path, mark: int) -> str:
    """Return the snapshot name of a generation that has every row up to its mark."""
    return f"{_number(generation)}-{mark}"


def _number(generation: Path) -> int:
    return int(generation.name.removeprefix(GENERATION))


def mark_of(name: str) -> int:
    """Return the mark in a snapshot's name."""
    return _order(name)[-1]


def _order(name: str) -> tuple[int, ...]:
    generation, _, mark = name.partition("-")
    return (int(generation), int(mark)) if generation.isdecimal() and mark.isdecimal() else (_NO_NUMBER,)


def _remove(folder: Path) -> None:
    """Remove a snapshot or a draft unless it is in use."""
    try:
        handle = LockHandle(folder / _IN_USE)
    except OSError:
        if _age(folder) > _MAX_AGE:
            discard([folder])
        return
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft = folder.with_name(f"{_DRAFT}{secrets.token_hex(8)}")
        folder.rename(draft)
        discard([draft])
    handle.close()


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    """Return the size of a regular file; -1 for anything else or if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return -1
    return status.st_size if stat.S_ISREG(status.st_mode) else -1
