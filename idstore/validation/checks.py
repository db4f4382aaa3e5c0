"""Checks: a constraint of a shape with its focus nodes, and the query that finds its violations exactly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import BlankNode, Triple

from idstore.validation.expressions import ExpressionWriter, about_focus
from idstore.validation.graph import Term
from idstore.validation.paths import Path
from idstore.validation.report import ValidationResult
from idstore.validation.shape import Constraint, Shape, Target
from idstore.validation.values import no

Row = Sequence[Term | None]


@dataclass(frozen=True, slots=True)
class Focus:
    """A set of focus nodes.

    targets  the initial nodes.
    paths    paths from there to the focus nodes: a nested property shape checks the values of the outer one.
    """

    targets: tuple[Target, ...]
    paths: tuple[Path, ...] = ()

    def pattern(self, writer: ExpressionWriter, node: str) -> str:
        """Return a pattern that binds the focus nodes to the variable ``node``, each at least once."""
        return " UNION ".join(f"{{ {pattern} }}" for pattern in self._patterns(writer, node))

    def _patterns(self, writer: ExpressionWriter, node: str) -> list[str]:
        names = [*(writer.fresh() for _ in self.paths), node]
        steps = "".join(
            f" {here} {path} {there} ."
            for here, path, there in zip(names, self.paths, names[1:], strict=False)
        )
        return [start + steps for start in writer.starts(self.targets, names[0])]

    def among(self, writer: ExpressionWriter, nodes: Iterable[Term]) -> str:
        """Return a pattern for the nodes that are focus nodes."""
        return f"{values_clause(nodes)} FILTER({self.includes(writer)})"

    def includes(self, writer: ExpressionWriter) -> str:
        """Return an expression that tests whether ?this is a focus node."""
        return " || ".join(f"EXISTS {{ {pattern} }}" for pattern in self._patterns(writer, "?this"))


@dataclass(frozen=True, slots=True)
class Check:
    """A constraint of a shape, with its focus nodes."""

    shape: Shape
    constraint: Constraint
    focus: Focus

    def exact(self, writer: ExpressionWriter, start: str) -> str:
        """Return the query for all violations at the nodes that the pattern ``start`` binds to ?this.

        The columns are ?this, then ?value and ?path if they apply.
        """
        return _query(self, writer, f"{{ {start} }}")

    def finding(self, row: Row) -> ValidationResult:
        """Return the finding for a row of the exact query."""
        focus = row[0]
        assert focus is not None
        constraint, path = self.constraint, self.shape.path
        value = row[1] if len(row) > 1 else focus if path is None and not about_focus(constraint) else None
        at = str(row[2]) if len(row) > 2 else None if path is None else path.text  # noqa: PLR2004
        return ValidationResult(
            focus,
            at,
            value,
            self.shape.iri,
            self.shape.name,
            constraint.kind,
            self.shape.message or constraint.words,
            self.shape.severity,
        )


def checks(shapes: Iterable[Shape]) -> list[Check]:
    """Return all checks of the shapes."""
    return [check for shape in shapes for check in _below(shape, Focus(shape.targets))]


def _below(shape: Shape, focus: Focus) -> Iterator[Check]:
    if not shape.active:
        return
    for constraint in shape.constraints:
        yield Check(shape, constraint, focus)
    inner = focus if shape.path is None else Focus(focus.targets, (*focus.paths, shape.path))
    for part in shape.properties:
        yield from _below(part, inner)


def values_clause(nodes: Iterable[Term]) -> str:
    """Return a VALUES pattern that binds the nodes to ?this.

    A query cannot name blank nodes: see `namable`.
    """
    return f"VALUES ?this {{ {' '.join(map(str, nodes))} }}"


def namable(nodes: Iterable[Term]) -> bool:
    """Whether a query can name all of the nodes: they are IRIs and literals."""
    return not any(isinstance(node, BlankNode | Triple) for node in nodes)


def _query(check: Check, writer: ExpressionWriter, start: str) -> str:
    constraint, path = check.constraint, check.shape.path
    if path is not None and constraint.kind in {
        "minCount",
        "maxCount",
        "qualifiedMinCount",
        "qualifiedMaxCount",
    }:
        return _counting(constraint, path, writer, start)
    if constraint.kind == "closed":
        allowed = ", ".join(map(str, constraint.terms))
        steps, node = ("", "?this") if path is None else (f"?this {path} ?node . ", "?node")
        test = f"FILTER(?path NOT IN ({allowed}))"
        return f"SELECT DISTINCT ?this ?value ?path {{ {start} {steps}{node} ?path ?value {test} }}"
    if constraint.kind == "equals":
        return _difference(constraint.terms[0], path, start)
    if about_focus(constraint):
        return f"SELECT DISTINCT ?this {{ {start} FILTER({no(writer.holds(constraint, path, '?this'))}) }}"
    if path is None:
        return (
            f"SELECT DISTINCT ?this {{ {start} FILTER({no(writer.accepts(constraint, '?this', '?this'))}) }}"
        )
    test = no(writer.accepts(constraint, "?value", "?this"))
    return f"SELECT DISTINCT ?this ?value {{ {start} ?this {path} ?value FILTER({test}) }}"


def _counting(constraint: Constraint, path: Path, writer: ExpressionWriter, start: str) -> str:
    test = f" FILTER({writer.conforms(constraint.shapes[0], '?value')})" if constraint.shapes else ""
    sign = "<" if constraint.kind.endswith("MinCount") or constraint.kind == "minCount" else ">"
    if sign == "<" and constraint.count == 1:
        return f"SELECT DISTINCT ?this {{ {start} FILTER NOT EXISTS {{ ?this {path} ?value{test} }} }}"
    values = f"OPTIONAL {{ ?this {path} ?value{test} }}"
    having = f"COUNT(DISTINCT ?value) {sign} {constraint.count}"
    return f"SELECT ?this {{ {start} {values} }} GROUP BY ?this HAVING({having})"


def _difference(term: Term, path: Path | None, start: str) -> str:
    if path is None:
        missing = f"FILTER NOT EXISTS {{ ?this {term} ?this }} BIND(?this AS ?value)"
        more = f"?this {term} ?value FILTER(!sameTerm(?this, ?value))"
    else:
        missing = f"?this {path} ?value FILTER NOT EXISTS {{ ?this {term} ?value }}"
        more = f"?this {term} ?value FILTER NOT EXISTS {{ ?this {path} ?value }}"
    return f"SELECT DISTINCT ?this ?value {{ {{ {start} {missing} }} UNION {{ {start} {more} }} }}"
