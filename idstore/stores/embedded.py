"""A store in a directory: journal, lock and the present generation of engine and catalogue.

Writers are serialised by one lock in the process and one on the directory; the journal makes changes durable in groups; a thread
applies what is durable to the generation, in order. Readers wait for it.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.frozen import replace
from idstore.stores import bases, recovery
from idstore.stores.applying import Applier, Ready, Unit
from idstore.stores.background import Weakly
from idstore.stores.committing import Commits
from idstore.stores.copies import Copies
from idstore.stores.elsewhere import bring_up
from idstore.stores.engine import Engine
from idstore.stores.founding import GENERATION, JOURNAL, LOCK, discard, exists, founding, prepare
from idstore.stores.generation import FAILURES, Generation
from idstore.stores.given import Given
from idstore.stores.inherited import lacks_threads
from idstore.stores.journal import Journal, Written
from idstore.stores.lock import DirectoryLock
from idstore.stores.snapshots import Use
from idstore.stores.telling import remedy, unnumbered
from idstore.stores.waiting import PATIENCE, Waiting

if TYPE_CHECKING:
    from idstore.stores.staging import Staged

_INTERRUPTED = "what was under way was interrupted as it came into effect; open the store again, where it is either whole or not at all"
_LEAVE = 100
"""Changes that may be left for the engine to recover from its own log at the next opening; more are flushed at closing."""
_PRUNE = 20_000
"""Changes after which engine and catalogue are flushed and the journal is pruned."""


class EmbeddedStore(Waiting):
    """A store in a directory of its own.

    path      the directory; made when ``create`` is set and nothing is there.
    durable   whether a change is on disk before it is acknowledged (durability ``power``); otherwise only handed to the system (``process``).
    wait      seconds to wait for another process.
    read_only take the shared lock and change nothing.
    unless    asked again and again while it waits; ends the wait when it says so.
    brief     for one quick act: the engine is opened to read, which is much faster, and to write only when the act needs more than that.
              What was done so is applied by whoever opens the store next to write.
              In a fork of a process that had an engine write, every store is opened so, and what needs more is done by another process.
    lock      the store's, if that is had already; it is taken over.
    engine    with ``brief``: gives the engine of a generation, if somebody has opened that already.

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
        lock: DirectoryLock | None = None,
        engine: Callable[[Path], Engine | None] | None = None,
    ) -> None:
        super().__init__()
        self.path = path
        if not exists(path):
            if read_only or not create:
                raise StoreUnavailable(
                    f"there is no store at {path}; make one with `idstore init`, or name another with --store", path=str(path)
                )
            prepare(path)
        self.path = path.absolute()  # engines are opened later as well, wherever the process is then
        self._lock = lock or DirectoryLock(path / LOCK)
        self._read_only = read_only
        self._brief = self._closed = self._given_up = False
        self._failure: str | None = None
        self._unflushed = 0
        self.registry_version = self._durable_version = 0
        apply = Weakly(self._apply)
        self._applier = Applier(apply, Weakly(self._fail), apply.is_gone)
        self._copies = Copies(self)
        try:
            if lock is None:
                self._lock.acquire(shared=read_only, wait=wait, unless=unless)
            self._open(durable, read_only=read_only, brief=brief, engine=engine)
            self._commits = Commits(self._journal, self._take)
            if not read_only and (lacks_threads() or not self._brief):
                self._copies.serve()
        except BaseException as error:
            self._give_up()
            if isinstance(error, IdstoreError) or not isinstance(error, FAILURES):
                raise
            raise StoreUnavailable(f"the store at {path} cannot be opened: {unnumbered(error)}; {remedy(error)}", path=str(path)) from error

    # opening and closing

    def _open(self, durable: bool, *, read_only: bool, brief: bool, engine: Callable[[Path], Engine | None] | None) -> None:
        elsewhere = lacks_threads() and not read_only
        fresh = not exists(self.path)
        if fresh and elsewhere:
            bring_up(self.path, self._lock, create=True)
        elif fresh:
            self._found()
        with ExitStack() as opened:
            self._journal = opened.enter_context(closing(Journal(self.path / JOURNAL, durable=durable, read_only=read_only)))
            self.origin = self._journal.store
            self._given = Given(last := self._journal.last())
            self._applied = last[0]
            present = self._folder(self._journal.generation)
            if elsewhere or (brief and not fresh):
                self._brief = self._open_briefly(present, engine)
            if elsewhere and not self._brief:
                self._generation = opened.enter_context(closing(self._brought_up(present)))
                self._brief = True
            elif not self._brief:
                generation = Generation(present, read_only=read_only, mend=None if read_only else bases.mend)
                self._generation = opened.enter_context(closing(generation))
                if not read_only:
                    recovery.bring_up(self._journal, generation)
            opened.pop_all()

    def _open_briefly(self, present: Path, engine: Callable[[Path], Engine | None] | None) -> bool:
        """Open the engine to read, and take note of what is not applied. False: it is more than can be read so."""
        try:
            generation = Generation(present, read_only=True, engine=engine and engine(present))
        except StoreUnavailable:
            return False
        with ExitStack() as opened:
            opened.callback(generation.close)
            lacking = recovery.lacking(self._journal, generation)
            if lacking is None:
                return False
            self._generation = generation
            self._applied = lacking.known
            for sequence, change in lacking.changes:
                self._given.note(change, generation.catalogue, issued=sequence > generation.catalogue.applied)
                self._given.pending.note(sequence, change)
            opened.pop_all()
        return True

    def _brought_up(self, present: Path) -> Generation:
        """Have another process bring the engine up to the journal, and open it to read. Raises StoreUnavailable: it lacks anything."""
        bring_up(self.path, self._lock)
        with ExitStack() as opened:
            generation = opened.enter_context(closing(Generation(present, read_only=True)))
            found = recovery.lacking(self._journal, generation)
            if found is None or found.changes:
                raise StoreUnavailable(f"the store at {self.path} was not brought up to its journal; open it again", path=str(self.path))
            opened.pop_all()
        return generation

    def _widen(self) -> None:
        """Bring the engine up to the journal, and have it open to write from now on, as far as this process can."""
        with self._apply_lock, self._commits.lock:
            self._check()
            if not self._brief:
                return
            self._commits.ascertain()
            present = self._generation.folder
            try:
                self._lock.check()
                self._generation.close()
                if lacks_threads():
                    self._generation = self._brought_up(present)
                else:
                    self._generation = Generation(present, mend=bases.mend)
                    recovery.bring_up(self._journal, self._generation)
            except BaseException as error:
                self._failure = f"{error}; then open the store again" if isinstance(error, StoreUnavailable) else _INTERRUPTED
                raise
            self._applied = self._commits.durable
            self._applier.begin_after(self._applied)
            self._given.applied(self._applied)
            self.registry_version = self._durable_version
            if lacks_threads():
                return
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
        """Apply what is durable, and give the directory up. Called again, it goes on where an interrupt ended it.

        An interrupt leaves what is not applied for the next opening. In a child of the process that opened the store it does nothing.
        """
        if self._given_up or self._process != os.getpid():
            return
        try:
            self._copies.stop()
        finally:
            self._closed = True
            self._finish()

    def _finish(self) -> None:
        acts = self._turn_lock.acquire(timeout=PATIENCE)  # whoever has the turn is nearly done
        try:
            with suppress(StoreUnavailable):  # whoever waits for it is told
                self._commits.end()
            self._applier.stop()
            writing = not (self._read_only or self._brief or self._failure)
            if writing and (self._unflushed > _LEAVE or self._outgrown()):
                self._flush()
                with suppress(*FAILURES):
                    self._journal.shrink()
        finally:
            with self._apply_lock, self._commits.lock:
                self._give_up()
            if acts:
                self._turn_lock.release()

    def _outgrown(self) -> bool:
        """Whether the base is to be made anew; not where nobody can tell."""
        try:
            return bases.outgrown(self._generation.folder)
        except OSError:
            return False

    def _give_up(self) -> None:
        """Close the files and release the lock, which is the last of it."""
        files = [vars(self).get("_generation"), vars(self).get("_journal")]
        _to_the_end([*(file.close for file in files if file is not None), self._lock.release])
        self._given_up = True

    def __del__(self) -> None:
        """Nobody has the store any more, who could close it: its files are given up, what is not applied is left for the next opening."""
        if vars(self).get("_given_up") is False and self._process == os.getpid():
            with suppress(*FAILURES):
                self._give_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # reading

    @property
    def begun(self) -> bool:
        """Whether anything has happened in it."""
        return self._given.sequence > 0

    def snapshot(self) -> AbstractContextManager[Path]:
        """The newest durable state, as an engine that nothing changes. Raises StoreUnavailable."""
        return self._copies.snapshot()

    def backup(self, folder: Path) -> None:
        """Make a copy of the newest durable state, a store itself, in a folder that is empty or not there; others go on meanwhile.

        Raises StoreUnavailable; also where the newest changes are not seen (``behind``), for a backup is to have them.
        """
        self._copies.back_up(folder)

    def publish(self) -> Use:
        """Take hold of a snapshot of the newest durable state, with its catalogue. Raises OSError, sqlite3.Error."""
        return self._copies.publish()

    def lags(self) -> bool:
        """Whether the journal is ahead: a process was killed, and only opening the store for writing brings what it acknowledged."""
        sequence, event = next(self._journal.newest_first(), (0, ""))
        return sequence > 0 and (self.catalogue.applied < sequence or not self._generation.knows(event))

    def read_behind(self) -> bool:
        """Read the state before the newest allocations, which are not applied; False: what is not applied is more than that."""
        if recovery.lacks_allocations_alone(self._journal, self._generation):
            self.behind = "somebody who may write there must apply what was allocated, with `idstore stats`"
        return bool(self.behind)

    # applying

    def _take(self, units: list[Unit]) -> None:
        """Have what is durable applied."""
        if not self._brief:
            self._applier.put(units)
        elif units:
            self._durable_version = units[-1][-1].registry_version

    def _fail(self, error: BaseException) -> None:
        """Nothing is applied any more."""
        damaged = isinstance(error, StoreDamaged)
        remedy = "keep its files, and restore a backup" if damaged else "free some space and open the store again"
        self._failure = (
            f"the store at {self.path} cannot be written: {error.__cause__ if damaged else error}; what was acknowledged is kept, {remedy}"
        )

    def _apply(self, group: list[Ready]) -> None:
        last = group[-1].durable
        with self._apply_lock:
            self._generation.take([ready.prepared for ready in group], self._applier.paced)
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


def _to_the_end(parts: Iterable[Callable[[], None]]) -> None:
    """Do each, once more where an interrupt comes meanwhile; it is raised afterwards."""
    raised: BaseException | None = None
    for part in parts:
        done = False
        while not done:
            try:
                part()
                done = True
            except Exception as error:  # noqa: BLE001 raised below
                raised, done = error, True
            except BaseException as interrupt:  # noqa: BLE001 raised below
                raised = interrupt
    if raised is not None:
        raise raised
