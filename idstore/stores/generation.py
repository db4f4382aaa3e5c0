"""A generation of an embedded store: the engine and the catalogue, together in a folder.

Both parts are projections of the log; `Generation.apply` is their only way to change.
A store has one present generation; what is large (an import, a restore) is prepared in the next one, and takes effect by one entry in the journal.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from pyoxigraph import NamedNode, Quad, QueryTriples, RdfFormat

from idstore.errors import StoreUnavailable
from idstore.model.change import Change
from idstore.model.terms import Term
from idstore.progress import Progress
from idstore.stores.catalogue import Catalogue
from idstore.stores.engine import ENGINE, Engine, engine_to_write, opened
from idstore.stores.founding import sync_folder
from idstore.stores.indexes import faults
from idstore.stores.inherited import closed, is_inherited, leave_alone
from idstore.stores.prepared import Prepared, net
from idstore.stores.scans import changing, reading, scan
from idstore.stores.telling import remedy, unnumbered
from idstore.vocabulary import CLAIMS, IDS, RDF, REGISTRY_GRAPH

FAILURES = (OSError, RuntimeError, sqlite3.Error)
"""What engine and catalogue raise when files cannot be read or written."""
CATALOGUE = "catalogue.sqlite"
_BULK = 200
"""From so many changes on the engine's bulk loader is faster, for it writes and syncs new files each time."""
_STEP = 200
"""Changes that are one atomic step where some of them remove something: each may have a thousand quads, and a quad takes 2.5 kB meanwhile."""
_WHOLE = 1 << 26
"""Bytes that are loaded in bulk at most: the engine puts a million quads into effect at once, and a quad takes a hundred bytes or more."""
_FEW = 1 << 22
"""Bytes below which files of their own do not pay: some 30,000 quads."""
_SHARE = 32
"""New files are merged with those that are there: writing some pays while they add more than one part in so many."""
_LOGGED = 2000
"""Changes that the engine's log may hold in any case; each takes some 12 kB there."""
_LEFT = ("bulk-*.sst", "LOG.old.*")
"""Files that the engine's bulk loader writes, which has taken them over by the time it returns; and diaries, of which each opening leaves one."""
_LOGS = 1 << 24
"""Bytes of logs that a closed engine may leave: it keeps old ones to write over, until it is opened again."""
_ABANDONED: set[Path] = set()
"""Folders of generations that were given up with their engines open."""


