"""A state of a store for reading: the store itself under its shared lock, a snapshot, or a copy."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from weakref import finalize

from idstore.errors import StoreBusy, StoreUnavailable
from idstore.remedies import Remedy
from idstore.stores import files, recovery
from idstore.stores.ledger.contract import Ledger
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.ledger.store_format import check_first_format
from idstore.stores.lock import DirectoryLock
from idstore.stores.projection import bases
from idstore.stores.projection.generation import Generation
from idstore.stores.projection.oxigraph import ENGINE, copy_files
from idstore.stores.snapshots import Snapshots, Use, mark_of, name_of
from idstore.stores.sqlite_files import copy_file


class ReadState:
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


def locked_state(path: Path, wait: float, unless: Callable[[], bool]) -> ReadState | None:
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
        return ReadState(generation, ledger, head.number, opened.pop_all(), time.monotonic())


def detached_state(path: Path, state: ReadState) -> ReadState:
    """Return a state without the store's lock: a snapshot in the folder, or a copy in a temporary one.

    Raises StoreUnavailable.
    """
    with closing(state):
        if os.access(path, os.W_OK):
            try:
                use = publish(state, Snapshots(path / files.SNAPSHOTS))
            except (OSError, sqlite3.Error):
                return _copied(path, state)
            return snapshot_state(path, use, state.newest_at)
        return _copied(path, state)


def _copied(path: Path, state: ReadState) -> ReadState:
    """Return a copy of a state in a temporary folder, made under the store's lock. Raises StoreUnavailable.

    Where the folder may not be written, SQLite reads the ledger as a file that nobody changes. Without the
    lock that does not hold, so the ledger is copied too.
    """
    from idstore import scratch  # imported late: a short command does without it

    with ExitStack() as own:
        try:
            folder = own.enter_context(scratch.folder())
            copy_file(path / files.LEDGER, folder / files.LEDGER)
            use = publish(state, Snapshots(folder / files.SNAPSHOTS))
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(
                f"the store at {path} cannot be copied to be read: {error}; free some space for"
                " temporary files, or name another folder in TMPDIR",
                path=str(path),
            ) from error
        return snapshot_state(
            path, use, state.newest_at, copied_ledger=folder / files.LEDGER, resources=own.pop_all()
        )


def snapshot_state(
    path: Path,
    use: Use,
    newest_at: float,
    *,
    stale_error: StoreBusy | None = None,
    copied_ledger: Path | None = None,
    resources: ExitStack | None = None,
) -> ReadState:
    """Open a snapshot of the store at ``path``, without the store's lock. Raises StoreUnavailable."""
    place = path / files.LEDGER if copied_ledger is None else copied_ledger
    with resources or ExitStack() as opened:
        opened.callback(use.release)
        generation = opened.enter_context(closing(Generation(use.folder, read_only=True)))
        ledger = opened.enter_context(
            closing(SqliteLedger(place, read_only=True, locked=copied_ledger is not None))
        )
        mark, copied = mark_of(use.folder.name), copied_ledger is not None
        return ReadState(
            generation,
            ledger,
            mark,
            opened.pop_all(),
            newest_at,
            use=use,
            copied=copied,
            stale_error=stale_error,
        )


def publish(state: ReadState, snapshots: Snapshots) -> Use:
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
