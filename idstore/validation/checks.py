"""From shapes to checks, and from a check to the query that finds its breaches exactly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyoxigraph import BlankNode

from idstore.validation.expressions import Writer, about_focus
from idstore.validation.graph import Term
from idstore.validation.paths import Path
from idstore.validation.report import Finding
from idstore.validation.shape import Constraint, Shape, Target
from idstore.validation.values import no

Row = Sequence[Term | None]


@dataclass(frozen=True, slots=True)
class Focus:
    """Which nodes are checked.

    targets  where to begin.
    way      how to go on from there: a property shape inside another one checks that one's values.
    """

    targets: tuple[Target, ...]
    way: tuple[Path, ...] = ()

    def pattern(self, writer: Writer, node: str) -> str:
        """Pattern whose solutions for the variable ``node`` are the focus nodes, each at least once."""
        return " UNION ".join(f"{{ {ways} }}" for ways in self._ways(writer, node))

    def _ways(self, writer: Writer, node: str) -> list[str]:
        names = [*(writer.fresh() for _ in self.way), node]
        steps = "".join(f" {here} {path} {there} ." for here, path, there in zip(names, self.way, names[1:], strict=False))
        return [start + steps for start in writer.starts(self.targets, names[0])]

    def among(self, writer: Writer, nodes: Iterable[Term]) -> str:
        """Pattern for those of the nodes that are focus nodes."""
        return f"{these(nodes)} FILTER({self.includes(writer)})"

    def includes(self, writer: Writer) -> str:
        """Expression: whether ?this is a focus node."""
        return " || ".join(f"EXISTS {{ {ways} }}" for ways in self._ways(writer, "?this"))


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint of one shape, for the nodes that it is checked on."""

    shape: Shape
    constraint: Constraint
    focus: Focus

    def exact(self, writer: Writer, start: str) -> str:
        """The query for every breach at the nodes that the pattern ``start`` gives for ?this.

        Its columns: ?this, then ?value and ?path as far as they apply.
        """
        return _query(self, writer, f"{{ {start} }}")

    def finding(self, row: Row) -> Finding:
        """The finding that a row of the exact query stands for."""
        focus = row[0]
        assert focus is not None
        constraint, path = self.constraint, self.shape.path
        value = row[1] if len(row) > 1 else focus if path is None and not about_focus(constraint) else None
        at = str(row[2]) if len(row) > 2 else None if path is None else path.text  # noqa: PLR2004
        return Finding(
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
    """Every check that these shapes ask for."""
    return [check for shape in shapes for check in _below(shape, Focus(shape.targets))]


def _below(shape: Shape, focus: Focus) -> Iterator[Check]:
    if not shape.active:
        return
    for constraint in shape.constraints:
        yield Check(shape, constraint, focus)
    inner = focus if shape.path is None else Focus(focus.targets, (*focus.way, shape.path))
    for part in shape.properties:
        yield from _below(part, inner)


def these(nodes: Iterable[Term]) -> str:
    """Pattern that gives these nodes for ?this. Blank nodes cannot be named in a query: see `namable`."""
    return f"VALUES ?this {{ {' '.join(map(str, nodes))} }}"


def namable(nodes: Iterable[Term]) -> bool:
    """Whether a query can name all of these nodes."""
    return not any(isinstance(node, BlankNode) for node in nodes)


def _query(check: Check, writer: Writer, start: str) -> str:
    constraint, path = check.constraint, check.shape.path
    if path is not None and constraint.kind in {"minCount", "maxCount", "qualifiedMinCount", "qualifiedMaxCount"}:
        return _counting(constraint, path, writer, start)
    if constraint.kind == "closed":
        allowed = ", ".join(map(str, constraint.terms))
        way, node = ("", "?this") if path is None else (f"?this {path} ?node . ", "?node")
        return f"SELECT DISTINCT ?this ?value ?path {{ {start} {way}{node} ?path ?value FILTER(?path NOT IN ({allowed})) }}"
    if constraint.kind == "equals":
        return _difference(constraint.terms[0], path, start)
    if about_focus(constraint):
        return f"SELECT DISTINCT ?this {{ {start} FILTER({no(writer.holds(constraint, path, '?this'))}) }}"
    if path is None:
        return f"SELECT DISTINCT ?this {{ {start} FILTER({no(writer.accepts(constraint, '?this', '?this'))}) }}"
    return f"SELECT DISTINCT ?this ?value {{ {start} ?this {path} ?value FILTER({no(writer.accepts(constraint, '?value', '?this'))}) }}"


def _counting(constraint: Constraint, path: Path, writer: Writer, start: str) -> str:
    test = f" FILTER({writer.conforms(constraint.shapes[0], '?value')})" if constraint.shapes else ""
    sign = "<" if constraint.kind.endswith("MinCount") or constraint.kind == "minCount" else ">"
    if sign == "<" and constraint.count == 1:
        return f"SELECT DISTINCT ?this {{ {start} FILTER NOT EXISTS {{ ?this {path} ?value{test} }} }}"
    values = f"OPTIONAL {{ ?this {path} ?value{test} }}"
    return f"SELECT ?this {{ {start} {values} }} GROUP BY ?this HAVING(COUNT(DISTINCT ?value) {sign} {constraint.count})"


def _difference(term: Term, path: Path | None, start: str) -> str:
    if path is None:
        missing = f"FILTER NOT EXISTS {{ ?this {term} ?this }} BIND(?this AS ?value)"
        more = f"?this {term} ?value FILTER(!sameTerm(?this, ?value))"
    else:
        missing = f"?this {path} ?value FILTER NOT EXISTS {{ ?this {term} ?value }}"
        more = f"?this {term} ?value FILTER NOT EXISTS {{ ?this {path} ?value }}"
    return f"SELECT DISTINCT ?this ?value {{ {{ {start} {missing} }} UNION {{ {start} {more} }} }}"
