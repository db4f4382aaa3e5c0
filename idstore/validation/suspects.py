"""Execution of screens over a source, with few and cheap queries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyoxigraph import Literal

from idstore.progress import Meter, Progress
from idstore.validation.checks import namable
from idstore.validation.counts import Count, refuted
from idstore.validation.graph import Term
from idstore.validation.screens import Screen
from idstore.validation.source import QuadSource

Answer = TypeVar("Answer")


class Search:
    """A search for suspects in a source.

    few  maximum number of nodes or values in a single exact query.
    """

    def __init__(self, source: QuadSource, few: int, progress: Progress) -> None:
        self._source = source
        self._few = few
        self._progress = progress

    def suspects(self, screens: Iterable[Screen]) -> dict[Screen, set[Term]]:
        """Return the suspects of each screen."""
        distinct = list(dict.fromkeys(screens))
        values = self._at_once(
            "looking at values", self._some, (screen.scan.values for screen in distinct if screen.scan)
        )
        reduced = {screen: self._reduced(screen, values) for screen in distinct}
        results = self._results(list(dict.fromkeys(use for use in reduced.values() if use)))
        return {screen: results[use] if use else set() for screen, use in reduced.items()}

    def _reduced(self, screen: Screen, values: Mapping[str, set[Term]]) -> Screen | None:
        """Return a cheaper screen, for the invalid values alone, if there are few values.

        The result is None if all of these are valid, and the screen itself if there are many values.
        """
        present = values[screen.scan.values] if screen.scan else set()
        if screen.scan is None or len(present) > self._few or not namable(present):
            return screen
        failing = self.nodes(screen.scan.failing(present))
        return screen.scan.having(failing) if failing else None

    def _results(self, screens: Sequence[Screen]) -> dict[Screen, set[Term]]:
        """Return the results of screens.

        Joins run only if counts leave a doubt, one at a time because of their memory.
        """
        refutations = refuted((doubt for screen in screens for doubt in screen.doubts), self._counts)
        results = self._at_once(
            "looking for suspects", self._some, (screen.quick for screen in screens if not screen.doubts)
        )
        joins = (
            screen.quick
            for screen in screens
            if screen.doubts and not refutations.intersection(screen.doubts)
        )
        results |= self._at_once(
            "looking for suspects by joins", self._some, (text for text in joins if text not in results), 1
        )
        crowded = {screen for screen in screens if len(results.get(screen.quick, ())) > self._few}
        narrow = self._at_once("narrowing down", self.nodes, (screen.narrow for screen in crowded), 1)
        return {
            screen: narrow[screen.narrow] if screen in crowded else results.get(screen.quick, set())
            for screen in screens
        }

    def _counts(self, queries: Iterable[str]) -> Mapping[str, Count]:
        return self._at_once("counting", self._count, queries)

    def _count(self, query: str) -> Count:
        ((rows, nodes),) = self._source.rows(query)
        assert isinstance(rows, Literal) and isinstance(nodes, Literal)
        return int(rows.value), int(nodes.value)

    def _some(self, query: str) -> set[Term]:
        return self.nodes(f"{query} LIMIT {self._few + 1}")

    def nodes(self, query: str) -> set[Term]:
        """Return the first column of the result."""
        return {row[0] for row in self._source.rows(query) if row[0] is not None}

    def _at_once(
        self, what: str, ask: Callable[[str], Answer], queries: Iterable[str], most: int | None = None
    ) -> dict[str, Answer]:
        """Return the answers. If the source allows it, several queries run at a time, ``most`` at most.

        Memory that a thread frees is reused by other threads only, so a source with threads always uses them.
        """
        texts = list(dict.fromkeys(queries))
        meter = Meter(self._progress, what, len(texts))
        if self._source.threads == 1:
            return {text: ask(text) for text in meter.over(texts)}
        with ThreadPoolExecutor(most or self._source.threads) as pool:
            return dict(zip(texts, meter.over(pool.map(ask, texts)), strict=True))
