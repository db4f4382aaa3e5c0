"""Reading a store while other processes use it.

A reader takes the store's shared lock and reads the store directly. If a writer holds the store longer than a
moment, the reader requests a snapshot of the present state from it. Without an answer, the reader uses the
newest existing snapshot, and `behind` says so.
"""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self, TypeVar

from idstore import forks
from idstore.errors import StoreBusy, StoreClosed, StoreDamaged, StoreForked, StoreReadOnly, StoreUnavailable
from idstore.progress import Progress
from idstore.remedies import Remedy
from idstore.stores import backup, files, recovery
from idstore.stores.contract import Answer, Runner
from idstore.stores.ledger.contract import Ledger
from idstore.stores.ledger.forms import check_form
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.lock import DirectoryLock
from idstore.stores.pinned import PinnedView, files_in_use
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.generation import CATALOGUE, FAILURES, Generation
from idstore.stores.projection.oxigraph import ENGINE, copy_files
from idstore.stores.snapshots import Snapshots, Use, mark_of, name_of
from idstore.stores.store import DirectoryStore
from idstore.stores.views import EngineView

T = TypeVar("T")

_MOMENT: Final = 0.05
"""Seconds to wait for the store itself before requesting a snapshot."""
_ANSWER: Final = 1.0
"""Minimum seconds to wait for an answer, even if the wait for the store is shorter."""
_ATTEMPTS: Final = 3
"""Number of attempts to bring a changing store up to date before a snapshot is made."""


class ReadOnlyStore:
    """A read-only store over an immutable generation.

    The generation is the store's own under its shared lock, or a snapshot.

    behind     why the state may not be the newest; empty if it is.
    mark       number of the last journal row that the state contains.
    resources  everything to close with the store.
    use        hold on the snapshot; None under the shared lock.
    """

    def __init__(
        self,
        path: Path,
        generation: Generation,
        ledger: Ledger,
        mark: int,
        runner: Runner[Answer] | None,
        resources: ExitStack,
        *,
        use: Use | None = None,
        stale_error: StoreBusy | None = None,
    ) -> None:
        self.path, self.origin = path, ledger.origin
        self.behind = "" if stale_error is None else f"{stale_error}"
        self.mark = mark
        self._generation, self._ledger, self._runner, self._resources = generation, ledger, runner, resources
        self._use, self._stale_error = use, stale_error
        self._lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()

    # reading

    def read(self, question: Callable[[EngineView], T]) -> T:
        """Return the result of a question."""
        self._check()
        with self._lock:
            self._check()
            generation = self._generation
            view = EngineView(
                generation.engine, generation.catalogue.questions, self._ledger.claim, self.mark, 0
            )
            try:
                return question(view)
            finally:
                view.end()

    def snapshot(self) -> PinnedView:
        """Return a view of the same state."""
        self._check()
        generation = self._generation
        return PinnedView(
            generation.engine,
            generation.catalogue.questions,
            self._ledger,
            self.mark,
            0,
            self._runner,
            faults=self._faults,
            kept=self,
        )

    def _faults(self, progress: Progress) -> Iterator[str]:
        """Yield faults of the store's own files; for a snapshot too, since it shares most of them."""
        generation = self._generation
        if self._use is None:
            yield from self._ledger.faults()
            yield from generation.faults(progress)
            return
        present = files.generation_folder(self.path, self._ledger.generation)
        try:
            with closing(Catalogue(present / CATALOGUE, read_only=True)) as catalogue:
                yield from files_in_use(
                    present / ENGINE,
                    catalogue,
                    self._ledger,
                    self.mark,
                    self._use.folder.parent,
                    generation.engine,
                    progress,
                )
        except StoreUnavailable as error:
            yield error.message

    def backup(self, folder: str | PathLike[str]) -> None:
        """Copy the state, as a store, into an empty or missing folder."""
        self._check()
        if self._stale_error is not None:
            raise self._stale_error
        backup.back_up(self.path, self._publish, self._ledger, files.folder(folder))

    def _publish(self) -> Use:
        """Return a snapshot of this state, with its catalogue.

        Raises StoreUnavailable, OSError, sqlite3.Error.
        """
        snapshots = Snapshots(self.path / files.SNAPSHOTS)
        generation = self._generation
        name = name_of(generation.folder, self.mark) if self._use is None else self._use.folder.name

        def fill(target: Path) -> str:
            copy_files(generation.folder / ENGINE, target, (".sst", ".log"))
            return name

        use = snapshots.use(name)
        if use is None:
            use = snapshots.make(self.origin, fill)
            snapshots.sweep(keep=name)
        try:
            if not use.has_catalogue:
                use.complete(generation.catalogue.copy)
        except BaseException:
            use.release()
            raise
        return use

    def detached(self) -> "ReadOnlyStore":
        """Return this state without the store's lock, or this store itself if the folder is not writable."""
        try:
            use = self._publish()
        except (OSError, sqlite3.Error):
            return self
        self.close()
        return open_snapshot(self.path, use, self._runner)

    # changes are refused

    def write(self, act: Callable[..., object]) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: the store is read-only."""
        raise StoreReadOnly

    def bulk(self, *, fresh: bool = False) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: the store is read-only."""
        raise StoreReadOnly

    # closing

    def close(self) -> None:
        """Release the state."""
        if os.getpid() == self._process:
            with self._lock:
                self._closed = True
                self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StoreForked
        if self._closed:
            raise StoreClosed


