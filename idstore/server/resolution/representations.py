"""A record in each format: the bytes, without a page."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from pyoxigraph import Quad, RdfFormat, Triple, serialize
from starlette.requests import Request

from idstore.documents import record_json
from idstore.exchange import jsonld, turtle
from idstore.model.namespace import Namespace
from idstore.model.record import Record
from idstore.registry.log import Remark
from idstore.server.resolution import kernel, links
from idstore.server.resolution.negotiation import RecordFormat
from idstore.vocabulary import PREFIXES


def body(
    request: Request, format: RecordFormat, record: Record, namespace: Namespace, remarks: Sequence[Remark]
) -> bytes:
    """Return a record in any format but HTML. Equal records give equal bytes.

    remarks  what the party may see of them; JSON alone has them.
    """
    match format.name:
        case "json":
            text = json.dumps(record_json(record, namespace, remarks), ensure_ascii=False, indent=2) + "\n"
        case "linkset":
            text = links.linkset(request, links.links(request, record, namespace))
        case "linkset-json":
            text = links.linkset_json(request, links.links(request, record, namespace))
        case "text":
            text = kernel.erc(record, namespace)
        case _:
            return rdf(record_quads(record), format.name)
    return text.encode()


def record_quads(record: Record) -> list[Quad]:
    """Return the triples of what a party sees of a record, as an export has them: grouped by subject."""
    return grouped(record.quads())


def grouped(quads: Iterable[Quad]) -> list[Quad]:
    """Return quads by subject, in the order of their first ones, each once."""
    subjects: dict[object, list[Quad]] = {}
    for quad in dict.fromkeys(quads):
        subjects.setdefault(quad.subject, []).append(quad)
    return [quad for group in subjects.values() for quad in group]


def rdf(quads: Sequence[Quad], name: str) -> bytes:
    """Return quads, grouped by subject, as a document without graphs in a format of RDF."""
    return _WRITERS[name](quads)


def _turtle(quads: Sequence[Quad]) -> bytes:
    return "".join(turtle.lines(map(str, quads), graphs=False)).encode()


def _jsonld(quads: Sequence[Quad]) -> bytes:
    return "".join(jsonld.lines(quads, graphs=False)).encode()


def _ntriples(quads: Sequence[Quad]) -> bytes:
    return _serialized(quads, RdfFormat.N_TRIPLES)


def _rdfxml(quads: Sequence[Quad]) -> bytes:
    return _serialized(quads, RdfFormat.RDF_XML)


def _serialized(quads: Sequence[Quad], format: RdfFormat) -> bytes:
    triples = dict.fromkeys(Triple(quad.subject, quad.predicate, quad.object) for quad in quads)
    written = serialize(triples, format=format, prefixes=PREFIXES)
    assert written is not None
    return written


_WRITERS: Final[Mapping[str, Callable[[Sequence[Quad]], bytes]]] = {
    "turtle": _turtle,
    "jsonld": _jsonld,
    "ntriples": _ntriples,
    "rdfxml": _rdfxml,
}
