"""What a party may see, as a dataset of rdflib: nothing is copied, each question is asked of the store when it is put."""

from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from idstore.model.party import Party
from idstore.model.terms import Term
from idstore.registry.core import Core

if TYPE_CHECKING:
    from rdflib import Dataset


class Graphing(Core):
    """The registry as graphs."""

    def as_graph(self, party: Party) -> "Dataset":
        """A read-only `rdflib.Dataset` of what the party may see; its default graph is the union of all its graphs.

        It shows the newest durable state at each step, and only while the registry is open. Every change raises TypeError.
        Cost: what the pattern matches; beside the engine's own some 10 µs for each triple.
        """
        from idstore.registry.rdflib_store import VisibleStore

        return VisibleStore(self, party).dataset()

    def matching(
        self,
        party: Party,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> list[Quad]:
        """The quads that match a pattern and that the party may see. Memory: what matches."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            if graph is not None:
                return list(view.quads(subject, predicate, value, graph)) if sight.sees(graph) else []
            return list(self._seen_quads(view, sight, subject, predicate, value))

    def visible_graphs(self, party: Party) -> list[str]:
        """The names of the graphs that the party may see and that something is kept in."""
        with self.store.reading() as view:
            return [graph.value for graph in self._graphs(view, self.sight(view, party))]
