"""Screens: fast queries that find all nodes that might violate a constraint, and few others.

An exact query tests each focus node, which on a large store means millions of lookups. A screen processes
whole predicates instead: a scan for a test on values, a hash join of two predicates, a grouped count. In
valid data it finds nothing. Its results are tested exactly, so a screen may suspect too many nodes, but never
too few.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from idstore.validation.checks import Check
from idstore.validation.counts import Doubt, Lack, Repetition, either
from idstore.validation.expressions import ExpressionWriter, about_focus
from idstore.validation.graph import Term
from idstore.validation.paths import Path, sequence
from idstore.validation.shape import Constraint, Shape
from idstore.validation.values import no, safe

_NEEDS_GRAPH = {"class", "closed", "disjoint", "lessThan", "lessThanOrEquals"}
_MOST_CASES = 8


@dataclass(frozen=True, slots=True)
class Screen:
    """A query for suspects.

    quick   covers all nodes, focus nodes or not.
    narrow  covers the focus nodes only; it is slower, and only useful if the quick query finds many suspects.
    scan    the scan behind a test of the values of a plain path, or None.
    doubts  necessary conditions of suspects: if one of them is refuted, there are no suspects.
    """

    quick: str
    narrow: str
    scan: "Scan | None" = None
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """A test of all values of a plain path.

    path     the path.
    failure  expression that tests whether ?value is invalid.
    focus    pattern of the focus nodes.
    """

    path: str
    failure: str
    focus: str

    @property
    def values(self) -> str:
        """The query for the distinct values of all nodes."""
        return f"SELECT DISTINCT ?value {{ ?this {self.path} ?value }}"

    def failing(self, values: Iterable[Term]) -> str:
        """Return the query for the invalid ones of the values."""
        return f"SELECT ?value {{ VALUES ?value {{ {' '.join(map(str, values))} }} FILTER({self.failure}) }}"

    def screen(self) -> Screen:
        """Return the screen that tests the value of each triple."""
        return replace(
            Case((f"?this {self.path} ?value FILTER({self.failure})",)).screen(self.focus), scan=self
        )

    def having(self, values: Iterable[Term]) -> Screen:
        """Return the screen for nodes with one of the values."""
        return Case((f"VALUES ?value {{ {' '.join(map(str, values))} }} ?this {self.path} ?value",)).screen(
            self.focus
        )


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes ?this for which all patterns in ``present`` and no pattern in ``missing`` have a solution.

    doubts  if one of these is refuted, a pattern in ``present`` has no solution.
    """

    present: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    def screen(self, focus: str) -> "Screen":
        """Return the screen for the nodes; ``focus`` is the pattern of the focus nodes."""
        missing = "".join(f" MINUS {{ {pattern} }}" for pattern in self.missing)
        # the engine hash-joins subqueries
        present = "".join(f" {{ SELECT ?this {{ {pattern} }} }}" for pattern in self.present)
        whole = f"SELECT DISTINCT ?this {{ {{ {focus} }}{present}{missing} }}"
        lack = (Lack("?this", present or focus, either(self.missing)),) if self.missing else ()
        return Screen(
            f"SELECT DISTINCT ?this {{{present}{missing} }}" if present else whole,
            whole,
            doubts=(*self.doubts, *lack),
        )


def screens(check: Check, writer: ExpressionWriter) -> list[Screen]:
    """Return screens that together find all suspects of the check.

    The list is empty if only the exact query finds them.
    """
    focus, path = check.focus.pattern(writer, "?this"), check.shape.path
    cases = _violations(check.constraint, path, writer)
    if cases is None and path is None and _simple(check.constraint):
        test = no(writer.accepts(check.constraint, "?this", "?this"))
        whole = f"SELECT DISTINCT ?this {{ {{ {focus} }} FILTER({test}) }}"
        return [Screen(whole, whole)]
    return [case.screen(focus) for case in cases or ()]


def scan(checks: Sequence[Check], writer: ExpressionWriter) -> Screen:
    """Return a screen for several checks of the values of one plain path at the same nodes."""
    failure = " || ".join(f"({no(writer.accepts(check.constraint, '?value', '?this'))})" for check in checks)
    return Scan(str(checks[0].shape.path), failure, checks[0].focus.pattern(writer, "?this")).screen()


def scannable(check: Check) -> bool:
    """Whether the check tests each value of a plain path independently of the graph."""
    path = check.shape.path
    return path is not None and path.plain and _simple(check.constraint)


def _simple(constraint: Constraint) -> bool:
    if about_focus(constraint) or constraint.kind in _NEEDS_GRAPH:
        return False
    return all(
        shape.path is None and not shape.properties and all(map(_simple, shape.constraints))
        for shape in constraint.shapes
    )


def _violations(constraint: Constraint, path: Path | None, writer: ExpressionWriter) -> list[Case] | None:
    """Return cases that cover all violations of the constraint; None if no screen covers them."""
    if path is None:
        return _node_violations(constraint, writer)
    make = _ON_ANY_PATH.get(constraint.kind) or (_ON_PLAIN_PATH.get(constraint.kind) if path.plain else None)
    if make is not None:
        return make(constraint, path, writer)
    if not path.plain or not _simple(constraint):
        return None
    value = writer.fresh()
    return [Case((f"?this {path} {value} FILTER({no(writer.accepts(constraint, value, '?this'))})",))]


def _too_few(constraint: Constraint, path: Path, writer: ExpressionWriter) -> list[Case] | None:
    """Return cases for nodes without a value at the path: its first step, or the rest, is missing."""
    if constraint.count != 1:
        return None
    first, *others = path.steps or (path,)
    cases = [Case((), (f"?this {first} {writer.fresh()}",))]
    if others:
        middle, rest = writer.fresh(), sequence(others)
        cases.append(_lacking(f"?this {first} {middle}", middle, f"{middle} {rest} {writer.fresh()}"))
    return cases


