"""Shapes for other SHACL processors: with all subclasses written out, flat, and as canonical Turtle.

A SHACL processor looks for ``rdfs:subClassOf`` in the data, which hold no ontology. So each class that a
shape names stands here for itself and for each of its subclasses.

A processor such as pySHACL takes long for each shape inside another one, and much longer where the inner
shape fails: it writes a report that nobody reads. So shapes are flat here, as far as they find the same: the
properties of a shape with targets have these targets themselves, tests of a value stand where they apply, and
the classes of a node are tested as one list of types.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Final

from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
    serialize,
)

from idstore.validation.graph import SH, SHACL, Graph, Term, hierarchy, subclasses
from idstore.validation.reader import TARGETS
from idstore.validation.shapes import Shapes
from idstore.vocabulary import PREFIXES, RDF, RDFS

_CLASS: Final = NamedNode(SHACL + "class")
_NODE: Final = NamedNode(SHACL + "node")
_OR: Final = NamedNode(SHACL + "or")
_Node = NamedNode | BlankNode

_PREFIXES = {**PREFIXES, "sh": SHACL, "shapes": "https://w3id.org/idstore/shapes#"}
_DESCRIPTION: Final = {RDF.type, SH.name, SH.description, SH.message, SH.severity, SH.order}
"""What a shape says beside its targets and constraints."""
_OF_VALUES: Final = {SH.nodeKind, SH.datatype, SH.pattern, _OR}
"""Constraints that mean the same for a value of a path as for a node."""
_REPEATABLE: Final = {SH.pattern, _OR}
"""Constraints that a shape can have more than once."""


def standalone(shapes: Shapes) -> Shapes:
    """Return shapes with the same findings on data without the ontology."""
    triples: tuple[Triple, ...] = shapes.triples
    pairs = hierarchy(Graph(triples))
    for change in (_typed(Graph(triples), pairs), _tested, _targeted):
        graph = Graph(triples)
        triples = tuple(dict.fromkeys(new for triple in triples for new in change(triple, graph)))
    return Shapes(triples)


def write(shapes: Shapes, target: IO[bytes]) -> None:
    """Write shapes as Turtle: equal shapes give equal bytes."""
    dataset = Dataset(Quad(triple.subject, triple.predicate, triple.object) for triple in shapes.triples)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    triples = sorted((quad.triple for quad in dataset), key=str)
    serialize(triples, target, format=RdfFormat.TURTLE, prefixes=_PREFIXES)


def _typed(whole: Graph, pairs: Sequence[tuple[Term, Term]]) -> Callable[[Triple, Graph], Iterator[Triple]]:
    """Return the change that writes out subclasses, and tests the classes of a node as types."""
    listed = {
        shape: classes
        for target in TARGETS
        for shape, _ in whole.pairs(target)
        if len(classes := _only_classes(whole, pairs, shape)) > 1
    }

    def change(triple: Triple, _: Graph) -> Iterator[Triple]:
        shape, predicate, value = triple
        if predicate == RDFS.subClassOf:
            return
        if predicate == SH.targetClass:
            yield from (Triple(shape, predicate, one) for one in subclasses(pairs, value))
        elif shape in listed and predicate in (_CLASS, _OR):
            yield from _of_a_type(shape, listed[shape])
        elif shape in listed and predicate == RDF.type:
            yield Triple(shape, predicate, SH.PropertyShape)
        elif predicate == _CLASS and len(classes := subclasses(pairs, value)) > 1:
            case = BlankNode()
            yield Triple(case, RDF.type, SH.PropertyShape)
            yield from _of_a_type(case, classes)
            yield from _listing(shape, _OR, [case])
        else:
            yield triple

    return change


def _only_classes(graph: Graph, pairs: Sequence[tuple[Term, Term]], shape: Term) -> list[NamedNode]:
    """Return the classes, one of which a node must have, if the shape demands nothing else; else none."""
    match list(_demands(graph, shape).items()):
        case [(predicate, [value])] if predicate == _CLASS:
            return subclasses(pairs, value)
        case [(predicate, [value])] if predicate == _OR:
            cases = [_only_classes(graph, pairs, case) for case in graph.members(value) or ()]
            return [one for case in cases for one in case] if all(cases) else []
    return []


def _demands(graph: Graph, shape: Term) -> dict[NamedNode, list[Term]]:
    """Return what the shape says beside its description and targets."""
    about = graph.about(shape).items()
    return {key: values for key, values in about if key not in _DESCRIPTION and key not in TARGETS}


def _of_a_type(shape: _Node, classes: Iterable[NamedNode]) -> Iterator[Triple]:
    """Yield the constraint that a node has one of the classes as a type."""
    types = BlankNode()
    yield Triple(shape, SH.path, RDF.type)
    yield Triple(shape, SH.qualifiedValueShape, types)
    yield Triple(shape, SH.qualifiedMinCount, Literal(1))
    yield Triple(types, RDF.type, SH.NodeShape)
    yield Triple(types, SH.pattern, Literal(f"^({'|'.join(re.escape(one.value) for one in classes)})$"))


def _listing(subject: _Node, predicate: NamedNode, members: Iterable[_Node]) -> Iterator[Triple]:
    """Yield the triple whose object is a list."""
    rest: _Node = RDF.nil
    for one in reversed(list(members)):
        node = BlankNode()
        yield from (Triple(node, RDF.first, one), Triple(node, RDF.rest, rest))
        rest = node
    yield Triple(subject, predicate, rest)


def _tested(triple: Triple, graph: Graph) -> Iterator[Triple]:
    """Put the tests of another shape in the place of ``sh:node``, where they are tests of the value alone."""
    own = graph.about(triple.subject)
    tests = _demands(graph, triple.object) if own.get(_NODE) == [triple.object] else {}
    if (
        triple.predicate == _NODE
        and tests
        and all(key in _OF_VALUES and (key in _REPEATABLE or key not in own) for key in tests)
    ):
        yield from (Triple(triple.subject, key, value) for key, values in tests.items() for value in values)
    else:
        yield triple


def _targeted(triple: Triple, graph: Graph) -> Iterator[Triple]:
    """Put targets of a shape in the place of ``sh:property``: at the property itself."""
    shape, predicate, inner = triple
    targets = [(key, value) for key in TARGETS for value in graph.values(shape, key)]
    if (
        targets
        and predicate == SH.property
        and isinstance(inner, _Node)
        and not graph.values(shape, SH.deactivated)
    ):
        yield from (Triple(inner, key, value) for key, value in targets)
    else:
        yield triple
