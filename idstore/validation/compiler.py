"""Compilation of shapes to SPARQL: some dozens of queries check a store of any size.

It covers SHACL Core except paths of length zero (``*``, ``?``), ``sh:qualifiedValueShapesDisjoint``,
recursive shapes, patterns that the engine does not support, and datatypes whose lexical forms SPARQL cannot
test. It refuses what it does not cover with `UnsupportedShapes` and ignores nothing silently.

The engine stores numbers, booleans and dates by value, so patterns, lengths and findings use its canonical
form: ``1.5`` for ``1.50``.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from idstore.errors import UnsupportedShapes
from idstore.progress import Meter, Progress, unwatched
from idstore.validation import reader
from idstore.validation.checks import Check, Focus, checks, namable, values_clause
from idstore.validation.expressions import ExpressionWriter
from idstore.validation.graph import Graph, Term, hierarchy
from idstore.validation.report import ValidationReport, ValidationResult, report
from idstore.validation.screens import Screen, scan, scannable, screens
from idstore.validation.shape import Target
from idstore.validation.shapes import Shapes
from idstore.validation.source import QuadSource
from idstore.validation.suspects import Search
from idstore.vocabulary import RDFS, SHARED_SPACES

Pairs = tuple[tuple[Term, Term], ...]

_AT_ONCE = 1000
"""Maximum number of nodes in an exact query. A check with no more focus nodes needs no screen."""


@dataclass(frozen=True, slots=True)
class CheckStep:
    """Checks with the screens that find their suspects. Without screens every focus node is a suspect."""

    checks: tuple[Check, ...]
    screens: tuple[Screen, ...]


@lru_cache(maxsize=16)
def compiled(shapes: Shapes) -> tuple[Pairs, tuple[Check, ...]]:
    """Return the class hierarchy and the checks of the shapes. Raises MalformedShapes, UnsupportedShapes."""
    graph = Graph(shapes.triples)
    pairs, compiled_checks = hierarchy(graph), tuple(checks(reader.shapes(graph)))
    for check in compiled_checks:
        check.exact(
            ExpressionWriter(pairs), ""
        )  # raises the error for an unsupported check before a run begins
    return pairs, compiled_checks


def covers(shapes: Shapes) -> bool:
    """Whether the shapes can be compiled. Raises MalformedShapes."""
    try:
        compiled(shapes)
    except UnsupportedShapes:
        return False
    return True


def applies(source: QuadSource, shapes: Shapes) -> bool:
    """Whether the data hold a node that a class or a property of the shapes targets.

    A target that is a term of a shared vocabulary, such as ``rdf:subject``, says nothing: other data use it
    with another meaning.
    """
    graph = Graph(shapes.triples)
    writer = ExpressionWriter((*hierarchy(graph), *_subclasses(source)))
    targets = [
        Target(kind, term)
        for kind, predicate in reader.TARGETS_IN_DATA.items()
        for _, term in graph.pairs(predicate)
        if not str(term).removeprefix("<").startswith(SHARED_SPACES)
    ]
    patterns = " UNION ".join(f"{{ {pattern} }}" for pattern in writer.starts(targets, "?this"))
    return any(source.rows(f"SELECT ?this {{ {patterns} }} LIMIT 1"))


def run(
    source: QuadSource,
    shapes: Shapes,
    limit: int,
    among: Collection[Term] | None = None,
    progress: Progress = unwatched,
) -> ValidationReport:
    """Check the source against the shapes, up to ``limit`` findings.

    among  check only these nodes, without blank nodes.

    Raises MalformedShapes, UnsupportedShapes.
    Cost: a few sequential passes over each predicate in the shapes, and some 10 µs for each suspect.
    """
    pairs, compiled_checks = compiled(shapes)
    findings: list[ValidationResult] = []
    validation = _Run(source, (*pairs, *_subclasses(source)), progress)
    for finding in (
        validation.findings(compiled_checks)
        if among is None
        else validation.among(compiled_checks, sorted(among, key=str))
    ):
        if len(findings) >= limit:
            return report(findings, complete=False)
        findings.append(finding)
    return report(findings)


def _subclasses(source: QuadSource) -> list[tuple[Term, Term]]:
    rows = source.rows(f"SELECT DISTINCT ?lower ?upper {{ ?lower {RDFS.subClassOf} ?upper }}")
    return [(lower, upper) for lower, upper in rows if lower is not None and upper is not None]


class _Run:
    """One validation of a source."""

    def __init__(self, source: QuadSource, pairs: Pairs, progress: Progress) -> None:
        self._source = source
        self._pairs = pairs
        self._progress = progress
        self._search = Search(source, _AT_ONCE, progress)

    def findings(self, checked: Iterable[Check]) -> Iterator[ValidationResult]:
        """Yield all findings.

        A check with few focus nodes tests these, another the suspects of its screens.
        """
        screened: list[Check] = []
        for focus, group in self._foci(checked):
            nodes = self._some_nodes(focus)
            if len(nodes) > _AT_ONCE or not namable(nodes):
                screened += group
            elif nodes:
                for check in group:
                    yield from self._exact(check, self._writer(), values_clause(nodes))
        yield from self._screened(list(self._steps(screened)))

    def among(self, checked: Iterable[Check], nodes: Sequence[Term]) -> Iterator[ValidationResult]:
        """Yield all findings at the nodes.

        One query for each focus, not for each check, selects the focus nodes.
        """
        for focus, group in self._foci(checked):
            included = [
                node for part in _parts(nodes) for node in sorted(self._included(focus, part), key=str)
            ]
            for check in group:
                for part in _parts(included):  # all of them are focus nodes, so no filter is necessary
                    yield from self._exact(check, self._writer(), values_clause(part))

    def _foci(self, checked: Iterable[Check]) -> Iterator[tuple[Focus, list[Check]]]:
        groups = _by_focus(checked)
        return Meter(self._progress, "looking for what the shapes are about", len(groups)).over(
            groups.items()
        )

    def _included(self, focus: Focus, nodes: Sequence[Term]) -> set[Term]:
        return self._search.nodes(f"SELECT DISTINCT ?this {{ {focus.among(self._writer(), nodes)} }}")

    def _some_nodes(self, focus: Focus) -> set[Term]:
        """Return the focus nodes, or one more than an exact query may have."""
        return self._search.nodes(
            f"SELECT DISTINCT ?this {{ {focus.pattern(self._writer(), '?this')} }} LIMIT {_AT_ONCE + 1}"
        )

    def _steps(self, checked: Iterable[Check]) -> Iterator[CheckStep]:
        by_path: dict[tuple[Focus, str], list[Check]] = {}
        for check in checked:
            if scannable(check):
                by_path.setdefault((check.focus, str(check.shape.path)), []).append(check)
            else:
                yield CheckStep((check,), tuple(screens(check, self._writer())))
        for group in by_path.values():
            yield CheckStep(tuple(group), (scan(group, self._writer()),))

    def _screened(self, steps: Sequence[CheckStep]) -> Iterator[ValidationResult]:
        suspects = self._search.suspects(screen for step in steps for screen in step.screens)
        for step in Meter(self._progress, "checking suspects", len(steps)).over(steps):
            nodes = sorted(set().union(*(suspects[screen] for screen in step.screens)), key=str)
            for check in step.checks:
                if not step.screens or not namable(nodes):
                    yield from self._everywhere(check)
                else:
                    yield from self._among(check, nodes)

    def _everywhere(self, check: Check) -> Iterator[ValidationResult]:
        writer = self._writer()
        return self._exact(check, writer, check.focus.pattern(writer, "?this"))

    def _among(self, check: Check, nodes: Sequence[Term]) -> Iterator[ValidationResult]:
        for part in _parts(nodes):
            writer = self._writer()
            yield from self._exact(check, writer, check.focus.among(writer, part))

    def _exact(self, check: Check, writer: ExpressionWriter, start: str) -> Iterator[ValidationResult]:
        return map(check.finding, self._source.rows(check.exact(writer, start)))

    def _writer(self) -> ExpressionWriter:
        return ExpressionWriter(self._pairs)


def _by_focus(checked: Iterable[Check]) -> dict[Focus, list[Check]]:
    """Return the checks of each focus."""
    groups: dict[Focus, list[Check]] = {}
    for check in checked:
        groups.setdefault(check.focus, []).append(check)
    return groups


def _parts(nodes: Sequence[Term]) -> Iterator[Sequence[Term]]:
    """Return the nodes in parts for one query each."""
    return (nodes[start : start + _AT_ONCE] for start in range(0, len(nodes), _AT_ONCE))
