"""JSON-LD 1.1, compacted with the context of the ontology (``ontology/context.jsonld``).

Each document includes the context.
The context has no prefixes: an identifier may be any absolute IRI, and one such as ``skos:note`` must not be
expanded.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from idstore.resources import folder
from idstore.vocabulary import ONTOLOGY, RDF, XSD

_LOCAL: Final = re.compile(r"[A-Z][A-Za-z]*")
"""Names of classes and individuals of the ontology: no term of the context has this form."""

_dumps: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class _Context:
    """The context as text, and its terms for compaction: IRI of a property → term and type coercion."""

    text: str
    terms: Mapping[str, tuple[str, str | None]]


@cache
def _context() -> _Context:
    document = json.loads((folder("ontology") / "context.jsonld").read_text(encoding="utf-8"))
    context = document["@context"]
    terms = {
        term["@id"]: (name, term.get("@type")) for name, term in context.items() if isinstance(term, dict)
    }
    return _Context(_dumps(context), terms)


def lines(quads: Iterable[Quad], *, graphs: bool = True) -> Iterator[str]:
    """Yield a document of these quads, which are grouped by graph and subject: one line for each.

    graphs  whether it has the graphs; otherwise all triples are in the default graph, and the quads need only
            be grouped by subject.

    Memory: one subject.
    """
    yield f'{{"@context": {_context().text},\n"@graph": ['
    if graphs:
        named = groupby(quads, lambda quad: quad.graph_name)
        for comma, (graph, graph_quads) in zip(_commas(), named, strict=False):
            yield f'{comma}\n{{"@id": {_dumps(_iri(graph))}, "@graph": ['
            yield from _subjects(graph_quads)
            yield "\n]}"
    else:
        yield from _subjects(quads)
    yield "\n]}\n"


def _subjects(quads: Iterable[Quad]) -> Iterator[str]:
    subjects = groupby(quads, lambda quad: quad.subject)
    for comma, (subject, subject_quads) in zip(_commas(), subjects, strict=False):
        yield f"{comma}\n{_dumps(_node_object(_iri(subject), subject_quads))}"


def _commas() -> Iterator[str]:
    yield ""
    while True:
        yield ","


def _node_object(subject: str, quads: Iterable[Quad]) -> dict[str, Any]:
    properties: dict[str, list[Any]] = {}
    terms = _context().terms
    for quad in quads:
        value = quad.object
        if quad.predicate == RDF.type and isinstance(value, NamedNode):
            properties.setdefault("@type", []).append(_named(value.value))
        else:
            key, coerced = terms.get(quad.predicate.value, (quad.predicate.value, None))
            properties.setdefault(key, []).append(_value(value, coerced))
    return {"@id": subject} | {
        key: values[0] if len(values) == 1 else values for key, values in properties.items()
    }


def _value(value: NamedNode | Literal | BlankNode | Triple, coerced: str | None) -> Any:
    if not isinstance(value, Literal):
        iri = _iri(value)
        return (
            {"@id": iri} if coerced not in ("@id", "@vocab") else _named(iri) if coerced == "@vocab" else iri
        )
    if value.language is not None:
        return {"@value": value.value, "@language": value.language}
    kind = None if value.datatype == XSD.string else value.datatype.value
    if kind == coerced:
        return value.value
    return {"@value": value.value} | ({} if kind is None else {"@type": kind})


def _named(iri: str) -> str:
    """Return the name of a class or individual of the ontology; other IRIs as they are."""
    name = iri.removeprefix(ONTOLOGY)
    return name if name != iri and _LOCAL.fullmatch(name) else iri


def _iri(term: object) -> str:
    assert isinstance(term, NamedNode)
    return term.value
