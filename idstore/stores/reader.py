"""A store that is open for reading, while other processes use it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, TypeVar

from idstore.errors import StoreClosed, StoreForked, StoreReadOnly, StoreUnavailable
from idstore.progress import Progress
from idstore.stores import backup, files
from idstore.stores.contract import Answer, Runner, StoreCounters
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.newest_state import has_everything, open_newest
from idstore.stores.pinned import PinnedView, files_in_use
from idstore.stores.read_state import ReadState, publish
from idstore.stores.snapshots import Snapshots
from idstore.stores.views import EngineView

T = TypeVar("T")


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
        self._state = open_newest(self.path, wait=wait, detached=detached)
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
            if has_everything(self.path, state.use):
                state.newest_at, state.stale_error = now, None
                return
            fresh = open_newest(self.path, wait=wait, detached=True)
            try:
                self._replace(fresh)
            except BaseException:
                fresh.close()
                raise

    def _replace(self, fresh: ReadState) -> None:
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

    def _faults(self, state: ReadState, progress: Progress) -> Iterator[str]:
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
            self.path, lambda: publish(state, Snapshots(place)), state.ledger, files.folder(folder)
        )

    # changes are refused

    def write(self, act: Callable[..., object]) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: the store is read-only."""
        raise StoreReadOnly

    def bulk(self, *, fresh: bool = False, dry_run: bool = False) -> NoReturn:  # noqa: ARG002
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
