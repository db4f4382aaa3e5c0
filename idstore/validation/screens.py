"""Screens: quick queries that find every node that might break a constraint, and few others.

An exact query looks at each focus node by itself, which on a large store means millions of look-ups. A screen goes through whole
predicates instead: one scan for a test on values, a hash join where two predicates must agree, a grouped count. In sound data it finds
nothing, and what it does find is then looked at exactly, so a screen may suspect too much but never too little.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from idstore.validation.checks import Check
from idstore.validation.counts import Doubt, Lack, Repetition, either
from idstore.validation.expressions import Writer, about_focus
from idstore.validation.graph import Term
from idstore.validation.paths import Path, sequence
from idstore.validation.shape import Constraint, Shape
from idstore.validation.values import no, safe

_NEEDS_GRAPH = {"class", "closed", "disjoint", "lessThan", "lessThanOrEquals"}
_MOST_CASES = 8


@dataclass(frozen=True, slots=True)
class Screen:
    """A query for suspects.

    quick   goes through all nodes, whether they are checked or not.
    narrow  the same for the nodes that are checked; dearer, and only worth it where the quick one suspects many.
    scan    for a test of the values of a plain path: what it goes through.
    doubts  why there may be suspects: where one of these is unfounded, there are none.
    """

    quick: str
    narrow: str
    scan: "Scan | None" = None
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """A test of every value of a plain path.

    path   the path.
    bad    expression: whether ?value fails.
    focus  pattern of the nodes that are checked.
    """

    path: str
    bad: str
    focus: str

    @property
    def values(self) -> str:
        """The query for the different values, whoever has them."""
        return f"SELECT DISTINCT ?value {{ ?this {self.path} ?value }}"

    def failing(self, values: Iterable[Term]) -> str:
        """The query for those of the values that fail."""
        return f"SELECT ?value {{ VALUES ?value {{ {' '.join(map(str, values))} }} FILTER({self.bad}) }}"

    def screen(self) -> Screen:
        """The screen that tests the value of each triple."""
        return replace(Case((f"?this {self.path} ?value FILTER({self.bad})",)).screen(self.focus), scan=self)

    def having(self, values: Iterable[Term]) -> Screen:
        """The screen for nodes that have one of these values."""
        return Case((f"VALUES ?value {{ {' '.join(map(str, values))} }} ?this {self.path} ?value",)).screen(self.focus)


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes for which every pattern in ``found`` has a solution for ?this and none in ``missing``.

    doubts  where one of these is unfounded, a pattern in ``found`` has no solution.
    """

    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    def screen(self, focus: str) -> "Screen":
        """The queries for these nodes; ``focus`` is the pattern of the nodes that are checked."""
        missing = "".join(f" MINUS {{ {pattern} }}" for pattern in self.missing)
        near = "".join(f" {{ SELECT ?this {{ {pattern} }} }}" for pattern in self.found)  # subqueries are hash-joined
        whole = f"SELECT DISTINCT ?this {{ {{ {focus} }}{near}{missing} }}"
        lack = (Lack("?this", near or focus, either(self.missing)),) if self.missing else ()
        return Screen(f"SELECT DISTINCT ?this {{{near}{missing} }}" if near else whole, whole, doubts=(*self.doubts, *lack))


def screens(check: Check, writer: Writer) -> list[Screen]:
    """The screens that together find every node that may break the check; none if only the exact query can."""
    focus, path = check.focus.pattern(writer, "?this"), check.shape.path
    cases = _breaks(check.constraint, path, writer)
    if cases is None and path is None and _simple(check.constraint):
        whole = f"SELECT DISTINCT ?this {{ {{ {focus} }} FILTER({no(writer.accepts(check.constraint, '?this', '?this'))}) }}"
        return [Screen(whole, whole)]
    return [case.screen(focus) for case in cases or ()]


def scan(checks: Sequence[Check], writer: Writer) -> Screen:
    """One screen for all these checks, which test the values of one plain path at the same nodes."""
    bad = " || ".join(f"({no(writer.accepts(check.constraint, '?value', '?this'))})" for check in checks)
    return Scan(str(checks[0].shape.path), bad, checks[0].focus.pattern(writer, "?this")).screen()


def scannable(check: Check) -> bool:
    """Whether the check is a test on each value of a plain path that looks at nothing but the value."""
    path = check.shape.path
    return path is not None and path.plain and _simple(check.constraint)


def _simple(constraint: Constraint) -> bool:
    if about_focus(constraint) or constraint.kind in _NEEDS_GRAPH:
        return False
    return all(shape.path is None and not shape.properties and all(map(_simple, shape.constraints)) for shape in constraint.shapes)


def _breaks(constraint: Constraint, path: Path | None, writer: Writer) -> list[Case] | None:
    """Cases that cover every node with that path that breaks the constraint; None if they cannot be found so."""
    if path is None:
        return _breaks_here(constraint, writer)
    make = _ON_ANY_PATH.get(constraint.kind) or (_ON_PLAIN_PATH.get(constraint.kind) if path.plain else None)
    if make is not None:
        return make(constraint, path, writer)
    if not path.plain or not _simple(constraint):
        return None
    value = writer.fresh()
    return [Case((f"?this {path} {value} FILTER({no(writer.accepts(constraint, value, '?this'))})",))]


