"""Terms of rdflib and of pyoxigraph, one made from the other, texts untouched."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.errors import InvalidData

if TYPE_CHECKING:
    import rdflib
    from rdflib.term import Node


def triples(graph: "rdflib.Graph") -> Iterator[Triple]:
    """The triples of an rdflib graph."""
    for s, p, o in graph:
        subject, predicate, value = from_rdflib(s), from_rdflib(p), from_rdflib(o)
        assert isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode)
        yield Triple(subject, predicate, value)


def graph(found: Iterable[Triple]) -> "rdflib.Graph":
    """An rdflib graph of the triples. Raises InvalidData for what rdflib cannot hold: RDF 1.2's triple terms and base directions."""
    import rdflib

    made = rdflib.Graph(bind_namespaces="none")
    for triple in found:
        made.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
    return made


def from_rdflib(node: "Node") -> NamedNode | BlankNode | Literal:
    """The term of pyoxigraph. Raises ValueError for an IRI that is none."""
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
    """The term of rdflib. Raises InvalidData for what it cannot hold."""
    import rdflib

    match term:
        case NamedNode():
            return rdflib.URIRef(term.value)
        case BlankNode():
            return rdflib.BNode(term.value)
        case Literal() if term.direction is None:
            kind = None if term.language else rdflib.URIRef(term.datatype.value)
            return rdflib.Literal(term.value, lang=term.language, datatype=kind, normalize=False)
    raise InvalidData(f"{term} cannot be given to rdflib, which knows RDF 1.1 only", term=str(term))