def _lacking(having: str, node: str, wanted: str) -> Case:
    """Return the case for nodes where ``having`` leads to a node that ``wanted`` does not yield."""
    return Case((f"{having} MINUS {{ {wanted} }}",), doubts=(Lack(node, having, wanted),))


def _too_many(constraint: Constraint, path: Path, writer: ExpressionWriter) -> list[Case] | None:
    value = writer.fresh()
    if constraint.count == 0:
        return [Case((f"?this {path} {value}",))]
    return [_repeated(f"?this {path} {value}", "", "?this", constraint.count)] if path.plain else None


def _unlike(constraint: Constraint, path: Path, _: ExpressionWriter) -> list[Case]:
    return [Case((), (f"?this {path} {constraint.terms[0]}",))]


def _one_language(_: Constraint, path: Path, writer: ExpressionWriter) -> list[Case]:
    value = writer.fresh()
    return [
        _repeated(
            f"?this {path} {value}",
            f' FILTER(LANG({value}) != "")',
            f"?this (LCASE(LANG({value})) AS {writer.fresh()})",
            1,
        )
    ]


def _repeated(pattern: str, condition: str, key: str, most: int) -> Case:
    """Return the case for nodes with more than ``most`` solutions of the pattern for one ``key``.

    condition  filter of the solutions that count.
    """
    grouped = f"{{ SELECT ?this {{ {pattern}{condition} }} GROUP BY {key} HAVING(COUNT(*) > {most}) }}"
    return Case((grouped,), doubts=(Repetition("?this", pattern),))


def _of_no_class(constraint: Constraint, path: Path, writer: ExpressionWriter) -> list[Case]:
    value = writer.fresh()
    return [_lacking(f"?this {path} {value}", value, writer.instances(value, *constraint.terms))]


def _shared(constraint: Constraint, path: Path, writer: ExpressionWriter) -> list[Case]:
    value = writer.fresh()
    return [Case((f"{_subquery(path, value)} {_subquery(constraint.terms[0], value)}",))]


def _not_before(constraint: Constraint, path: Path, writer: ExpressionWriter) -> list[Case]:
    value, other = writer.fresh(), writer.fresh()
    test = no(safe(f"{value} {'<' if constraint.kind == 'lessThan' else '<='} {other}"))
    return [Case((f"{_subquery(path, value)} {_subquery(constraint.terms[0], other)} FILTER({test})",))]


def _subquery(path: Path | Term, value: str) -> str:
    """Return a subquery, for which the engine uses a hash join instead of lookups."""
    return f"{{ SELECT ?this {value} {{ ?this {path} {value} }} }}"


_ON_ANY_PATH: Mapping[str, Callable[[Constraint, Path, ExpressionWriter], list[Case] | None]] = {
    "minCount": _too_few,
    "maxCount": _too_many,
    "qualifiedMaxCount": _too_many,
    "hasValue": _unlike,
}
_ON_PLAIN_PATH: Mapping[str, Callable[[Constraint, Path, ExpressionWriter], list[Case] | None]] = {
    "uniqueLang": _one_language,
    "class": _of_no_class,
    "disjoint": _shared,
    "lessThan": _not_before,
    "lessThanOrEquals": _not_before,
}


def _node_violations(constraint: Constraint, writer: ExpressionWriter) -> list[Case] | None:
    """Return the cases for a constraint on the node itself, as `_violations`."""
    match constraint.kind:
        case "class":
            return [Case((), (writer.instances("?this", *constraint.terms),))]
        case "and" | "node":
            return _either(_any_part(shape, writer) for shape in constraint.shapes)
        case "or":
            return _together([_any_part(shape, writer) for shape in constraint.shapes])
        case "not":
            return _fits(constraint.shapes[0], writer)
    return None


def _any_part(shape: Shape, writer: ExpressionWriter) -> list[Case] | None:
    """Return cases that cover all nodes that do not conform to the shape."""
    if not shape.active:
        return []
    parts = [_violations(constraint, shape.path, writer) for constraint in shape.constraints]
    if shape.path is None:
        parts += [_any_part(inner, writer) for inner in shape.properties]
    elif shape.properties:
        return None
    return _either(parts)


def _either(parts: Iterable[list[Case] | None]) -> list[Case] | None:
    cases: list[Case] = []
    for part in parts:
        if part is None:
            return None
        cases += part
    return cases


def _together(parts: list[list[Case] | None]) -> list[Case] | None:
    """Return cases for nodes that violate every part: those that violate all parts with screens."""
    screened = [part for part in parts if part is not None]
    cases = [
        Case(
            tuple(text for case in chosen for text in case.present),
            tuple(text for case in chosen for text in case.missing),
            tuple(doubt for case in chosen for doubt in case.doubts),
        )
        for chosen in product(*screened)
    ]
    return cases if screened and len(cases) <= _MOST_CASES else None


def _fits(shape: Shape, writer: ExpressionWriter) -> list[Case] | None:
    """Return cases that cover all nodes that conform to the shape: one requirement with a screen suffices."""
    parts = [shape] if shape.path is not None else shape.properties
    for part in (part for part in parts if shape.active and part.active):
        for constraint in part.constraints:
            if constraint.kind == "hasValue":
                return [Case((f"?this {part.path} {constraint.terms[0]}",))]
            if constraint.kind == "minCount" and constraint.count > 0:
                return [Case((f"?this {part.path} {writer.fresh()}",))]
    return None
