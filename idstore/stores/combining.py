"""Acts that threads ask for at the same moment, done by one of them for all.

Each would else wait for its turn, for the interpreter and for the disk, and the machine be busier waking threads than with what they do.
(Known as flat combining.) Whoever asks while nobody is at work does what is asked for, and brings it to the disk; whoever asks meanwhile
sleeps, and finds it done, or is the next who works.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from idstore.errors import IdstoreError, StoreUnavailable
from idstore.stores.leading import Leading
from idstore.stores.turns import StoreTurn

T = TypeVar("T")

_MOST: Final = 32
"""Acts that are done before they are brought to the disk, at most: the first of them waits for the last."""
_LEFT: Final = "who did this for several was interrupted as it came into effect; whether it did, a look at the store tells"


class Asked(Generic[T]):
    """An act that a thread waits for.

    act     what is to be done, in a turn.
    at      when it was asked for, milliseconds since 1970.
    turn    in which it was done, or failed; None while it was not.
    left    whether who asked is to do it in a turn of his own.
    begun   whether it may have come into effect.
    withdrawn  whether nobody waits for it any more.
    """

    __slots__ = ("_error", "_given", "_thread", "act", "at", "begun", "left", "turn", "withdrawn")

    def __init__(self, act: Callable[[StoreTurn], T], at: int) -> None:
        self.act, self.at = act, at
        self.begun = self.left = self.withdrawn = False
        self.turn: StoreTurn | None = None
        self._thread = threading.get_ident()
        self._given: T
        self._error: Exception | None = None

    def do(self, turn: StoreTurn) -> None:
        """Do it in this turn. What it raises is kept for who asked; an interrupt of the thread that does it comes out."""
        try:
            if self.begun:  # another who did it was interrupted
                raise StoreUnavailable(_LEFT)  # noqa: TRY301 told like what the act raises
            self._given = self.act(turn)
            self.begun = True
            turn.hand_over()
        except BaseException as error:
            if threading.get_ident() != self._thread:
                self._fail_another(error)
            elif isinstance(error, Exception):
                self._error = error
            if not isinstance(error, Exception):
                raise
        finally:
            if self.begun or self.left or self._error is not None:
                self.turn = turn

    def _fail_another(self, error: BaseException) -> None:
        """Keep for who asked what is his: errors of ours, without what the thread that did it was about. Anything else may be that one's own."""
        if isinstance(error, IdstoreError):
            self._error = error.with_traceback(None)
            error.__context__ = error.__cause__ = None
        elif self.begun:
            self._error = StoreUnavailable(_LEFT)
        else:
            self.left = True

    def answer(self) -> T:
        """What came of it. Raises what the act raised."""
        error, self._error = self._error, None  # or the error's traceback would hold what holds the error
        if error is None:
            return self._given
        try:
            raise error
        finally:
            del error


class Combining:
    """What is asked for, in its order. Safe for many threads, also where one is interrupted."""

    def __init__(self) -> None:
        self._leading = Leading()
        self._asked: deque[Asked[Any]] = deque()
        self._several = False  # whether there was more than one the last time

    def until_done(self, asked: Asked[Any], work: Callable[[Iterator[Asked[Any]]], None]) -> None:
        """Return when an act was done: by another thread, or in ``work``, which is given what to do. Raises what the work raises."""
        try:
            self._asked.append(asked)
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
