"""Where the data to be checked are: anything that answers SPARQL SELECT over the union of its graphs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from pyoxigraph import NamedNode, Quad, QuerySolutions, Store, Triple

from idstore.stores.scans import unreadable
from idstore.validation.graph import Term


@runtime_checkable
class Source(Protocol):
    """Data to be checked."""

    def rows(self, query: str) -> Iterator[tuple[Term | None, ...]]:
        """The rows of a SELECT query, whose default graph is the union of all graphs and whose named graphs are the graphs."""

    @property
    def threads(self) -> int:
        """How many queries to run at a time."""


class StoreSource:
    """A pyoxigraph store.

    threads     how many queries run at a time; each needs memory in proportion to the largest predicate.
    graphs      only what is in these graphs is there; None: all.
    """

    def __init__(self, store: Store, threads: int = 1, graphs: Sequence[NamedNode] | None = None) -> None:
        self._store = store
        self._threads = threads
        self._graphs = graphs

    @property
    def threads(self) -> int:
        """How many queries to run at a time."""
        return self._threads

    def rows(self, query: str) -> Iterator[tuple[Term | None, ...]]:
        """The rows of a SELECT query. Raises StoreUnavailable if the store cannot be read."""
        try:
            if self._graphs is None:
                solutions = self._store.query(query, use_default_graph_as_union=True)
            else:
                solutions = self._store.query(query, default_graph=[*self._graphs], named_graphs=[*self._graphs])
            assert isinstance(solutions, QuerySolutions)
            yield from map(tuple, solutions)
        except (OSError, RuntimeError) as error:
            raise unreadable(error) from error


def in_memory(data: Iterable[Triple | Quad]) -> StoreSource:
    """These triples or quads, in a store in memory. Cost: about 3 µs and 0.3 kB for each."""
    store = Store()
    store.bulk_extend(item if isinstance(item, Quad) else Quad(item.subject, item.predicate, item.object) for item in data)
    return StoreSource(store)
