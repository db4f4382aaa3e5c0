"""The document of a namespace: a page that finds an identifier in it, and its data, which are bounded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad
from starlette.requests import Request
from starlette.responses import Response

from idstore.documents import namespace_json
from idstore.model.filter import Filter
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry import Registry
from idstore.server import pages
from idstore.server.resolution import representations
from idstore.server.resolution.negotiation import DATA, RecordFormat
from idstore.server.resolution.record_page import linked
from idstore.vocabulary import DCTERMS, IDS, RDF, REGISTRY_GRAPH, VOID

MOST: Final = 200
"""Most records in the data of a namespace: it may have millions."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A namespace with its newest identifiers that the party sees; ``partial`` if there are more."""

    namespace: Namespace
    records: Sequence[Record]
    partial: bool


def contents(registry: Registry, party: Party, namespace: Namespace) -> Contents:
    """Return a namespace with its newest identifiers. Raises UnknownNamespace."""
    records = registry.list(party, Filter(namespace=namespace.name), limit=MOST + 1)
    return Contents(namespace, records[:MOST], len(records) > MOST)


def page(request: Request, found: Contents, headers: Mapping[str, str]) -> Response:
    """Return the page of a namespace, with the form for a label or fragment."""
    space = found.namespace
    return pages.page(
        request,
        "namespace.html",
        200,
        headers,
        namespace=space,
        base=linked(space.base),
        hashed=space.base.endswith("#"),
        particulars=[(name, linked(text)) for name, text in space.particulars],
        formats=[(one.title, one.media_type, f"?format={one.name}") for one in DATA],
        partial=found.partial,
        most=MOST,
    )


def body(format: RecordFormat, found: Contents, lookup: str) -> bytes:
    """Return the data of a namespace.

    lookup  address to which the IRI of an identifier is appended, to get its record.
    """
    if format.name == "json":
        document = {
            **namespace_json(found.namespace),
            "identifiers": [record.iri for record in found.records],
            "partial": found.partial,
        }
        return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
    quads = [*found.namespace.quads(), *_description(found, lookup)]
    for record in found.records:
        quads += representations.record_quads(record)
    return representations.rdf(representations.grouped(quads), format.name)


def _description(found: Contents, lookup: str) -> list[Quad]:
    """Return the triples of the document as a dataset, which say whether it is whole."""
    dataset = NamedNode(found.namespace.base.removesuffix("#"))
    words = (
        f"The newest {MOST} identifiers of the namespace. Ask for others one by one."
        if found.partial
        else "All identifiers of the namespace that you may see."
    )
    pairs: list[tuple[NamedNode, NamedNode | Literal]] = [
        (RDF.type, VOID.Dataset),
        (VOID.uriSpace, Literal(found.namespace.base)),
        (VOID.uriLookupEndpoint, NamedNode(lookup)),
        (DCTERMS.description, Literal(words, language="en")),
        *([(IDS.partial, TRUE)] if found.partial else []),
    ]
    return [Quad(dataset, predicate, value, REGISTRY_GRAPH) for predicate, value in pairs]
