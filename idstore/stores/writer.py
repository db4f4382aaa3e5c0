"""The writer thread: runs all acts of a store in batches, and makes each batch durable before answering.

    waiting acts ─► one batch: each act sees the earlier ones ─► ledger: one transaction, synced
                 ─► engine and catalogue ─► answers

A separate thread, because an interrupt (Ctrl-C) reaches the main thread alone and cannot cut short the work
here. The same thread also runs functions between two batches (pinning a snapshot, switching to a bulk's
generation). Callers sleep until they are answered.
"""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from idstore import forks
from idstore.disk_errors import cause_and_remedy
from idstore.errors import IdstoreError, OutcomeUnknown, StoreClosed, StoreDamaged, StoreUnavailable
from idstore.stores import recovery
from idstore.stores.commit_queue import CommitQueue
from idstore.stores.contract import StoreCounters
from idstore.stores.gate import Gate
from idstore.stores.ledger.contract import Head, Ledger, LedgerTransaction
from idstore.stores.lock import DirectoryLock
from idstore.stores.maintenance import Maintenance
from idstore.stores.projection import bases
from idstore.stores.projection.generation import FAILURES, Generation, is_abandoned
from idstore.stores.sqlite_files import is_damage, unreadable
from idstore.stores.task import ActTask, FunctionTask, Outcome, Task, without_writer_frames
from idstore.stores.threads import start
from idstore.stores.transaction import ActTransaction, Batch, RunLater

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
_LARGE: Final = 1000
"""Number of changes after which a batch accepts no more acts."""
SLOW: Final = 1.0
"""Seconds on the disk from which a commit is logged as slow."""
_CLOSED: Final = "the store was closed"
_CATCHING_UP: Final = "engine or catalogue could not be written; acknowledged changes are kept in the ledger"


