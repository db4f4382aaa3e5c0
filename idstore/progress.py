"""Telling whoever waits how far long work has come."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is; 0 where that is not known. What it raises ends the work."""


def unwatched(what: str, done: int, total: int) -> None:
    """Nobody waits."""


class Meter:
    """Tells of one thing that is done to many, wherever they come from."""

    def __init__(self, progress: Progress, what: str, total: int = 0) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done = 0

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items; each counts when the next one is asked for."""
        self._progress(self._what, self._done, self._total)
        for item in items:
            yield item
            self._done += 1
            self._progress(self._what, self._done, self._total)
