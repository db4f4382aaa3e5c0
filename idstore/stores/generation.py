"""A generation of an embedded store: the engine and the catalogue, together in a folder.

The only module that imports pyoxigraph's Store. Both parts are projections of the log; `Generation.apply` is their only way to change.
A store has one present generation; what is large (an import, a restore) is prepared in the next one, and takes effect by one entry in the journal.
"""

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pyoxigraph import NamedNode, Quad, RdfFormat
from pyoxigraph import Store as Engine

from idstore.errors import StoreUnavailable
from idstore.model.change import Change
from idstore.model.terms import Term
from idstore.stores.catalogue import Catalogue
from idstore.stores.founding import sync_folder
from idstore.vocabulary import CLAIMS, IDS, RDF

FAILURES = (OSError, RuntimeError, sqlite3.Error)
"""What engine and catalogue raise when files cannot be read or written."""
ENGINE = "engine"
CATALOGUE = "catalogue.sqlite"
_CURRENT = "CURRENT"
"""The file without which there is no engine."""


class Generation:
    """Engine and catalogue in ``folder``; made when ``create`` is set. Its owner holds a lock.

    mend  what to do about an engine that does not open, before another attempt.
    Raises StoreUnavailable.
    """

    def __init__(self, folder: Path, *, create: bool = False, read_only: bool = False, mend: Callable[[Path], None] | None = None) -> None:
        self.folder = folder
        try:
            if create:
                folder.mkdir(exist_ok=True)
            self.engine = _opened(folder, create, read_only, mend)
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreUnavailable(
                f"the store's folder {folder} cannot be opened: {error}; check it and its permissions", path=str(folder)
            ) from error
        try:
            self.catalogue = Catalogue(folder / CATALOGUE, create=create and not (folder / CATALOGUE).exists(), read_only=read_only)
        except BaseException:
            del self.engine
            raise

    # reading

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match."""
        return self.engine.quads_for_pattern(subject, predicate, value, graph)

    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph."""
        for graph in self.engine.named_graphs():
            assert isinstance(graph, NamedNode)
            yield graph

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key."""
        found = next(self.engine.quads_for_pattern(claimed, IDS.claimedBy, None, CLAIMS), None)
        if found is None:
            return None
        assert isinstance(found.object, NamedNode)
        return found.object

    def knows(self, event: str) -> bool:
        """Whether the engine has the change that began with this event."""
        return next(self.engine.quads_for_pattern(NamedNode(event), RDF.type, None, None), None) is not None

    # changing

    def apply(self, batch: Sequence[tuple[int, Change]]) -> None:
        """Make changes, each with the sequence number of its last event, in order. Raises OSError or sqlite3.Error."""
        plain: list[Quad] = []
        for _, change in batch:
            if not change.remove:
                plain += change.quads()
                continue
            self.write((), plain)
            plain = []
            self.write(change.remove, change.quads())
        self.write((), plain)
        self.catalogue.apply(batch)

    def write(self, removed: Sequence[Quad], more: Sequence[Quad]) -> None:
        """One atomic batch of the engine."""
        if removed:
            self.engine.update(f"DELETE DATA {{ {_data(removed)} }} ; INSERT DATA {{ {_data(more)} }}")
        elif more:
            self.engine.extend(more)

    def sync(self) -> None:
        """Bring everything to disk, the folder's own entries included."""
        self.engine.flush()
        self.catalogue.sync()

    def sync_folder(self) -> None:
        """Bring the folder's entries to disk."""
        for place in (self.folder / ENGINE, self.folder, self.folder.parent):
            sync_folder(place)

    def copy_engine(self, target: Path) -> None:
        """A copy of the engine in a new folder: hard links to files that it never changes, on the same disk. Raises OSError."""
        self.engine.backup(str(target))

    def copy(self, folder: Path) -> None:
        """A copy in a new folder. Raises OSError."""
        folder.mkdir(parents=True)
        self.copy_engine(folder / ENGINE)
        self.catalogue.copy(folder / CATALOGUE)

    def close(self) -> None:
        """Give the files up."""
        self.catalogue.close()
        del self.engine


def _opened(folder: Path, create: bool, read_only: bool, mend: Callable[[Path], None] | None) -> Engine:
    """The engine in a generation's folder. Raises OSError, ValueError, RuntimeError (what the engine says of broken files)."""
    engine = folder / ENGINE
    try:
        if not (create or (engine / _CURRENT).exists()):
            raise FileNotFoundError(f"{engine} holds no engine")
        return Engine.read_only(str(engine)) if read_only else Engine(str(engine))
    except (OSError, ValueError, RuntimeError):
        if mend is None:
            raise
    mend(folder)
    return Engine(str(engine))


def make_empty(engine: Path) -> None:
    """Make an engine that holds nothing. Raises OSError."""
    Engine(str(engine)).flush()


def copy_files(engine: Path, copy: Path, shared: Collection[str] = (".sst",)) -> None:
    """A copy of the files of an engine that no process writes, in a new folder. Raises OSError.

    shared  kinds of files that are shared by hard links where the disk allows it. Table files never change; logs do not either once the
            engine was opened anew.
    An engine that is open for reading only cannot do this by itself: what it backs up lacks everything that is in its log alone.
    """
    copy.mkdir()
    for file in engine.iterdir():
        target = copy / file.name
        if file.suffix in shared:
            with suppress(OSError):
                target.hardlink_to(file)
        if not (file.name.startswith("LO") or target.exists()):  # LOCK, and LOG, its diary
            shutil.copyfile(file, target)


def discard(folders: Iterable[Path]) -> None:
    """Remove folders that are not the present generation."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _data(quads: Sequence[Quad]) -> str:
    """Quads as SPARQL's quad data, written by the terms themselves."""
    return " ".join(f"GRAPH {quad.graph_name} {{ {quad.subject} {quad.predicate} {quad.object} }}" for quad in quads)


def engine_to_read(path: Path) -> Engine:
    """An engine that nothing changes, such as a snapshot. Raises StoreUnavailable."""
    try:
        return Engine.read_only(str(path))
    except OSError as error:
        raise StoreUnavailable(f"the snapshot {path} cannot be read: {error}", path=str(path)) from error


class Scratch:
    """A throw-away engine for what was read from files, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._engine = Engine(str(folder))

    def load(self, path: Path, format: RdfFormat) -> None:
        """Read a file. Raises SyntaxError, with the line where the format has one; OSError."""
        self._engine.bulk_load(path=str(path), format=format)

    def change(self, quad: Quad, *, appears: bool) -> None:
        """Add a quad, or remove it."""
        (self._engine.add if appears else self._engine.remove)(quad)

    def quads(self, subject: NamedNode | None = None, predicate: NamedNode | None = None, value: Term | None = None) -> Iterator[Quad]:
        """The quads that match, in any graph."""
        return self._engine.quads_for_pattern(subject, predicate, value, None)
