"""Threads in which operations run: a group for each kind, so that no kind holds up the others."""

import asyncio
import resource
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
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
_READS: Final = 32
"""Other reads of one caller that are not answered yet, and streams that have not begun."""
_ACTS: Final = 256
"""Acts of one caller that are not answered yet."""
_ACTS_AT_ONCE: Final = 16
"""Acts of one caller that run at the same time; of its further ones, others wait for none."""


def _waits() -> int:
    """Return how often this thread has waited for a disk or a lock.

    Switches to other threads that took its processor do not count.
    """
    return resource.getrusage(_THREAD).ru_nvcsw


class _Group:
    """Threads, and how many operations may wait for one; a further operation is told to come again.

    of_one  how many operations of one caller may be unfinished, also those that it no longer waits for.
    at_once  how many of them run at the same time; None: all.
    """

    def __init__(
        self, threads: int, waiting: int, of_one: int | None = None, at_once: int | None = None
    ) -> None:
        self._executor = ThreadPoolExecutor(threads)
        self._room = threading.Semaphore(threads + waiting)
        self._of_one = threads + waiting if of_one is None else of_one
        self._at_once = at_once
        self._unfinished = Counter[str]()
        self._turns = WeakValueDictionary[str, asyncio.Semaphore]()

    async def begin(self, work: Callable[[], T], caller: str | None) -> Future[T]:
        """Let a thread carry out ``work``.

        caller  a name for the caller; None: the work is for several, and takes no turns.
        Raises Overloaded; TooManyQueries: too many operations of the caller are unfinished.
        """
        if caller is None:
            return self._submit(work)
        if self._unfinished[caller] >= self._of_one:
            raise TooManyQueries(
                f"{self._of_one} such requests of this caller are not answered yet; wait for their answers"
            )
        with ExitStack() as place:
            self._unfinished[caller] += 1
            place.callback(self._forget, caller)
            return await self._run(place, caller, self._submit, work)

    async def go_on(self, work: Callable[[], T], caller: str | None) -> Future[T]:
        """Let a thread carry out a further part of an operation, however many operations wait."""
        if caller is None:
            return self._start(work)
        with ExitStack() as place:
            return await self._run(place, caller, self._start, work)

    async def _run(
        self,
        place: ExitStack,
        caller: str,
        begin: Callable[[Callable[[], T]], Future[T]],
        work: Callable[[], T],
    ) -> Future[T]:
        """Begin work once it is the caller's turn. Its end closes the place."""
        if self._at_once is not None:
            turns = self._turns.setdefault(caller, asyncio.Semaphore(self._at_once))
            await turns.acquire()
            place.callback(turns.release)
        running = begin(work)
        held = place.pop_all()  # also after the time limit, until the work has ended
        asyncio.wrap_future(running).add_done_callback(partial(_leave, held))
        return running

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Let a thread carry out work. Raises Overloaded."""
        if not self._room.acquire(blocking=False):
            raise _overloaded()
        running = self._start(work)
        running.add_done_callback(lambda _: self._room.release())
        return running

    def _start(self, work: Callable[[], T]) -> Future[T]:
        return self._executor.submit(copy_context().run, work)

    def _forget(self, caller: str) -> None:
        self._unfinished -= Counter((caller,))


class Workers:
    """The groups of threads. A look-up runs at once, without a thread, while it has nothing to wait for.

    seconds  that an operation may take, with its wait for its turn and for a thread.
    """

    def __init__(self, registry: Registry, seconds: float) -> None:
        self._registry, self._seconds = registry, seconds
        self._careful_until = 0.0
        self._lookups = _Group(2, 500)  # the store answers one question at a time
        self._reads = _Group(2, 62, _READS, 1)  # more threads would take the interpreter from all others
        self._scans = _Group(2, 62, _SCANS, 1)
        self._streams = _Group(2, 62, _READS, 1)
        self._acts = _Group(64, 320, _ACTS, _ACTS_AT_ONCE)  # a thread for each act of a store's batch
        self._queries = _Group(4, 12)  # each has a process, with memory of its own

    async def run(self, operation: ApiOperation, work: Callable[[], T], caller: str | None = None) -> T:
        """Return the result of ``work``, which carries out an operation or a part of it.

        caller  a name for the caller, whose reads of one kind run one after the other, and of whose acts
                `_ACTS_AT_ONCE` run, also those that it no longer waits for. None: the work is for several
                callers.
        Raises Overloaded (the work did not begin, for want of a thread or because the caller's turn did not
        come), LimitReached or OutcomeUnknown (it still runs, and keeps its thread), TooManyQueries (the
        caller has several requests that are not answered yet).
        """
        if operation.name in LOOKUPS and time.monotonic() >= self._careful_until and self._is_free:
            return self._look_up(work)
        return await self._result(self._group(operation).begin(work, caller), operation)

    async def scan(self, operation: ApiOperation, work: Callable[[], T], caller: str) -> T:
        """Return the result of ``work``, which may read all that its caller sees: see `run`."""
        return await self._result(self._scans.begin(work, caller), operation)

    async def _result(self, beginning: Awaitable[Future[T]], operation: ApiOperation) -> T:
        running: Future[T] | None = None
        try:
            async with asyncio.timeout(self._seconds) as limit:
                running = await beginning
                return await asyncio.wrap_future(running)
        except TimeoutError:
            if not limit.expired():
                raise
            did_not_begin = running is None or running.cancelled()
            raise (_overloaded() if did_not_begin else self._late(operation)) from None

    async def go_on(self, operation: ApiOperation, work: Callable[[], T], caller: str | None = None) -> T:
        """Return a further part of an answer that streams, after the parts of others that wait: see `run`."""
        return await asyncio.wrap_future(await self._group(operation).go_on(work, caller))

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
