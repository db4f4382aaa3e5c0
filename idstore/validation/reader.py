"""Parser of shapes from their triples."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from pyoxigraph import BlankNode, Literal, NamedNode

from idstore.errors import MalformedShapes, UnsupportedShapes
from idstore.validation import paths
from idstore.validation.graph import SH, SHACL, Graph, Term, is_class
from idstore.validation.shape import Constraint, Shape, Target

TARGETS = {
    SH.targetNode: "node",
    SH.targetClass: "class",
    SH.targetSubjectsOf: "subjectsOf",
    SH.targetObjectsOf: "objectsOf",
}
"""Targets of shapes: predicate → kind."""
TARGETS_IN_DATA = {kind: predicate for predicate, kind in TARGETS.items() if kind != "node"}
"""Targets that depend on the data: kind of target → predicate."""
_OTHERS = {
    SH.path,
    SH.property,
    SH.name,
    SH.description,
    SH.message,
    SH.severity,
    SH.order,
    SH.group,
    SH.defaultValue,
    SH.deactivated,
    SH.flags,
    SH.ignoredProperties,
    SH.qualifiedValueShape,
    SH.qualifiedValueShapesDisjoint,
}
_ON_PATHS_ONLY = {
    "minCount",
    "maxCount",
    "uniqueLang",
    "lessThan",
    "lessThanOrEquals",
    "qualifiedMinCount",
    "qualifiedMaxCount",
}


def shapes(graph: Graph) -> list[Shape]:
    """Return all shapes with targets, sorted by name. Raises MalformedShapes, UnsupportedShapes."""
    for predicate in (SH.target, SH.parameter, SH.entailment):
        for node, _ in graph.pairs(predicate):
            raise UnsupportedShapes(
                f"{node} uses sh:{predicate.value.removeprefix(SHACL)}, which is not compiled",
                shape=str(node),
            )
    heads = {subject for target in TARGETS for subject, _ in graph.pairs(target)}
    heads |= {node for node in _declared(graph) if is_class(graph, node)}
    return [_ShapeReader(graph).shape(node) for node in sorted(heads, key=str)]


def _declared(graph: Graph) -> Iterator[Term]:
    for kind in (SH.NodeShape, SH.PropertyShape):
        yield from (subject for subject, value in graph.pairs(_TYPE) if value == kind)


_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


class _ShapeReader:
    """Reader of a shape and the shapes that it refers to. It keeps a stack to detect recursion."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stack: list[Term] = []

    def shape(self, node: Term) -> Shape:
        graph = self._graph
        if not isinstance(node, NamedNode | BlankNode):
            raise graph.malformed(node, "is a literal where a shape is expected")
        if node in self._stack:
            raise UnsupportedShapes(
                f"the shape {node} refers to itself; SHACL does not define recursive shapes", shape=str(node)
            )
        self._stack.append(node)
        path = graph.value(node, SH.path)
        shape = Shape(
            iri=node.value if isinstance(node, NamedNode) else str(node),
            path=None if path is None else paths.read(graph, path),
            targets=tuple(self._targets(node)),
            constraints=tuple(self._constraints(node)),
            properties=tuple(map(self.shape, graph.values(node, SH.property))),
            name=_text(graph.values(node, SH.name)),
            message=_text(graph.values(node, SH.message)),
            severity=_severity(graph.value(node, SH.severity)),
            active=not _true(graph.value(node, SH.deactivated)),
        )
        self._check(shape)
        self._stack.pop()
        return shape

    def _check(self, shape: Shape) -> None:
        misplaced = sorted(
            constraint.kind
            for constraint in shape.constraints
            if shape.path is None and constraint.kind in _ON_PATHS_ONLY
        )
        if shape.path is not None and shape.path.idle:
            raise UnsupportedShapes(
                f"the shape {shape.iri} has a path of possible length zero, which is not compiled",
                shape=shape.iri,
            )
        if misplaced:
            raise MalformedShapes(
                f"the shape {shape.iri} has sh:{misplaced[0]} but no sh:path", shape=shape.iri
            )

    def _targets(self, node: Term) -> Iterator[Target]:
        for predicate, kind in TARGETS.items():
            yield from (Target(kind, term) for term in self._graph.values(node, predicate))
        if is_class(self._graph, node):
            yield Target("class", node)

    def _constraints(self, node: Term) -> Iterator[Constraint]:
        for predicate in sorted(self._graph.about(node), key=str):
            if not predicate.value.startswith(SHACL) or predicate in _OTHERS or predicate in TARGETS:
                continue
            kind = predicate.value.removeprefix(SHACL)
            make = _KINDS.get(kind)
            if make is None:
                raise UnsupportedShapes(
                    f"the shape {node} uses sh:{kind}, which is not compiled",
                    shape=str(node),
                    constraint=kind,
                )
            yield from make(self, node, kind)

    def values(self, node: Term, kind: str) -> list[Term]:
        return self._graph.values(node, NamedNode(SHACL + kind))

    def single(self, node: Term, kind: str) -> Term:
        values = self.values(node, kind)
        if len(values) != 1:
            raise self._graph.malformed(
                node, f"has {len(values)} values of sh:{kind}, but exactly one is needed"
            )
        return values[0]

    def list(self, node: Term) -> list[Term]:
        members = self._graph.members(node)
        if members is None:
            raise self._graph.malformed(node, "is not a list")
        return members

    def number(self, node: Term, kind: str) -> int:
        value = self.single(node, kind)
        if not isinstance(value, Literal) or not value.value.isdecimal():
            raise self._graph.malformed(node, f"has a sh:{kind} that is not a whole number: {value}")
        return int(value.value)


