"""Index of a shapes graph for the compiler, and the terms of SHACL."""

from collections.abc import Iterable, Iterator
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.errors import MalformedShapes
from idstore.vocabulary import RDF, RDFS

Term = NamedNode | BlankNode | Literal | Triple

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_FIRST, _REST, _NIL = NamedNode(_RDF + "first"), NamedNode(_RDF + "rest"), NamedNode(_RDF + "nil")
SHACL: Final = "http://www.w3.org/ns/shacl#"
"""Namespace of the Shapes Constraint Language."""


class _Terms:
    """The SHACL vocabulary: ``SH.minCount`` is the term ``sh:minCount``."""

    def __getattr__(self, name: str) -> NamedNode:
        term = NamedNode(SHACL + name)
        setattr(self, name, term)
        return term


SH: Final = _Terms()
"""Terms of SHACL."""


class Graph:
    """An index of triples by subject and by predicate."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._by_subject: dict[Term, dict[NamedNode, list[Term]]] = {}
        self._by_predicate: dict[NamedNode, list[tuple[Term, Term]]] = {}
        for triple in triples:
            self._by_subject.setdefault(triple.subject, {}).setdefault(triple.predicate, []).append(
                triple.object
            )
            self._by_predicate.setdefault(triple.predicate, []).append((triple.subject, triple.object))

    def about(self, node: Term) -> dict[NamedNode, list[Term]]:
        """Return the objects of the node's triples by predicate."""
        return self._by_subject.get(node, {})

    def values(self, node: Term, predicate: NamedNode) -> list[Term]:
        """Return the objects of the node's triples with the predicate, sorted."""
        return sorted(self.about(node).get(predicate, ()), key=str)

    def value(self, node: Term, predicate: NamedNode) -> Term | None:
        """Return the only object, or None. Raises MalformedShapes if there are several."""
        values = self.values(node, predicate)
        if len(values) > 1:
            raise self.malformed(node, f"has {len(values)} values of {predicate}, but only one is allowed")
        return values[0] if values else None

    def pairs(self, predicate: NamedNode) -> list[tuple[Term, Term]]:
        """Return subject and object of all triples with the predicate."""
        return self._by_predicate.get(predicate, [])

    def members(self, node: Term) -> list[Term] | None:
        """Return the members of an RDF list, or None for another node.

        Raises MalformedShapes if the list is broken or circular.
        """
        if node != _NIL and _FIRST not in self.about(node):
            return None
        return list(self._walk(node))

    def _walk(self, node: Term) -> Iterator[Term]:
        seen = set()
        while node != _NIL:
            first, rest = self.value(node, _FIRST), self.value(node, _REST)
            if first is None or rest is None or node in seen:
                raise self.malformed(node, "is not a proper list")
            seen.add(node)
            yield first
            node = rest

    def malformed(self, node: Term, reason: str) -> MalformedShapes:
        """Return the error for a malformed node of the shapes graph."""
        return MalformedShapes(f"the shapes are malformed: {node} {reason}", node=str(node))


def subclasses(pairs: Iterable[tuple[Term, Term]], top: Term) -> list[NamedNode]:
    """Return ``top`` and all its subclasses, sorted; ``pairs`` are subclass and superclass."""
    below: dict[Term, set[Term]] = {}
    for lower, upper in pairs:
        below.setdefault(upper, set()).add(lower)
    result, waiting = {top}, [top]
    while waiting:
        new = below.get(waiting.pop(), set()) - result
        result |= new
        waiting += new
    return sorted((item for item in result if isinstance(item, NamedNode)), key=lambda item: item.value)


def hierarchy(graph: Graph) -> tuple[tuple[Term, Term], ...]:
    """Return the pairs of subclass and superclass in the graph."""
    return tuple(graph.pairs(RDFS.subClassOf))


def is_class(graph: Graph, node: Term) -> bool:
    """Whether the node is a declared class, so that a shape with its IRI targets the instances."""
    declared = {"http://www.w3.org/2000/01/rdf-schema#Class", "http://www.w3.org/2002/07/owl#Class"}
    return any(
        isinstance(kind, NamedNode) and kind.value in declared for kind in graph.values(node, RDF.type)
    )
