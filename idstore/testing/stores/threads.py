"""Threads that tests wait for, with a time limit."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Generic, ParamSpec, TypeVar

import pytest

from idstore.stores.contract import Store, Transaction
from idstore.testing.stores.changes import Act
from idstore.testing.stores.rehearsal import rehearsed

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds after which a test that waits for a thread or a process fails."""
_MOMENT: Final = 0.05
"""Seconds for threads to join a queue. The outcome does not depend on this number."""


class Running(Generic[T]):
    """A function that runs in a separate thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._answer: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 raised by `result`
            self._error = error

    def result(self) -> T:
        """Return the function's result or raise its error. Fails: the function does not end."""
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            pytest.fail("a thread does not come to its end: it waits for something that does not happen")
        if self._error is not None:
            raise self._error
        return self._answer[0]


def wait_for(event: threading.Event) -> None:
    """Return when an event is set. Fails: it is not set in time."""
    assert event.wait(PATIENCE), "a thread did not get to where another waits for it"


def together(works: Sequence[Callable[[], T]]) -> list[T]:
    """Run functions at the same time, and return their results. Raises the error of the first that fails."""
    start = threading.Barrier(len(works))

    def begin(work: Callable[[], T]) -> T:
        start.wait(PATIENCE)
        return work()

    running = [Running(partial(begin, work)) for work in works]
    return [thread.result() for thread in running]


def outcome(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """Return a function's result or the exception that it raised."""
    try:
        return work(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 it is the outcome
        return error


def in_one_batch(store: Store, acts: Sequence[Act[T]]) -> list[T | Exception]:
    """Request acts while another act runs, so that they wait together.

    Returns their results or exceptions.
    """
    runs, go_on = threading.Event(), threading.Event()
    waiting = [threading.Event() for _ in acts]

    def hold(_: Transaction) -> None:
        runs.set()
        wait_for(go_on)

    def ask(number: int) -> T | Exception:
        waiting[number].set()
        return outcome(rehearsed, store, acts[number])

    holding = Running(lambda: store.write(hold))
    wait_for(runs)
    asking = [Running(partial(ask, number)) for number in range(len(acts))]
    for event in waiting:
        wait_for(event)
    go_on.wait(_MOMENT)
    go_on.set()
    holding.result()
    return [thread.result() for thread in asking]
