"""Pinned states of an open store.

Each is pinned between two batches and shared by the snapshots that need it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from weakref import ReferenceType, finalize, ref

from idstore.disk_errors import cause_and_remedy, is_full
from idstore.errors import IdstoreError, StoreUnavailable, engine_error
from idstore.progress import Progress
from idstore.stores.contract import Answer, Runner
from idstore.stores.files import need_room
from idstore.stores.pinned import PinnedView, files_in_use
from idstore.stores.projection.catalogue import PinnedCatalogue
from idstore.stores.projection.generation import FAILURES
from idstore.stores.projection.oxigraph import Engine
from idstore.stores.snapshots import Snapshots, Use, name_of
from idstore.stores.writer import Writer


class _Moment(NamedTuple):
    """The state between two batches."""

    name: str
    catalogue: PinnedCatalogue
    mark: int
    registry_version: int


class _State:
    """A pinned state, closed when its last reader is collected: an interrupt leaves nothing open.

    A finalizer closes it, not `__del__`: while `__del__` runs, a weak reference still returns the object to
    another thread.
    """

    def __init__(self, use: Use, moment: _Moment) -> None:
        self.moment = moment
        closers: list[Callable[[], None]] = [moment.catalogue.close, use.release]
        finalize(self, _call_all, closers).atexit = False
        self.engine = Engine(use.engine, read_only=True)
        closers.insert(0, self.engine.close)


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


class Pins:
    """Creates snapshots of one store.

    One state is pinned at a time; readers that wait meanwhile share the next one.
    """

    def __init__(self, writer: Writer, snapshots: Snapshots, runner: Runner[Answer] | None) -> None:
        self._writer, self._snapshots, self._runner = writer, snapshots, runner
        self._latest: ReferenceType[_State] | None = None
        self._making = threading.Lock()

    def snapshot(self) -> PinnedView:
        """Return a view of the present state or a later one. Raises StoreUnavailable."""
        needed = self._writer.mark
        with self._making:
            state = None if self._latest is None else self._latest()
            if state is None or state.moment.mark < needed:
                state = self._make()
                self._latest = ref(state)
        moment, writer = state.moment, self._writer
        return PinnedView(
            state.engine,
            moment.catalogue.questions,
            writer.ledger,
            moment.mark,
            moment.registry_version,
            self._runner,
            faults=partial(self._faults, state.engine),
            kept=state,
        )

    def _make(self) -> _State:
        try:
            return _State(*self._pin())
        except IdstoreError:
            raise
        except FAILURES as error:
            raise self._refused(error) from error

    def _flush(self) -> None:
        """Write the engine's tables in advance, so that copying it takes only a moment.

        Raises OSError, RuntimeError, StoreUnavailable.
        """
        try:
            self._writer.generation.engine.flush()
        except (OSError, RuntimeError) as error:
            if is_full(error, self._snapshots.folder.parent):
                need_room(self._snapshots.folder.parent)
            self._writer.renew()  # the disk was full before: the engine refuses until it is reopened
            self._writer.generation.engine.flush()

    def _pin(self) -> tuple[Use, _Moment]:
        """Pin the present state. Raises StoreUnavailable."""
        writer, snapshots = self._writer, self._snapshots

        def moment() -> _Moment:
            generation = writer.generation
            name = name_of(generation.folder, writer.mark)
            return _Moment(name, generation.catalogue.pinned(), writer.mark, writer.registry_version)

        def existing() -> tuple[Use, _Moment] | None:
            writer.catch_up()
            writer.check_place()
            use = snapshots.use(name_of(writer.generation.folder, writer.mark))
            return None if use is None else (use, moment())

        moments: list[_Moment] = []

        def fill(target: Path) -> str:
            def between() -> _Moment:
                writer.catch_up()
                writer.generation.engine.checkpoint(target)
                writer.count_snapshot()
                return moment()

            moments.append(writer.between(between))
            return moments[0].name

        try:
            pinned = writer.between(existing)
            if pinned is not None:
                return pinned
            self._flush()
            use = snapshots.make(writer.ledger.origin, fill)
        except BaseException as error:
            for created in moments:
                created.catalogue.close()
            if isinstance(error, FAILURES) and not isinstance(error, IdstoreError):
                raise self._refused(error) from error
            raise
        snapshots.sweep(keep=use.folder.name)
        return use, moments[0]

    def _refused(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, RuntimeError):
            return engine_error(error)
        path = self._snapshots.folder.parent
        why, remedy = cause_and_remedy(error, path)
        return StoreUnavailable(f"no snapshot can be made in {path}: {why}; {remedy}", path=str(path))

    def publish(self) -> Use:
        """Return a snapshot of the newest state, with its catalogue.

        Raises StoreUnavailable, OSError, sqlite3.Error.
        """
        use, moment = self._pin()
        try:
            if not use.has_catalogue:
                use.complete(moment.catalogue.copy)
        except BaseException:
            use.release()
            raise
        finally:
            moment.catalogue.close()
        return use

    def _faults(self, shared_engine: Engine, progress: Progress) -> Iterator[str]:
        """Yield faults of the live files, read from the disk."""
        writer = self._writer
        return files_in_use(
            writer.folder,
            writer.ledger,
            writer.mark,
            self._snapshots,
            shared_engine,
            progress,
        )
