"""What callers ask of the writer: to run an act, or a function between two batches."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from idstore.model import times
from idstore.stores.transaction import ActTransaction

T = TypeVar("T")


class Task(Generic[T]):
    """A request: it is answered once, and its caller may withdraw it until it begins.

    waits  whether a held queue keeps it back.
    """

    __slots__ = ("_answer", "_begun", "_done", "_error", "_is_done", "_state", "_withdrawn", "waits")

    def __init__(self, *, waits: bool = True) -> None:
        self.waits = waits
        self._state = threading.Lock()  # guards the next two
        self._begun = self._withdrawn = False
        self._error: BaseException | None = None
        self._answer: T
        self._is_done = False
        self._done = threading.Lock()
        self._done.acquire()

    # for the writer

    def begin(self) -> bool:
        """Mark the task as running. Returns False if the caller was interrupted: then it must not run."""
        with self._state:
            self._begun = not self._withdrawn
            return self._begun

    def unbegin(self) -> None:
        """Mark the task as waiting again."""
        with self._state:
            self._begun = False

    def answer(self, answer: T) -> None:
        """Wake the caller with an answer."""
        self._answer = answer
        self._is_done = True
        self._done.release()

    def fail(self, error: BaseException) -> None:
        """Wake the caller with an error."""
        self._error = error
        self._is_done = True
        self._done.release()

    # for the caller

    def withdraw(self) -> bool:
        """Cancel the task. Returns False if it has started."""
        with self._state:
            self._withdrawn = not self._begun
            return self._withdrawn

    def wait(self) -> T:
        """Wait for the answer. Raises the error that the writer reports."""
        if not self._is_done:  # an interrupt may come just after the lock was had
            self._done.acquire()
        error, self._error = self._error, None  # breaks the reference cycle between error, traceback and task
        if error is None:
            return self._answer
        try:
            raise error
        finally:
            del error

    def settle(self) -> None:
        """Withdraw the task after an interrupt, or wait until it is done if it has started.

        Further interrupts are dropped: the first one is on its way to the caller.
        """
        while not (self._is_done or self.withdraw()):
            with suppress(BaseException):
                self._done.acquire()


class ActTask(Task[T]):
    """An act to run in a batch.

    asked      time of the request, milliseconds since 1970.
    due        time at which a postponed act runs again; ``postponed`` is the time of the postponement.
    """

    __slots__ = ("act", "asked", "due", "postponed")

    def __init__(self, act: Callable[[ActTransaction], T]) -> None:
        super().__init__()
        self.act = act
        self.asked = self.due = self.postponed = times.now()

    def postpone(self, moment: int) -> None:
        """Schedule the act to run again at a moment."""
        self.unbegin()
        self.due, self.postponed = moment, times.now()

    def is_due(self, now: int) -> bool:
        """Whether its moment has come, or the clock was set back since it was postponed."""
        return self.due <= now or now < self.postponed


class FunctionTask(Task[T]):
    """A function to run between two batches."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], T], *, waits: bool = True) -> None:
        super().__init__(waits=waits)
        self.function = function


class Outcome:
    """The result of an act, kept until its batch is durable."""

    __slots__ = ("answer", "error", "task")

    def __init__(self, task: Task[object], answer: object = None, error: BaseException | None = None) -> None:
        self.task, self.answer, self.error = task, answer, error

    def report(self) -> None:
        """Wake the caller."""
        if self.error is None:
            self.task.answer(self.answer)
        else:
            self.task.fail(self.error)


_OWN: Final = frozenset({__name__, "idstore.stores.writer", "idstore.stores.transaction"})


def without_writer_frames(error: BaseException) -> BaseException:
    """Remove the frames of the writer's thread above the act from an error's traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") in _OWN:
        trace = trace.tb_next
    return error.with_traceback(trace)