def open_snapshot(
    path: Path, use: Use, runner: Runner[Answer] | None, stale_error: StoreBusy | None = None
) -> ReadOnlyStore:
    """Open a snapshot of the store at ``path``, without the store's lock. Raises StoreUnavailable."""
    with ExitStack() as opened:
        opened.callback(use.release)
        generation = opened.enter_context(closing(Generation(use.folder, read_only=True)))
        ledger = opened.enter_context(closing(SqliteLedger(path / files.LEDGER, read_only=True)))
        return ReadOnlyStore(
            path,
            generation,
            ledger,
            mark_of(use.folder.name),
            runner,
            opened.pop_all(),
            use=use,
            stale_error=stale_error,
        )


def open_locked(
    path: Path, wait: float, unless: Callable[[], bool], runner: Runner[Answer] | None
) -> ReadOnlyStore | None:
    """Open the store under its shared lock. Returns None if engine or catalogue lack rows of the ledger.

    unless  called repeatedly; a true result ends the wait for the lock.
    Raises StoreUnavailable, StoreBusy, StoreDamaged.
    """
    if not files.exists(path):
        raise StoreUnavailable(
            f"there is no store at {path}; create one there, or name another",
            path=str(path),
            remedy=Remedy.CREATE_STORE,
        )
    check_form(path)
    with ExitStack() as opened:
        lock = DirectoryLock(path / files.LOCK)
        opened.callback(lock.release)
        lock.acquire(shared=True, wait=wait, unless=unless)
        ledger = opened.enter_context(closing(SqliteLedger(path / files.LEDGER, read_only=True)))
        folder = files.generation_folder(path, ledger.generation)
        generation = opened.enter_context(closing(Generation(folder, read_only=True)))
        head = recovery.check_marks(ledger, generation)
        if generation.mark < head.number:
            return None
        return ReadOnlyStore(path, generation, ledger, head.number, runner, opened.pop_all())


def open_reader(
    path: Path, *, wait: float = 10.0, detached: bool = False, runner: Runner[Answer] | None = None
) -> ReadOnlyStore:
    """Open the store in ``path`` for reading.

    First apply acknowledged changes that a killed process left unapplied.

    wait      seconds to wait for another process.
    detached  always read a snapshot, and hold no lock: for work of unknown length. Cost: a copy of the
              catalogue.
    Raises StoreUnavailable; StoreBusy: the process that holds the store does not answer, and there is no
    snapshot; StoreDamaged.
    """
    forks.refuse_fork()
    path = path.absolute()
    if files.exists(path):
        check_form(path)
    snapshots = Snapshots(path / files.SNAPSHOTS)
    with _SnapshotRequest(snapshots) as request:
        deadline = time.monotonic() + max(wait, _ANSWER)
        for attempt in range(_ATTEMPTS + 1):
            unreadable = None
            try:
                store = open_locked(path, deadline - time.monotonic(), request.answered, runner)
            except StoreBusy as busy:
                return _open_while_busy(path, snapshots, request, busy, wait, runner)
            except StoreDamaged:
                raise
            except StoreUnavailable as error:  # damaged by a power cut: opening it for writing repairs it
                if attempt or not files.exists(path):
                    raise
                store, unreadable = None, error
            if store is not None:
                return store.detached() if detached else store
            use = _bring_up(path, deadline, unreadable, publish=attempt == _ATTEMPTS)
            if use is not None:
                return open_snapshot(path, use, runner)
    raise StoreUnavailable(
        f"the store at {path} is changed continually by other processes; try again", path=str(path)
    )