def _too_few(constraint: Constraint, path: Path, writer: Writer) -> list[Case] | None:
    """Nodes that may have no value at the path: the first step is missing, or what it leads to lacks the rest."""
    if constraint.count != 1:
        return None
    first, *others = path.steps or (path,)
    cases = [Case((), (f"?this {first} {writer.fresh()}",))]
    if others:
        middle, rest = writer.fresh(), sequence(others)
        cases.append(_lacking(f"?this {first} {middle}", middle, f"{middle} {rest} {writer.fresh()}"))
    return cases


def _lacking(having: str, node: str, wanted: str) -> Case:
    """Nodes that ``having`` leads to a node that ``wanted`` does not give."""
    return Case((f"{having} MINUS {{ {wanted} }}",), doubts=(Lack(node, having, wanted),))


def _too_many(constraint: Constraint, path: Path, writer: Writer) -> list[Case] | None:
    value = writer.fresh()
    if constraint.count == 0:
        return [Case((f"?this {path} {value}",))]
    return [_repeated(f"?this {path} {value}", "", "?this", constraint.count)] if path.plain else None


def _unlike(constraint: Constraint, path: Path, _: Writer) -> list[Case]:
    return [Case((), (f"?this {path} {constraint.terms[0]}",))]


def _one_language(_: Constraint, path: Path, writer: Writer) -> list[Case]:
    value = writer.fresh()
    return [_repeated(f"?this {path} {value}", f' FILTER(LANG({value}) != "")', f"?this (LCASE(LANG({value})) AS {writer.fresh()})", 1)]


def _repeated(pattern: str, such: str, key: str, most: int) -> Case:
    """Nodes that the pattern gives more than ``most`` times for one ``key``, of those solutions that pass the filter ``such``."""
    grouped = f"{{ SELECT ?this {{ {pattern}{such} }} GROUP BY {key} HAVING(COUNT(*) > {most}) }}"
    return Case((grouped,), doubts=(Repetition("?this", pattern),))


def _of_no_class(constraint: Constraint, path: Path, writer: Writer) -> list[Case]:
    value = writer.fresh()
    return [_lacking(f"?this {path} {value}", value, writer.instances(value, *constraint.terms))]


def _shared(constraint: Constraint, path: Path, writer: Writer) -> list[Case]:
    value = writer.fresh()
    return [Case((f"{_hashed(path, value)} {_hashed(constraint.terms[0], value)}",))]


def _not_before(constraint: Constraint, path: Path, writer: Writer) -> list[Case]:
    one, other = writer.fresh(), writer.fresh()
    test = no(safe(f"{one} {'<' if constraint.kind == 'lessThan' else '<='} {other}"))
    return [Case((f"{_hashed(path, one)} {_hashed(constraint.terms[0], other)} FILTER({test})",))]


def _hashed(path: Path | Term, value: str) -> str:
    """A subquery, so that the engine joins by hash and not by one look-up after the other."""
    return f"{{ SELECT ?this {value} {{ ?this {path} {value} }} }}"


_ON_ANY_PATH: Mapping[str, Callable[[Constraint, Path, Writer], list[Case] | None]] = {
    "minCount": _too_few,
    "maxCount": _too_many,
    "qualifiedMaxCount": _too_many,
    "hasValue": _unlike,
}
_ON_PLAIN_PATH: Mapping[str, Callable[[Constraint, Path, Writer], list[Case] | None]] = {
    "uniqueLang": _one_language,
    "class": _of_no_class,
    "disjoint": _shared,
    "lessThan": _not_before,
    "lessThanOrEquals": _not_before,
}


def _breaks_here(constraint: Constraint, writer: Writer) -> list[Case] | None:
    """The same for a constraint on the node itself."""
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


def _any_part(shape: Shape, writer: Writer) -> list[Case] | None:
    """Cases that cover every node that does not conform to the shape."""
    if not shape.active:
        return []
    parts = [_breaks(constraint, shape.path, writer) for constraint in shape.constraints]
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
    """Nodes that break every part: those that break the parts that can be screened."""
    known = [part for part in parts if part is not None]
    cases = [
        Case(
            tuple(text for case in chosen for text in case.found),
            tuple(text for case in chosen for text in case.missing),
            tuple(doubt for case in chosen for doubt in case.doubts),
        )
        for chosen in product(*known)
    ]
    return cases if known and len(cases) <= _MOST_CASES else None


def _fits(shape: Shape, writer: Writer) -> list[Case] | None:
    """Cases that cover every node that conforms to the shape: any one demand of it that can be looked up will do."""
    demands = [shape] if shape.path is not None else shape.properties
    for part in (part for part in demands if shape.active and part.active):
        for constraint in part.constraints:
            if constraint.kind == "hasValue":
                return [Case((f"?this {part.path} {constraint.terms[0]}",))]
            if constraint.kind == "minCount" and constraint.count > 0:
                return [Case((f"?this {part.path} {writer.fresh()}",))]
    return None
