"""Checks that all of the engine's files are readable.

The engine keeps every quad in several indexes, each in its own files, and answers a question from the best
one. It notices damage only in what it reads. So these checks read each index completely and compare it with
the others. They avoid the engine's own joins and counts: on damaged files these were seen to run until the
memory was full.
"""

import shutil
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from idstore.disk_errors import unnumbered
from idstore.errors import StoreUnavailable, engine_error
from idstore.progress import Progress
from idstore.stores.projection.oxigraph import MARK, MARK_GRAPH, Engine, copy_files

_PREDICATES: Final = "SELECT ?p { GRAPH ?g { ?s ?p ?o } }"
_ATTEMPTS: Final = 5
"""Number of attempts to copy an engine's live files without a change during the copy."""


def faults(engine: Engine, progress: Progress) -> Iterator[str]:
    """Yield unreadable files and disagreeing indexes. Cost: about 80 µs for each quad. Memory: constant."""
    try:
        counts = Counter(predicate for (predicate,) in engine.rows(_PREDICATES))
        counts[MARK] = sum(1 for _ in engine.scan(MARK, None, None, None))  # queries never return the marks
        named_graphs = {*engine.graphs(), MARK_GRAPH}
    except StoreUnavailable as error:
        yield error.message
        return
    except (OSError, RuntimeError) as error:
        yield engine_error(error).message
        return
    done = 0
    for predicate, count in counts.items():
        progress("files", done, counts.total())
        assert isinstance(predicate, NamedNode)
        try:
            yield from _predicate_faults(engine, predicate, count, named_graphs)
        except StoreUnavailable as error:
            yield error.message
        except (OSError, RuntimeError) as error:
            yield engine_error(error).message
        done += count
    progress("files", done, done)


def read_all(engine: Engine, progress: Progress) -> Iterator[str]:
    """Yield what is unreadable, without comparing. Cost: about 20 µs for each quad, half that of `faults`.

    It reads four of the engine's six indexes, and its texts.
    """
    try:
        for graph in engine.graphs():
            for _ in engine.scan(None, None, None, graph):
                pass
        predicates = dict.fromkeys(quad.predicate for quad in engine.scan(None, None, None, None))
        for done, predicate in enumerate(predicates):
            progress("files", done, len(predicates))
            found = dict.fromkeys(quad.graph_name for quad in engine.scan(None, predicate, None, None))
            for name in found:
                for _ in engine.scan(None, predicate, None, name if isinstance(name, NamedNode) else None):
                    pass
    except StoreUnavailable as error:
        yield error.message
    except (OSError, RuntimeError) as error:
        yield engine_error(error).message


def _predicate_faults(
    engine: Engine, predicate: NamedNode, count: int, named_graphs: Container[object]
) -> Iterator[str]:
    """Yield disagreements of indexes and graph list about a predicate with ``count`` quads.

    Raises OSError, RuntimeError.
    """
    graphs: Counter[NamedNode] = Counter()
    unreachable = 0
    # in the order of values, like the two scans below
    for quad in engine.scan(None, predicate, None, None):
        graph = quad.graph_name
        if not isinstance(graph, NamedNode):  # such a quad does not belong in the store
            continue
        graphs[graph] += 1
        if not (
            _has_match(engine.scan(quad.subject, predicate, quad.object, None))
            and _has_match(engine.scan(quad.subject, None, quad.object, None))
            and _has_match(engine.scan(quad.subject, None, quad.object, graph))
        ):
            unreachable += 1
    for graph, scanned in graphs.items():
        queried = sum(
            1 for _ in engine.rows(f"SELECT (true AS ?t) {{ GRAPH {graph} {{ ?s {predicate} ?o }} }}")
        )
        if queried != scanned:
            yield f"one index has {scanned} quads with {predicate} in {graph}, and another {queried}"
        if graph not in named_graphs:
            yield f"the list of graphs lacks {graph}, which has quads with {predicate}"
    if graphs.total() != count:
        yield f"one index has {count} quads with {predicate}, and another {graphs.total()}"
    if unreachable:
        yield f"of the quads with {predicate}, {unreachable} cannot be found by their values"


def _has_match(matches: Iterator[object]) -> bool:
    return next(matches, None) is not None


def copy_in_use(engine: Path, copy: Path) -> bool:
    """Copy the files of an engine that a process has open. Returns False if they change continually.

    Raises OSError.
    """
    for _ in range(_ATTEMPTS):
        shutil.rmtree(copy, ignore_errors=True)
        before = _state(engine)
        try:
            copy_files(engine, copy)
        except FileNotFoundError:  # meanwhile merged into another table
            continue
        if _state(engine) == before:
            return True
    return False


def _state(engine: Path) -> dict[str, tuple[int, int]]:
    files = {}
    for file in engine.iterdir():
        if not file.name.startswith("LO"):
            with suppress(FileNotFoundError):  # meanwhile merged into another table
                state = file.stat()
                files[file.name] = (state.st_size, state.st_mtime_ns)
    return files


def faults_on_disk(
    engine: Path, mark: int, folder: Path, shared_engine: Engine, progress: Progress
) -> Iterator[str]:
    """Yield faults of an engine's files on disk, even if the process that uses them has other data in memory.

    mark           number of the last journal row that the engine must have.
    folder         a folder on the same disk, for a copy.
    shared_engine  a copy that shares the tables, read if the live files change continually.
    """
    opened = None
    for attempt in range(_ATTEMPTS):  # files may vanish during the copy, so that the copy does not open
        try:
            if not copy_in_use(engine, folder / engine.name):
                yield from faults(shared_engine, progress)
                return
            opened = Engine(folder / engine.name, read_only=True)
            break
        except (OSError, RuntimeError, ValueError) as error:
            if attempt == _ATTEMPTS - 1:
                yield f"the engine in {unnumbered(engine)} does not open: {unnumbered(error)}"
                return
    assert opened is not None
    try:
        if opened.mark < mark:
            yield (
                f"the engine in {unnumbered(engine)} lacks changes that it had:"
                " some of its files were truncated or replaced"
            )
        yield from faults(opened, progress)
    finally:
        opened.close()
