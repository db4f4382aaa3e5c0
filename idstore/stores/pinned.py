"""A state of a store that nothing changes: see `idstore.stores.contract.Snapshot`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pyoxigraph import NamedNode

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.model.change import Claim
from idstore.progress import Progress
from idstore.stores import contract
from idstore.stores.contract import Answer, Limits, Node, Runner
from idstore.stores.ledger.contract import Ledger
from idstore.stores.projection import bases, engine_checks
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.generation import CATALOGUE
from idstore.stores.projection.oxigraph import ENGINE, Engine
from idstore.stores.snapshots import Snapshots
from idstore.stores.views import EngineView

_CLOSED: Final = "the snapshot was closed"
_ATTEMPTS: Final = 3
"""Number of attempts to check a generation before a large change replaces it."""


class PinnedView(EngineView):
    """A `Snapshot` over an engine and a catalogue that nothing changes.

    mark    number of the last journal row that the state contains.
    faults  yields faults of the store's files.
    kept    owner of the state's files, kept alive until the view is closed.
    """

    def __init__(
        self,
        engine: Engine,
        catalogue: contract.Catalogue,
        ledger: Ledger,
        mark: int,
        registry_version: int,
        runner: Runner[Answer] | None,
        *,
        faults: Callable[[Progress], Iterator[str]],
        kept: object,
    ) -> None:
        super().__init__(engine, catalogue, ledger.claim, mark, registry_version)
        self._ledger = ledger
        self._runner = runner
        self._faults = faults
        self._kept: object = kept

    def rows(self, query: str, graphs: Sequence[NamedNode] | None = None) -> Iterator[tuple[Node, ...]]:
        """Yield the rows of a SELECT query from trusted code."""
        self._check_process()
        return self._engine.rows(query, graphs)

    def query(self, text: str, graphs: Sequence[NamedNode], limits: Limits) -> Answer:
        """Answer a user's query in a separate process."""
        self._check_process()
        if self._runner is None:
            raise StoreUnavailable("this store was opened without a query runner; open it with idstore.open")
        return self._runner(str(self._engine.path), text, graphs, limits)

    def claims(self) -> Iterator[Claim]:
        """Yield every claim, by key."""
        self._check_process()
        return self._ledger.claims(self._mark)

    def faults(self, progress: Progress) -> Iterator[str]:
        """Yield faults of the store's files."""
        self._check_process()
        return self._faults(progress)

    def close(self) -> None:
        """Release the state."""
        if self._kept is not None:
            self.end()
            self._kept = None
            del self._faults  # it may keep the state's files, too

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_process(self) -> None:
        super()._check_process()
        if self._kept is None:
            raise StoreUnavailable(_CLOSED)


def files_in_use(
    present: Callable[[], Path],
    ledger: Ledger,
    mark: int,
    snapshots: Snapshots,
    shared_engine: Engine,
    progress: Progress,
) -> Iterator[str]:
    """Yield faults of files that a process has open, read from the disk instead of that process's memory.

    present        returns the folder of the present generation: a large change may replace it meanwhile.
    snapshots      may have room for a copy of the engine's files.
    shared_engine  an engine that shares tables with it, read if the live files change continually.
    """
    yield from ledger.faults()
    found: list[str] = []
    for _ in range(_ATTEMPTS):
        try:
            folder = present()
            found = [*_generation_faults(folder, mark, snapshots, shared_engine, progress)]
            if _lacks_base(folder, ledger):
                found.append("the engine has no base, and the ledger no longer has every row")
            if not found or present() == folder:
                break
        except StoreUnavailable as error:
            found = [error.message]
    yield from found


def _lacks_base(generation: Path, ledger: Ledger) -> bool:
    """Whether neither a base nor the ledger has the first changes. Raises StoreUnavailable."""
    if bases.mark(generation) or not ledger.head().number:
        return False
    try:
        next(ledger.rows(0))
    except StoreDamaged:
        return True
    return False


def _generation_faults(
    generation: Path, mark: int, snapshots: Snapshots, shared_engine: Engine, progress: Progress
) -> Iterator[str]:
    with closing(Catalogue(generation / CATALOGUE, read_only=True)) as catalogue:
        yield from catalogue.faults()
    with ExitStack() as opened:
        try:
            try:
                folder = opened.enter_context(snapshots.scratch())
            except OSError:  # this account may only read
                from idstore import scratch  # imported late: a short command does without it

                folder = opened.enter_context(scratch.folder())
            yield from engine_checks.faults_on_disk(
                generation / ENGINE, mark, folder, shared_engine, progress
            )
            yield from bases.faults(generation, folder, progress)
        except OSError as error:
            yield f"the engine's files cannot be copied to be checked: {error.strerror}"
