"""Reading a store while other processes use it.

A reader takes the store's shared lock and reads the store directly, or makes a snapshot under that lock and
releases it. If a writer holds the store longer than a moment, the reader requests a snapshot of the present
state from it. Without an answer, the reader uses the newest existing snapshot, and `behind` says so.
"""

import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self, TypeVar
from weakref import finalize

from idstore import forks
from idstore.errors import StoreBusy, StoreClosed, StoreDamaged, StoreForked, StoreReadOnly, StoreUnavailable
from idstore.progress import Progress
from idstore.remedies import Remedy
from idstore.stores import backup, files, recovery
from idstore.stores.contract import Answer, Runner, StoreCounters
from idstore.stores.ledger.contract import Ledger
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.ledger.store_format import check_first_format
from idstore.stores.lock import DirectoryLock
from idstore.stores.pinned import PinnedView, files_in_use
from idstore.stores.projection import bases
from idstore.stores.projection.generation import FAILURES, Generation
from idstore.stores.projection.oxigraph import ENGINE, copy_files
from idstore.stores.snapshots import Snapshots, Use, mark_of, name_of
from idstore.stores.sqlite_files import copy_file
from idstore.stores.store import DirectoryStore
from idstore.stores.views import EngineView

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
_MOMENT: Final = 0.05
"""Seconds to wait for the store itself before requesting a snapshot."""
_ANSWER: Final = 1.0
"""Minimum seconds to wait for an answer, even if the wait for the store is shorter."""
_ATTEMPTS: Final = 3
"""Number of attempts to bring a changing store up to date before a snapshot is made."""


class _ReadState:
    """A state of the store that nothing changes. It is closed when its last reader is collected.

    The generation is the store's own under its shared lock, or a snapshot.

    mark         number of the last journal row that the state contains.
    resources    everything to close with the state.
    newest_at    when the state was the newest for certain, by the monotonic clock.
    use          hold on the snapshot; None under the shared lock.
    copied       whether it is a copy of all files, the ledger's included, for this reader alone.
    stale_error  why the state was not the newest; None if it was.
    version      see `idstore.stores.contract.View.registry_version`.
    """

    def __init__(
        self,
        generation: Generation,
        ledger: Ledger,
        mark: int,
        resources: ExitStack,
        newest_at: float,
        *,
        use: Use | None = None,
        copied: bool = False,
        stale_error: StoreBusy | None = None,
    ) -> None:
        self.generation, self.ledger, self.mark, self.copied = generation, ledger, mark, copied
        self.newest_at, self.use, self.stale_error = newest_at, use, stale_error
        self.version = 0
        self.close = finalize(self, _close, os.getpid(), resources)
        self.close.atexit = False


def _close(process: int, resources: ExitStack) -> None:
    """Close the resources of a state, in the process that opened them."""
    if os.getpid() == process:
        resources.close()


