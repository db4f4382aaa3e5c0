"""Maintenance between acts: writing the engine's tables, and pruning the ledger.

Rows are pruned from the ledger once a base of the engine and the catalogue have them on disk. The order makes
this safe: the engine is copied between two batches, then the copy and the catalogue are synced, and only then
the rows are deleted, in later transactions.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

from idstore.errors import IdstoreError
from idstore.stores.projection import bases
from idstore.stores.projection.generation import FAILURES, Generation
from idstore.stores.threads import start

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
_PRUNE: Final = 20_000
"""Number of rows in the ledger that starts pruning."""
_PORTION: Final = 2000
"""Number of rows deleted in one transaction, while acts wait."""
_LEAVE: Final = 100
"""Number of rows that may stay at closing, for the engine to recover from its own log at the next opening."""
_LOGGED: Final = 2000
"""Number of changes that the engine's log may always hold; each takes about 12 kB."""
_SHARE: Final = 32
"""Divisor: the engine's log may hold this fraction of all changes; an import counts as one.

Then its tables are written, and merged with older ones.
"""


class Owner(Protocol):
    """The part of the writer that maintenance uses."""

    generation: Generation
    mark: int
    unpruned: int

    def between(self, function: Callable[[], T]) -> T:
        """Run a function between two batches."""

    def check_place(self) -> None:
        """Raise StoreUnavailable if the folder was moved, removed or replaced."""

    def prune(self, number: int) -> None:
        """Delete rows up to a number."""


class Maintenance:
    """Maintains one store in a thread of its own. A failed task is tried again after a later batch."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._thread: threading.Thread | None = None

    def start_due(self) -> None:
        """Start the tasks that are due. The writer's thread calls it after a batch."""
        if self._thread is not None and self._thread.is_alive():
            return
        engine = self._owner.generation.engine
        prunes = self._owner.unpruned >= _PRUNE
        if prunes or engine.unflushed > max(_LOGGED, self._owner.mark // _SHARE):
            thread = threading.Thread(
                target=self._run, args=(prunes,), daemon=True, name="idstore-maintenance"
            )
            with suppress(RuntimeError):  # no thread can be started now
                start(thread)
                self._thread = thread

    def wait(self) -> None:
        """Return when no task is running."""
        if self._thread is not None:
            self._thread.join()

    def finish(self, *, sound: bool) -> None:
        """Finish: wait for running tasks, and leave little work for the next opening.

        For the end of the writer's thread.
        """
        self.wait()
        generation = self._owner.generation
        with self._logged():
            if sound and (generation.engine.unflushed > _LEAVE or bases.is_outgrown(generation.folder)):
                self._prune(lambda function: function())

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Log an error of the block, and end it."""
        try:
            yield
        except (*FAILURES, IdstoreError) as error:
            folder = self._owner.generation.folder.parent
            _LOG.warning("%s: maintenance failed, and is tried again later: %s", folder, error)

    def _run(self, prunes: bool) -> None:
        with self._logged():
            self._owner.check_place()
            self._owner.generation.engine.flush()
            if prunes:
                self._prune(self._owner.between)

    def _prune(self, between: Callable[[Callable[[], int | None]], int | None]) -> None:
        generation = self._owner.generation
        generation.engine.flush()
        before = bases.mark(generation.folder)

        def copy(target: Path) -> int:
            mark = between(lambda: _checkpoint(generation, target))
            assert mark is not None
            return mark

        self._owner.check_place()
        base = bases.keep(generation.folder, copy)
        # read before the sync: later rows may not be on disk
        mark = min(base, generation.catalogue.mark)
        generation.catalogue.sync()
        for end in (*range(before + _PORTION, mark, _PORTION), mark):
            between(lambda end=end: self._owner.prune(end))  # type: ignore[misc]
        self._owner.unpruned -= mark - before
        _LOG.debug("%s: pruned the ledger", generation.folder.parent)


def _checkpoint(generation: Generation, target: Path) -> int:
    generation.engine.checkpoint(target)
    return generation.engine.mark
