"""Group commit: what is numbered and not on disk yet is written to the journal by one of those who wait for it, for all.

Whatever the journal refuses never happened. Sequence numbers are given anew then, in another epoch.
"""

import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from idstore.errors import StoreUnavailable
from idstore.stores.applying import Durable, Unit
from idstore.stores.journal import Journal, Written
from idstore.stores.leading import Leading

_ENDED: Final = "the store was closed meanwhile; nothing was changed, open it again"
_REFUSED: Final = "the journal could not be written; nothing was changed, free some space and try again"


class Enlisted(NamedTuple):
    """A change on its way: numbered, and perhaps durable, but not applied."""

    durable: Durable
    written: Written

    @property
    def sequence(self) -> int:
        """That of its last event."""
        return self.written.sequence


EnlistedUnit: TypeAlias = tuple[Enlisted, ...]
"""The changes of one turn: written together."""


class Commits:
    """What is on its way to a journal.

    hand_on  is given what the journal has, in order; after an interrupt perhaps once more.
    lock     is held by whoever uses the journal.
    durable  sequence number of the last change that the journal has.
    epoch    rises when the journal has refused something.
    refused  whether it has, in this epoch, or whoever numbers changes was interrupted; then nothing is written until `forget`.
    Safe for many threads, also where one is interrupted.
    """

    def __init__(self, journal: Journal, hand_on: Callable[[list[Unit]], None]) -> None:
        self.lock = threading.Lock()
        self.durable = journal.last()[0]
        self.epoch = 0
        self.refused = False
        self._journal = journal
        self._put = hand_on
        self._leading = Leading()
        self._enlisted: list[EnlistedUnit] = []  # and no deque: others add to it while it is read
        self._ended = False
        self._unsure = False  # whether the journal may hold something that is still enlisted
        self._reached: dict[int, int] = {}  # of each epoch that has ended: what was durable by then

    def enlist(self, unit: EnlistedUnit) -> None:
        """Have changes written with the next group."""
        self._enlisted.append(unit)

    def until(self, sequence: int, epoch: int) -> None:
        """Return when a change is on disk. Raises StoreUnavailable: it never will be."""
        self._leading.until(lambda: self._is_durable(sequence, epoch), lambda: self._write(sequence, epoch))

    def check(self, epoch: int) -> None:
        """Raise StoreUnavailable if the journal refused what was enlisted in ``epoch``."""
        if self.refused or epoch != self.epoch:
            raise StoreUnavailable(_REFUSED)

    def lost(self) -> list[Durable]:
        """What the journal refused, or was not given any more."""
        return [change.durable for unit in self._enlisted for change in unit]

    def ascertain(self) -> None:
        """See what the journal has of what is enlisted, where an interrupt left that open. Called with the lock held."""
        if self._unsure:
            self._journal.undo()  # a second interrupt may have kept it from being taken back
            self._hand_on(self._journal.last()[0])

    def forget(self) -> None:
        """Begin anew after the last change that is durable. Called with the lock held, by whoever numbers changes."""
        self._enlisted.clear()
        self._reached[self.epoch] = self.durable
        self.epoch += 1
        self.refused = False  # last: who is interrupted before begins again

    def end(self) -> None:
        """Bring what is enlisted to the journal, and nothing after it. Raises StoreUnavailable."""
        try:
            if self._enlisted:
                self.until(self._enlisted[-1][-1].sequence, self.epoch)
        finally:
            with self.lock:
                self._ended = True

    def _is_durable(self, sequence: int, epoch: int) -> bool:
        durable = self.durable  # before the epoch is looked at: after it, sequence numbers are given anew
        return sequence <= (durable if epoch == self.epoch else self._reached[epoch])

    def _write(self, sequence: int, epoch: int) -> None:
        """Write whatever is enlisted, unless that is done already."""
        with self.lock:
            if self._ended:
                raise StoreUnavailable(_ENDED)
            self.ascertain()
            if self._is_durable(sequence, epoch):
                return
            self.check(epoch)
            units = list(self._enlisted)
            if not units:
                return
            self._unsure = True  # Ctrl-C may come at any moment, also when the disk has them
            try:
                self._journal.append([change.written for unit in units for change in unit])
            except StoreUnavailable:
                self.refused, self._unsure = True, False
                raise
            self._hand_on(units[-1][-1].sequence)

    def _hand_on(self, written: int) -> None:
        """Hand on what the journal holds, up to a sequence number; from now on it is durable."""
        units = [unit for unit in self._enlisted if unit[-1].sequence <= written]
        self._put([tuple([change.durable for change in unit]) for unit in units])
        del self._enlisted[: len(units)]
        self.durable = max(self.durable, written)
        self._unsure = False
