"""Validation of data against SHACL shapes.

`validate` checks any RDF data, `validate_registry` the whole content of a registry, `validate_file` a file.
Shapes come from `idstore.validation.shapes`. `compiler` compiles them to SPARQL, so that whole stores can be
checked; pySHACL checks shapes that cannot be compiled.
"""

import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, cast

from pyoxigraph import Quad, Triple

from idstore.model import rdflib_terms
from idstore.progress import Progress, unwatched
from idstore.validation import compiler, files, labels, pyshacl_engine, visibility
from idstore.validation.graph import Term
from idstore.validation.report import ValidationReport, ValidationResult, combined, report
from idstore.validation.shapes import Shapes
from idstore.validation.source import QuadSource, StoreSource, in_memory

if TYPE_CHECKING:
    import rdflib

__all__ = [
    "LIMIT",
    "QuadSource",
    "Shapes",
    "StoreSource",
    "ValidationReport",
    "ValidationResult",
    "validate",
    "validate_file",
    "validate_registry",
]

LIMIT = 10_000
"""Default maximum number of findings in a report."""


def validate(
    data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | QuadSource",
    shapes: Shapes,
    *,
    limit: int = LIMIT,
    progress: Progress = unwatched,
) -> ValidationReport:
    """Check data against shapes.

    data    an rdflib graph, pyoxigraph triples or quads (their graphs are merged), or a source such as a
            store, which is queried in place. ``rdfs:subClassOf`` triples in the data count.
    limit   maximum number of findings; the report says if there are more.

    Raises InvalidData if the shapes are malformed, or use features that neither the compiler nor pySHACL
    supports. Cost: sequential passes over the predicates in the shapes; 100,000 identifiers take seconds.
    Shapes that cannot be compiled cost about 1 ms and 10 kB for each node.
    """
    if compiler.covers(shapes):
        return compiler.run(_source(data), shapes, limit, progress=progress)
    findings = list(pyshacl_engine.findings(_triples(data), shapes))
    return report(findings[:limit], complete=len(findings) <= limit)


def validate_registry(
    data: "Iterable[Quad] | QuadSource",
    shapes: Shapes,
    *,
    limit: int = LIMIT,
    among: Collection[Term] | None = None,
    progress: Progress = unwatched,
) -> ValidationReport:
    """Check the whole content of a registry, as an administrator sees it.

    In addition to the shapes, which apply to the union of the graphs, no fixated identifier or tombstone may
    have its record in the graph of an access list, and no created identifier elsewhere. Labels fit the IRIs,
    and no two identifiers have the same label.

    among  check only these nodes, without blank nodes; the shapes must be compilable. Equal labels are not
           looked for. Cost: some milliseconds each.

    Other parameters, errors and cost are as for `validate`.
    """
    source = _source(data)
    others = chain(
        visibility.misplaced(source, among, progress),
        labels.mislabelled(source, labels.described(source), among, progress),
    )
    found = list(islice(others, limit + 1))
    if among is None:
        result = validate(source, shapes, limit=limit, progress=progress)
    else:
        result = compiler.run(source, shapes, limit, among, progress)
    return combined(found, result, limit)


def validate_file(path: str | PathLike[str], shapes: Shapes, *, limit: int = LIMIT) -> ValidationReport:
    """Check an RDF file, whose extension determines the format.

    Raises ExchangeError, with the line if the file is malformed, without one if it cannot be read or has an
    unknown format. Other parameters and errors are as for `validate`.
    """
    return validate(files.quads(path), shapes, limit=limit)


def _source(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | QuadSource") -> QuadSource:
    return data if isinstance(data, QuadSource) else in_memory(_plain(data))


def _triples(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | QuadSource") -> Iterator[Triple]:
    if isinstance(data, QuadSource):
        for subject, predicate, value in data.rows("SELECT DISTINCT ?s ?p ?o { ?s ?p ?o }"):
            yield Triple(subject, predicate, value)  # type: ignore[arg-type]
    else:
        yield from (item.triple if isinstance(item, Quad) else item for item in _plain(data))


def _plain(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad]") -> Iterable[Triple | Quad]:
    rdflib = sys.modules.get("rdflib")  # if it is not imported, the data cannot be one of its graphs
    if rdflib is not None and isinstance(data, rdflib.Graph):
        return rdflib_terms.triples(data)
    return cast("Iterable[Triple | Quad]", data)