class ReadOnlyStore:
    """A store that is open for reading: see `idstore.stores.contract.Store`.

    It reads one state until `refresh`.

    wait      seconds to wait for another process.
    detached  always read a snapshot, and hold no lock: for work of unknown length. Cost: a copy of the
              catalogue; where the folder may not be written, of the engine as well, in a temporary folder.
    runner    runs queries from untrusted users.
    check     is called before a state is opened; it raises StoreUnavailable where none may be.
    Raises StoreUnavailable; StoreBusy: the process that holds the store does not answer, and there is no
    snapshot; StoreDamaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        wait: float = 10.0,
        detached: bool = False,
        runner: Runner[Answer] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path.absolute()
        self._runner, self._check_readable = runner, check
        check()
        self._state = _open(self.path, wait=wait, detached=detached)
        self.origin = self._state.ledger.origin
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._closed = False
        self._process = os.getpid()

    # the state

    @property
    def behind(self) -> str:
        """Why the state was not the newest when it was opened; empty if it was."""
        error = self._state.stale_error
        return "" if error is None else f"{error}"

    @property
    def age(self) -> float:
        """Seconds since the state was the newest; 0 under the shared lock, which keeps writers out."""
        state = self._state
        return 0.0 if state.use is None else time.monotonic() - state.newest_at

    def refresh(self, wait: float = 10.0) -> None:
        """Read the newest state from now on. Snapshots that were given stay as they are."""
        with self._refreshing:
            self._check()
            state, now = self._state, time.monotonic()
            if state.use is None:
                return
            self._check_readable()
            if _has_everything(self.path, state.use):
                state.newest_at, state.stale_error = now, None
                return
            fresh = _open(self.path, wait=wait, detached=True)
            try:
                self._replace(fresh)
            except BaseException:
                fresh.close()
                raise

    def _replace(self, fresh: _ReadState) -> None:
        """Read another state from now on. Raises StoreBusy, StoreUnavailable."""
        if fresh.stale_error is not None:
            raise fresh.stale_error
        if fresh.ledger.origin != self.origin:
            raise StoreUnavailable(f"another store is at {self.path} now; open that one", path=str(self.path))
        fresh.version = self._state.version + 1
        with self._lock:
            self._check()
            self._state = fresh

    def counters(self) -> StoreCounters:
        """Return zeros: a reader does nothing to the store."""
        return StoreCounters()

    # reading

    def read(self, question: Callable[[EngineView], T]) -> T:
        """Return the result of a question."""
        self._check()
        with self._lock:
            self._check()
            state = self._state
            generation = state.generation
            view = EngineView(
                generation.engine,
                generation.catalogue.questions,
                state.ledger.claim,
                state.mark,
                state.version,
            )
            try:
                return question(view)
            finally:
                view.end()

    def snapshot(self) -> PinnedView:
        """Return a view of the same state."""
        self._check()
        state = self._state
        generation = state.generation
        return PinnedView(
            generation.engine,
            generation.catalogue.questions,
            state.ledger,
            state.mark,
            state.version,
            self._runner,
            faults=partial(self._faults, state),
            kept=state,
        )

    def _faults(self, state: _ReadState, progress: Progress) -> Iterator[str]:
        """Yield faults of the store's own files; for a snapshot too, since it shares most of them."""
        generation = state.generation
        if state.use is None or state.copied:
            yield from state.ledger.faults()
            yield from generation.faults(progress)
            return
        yield from files_in_use(
            self._present_generation,
            state.ledger,
            state.mark,
            Snapshots(state.use.folder.parent),
            generation.engine,
            progress,
        )

    def _present_generation(self) -> Path:
        """Return the folder of the generation that the store has now. Raises StoreUnavailable."""
        with closing(SqliteLedger(self.path / files.LEDGER, read_only=True, locked=False)) as ledger:
            return files.generation_folder(self.path, ledger.generation)

    def backup(self, folder: str | PathLike[str]) -> None:
        """Copy the state, as a store, into an empty or missing folder."""
        self._check()
        state = self._state
        if state.stale_error is not None:
            raise state.stale_error
        place = self.path / files.SNAPSHOTS if state.use is None else state.use.folder.parent
        backup.back_up(
            self.path, lambda: _publish(state, Snapshots(place)), state.ledger, files.folder(folder)
        )

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
                self._state.close()

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


def _publish(state: _ReadState, snapshots: Snapshots) -> Use:
    """Return a snapshot of a state, with its catalogue.

    Raises StoreUnavailable, OSError, sqlite3.Error.
    """
    generation = state.generation
    name = name_of(generation.folder, state.mark) if state.use is None else state.use.folder.name

    def fill(target: Path) -> str:
        copy_files(generation.folder / ENGINE, target, (".sst", ".log"))
        return name

    use = snapshots.use(name)
    if use is None:
        use = snapshots.make(state.ledger.origin, fill)
        snapshots.sweep(keep=name)
    try:
        if not use.has_catalogue:
            use.complete(generation.catalogue.copy)
    except BaseException:
        use.release()
        raise
    return use


def _detached(path: Path, state: _ReadState) -> _ReadState:
    """Return a state without the store's lock: a snapshot in the folder, or a copy in a temporary one.

    Raises StoreUnavailable.
    """
    with closing(state):
        if os.access(path, os.W_OK):
            try:
                use = _publish(state, Snapshots(path / files.SNAPSHOTS))
            except (OSError, sqlite3.Error):
                return _copied(path, state)
            return _snapshot_state(path, use, state.newest_at)
        return _copied(path, state)


def _copied(path: Path, state: _ReadState) -> _ReadState:
    """Return a copy of a state in a temporary folder, made under the store's lock. Raises StoreUnavailable.

    Where the folder may not be written, SQLite reads the ledger as a file that nobody changes. Without the
    lock that does not hold, so the ledger is copied too.
    """
    from idstore import scratch  # imported late: a short command does without it

    with ExitStack() as own:
        try:
            folder = own.enter_context(scratch.folder())
            copy_file(path / files.LEDGER, folder / files.LEDGER)
            use = _publish(state, Snapshots(folder / files.SNAPSHOTS))
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(
                f"the store at {path} cannot be copied to be read: {error}; free some space for"
                " temporary files, or name another folder in TMPDIR",
                path=str(path),
            ) from error
        return _snapshot_state(
            path, use, state.newest_at, copied_ledger=folder / files.LEDGER, resources=own.pop_all()
        )