def _open_while_busy(
    path: Path,
    snapshots: Snapshots,
    request: "_SnapshotRequest",
    busy: StoreBusy,
    wait: float,
    runner: Runner[Answer] | None,
) -> ReadOnlyStore:
    """Return a snapshot while another process holds the store: its answer, or the newest one.

    Raises StoreBusy.
    """
    use = request.take()
    if use is not None:
        return open_snapshot(path, use, runner)
    use, stale_error = snapshots.newest(), _too_busy(path, busy, wait)
    if use is None:
        raise stale_error from busy
    return open_snapshot(path, use, runner, None if _has_everything(path, use) else stale_error)


def _has_everything(path: Path, use: Use) -> bool:
    """Whether a snapshot has every row of the ledger; False if the ledger is unreadable."""
    try:
        with closing(SqliteLedger(path / files.LEDGER, read_only=True)) as ledger:
            return use.folder.name == name_of(
                files.generation_folder(path, ledger.generation), ledger.head().number
            )
    except StoreUnavailable:
        return False


def _bring_up(
    path: Path, deadline: float, unreadable: StoreUnavailable | None, *, publish: bool
) -> Use | None:
    """Apply acknowledged changes and repair the files, by opening the store for writing.

    unreadable  the error of reading the store as it is, raised if it cannot be repaired; None: no error.
    publish     return a snapshot of the state reached.
    """
    try:
        with DirectoryStore(path, wait=max(min(deadline - time.monotonic(), _ANSWER), _MOMENT)) as store:
            return store.publish() if publish else None
    except StoreBusy:  # the process that holds it applies the changes, or answers
        if time.monotonic() >= deadline:
            raise
        return None
    except StoreDamaged:
        raise
    except FAILURES as error:
        if unreadable is not None:
            raise unreadable from error
        raise StoreUnavailable(
            f"{path} has acknowledged changes that a killed process left unapplied;"
            f" an account with write permission must open it once: {error}",
            path=str(path),
            remedy=Remedy.OPEN_ONCE,
        ) from error


class _SnapshotRequest:
    """A reader's request for a snapshot, sent after a short wait.

    The request is withdrawn at the end of the block, and so is an answer that came too late.
    """

    def __init__(self, snapshots: Snapshots) -> None:
        self._answer: Use | None = None
        self._snapshots = snapshots
        self._file: Path | None = None
        self._due = time.monotonic() + _MOMENT

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._snapshots.withdraw(self._file)
        if self._answer is not None:  # it came at the same time as the lock
            self._answer.release()

    def answered(self) -> bool:
        """Whether the request is answered."""
        if self._answer is not None:
            return True
        if time.monotonic() < self._due:
            return False
        if self._file is None:
            self._due = math.inf  # no process can be asked through a read-only folder
            with suppress(OSError):
                self._file = self._snapshots.ask()
                self._due = 0
        if self._file is not None:
            self._answer = self._snapshots.answered(self._file)
        return self._answer is not None

    def take(self) -> Use | None:
        """Return the answer, if any. The caller owns it."""
        answer, self._answer = self._answer, None
        return answer


def _too_busy(path: Path, busy: StoreBusy, wait: float) -> StoreBusy:
    holder = busy.fields["holder"]
    by = f"process {holder}" if holder else "another process"
    return StoreBusy(
        f"the store {path} is in use by {by}, which gave no snapshot of its newest state"
        f" within {wait:g} s; try again, or wait longer",
        holder=holder,
        wait=wait,
        remedy=Remedy.WAIT_LONGER,
    )
