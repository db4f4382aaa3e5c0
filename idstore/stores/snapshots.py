"""Snapshots: frozen states of a store that are read without its lock, by queries and by readers beside a writer.

A snapshot is a folder ``snapshots/GENERATION-SEQUENCE`` with the engine as of that sequence number, and with the catalogue once somebody
asked for it. All who want the same state share one. Whoever reads one holds a shared lock on a file in it; one that is superseded is
removed by whoever gets the exclusive lock without waiting. What a killed process left half made is recognised and removed likewise.
"""

import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from idstore import randomness
from idstore.stores.engine import ENGINE
from idstore.stores.founding import discard, sync_folder, sync_tree
from idstore.stores.generation import CATALOGUE
from idstore.stores.inherited import Handle
from idstore.stores.sqlite import connect, unreadable

_IN_USE: Final = "in-use"
_DRAFT: Final = "draft-"
_LEFT: Final = 60.0
"""Seconds after which a draft without a lock, or a request nobody took away, is taken for left behind."""


class Use:
    """One reader's hold on a snapshot, until released.

    origin  the store's UUID.
    """

    def __init__(self, folder: Path, handle: Handle) -> None:
        self.folder = folder
        self.origin = os.pread(handle.fileno(), 100, 0).decode(errors="replace")
        self._handle = handle

    @property
    def engine(self) -> Path:
        """The engine's folder."""
        return self.folder / ENGINE

    @property
    def whole(self) -> bool:
        """Whether the catalogue is there as well."""
        return (self.folder / CATALOGUE).exists()

    def complete(self, catalogue: sqlite3.Connection) -> None:
        """Copy the catalogue of this very state into the snapshot. Raises OSError, sqlite3.Error. Cost: the catalogue's size."""
        draft = self.folder / f"{_DRAFT}{randomness.word(8)}"
        try:
            with closing(sqlite3.connect(draft)) as copy:
                catalogue.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")  # read without writing anything beside it
            sync_folder(draft)
            draft.rename(self.folder / CATALOGUE)
        finally:
            draft.unlink(missing_ok=True)

    def release(self) -> None:
        """Let go of it."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


class Snapshots:
    """The snapshots of a store, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._requests = folder / "requests"

    def use(self, name: str) -> Use | None:
        """Take hold of a snapshot; None if there is none of that name. Cost: some 20 µs."""
        place = self.folder / name / _IN_USE
        try:
            handle = Handle(place)
        except OSError:
            return None
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle.fileno()), place.stat()):  # it was not removed before we had the lock
                return Use(place.parent, handle)
        handle.close()
        return None

    def newest(self) -> Use | None:
        """Take hold of the newest snapshot that has a catalogue."""
        for name in sorted(self._names(), key=_order, reverse=True):
            found = self.use(name)
            if found is not None and found.whole:
                return found
            if found is not None:
                found.release()
        return None

    def make(self, name: str, origin: str, fill: Callable[[Path], None]) -> Use:
        """Take hold of a snapshot that ``fill`` makes, given the folder where the engine goes; of another's, if one is there by then.

        It is on disk before it has its name. Raises OSError.
        """
        draft = self.folder / f"{_DRAFT}{randomness.word(8)}"
        _share(self.folder)
        _share(draft)
        handle = Handle(draft / _IN_USE, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            os.write(handle.fileno(), origin.encode())
            fill(draft / ENGINE)
            sync_tree(draft)
            draft.rename(self.folder / name)
        except BaseException as error:
            handle.close()
            discard([draft])
            others = self.use(name) if isinstance(error, OSError) else None
            if others is None:
                raise
            return others
        return Use(self.folder / name, handle)

    def sweep(self, keep: str | None = None) -> None:
        """Remove every snapshot that nobody uses, but ``keep``; what cannot be removed is left. Cost: next to none where there are none."""
        for name in self._names():
            if name != keep:
                _remove(self.folder / name)
        for request in _entries(self._requests):
            if _age(request) > _LEFT:
                self.withdraw(request)

    def _names(self) -> list[str]:
        return [entry.name for entry in _entries(self.folder) if entry != self._requests]

    # readers ask the process that holds the store for a snapshot, by an empty file; it answers by putting a name into it

    def ask(self) -> Path:
        """Ask for a whole snapshot of the present state. Raises OSError."""
        _share(self.folder)
        _share(self._requests)
        request = self._requests / randomness.word(8)
        request.touch(exist_ok=False)
        return request

    def withdraw(self, request: Path) -> None:
        """Take a request away, answered or not. One that cannot be removed, such as another user's, is left."""
        with suppress(OSError):
            request.unlink()

    def answered(self, request: Path) -> Use | None:
        """Take hold of the snapshot that answers a request; None while there is no answer."""
        try:
            name = request.read_text()
        except OSError:
            return None
        return self.use(name) if name else None

    def asked(self) -> list[Path]:
        """Requests without an answer. Cost: some 10 µs where there are none."""
        return [request for request in _entries(self._requests) if "." not in request.name and _size(request) == 0]

    def answer(self, requests: list[Path], used: Use) -> list[Path]:
        """Answer requests with a snapshot; it is to be kept until they had time to take hold of it. Returns those that cannot be answered."""
        return [request for request in requests if not self._answer(request, used)]

    def _answer(self, request: Path, used: Use) -> bool:
        draft = request.with_suffix(".answer")
        try:
            draft.write_text(used.folder.name)
            if request.exists():  # whoever asked still waits
                draft.rename(request)
            draft.unlink(missing_ok=True)
        except OSError:
            self.withdraw(draft)
            return False
        return True


def pinned(catalogue: Path) -> sqlite3.Connection:
    """A connection to a catalogue that goes on seeing its present state, whatever is written. Raises StoreUnavailable."""
    try:
        with ExitStack() as opened:
            connection = opened.enter_context(closing(connect(catalogue, read_only=True)))
            connection.execute("BEGIN")
            connection.execute("SELECT * FROM meta").fetchall()
            opened.pop_all()
    except sqlite3.DatabaseError as error:
        raise unreadable(catalogue, error) from error
    return connection


def _share(folder: Path) -> None:
    """Make a folder, unless it is there, that whoever may use the one above it can use as well, whatever this process's umask. Raises OSError.

    What root makes belongs to the owner of the one above.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        return
    with suppress(OSError):  # not a member of that group, or a disk without permissions: it stays as it was made
        handle = Handle(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            above, made = folder.parent.stat(), os.fstat(handle.fileno())
            owner = above.st_uid if os.geteuid() == 0 else made.st_uid
            if (owner, above.st_gid) != (made.st_uid, made.st_gid):
                os.fchown(handle.fileno(), owner, above.st_gid)
            os.fchmod(handle.fileno(), above.st_mode & (stat.S_ISGID | stat.S_IRWXG | stat.S_IRWXO) | stat.S_IRWXU)
        finally:
            handle.close()


def name_of(generation: int, sequence: int) -> str:
    """What the snapshot of a generation is called that has everything up to a sequence number."""
    return f"{generation}-{sequence}"


def _order(name: str) -> tuple[int, ...]:
    generation, _, sequence = name.partition("-")
    return (int(generation), int(sequence)) if generation.isdecimal() and sequence.isdecimal() else (-1,)


def _remove(folder: Path) -> None:
    """Remove a snapshot or a draft unless somebody uses it."""
    try:
        handle = Handle(folder / _IN_USE)
    except OSError:
        if _age(folder) > _LEFT:
            discard([folder])
        return
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        doomed = folder.with_name(f"{_DRAFT}{randomness.word(8)}")
        folder.rename(doomed)
        discard([doomed])
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
    """The size of a file; -1 for anything else, and for nothing."""
    try:
        found = path.stat()
    except OSError:
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1
