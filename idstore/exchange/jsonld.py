"""JSON-LD 1.1, compacted with the context that travels with the ontology (``ontology/context.jsonld``) and stands in each document.

The context has no prefixes: an identifier may be any absolute IRI, and ``skos:note`` among them must stay what it is.
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
"""Names of classes and individuals of the ontology: no term of the context is written so."""

_dumps: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class _Context:
    """The context as it is written, and read for compaction: IRI of a property → term, and what its values are coerced to."""

    text: str
    terms: Mapping[str, tuple[str, str | None]]


@cache
def _context() -> _Context:
    document = json.loads((folder("ontology") / "context.jsonld").read_text(encoding="utf-8"))
    said = document["@context"]
    terms = {one["@id"]: (name, one.get("@type")) for name, one in said.items() if isinstance(one, dict)}
    return _Context(_dumps(said), terms)


def lines(quads: Iterable[Quad]) -> Iterator[str]:
    """A document of these quads, which come with subjects together: one line for each subject in a graph. Memory: one subject's."""
    yield f'{{"@context": {_context().text},\n"@graph": ['
    graphs = groupby(quads, lambda quad: quad.graph_name)
    for before, (graph, inside) in zip(_commas(), graphs, strict=False):
        yield f'{before}\n{{"@id": {_dumps(_iri(graph))}, "@graph": ['
        subjects = groupby(inside, lambda quad: quad.subject)
        for comma, (subject, own) in zip(_commas(), subjects, strict=False):
            yield f"{comma}\n{_dumps(_described(_iri(subject), own))}"
        yield "\n]}"
    yield "\n]}\n"


def _commas() -> Iterator[str]:
    yield ""
    while True:
        yield ","


def _described(subject: str, quads: Iterable[Quad]) -> dict[str, Any]:
    """A node object."""
    found: dict[str, list[Any]] = {}
    terms = _context().terms
    for quad in quads:
        value = quad.object
        if quad.predicate == RDF.type and isinstance(value, NamedNode):
            found.setdefault("@type", []).append(_named(value.value))
        else:
            key, coerced = terms.get(quad.predicate.value, (quad.predicate.value, None))
            found.setdefault(key, []).append(_value(value, coerced))
    return {"@id": subject} | {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _value(value: NamedNode | Literal | BlankNode | Triple, coerced: str | None) -> Any:
    if not isinstance(value, Literal):
        iri = _iri(value)
        return {"@id": iri} if coerced not in ("@id", "@vocab") else _named(iri) if coerced == "@vocab" else iri
    if value.language is not None:
        return {"@value": value.value, "@language": value.language}
    kind = None if value.datatype == XSD.string else value.datatype.value
    if kind == coerced:
        return value.value
    return {"@value": value.value} | ({} if kind is None else {"@type": kind})


def _named(iri: str) -> str:
    """A class or an individual: by its name, where it is the ontology's."""
    name = iri.removeprefix(ONTOLOGY)
    return name if name != iri and _LOCAL.fullmatch(name) else iri


def _iri(term: object) -> str:
    assert isinstance(term, NamedNode)
    return term.value
