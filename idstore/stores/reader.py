"""Reading a store, whoever else uses it.

A reader takes the store's shared lock and reads the store itself. While another process holds the store for writing longer than a moment,
it reads a snapshot: that process is asked for one of its present state, and if it does not answer, the newest there is will do.
"""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pyoxigraph import NamedNode

from idstore.errors import StoreBusy, StoreDamaged, StoreUnavailable
from idstore.stores import Staging, Turn
from idstore.stores.backups import back_up
from idstore.stores.copies import SNAPSHOTS, unapplied
from idstore.stores.embedded import EmbeddedStore
from idstore.stores.founding import JOURNAL, exists
from idstore.stores.generation import CATALOGUE, Generation, OfGeneration
from idstore.stores.journal import Journal
from idstore.stores.scans import Scanning
from idstore.stores.snapshots import Snapshots, Use, name_of, pinned
from idstore.stores.telling import unnumbered

T = TypeVar("T")

_MOMENT = 0.05
"""Seconds to wait for the store itself before a snapshot is asked for."""
_ANSWER = 1.0
"""Seconds to wait for an answer at least, however short the wait for the store."""
_ATTEMPTS = 3
"""How often a store that others are ahead of is brought up and looked at again, before a snapshot is made on the spot."""
_READ_ONLY = "the store was opened for reading only; open it for writing"


