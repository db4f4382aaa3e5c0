"""The engine: pyoxigraph's Store on disk. The only module that opens one."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from pyoxigraph import Quad, RdfFormat, Triple
from pyoxigraph import Store as Engine

from idstore.errors import StoreUnavailable
from idstore.stores.inherited import lacks_threads, need_threads, start_threads
from idstore.stores.scans import scan, unreadable
from idstore.stores.telling import remedy, unnumbered

__all__ = ["ENGINE", "Engine", "Scratch", "canonical", "engine_to_read", "engine_to_write", "make_empty", "opened"]

ENGINE: Final = "engine"
"""The name of its folder, in that of a generation."""
_CURRENT: Final = "CURRENT"
"""The file without which there is no engine."""
_LOCKED: Final = re.compile(r"lock hold by|While lock file")
"""What RocksDB says where an engine is open already."""


def opened(folder: Path, *, create: bool = False, read_only: bool = False, mend: Callable[[Path], None] | None = None) -> Engine:
    """The engine in a generation's folder. Raises OSError, ValueError, RuntimeError (what the engine says of broken files)."""
    engine = folder / ENGINE
    try:
        if not (create or (engine / _CURRENT).exists()):
            raise FileNotFoundError(f"{engine} holds no engine")
        return _read_only(engine) if read_only else engine_to_write(engine)
    except (OSError, ValueError, RuntimeError) as error:
        if mend is None or _LOCKED.search(str(error)):  # somebody has it open: it is not broken
            raise
    mend(folder)
    return engine_to_write(engine)


def engine_to_write(path: Path) -> Engine:
    """An engine that can be changed; made where there is none. Raises OSError, RuntimeError; StoreUnavailable in forks that lack its threads."""
    need_threads()
    return Engine(str(path))


def _read_only(path: Path) -> Engine:
    start_threads()
    return Engine.read_only(str(path))


def make_empty(engine: Path) -> None:
    """Make an engine that holds nothing. Raises OSError."""
    engine_to_write(engine).flush()


def engine_to_read(path: Path) -> Engine:
    """An engine that nothing changes, such as a snapshot. Raises StoreUnavailable."""
    try:
        return _read_only(path)
    except OSError as error:
        raise StoreUnavailable(
            f"the snapshot {unnumbered(path)} cannot be read: {unnumbered(error)}; {remedy(error)}", path=unnumbered(path)
        ) from error
    except RuntimeError as error:
        raise unreadable(error) from error


class Scratch:
    """A throw-away engine, in ``folder``, that brings together what files tell of one subject in several places."""

    def __init__(self, folder: Path) -> None:
        self._engine = Engine() if lacks_threads() else engine_to_write(folder)  # the former in memory

    def load(self, triples: Iterable[Triple]) -> None:
        """Take triples in. Raises what giving them raises; OSError."""
        self._engine.bulk_extend(Quad(triple.subject, triple.predicate, triple.object) for triple in triples)

    def change(self, triple: Triple, *, appears: bool) -> None:
        """Add a triple, or remove it."""
        quad = Quad(triple.subject, triple.predicate, triple.object)
        (self._engine.add if appears else self._engine.remove)(quad)

    def triples(self) -> Iterator[Triple]:
        """What was read, each once, those of one subject together; see `idstore.stores.scans`."""
        return (quad.triple for quad in scan(self._engine.quads_for_pattern(None, None, None, None)))


@lru_cache(maxsize=4096)
def canonical(triple: str) -> str:
    """A triple in N-Triples, in the form in which the engine keeps its values. Raises SyntaxError."""
    engine = Engine()
    engine.load(input=f"{triple} .", format=RdfFormat.N_TRIPLES)
    (quad,) = engine
    return f"{quad.triple} ."
