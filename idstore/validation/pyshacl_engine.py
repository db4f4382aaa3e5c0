"""Validation by pySHACL: complete SHACL Core, in memory.

For shapes that are not compiled, and as a reference.
"""

from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode, Triple

from idstore.errors import InvalidData
from idstore.model import rdflib_terms
from idstore.validation import paths
from idstore.validation.graph import SH, SHACL, Graph, Term
from idstore.validation.report import ValidationResult
from idstore.validation.shapes import Shapes
from idstore.vocabulary import RDFS


def findings(data: Iterable[Triple], shapes: Shapes) -> Iterator[ValidationResult]:
    """Yield the findings on triples.

    Raises InvalidData if pySHACL refuses the shapes.
    Cost: about 1 ms and 10 kB for each node checked.
    """
    import pyshacl
    from pyshacl.errors import ReportableRuntimeError

    below = [triple for triple in shapes.triples if triple.predicate == RDFS.subClassOf]
    try:
        _, results, text = pyshacl.validate(
            rdflib_terms.graph([*data, *below]),
            shacl_graph=rdflib_terms.graph(shapes.triples),
            inplace=True,
        )
    except ReportableRuntimeError as error:
        raise InvalidData(f"pySHACL cannot use the shapes: {error}", field="shapes") from error
    if isinstance(results, ReportableRuntimeError | bytes):
        raise InvalidData(f"pySHACL cannot use the shapes: {text}", field="shapes")
    graph, shapes_graph = Graph(rdflib_terms.triples(results)), Graph(shapes.triples)
    for _, result in graph.pairs(SH.result):
        yield _finding(graph, result, shapes_graph)


def _finding(graph: Graph, result: Term, shapes_graph: Graph) -> ValidationResult:
    path, shape = graph.value(result, SH.resultPath), _only(graph, result, SH.sourceShape)
    kind = _local(_only(graph, result, SH.sourceConstraintComponent)).removesuffix("ConstraintComponent")
    messages = shapes_graph.values(shape, SH.message) or graph.values(result, SH.resultMessage)
    return ValidationResult(
        focus=_only(graph, result, SH.focusNode),
        path=None if path is None else paths.read(graph, path).text,
        value=graph.value(result, SH.value),
        shape=shape.value if isinstance(shape, NamedNode) else str(shape),
        name="".join(_text(term) for term in shapes_graph.values(shape, SH.name)[:1]),
        component=kind[:1].lower() + kind[1:],
        message=_text(messages[0]) if messages else "",
        severity=_local(_only(graph, result, SH.resultSeverity)),
    )


def _only(graph: Graph, node: Term, predicate: NamedNode) -> Term:
    value = graph.value(node, predicate)
    assert value is not None
    return value


def _local(term: Term) -> str:
    assert isinstance(term, NamedNode)
    return term.value.removeprefix(SHACL)


def _text(term: Term) -> str:
    return getattr(term, "value", str(term))
