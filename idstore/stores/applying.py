"""The thread that brings durable changes into engine and catalogue.

Nobody waits for it but readers, so it lets changes gather and makes many at once, which costs a fraction; a reader hurries it. It prepares
them while they gather, a little at a time, for whoever comes back from the disk needs the interpreter at once. Whoever makes changes waits
when too many have gathered: what is acknowledged is never far ahead of what is applied.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from idstore.model.change import Change
from idstore.stores.prepared import Prepared

GROUP = 4000
"""Changes that are applied at once, at most."""
ENOUGH = GROUP // 4
"""Changes that are not waited with: for fewer the engine takes up to three times as long each, and for more hardly less."""
BACKLOG = 2 * GROUP
"""Changes that may wait; each takes some 6 kB."""
_PAUSE = 1.0
"""Seconds that the first change waits for more, while nobody reads."""
_QUIET = 0.1
"""Seconds without another change after which none is waited for: the next reader would be told by his waiting how much others have just done."""
_LOOK = 0.02
"""Seconds between two looks at what has gathered."""
_SLICE = 16
"""Changes, and the rest of a unit, that are prepared without a rest: each takes 0.1 ms of the interpreter, and each rest costs whoever makes changes a switch of threads."""
_BREATH = 1e-5
"""Seconds of a rest: with 0 others were seen to wait for 5 ms. While a reader waits there are none."""


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

    It ends when something raises; ``fail`` is told what.
    """

    def __init__(self, apply: Callable[[list[Ready]], None], fail: Callable[[BaseException], None]) -> None:
        self._apply = apply
        self._fail = fail
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._units: deque[Unit] = deque()
        self._taken = self._prepared = 0  # sequence numbers of the last change that was put in, and that was prepared
        self._waiting = 0  # changes, with those that are being prepared and applied
        self._hurried = 0  # readers that wait
        self._last = 0.0  # when the last change was put in
        self._idle = self._stopping = self._failed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="idstore-apply")
                self._thread.start()

    def stop(self) -> None:
        """Return when everything is applied, or will never be."""
        with self._lock:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

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
        """Return when no more than `BACKLOG` changes wait, or the thread has failed."""
        if self.crowded:
            with self._lock:
                self._changed.wait_for(lambda: self._waiting <= BACKLOG or self._failed)

    @contextmanager
    def hurried(self) -> Iterator[Callable[[], object]]:
        """Have everything applied at once; gives a function that returns when something has been applied, or after a second."""
        with self._lock:
            self._hurried += 1
            try:
                self._changed.notify_all()
                yield lambda: self._changed.wait(1.0)
            finally:
                self._hurried -= 1

    def _run(self) -> None:
        try:
            while group := self._gather():
                self._apply(group)
                with self._lock:
                    self._waiting -= len(group)
                    self._changed.notify_all()
                group.clear()
        except BaseException as error:  # noqa: BLE001 whatever it is: who waits for this thread must be told
            self._fail(error)
            with self._lock:
                self._failed = True
                self._changed.notify_all()

    def _gather(self) -> list[Ready]:
        """What to apply next; nothing when it is to stop and all is done."""
        group: list[Ready] = []
        while not group:
            with self._lock:
                self._idle = True
                self._changed.wait_for(lambda: self._units or self._stopping)
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
                due = self._changed.wait_for(self._is_due, _LOOK) or time.monotonic() >= min(end, self._last + _QUIET)
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

    def _is_due(self) -> bool:
        return bool(self._hurried or self._stopping or self._waiting >= ENOUGH)