def _snapshot_state(
    path: Path,
    use: Use,
    newest_at: float,
    *,
    stale_error: StoreBusy | None = None,
    copied_ledger: Path | None = None,
    resources: ExitStack | None = None,
) -> _ReadState:
    """Open a snapshot of the store at ``path``, without the store's lock. Raises StoreUnavailable."""
    place = path / files.LEDGER if copied_ledger is None else copied_ledger
    with resources or ExitStack() as opened:
        opened.callback(use.release)
        generation = opened.enter_context(closing(Generation(use.folder, read_only=True)))
        ledger = opened.enter_context(
            closing(SqliteLedger(place, read_only=True, locked=copied_ledger is not None))
        )
        mark, copied = mark_of(use.folder.name), copied_ledger is not None
        return _ReadState(
            generation,
            ledger,
            mark,
            opened.pop_all(),
            newest_at,
            use=use,
            copied=copied,
            stale_error=stale_error,
        )


def _locked_state(path: Path, wait: float, unless: Callable[[], bool]) -> _ReadState | None:
    """Open the store under its shared lock. Returns None if engine or catalogue lack rows of the ledger.

    After a restart of the system each row since the base is looked up, until a writer has opened the store.

    unless  called repeatedly; a true result ends the wait for the lock.
    Raises StoreUnavailable, StoreBusy, StoreDamaged.
    """
    if not files.exists(path):
        raise StoreUnavailable(
            f"there is no store at {path}; create one there, or name another",
            path=str(path),
            remedy=Remedy.CREATE_STORE,
        )
    check_first_format(path)
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
        if lock.restarted and not recovery.is_whole(ledger, generation, bases.mark(folder)):
            return None
        return _ReadState(generation, ledger, head.number, opened.pop_all(), time.monotonic())


def _open(path: Path, *, wait: float, detached: bool) -> _ReadState:
    """Open the newest state of the store in ``path``, or an earlier one: see `ReadOnlyStore`.

    First apply acknowledged changes that a killed process left unapplied.
    """
    forks.refuse_fork()
    if files.exists(path):
        check_first_format(path)
    snapshots = Snapshots(path / files.SNAPSHOTS)
    with _SnapshotRequest(snapshots) as request:
        begun = time.monotonic()
        deadline = begun + max(wait, _ANSWER)
        for attempt in range(_ATTEMPTS + 1):
            unreadable = None
            try:
                state = _locked_state(path, deadline - time.monotonic(), request.answered)
            except StoreBusy as busy:
                return _open_while_busy(path, snapshots, request, busy, wait, begun)
            except StoreDamaged:
                raise
            except StoreUnavailable as error:  # damaged by a power cut: opening it for writing repairs it
                if attempt or not files.exists(path):
                    raise
                state, unreadable = None, error
            if state is not None:
                return _detached(path, state) if detached else state
            use = _bring_up(path, deadline, unreadable, publish=attempt == _ATTEMPTS)
            if use is not None:
                return _snapshot_state(path, use, begun)
    raise StoreUnavailable(
        f"the store at {path} is changed continually by other processes; try again", path=str(path)
    )


def _open_while_busy(
    path: Path,
    snapshots: Snapshots,
    request: "_SnapshotRequest",
    busy: StoreBusy,
    wait: float,
    begun: float,
) -> _ReadState:
    """Return a snapshot while another process holds the store: its answer, or the newest one.

    begun  when the request was made, by the monotonic clock.
    Raises StoreBusy.
    """
    use = request.take()
    if use is not None:
        return _snapshot_state(path, use, begun)
    use, stale_error = snapshots.newest(), _too_busy(path, busy, wait)
    if use is None:
        raise stale_error from busy
    if _has_everything(path, use):
        return _snapshot_state(path, use, begun)
    _LOG.warning("%s; reads an earlier state", stale_error)
    made_at = time.monotonic() - max(0.0, time.time() - use.made)
    return _snapshot_state(path, use, made_at, stale_error=stale_error)


def _has_everything(path: Path, use: Use) -> bool:
    """Whether a snapshot has every row of the ledger; False if the ledger is unreadable."""
    try:
        with closing(SqliteLedger(path / files.LEDGER, read_only=True)) as ledger:
            return ledger.origin == use.origin and use.folder.name == name_of(
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
