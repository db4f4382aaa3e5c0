"""Progress reports of long work."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the kind of work, the amount done and the total amount, 0 if unknown.

An exception ends the work.
"""


def unwatched(what: str, done: int, total: int) -> None:
    """Ignore progress."""


def never() -> bool:
    """Return that work is not cancelled."""
    return False


class Meter:
    """Reports the progress of one kind of work on many items, from any sources."""

    def __init__(self, progress: Progress, what: str, total: int = 0) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done = 0

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. An item counts as done when the next one is requested."""
        self._progress(self._what, self._done, self._total)
        for item in items:
            yield item
            self._done += 1
            self._progress(self._what, self._done, self._total)
