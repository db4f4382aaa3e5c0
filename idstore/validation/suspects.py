"""Running screens: which nodes of a source they suspect, in as few and as cheap queries as will do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyoxigraph import Literal

from idstore.progress import Meter, Progress
from idstore.validation.checks import namable
from idstore.validation.counts import Count, settled
from idstore.validation.graph import Term
from idstore.validation.screens import Screen
from idstore.validation.source import Source

Answer = TypeVar("Answer")


class Search:
    """The suspects in one source; many are more than ``few``."""

    def __init__(self, source: Source, few: int, progress: Progress) -> None:
        self._source = source
        self._few = few
        self._progress = progress

    def suspects(self, found: Iterable[Screen]) -> dict[Screen, set[Term]]:
        """What each of the screens finds."""
        screens = list(dict.fromkeys(found))
        values = self._at_once("looking at values", self._some, (screen.scan.values for screen in screens if screen.scan))
        sharp = {screen: self._sharpened(screen, values) for screen in screens}
        known = self._found(list(dict.fromkeys(use for use in sharp.values() if use)))
        return {screen: known[use] if use else set() for screen, use in sharp.items()}

    def _sharpened(self, screen: Screen, values: Mapping[str, set[Term]]) -> Screen | None:
        """The screen, or one for the few values that fail where there are few values at all; None if none of those fails."""
        known = values[screen.scan.values] if screen.scan else set()
        if screen.scan is None or len(known) > self._few or not namable(known):
            return screen
        failing = self.nodes(screen.scan.failing(known))
        return screen.scan.having(failing) if failing else None

    def _found(self, screens: Sequence[Screen]) -> dict[Screen, set[Term]]:
        """Those that join are asked only where counts leave a doubt, and one after the other for their memory."""
        unfounded = settled((doubt for screen in screens for doubt in screen.doubts), self._counts)
        found = self._at_once("looking for suspects", self._some, (screen.quick for screen in screens if not screen.doubts))
        joins = (screen.quick for screen in screens if screen.doubts and not unfounded.intersection(screen.doubts))
        found |= self._at_once("looking for suspects by joins", self._some, (text for text in joins if text not in found), 1)
        crowded = {screen for screen in screens if len(found.get(screen.quick, ())) > self._few}
        narrow = self._at_once("narrowing down", self.nodes, (screen.narrow for screen in crowded), 1)
        return {screen: narrow[screen.narrow] if screen in crowded else found.get(screen.quick, set()) for screen in screens}

    def _counts(self, queries: Iterable[str]) -> Mapping[str, Count]:
        return self._at_once("counting", self._count, queries)

    def _count(self, query: str) -> Count:
        ((rows, nodes),) = self._source.rows(query)
        assert isinstance(rows, Literal) and isinstance(nodes, Literal)
        return int(rows.value), int(nodes.value)

    def _some(self, query: str) -> set[Term]:
        return self.nodes(f"{query} LIMIT {self._few + 1}")

    def nodes(self, query: str) -> set[Term]:
        """The first column."""
        return {row[0] for row in self._source.rows(query) if row[0] is not None}

    def _at_once(self, what: str, ask: Callable[[str], Answer], queries: Iterable[str], most: int | None = None) -> dict[str, Answer]:
        """The answers; several at a time, ``most`` if given, if the source allows it.

        What threads give back is memory for other threads, not for this one: if any are used, they are always used.
        """
        texts = list(dict.fromkeys(queries))
        meter = Meter(self._progress, what, len(texts))
        if self._source.threads == 1:
            return {text: ask(text) for text in meter.over(texts)}
        with ThreadPoolExecutor(most or self._source.threads) as pool:
            return dict(zip(texts, meter.over(pool.map(ask, texts)), strict=True))
