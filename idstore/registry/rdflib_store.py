"""The store behind `Registry.as_graph`: rdflib's side of it."""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from rdflib.store import Store
from rdflib.term import Node, URIRef

from idstore.model.party import Party
from idstore.model.rdflib_terms import from_rdflib, to_rdflib
from idstore.vocabulary import MAPPING_PREFIXES, XSD

if TYPE_CHECKING:
    from idstore.registry.graphs import Graphing

_READ_ONLY = "what a registry holds is changed by its own commands, not through its graph"


class VisibleStore(Store):
    """What a party may see of a registry, to read."""

    context_aware = True
    graph_aware = True
    transaction_aware = False

    def __init__(self, registry: "Graphing", party: Party) -> None:
        super().__init__()
        self._registry = registry
        self._party = party
        self._spaces = {prefix: URIRef(space) for prefix, space in MAPPING_PREFIXES.items()}

    def dataset(self) -> rdflib.Dataset:
        """The dataset over it."""
        return _Dataset(store=self, default_union=True)

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        """The triples that match, each with the graphs that it is in."""
        try:
            subject, predicate, value = (None if one is None else from_rdflib(one) for one in triple_pattern)
            graph = None if context is None else from_rdflib(context.identifier)
        except (ValueError, AssertionError):  # no IRI that could be in a store, a variable, a path
            return
        if not all(one is None or isinstance(one, NamedNode) for one in (subject, predicate, graph)):
            return
        found: dict[tuple[Node, ...], list[rdflib.Graph]] = {}
        for quad in self._registry.matching(self._party, subject, predicate, value, graph):  # type: ignore[arg-type]
            triple = tuple(map(_term, (quad.subject, quad.predicate, quad.object)))
            found.setdefault(triple, []).append(self._graph(str(quad.graph_name.value)))  # type: ignore[union-attr]
        for triple, graphs in found.items():
            yield triple, iter(graphs)

    def contexts(self, triple: Any = None) -> Generator[rdflib.Graph, None, None]:
        """The graphs that the party may see; with ``triple`` those that hold it."""
        if triple is None:
            yield from map(self._graph, self._registry.visible_graphs(self._party))
            return
        for _, graphs in self.triples(triple):
            yield from graphs

    def __len__(self, context: Any = None) -> int:
        """The number of triples."""
        return sum(1 for _ in self.triples((None, None, None), context))

    def _graph(self, name: str) -> rdflib.Graph:
        return rdflib.Graph(store=self, identifier=URIRef(name))

    # prefixes

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:  # noqa: FBT002 rdflib calls it so
        """Note a prefix, for writing."""
        if override or prefix not in self._spaces:
            self._spaces[prefix] = namespace

    def namespace(self, prefix: str) -> URIRef | None:
        """What a prefix stands for."""
        return self._spaces.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        """The prefix of a namespace."""
        return next((prefix for prefix, space in self._spaces.items() if space == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Every prefix."""
        yield from self._spaces.items()

    # changes

    def add(self, *_: Any, **__: Any) -> None:
        """Refused. Raises TypeError."""
        raise TypeError(_READ_ONLY)

    addN = remove = remove_graph = add  # noqa: N815 rdflib's name

    def add_graph(self, graph: rdflib.Graph) -> None:
        """A dataset tells of each graph that it is asked for; nothing is stored."""


class _Dataset(rdflib.Dataset):
    """A dataset whose reading does not warn of rdflib's own use of an old name."""

    @property  # type: ignore[misc]
    def default_context(self) -> Any:
        """The default graph."""
        return self.default_graph


def _term(term: NamedNode | BlankNode | Literal | Triple) -> Node:
    """The term as rdflib itself reads it: of plain texts it does not say that they are strings, and finds them unequal to those of which it does."""
    if isinstance(term, Literal) and term.datatype == XSD.string:
        return rdflib.Literal(term.value)
    return to_rdflib(term)
