"""Conversion of terms between rdflib and pyoxigraph, without a change of their text."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.errors import InvalidData

if TYPE_CHECKING:
    import rdflib
    from rdflib.term import Node


def triples(graph: "rdflib.Graph") -> Iterator[Triple]:
    """Yield the triples of an rdflib graph."""
    for s, p, o in graph:
        subject, predicate, value = from_rdflib(s), from_rdflib(p), from_rdflib(o)
        assert isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode)
        yield Triple(subject, predicate, value)


def graph(triples: Iterable[Triple]) -> "rdflib.Graph":
    """Return an rdflib graph of the triples.

    Raises InvalidData for terms that rdflib cannot hold: triple terms and base directions of RDF 1.2.
    """
    import rdflib

    result = rdflib.Graph(bind_namespaces="none")
    for triple in triples:
        result.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
    return result


def from_rdflib(node: "Node") -> NamedNode | BlankNode | Literal:
    """Return a term as one of pyoxigraph. Raises ValueError for an invalid IRI."""
    import rdflib

    if isinstance(node, rdflib.URIRef):
        return NamedNode(str(node))
    if isinstance(node, rdflib.BNode):
        return BlankNode(str(node))
    assert isinstance(node, rdflib.Literal)
    if node.language:
        return Literal(str(node), language=node.language)
    return Literal(str(node), datatype=NamedNode(str(node.datatype))) if node.datatype else Literal(str(node))


def to_rdflib(term: NamedNode | BlankNode | Literal | Triple) -> "Node":
    """Return a term as one of rdflib. Raises InvalidData for a term that rdflib cannot hold."""
    import rdflib

    match term:
        case NamedNode():
            return rdflib.URIRef(term.value)
        case BlankNode():
            return rdflib.BNode(term.value)
        case Literal() if term.direction is None:
            kind = None if term.language else rdflib.URIRef(term.datatype.value)
            return rdflib.Literal(term.value, lang=term.language, datatype=kind, normalize=False)
    raise InvalidData(f"rdflib supports RDF 1.1 only and cannot hold {term}", term=str(term))
