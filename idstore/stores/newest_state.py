"""Opening the newest state of a store for reading, while other processes use it.

A reader takes the store's shared lock and reads the store directly, or makes a snapshot under that lock and
releases it. If a writer holds the store longer than a moment, the reader requests a snapshot of the present
state from it. Without an answer, the reader uses the newest existing snapshot, and its state says so.
"""

import logging
import math
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Self

from idstore import forks
from idstore.errors import StoreBusy, StoreDamaged, StoreUnavailable
from idstore.remedies import Remedy
from idstore.stores import files
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.ledger.store_format import check_first_format
from idstore.stores.projection.generation import FAILURES
from idstore.stores.read_state import ReadState, detached_state, locked_state, snapshot_state
from idstore.stores.snapshots import Snapshots, Use, name_of
from idstore.stores.store import DirectoryStore

_LOG: Final = logging.getLogger(__name__)
_MOMENT: Final = 0.05
"""Seconds to wait for the store itself before requesting a snapshot."""
_ANSWER: Final = 1.0
"""Minimum seconds to wait for an answer, even if the wait for the store is shorter."""
_ATTEMPTS: Final = 3
"""Number of attempts to bring a changing store up to date before a snapshot is made."""


def open_newest(path: Path, *, wait: float, detached: bool) -> ReadState:
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
                state = locked_state(path, deadline - time.monotonic(), request.answered)
            except StoreBusy as busy:
                return _open_while_busy(path, snapshots, request, busy, wait, begun)
            except StoreDamaged:
                raise
            except StoreUnavailable as error:  # damaged by a power cut: opening it for writing repairs it
                if attempt or not files.exists(path):
                    raise
                state, unreadable = None, error
            if state is not None:
                return detached_state(path, state) if detached else state
            use = _bring_up(path, deadline, unreadable, publish=attempt == _ATTEMPTS)
            if use is not None:
                return snapshot_state(path, use, begun)
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
) -> ReadState:
    """Return a snapshot while another process holds the store: its answer, or the newest one.

    begun  when the request was made, by the monotonic clock.
    Raises StoreBusy.
    """
    use = request.take()
    if use is not None:
        return snapshot_state(path, use, begun)
    use, stale_error = snapshots.newest(), _too_busy(path, busy, wait)
    if use is None:
        raise stale_error from busy
    if has_everything(path, use):
        return snapshot_state(path, use, begun)
    _LOG.warning("%s; reads an earlier state", stale_error)
    made_at = time.monotonic() - max(0.0, time.time() - use.made)
    return snapshot_state(path, use, made_at, stale_error=stale_error)


def has_everything(path: Path, use: Use) -> bool:
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
