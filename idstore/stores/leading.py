"""Work that one of those who wait does for all: each returns when its own part is done, and not after the next one's."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_NAP: Final = 0.05
"""Seconds after which one who follows looks for itself: whoever led may have been interrupted before it woke others."""


class Leading:
    """Who leads, and who waits for that. Safe for many threads, also where one is interrupted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of whoever leads
        self._followers: deque[threading.Lock] = deque()

    def until(self, done: Callable[[], bool], work: Callable[[], None]) -> None:
        """Return when ``done`` says so, or after having done the work oneself, which nobody else does meanwhile. Raises what the work raises."""
        while not done():
            if self._lock.locked():
                self._follow()
                continue
            try:
                with self._lock:
                    work()
                return
            finally:
                self._wake()

    def _follow(self) -> None:
        """Return when whoever leads now has done the work."""
        woken = threading.Lock()
        woken.acquire()
        self._followers.append(woken)
        if self._lock.locked():
            woken.acquire(timeout=_NAP)

    def _wake(self) -> None:
        with suppress(IndexError):  # the next one who leads may wake others at the same time
            while True:
                self._followers.popleft().release()
