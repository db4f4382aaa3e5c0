"""The engine: pyoxigraph's Store on disk, part of the ledger's projection.

The only module of the store that opens it. The engine syncs nothing by itself; its own log recovers to a
prefix of whole batches. Its mark is the number of the last journal row applied: a quad that the last step of
a batch writes. Later rows are in the ledger.
"""

import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuerySolutions, QueryTriples, RdfFormat, Triple
from pyoxigraph import Store as Oxigraph

from idstore import forks
from idstore.errors import engine_error
from idstore.model.change import Change
from idstore.model.terms import Term
from idstore.permissions import conform, conform_tree, fits
from idstore.stores.contract import Node
from idstore.stores.files import need_room, sync
from idstore.vocabulary import RDF, REGISTRY_GRAPH, SPACE, XSD

P = ParamSpec("P")
T = TypeVar("T")

ENGINE: Final = "engine"
"""Name of the engine's folder in its generation."""
_CURRENT: Final = "CURRENT"
"""The file that every engine has."""
_LOCKED: Final = re.compile(r"lock hold by|While lock file")
"""RocksDB's messages about an engine that is already open."""
_STALE: Final = ("bulk-*.sst", "LOG.old.*")
"""Files of the bulk loader from before a crash, and logs; each opening leaves a log."""
MARK_GRAPH: Final = NamedNode(SPACE + "graph/mark")
MARK: Final = NamedNode(SPACE + "mark")
"""Subject and predicate of the mark."""
_MAX_MARKS: Final = 64
"""Maximum number of marks before the superseded ones are removed: removing one costs as much as ten quads."""
_STEP: Final = 200
"""Number of changes in an atomic step if some of them remove quads: each quad takes 2.5 kB meanwhile."""
_QUADS: Final = 100_000
"""Number of quads in an atomic step if none are removed."""
_TICK: Final = 50_000_000
"""Nanoseconds within which two changes of a folder may have one time."""
_MIN_BULK: Final = 1 << 22
"""Bytes of N-Quads below which separate table files do not pay: about 30,000 quads."""