class Writer:
    """Owns the ledger, the present generation and the lock of a store, and closes them when it ends.

    generation        the present generation; it changes only between two batches.
    mark              number of the last projected row, which questions see.
    registry_version  of the state that questions see; ``versions`` yields numbers that no other state has.
    unpruned          approximate number of rows in the ledger.
    generations       yields numbers that no other generation of this process has: an earlier one may still be
                      open behind an error.
    counters          what the writer has done; only its thread changes it.
    """

    def __init__(
        self, ledger: Ledger, generation: Generation, lock: DirectoryLock, gate: Gate, head: Head
    ) -> None:
        self.ledger, self.generation, self.gate = ledger, generation, gate
        self.mark = head.number
        self.unpruned = head.number - bases.mark(generation.folder)
        self.generations = count(ledger.generation + 1)
        self.registry_version = 0
        self.counters = StoreCounters()
        self.versions = count(1)
        self._lock = lock
        self._queue = CommitQueue()
        self._running: FunctionTask[Any] | None = None
        self._end_reason: str | None = None  # why no task runs any more
        self._failure_reason: str | None = None  # why nothing is written any more
        self._stale = False  # whether engine or catalogue lack rows of the ledger
        self._maintenance = Maintenance(self)
        self._start_lock = (
            threading.Lock()
        )  # acquired by the thread as it starts, or by `give_up` before that
        self._thread = threading.Thread(target=self._run, daemon=True, name="idstore-writer")

    def begin(self) -> None:
        """Start the thread."""
        start(self._thread)

    def give_up(self) -> None:
        """Close the files if the thread has not started; otherwise tell it to end. Returns at once."""
        if self._start_lock.acquire(blocking=False):
            self._close()
        else:
            self.end()

    # for callers

    def write(self, act: Callable[[ActTransaction], T]) -> T:
        """Run an act in the next batch; see `idstore.stores.contract.Store.write`."""
        return self._submit(ActTask(act))

    def between(self, function: Callable[[], T], *, shielded: bool = False) -> T:
        """Run a function between two batches. Raises the function's error, StoreUnavailable.

        shielded  delay an interrupt until a function that has started is done.
        """
        return self._submit(FunctionTask(function, waits=False), shielded=shielded)

    def hold(self) -> FunctionTask[None]:
        """Hold back acts until `release`, which takes the value returned.

        Functions between batches still run. Raises StoreUnavailable.
        """

        def hold() -> None:
            self._queue.held = self._running

        task = FunctionTask(hold)
        try:
            self._submit(task, shielded=True)
        except BaseException:
            self.release(task)
            raise
        return task

    def release(self, hold: FunctionTask[None]) -> None:
        """End a hold, so that acts run again. Returns before they do."""
        self._put(FunctionTask(lambda: self._queue.release(hold), waits=False))

    def keep_lock(self) -> DirectoryLock:
        """Return the store's lock, held until the returned one is released as well.

        Raises StoreUnavailable: the store is closed, or its folder was moved or removed.
        """
        self._lock.check()
        return self._lock.duplicate()

    def _submit(self, task: Task[T], *, shielded: bool = False) -> T:
        if self.is_current():
            raise StoreUnavailable("an act was started inside another act; finish that act first")
        try:
            self._put(task)
            return task.wait()
        except BaseException:
            if shielded:
                task.settle()
            raise

    def _put(self, task: Task[Any]) -> None:
        self._queue.put(task)
        if self._end_reason is not None:
            self._queue.refuse(self._end_error)

    def check(self) -> None:
        """Raise StoreUnavailable unless the store can be read.

        First try to bring a failed projection up to date.
        """
        if self._end_reason is None and self._stale:
            self.between(self.catch_up)
        self.check_open()

    def check_open(self) -> None:
        """Raise StoreUnavailable unless the present generation can be read.

        Call it inside the gate's room.
        """
        if self._end_reason is not None or self._stale:
            raise self._end_error()

    def _end_error(self) -> StoreUnavailable:
        """Return the error for a store that runs no more tasks."""
        if self._end_reason == _CLOSED:
            return StoreClosed()
        return StoreUnavailable(self._end_reason or _CATCHING_UP)

    @property
    def failed(self) -> bool:
        """Whether the outcome of a commit is unknown."""
        return self._failure_reason is not None

    def has_ended(self) -> bool:
        """Whether the writer has ended: no task runs any more."""
        return self._end_reason is not None

    def folder(self) -> Path:
        """Return the folder of the present generation."""
        return self.generation.folder

    def present_counters(self) -> StoreCounters:
        """Return the counters, with the acts that wait now."""
        return replace(self.counters, waiting=self._queue.waiting)

    def is_current(self) -> bool:
        """Whether the caller runs in the writer's thread."""
        return threading.current_thread() is self._thread

    def wait_for_maintenance(self) -> None:
        """Return when no maintenance is running."""
        self._maintenance.wait()

    def end(self) -> None:
        """Run the tasks that wait, but not those that wait for a moment, and close the files.

        Returns at once.
        """
        self._queue.end()

    def join(self) -> None:
        """Return when the files are closed."""
        self._thread.join()

    # the thread

    def _run(self) -> None:
        if not self._start_lock.acquire(blocking=False):
            return
        reason = "the store failed"
        try:
            while (work := self._queue.next()) is not None:
                if isinstance(work, FunctionTask):
                    self._run_function(work)
                elif work:
                    self._commit(work)
                # or the thread would keep, while waiting, an answer that an interrupted caller did not take
                del work
            reason = _CLOSED
        except BaseException as error:  # noqa: BLE001 every waiting caller must be told
            reason = f"the store failed: {error}; open it again"
            _LOG.critical("%s: the store failed (%s)", self._path, type(error).__name__)
        finally:
            self._end_reason = self._failure_reason or reason
            try:
                self._queue.refuse(self._end_error)
                self._maintenance.finish(
                    sound=not (self._failure_reason or self._stale) and self._lock.is_in_place()
                )
            finally:
                self._close()

    def _close(self) -> None:
        """Close the files, and release the lock last. Closing may never return after the engine failed.

        If another folder has replaced the store's, the files stay open until the process ends: on closing,
        engine and SQLite remove files by name, and would remove those of the other store.
        """
        with self.gate.entrance, self.gate.room:
            if self.generation.is_replaced():
                forks.leave_open(self.generation, self.ledger)
                self._lock.release()
                return
            for part in (
                self.generation.close_after_failure if self._stale else self.generation.close,
                self.ledger.close,
                self._lock.release,
            ):
                # acknowledged changes are on disk; the next opening repairs the rest
                with suppress(*FAILURES):
                    part()

    def _run_function(self, task: FunctionTask[Any]) -> None:
        if not task.begin():
            return
        self._running = task
        try:
            answer = task.function()
        except BaseException as error:  # noqa: BLE001 raised to the caller
            task.fail(without_writer_frames(error))
        else:
            task.answer(answer)
        finally:
            self._running = None

    # a batch

    def _commit(self, tasks: Sequence[ActTask[Any]]) -> None:
        """Run acts, make their changes durable and visible, and answer."""
        outcomes: list[Outcome] = []
        remaining = deque(tasks)
        try:
            if self._failure_reason is not None:
                raise StoreUnavailable(self._failure_reason)  # noqa: TRY301 handled like a ledger error
            if self._stale:
                self.catch_up()
            self._write_batch(remaining, outcomes)
        except (*FAILURES, IdstoreError) as error:
            refused = self._translated(error)
            self._count(failures=1)
            if isinstance(refused, StoreUnavailable):  # another message may name an identifier
                _LOG.error("%s: a commit failed: %s", self._path, refused)
            outcomes = [
                Outcome(task, error=_copy(refused))
                for task in (*(outcome.task for outcome in outcomes), *remaining)
            ]
        except BaseException as error:
            self._failure_reason = f"the store failed: {error}; open it again"
            for task in (*(outcome.task for outcome in outcomes), *remaining):
                task.fail(OutcomeUnknown(self._failure_reason))
            raise
        else:
            for task in reversed(remaining):
                self._queue.put_first(task)
            refusals = sum(outcome.error is not None for outcome in outcomes)
            self._count(acts=len(outcomes) - refusals, refusals=refusals)
        while outcomes:  # the traceback of an error leads to this frame, which must not lead to the error
            outcomes.pop(0).report()
        self._maintenance.start_due()

    def _write_batch(self, remaining: deque[ActTask[Any]], outcomes: list[Outcome]) -> None:
        """Run acts and commit.

        Raises StoreUnavailable, OSError, RuntimeError, sqlite3.Error (all refused); OutcomeUnknown.
        """
        with self.ledger.transaction() as ledger:
            self._follow(ledger)
            batch = Batch(
                self.generation, self.ledger.claim, ledger.head, self.registry_version, self.versions
            )
            try:
                self._run_acts(batch, remaining, outcomes)
                if batch.is_empty:
                    self._lock.check()  # the answer may state what is stored
                    batch.give_up()
                    return
                ledger.append(batch.rows, batch.claims())
                self._lock.check()
                self._make_durable(ledger)
            except BaseException as error:
                if isinstance(error, OutcomeUnknown):
                    self._failure_reason = error.message
                with suppress(sqlite3.Error):
                    batch.give_up()
                raise
        self._project(batch)
        self._check_place_after_commit()

    def _make_durable(self, ledger: LedgerTransaction) -> None:
        """Commit. Raises StoreUnavailable, OutcomeUnknown."""
        begun = time.monotonic()
        ledger.commit()
        seconds = time.monotonic() - begun
        self._count(commits=1, commit_seconds=seconds)
        if seconds > self.counters.slowest_commit:
            self.counters = replace(self.counters, slowest_commit=seconds)
        if seconds >= SLOW:
            _LOG.warning("%s: a commit took %.1f s on the disk", self._path, seconds)

    def _count(self, **amounts: float) -> None:
        """Add amounts to counters."""
        present = self.counters
        self.counters = replace(
            present, **{name: getattr(present, name) + amount for name, amount in amounts.items()}
        )

    def count_snapshot(self) -> None:
        """Count a snapshot; between two batches."""
        self._count(snapshots=1)

    @property
    def _path(self) -> Path:
        """The folder of the store."""
        return self.generation.folder.parent

    def _check_place_after_commit(self) -> None:
        """Raise OutcomeUnknown if the folder was moved, removed or replaced meanwhile."""
        try:
            self._lock.check()
        except StoreUnavailable as error:
            self._failure_reason = error.message
            raise OutcomeUnknown(
                f"{error.message}; the change was made in the folder that was moved or removed"
            ) from error

    def _follow(self, ledger: LedgerTransaction) -> None:
        """Project the commits of other processes.

        Raises StoreDamaged, OSError, RuntimeError, sqlite3.Error.
        """
        if ledger.head.number != self.mark:
            self._bring_up()

    def _bring_up(self) -> None:
        with self.gate.entrance, self.gate.room:
            self.mark = recovery.bring_up(self.ledger, self.generation).number
            self.registry_version = next(self.versions)

    def _run_acts(self, batch: Batch, remaining: deque[ActTask[Any]], outcomes: list[Outcome]) -> None:
        while remaining and len(batch.overlay.changes) < _LARGE:
            task = remaining[0]
            # the catalogue's transaction is lost, and with it all acts of the batch
            try:
                if task.begin():
                    outcomes.append(Outcome(task, batch.run(task.act, task.asked, self.ledger.origin)))
            except RunLater as later:
                self._queue.postpone(task, later.moment, later.queue)
            except sqlite3.Error:
                raise
            except BaseException as error:  # noqa: BLE001 raised to the caller
                outcomes.append(Outcome(task, error=without_writer_frames(error)))
            remaining.popleft()

    def _project(self, batch: Batch) -> None:
        """Apply a durable batch to engine and catalogue.

        If that fails, the acts are still done; no state is readable until the projection succeeds.
        """
        with self.gate.entrance, self.gate.room:
            try:
                batch.project()
            except Exception as error:  # noqa: BLE001 the change is durable; it is projected again
                self._stale = True
                _LOG.error("%s: %s (%s)", self._path, _CATCHING_UP, type(error).__name__)
                with suppress(sqlite3.Error):
                    self.generation.catalogue.rollback()
                return
            self.mark = batch.head.number
            self.unpruned += len(batch.rows)
            self.registry_version = batch.registry_version
        try:
            self.generation.engine.conform()
        except OSError as error:  # the change is durable, and the files are tried again after the next batch
            _LOG.warning("%s: new files lack the permissions of their folder: %s", self._path, error)

    def catch_up(self) -> None:
        """After a failed projection, bring engine and catalogue up to the ledger. Raises StoreUnavailable."""
        if not self._stale:
            return
        try:
            self._reopen()
            self._bring_up()
        except StoreDamaged:
            raise
        except FAILURES as error:
            why, remedy = cause_and_remedy(error, self.generation.folder)
            raise StoreUnavailable(f"{_CATCHING_UP}: {why}; {remedy}") from error
        self._stale = False
        _LOG.warning("%s: engine and catalogue were opened anew, and have all changes", self._path)

    def _reopen(self) -> None:
        """Reopen the generation's files: an engine accepts no changes after a failed write.

        Raises StoreUnavailable.
        """
        folder = self.generation.folder
        with self.gate.entrance, self.gate.room:
            self.generation.close_after_failure()
            if is_abandoned(folder):
                raise StoreUnavailable(f"{_CATCHING_UP}; open the store in another process")
            self.generation = Generation(folder)

    def renew(self) -> None:
        """Reopen the generation's files between two batches. Raises StoreUnavailable."""

        def renew() -> None:
            self._stale = True
            self.catch_up()

        self.between(renew)

    def _translated(self, error: Exception) -> IdstoreError:
        if isinstance(error, IdstoreError):
            return error
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            return unreadable(self.generation.catalogue.path, error)
        path = self.generation.folder.parent
        why, remedy = cause_and_remedy(error, path)
        return StoreUnavailable(
            f"the store at {path} cannot be written: {why}; nothing was changed, {remedy}", path=str(path)
        )

    # between two batches

    def switch(
        self, generation: Generation, commit: Callable[[LedgerTransaction], None], head: Head
    ) -> Generation:
        """Make another generation the present one, in one ledger transaction. Returns the previous one.

        Raises StoreUnavailable, OutcomeUnknown.
        """
        if self._failure_reason is not None:
            raise StoreUnavailable(self._failure_reason)
        try:
            with self.ledger.transaction() as ledger:
                if ledger.head.number != self.mark:
                    raise StoreUnavailable(
                        "the store changed while a large change was prepared;"
                        " the large change was not made, try again"
                    )
                commit(ledger)
                self._lock.check()
                self._make_durable(ledger)
        except OutcomeUnknown as error:
            self._failure_reason = error.message
            raise
        with self.gate.entrance, self.gate.room:
            old, self.generation = self.generation, generation
            self.mark = head.number
            self.registry_version = next(self.versions)
            self.unpruned = 0
            self._stale = False
        self._check_place_after_commit()
        return old

    def check_place(self) -> None:
        """Raise StoreUnavailable if the folder was moved, removed or replaced."""
        self._lock.check()

    def prune(self, number: int) -> None:
        """Delete rows up to a number. Raises StoreUnavailable."""
        with self.ledger.transaction() as ledger:
            ledger.prune(number)
            ledger.commit()


def _copy(error: IdstoreError) -> IdstoreError:
    """Copy an error for another caller."""
    copy = error.__class__.__new__(error.__class__)
    copy.__dict__.update(error.__dict__)
    copy.args = error.args
    copy.__cause__ = error.__cause__
    return copy
