"""SPARQL expressions that say exactly when a node conforms to a shape. The same serve in filters over one node and over a whole store."""

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
"""Above this number, counting inside another shape is not compiled: it compares every two values."""


def about_focus(constraint: Constraint) -> bool:
    """Whether it is about all the values of a focus node together, not about each by itself."""
    return constraint.kind in _HOLDS


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes expressions for data with this class hierarchy (pairs of subclass and superclass). Every variable it makes is a new one."""

    hierarchy: tuple[tuple[Term, Term], ...] = ()
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self) -> str:
        """A variable that occurs nowhere else."""
        return f"?x{next(self._numbers)}"

    def classes(self, *tops: Term) -> str:
        """The classes and those below them, a space between two."""
        return " ".join(sorted({str(found) for top in tops for found in subclasses(self.hierarchy, top)}))

    def instances(self, node: str, *tops: Term) -> str:
        """Pattern whose solutions for the variable ``node`` are the instances of these classes."""
        kind = self.fresh()
        return f"VALUES {kind} {{ {self.classes(*tops)} }} {node} {TYPE} {kind} ."

    def starts(self, targets: Iterable[Target], node: str) -> list[str]:
        """Patterns whose solutions for the variable ``node`` are, together, the nodes of the targets."""
        terms: dict[str, list[Term]] = {"node": [], "class": [], "subjectsOf": [], "objectsOf": []}
        for target in targets:
            terms[target.kind].append(target.term)
        found = [f"VALUES {node} {{ {' '.join(map(str, terms['node']))} }}"] if terms["node"] else []
        found += [self.instances(node, *terms["class"])] if terms["class"] else []
        found += [f"{node} {term} {self.fresh()} ." for term in terms["subjectsOf"]]
        return found + [f"{self.fresh()} {term} {node} ." for term in terms["objectsOf"]]

    def conforms(self, shape: Shape, node: str) -> str:
        """Whether ``node`` conforms to the shape."""
        if not shape.active:
            return "true"
        parts = [self.holds(constraint, shape.path, node) for constraint in shape.constraints]
        return every(parts + [self._nested(shape.path, inner, node) for inner in shape.properties])

    def _nested(self, path: Path | None, inner: Shape, node: str) -> str:
        return self._each(path, node, lambda value: self.conforms(inner, value))

    def holds(self, constraint: Constraint, path: Path | None, node: str) -> str:
        """Whether ``node`` satisfies a constraint of a shape with that path."""
        if about_focus(constraint):
            return _HOLDS[constraint.kind](self, constraint, path, node)
        return self._each(path, node, lambda value: self.accepts(constraint, value, node))

    def _each(self, path: Path | None, node: str, test: Callable[[str], str]) -> str:
        if path is None:
            return test(node)
        value = self.fresh()
        return f"NOT EXISTS {{ {node} {path} {value} FILTER({no(test(value))}) }}"

    def accepts(self, constraint: Constraint, value: str, node: str) -> str:
        """Whether ``value``, one of the values of ``node``, satisfies a constraint on values."""
        return ACCEPTS[constraint.kind](self, constraint, value, node)

    def leads(self, path: Path, node: str, end: str, test: str = "true") -> str:
        """Whether the path leads from ``node`` to an ``end`` that passes the test.

        Step by step, each inside the one before: for a sequence as a whole the engine may begin at its last step, with all that the store holds.
        """
        first, *others = path.steps or (path,)
        if not others:
            return f"EXISTS {{ {node} {first} {end} FILTER({test}) }}"
        middle = self.fresh()
        return f"EXISTS {{ {node} {first} {middle} FILTER({self.leads(sequence(others), middle, end, test)}) }}"

    def several(self, number: int, path: Path | None, node: str, test: Callable[[str], str]) -> str:
        """Whether ``node`` has that many different values that pass the test."""
        if number > MANY:
            raise UnsupportedShapes(f"counting to {number} inside another shape is not compiled; {MANY} is the most", count=number)
        if number == 0:
            return "true"
        if path is None:
            return test(node) if number == 1 else "false"
        if number == 1:
            value = self.fresh()
            return self.leads(path, node, value, test(value))
        values = [self.fresh() for _ in range(number)]
        tests = [test(value) for value in values]
        tests += [f"!sameTerm({one}, {other})" for index, one in enumerate(values) for other in values[:index]]
        pattern = " . ".join(f"{node} {path} {value}" for value in values)
        return f"EXISTS {{ {pattern} FILTER({every(tests)}) }}"


def _at_least(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    return writer.several(constraint.count, path, node, _any)


def _at_most(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    return no(writer.several(constraint.count + 1, path, node, _any))


def _any(_: str) -> str:
    return "true"


def _conforming(writer: Writer, constraint: Constraint) -> Callable[[str], str]:
    return lambda value: writer.conforms(constraint.shapes[0], value)


def _at_least_such(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    return writer.several(constraint.count, path, node, _conforming(writer, constraint))


def _at_most_such(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    return no(writer.several(constraint.count + 1, path, node, _conforming(writer, constraint)))


def _has(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    term = constraint.terms[0]
    return f"sameTerm({node}, {term})" if path is None else writer.leads(path, node, str(term))


def _unique(writer: Writer, _: Constraint, path: Path | None, node: str) -> str:
    one, other = writer.fresh(), writer.fresh()
    clash = f'!sameTerm({one}, {other}) && LANG({one}) != "" && LCASE(LANG({one})) = LCASE(LANG({other}))'
    return f"NOT EXISTS {{ {node} {path} {one} . {node} {path} {other} FILTER({safe(clash)}) }}"


def _equal(writer: Writer, constraint: Constraint, path: Path | None, node: str) -> str:
    term, value = constraint.terms[0], writer.fresh()
    if path is None:
        return f"EXISTS {{ {node} {term} {node} }} && NOT EXISTS {{ {node} {term} {value} FILTER(!sameTerm({value}, {node})) }}"
    there = f"NOT EXISTS {{ {node} {path} {value} FILTER NOT EXISTS {{ {node} {term} {value} }} }}"
    return f"{there} && NOT EXISTS {{ {node} {term} {value} FILTER NOT EXISTS {{ {node} {path} {value} }} }}"


_HOLDS: Final[Mapping[str, Callable[[Writer, Constraint, Path | None, str], str]]] = {
    "minCount": _at_least,
    "maxCount": _at_most,
    "qualifiedMinCount": _at_least_such,
    "qualifiedMaxCount": _at_most_such,
    "hasValue": _has,
    "uniqueLang": _unique,
    "equals": _equal,
}