def _each(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind, (term,)) for term in reader.values(node, kind)]


def _one(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind, (reader.single(node, kind),))]


def _counted(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind, count=reader.number(node, kind))]


def _listed(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind, tuple(reader.list(reader.single(node, kind))))]


def _pattern(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    flags = _text(reader.values(node, "flags"))
    return [Constraint(kind, text=_text([term]), flags=flags) for term in reader.values(node, kind)]


def _shaped(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind, shapes=(reader.shape(term),)) for term in reader.values(node, kind)]


def _combined(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [
        Constraint(kind, shapes=tuple(map(reader.shape, reader.list(term))))
        for term in reader.values(node, kind)
    ]


def _qualified(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    if any(map(_true, reader.values(node, "qualifiedValueShapesDisjoint"))):
        raise UnsupportedShapes(
            f"the shape {node} uses sh:qualifiedValueShapesDisjoint, which is not compiled", shape=str(node)
        )
    if not reader.values(node, "qualifiedValueShape"):
        return []  # without sh:qualifiedValueShape the parameter has no meaning
    shape = reader.shape(reader.single(node, "qualifiedValueShape"))
    return [Constraint(kind, shapes=(shape,), count=reader.number(node, kind))]


def _closed(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    if not _true(reader.single(node, kind)):
        return []
    allowed = {
        path
        for shape in reader.values(node, "property")
        for path in reader.values(shape, "path")
        if isinstance(path, NamedNode)
    }
    for ignored in reader.values(node, "ignoredProperties"):
        allowed.update(term for term in reader.list(ignored) if isinstance(term, NamedNode))
    return [Constraint(kind, tuple(sorted(allowed, key=str)))]


def _switched(reader: _ShapeReader, node: Term, kind: str) -> Iterable[Constraint]:
    return [Constraint(kind)] if _true(reader.single(node, kind)) else []


_KINDS: Mapping[str, Callable[[_ShapeReader, Term, str], Iterable[Constraint]]] = {
    "class": _each,
    "datatype": _one,
    "nodeKind": _one,
    "minCount": _counted,
    "maxCount": _counted,
    "minInclusive": _one,
    "maxInclusive": _one,
    "minExclusive": _one,
    "maxExclusive": _one,
    "minLength": _counted,
    "maxLength": _counted,
    "pattern": _pattern,
    "languageIn": _listed,
    "uniqueLang": _switched,
    "equals": _each,
    "disjoint": _each,
    "lessThan": _each,
    "lessThanOrEquals": _each,
    "not": _shaped,
    "node": _shaped,
    "and": _combined,
    "or": _combined,
    "xone": _combined,
    "hasValue": _each,
    "in": _listed,
    "closed": _closed,
    "qualifiedMinCount": _qualified,
    "qualifiedMaxCount": _qualified,
}


def _text(terms: list[Term]) -> str:
    """Return the text of the first English literal, or of the first literal."""
    literals = [term for term in terms if isinstance(term, Literal)]
    english = [term for term in literals if (term.language or "en").startswith("en")]
    return (english or literals)[0].value if literals else ""


def _severity(term: Term | None) -> str:
    return term.value.removeprefix(SHACL) if isinstance(term, NamedNode) else "Violation"


def _true(term: Term | None) -> bool:
    return isinstance(term, Literal) and term.value == "true"
