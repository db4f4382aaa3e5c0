"""A store in a directory, open for reading and writing: a ledger and its projection.

`write` goes through the commit queue (writer, transaction, overlay). `read` uses a view between two batches
(views, gate). `snapshot` pins a state (pins, pinned, snapshots). `bulk` prepares a large change aside.
Opening is in files, lock and recovery.
"""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from os import PathLike, getpid
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from idstore import forks, permissions
from idstore.disk_errors import cause_and_remedy
from idstore.errors import IdstoreError, StoreForked, StoreUnavailable
from idstore.remedies import Remedy
from idstore.stores import files, recovery, redaction
from idstore.stores.contract import Answer, Runner, StoreCounters
from idstore.stores.gate import Gate
from idstore.stores.ledger.contract import Ledger
from idstore.stores.ledger.sqlite import SqliteLedger
from idstore.stores.ledger.store_format import check_first_format
from idstore.stores.lock import DirectoryLock
from idstore.stores.pinned import PinnedView
from idstore.stores.pins import Pins
from idstore.stores.projection import bases
from idstore.stores.projection.generation import FAILURES, Generation
from idstore.stores.publishing import Publisher
from idstore.stores.snapshots import Snapshots, Use
from idstore.stores.transaction import ActTransaction
from idstore.stores.views import EngineView
from idstore.stores.writer import Writer

if TYPE_CHECKING:
    from idstore.stores.bulk import BulkChange

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)

OpenLedger = Callable[[Path], Ledger]
"""Opens a ledger that is kept outside the store's folder; the argument is the folder."""


