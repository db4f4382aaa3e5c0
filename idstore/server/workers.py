"""Threads in which operations run: a group for each kind, so that no kind holds up the others."""

import asyncio
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from idstore.errors import LimitReached, OutcomeUnknown, Overloaded, TooManyQueries
from idstore.operations.operation import ApiOperation
from idstore.registry import Registry
from idstore.stores.contract import Answer, HeldStore

T = TypeVar("T")

LOOKUPS: Final = ("identify", "resolve", "show")
"""Operations that read one record, mostly faster than a change of threads."""
_SLOW: Final = 0.05
"""Seconds after which a look-up was slow: its record is large, or the disk has much to do.

Those in which others had its processor do not count, unless it waited too.
"""
_THREAD: Final = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
"""Linux tells it of a thread, other systems of the process."""
_CAREFUL: Final = 5.0
"""Seconds after a slow look-up in which all have threads."""

_SCANS: Final = 16
"""Scans of one caller that are not answered yet; one of them runs."""


def _waits() -> int:
    """Return how often this thread has waited for a disk or a lock.

    Switches to other threads that took its processor do not count.
    """
    return resource.getrusage(_THREAD).ru_nvcsw


class _Group:
    """Threads, and how many operations may wait for one; a further operation is told to come again."""

    def __init__(self, threads: int, waiting: int) -> None:
        self.executor = ThreadPoolExecutor(threads)
        self._room = threading.Semaphore(threads + waiting)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Let a thread carry out ``work``. Raises Overloaded."""
        if not self._room.acquire(blocking=False):
            raise _overloaded()
        running = self.executor.submit(copy_context().run, work)
        running.add_done_callback(lambda _: self._room.release())
        return running


class Workers:
    """The groups of threads. A look-up runs at once, without a thread, while it has nothing to wait for.

    seconds  that an operation may take, with its wait for a thread.
    """

    def __init__(self, registry: Registry, seconds: float) -> None:
        self._registry, self._seconds = registry, seconds
        self._careful_until = 0.0
        self._lookups = _Group(2, 500)  # the store answers one question at a time
        self._reads = _Group(2, 62)  # more would take the interpreter from all others
        self._scans = _Group(2, 62)
        self._streams = _Group(2, 62)
        self._acts = _Group(64, 320)  # as many threads as a batch of the store has acts
        self._queries = _Group(4, 12)  # each has a process, with memory of its own
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        self._scanning = Counter[str]()

    async def run(self, operation: ApiOperation, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which carries out an operation or a part of it.

        Raises Overloaded (the work did not begin), LimitReached or OutcomeUnknown (it still runs, and keeps
        its thread).
        """
        if operation.name in LOOKUPS and time.monotonic() >= self._careful_until and self._is_free:
            return self._look_up(work)
        return await self._run_in(self._group(operation), operation, work)

    async def scan(self, operation: ApiOperation, work: Callable[[], T], caller: str) -> T:
        """Return the result of ``work``, which may read all that its caller sees: see `run`.

        caller  a name for the caller, whose scans run one after the other, also those that it no longer
                waits for.
        Raises TooManyQueries: the caller has several scans that are not answered yet.
        """
        if self._scanning[caller] >= _SCANS:
            raise TooManyQueries(
                f"{_SCANS} lists of this caller that take long are not answered yet; wait for their answers"
            )
        with ExitStack() as place:
            self._scanning[caller] += 1
            place.callback(self._forget, caller)
            turn = self._turns.setdefault(caller, asyncio.Lock())
            await turn.acquire()
            place.callback(turn.release)
            running = self._scans.submit(work)
            held = place.pop_all()  # also after the time limit, until the work has ended
            asyncio.wrap_future(running).add_done_callback(partial(_leave, held))
            return await self._result(running, operation)

    def _forget(self, caller: str) -> None:
        self._scanning -= Counter((caller,))

    async def _run_in(self, group: _Group, operation: ApiOperation, work: Callable[[], T]) -> T:
        return await self._result(group.submit(work), operation)

    async def _result(self, running: Future[T], operation: ApiOperation) -> T:
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.wrap_future(running)
        except TimeoutError:
            if not limit.expired():
                raise
            raise (_overloaded() if running.cancelled() else self._late(operation)) from None

    async def go_on(self, operation: ApiOperation, work: Callable[[], T]) -> T:
        """Return a further part of an answer that streams, after the parts of others that wait."""
        executor = self._group(operation).executor
        return await asyncio.wrap_future(executor.submit(copy_context().run, work))

    @property
    def _is_free(self) -> bool:
        """Whether a look-up would wait for nothing in the store."""
        return cast("HeldStore", self._registry.store).is_free

    def _look_up(self, work: Callable[[], T]) -> T:
        start, waits, used = time.monotonic(), _waits(), time.thread_time()
        try:
            return work()
        finally:
            end = time.monotonic()
            if end - start > _SLOW and (_waits() > waits or time.thread_time() - used > _SLOW):
                self._careful_until = end + _CAREFUL

    def _group(self, operation: ApiOperation) -> _Group:
        if operation.writes:
            return self._acts
        if operation.result is Answer:
            return self._queries
        if operation.streams:
            return self._streams
        return self._lookups if operation.name in LOOKUPS else self._reads

    def _late(self, operation: ApiOperation) -> LimitReached | OutcomeUnknown:
        if operation.writes:
            return OutcomeUnknown(
                f"{operation.name} took longer than {self._seconds:g} seconds, and may still take effect;"
                " repeat it with the same request key, or read what it changes"
            )
        return LimitReached(f"{operation.name} took longer than {self._seconds:g} seconds; ask for less")


def _leave(place: ExitStack, work: asyncio.Future[Any]) -> None:
    """Give up the place of work that has ended; its error is that of the request."""
    if not work.cancelled():
        work.exception()
    place.close()


def _overloaded() -> Overloaded:
    return Overloaded("the server has too much to do at the moment; try again soon")
