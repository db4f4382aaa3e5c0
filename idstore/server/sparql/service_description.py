"""The description of the service, by https://www.w3.org/TR/sparql11-service-description/."""

from collections.abc import Iterable, Iterator
from typing import Final

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from idstore.server.allowances import QueryAllowance
from idstore.vocabulary import DCTERMS, PREFIXES, RDF

SD: Final = "http://www.w3.org/ns/sparql-service-description#"
FORMATS: Final = "http://www.w3.org/ns/formats/"
_RESULTS: Final = (
    "SPARQL_Results_JSON",
    "SPARQL_Results_XML",
    "SPARQL_Results_CSV",
    "SPARQL_Results_TSV",
    "Turtle",
    "N-Triples",
    "JSON-LD",
    "RDF_XML",
)
_SERIALIZERS: Final = {
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "jsonld": RdfFormat.JSON_LD,
    "rdfxml": RdfFormat.RDF_XML,
}
_VOID: Final = "http://rdfs.org/ns/void#"


def document(triples: Iterable[Triple], format: str) -> bytes:
    """Return triples in a format of `idstore.server.sparql.negotiation.GRAPHS`."""
    written = serialize(triples, format=_SERIALIZERS[format], prefixes={**PREFIXES, "sd": SD, "void": _VOID})
    assert written is not None
    return written


def description(
    endpoint: str, dataset: NamedNode, graphs: Iterable[str], allowance: QueryAllowance
) -> Iterator[Triple]:
    """Yield the description of a service.

    endpoint   its address.
    dataset    name of the data.
    graphs     names of the public graphs: of others the description says nothing.
    allowance  the limits that it announces.
    """
    service, queried = NamedNode(endpoint), NamedNode(f"{endpoint}#dataset")
    default = NamedNode(f"{endpoint}#default")
    yield Triple(service, RDF.type, _sd("Service"))
    yield Triple(service, _sd("endpoint"), service)
    yield Triple(service, _sd("supportedLanguage"), _sd("SPARQL11Query"))
    yield Triple(service, _sd("feature"), _sd("UnionDefaultGraph"))
    for name in _RESULTS:
        yield Triple(service, _sd("resultFormat"), NamedNode(f"{FORMATS}{name}"))
    yield Triple(service, DCTERMS.description, Literal(f"Limits: {allowance.sentence}", language="en"))
    yield Triple(service, _sd("defaultDataset"), queried)
    yield Triple(queried, RDF.type, _sd("Dataset"))
    yield Triple(queried, DCTERMS.isPartOf, dataset)
    yield Triple(queried, _sd("defaultGraph"), default)
    yield Triple(default, RDF.type, _sd("Graph"))
    for graph in sorted(graphs):
        named = NamedNode(graph)
        yield Triple(queried, _sd("namedGraph"), named)
        yield Triple(named, RDF.type, _sd("NamedGraph"))
        yield Triple(named, _sd("name"), named)


def _sd(name: str) -> NamedNode:
    return NamedNode(f"{SD}{name}")