def _translated(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method to raise StoreDamaged or StoreUnavailable instead of the engine's errors."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except (OSError, RuntimeError) as error:
            raise engine_error(error) from error

    return call


def is_locked(error: Exception) -> bool:
    """Whether an engine cannot be opened because it is open already."""
    return _LOCKED.search(str(error)) is not None


class Engine:
    """The engine in the folder ``path``; ``create`` creates it.

    Any thread may read, while one thread changes it. Raises OSError, ValueError, RuntimeError (broken files);
    StoreUnavailable in a fork of a process that had an engine open.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        forks.refuse_fork()
        if not (create or (path / _CURRENT).exists()):
            raise FileNotFoundError(f"{path} holds no engine")
        forks.engine_opened()
        if create:
            path.mkdir(exist_ok=True)
            conform(path)
        self._store = Oxigraph.read_only(str(path)) if read_only else Oxigraph(str(path))
        try:
            forks.register(self)
            # read late: a damaged block of marks must not prevent other reads
            self._marks = None if read_only else self._read_marks()
            self.unflushed = 1
            """Number of changes that may be in the engine's log alone."""
            self._conformed = 0
            """When the folder was last changed before its files were conformed, in ns."""
            if not read_only:
                self.conform()
                for stale_file in chain.from_iterable(map(path.glob, _STALE)):
                    stale_file.unlink(missing_ok=True)
        except BaseException:  # an interrupt leaves no engine open
            self.close()
            raise

    # reading

    @property
    def mark(self) -> int:
        """Number of the last journal row applied. Raises StoreUnavailable, StoreDamaged."""
        return max(self._all_marks(), default=0)

    @_translated
    def _all_marks(self) -> list[int]:
        if self._marks is None:
            self._marks = self._read_marks()
        return self._marks

    def _read_marks(self) -> list[int]:
        quads = self._store.quads_for_pattern(MARK, None, None, MARK_GRAPH)
        return [int(quad.object.value) for quad in quads if isinstance(quad.object, Literal)]

    @_translated
    def quads(
        self,
        subject: NamedNode | None,
        predicate: NamedNode | None,
        value: Term | None,
        graph: NamedNode | None,
    ) -> Iterator[Quad]:
        """Yield the matching quads: few of them at once, many one by one.

        The iterator must be used and released in this thread.
        """
        matches = self._store.quads_for_pattern(subject, predicate, value, graph)
        if subject is not None or graph == REGISTRY_GRAPH or (value is not None and predicate != RDF.type):
            try:
                return iter(list(matches))
            finally:
                del matches  # an error would take it to another thread, which cannot release it
        return (
            matches
            if predicate or value or graph
            else (quad for quad in matches if quad.graph_name != MARK_GRAPH)
        )

    def scan(
        self,
        subject: NamedNode | BlankNode | Triple | None,
        predicate: NamedNode | None,
        value: Node,
        graph: NamedNode | None,
    ) -> Iterator[Quad]:
        """As `quads`, but always one by one, and with the engine's own errors.

        Raises OSError, RuntimeError.
        """
        return self._store.quads_for_pattern(subject, predicate, value, graph)

    @_translated
    def nquads(self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None) -> list[str]:
        """See `idstore.stores.contract.View.nquads`. The engine does all of it without the interpreter."""
        some = " ".join(map(str, subjects))
        pattern = (
            f"VALUES ?s {{ {some} }}" if through is None else f"VALUES ?to {{ {some} }} ?s {through} ?to ."
        )
        triples = self._store.query(
            f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {graph} {{ {pattern} ?s ?p ?o }} }}"
        )
        assert isinstance(triples, QueryTriples)
        try:
            written = triples.serialize(format=RdfFormat.N_TRIPLES)
        finally:
            del triples  # an error would take it to another thread, which cannot release it
        assert written is not None
        lines = written.decode().split("\n")  # not splitlines: a literal may contain other line ends
        return [f"{line[:-2]} {graph}" for line in lines[:-1]]

    @_translated
    def graphs(self) -> list[NamedNode]:
        """Return every named graph; the engine goes on naming emptied ones."""
        return [
            graph
            for graph in self._store.named_graphs()
            if isinstance(graph, NamedNode) and graph != MARK_GRAPH
        ]

    def rows(self, query: str, graphs: Sequence[NamedNode] | None = None) -> Iterator[tuple[Node, ...]]:
        """Yield the rows of a SELECT query over the union of ``graphs``, or of all graphs.

        Raises StoreUnavailable, StoreDamaged.
        """
        try:
            if graphs is None:  # not as a list of all graphs, which costs 10 µs for each
                solutions = self._store.query(query, use_default_graph_as_union=True)
            else:
                solutions = self._store.query(query, default_graph=[*graphs], named_graphs=[*graphs])
            assert isinstance(solutions, QuerySolutions)
            yield from (row for row in map(tuple, solutions) if MARK not in row)
        except (OSError, RuntimeError) as error:
            raise engine_error(error) from error

    # changing

    def apply(self, changes: Sequence[Change], mark: int) -> None:
        """Apply changes, in order, in atomic steps; the last step writes the mark. Idempotent.

        Raises OSError, RuntimeError: some changes are missing, as the mark shows.
        """
        self.unflushed += len(changes)
        marks = self._all_marks()
        removes = len(marks) >= _MAX_MARKS or any(change.remove for change in changes)
        steps = (
            [changes[start : start + _STEP] for start in range(0, len(changes), _STEP)]
            if removes
            else [changes]
        )
        for step in steps[:-1]:
            self._update(*_net(step))
        last = steps[-1] if steps else ()
        if removes:
            removed, added = _net(last)
            removed += map(_mark_quad, marks)
            self._update(removed, [*added, _mark_quad(mark)])
            self._marks = [mark]
            return
        quads = [quad for change in last for quad in change.quads()]
        quads.append(_mark_quad(mark))
        for start in range(0, len(quads), _QUADS):
            self._store.extend(quads[start : start + _QUADS])
        marks.append(mark)

    def _update(self, removed: Iterable[Quad], added: Iterable[Quad]) -> None:
        self._store.update(f"DELETE DATA {{ {_data(removed)} }} ; INSERT DATA {{ {_data(added)} }}")

    def load(self, nquads: Path) -> None:
        """Add the quads of a file, in separate table files if they are many. Other threads go on.

        Raises OSError, RuntimeError.
        """
        small = nquads.stat().st_size < _MIN_BULK
        (self._store.load if small else self._store.bulk_load)(
            path=str(nquads), format=RdfFormat.N_QUADS, lenient=True
        )

    def load_quads(self, quads: Iterable[Quad]) -> None:
        """Add many quads. Raises OSError, RuntimeError."""
        self._store.bulk_extend(quads)

    def merge(self) -> None:
        """Merge the tables; other threads go on. Raises OSError, RuntimeError.

        Cost: about 2 µs for each quad.
        """
        self._store.optimize()

    def flush(self) -> None:
        """Write and sync the tables, so that the engine's log restarts; other threads go on.

        Raises OSError, RuntimeError.
        """
        store: Oxigraph | None = vars(self).get("_store")
        if store is not None:  # another thread may have closed it
            need_room(self.path)
            try:
                store.flush()
            finally:
                del store  # an error would keep the engine open
            self.conform()
            self.unflushed = 0

    def checkpoint(self, target: Path) -> None:
        """Copy the present state to a new folder, by hard links to immutable files if the disk allows it.

        Raises OSError (also if it was closed meanwhile), RuntimeError.
        """
        need_room(target.parent)
        store: Oxigraph | None = vars(self).get("_store")
        if store is None:
            raise OSError(f"{self.path} was closed meanwhile")
        try:
            store.backup(str(target))
        finally:
            del store  # an error would keep the engine open
        conform_tree(target)

    @property
    def size(self) -> int:
        """Bytes of its tables, including some that it may be removing."""
        size = 0
        for table in self.path.glob("*.sst"):
            with suppress(FileNotFoundError):
                size += table.stat().st_size
        return size

    def conform(self) -> None:
        """Give files that the engine made meanwhile the permissions of its folder.

        Cost: a few µs if it made none.
        """
        with suppress(FileNotFoundError):  # it removes files at any time
            changed = self.path.stat().st_mtime_ns
            if changed != self._conformed:
                conform_tree(self.path)
                # a file made in the same tick of the file system's clock does not show
                self._conformed = changed if time.time_ns() - changed > _TICK else 0

    def sync_folder(self) -> None:
        """Sync the folder's entries to disk. Raises OSError."""
        sync(self.path)

    def close(self) -> None:
        """Close the files, unless they belong to the parent of this forked process."""
        if not forks.is_inherited(self):
            was_open = vars(self).pop("_store", None) is not None
            forks.unregister(self)
            if was_open and not self._read_only:
                with suppress(OSError):  # the folder was moved or removed
                    conform_tree(self.path)


