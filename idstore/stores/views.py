"""Views of engine, catalogue and claims: one state, for reading.

An iterator of the engine keeps the engine open, and only the thread that created it can release it. So an
iterator belongs to a view and ends with it.
"""

from collections.abc import Callable, Iterable, Iterator
from os import getpid
from typing import TypeAlias

from pyoxigraph import NamedNode, Quad

from idstore.errors import StoreForked, engine_error
from idstore.model.change import Claim
from idstore.model.terms import Term
from idstore.stores.contract import Catalogue
from idstore.stores.ledger.contract import NumberedClaim
from idstore.stores.projection.oxigraph import Engine

FindClaim: TypeAlias = Callable[[NamedNode], NumberedClaim | None]


class EngineView:
    """See `idstore.stores.contract.View`.

    mark  number of the last journal row of this state; claims of later rows are invisible.
    """

    def __init__(
        self, engine: Engine, catalogue: Catalogue, find_claim: FindClaim, mark: int, registry_version: int
    ) -> None:
        self.registry_version = registry_version
        self.catalogue = catalogue
        self._engine = engine
        self._find_claim = find_claim
        self._mark = mark
        self._scans: set[_Scan] = set()
        self._process = getpid()

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """Yield the matching quads."""
        self._check_process()
        matches = self._engine.quads(subject, predicate, value, graph)
        return matches if subject is not None else _Scan(matches, self._scans)

    def nquads(
        self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None
    ) -> list[str]:
        """Return quads of subjects, or of the nodes that point to them, as N-Quads lines."""
        self._check_process()
        return self._engine.nquads(subjects, graph, through)

    def graphs(self) -> Iterator[NamedNode]:
        """Yield every named graph."""
        self._check_process()
        return iter(self._engine.graphs())

    def claim(self, key: NamedNode) -> Claim | None:
        """Return the claim of a label or request key."""
        self._check_process()
        numbered = self._find_claim(key)
        return numbered.claim if numbered is not None and numbered.number <= self._mark else None

    def _check_process(self) -> None:
        """Raise StoreForked in a fork of the process that opened the view."""
        if getpid() != self._process:
            raise StoreForked

    def end(self) -> None:
        """Release the iterators of the view."""
        for scan in list(self._scans):
            scan.end()


class _Scan(Iterator[Quad]):
    """An iterator of the engine that ends with its view at the latest."""

    def __init__(self, matches: Iterator[Quad], others: "set[_Scan]") -> None:
        self._matches: Iterator[Quad] | None = matches
        self._others = others
        others.add(self)

    def __next__(self) -> Quad:
        try:
            quad = None if self._matches is None else next(self._matches, None)
        except (OSError, RuntimeError) as error:
            self.end()
            raise engine_error(error) from error
        if quad is None:
            self.end()
            raise StopIteration
        return quad

    def end(self) -> None:
        """Release the engine's iterator."""
        self._matches = None
        self._others.discard(self)