class Generation:
    """Engine and catalogue in ``folder``; made when ``create`` is set. Its owner holds a lock.

    mend    what to do about an engine that does not open, before another attempt.
    engine  the engine of that folder, where somebody has opened it already.
    Raises StoreUnavailable.
    """

    def __init__(
        self,
        folder: Path,
        *,
        create: bool = False,
        read_only: bool = False,
        mend: Callable[[Path], None] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.folder = folder
        self._writes = not read_only
        self._loose = 1  # changes that may be in the engine's log alone, and perhaps not on disk yet
        try:
            if create:
                folder.mkdir(exist_ok=True)
            self.engine = engine or opened(folder, create=create, read_only=read_only, mend=mend)
            for left in () if read_only else chain.from_iterable(map((folder / ENGINE).glob, _LEFT)):
                left.unlink()
        except StoreUnavailable:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            raise StoreUnavailable(
                f"the store's folder {unnumbered(folder)} cannot be opened: {unnumbered(error)}; {remedy(error)}", path=unnumbered(folder)
            ) from error
        try:
            self.catalogue = Catalogue(folder / CATALOGUE, create=create and not (folder / CATALOGUE).exists(), read_only=read_only)
        except BaseException:
            del self.engine
            raise
        leave_alone(self)

    @property
    def closed(self) -> bool:
        """Whether its files were given up."""
        return "engine" not in self.__dict__

    # reading

    @reading
    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match: few at once, many one by one while the reading lasts; see `idstore.stores.scans`."""
        found = self.engine.quads_for_pattern(subject, predicate, value, graph)
        few = subject is not None or graph == REGISTRY_GRAPH or (value is not None and predicate != RDF.type)
        return iter(list(found)) if few else scan(found)

    @reading
    def spelled(self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None) -> list[str]:
        """What a graph says of subjects, or of whatever leads to them: see `idstore.stores.View`.

        The engine does all of it, without the interpreter.
        """
        some = " ".join(map(str, subjects))
        pattern = f"VALUES ?s {{ {some} }}" if through is None else f"VALUES ?to {{ {some} }} ?s {through} ?to ."
        found = self.engine.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {graph} {{ {pattern} ?s ?p ?o }} }}")
        assert isinstance(found, QueryTriples)
        try:
            written = found.serialize(format=RdfFormat.N_TRIPLES)
        finally:
            del found  # an error would take it to another thread, which cannot give it up
        assert written is not None
        lines = written.decode().split("\n")  # not splitlines: a literal may hold other ends of lines
        return [f"{line[:-2]} {graph}" for line in lines[:-1]]

    @reading
    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph; the engine goes on naming those that were emptied."""
        return iter([graph for graph in self.engine.named_graphs() if isinstance(graph, NamedNode)])

    @reading
    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key.

        Asked without the graph, the engine looks where it has the record of an identifier that is its own label as well.
        """
        for found in self.engine.quads_for_pattern(claimed, IDS.claimedBy, None, None):
            if found.graph_name == CLAIMS:
                assert isinstance(found.object, NamedNode)
                return found.object
        return None

    def faults(self, progress: Progress) -> Iterator[str]:
        """What is wrong with the engine's files, and with the catalogue's."""
        yield from faults(self.engine, progress)
        yield from self.catalogue.faults()

    @reading
    def knows(self, event: str) -> bool:
        """Whether the engine has the change that began with this event."""
        return next(self.engine.quads_for_pattern(NamedNode(event), RDF.type, None, None), None) is not None

    @reading
    def is_empty(self) -> bool:
        """Whether the engine holds nothing."""
        return next(self.engine.quads_for_pattern(None, None, None, None), None) is None

    # changing

    def apply(self, batch: Sequence[tuple[int, Change]]) -> None:
        """Make changes, each with the sequence number of its last event, in order. Raises OSError or sqlite3.Error."""
        self.take([Prepared.of(sequence, change) for sequence, change in batch])

    def take(self, batch: Sequence[Prepared], pace: Callable[[Iterable[Prepared]], Iterable[Prepared]] = iter) -> None:
        """Make changes, in order: the engine first, then the catalogue in one transaction. Raises OSError or sqlite3.Error.

        pace  gives them one after the other, when it is time.
        """
        self.engrave(batch)
        self.catalogue.apply(pace(batch))

    @changing
    def engrave(self, batch: Sequence[Prepared], *, again: bool = False) -> None:
        """Make changes in the engine, in order: those that remove something, and others with them, in steps that are atomic. Raises OSError, StoreDamaged.

        again  some of it may be there already.
        """
        if not any(prepared.gone for prepared in batch):
            self._add(batch)
            return
        for start in range(0, len(batch), _STEP):
            part = batch[start : start + _STEP]
            gone, come = net(part, again=again)
            self._loose += len(part)
            self.engine.update(f"DELETE DATA {{ {_data(gone)} }} ; INSERT DATA {{ {_data(come)} }}")
        self._lessen(batch)

    def _add(self, batch: Sequence[Prepared]) -> None:
        """Add what changes add. Parsing and writing leave the interpreter to other threads."""
        if not batch:
            return
        lines = b"".join([prepared.lines for prepared in batch])
        if len(batch) >= _BULK and len(lines) <= _WHOLE and batch[-1].sequence <= len(batch) * _SHARE:
            if self._loose:  # what was written before must not be lost where this is kept
                self._settle()
            self.engine.bulk_load(input=lines, format=RdfFormat.N_QUADS, lenient=True)
        else:
            self._loose += len(batch)
            self.engine.load(input=lines, format=RdfFormat.N_QUADS, lenient=True)
            self._lessen(batch)

    def _lessen(self, batch: Sequence[Prepared]) -> None:
        """See to it that the engine's log does not hold too much. Raises OSError."""
        if self._loose > max(_LOGGED, batch[-1].sequence // _SHARE):
            self._settle()

    def _settle(self) -> None:
        """Have the engine write its tables, so that its log begins anew. Raises OSError."""
        self.engine.flush()
        self._loose = 0

    @changing
    def load(self, nquads: Path) -> None:
        """Add the quads of a file to the engine, which writes files of its own for many; other threads go on. Raises OSError, StoreDamaged."""
        few = nquads.stat().st_size < _FEW
        self._loose += few
        (self.engine.load if few else self.engine.bulk_load)(path=nquads, format=RdfFormat.N_QUADS, lenient=True)

    @property
    def size(self) -> int:
        """Bytes of the engine's tables, of which it may be removing some."""
        found = 0
        for table in (self.folder / ENGINE).glob("*.sst"):
            with suppress(FileNotFoundError):
                found += table.stat().st_size
        return found

    @changing
    def merge(self) -> None:
        """Have the engine merge its tables; other threads go on. Raises OSError, StoreDamaged. Cost: some 2 µs for each quad."""
        self.engine.optimize()

    @changing
    def sync(self) -> None:
        """Bring everything to disk, the folder's own entries included."""
        self._settle()
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
        """Give the files up, unless they are those of the process of which this one is a fork."""
        if is_inherited(self):
            return
        self.catalogue.close()
        self.__dict__.pop("engine", None)  # nothing where that was done before
        closed(self)
        with suppress(OSError, RuntimeError):
            if self._writes and sum(log.stat().st_size for log in (self.folder / ENGINE).glob("*.log")) > _LOGS:
                engine_to_write(self.folder / ENGINE)

    def abandon(self) -> None:
        """Give up everything but the engine, which stays open until the process ends: after an error its closing may never return.

        RocksDB waits there for its recovery from the error, and was seen to wait for ever where the disk refused everything. The folder is of
        no further use to this process.
        """
        import ctypes

        self.catalogue.close()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.engine))  # or the end of the interpreter would close it
        _ABANDONED.add(self.folder)


