"""Sources of data for validation: anything that answers SPARQL SELECT over the union of its graphs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from pyoxigraph import NamedNode, Quad, QuerySolutions, Store, Triple

from idstore.errors import engine_error
from idstore.stores.contract import Snapshot
from idstore.validation.graph import Term


@runtime_checkable
class QuadSource(Protocol):
    """Data for validation."""

    def rows(self, query: str) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT query.

        Its default graph is the union of all graphs, and all are named graphs.
        """

    @property
    def threads(self) -> int:
        """The number of concurrent queries."""


class StoreSource:
    """A pyoxigraph store.

    threads     number of concurrent queries; each needs memory in proportion to the largest predicate.
    graphs      graphs to read; None for all.
    """

    def __init__(self, store: Store, threads: int = 1, graphs: Sequence[NamedNode] | None = None) -> None:
        self._store = store
        self._threads = threads
        self._graphs = graphs

    @property
    def threads(self) -> int:
        """The number of concurrent queries."""
        return self._threads

    def rows(self, query: str) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT query. Raises StoreUnavailable if the store cannot be read."""
        try:
            if self._graphs is None:
                solutions = self._store.query(query, use_default_graph_as_union=True)
            else:
                solutions = self._store.query(
                    query, default_graph=[*self._graphs], named_graphs=[*self._graphs]
                )
            assert isinstance(solutions, QuerySolutions)
            yield from map(tuple, solutions)
        except (OSError, RuntimeError) as error:
            raise engine_error(error) from error


class SnapshotSource:
    """A snapshot of a registry.

    threads  number of concurrent queries; each needs memory in proportion to the largest predicate.
    graphs   graphs to read; None for all.
    """

    def __init__(
        self, snapshot: Snapshot, threads: int = 1, graphs: Sequence[NamedNode] | None = None
    ) -> None:
        self._snapshot = snapshot
        self._threads = threads
        self._graphs = graphs

    @property
    def threads(self) -> int:
        """The number of concurrent queries."""
        return self._threads

    def rows(self, query: str) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of a SELECT query. Raises StoreUnavailable if the state cannot be read."""
        return self._snapshot.rows(query, self._graphs)


def in_memory(data: Iterable[Triple | Quad]) -> StoreSource:
    """Return an in-memory store with the triples or quads. Cost: about 3 µs and 0.3 kB each."""
    store = Store()
    store.bulk_extend(
        item if isinstance(item, Quad) else Quad(item.subject, item.predicate, item.object) for item in data
    )
    return StoreSource(store)
