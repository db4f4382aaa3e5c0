"""The thread that brings durable changes into engine and catalogue.

Nobody waits for it but readers, so it lets changes gather and makes many at once, which costs a fraction; a reader hurries it. It prepares
them while they gather, unless they come so fast that the interpreter has no time left, and does that and the rest a little at a time, for
whoever comes back from the disk needs the interpreter at once. Whoever makes changes waits when too many have gathered: what is acknowledged
is never far ahead of what is applied.

Ctrl-C may come at any moment to those who wait for it. So they wait for a lock of their own: a condition that is interrupted may not have
taken its lock again, and gives up one that is another's.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeAlias, TypeVar

from idstore.model.change import Change
from idstore.stores.background import start
from idstore.stores.prepared import Prepared

T = TypeVar("T")

GROUP = 4000
"""Changes that are applied at once, at most."""
ENOUGH = GROUP
"""Changes that are not waited with: for a quarter of them the engine takes hardly longer each, but those who make them are held up by it earlier."""
BACKLOG = 2 * GROUP
"""Changes that may wait; each takes some 6 kB."""
_PAUSE = 1.0
"""Seconds that the first change waits for more, while nobody reads."""
_QUIET = 0.1
"""Seconds without another change after which none is waited for: the next reader would be told by his waiting how much others have just done."""
_LOOK = 0.02
"""Seconds between two looks at what has gathered."""
_BUSY = 30
"""Changes between two looks from which on whoever makes them needs the interpreter himself: two in three milliseconds leave half of it."""
_SLICE = 4
"""Changes, and the rest of a unit, that are taken up without a rest: each takes 0.1 ms of the interpreter, for which others wait each time they
come back from the disk; and each rest costs them a switch of threads."""
_BREATH = 1e-5
"""Seconds of a rest: with 0 others were seen to wait for 5 ms. While a reader waits there are none."""
_NAP = 1.0
"""Seconds after which whoever waits for the thread looks for itself, and it looks whether anybody is left to wait for it."""


class Durable(NamedTuple):
    """A change that the journal has.

    sequence          of its last event.
    registry_version  of the view that has it.
    """

    sequence: int
    change: Change
    registry_version: int


class Ready(NamedTuple):
    """A change that the journal has, and what follows from it."""

    durable: Durable
    prepared: Prepared


Unit: TypeAlias = tuple[Durable, ...]
"""The changes of one turn: seen together."""


class Applier:
    """Calls ``apply`` with changes of whole units, in the order in which they are put in, in a thread of its own.

    It ends when something raises; ``fail`` is told what. And when nothing is to be done, and ``gone`` says that nobody can have anything done any more.
    """

    def __init__(
        self, apply: Callable[[list[Ready]], None], fail: Callable[[BaseException], None], gone: Callable[[], bool] = lambda: False
    ) -> None:
        self._apply = apply
        self._fail = fail
        self._gone = gone
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._units: deque[Unit] = deque()
        self._taken = self._prepared = 0  # sequence numbers of the last change that was put in, and that was prepared
        self._waiting = 0  # changes, with those that are being prepared and applied
        self._hurried: set[object] = set()  # readers that wait
        self._last = 0.0  # when the last change was put in
        self._watching: deque[threading.Lock] = deque()  # of those who wait for the next step
        self._idle = self._stopping = self._leaving = self._ended = False
        self._thread: threading.Thread | None = None
        self._begun = False  # whether the thread has: an interrupt may come as it is started

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, daemon=True, name="idstore-apply")
                start(thread)
                self._thread = thread

    def stop(self) -> None:
        """Return when everything is applied, or will never be: nothing is applied any more then.

        An interrupt comes out of it after the step that is under way, and leaves the rest for the next opening.
        """
        try:
            self._end()
        except BaseException:
            self._leaving = True
            while not self._has_ended():
                with suppress(BaseException):  # one interrupt is enough
                    self._end()
            raise

    def _end(self) -> None:
        with self._lock:
            self._stopping = True
            self._leaving = self._leaving or not self._has_started()
            self._changed.notify_all()
        self._wait(self._has_ended)

    def _has_started(self) -> bool:
        return self._begun or self._thread is not None

    def _has_ended(self) -> bool:
        return self._ended or not self._has_started()

    def put(self, units: list[Unit]) -> None:
        """Have the changes of these turns applied, which are durable; those that were put in before are left out.

        An interrupt may come at any moment: then the same is put in again, and left out when it is prepared.
        """
        with self._lock:
            units = [unit for unit in units if unit[-1].sequence > self._taken]
            self._units.extend(units)
            self._taken = units[-1][-1].sequence if units else self._taken
            self._waiting += sum(map(len, units))
            self._last = time.monotonic()
            if self._idle or self._waiting >= ENOUGH:
                self._changed.notify_all()

    def begin_after(self, sequence: int) -> None:
        """Take it that everything up to a sequence number is applied. Called while nothing waits."""
        self._taken = self._prepared = sequence

    @property
    def crowded(self) -> bool:
        """Whether more than `BACKLOG` changes wait."""
        return self._waiting > BACKLOG

    def make_room(self) -> None:
        """Return when no more than `BACKLOG` changes wait, or the thread has ended."""
        if self.crowded:
            self._wait(lambda: not self.crowded or self._ended)

    def hurry(self, done: Callable[[], bool]) -> None:
        """Have everything applied at once, and return when ``done`` says so, which is asked after each step. Raises what that raises."""
        reader = object()
        try:
            self._hurried.add(reader)
            with self._lock:
                self._changed.notify_all()
            self._wait(done)
        finally:
            self._hurried.discard(reader)

    def _wait(self, done: Callable[[], bool]) -> None:
        """Return when ``done`` says so, which is asked after each step."""
        while True:
            woken = threading.Lock()
            woken.acquire()
            self._watching.append(woken)
            if done():
                return
            woken.acquire(timeout=_NAP)

    def _wake(self) -> None:
        with suppress(IndexError):
            while True:
                self._watching.popleft().release()

    def _run(self) -> None:
        with self._lock:
            if self._begun:
                return
            self._begun = True
        try:
            while (group := self._gather()) and not self._leaving:
                self._apply(group)
                with self._lock:
                    self._waiting -= len(group)
                self._wake()
                group.clear()
        except BaseException as error:  # noqa: BLE001 whatever it is: who waits for this thread must be told
            self._fail(error)
        finally:
            self._ended = True
            self._wake()

    def _gather(self) -> list[Ready]:
        """What to apply next; nothing when it is to stop and all is done."""
        group: list[Ready] = []
        while not group:
            with self._lock:
                self._idle = True
                while not self._changed.wait_for(lambda: self._units or self._stopping or self._leaving, _NAP) and not self._gone():
                    continue
                self._idle = False
                if not self._units:
                    break
            self._collect(group)
        return group

    def _collect(self, group: list[Ready]) -> None:
        """Prepare changes until it is time to apply them."""
        end = time.monotonic() + _PAUSE
        due = False
        while not due:
            with self._lock:
                before = self._waiting
                due = self._changed.wait_for(self._is_due, _LOOK) or time.monotonic() >= min(end, self._last + _QUIET)
                busy = self._waiting - before >= _BUSY
            if due or not busy:
                self._prepare(group)

    def _prepare(self, group: list[Ready]) -> None:
        """Prepare what has gathered, as much of it as the group takes."""
        rested = len(group)
        while self._units and (not group or len(group) + len(self._units[0]) <= GROUP):
            if len(group) - rested >= _SLICE and not self._hurried:
                time.sleep(_BREATH)
                rested = len(group)
            unit = self._units.popleft()
            if unit[-1].sequence > self._prepared:
                group += [Ready(durable, Prepared.of(durable.sequence, durable.change)) for durable in unit]
                self._prepared = unit[-1].sequence

    def paced(self, given: Iterable[T]) -> Iterator[T]:
        """What is given, with rests in between for those who need the interpreter."""
        for number, one in enumerate(given, 1):
            yield one
            if number % _SLICE == 0 and not self._hurried:
                time.sleep(_BREATH)

    def _is_due(self) -> bool:
        return bool(self._hurried or self._stopping or self._leaving or self._waiting >= ENOUGH)
