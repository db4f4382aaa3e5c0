"""Comparison of the findings of compiled shapes with those of pySHACL."""

from collections.abc import Sequence

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from idstore.validation import Shapes, ValidationResult, compiler, pyshacl_engine
from idstore.validation.shapes import read
from idstore.validation.source import in_memory

HEAD = """
@prefix : <urn:> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
Key = tuple[str, str, str, str, str]
"""Focus node, path, value, kind of constraint, shape."""


def triples(turtle: str) -> list[Triple]:
    return [quad.triple for quad in parse(HEAD + turtle, RdfFormat.TURTLE)]


def shapes(turtle: str) -> Shapes:
    return read(HEAD + turtle)


def key(finding: ValidationResult) -> Key:
    shape = "_:" if finding.shape.startswith("_:") else finding.shape
    return (text(finding.focus), finding.path or "", text(finding.value), finding.component, shape)


def text(term: NamedNode | BlankNode | Literal | Triple | None) -> str:
    """Return the term as a report shows it: in the form that the engine stores."""
    if term is None or isinstance(term, BlankNode):
        return str(term)
    stored = next(
        iter(in_memory([Quad(NamedNode("urn:s"), NamedNode("urn:p"), term)]).rows("SELECT ?o { ?s ?p ?o }"))
    )[0]
    return str(stored)


def compiled(data: Sequence[Triple], wanted: Shapes, *, at_once: int | None = None) -> set[Key]:
    """Return the findings of the compiled shapes.

    ``at_once``  limit on the nodes that are checked without a screening query.
    """
    with pytest.MonkeyPatch.context() as patch:
        if at_once is not None:
            patch.setattr(compiler, "_AT_ONCE", at_once)
        report = compiler.run(in_memory(data), wanted, 100_000)
    return {key(found) for found in report.results}


def expected(data: Sequence[Triple], wanted: Shapes) -> set[Key]:
    """Return the findings of pySHACL."""
    return {key(found) for found in pyshacl_engine.findings(data, wanted)}