class DirectoryStore:
    """See `idstore.stores.contract.Store`.

    path    the directory; created if missing and ``create`` is set.
    wait    seconds to wait for another process.
    runner  runs queries from untrusted users.
    ledger  opens a ledger outside the directory; by default the ledger is a file in it.
    Raises StoreUnavailable, StoreBusy, StoreDamaged.
    """

    behind = ""
    age = 0.0

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        wait: float = 10.0,
        runner: Runner[Answer] | None = None,
        ledger: OpenLedger | None = None,
    ) -> None:
        forks.refuse_fork()
        self._process = getpid()
        if not (ledger is not None and any(path.glob(f"{files.GENERATION}*"))) and not files.exists(path):
            if not create:
                raise StoreUnavailable(
                    f"there is no store at {path}; create one there, or name another",
                    path=str(path),
                    remedy=Remedy.CREATE_STORE,
                )
            files.prepare(path)
        check_first_format(path)
        self.path = path.absolute()
        self._runner = runner
        try:
            self._open(wait, ledger)
        except BaseException as error:
            self._give_up()
            if isinstance(error, IdstoreError) or not isinstance(error, FAILURES):
                raise
            why, remedy = cause_and_remedy(error, path)
            raise StoreUnavailable(
                f"the store at {path} cannot be opened: {why}; {remedy}", path=str(path)
            ) from error

    def _open(self, wait: float, open_ledger: OpenLedger | None) -> None:
        begun = time.monotonic()
        with ExitStack() as opened:
            permissions.check_folder(self.path)
            lock = DirectoryLock(self.path / files.LOCK)
            opened.callback(lock.release)  # before: an interrupt may come as soon as it is held
            lock.acquire(shared=False, wait=wait)
            permissions.check_files(self.path, skip=files.SNAPSHOTS)
            if open_ledger is None:
                if not files.exists(self.path):
                    self._create()
                ledger: Ledger = SqliteLedger(self.path / files.LEDGER)
            else:
                ledger = open_ledger(self.path)
            opened.enter_context(closing(ledger))
            folder = files.generation_folder(self.path, ledger.generation)
            if open_ledger is not None and not folder.exists():
                _make_generation(folder)
            if lock.restarted:
                _mend_after_restart(ledger, folder)
                lock.found_whole()
            generation = opened.enter_context(closing(Generation(folder, mend=True)))
            mark = generation.mark
            head = recovery.bring_up(ledger, generation)
            if mark < head.number:
                _LOG.warning(
                    "%s: applied acknowledged changes that an earlier process left unapplied", self.path
                )
            bases.clear(folder)
            files.discard(other for other in self.path.glob(f"{files.GENERATION}*") if other != folder)
            self.origin = ledger.origin
            snapshots = Snapshots(self.path / files.SNAPSHOTS)
            snapshots.sweep()
            redaction.finish(folder, ledger)
            permissions.conform_files(self.path)
            permissions.conform_files(folder)
            self._gate = Gate()
            self._writer = Writer(ledger, generation, lock, self._gate, head)
            opened.pop_all()  # the writer owns them from here on
        self._writer.begin()
        self._pins = Pins(self._writer, snapshots, self._runner)
        self._publisher = Publisher(
            snapshots, self._pins.publish, self._writer.folder, self._writer.has_ended
        )
        _LOG.info("%s: opened for writing in %.2f s", self.path, time.monotonic() - begun)

    def _create(self) -> None:
        """Create the store's files."""
        with files.Founding(self.path) as draft:
            SqliteLedger(draft, create=True).close()
            files.sync(self.path)
            _make_generation(files.generation_folder(self.path, 1))

    @property
    def begun(self) -> bool:
        """Whether the store holds any change."""
        return self._writer.mark > 0

    # reading

    @property
    def is_free(self) -> bool:
        """Whether a question waits for nothing at this moment."""
        return self._gate.is_free

    def read(self, question: Callable[[EngineView], T]) -> T:
        """Return the result of a question on the newest state."""
        self._check_process()
        if self._writer.is_current():
            raise StoreUnavailable("an act called the store; inside an act, read through its transaction")
        gate = self._gate
        if not gate.is_mine:
            self._writer.check()
            with gate.entrance:
                pass
        with gate.room:
            writer = self._writer
            writer.check_open()
            generation = writer.generation
            view = EngineView(
                generation.engine,
                generation.catalogue.questions,
                writer.ledger.claim,
                writer.mark,
                writer.registry_version,
            )
            try:
                return question(view)
            finally:
                view.end()

    def refresh(self, wait: float = 10.0) -> None:
        """Do nothing: every question sees the newest state."""

    def counters(self) -> StoreCounters:
        """Return what the store has done since it was opened."""
        return self._writer.present_counters()

    def snapshot(self) -> PinnedView:
        """Pin the newest state."""
        self._check_process()
        if self._gate.is_mine or self._writer.is_current():
            raise StoreUnavailable("a snapshot was requested inside a question or an act; finish that first")
        self._writer.check()
        return self._pins.snapshot()

    # changing

    def write(self, act: Callable[[ActTransaction], T]) -> T:
        """Run an act. On return, its changes are durable and visible."""
        self._check_process()
        if self._gate.is_mine:
            raise StoreUnavailable("an act was started inside a question; finish that first")
        return self._writer.write(act)

    def bulk(self, *, fresh: bool = False, dry_run: bool = False) -> "BulkChange":
        """Prepare a large change aside."""
        from idstore.stores.bulk import BulkChange  # imported late: a short command does without it

        self._check_process()
        if self._gate.is_mine:
            raise StoreUnavailable("a large change was started inside a question; finish that first")
        return BulkChange(self._writer, self.path, self, fresh=fresh, dry_run=dry_run)

    def backup(self, folder: str | PathLike[str]) -> None:
        """Copy the newest state, as a store, into an empty or missing folder."""
        from idstore.stores import backup

        self._check_process()
        if self._gate.is_mine or self._writer.is_current():
            raise StoreUnavailable("a backup was started inside a question or an act; finish that first")
        self._writer.check()
        backup.back_up(self.path, self.publish, self._writer.ledger, files.folder(folder))

    def publish(self) -> Use:
        """Return a snapshot of the newest state, with its catalogue.

        Raises StoreUnavailable, OSError, sqlite3.Error.
        """
        return self._pins.publish()

    # closing

    def close(self) -> None:
        """Close the store. After an interrupt, a second call waits for the end.

        In a forked child it does nothing.
        """
        if getpid() != self._process:
            return
        try:
            self._publisher.stop()
            self._publisher.join()
        finally:  # an interrupt propagates, but no lock stays held
            self._writer.end()
        self._writer.join()
        _LOG.info("%s: closed", self.path)

    def __del__(self) -> None:
        """End the threads and release the lock of a store that was not closed."""
        if vars(self).get("_process") == getpid():
            self._give_up()

    def _give_up(self) -> None:
        """Tell the threads that were started to end and to close the files. Returns at once."""
        writer: Writer | None = vars(self).get("_writer")
        if writer is not None:
            writer.give_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_process(self) -> None:
        if getpid() != self._process:
            raise StoreForked


def _mend_after_restart(ledger: Ledger, folder: Path) -> None:
    """Replace an engine that lacks a change before its mark by its base.

    For the first opening since the system started: only a loss of power leaves such an engine.
    """
    base = bases.mark(folder)
    if ledger.head().number <= base:  # as in a new store
        return
    with closing(Generation(folder, mend=True)) as generation:
        whole = recovery.is_whole(ledger, generation, base)
    if not whole:
        _LOG.warning("%s: the engine lost a change in a loss of power, and is rebuilt", folder.parent)
        bases.mend(folder)


def _make_generation(folder: Path) -> None:
    with closing(Generation(folder, create=True)) as generation:
        generation.sync()
