"""A store in a directory: journal, lock and the present generation of engine and catalogue.

Writers are serialised by one lock in the process and one on the directory; the journal makes changes durable in groups; a thread
applies what is durable to the generation, in order. Readers wait for it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyoxigraph import NamedNode

from idstore.errors import IdstoreError, StoreUnavailable
from idstore.model import times
from idstore.model.change import Change
from idstore.stores import bases, recovery
from idstore.stores.ahead import Ahead
from idstore.stores.applying import Applier, Ready, Unit
from idstore.stores.committing import Commits
from idstore.stores.copies import Copies
from idstore.stores.founding import GENERATION, JOURNAL, LOCK, exists, founding, prepare
from idstore.stores.generation import FAILURES, Generation, OfGeneration, discard
from idstore.stores.given import Given
from idstore.stores.journal import Journal, Written
from idstore.stores.lock import DirectoryLock
from idstore.stores.scans import scanning
from idstore.stores.snapshots import Use
from idstore.stores.turns import StoreTurn

if TYPE_CHECKING:
    from idstore.stores.staging import Staged

_CLOSED = "the store was closed"
_READS = "what was changed while a block reads comes into effect when that ends; end the block, then go on"
_INTERRUPTED = "a large change was interrupted as it came into effect; open the store again, where it is either whole or not at all"
_LEAVE = 100
"""Changes that may be left for the engine to recover from its own log at the next opening; more are flushed at closing."""
_GLANCE = 0.05
"""Seconds between two looks at whether the turn can come, by a thread that reads."""
_PRUNE = 20_000
"""Changes after which engine and catalogue are flushed and the journal is pruned."""


class EmbeddedStore(OfGeneration):
    """A store in a directory of its own.

    path      the directory; made when ``create`` is set and nothing is there.
    durable   whether a change is on disk before it is acknowledged (durability ``power``); otherwise only handed to the system (``process``).
    wait      seconds to wait for another process.
    read_only take the shared lock and change nothing.
    unless    asked again and again while it waits; ends the wait when it says so.
    brief     for one quick act: the engine is opened to read, which is much faster, and to write only when the act needs more than that.
              What was done so is applied by whoever opens the store next.
    ahead     with ``brief``: its lock is taken over, and its engine if that can be used.

    Safe for many threads. Raises StoreUnavailable, StoreBusy.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        durable: bool = True,
        wait: float = 10.0,
        read_only: bool = False,
        unless: Callable[[], bool] | None = None,
        brief: bool = False,
        ahead: Ahead | None = None,
    ) -> None:
        self.path = path
        if not exists(path):
            if read_only or not create:
                raise StoreUnavailable(
                    f"there is no store at {path}; make one with `idstore init`, or name another with --store", path=str(path)
                )
            prepare(path)
        if ahead is None:
            self._lock = DirectoryLock(path / LOCK)
            self._lock.acquire(shared=read_only, wait=wait, unless=unless)
        else:
            self._lock = ahead.lock
        self._brief = False
        try:
            self._open(durable, read_only=read_only, brief=brief, ahead=ahead)
        except BaseException as error:
            self._lock.release()
            if isinstance(error, IdstoreError) or not isinstance(error, FAILURES):
                raise
            raise StoreUnavailable(
                f"the store at {path} cannot be opened: {error}; free some space and try again", path=str(path)
            ) from error
        self._read_only = read_only
        self.registry_version = 0
        self._turn_lock = threading.Lock()
        self._held_up = False  # whether whoever has the turn waits for those who read
        self._apply_lock = threading.RLock()
        self._reader: int | None = None
        self._applier = Applier(self._apply, self._fail)
        self._commits = Commits(self._journal, self._take)
        self._failure: str | None = None
        self._unflushed = 0
        self._closed = False
        self._copies = Copies(self)
        if not read_only and not self._brief:
            self._copies.serve()

    # opening and closing

    def _open(self, durable: bool, *, read_only: bool, brief: bool, ahead: Ahead | None) -> None:
        fresh = not exists(self.path)
        if fresh:
            self._found()
        with ExitStack() as opened:
            self._journal = opened.enter_context(closing(Journal(self.path / JOURNAL, durable=durable, read_only=read_only)))
            self.origin = self._journal.store
            self._given = Given(last := self._journal.last())
            self._applied = last[0]
            present = self._folder(self._journal.generation)
            self._brief = brief and not fresh and self._open_briefly(present, ahead)
            if not self._brief:
                generation = Generation(present, read_only=read_only, mend=None if read_only else bases.mend)
                self._generation = opened.enter_context(closing(generation))
                if not read_only:
                    recovery.bring_up(self._journal, generation)
            opened.pop_all()

    def _open_briefly(self, present: Path, ahead: Ahead | None) -> bool:
        """Open the engine to read, and take note of what is not applied. False: it is more than can be read so."""
        try:
            generation = Generation(present, read_only=True, engine=None if ahead is None else ahead.engine(present))
        except StoreUnavailable:
            return False
        lacking = recovery.lacking(self._journal, generation)
        if lacking is None:
            generation.close()
            return False
        self._generation = generation
        self._applied = lacking.known
        for sequence, change in lacking.changes:
            self._given.note(change, generation.catalogue, issued=sequence > generation.catalogue.applied)
            self._given.pending.note(sequence, change)
        return True

    def _widen(self) -> None:
        """Open the engine to write after all, and bring it up to the journal."""
        with self._apply_lock, self._commits.lock:
            if not self._brief:
                return
            present = self._generation.folder
            self._generation.close()
            self._generation = Generation(present, mend=bases.mend)
            recovery.bring_up(self._journal, self._generation)
            self._applied = self._commits.durable
            self._given.applied(self._applied)
            self.registry_version = self._given.next_version()
            self._brief = False
        self._copies.serve()
        self._applier.start()

    def _found(self) -> None:
        """Make the store."""
        with founding(self.path) as draft:
            Journal(draft, create=True).close()
            with closing(Generation(self._folder(1), create=True)) as first:
                first.sync()
                first.sync_folder()

    def _folder(self, generation: int) -> Path:
        return self.path / f"{GENERATION}{generation}"

    def close(self) -> None:
        """Apply what is durable, and give the directory up."""
        if self._closed:
            return
        self._copies.stop()
        self._closed = True
        with ExitStack() as last:
            for part in (self._lock.release, self._journal.close, self._generation.close):
                last.callback(part)
            self._applier.stop()
            writing = not (self._read_only or self._brief or self._failure)
            if writing and (self._unflushed > _LEAVE or bases.outgrown(self._generation.folder)):
                self._flush()
                with suppress(*FAILURES):
                    self._journal.shrink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # reading

    @property
    def begun(self) -> bool:
        """Whether anything has happened in it."""
        return self._given.sequence > 0

    @contextmanager
    def reading(self) -> Iterator["EmbeddedStore"]:
        """The newest durable state, for a moment; inside another reading of the same thread, the state of that one."""
        outer = self._reader
        if outer != threading.get_ident():  # whoever reads holds up the applying thread, and must not wait for it
            self._wait_applied(self._commits.durable)
        with self._apply_lock:
            if self._closed:
                raise StoreUnavailable(_CLOSED)
            outer, self._reader = self._reader, threading.get_ident()
            try:
                with scanning():
                    yield self
            finally:
                self._reader = outer

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key."""
        return self._given.holder(claimed) or self._generation.holder(claimed)

    def _wait_applied(self, sequence: int, *, in_turn: bool = False) -> None:
        if self._applied >= sequence:
            return
        if self._reader == threading.get_ident():  # nothing is applied while it reads: it would wait for itself
            raise StoreUnavailable(_READS)
        if self._brief:
            self._widen()
        try:
            if in_turn:
                self._held_up = True
            with self._applier.hurried() as progress:
                while self._applied < sequence:
                    self._check()
                    progress()
        finally:
            if in_turn:
                self._held_up = False

    def snapshot(self) -> AbstractContextManager[Path]:
        """The newest durable state, as an engine that nothing changes. Raises StoreUnavailable."""
        return self._copies.snapshot()

    def backup(self, folder: Path) -> None:
        """Make a copy of the newest durable state, a store itself, in a folder that is empty or not there; others go on meanwhile.

        Raises StoreUnavailable.
        """
        self._copies.back_up(folder)

    def publish(self) -> Use:
        """Take hold of a snapshot of the newest durable state, with its catalogue. Raises OSError, sqlite3.Error."""
        return self._copies.publish()

    def lags(self) -> bool:
        """Whether the journal is ahead: a process was killed, and only opening the store for writing brings what it acknowledged."""
        sequence, event = next(self._journal.newest_first(), (0, ""))
        return sequence > 0 and (self.catalogue.applied < sequence or not self._generation.knows(event))

    # changing

    @contextmanager
    def turn(self) -> Iterator[StoreTurn]:
        """Take the turn; when the block ends without an error, what was enlisted is durable."""
        if self._read_only:
            raise StoreUnavailable("the store was opened for reading only; open it for writing")
        asked = times.now()
        turn = None
        try:
            with self.alone():
                self._check()
                if self._commits.refused:
                    self._forget()
                if not self._brief:
                    self._applier.start()
                turn = StoreTurn(self, asked)
                with scanning():
                    yield turn
                turn.hand_over()
        except Exception:
            self._keep(turn)  # an error tells of what others did as well
            raise
        self._keep(turn)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for the turn. Raises StoreUnavailable: this thread reads, and what it would wait for waits for the end of that."""
        if self._reader != threading.get_ident():
            self._applier.make_room()
            with self._turn_lock:
                yield
            return
        if self._applier.crowded:
            raise StoreUnavailable(_READS)
        while not self._turn_lock.acquire(timeout=_GLANCE):
            if self._held_up:
                raise StoreUnavailable(_READS)
        try:
            yield
        finally:
            self._turn_lock.release()

    def _keep(self, turn: StoreTurn | None) -> None:
        """Return when what a turn did, and what it may have read of, is durable. Raises StoreUnavailable: it never will be."""
        if turn is not None:
            self._commits.until(turn.relied, turn.epoch)

    def _check(self) -> None:
        if self._closed:
            raise StoreUnavailable(_CLOSED)
        if self._failure is not None:
            raise StoreUnavailable(self._failure)

    def _take(self, units: list[Unit]) -> None:
        """Have what is durable applied."""
        if not self._brief:
            self._applier.put(units)

    def _forget(self) -> None:
        """The journal refused: whatever was enlisted and is not durable never happened. Called by whoever has the turn."""
        while True:
            self._wait_applied(self._commits.durable, in_turn=True)
            with self._commits.lock:
                self._commits.ascertain()
                if self._applied < self._commits.durable:  # somebody was writing, or had written, when somebody else was interrupted
                    continue
                self._given.let_go(durable.change for durable in self._commits.lost())
                self._given.begin_after(self._journal.last(), self.registry_version)
                self._commits.forget()
                return

    def _settle(self, *, registry: bool = False) -> None:
        """Inside a turn: everything enlisted before is durable and applied; with ``registry``, what concerns namespaces and parties."""
        wanted = self._given.registry_sequence if registry else self._given.sequence
        if self._commits.durable < wanted:
            self._commits.until(self._given.sequence, self._commits.epoch)
        self._wait_applied(wanted, in_turn=True)

    def _enlist(self, changes: list[Change]) -> None:
        """Number the changes of a turn and queue them for the journal."""
        for base in {base for change in changes for base, _, _ in change.issued}:
            self._issued_in(base)
        try:
            self._commits.enlist(self._given.number(changes, self.catalogue))
        except BaseException:  # interrupted: numbers and claims of what never comes must not stay
            self._commits.refused = True  # first: whoever is interrupted again leaves the rest to the next turn
            self._given.let_go(changes)
            raise

    def _issued_in(self, base: str) -> dict[str, tuple[int, int]]:
        """Labels issued in each series of a namespace, and the highest."""
        known = self._given.series(base)
        if known is None:
            if not self._brief:  # nothing else is under way then
                self._settle()
            known = self._given.counted(base, self.catalogue)
        return known

    # applying

    def _fail(self, error: BaseException) -> None:
        """Nothing is applied any more."""
        damaged = isinstance(error, RuntimeError)  # so the engine calls what it finds to be other than it was written
        remedy = "keep its files, and restore a backup" if damaged else "free some space and open the store again"
        self._failure = f"the store at {self.path} cannot be written: {error}; what was acknowledged is kept, {remedy}"

    def _apply(self, group: list[Ready]) -> None:
        last = group[-1].durable
        with self._apply_lock:
            self._generation.take([ready.prepared for ready in group])
            self._given.applied(last.sequence)
            self._applied, self.registry_version = last.sequence, last.registry_version
            self._unflushed += len(group)
            if self._unflushed >= _PRUNE:
                self._flush()

    def _flush(self) -> None:
        """Engine and catalogue to disk; then the journal may forget. If the disk refuses, it remembers more until the next time."""
        with suppress(*FAILURES):
            with self._commits.lock:
                event = self._journal.event(self._applied)
            assert event is not None
            bases.keep(self._generation.folder, self._applied, event, self._generation.copy_engine)
            self._generation.catalogue.sync()
            with self._commits.lock:
                self._journal.prune(self._applied)
            self._unflushed = 0

    # large changes

    def staging(self, *, anew: bool = False) -> "AbstractContextManager[Staged]":
        """Take the turn for a change too large for one batch: see `idstore.stores.staging.staging`."""
        from idstore.stores.staging import staging

        return staging(self, anew=anew)

    def switch(self, number: int, generation: Generation, last: Written) -> None:
        """Make a prepared generation the present one; ``last`` is what was enlisted last in it. Raises StoreUnavailable."""
        # later than all, also where older events were taken in; of one millisecond other stores' and ours are in no order that we choose
        token, at = (self._given.token, self._given.at) if last.at < self._given.at else (-1, last.at + 1)
        last = replace(last, token=token, at=at)
        with self._apply_lock, self._commits.lock:
            self._failure = _INTERRUPTED  # until it has happened here as well: only the journal knows which generation is the present one
            try:
                self._journal.switch(number, last)
                old, self._generation = self._generation, generation
            except StoreUnavailable as error:
                # what was written of it may come to light at the next opening: until then both generations stay
                self._failure = error.message
                raise
            except BaseException:
                if self._generation is not generation:
                    generation.close()  # or nobody could open it in this process
                raise
            self.registry_version = self._given.next_version()
            self._given.begin_after(self._journal.last(), self.registry_version)
            self._commits.durable = self._applied = self._given.sequence
            self._applier.begin_after(self._applied)
            self._unflushed = 0
            self._failure = None
        old.close()
        discard([old.folder])