class OfGeneration:
    """Reads from a generation; whatever has to be there first is brought there by `_ready`.

    behind  why some of the newest changes are not seen: see `idstore.stores.Store`.
    """

    behind = ""
    _generation: Generation

    def _ready(self, predicate: NamedNode | None = None, graph: NamedNode | None = None) -> Generation:  # noqa: ARG002 for those who have to
        """The generation, once it has all that can be read there now of a relation and of a graph; None stands for any."""
        return self._generation

    @property
    def catalogue(self) -> Catalogue:
        """Lists, counts, the order of events."""
        return self._ready().catalogue

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match."""
        return self._ready(predicate, graph).quads(subject, predicate, value, graph)

    def spelled(self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None) -> list[str]:
        """What a graph says of subjects, or of whatever leads to them: see `idstore.stores.View`."""
        return self._ready().spelled(subjects, graph, through)

    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph."""
        return self._ready().graphs()

    def faults(self, progress: Progress) -> Iterator[str]:
        """What is wrong with the files: see `idstore.stores.View`."""
        return self._ready().faults(progress)


def is_abandoned(folder: Path) -> bool:
    """Whether this process has given up a generation there, whose engine is still open."""
    return folder in _ABANDONED


def copy_files(engine: Path, copy: Path, shared: Collection[str] = (".sst",)) -> None:
    """A copy of the files of an engine that no process writes, in a new folder. Raises OSError.

    shared  kinds of files that are shared by hard links where the disk allows it. Table files never change; logs do not either once the
            engine was opened anew.
    An engine that is open for reading only cannot do this by itself: what it backs up lacks everything that is in its log alone.
    """
    import shutil

    copy.mkdir()
    for file in engine.iterdir():
        target = copy / file.name
        if file.suffix in shared:
            with suppress(OSError):
                target.hardlink_to(file)
        if not (file.name.startswith("LO") or target.exists()):  # LOCK, and LOG, its diary
            shutil.copyfile(file, target)


def _data(lines: Iterable[bytes]) -> str:
    """Lines of N-Quads as SPARQL's quad data."""
    quads = (line[: line.rindex(b" .")].decode().rpartition(" ") for line in lines)
    return " ".join(f"GRAPH {graph} {{ {triple} }}" for triple, _, graph in quads)
