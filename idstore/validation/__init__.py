"""Checking data against SHACL shapes.

`validate` takes any RDF data, `validate_registry` all that a registry holds, `validate_file` a file. Shapes come from
`idstore.validation.shapes`. They are compiled to SPARQL (see `compiler`), so that a whole store can be checked; shapes that cannot be
compiled are given to pySHACL.
"""

import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, cast

from pyoxigraph import Quad, Triple

from idstore.model import rdflib_terms
from idstore.progress import Progress, unwatched
from idstore.validation import compiler, files, pyshacl_engine, visibility
from idstore.validation.graph import Term
from idstore.validation.report import Finding, Report, report
from idstore.validation.shapes import Shapes
from idstore.validation.source import Source, StoreSource, in_memory

if TYPE_CHECKING:
    import rdflib

__all__ = ["LIMIT", "Finding", "Report", "Shapes", "Source", "StoreSource", "validate", "validate_file", "validate_registry"]

LIMIT = 10_000
"""Findings that a report lists unless more or fewer are asked for."""


def validate(
    data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | Source",
    shapes: Shapes,
    *,
    limit: int = LIMIT,
    progress: Progress = unwatched,
) -> Report:
    """Check data against shapes.

    data    an rdflib graph, pyoxigraph triples or quads (their graphs are merged), or a source such as a store that is queried in place.
            ``rdfs:subClassOf`` triples in it count.
    limit   at most this many findings are collected; the report says if there are more.

    Raises InvalidData if the shapes are malformed, or use what neither the compiler nor pySHACL knows.
    Cost: sequential passes over the predicates that the shapes speak of; 100,000 identifiers take seconds. With shapes that cannot be
    compiled about 1 ms and 10 kB for each node.
    """
    if compiler.covers(shapes):
        return compiler.run(_source(data), shapes, limit, progress=progress)
    found = list(pyshacl_engine.findings(_triples(data), shapes))
    return report(found[:limit], complete=len(found) <= limit)


def validate_registry(
    data: "Iterable[Quad] | Source",
    shapes: Shapes,
    *,
    limit: int = LIMIT,
    among: Collection[Term] | None = None,
    progress: Progress = unwatched,
) -> Report:
    """Check all that an administrator sees of a registry.

    Beyond the shapes, which see the union of the graphs: no fixated identifier or tombstone has its record in the graph of an access list,
    and no created one elsewhere.

    among  check these nodes only, none of them a blank one: shapes must be such as can be compiled. Cost: some milliseconds for each.
    Other parameters, errors and cost as for `validate`.
    """
    source = _source(data)
    misplaced = list(islice(visibility.misplaced(source, among), limit + 1))
    if among is None:
        found = validate(source, shapes, limit=limit, progress=progress)
    else:
        found = compiler.run(source, shapes, limit, among, progress)
    return report([*misplaced, *found.results][:limit], complete=found.complete and len(misplaced) + len(found.results) <= limit)


def validate_file(path: str | PathLike[str], shapes: Shapes, *, limit: int = LIMIT) -> Report:
    """Check an RDF file; its name's extension says the format.

    Raises ExchangeError with the line if the file is malformed, without one if it cannot be read or its format is unknown.
    Other parameters and errors as for `validate`.
    """
    return validate(files.quads(path), shapes, limit=limit)


def _source(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | Source") -> Source:
    return data if isinstance(data, Source) else in_memory(_plain(data))


def _triples(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad] | Source") -> Iterator[Triple]:
    if isinstance(data, Source):
        for subject, predicate, value in data.rows("SELECT DISTINCT ?s ?p ?o { ?s ?p ?o }"):
            yield Triple(subject, predicate, value)  # type: ignore[arg-type]
    else:
        yield from (item.triple if isinstance(item, Quad) else item for item in _plain(data))


def _plain(data: "rdflib.Graph | Iterable[Triple] | Iterable[Quad]") -> Iterable[Triple | Quad]:
    rdflib = sys.modules.get("rdflib")  # not imported: then the data are none of its graphs
    if rdflib is not None and isinstance(data, rdflib.Graph):
        return rdflib_terms.triples(data)
    return cast("Iterable[Triple | Quad]", data)
