"""Acts that threads ask for at the same moment, done by one of them for all.

Each would else wait for its turn, for the interpreter and for the disk, and the machine be busier waking threads than with what they do.
(Known as flat combining.) Whoever asks while nobody is at work does what is asked for, and brings it to the disk; whoever asks meanwhile
sleeps, and finds it done, or is the next who works.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from idstore.errors import StoreUnavailable
from idstore.stores.leading import Leading
from idstore.stores.turns import StoreTurn

T = TypeVar("T")

_MOST: Final = 32
"""Acts that are done before they are brought to the disk, at most: the first of them waits for the last."""
_LEFT: Final = "who did this for several was interrupted as it came into effect; whether it did, a look at the store tells"


class Asked(Generic[T]):
    """An act that somebody waits for.

    act    what is to be done, in a turn.
    at     when it was asked for, milliseconds since 1970.
    begun  whether it may have come into effect.
    turn   in which it was done, or failed; None while it was not.
    given, error  what came of it.
    """

    __slots__ = ("act", "at", "begun", "error", "given", "turn", "withdrawn")

    def __init__(self, act: Callable[[StoreTurn], T], at: int) -> None:
        self.act, self.at = act, at
        self.begun = self.withdrawn = False
        self.turn: StoreTurn | None = None
        self.given: T
        self.error: Exception | None = None

    def do(self, turn: StoreTurn) -> None:
        """Do it in this turn. What it raises is kept for who asked; an interrupt, which is for whoever does it, comes out."""
        if self.begun:  # another who did it was interrupted
            self.error = StoreUnavailable(_LEFT)
        else:
            try:
                self.given = self.act(turn)
                self.begun = True
                turn.hand_over()
            except Exception as error:  # noqa: BLE001 raised where it was asked for
                self.error = error
        self.turn = turn

    def answer(self) -> T:
        """What came of it. Raises what the act raised."""
        if self.error is not None:
            raise self.error
        return self.given


class Combining:
    """What is asked for, in its order. Safe for many threads, also where one is interrupted."""

    def __init__(self) -> None:
        self._leading = Leading()
        self._asked: deque[Asked[Any]] = deque()
        self._several = False  # whether there was more than one the last time

    def until_done(self, asked: Asked[Any], work: Callable[[Iterator[Asked[Any]]], None]) -> None:
        """Return when an act was done: by another thread, or in ``work``, which is given what to do. Raises what the work raises."""
        self._asked.append(asked)
        try:
            while asked.turn is None:
                self._leading.until(lambda: asked.turn is not None, lambda: work(self._due()))
        except BaseException:
            asked.withdrawn = True
            raise

    def _due(self) -> Iterator[Asked[Any]]:
        """What to do now; each is done before the next is given."""
        if self._several:
            time.sleep(0)  # those whose acts were just done ask for the next ones now, if they get the interpreter
        done = 0
        while self._asked and done < _MOST:
            first = self._asked[0]
            if not (first.withdrawn or first.turn is not None):
                yield first
                done += 1
            self._asked.popleft()
        self._several = done > 1
