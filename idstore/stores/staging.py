"""The turn for a large change: it is made in a generation that is being prepared."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pyoxigraph import NamedNode

from idstore.errors import IdstoreError, StoreUnavailable
from idstore.model.change import Change
from idstore.model.history import History
from idstore.stores import bases
from idstore.stores.blocks import block
from idstore.stores.founding import discard
from idstore.stores.generation import Generation, OfGeneration, is_abandoned
from idstore.stores.inherited import need_threads
from idstore.stores.journal import Written, write
from idstore.stores.scans import Scanning
from idstore.stores.turns import Numbering, concerns_registry

if TYPE_CHECKING:
    from idstore.stores.embedded import EmbeddedStore

T = TypeVar("T")

_STAGE_BATCH = 500
"""Changes that a staged generation takes at once."""


class Staged(Numbering, OfGeneration):
    """The turn inside `EmbeddedStore.staging`: what is enlisted is there for the next reading, and in effect when the block has ended.

    It is a store itself, whose every turn is that one turn, so that a registry over it has its rules carried out there.
    """

    def __init__(self, store: "EmbeddedStore", generation: Generation, empty: bool) -> None:
        given = store._given
        super().__init__(store.origin, 0 if empty else given.at, -1 if empty else given.token)
        self._generation = generation
        self.last: Written | None = None
        self._next_version = given.next_version  # never the number of another state
        self.registry_version = self._next_version()
        self._sequence = 0 if empty else given.sequence
        self._waiting: list[tuple[int, Change]] = []
        self._claims: dict[NamedNode, NamedNode] = {}

    def _ready(self, predicate: NamedNode | None = None, graph: NamedNode | None = None) -> Generation:  # noqa: ARG002 everything, at once
        self._apply()
        return self._generation

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label."""
        return self._claims.get(claimed) or self._generation.holder(claimed)

    def issued(self, namespace: str) -> dict[str, tuple[int, int]]:
        """Labels issued per series."""
        return self.catalogue.series(namespace)

    def enlist(self, change: Change) -> None:
        """Make a change, before the next reading."""
        self._sequence += len(change.events)
        self._waiting.append((self._sequence, change))
        self._claims.update(change.claims)
        if concerns_registry(change):
            self.registry_version = self._next_version()
        if len(self._waiting) >= _STAGE_BATCH:
            self._apply()

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._sequence

    def number(self, sequence: int) -> None:
        """Give the next event that is enlisted this number; numbers in between are for what `load` will be given."""
        self._apply()
        self._sequence = sequence - 1

    def load(self, histories: Iterable[History]) -> None:
        """Take in identifiers of which nothing is known here; their events have the numbers that no other has.

        They are there for the next reading when this returns.
        """
        from idstore.stores.loading import Loading  # what only allocates does without it

        self._apply()
        loading = Loading(self._generation)
        try:
            for history in histories:
                loading.take(history)
                last = history.events[-1]
                if last.sequence > self._sequence:
                    self._sequence = last.sequence
                    self.last = write(Change(((last.event, last.graph),)), last.sequence)
            loading.finish(self._sequence)
        finally:
            loading.stop()

    def _apply(self) -> None:
        if not self._waiting:
            return
        self._generation.apply(self._waiting)
        self.last = write(self._waiting[-1][1], self._sequence)
        self._waiting.clear()
        self._claims.clear()

    @block
    def reading(self) -> Iterator["Staged"]:
        """Everything enlisted included."""
        self._apply()
        with Scanning():
            yield self

    @block
    def turn(self) -> Iterator["Staged"]:
        """The turn that this is."""
        with Scanning():
            yield self

    def together(self, act: Callable[["Staged"], T]) -> T:
        """Do an act in the turn that this is."""
        with self.turn() as turn:
            return act(turn)

    def snapshot(self) -> AbstractContextManager[Path]:
        """Raises StoreUnavailable: what is under way is not there yet to be queried."""
        raise StoreUnavailable("a change under way cannot be queried; end it first")

    @block
    def staging(self, *, anew: bool = False) -> Iterator["Staged"]:
        """The turn that this is; it cannot begin again with nothing."""
        if anew:
            raise StoreUnavailable("a change under way cannot begin again with nothing")
        yield self

    def close(self) -> None:
        """Nothing to give up: the block that gave it ends it."""

    def finish(self) -> None:
        """Bring the generation to disk."""
        self._apply()
        if self.last is not None:
            bases.keep(self._generation.folder, self.last.sequence, self.last.event, self._generation.copy_engine)
        self._generation.sync()
        self._generation.sync_folder()


@block
def staging(store: "EmbeddedStore", *, anew: bool = False) -> Iterator[Staged]:
    """Take the turn for a change too large for one batch: it is made in the next generation, which takes effect when the block ends without an error.

    anew  begin with nothing where nothing has happened yet but the registry's beginning; otherwise with a copy of the present state.
    Until then readers see the present state; whatever stops the block, a power cut included, leaves it as it was.
    Raises StoreUnavailable.
    """
    store.refuse_reader()  # who would read two states as one
    with store.alone():
        need_threads()
        if store._brief:
            store._widen()  # what an engine copies that is open to be read alone lacks what is in its log
        store._settle()
        empty = anew and store._given.sequence <= 1
        number = next(one for one in count(store._journal.generation + 1) if not is_abandoned(store._folder(one)))
        folder = store._folder(number)
        discard([folder])
        staged: Staged | None = None
        give_up = Generation.close
        try:
            if not empty:
                store._generation.copy(folder)
            staged = Staged(store, Generation(folder, create=empty), empty)
            with Scanning():
                yield staged
            store._check_process()  # a fork ends the block as well
            staged.finish()
            if staged.last is not None:
                store.switch(number, staged._generation, staged.last)
        except (OSError, sqlite3.Error) as error:
            give_up = Generation.abandon
            if isinstance(error, IdstoreError):
                raise
            raise StoreUnavailable(
                f"the store at {store.path} cannot be written: {error}; nothing was changed, free some space and try again"
            ) from error
        finally:
            if store._process == os.getpid() and store._failure is None and store._generation.folder != folder:
                if staged is not None:
                    give_up(staged._generation)
                discard([folder])
