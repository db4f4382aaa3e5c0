"""The access log: a thread writes it, so that a stalled reader of the log holds up no request."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Self

_MOST: Final = 10_000
"""Lines that may wait to be written; further ones are dropped."""
_TOGETHER: Final = 0.01
"""Seconds that the thread waits for more lines: to wake it for each costs as much as a tenth of a request."""
_END: Final = 1.0
"""Seconds in which the last lines are written."""


class AccessLog:
    """Lines that wait to be written, and the thread that writes them.

    write    writes whole lines, and may block.
    dropped  lines that were never written, because the reader of the log is slower than the requests.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.dropped = 0
        self._write = write
        self._lines: deque[str] = deque()
        self._waiting = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="access log", daemon=True)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Write lines until the end of the block."""
        self._thread.start()
        try:
            yield self
        finally:
            self._ended = True
            self._waiting.set()
            self._thread.join(_END)

    def add(self, line: str) -> None:
        """Write a line soon."""
        if len(self._lines) < _MOST:
            self._lines.append(line)
            self._waiting.set()
        else:
            self.dropped += 1

    def _run(self) -> None:
        while self._lines or not self._ended:
            self._waiting.wait()
            time.sleep(_TOGETHER)
            self._waiting.clear()
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            if lines:
                with suppress(OSError):  # nobody reads the log any more
                    self._write("".join(f"{line}\n" for line in lines))