def make_empty(path: Path) -> None:
    """Create an empty engine. Raises OSError, RuntimeError."""
    engine = Engine(path, create=True)
    engine.flush()
    engine.close()


def copy_files(engine: Path, copy: Path, shared: Collection[str] = (".sst",)) -> None:
    """Copy the files of an engine that no process writes to a new folder. Raises OSError.

    shared  suffixes of files shared by hard links if the disk allows it, and if both copies are for the same
            people: table files never change.
    An engine open for reading cannot copy itself: its checkpoint lacks the changes that are in its log alone.
    """
    copy.mkdir()
    conform(copy)
    for file in engine.iterdir():
        target = copy / file.name
        if file.suffix in shared and fits(file, copy):
            with suppress(OSError):
                target.hardlink_to(file)
        if not (file.name.startswith("LO") or target.exists()):  # LOCK and LOG, the engine's message log
            shutil.copyfile(file, target)


def _net(changes: Iterable[Change]) -> tuple[list[Quad], list[Quad]]:
    """Return the net effect of several changes: the quads removed and the quads added."""
    last: dict[Quad, bool] = {}
    for change in changes:
        last.update(dict.fromkeys(change.remove, False))
        last.update(dict.fromkeys(change.quads(), True))
    return [quad for quad, present in last.items() if not present], [
        quad for quad, present in last.items() if present
    ]


def _data(quads: Iterable[Quad]) -> str:
    """Format quads as SPARQL quad data."""
    return " ".join([f"GRAPH {quad.graph_name} {{ {quad.triple} }}" for quad in quads])


def _mark_quad(mark: int) -> Quad:
    return Quad(MARK, MARK, Literal(str(mark), datatype=XSD.integer), MARK_GRAPH)
