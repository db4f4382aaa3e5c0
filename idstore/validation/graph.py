"""A graph of shapes as the compiler reads it: an index of its triples, and the terms of SHACL."""

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
    """``SH.minCount`` is the term of that name."""

    def __getattr__(self, name: str) -> NamedNode:
        term = NamedNode(SHACL + name)
        setattr(self, name, term)
        return term


SH: Final = _Terms()
"""Terms of SHACL."""


class Graph:
    """Triples, indexed by subject and by predicate."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._by_subject: dict[Term, dict[NamedNode, list[Term]]] = {}
        self._by_predicate: dict[NamedNode, list[tuple[Term, Term]]] = {}
        for triple in triples:
            self._by_subject.setdefault(triple.subject, {}).setdefault(triple.predicate, []).append(triple.object)
            self._by_predicate.setdefault(triple.predicate, []).append((triple.subject, triple.object))

    def about(self, node: Term) -> dict[NamedNode, list[Term]]:
        """What is said of the node, by predicate."""
        return self._by_subject.get(node, {})

    def values(self, node: Term, predicate: NamedNode) -> list[Term]:
        """The objects of the node's triples with that predicate, sorted."""
        return sorted(self.about(node).get(predicate, ()), key=str)

    def value(self, node: Term, predicate: NamedNode) -> Term | None:
        """The one object, None if there is none. Raises MalformedShapes if there are several."""
        found = self.values(node, predicate)
        if len(found) > 1:
            raise self.malformed(node, f"has {len(found)} values of {predicate}, where one is allowed")
        return found[0] if found else None

    def pairs(self, predicate: NamedNode) -> list[tuple[Term, Term]]:
        """Subject and object of every triple with that predicate."""
        return self._by_predicate.get(predicate, [])

    def members(self, node: Term) -> list[Term] | None:
        """The members of an RDF list, None if the node is no list. Raises MalformedShapes if the list is broken or endless."""
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
        """The error that says what is wrong with a node of the shapes graph."""
        return MalformedShapes(f"the shapes are malformed: {node} {reason}", node=str(node))


def subclasses(pairs: Iterable[tuple[Term, Term]], top: Term) -> list[NamedNode]:
    """``top`` and every class below it, sorted, where ``pairs`` are subclass and superclass."""
    below: dict[Term, set[Term]] = {}
    for lower, upper in pairs:
        below.setdefault(upper, set()).add(lower)
    found, waiting = {top}, [top]
    while waiting:
        fresh = below.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return sorted((item for item in found if isinstance(item, NamedNode)), key=lambda item: item.value)


def hierarchy(graph: Graph) -> tuple[tuple[Term, Term], ...]:
    """Subclass and superclass, as the graph says it."""
    return tuple(graph.pairs(RDFS.subClassOf))


def is_class(graph: Graph, node: Term) -> bool:
    """Whether the node is declared a class, so that a shape of the same name targets its instances."""
    declared = {"http://www.w3.org/2000/01/rdf-schema#Class", "http://www.w3.org/2002/07/owl#Class"}
    return any(isinstance(kind, NamedNode) and kind.value in declared for kind in graph.values(node, RDF.type))
