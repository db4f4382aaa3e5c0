"""The registry as graphs: SPARQL over what a party may see, patterns, and a dataset of rdflib."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model.party import Party
from idstore.model.terms import Term
from idstore.progress import never
from idstore.queries.limits import MEMORY, ROWS, SECONDS, QueryLimits, check
from idstore.registry.core import Part
from idstore.stores.contract import Answer, GraphSelection, Snapshot, View

if TYPE_CHECKING:
    from rdflib import Dataset


class Queries(Part):
    """Queries over the graphs that a party may see."""

    def query(
        self,
        text: str,
        party: Party,
        format: str | None = None,
        *,
        timeout: float = SECONDS,
        rows: int | None = ROWS,
        memory: int = MEMORY,
        cancelled: Callable[[], bool] = never,
        formats: Sequence[str] = (),
        dataset: GraphSelection | None = None,
        bindings: Mapping[str, NamedNode | Literal] = {},
        longest_cell: int | None = None,
    ) -> Answer:
        """Answer a SPARQL query over the graphs that the party sees, as default graph and as named graphs.

        text     SPARQL 1.1 Query. The prefixes of `idstore.vocabulary.MAPPING_PREFIXES` need no declaration.
        format   one of `idstore.queries.formats.FORMATS`; None: a table, or Turtle for triples.
        timeout  seconds until the query is terminated.
        rows     most rows or triples to return; None for all. The answer tells whether there are more.
        memory   bytes for the query, at least `idstore.queries.limits.LEAST_MEMORY`.
        cancelled  is called ten times a second during the query; once it returns True, the query ends.
        formats  instead of ``format``: several, of which the first that suits the answer is used.
        dataset  a selection of graphs in the place of ``FROM``: see `idstore.queries.limits.SelectedGraphs`.
        bindings variables of the SELECT clause, or of the template or the resources of another query, and
                 the terms that they have in every solution.
        longest_cell  characters of a cell of a table at most, ``…`` ends a longer one; None for all.

        The query runs in its own process on the current state and blocks no reader or writer. Close the
        answer.
        Raises QueryRefused (malformed, an update, SERVICE, a format that does not suit the answer),
        LimitReached, StoreUnavailable.
        Cost: 40 ms, some 20 µs for each visible graph, a snapshot for each new state, and the query itself.
        """
        wanted = formats if format is None else (format,)
        limits = QueryLimits(wanted, rows, timeout, memory, cancelled, dataset, bindings, longest_cell)
        check(text)
        with self.visible(party) as (snapshot, graphs):
            return snapshot.query(text, graphs, limits)

    @contextmanager
    def visible(self, party: Party) -> Iterator[tuple[Snapshot, list[NamedNode]]]:
        """Yield a snapshot of the current state, and its graphs that the party sees."""
        with self.store.snapshot() as snapshot:
            yield snapshot, self.core.graphs(snapshot, self.core.sight(snapshot, party))

    def as_graph(self, party: Party) -> "Dataset":
        """Return a read-only `rdflib.Dataset` of what the party may see.

        Its default graph is the union of all graphs.
        Each step shows the latest durable state, while the registry is open. Every change raises TypeError.
        Cost: the matches of the pattern, with some 10 µs for each triple beyond the engine's own time.
        """
        from idstore.registry.rdflib_dataset import VisibleStore

        return VisibleStore(self, party).dataset()

    def matching(
        self,
        party: Party,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> list[Quad]:
        """Return the visible quads that match a pattern. Memory: the matches."""

        def question(view: View) -> list[Quad]:
            sight = self.core.sight(view, party)
            if graph is not None:
                return list(view.quads(subject, predicate, value, graph)) if sight.sees(graph) else []
            return list(self.core.visible_quads(view, sight, subject, predicate, value))

        return self.store.read(question)

    def visible_graphs(self, party: Party) -> list[str]:
        """Return the names of the non-empty graphs that the party may see."""
        return self.store.read(
            lambda view: [graph.value for graph in self.core.graphs(view, self.core.sight(view, party))]
        )