class SnapshotStore(OfGeneration):
    """A snapshot as a store to read. It holds no lock of the store's; what is changed meanwhile is not seen. Raises StoreUnavailable."""

    def __init__(self, snapshots: Snapshots, used: Use, missed: StoreBusy | None = None) -> None:
        """``missed`` says why it is not known to be the newest state."""
        self.registry_version = 0
        self.behind = "" if missed is None else f"{missed}"
        self._missed = missed
        self.origin = used.origin
        self._lock = threading.RLock()
        self._snapshots = snapshots
        self._used = used
        try:
            self._generation = Generation(used.folder, read_only=True)
        except BaseException:
            used.release()
            raise

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key."""
        return self._generation.holder(claimed)

    @contextmanager
    def reading(self) -> Iterator["SnapshotStore"]:
        """The state of the snapshot."""
        with self._lock, Scanning():
            yield self

    @contextmanager
    def snapshot(self) -> Iterator[Path]:
        """The snapshot itself."""
        used = self._snapshots.use(self._used.folder.name)
        if used is None:
            folder = unnumbered(self._used.folder)
            raise StoreUnavailable(f"the snapshot {folder} is gone; open the store again", path=folder)
        with used:
            yield used.engine

    def backup(self, folder: Path) -> None:
        """Make a copy, a store itself, in a folder that is empty or not there. Raises StoreUnavailable; StoreBusy: it may lack the newest changes."""
        if self._missed is not None:
            raise self._missed
        with self.snapshot() as engine, closing(pinned(self._used.folder / CATALOGUE)) as catalogue:
            back_up(self._snapshots.folder.parent, engine, catalogue, self.origin, folder)

    def turn(self) -> AbstractContextManager[Turn]:
        """Raises StoreUnavailable."""
        raise StoreUnavailable(_READ_ONLY)

    def together(self, act: Callable[[Turn], T]) -> T:  # noqa: ARG002 nothing is done here
        """Raises StoreUnavailable."""
        raise StoreUnavailable(_READ_ONLY)

    def staging(self, *, anew: bool = False) -> AbstractContextManager[Staging]:  # noqa: ARG002 nothing begins here
        """Raises StoreUnavailable."""
        raise StoreUnavailable(_READ_ONLY)

    def close(self) -> None:
        """Let go of the snapshot."""
        self._generation.close()
        self._used.release()


def open_reader(path: Path, wait: float = 10.0, *, detached: bool = False) -> EmbeddedStore | SnapshotStore:
    """Open the store in ``path`` to read it; what others left undone is done first.

    Whoever may not do that, for he may not write there, reads the state before it where it is a few allocations: it is ``behind`` then.

    Where the process that holds it does not answer in time, the newest snapshot there is is read, and ``behind`` says so unless it has everything.

    wait      seconds to wait for another process.
    detached  read a snapshot in any case, and hold no lock: for work of the user's length. Cost: the catalogue is copied.
    Raises StoreUnavailable; StoreBusy when the process that holds the store does not answer and there is no snapshot.
    """
    snapshots = Snapshots(path / SNAPSHOTS)
    with _Request(snapshots) as request:
        limit = time.monotonic() + max(wait, _ANSWER)
        attempts = 0
        while True:
            try:
                store = EmbeddedStore(path, read_only=True, wait=limit - time.monotonic(), unless=request.answered)
            except StoreBusy as busy:
                used = request.take()
                if used is not None:
                    return SnapshotStore(snapshots, used)
                used, missed = snapshots.newest(), _too_busy(path, busy, wait)
                if used is None:
                    raise missed from busy
                return SnapshotStore(snapshots, used, None if _has_everything(path, used) else missed)
            except StoreUnavailable:  # broken by a power cut, or of an earlier format: opening it for writing mends that
                if attempts or not exists(path):
                    raise
                lags = False
            else:
                found = _as_it_is(store, snapshots, detached=detached)
                if found is not None:
                    return found
                lags = True
            attempts += 1
            used = _bring_up(path, limit, lags=lags, publish=attempts > _ATTEMPTS)
            if used is not None:
                return SnapshotStore(snapshots, used)


def _as_it_is(store: EmbeddedStore, snapshots: Snapshots, *, detached: bool) -> EmbeddedStore | SnapshotStore | None:
    """What is to be read of an open store; None, and it is closed, where something must be applied first. Raises StoreUnavailable, StoreDamaged."""
    with ExitStack() as opened:
        opened.callback(store.close)
        if not store.lags():
            opened.pop_all()
            return _detached(store, snapshots) if detached else store
        if not _may_write(store.path) and store.read_behind():
            opened.pop_all()
            return store
    return None


def _has_everything(path: Path, used: Use) -> bool:
    """Whether a snapshot has all that is durable, as far as the journal can be asked."""
    try:
        with closing(Journal(path / JOURNAL, read_only=True)) as journal:
            return used.folder.name == name_of(journal.generation, journal.last()[0])
    except StoreUnavailable:
        return False


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _bring_up(path: Path, limit: float, *, lags: bool, publish: bool) -> Use | None:
    """Apply what is acknowledged and not applied, and mend what is broken: opening for writing does it.

    lags     whether it is known that something is not applied.
    publish  give a snapshot of the state reached.
    """
    try:
        with EmbeddedStore(path, wait=max(min(limit - time.monotonic(), _ANSWER), _MOMENT)) as store:
            return store.publish() if publish else None
    except StoreBusy:  # whoever has it brings it up, or answers
        if time.monotonic() >= limit:
            raise
        return None
    except (OSError, sqlite3.Error) as error:
        if not lags or isinstance(error, StoreDamaged):
            raise
        raise unapplied(path, error) from error


class _Request:
    """A reader's request for a snapshot: made when it has waited for a moment, and taken away at the end, with an answer nobody took."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._answer: Use | None = None
        self._snapshots = snapshots
        self._file: Path | None = None
        self._due = time.monotonic() + _MOMENT

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._snapshots.withdraw(self._file)
        if self._answer is not None:  # it came just as the lock was had
            self._answer.release()

    def answered(self) -> bool:
        """Whether there is an answer."""
        if self._answer is not None:
            return True
        if time.monotonic() < self._due:
            return False
        if self._file is None:
            self._due = math.inf  # where nothing may be written nobody can be asked
            with suppress(OSError):
                self._file = self._snapshots.ask()
                self._due = 0
        if self._file is not None:
            self._answer = self._snapshots.answered(self._file)
        return self._answer is not None

    def take(self) -> Use | None:
        """The answer, if there is one: it is the caller's from now on."""
        taken, self._answer = self._answer, None
        return taken


def _too_busy(path: Path, busy: StoreBusy, wait: float) -> StoreBusy:
    holder = busy.fields["holder"]
    return StoreBusy(
        f"the store {path} is in use by {holder}, which gave no snapshot of its newest state within {wait:g} s; try again, or wait longer with --wait",
        holder=holder,
        wait=wait,
    )


def _detached(store: EmbeddedStore, snapshots: Snapshots) -> EmbeddedStore | SnapshotStore:
    """The store's present state without its lock; the store itself where nothing may be written."""
    try:
        used = store.publish()
    except (OSError, sqlite3.Error):
        return store
    store.close()
    return SnapshotStore(snapshots, used)
