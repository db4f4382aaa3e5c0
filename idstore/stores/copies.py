"""Copies of a store's newest durable state, which nothing changes: for readers, for other processes, and for backups."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from idstore.errors import StoreUnavailable
from idstore.stores.background import Weakly
from idstore.stores.blocks import block
from idstore.stores.engine import ENGINE
from idstore.stores.generation import CATALOGUE, copy_files
from idstore.stores.snapshots import Snapshots, Use, name_of, pinned
from idstore.stores.telling import unnumbered

if TYPE_CHECKING:
    from idstore.stores.embedded import EmbeddedStore
    from idstore.stores.publishing import Publisher

SNAPSHOTS: Final = "snapshots"


def unapplied(path: Path, why: object = "it was opened for reading only") -> StoreUnavailable:
    """What to raise where a reader lacks changes and may not apply them."""
    return StoreUnavailable(
        f"{path} has changes that were acknowledged and not applied, as `idstore mint` leaves a few, or a process that was killed; somebody who may"
        f" write there must open it once, with `idstore stats`: {why}",
        path=str(path),
    )


class Copies:
    """What is given to readers of one store. Files that the engine never changes are shared by hard links, so that a copy costs little."""

    def __init__(self, store: "EmbeddedStore") -> None:
        self._store = store
        self._snapshots = Snapshots(store.path / SNAPSHOTS)
        self._publisher: Publisher | None = None

    def serve(self) -> None:
        """Have readers in other processes served."""
        from idstore.stores.publishing import Publisher

        self._snapshots.sweep()
        self._publisher = Publisher(self._snapshots, Weakly(self.publish))

    def stop(self) -> None:
        """Serve them no more."""
        if self._publisher is not None:
            self._publisher.stop()

    @block
    def snapshot(self) -> Iterator[Path]:
        """The state, as an engine. Raises StoreUnavailable."""
        used = None
        try:
            with self._store.reading():
                used = None if self._store.behind else self._use()
        except StoreUnavailable:
            raise
        except OSError as error:
            if not self._store._read_only:
                path = self._store.path
                raise StoreUnavailable(
                    f"no snapshot can be made in {path}: {unnumbered(error)}; free some space", path=str(path)
                ) from error
        with self._itself() if used is None else used as found:
            yield found.engine if isinstance(found, Use) else found

    @block
    def _itself(self) -> Iterator[Path]:
        """The engine itself, in the place of a snapshot where none can be made; nobody writes meanwhile."""
        lock = self._store._lock.again()
        try:
            yield self._store._generation.folder / ENGINE
        finally:
            lock.release()

    def back_up(self, folder: Path) -> None:
        """Make of it a store in a folder that is empty or not there; others go on meanwhile. Raises StoreUnavailable."""
        from idstore.stores import backups

        if self._store.behind:
            raise unapplied(self._store.path)
        with ExitStack() as held:
            with self._store.reading():
                engine = held.enter_context(self.snapshot())
                catalogue = held.enter_context(closing(pinned(self._store._generation.folder / CATALOGUE)))
            backups.back_up(self._store.path, engine, catalogue, self._store.origin, folder)

    def publish(self) -> Use:
        """Take hold of it, with its catalogue. Raises OSError, sqlite3.Error."""
        if self._store.behind:
            raise unapplied(self._store.path)  # it would have the name of a state that lacks nothing
        with ExitStack() as held:
            with self._store.reading():
                used = held.enter_context(self._use())
                catalogue = None if used.whole else pinned(self._store._generation.folder / CATALOGUE)
            if catalogue is not None:
                with closing(catalogue):
                    used.complete(catalogue)
            held.pop_all()
        return used

    def _use(self) -> Use:
        """Take hold of the snapshot of what is applied; inside a reading."""
        store = self._store
        name = name_of(store._journal.generation, store._applied)
        used = self._snapshots.use(name)
        if used is None:
            used = self._snapshots.make(name, store.origin, self._fill)
            self._snapshots.sweep(keep=name)
        return used

    def _fill(self, target: Path) -> None:
        store = self._store
        if store._read_only or store._brief:  # an engine that is open to read copies its tables alone, not its log
            copy_files(store._generation.folder / ENGINE, target, (".sst", ".log"))
        else:
            store._generation.copy_engine(target)
