"""SPARQL expressions that test whether a node conforms to a shape, in filters on one node or a store."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from idstore.errors import UnsupportedShapes
from idstore.validation.graph import Term, subclasses
from idstore.validation.paths import Path, sequence
from idstore.validation.shape import Constraint, Shape, Target
from idstore.validation.values import ACCEPTS, TYPE, every, no, safe

MANY: Final = 8
"""Maximum number in a count within another shape, which compares each pair of values."""


def about_focus(constraint: Constraint) -> bool:
    """Whether a constraint applies to all values of a focus node together, not to each value."""
    return constraint.kind in _HOLDS


@dataclass(frozen=True, slots=True)
class ExpressionWriter:
    """ExpressionWriter of expressions for data with a class hierarchy (pairs of subclass and superclass).

    All variables that it creates are new.
    """

    hierarchy: tuple[tuple[Term, Term], ...] = ()
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self) -> str:
        """Return a new variable."""
        return f"?x{next(self._numbers)}"

    def classes(self, *tops: Term) -> str:
        """Return the classes and their subclasses, separated by spaces."""
        return " ".join(sorted({str(term) for top in tops for term in subclasses(self.hierarchy, top)}))

    def instances(self, node: str, *tops: Term) -> str:
        """Return a pattern that binds the instances of the classes to the variable ``node``."""
        kind = self.fresh()
        return f"VALUES {kind} {{ {self.classes(*tops)} }} {node} {TYPE} {kind} ."

    def starts(self, targets: Iterable[Target], node: str) -> list[str]:
        """Return patterns that together bind the nodes of the targets to the variable ``node``."""
        terms: dict[str, list[Term]] = {"node": [], "class": [], "subjectsOf": [], "objectsOf": []}
        for target in targets:
            terms[target.kind].append(target.term)
        patterns = [f"VALUES {node} {{ {' '.join(map(str, terms['node']))} }}"] if terms["node"] else []
        patterns += [self.instances(node, *terms["class"])] if terms["class"] else []
        patterns += [f"{node} {term} {self.fresh()} ." for term in terms["subjectsOf"]]
        return patterns + [f"{self.fresh()} {term} {node} ." for term in terms["objectsOf"]]

    def conforms(self, shape: Shape, node: str) -> str:
        """Return a test whether ``node`` conforms to the shape."""
        if not shape.active:
            return "true"
        parts = [self.holds(constraint, shape.path, node) for constraint in shape.constraints]
        return every(parts + [self._nested(shape.path, inner, node) for inner in shape.properties])

    def _nested(self, path: Path | None, inner: Shape, node: str) -> str:
        return self._each(path, node, lambda value: self.conforms(inner, value))

    def holds(self, constraint: Constraint, path: Path | None, node: str) -> str:
        """Return a test whether ``node`` satisfies a constraint of a shape with the path."""
        if about_focus(constraint):
            return _HOLDS[constraint.kind](self, constraint, path, node)
        return self._each(path, node, lambda value: self.accepts(constraint, value, node))

    def _each(self, path: Path | None, node: str, test: Callable[[str], str]) -> str:
        if path is None:
            return test(node)
        value = self.fresh()
        return f"NOT EXISTS {{ {node} {path} {value} FILTER({no(test(value))}) }}"

    def accepts(self, constraint: Constraint, value: str, node: str) -> str:
        """Return a test whether ``value``, a value of ``node``, satisfies a constraint on values."""
        return ACCEPTS[constraint.kind](self, constraint, value, node)

    def leads(self, path: Path, node: str, end: str, test: str = "true") -> str:
        """Return a test whether the path leads from ``node`` to an ``end`` that passes ``test``.

        The steps are nested, because the engine may evaluate a sequence from its last step, over the whole
        store.
        """
        first, *others = path.steps or (path,)
        if not others:
            return f"EXISTS {{ {node} {first} {end} FILTER({test}) }}"
        middle = self.fresh()
        return (
            f"EXISTS {{ {node} {first} {middle} FILTER({self.leads(sequence(others), middle, end, test)}) }}"
        )

    def several(self, number: int, path: Path | None, node: str, test: Callable[[str], str]) -> str:
        """Return a test whether ``node`` has at least ``number`` distinct values that pass ``test``."""
        if number > MANY:
            raise UnsupportedShapes(
                f"a count of {number} within another shape is not compiled; the maximum is {MANY}",
                count=number,
            )
        if number == 0:
            return "true"
        if path is None:
            return test(node) if number == 1 else "false"
        if number == 1:
            value = self.fresh()
            return self.leads(path, node, value, test(value))
        values = [self.fresh() for _ in range(number)]
        tests = [test(value) for value in values]
        tests += [
            f"!sameTerm({value}, {earlier})"
            for index, value in enumerate(values)
            for earlier in values[:index]
        ]
        pattern = " . ".join(f"{node} {path} {value}" for value in values)
        return f"EXISTS {{ {pattern} FILTER({every(tests)}) }}"


def _at_least(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    return writer.several(constraint.count, path, node, _any)


def _at_most(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    return no(writer.several(constraint.count + 1, path, node, _any))


def _any(_: str) -> str:
    return "true"


def _conforming(writer: ExpressionWriter, constraint: Constraint) -> Callable[[str], str]:
    return lambda value: writer.conforms(constraint.shapes[0], value)


def _at_least_such(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    return writer.several(constraint.count, path, node, _conforming(writer, constraint))


def _at_most_such(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    return no(writer.several(constraint.count + 1, path, node, _conforming(writer, constraint)))


def _has(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    term = constraint.terms[0]
    return f"sameTerm({node}, {term})" if path is None else writer.leads(path, node, str(term))


def _unique(writer: ExpressionWriter, _: Constraint, path: Path | None, node: str) -> str:
    first, second = writer.fresh(), writer.fresh()
    clash = (
        f'!sameTerm({first}, {second}) && LANG({first}) != "" && LCASE(LANG({first})) = LCASE(LANG({second}))'
    )
    return f"NOT EXISTS {{ {node} {path} {first} . {node} {path} {second} FILTER({safe(clash)}) }}"


def _equal(writer: ExpressionWriter, constraint: Constraint, path: Path | None, node: str) -> str:
    term, value = constraint.terms[0], writer.fresh()
    if path is None:
        others = f"NOT EXISTS {{ {node} {term} {value} FILTER(!sameTerm({value}, {node})) }}"
        return f"EXISTS {{ {node} {term} {node} }} && {others}"
    there = f"NOT EXISTS {{ {node} {path} {value} FILTER NOT EXISTS {{ {node} {term} {value} }} }}"
    return f"{there} && NOT EXISTS {{ {node} {term} {value} FILTER NOT EXISTS {{ {node} {path} {value} }} }}"


_HOLDS: Final[Mapping[str, Callable[[ExpressionWriter, Constraint, Path | None, str], str]]] = {
    "minCount": _at_least,
    "maxCount": _at_most,
    "qualifiedMinCount": _at_least_such,
    "qualifiedMaxCount": _at_most_such,
    "hasValue": _has,
    "uniqueLang": _unique,
    "equals": _equal,
}
