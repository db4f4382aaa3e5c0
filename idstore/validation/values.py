"""SPARQL expressions that test whether a value satisfies a constraint on values, by SHACL's definitions.

No expression ends in an error: a value without a result, such as the length of a blank node or the datatype
of an IRI, does not satisfy the constraint. Each occurrence of a variable in an expression costs a lookup of
its text.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, Protocol

from pyoxigraph import Literal, NamedNode, Store

from idstore.errors import UnsupportedShapes
from idstore.validation.graph import SHACL, Term
from idstore.validation.shape import Constraint, Shape
from idstore.validation.source import StoreSource

TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_TEXTS = {
    "hexBinary": "^([0-9A-Fa-f][0-9A-Fa-f])*$",
    "boolean": "^(true|false|0|1)$",
    "integer": "^[+-]?[0-9]+$",
    "decimal": f"^[+-]?{_NUMBER}$",
    "double": f"^([+-]?{_NUMBER}([eE][+-]?[0-9]+)?|[+-]?INF|NaN)$",
    "float": f"^([+-]?{_NUMBER}([eE][+-]?[0-9]+)?|[+-]?INF|NaN)$",
}
_CAST = {"dateTime", "date", "time"}
_FREE = {_XSD + "string", _XSD + "anyURI", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}


class Writing(Protocol):
    """The context of an expression besides the constraint."""

    def fresh(self) -> str:
        """Return a new variable."""

    def classes(self, *tops: Term) -> str:
        """Return the classes and their subclasses, separated by spaces."""

    def conforms(self, shape: Shape, node: str) -> str:
        """Return a test whether ``node`` conforms to the shape."""


Test = Callable[[Writing, Constraint, str, str], str]
"""Function that returns the test of a constraint for a value (the first text) of a node (the second text)."""


def no(expression: str) -> str:
    """Return the negation of an expression."""
    return f"!({expression})"


def every(parts: Iterable[str]) -> str:
    """Return the conjunction of the parts."""
    return " && ".join(f"({part})" for part in parts if part != "true") or "true"


def some(parts: Iterable[str]) -> str:
    """Return the disjunction of the parts."""
    return " || ".join(f"({part})" for part in parts) or "false"


def safe(expression: str) -> str:
    """Return the expression, with false in place of an error."""
    return f"COALESCE({expression}, false)"


@cache
def supported(pattern: str, flags: str = "") -> bool:
    """Whether the engine supports the pattern: it silently never matches an unsupported one."""
    query = f'SELECT ?known {{ BIND(REGEX("", {Literal(pattern)}, {Literal(flags)}) AS ?known) }}'
    return any(row[0] is not None for row in StoreSource(Store()).rows(query))


def _class(writer: Writing, constraint: Constraint, value: str, _: str) -> str:
    kind, classes = writer.fresh(), writer.classes(*constraint.terms).replace(" ", ", ")
    return f"EXISTS {{ {value} {TYPE} {kind} FILTER({kind} IN ({classes})) }}"


def _datatype(_: Writing, constraint: Constraint, value: str, __: str) -> str:
    wanted = constraint.terms[0]
    return safe(f"sameTerm(DATATYPE({value}), {wanted}){_lexical(wanted, value)}")


def _lexical(wanted: Term, value: str) -> str:
    """Return the test that a text is a lexical form of the datatype.

    Raises UnsupportedShapes if SPARQL has no such test, or the engine changes the datatype.
    """
    iri = wanted.value if isinstance(wanted, NamedNode) else ""
    name = iri.removeprefix(_XSD)
    if iri in _FREE:
        return ""
    if name in _TEXTS:
        return f" && REGEX(STR({value}), {Literal(_TEXTS[name])})"
    if name in _CAST:
        return f" && sameTerm(DATATYPE(<{iri}>(STR({value}))), {wanted})"
    raise UnsupportedShapes(f"sh:datatype {wanted} is not compiled", datatype=str(wanted))


def _kind(_: Writing, constraint: Constraint, value: str, __: str) -> str:
    tests = {"BlankNode": f"isBlank({value})", "IRI": f"isIRI({value})", "Literal": f"isLiteral({value})"}
    term = constraint.terms[0]
    wanted = term.value.removeprefix(SHACL).split("Or") if isinstance(term, NamedNode) else []
    if not set(wanted) <= set(tests) or not wanted:
        raise UnsupportedShapes(f"sh:nodeKind {term} is not defined in SHACL", nodeKind=str(term))
    return some(tests[name] for name in wanted)


def _in(_: Writing, constraint: Constraint, value: str, __: str) -> str:
    iris = [term for term in constraint.terms if isinstance(term, NamedNode)]
    tests = [f"sameTerm({value}, {term})" for term in constraint.terms if term not in iris or len(iris) == 1]
    if len(iris) > 1:
        tests.append(f"isIRI({value}) && {value} IN ({', '.join(map(str, iris))})")
    return some(tests)


def _compared(sign: str) -> Test:
    return lambda _, constraint, value, __: safe(f"{value} {sign} {constraint.terms[0]}")


def _length(sign: str) -> Test:
    return lambda _, constraint, value, __: safe(f"STRLEN(STR({value})) {sign} {constraint.count}")


def _pattern(_: Writing, constraint: Constraint, value: str, __: str) -> str:
    pattern, flags = constraint.text, constraint.flags
    if not supported(pattern, flags):
        raise UnsupportedShapes(
            f"not every engine supports the pattern {pattern!r} with flags {flags!r}",
            pattern=pattern,
        )
    return safe(f"REGEX(STR({value}), {Literal(pattern)}, {Literal(flags)})")


def _languages(_: Writing, constraint: Constraint, value: str, __: str) -> str:
    return safe(some(f"langMatches(LANG({value}), {term})" for term in constraint.terms))


def _closed(writer: Writing, constraint: Constraint, value: str, _: str) -> str:
    predicate, other = writer.fresh(), writer.fresh()
    allowed = ", ".join(map(str, constraint.terms))
    return f"NOT EXISTS {{ {value} {predicate} {other} FILTER({predicate} NOT IN ({allowed})) }}"


def _disjoint(_: Writing, constraint: Constraint, value: str, node: str) -> str:
    return f"NOT EXISTS {{ {node} {constraint.terms[0]} {value} }}"


def _before(sign: str) -> Test:
    def test(writer: Writing, constraint: Constraint, value: str, node: str) -> str:
        other = writer.fresh()
        failure = no(safe(f"{value} {sign} {other}"))
        return f"NOT EXISTS {{ {node} {constraint.terms[0]} {other} FILTER({failure}) }}"

    return test


def _logic(join: Callable[[list[str]], str]) -> Test:
    return lambda writer, constraint, value, _: join(
        [writer.conforms(shape, value) for shape in constraint.shapes]
    )


def _exactly_one(parts: list[str]) -> str:
    return some(
        every([part, *map(no, parts[:index]), *map(no, parts[index + 1 :])])
        for index, part in enumerate(parts)
    )


ACCEPTS: Final[Mapping[str, Test]] = {
    "class": _class,
    "datatype": _datatype,
    "nodeKind": _kind,
    "in": _in,
    "minInclusive": _compared(">="),
    "maxInclusive": _compared("<="),
    "minExclusive": _compared(">"),
    "maxExclusive": _compared("<"),
    "minLength": _length(">="),
    "maxLength": _length("<="),
    "pattern": _pattern,
    "languageIn": _languages,
    "closed": _closed,
    "disjoint": _disjoint,
    "lessThan": _before("<"),
    "lessThanOrEquals": _before("<="),
    "node": _logic(every),
    "and": _logic(every),
    "or": _logic(some),
    "xone": _logic(_exactly_one),
    "not": _logic(lambda parts: no(parts[0])),
}
"""Tests of the constraints on single values."""
