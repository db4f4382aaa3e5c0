"""Shapes compiled to SPARQL: a whole store is checked by some dozens of queries, however many identifiers it holds.

Covers SHACL Core but paths that may lead nowhere (``*``, ``?``), ``sh:qualifiedValueShapesDisjoint``, shapes that refer to themselves,
patterns that the engine does not know, and datatypes whose texts SPARQL cannot test. What is not covered is refused with `UnsupportedShapes`;
nothing is passed over in silence.

The engine keeps numbers, booleans and dates by their value, so patterns, lengths and findings see the form that it writes: ``1.5`` for
``1.50``.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from idstore.errors import UnsupportedShapes
from idstore.progress import Meter, Progress, unwatched
from idstore.validation import reader
from idstore.validation.checks import Check, Focus, checks, namable, these
from idstore.validation.expressions import Writer
from idstore.validation.graph import Graph, Term, hierarchy
from idstore.validation.report import Finding, Report, report
from idstore.validation.screens import Screen, scan, scannable, screens
from idstore.validation.shapes import Shapes
from idstore.validation.source import Source
from idstore.validation.suspects import Search
from idstore.vocabulary import RDFS

Pairs = tuple[tuple[Term, Term], ...]

_AT_ONCE = 1000
"""Nodes that one exact query looks at. A check with no more focus nodes than that needs no screen."""


@dataclass(frozen=True, slots=True)
class Step:
    """Checks with the screens that find their suspects. Without screens every focus node is one."""

    checks: tuple[Check, ...]
    screens: tuple[Screen, ...]


@lru_cache(maxsize=16)
def compiled(shapes: Shapes) -> tuple[Pairs, tuple[Check, ...]]:
    """The class hierarchy and the checks of these shapes. Raises MalformedShapes, UnsupportedShapes."""
    graph = Graph(shapes.triples)
    pairs, found = hierarchy(graph), tuple(checks(reader.shapes(graph)))
    for check in found:
        check.exact(Writer(pairs), "")  # what cannot be written shows here, not in the middle of a run
    return pairs, found


def covers(shapes: Shapes) -> bool:
    """Whether these shapes can be compiled. Raises MalformedShapes."""
    try:
        compiled(shapes)
    except UnsupportedShapes:
        return False
    return True


def run(source: Source, shapes: Shapes, limit: int, among: Collection[Term] | None = None, progress: Progress = unwatched) -> Report:
    """Check the source against the shapes; at most ``limit`` findings are collected.

    among  check these nodes only, none of them a blank one.
    Raises MalformedShapes, UnsupportedShapes.
    Cost: a few sequential passes over each predicate that the shapes speak of, and some 10 µs for each suspect.
    """
    above, checked = compiled(shapes)
    found: list[Finding] = []
    going = _Run(source, (*above, *_subclasses(source)), progress)
    for finding in going.findings(checked) if among is None else going.among(checked, sorted(among, key=str)):
        if len(found) >= limit:
            return report(found, complete=False)
        found.append(finding)
    return report(found)


def _subclasses(source: Source) -> list[tuple[Term, Term]]:
    rows = source.rows(f"SELECT DISTINCT ?lower ?upper {{ ?lower {RDFS.subClassOf} ?upper }}")
    return [(lower, upper) for lower, upper in rows if lower is not None and upper is not None]


class _Run:
    """One source checked once."""

    def __init__(self, source: Source, pairs: Pairs, progress: Progress) -> None:
        self._source = source
        self._pairs = pairs
        self._progress = progress
        self._search = Search(source, _AT_ONCE, progress)

    def findings(self, checked: Iterable[Check]) -> Iterator[Finding]:
        """Every finding; a check with few focus nodes looks at these, the others at what their screens suspect."""
        screened: list[Check] = []
        for focus, group in self._foci(checked):
            nodes = self._first(focus)
            if len(nodes) > _AT_ONCE or not namable(nodes):
                screened += group
            elif nodes:
                for check in group:
                    yield from self._exact(check, self._writer(), these(nodes))
        yield from self._screened(list(self._steps(screened)))

    def among(self, checked: Iterable[Check], nodes: Sequence[Term]) -> Iterator[Finding]:
        """Every finding at these nodes. Which of them are focus nodes is asked once for each focus, not for each check."""
        for focus, group in self._foci(checked):
            found = [node for part in _parts(nodes) for node in sorted(self._included(focus, part), key=str)]
            for check in group:
                for part in _parts(found):  # focus nodes all of them: nothing is left to filter
                    yield from self._exact(check, self._writer(), these(part))

    def _foci(self, checked: Iterable[Check]) -> Iterator[tuple[Focus, list[Check]]]:
        groups = _by_focus(checked)
        return Meter(self._progress, "looking for what the shapes are about", len(groups)).over(groups.items())

    def _included(self, focus: Focus, nodes: Sequence[Term]) -> set[Term]:
        return self._search.nodes(f"SELECT DISTINCT ?this {{ {focus.among(self._writer(), nodes)} }}")

    def _first(self, focus: Focus) -> set[Term]:
        """The focus nodes, counted no further than need be."""
        return self._search.nodes(f"SELECT DISTINCT ?this {{ {focus.pattern(self._writer(), '?this')} }} LIMIT {_AT_ONCE + 1}")

    def _steps(self, checked: Iterable[Check]) -> Iterator[Step]:
        alike: dict[tuple[Focus, str], list[Check]] = {}
        for check in checked:
            if scannable(check):
                alike.setdefault((check.focus, str(check.shape.path)), []).append(check)
            else:
                yield Step((check,), tuple(screens(check, self._writer())))
        for group in alike.values():
            yield Step(tuple(group), (scan(group, self._writer()),))

    def _screened(self, steps: Sequence[Step]) -> Iterator[Finding]:
        suspects = self._search.suspects(screen for step in steps for screen in step.screens)
        for step in Meter(self._progress, "checking suspects", len(steps)).over(steps):
            nodes = sorted(set().union(*(suspects[screen] for screen in step.screens)), key=str)
            for check in step.checks:
                if not step.screens or not namable(nodes):
                    yield from self._everywhere(check)
                else:
                    yield from self._among(check, nodes)

    def _everywhere(self, check: Check) -> Iterator[Finding]:
        writer = self._writer()
        return self._exact(check, writer, check.focus.pattern(writer, "?this"))

    def _among(self, check: Check, nodes: Sequence[Term]) -> Iterator[Finding]:
        for part in _parts(nodes):
            writer = self._writer()
            yield from self._exact(check, writer, check.focus.among(writer, part))

    def _exact(self, check: Check, writer: Writer, start: str) -> Iterator[Finding]:
        return map(check.finding, self._source.rows(check.exact(writer, start)))

    def _writer(self) -> Writer:
        return Writer(self._pairs)


def _by_focus(checked: Iterable[Check]) -> dict[Focus, list[Check]]:
    """The checks of each focus."""
    found: dict[Focus, list[Check]] = {}
    for check in checked:
        found.setdefault(check.focus, []).append(check)
    return found


def _parts(nodes: Sequence[Term]) -> Iterator[Sequence[Term]]:
    """So many at a time as one query looks at."""
    return (nodes[start : start + _AT_ONCE] for start in range(0, len(nodes), _AT_ONCE))
