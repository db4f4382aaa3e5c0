"""Telling on a terminal how far long work has come."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from idstore.cli.output import Output

_EVERY: Final = 0.1
"""Seconds between two signs of progress."""


class Progress:
    """One line on a terminal that is written again and again; nothing where nobody watches. Gone at the end of its block."""

    def __init__(self, output: "Output") -> None:
        self._output = output
        self._next = 0.0
        self._what = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.erase()

    def show(self, done: int, total: int) -> None:
        """Say how much is done, now and then."""
        self._say(f"{done} of {total}")

    def step(self, what: str, done: int, total: int) -> None:
        """Say what is being done, and how much of it is done, as `idstore.progress.Progress`: when it begins, and now and then."""
        if what != self._what:
            self._what, self._next = what, 0.0
        self._say(f"{what}: {min(100, 100 * done // total)} %" if total else f"{what}: {done:,}")

    def _say(self, text: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            if self._output.shows_progress:
                _write(f"\r\x1b[K    {text}")

    def erase(self) -> None:
        """Leave the line empty."""
        if self._output.shows_progress:
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # a terminal that is gone keeps no work from its end
        print(text, end="", file=sys.stderr, flush=True)
