"""Changes to a registry's engine behind the registry's back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad, Store

import idstore
from idstore import Registry
from idstore.stores.store import DirectoryStore


class EngineFiles:
    """The engine's files, opened by the engine itself until `give_back`."""

    def __init__(self, folder: Path) -> None:
        self._engine = Store(str(folder))

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: NamedNode | Literal | None = None,
    ) -> list[Quad]:
        return list(self._engine.quads_for_pattern(subject, predicate, value))

    def add(self, quad: Quad) -> None:
        self._engine.add(quad)

    def remove(self, quad: Quad) -> None:
        self._engine.remove(quad)

    def give_back(self) -> None:
        self._engine.flush()
        del self._engine


@contextmanager
def engine_of(registry: Registry) -> Iterator[EngineFiles]:
    """Yield the engine's files while the registry is closed; reopen the registry afterwards."""
    assert isinstance(registry.store, DirectoryStore)
    folder = registry.store.path
    registry.close()
    [generation] = folder.glob("generation-*")
    engine = EngineFiles(generation / "engine")
    yield engine
    engine.give_back()
    registry.core.store = idstore.open(folder).store
