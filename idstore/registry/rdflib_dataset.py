"""The rdflib store behind `Registry.as_graph`."""

from collections.abc import Generator, Iterator
from typing import Any, Protocol

import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple
from rdflib.store import Store
from rdflib.term import Node, URIRef

from idstore.model.party import Party
from idstore.model.rdflib_terms import from_rdflib, to_rdflib
from idstore.model.terms import Term
from idstore.vocabulary import MAPPING_PREFIXES, XSD

_READ_ONLY = "the graph of a registry is read-only; change the registry by its own acts"


class Visible(Protocol):
    """The graphs of a registry: see `idstore.registry.query.Queries`."""

    def matching(
        self,
        party: Party,
        subject: NamedNode | None,
        predicate: NamedNode | None,
        value: Term | None,
        graph: NamedNode | None,
    ) -> list[Quad]:
        """Return the visible quads that match a pattern."""

    def visible_graphs(self, party: Party) -> list[str]:
        """Return the names of the graphs that the party may see."""


class VisibleStore(Store):
    """A read-only rdflib store of what a party may see."""

    context_aware = True
    graph_aware = True
    transaction_aware = False

    def __init__(self, registry: Visible, party: Party) -> None:
        super().__init__()
        self._registry = registry
        self._party = party
        self._spaces = {prefix: URIRef(space) for prefix, space in MAPPING_PREFIXES.items()}

    def dataset(self) -> rdflib.Dataset:
        """Return the dataset over this store."""
        return _Dataset(store=self, default_union=True)

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        """Yield the matching triples, each with its graphs."""
        try:
            subject, predicate, value = (
                None if term is None else from_rdflib(term) for term in triple_pattern
            )
            graph = None if context is None else from_rdflib(context.identifier)
        except (ValueError, AssertionError):  # an IRI that no store holds, a variable, a path
            return
        if not all(term is None or isinstance(term, NamedNode) for term in (subject, predicate, graph)):
            return
        if not isinstance(value, NamedNode | Literal | None):  # no other value is stored
            return
        graphs_of: dict[tuple[Node, ...], list[rdflib.Graph]] = {}
        pattern: Any = (subject, predicate, value, graph)
        for quad in self._registry.matching(self._party, *pattern):
            triple = tuple(map(_term, (quad.subject, quad.predicate, quad.object)))
            assert isinstance(quad.graph_name, NamedNode)
            graphs_of.setdefault(triple, []).append(self._graph(quad.graph_name.value))
        for triple, graphs in graphs_of.items():
            yield triple, iter(graphs)

    def contexts(self, triple: Any = None) -> Generator[rdflib.Graph, None, None]:
        """Yield the graphs that the party may see; with ``triple`` those that contain it."""
        if triple is None:
            yield from map(self._graph, self._registry.visible_graphs(self._party))
            return
        for _, graphs in self.triples(triple):
            yield from graphs

    def __len__(self, context: Any = None) -> int:
        """Return the number of triples."""
        return sum(1 for _ in self.triples((None, None, None), context))

    def _graph(self, name: str) -> rdflib.Graph:
        return rdflib.Graph(store=self, identifier=URIRef(name))

    # prefixes

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:  # noqa: FBT002 rdflib
        """Register a prefix for serialisation."""
        if override or prefix not in self._spaces:
            self._spaces[prefix] = namespace

    def namespace(self, prefix: str) -> URIRef | None:
        """Return the IRI of a prefix."""
        return self._spaces.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        """Return the prefix of an IRI."""
        return next((prefix for prefix, space in self._spaces.items() if space == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Yield every prefix with its IRI."""
        yield from self._spaces.items()

    # changes

    def add(self, *_: Any, **__: Any) -> None:
        """Refuse every change. Raises TypeError."""
        raise TypeError(_READ_ONLY)

    addN = remove = remove_graph = add  # noqa: N815 rdflib's name

    def add_graph(self, graph: rdflib.Graph) -> None:
        """Do nothing: a dataset calls this for each graph that it is asked for."""


class _Dataset(rdflib.Dataset):
    """A dataset that does not trigger the deprecation warning of rdflib's own code."""

    @property  # type: ignore[misc]
    def default_context(self) -> Any:
        """The default graph."""
        return self.default_graph


def _term(term: NamedNode | BlankNode | Literal | Triple) -> Node:
    """Return the term as rdflib parses it: a plain literal without datatype.

    To rdflib that is unequal to an explicit xsd:string.
    """
    if isinstance(term, Literal) and term.datatype == XSD.string:
        return rdflib.Literal(term.value)
    return to_rdflib(term)
