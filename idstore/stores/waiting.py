"""Who waits for whom in a store: readers for what is applied, writers for their turn, and both for the disk."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import Any, Self, TypeVar

from pyoxigraph import NamedNode

from idstore.errors import StoreUnavailable
from idstore.model import times
from idstore.model.change import Change
from idstore.stores.applying import Applier
from idstore.stores.blocks import block
from idstore.stores.combining import Asked, Combining
from idstore.stores.committing import Commits
from idstore.stores.generation import OfGeneration
from idstore.stores.given import Given
from idstore.stores.inherited import FORKED, need_threads
from idstore.stores.journal import Journal
from idstore.stores.scans import Scanning
from idstore.stores.turns import StoreTurn

T = TypeVar("T")

_CLOSED = "the store was closed"
_NESTED = "an act was begun inside another one of the same thread; end that first"
_READS = "what was changed while a block reads comes into effect when that ends; end the block, then go on"
_MUCH = 5_000
"""Events that a store opened for one quick act keeps beside the engine, at most."""
PATIENCE = 2.0
"""Seconds that a thread that reads, or closes the store, waits for the turn: whoever has it may wait for the end of that, and both would wait for ever."""


class Waiting(OfGeneration, ABC):
    """What the threads of a process share of a store that is open; `idstore.stores.embedded.EmbeddedStore` opens it.

    origin     the store's UUID.
    _given     what turns have given out; ``_commits`` brings it to the journal, ``_applier`` to the engine.
    _applied   sequence number of the last change that the engine has.
    _brief     whether the engine is open to be read alone; `_widen` ends that.
    _failure   why nothing can be changed any more.
    _process   whose threads share it: a child has neither its locks nor the thread that applies.
    """

    origin: str
    registry_version: int
    _given: Given
    _journal: Journal
    _commits: Commits
    _applier: Applier
    _applied: int
    _read_only: bool
    _brief: bool
    _closed: bool
    _failure: str | None

    def __init__(self) -> None:
        self._turn_lock = threading.RLock()  # knows who has it
        self._apply_lock = threading.RLock()  # of whoever reads, and whoever applies
        self._combining = Combining()
        self._reader: int | None = None
        self._process = os.getpid()

    @abstractmethod
    def _widen(self) -> None:
        """Bring the engine up to the journal, and have it open to write from now on, as far as this process can."""

    # reading

    @block
    def reading(self) -> Iterator[Self]:
        """The newest durable state, for a moment; inside another reading of the same thread, the state of that one."""
        self._check_process()
        if self._brief and self._has_turn():  # it is to write what no event tells
            need_threads()
            self._widen()
        outer = self._reader
        if outer != threading.get_ident():  # whoever reads holds up the applying thread, and must not wait for it
            self._wait_applied(self._commits.durable)
        with self._apply_lock:
            if self._closed or self._generation.closed:
                raise StoreUnavailable(self._failure or _CLOSED)
            outer, self._reader = self._reader, threading.get_ident()
            try:
                with Scanning():
                    yield self
            finally:
                self._reader = outer

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key, by what is applied."""
        return self._generation.holder(claimed)

    def _wait_applied(self, sequence: int) -> None:
        if self._applied >= sequence:
            return
        self.refuse_reader()  # nothing is applied while it reads: it would wait for itself
        if self._brief:
            self._widen()
        self._applier.hurry(lambda: self._has_applied(sequence))

    def _has_applied(self, sequence: int) -> bool:
        if self._applied < sequence:
            self._check()
        return self._applied >= sequence

    # changing

    def refuse_reader(self) -> None:
        """Raise StoreUnavailable if this thread reads: what it reads is one state until the block ends."""
        if self._reader == threading.get_ident():
            raise StoreUnavailable(_READS)

    @block
    def turn(self) -> Iterator[StoreTurn]:
        """Take the turn; when the block ends without an error, what was enlisted is durable."""
        asked = times.now()
        turn = None
        try:
            with self.alone():
                if not self._brief:
                    self._applier.start()
                with self._apply_lock if self._brief else nullcontext():  # a reader would have the engine opened anew
                    self._check()  # or has had, and failed
                    turn = StoreTurn(self, asked)
                    with Scanning():
                        yield turn
                    turn.hand_over()
        except Exception:
            self._keep(turn)  # an error tells of what others did as well
            raise
        self._keep(turn)

    def together(self, act: Callable[[StoreTurn], T]) -> T:
        """Do an act in a turn, perhaps with those of other threads; when it returns, what was enlisted is durable. Raises what the act raises.

        Another thread may do it. The main thread, which Ctrl-C interrupts, does nothing for others: what is under way for them is not cut short.
        """
        here = threading.current_thread()
        if here.ident == self._reader or self._brief or self._read_only:
            return self._in_turn(act)
        self._check_process()
        if self._has_turn():
            raise StoreUnavailable(_NESTED)
        self._applier.make_room()
        asked = Asked(act, times.now())
        if here is threading.main_thread():
            self._do((asked,))
        else:
            self._combining.until_done(asked, self._do)
        if asked.left:
            return self._in_turn(act)
        self._keep(asked.turn)
        return asked.answer()

    def _in_turn(self, act: Callable[[StoreTurn], T]) -> T:
        with self.turn() as turn:
            return act(turn)

    def _do(self, due: Iterable[Asked[Any]]) -> None:
        """Do what is asked for, and bring it to the disk, as far as the disk takes it: who asked sees to that himself."""
        turn = None
        with self._turn_lock:
            self._begin_turn()
            self._applier.start()
            for asked in due:
                turn = StoreTurn(self, asked.at)
                with Scanning():
                    asked.do(turn)
                if self._closed:
                    break
        with suppress(StoreUnavailable):
            self._keep(turn)

    def _begin_turn(self) -> None:
        """See to it that the store can be changed, and holds nothing that the journal refused. Called by whoever has just got the turn."""
        self._check()
        if self._commits.refused:
            self._forget()
        if self._brief and self._commits.durable - self._applied > _MUCH and self._reader != threading.get_ident():
            self._widen()

    @block
    def alone(self) -> Iterator[None]:
        """Have the turn, in a store that can be changed and holds nothing that the journal refused.

        Raises StoreUnavailable; also where this thread reads, and whoever has the turn may be waiting for the end of that.
        """
        if self._read_only:
            raise StoreUnavailable("the store was opened for reading only; open it for writing")
        self._check_process()
        if self._has_turn():
            raise StoreUnavailable(_NESTED)
        reads = self._reader == threading.get_ident()
        if not reads:
            self._applier.make_room()
        release = self._turn_lock.release
        try:  # an interrupt may come at any moment, also when it has the lock
            if (reads and self._applier.crowded) or not self._turn_lock.acquire(timeout=PATIENCE if reads else -1):
                raise StoreUnavailable(_READS)
            self._begin_turn()
            yield
        finally:
            try:  # noqa: SIM105 no function may be called before this one: an interrupt could come first
                release()
            except RuntimeError:  # it was not had
                pass

    def _has_turn(self) -> bool:
        lock: Any = self._turn_lock
        owned: bool = lock._is_owned()
        return owned

    def _keep(self, turn: StoreTurn | None) -> None:
        """Return when what a turn did, and what it may have read of, is durable. Raises StoreUnavailable: it never will be."""
        if turn is not None:
            self._commits.until(turn.relied, turn.epoch)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreUnavailable(FORKED)

    def _check(self) -> None:
        if self._closed:
            raise StoreUnavailable(_CLOSED)
        if self._failure is not None:
            raise StoreUnavailable(self._failure)

    def _forget(self) -> None:
        """The journal refused: whatever was enlisted and is not durable never happened. Called by whoever has the turn."""
        while True:
            self._wait_applied(self._commits.durable)
            with self._commits.lock:
                self._commits.ascertain()
                if self._applied < self._commits.durable:  # somebody was writing, or had written, when somebody else was interrupted
                    continue
                self._given.let_go(durable.change for durable in self._commits.lost())
                self._given.begin_after(self._journal.last(), self.registry_version)
                self._commits.forget()
                return

    def _settle(self, *, registry: bool = False) -> None:
        """Inside a turn: everything enlisted before is durable and applied; with ``registry``, what concerns namespaces and parties."""
        wanted = self._given.registry_sequence if registry else self._given.sequence
        if self._commits.durable < wanted:
            self._commits.until(self._given.sequence, self._commits.epoch)
        self._wait_applied(wanted)

    def _enlist(self, changes: list[Change]) -> None:
        """Number the changes of a turn and queue them for the journal."""
        for base in {base for change in changes for base, _, _ in change.issued}:
            self._issued_in(base)
        try:
            self._commits.enlist(self._given.number(changes, self.catalogue))
        except BaseException:  # interrupted: numbers and claims of what never comes must not stay
            self._commits.refused = True  # first: whoever is interrupted again leaves the rest to the next turn
            self._given.let_go(changes)
            raise

    def _issued_in(self, base: str) -> dict[str, tuple[int, int]]:
        """Labels issued in each series of a namespace, and the highest."""
        known = self._given.series(base)
        if known is None:
            if not self._brief:  # nothing else is under way then
                self._settle()
            known = self._given.counted(base, self.catalogue)
        return known
