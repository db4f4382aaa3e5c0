"""Progress of long work on a terminal."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from idstore.cli.output import Output

_INTERVAL: Final = 0.1
"""Seconds between two updates."""


class Progress:
    """A progress line that is rewritten in place, and erased at the end of the block.

    Nothing is printed unless ``output.shows_progress``.
    """

    def __init__(self, output: "Output") -> None:
        self._output = output
        self._next = 0.0
        self._task = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.erase()

    def show(self, done: int, total: int) -> None:
        """Show how much is done, at most once an interval."""
        self._update(f"{done} of {total}")

    def step(self, what: str, done: int, total: int) -> None:
        """Show the current task and how much of it is done: when it begins, then at most once an interval.

        The parameters are those of `idstore.progress.Progress`.
        """
        if what != self._task:
            self._task, self._next = what, 0.0
        self._update(f"{what}: {min(100, 100 * done // total)} %" if total else f"{what}: {done:,}")

    def _update(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL
            if self._output.shows_progress:
                _write(f"\r\x1b[K    {text}")

    def erase(self) -> None:
        """Erase the line."""
        if self._output.shows_progress:
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # a terminal that is gone must not stop the work
        print(text, end="", file=sys.stderr, flush=True)
