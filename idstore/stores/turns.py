"""The turn: one thread's lock around check and write, in the present generation or in one that is being prepared."""

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from idstore.errors import StoreUnavailable
from idstore.model import times
from idstore.model.change import Change
from idstore.model.terms import Term
from idstore.stores import bases
from idstore.stores.catalogue import Catalogue
from idstore.stores.generation import Generation
from idstore.stores.journal import Written, write
from idstore.stores.scans import scanning
from idstore.vocabulary import IDS, REGISTRY_GRAPH

if TYPE_CHECKING:
    from idstore.stores.embedded import EmbeddedStore

_HIGHEST = 2**63 - 2**41
"""From here on a token has no successor that SQLite could hold: so far it rises only while the clock stands behind the last event."""


class Numbering:
    """The origin, times and tokens of new events."""

    def __init__(self, origin: str, at: int, token: int) -> None:
        self.origin = origin
        self.moment = max(times.now(), at)
        self._token = token if self.moment == at else -1

    def token(self) -> int:
        """The number of a new event: random, but rising within a millisecond; the moment moves on when there is no higher one."""
        if self._token > _HIGHEST:
            self.moment, self._token = self.moment + 1, -1
        self._token = secrets.randbits(62) if self._token < 0 else self._token + 1 + secrets.randbits(40)
        return self._token


class StoreTurn(Numbering):
    """The turn of one thread: see `idstore.stores.Turn`."""

    def __init__(self, store: "EmbeddedStore") -> None:
        super().__init__(store.origin, store._at, store._token)
        self._store = store
        self._changes: list[Change] = []
        self._claims: dict[NamedNode, NamedNode] = {}
        self.sequence = 0
        self.epoch = store._epoch

    @property
    def registry_version(self) -> int:
        """Everything earlier included, also what is not applied yet."""
        return self._store._registry_enlisted

    @property
    def catalogue(self) -> Catalogue:
        """Lists and counts, everything earlier included."""
        self._store._settle()
        return self._store.catalogue

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match, everything earlier included."""
        self._store._settle(registry=graph == REGISTRY_GRAPH or predicate == IDS.suspended)
        return self._store.quads(subject, predicate, value, graph)

    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph."""
        self._store._settle()
        return self._store.graphs()

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label, also by what this turn has enlisted; without waiting for earlier changes to be applied."""
        return self._claims.get(claimed) or self._store.holder(claimed)

    def issued(self, namespace: str) -> dict[str, tuple[int, int]]:
        """Labels issued per series."""
        return self._store._issued_in(namespace)

    def enlist(self, change: Change) -> None:
        """Have a change made when the turn ends."""
        self._changes.append(change)
        self._claims.update(change.claims)

    def hand_over(self) -> None:
        """Give the changes their sequence numbers and hand them to the journal."""
        self._store._check_journal(self.epoch)
        if self._changes:
            self._store._enlist(self._changes)
            self.sequence = self._store._sequence


_STAGE_BATCH = 500
"""Changes that a staged generation takes at once."""


class Staged(Numbering):
    """The turn inside `EmbeddedStore.staging`: what is enlisted is there for the next reading, and in effect when the block has ended.

    It is a store itself, whose every turn is that one turn, so that a registry over it has its rules carried out there.
    """

    def __init__(self, store: "EmbeddedStore", generation: Generation, empty: bool) -> None:
        super().__init__(store.origin, 0 if empty else store._at, -1 if empty else store._token)
        self.generation = generation
        self.last: Written | None = None
        self._versions = store._versions  # never the number of another state
        self.registry_version = next(self._versions)
        self._sequence = 0 if empty else store._sequence
        self._waiting: list[tuple[int, Change]] = []
        self._claims: dict[NamedNode, NamedNode] = {}
        self._issued: dict[str, dict[str, tuple[int, int]]] = {}

    @property
    def catalogue(self) -> Catalogue:
        """Lists and counts, everything enlisted included."""
        self._apply()
        return self.generation.catalogue

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match, everything enlisted included."""
        self._apply()
        return self.generation.quads(subject, predicate, value, graph)

    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph."""
        self._apply()
        return self.generation.graphs()

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label."""
        return self._claims.get(claimed) or self.generation.holder(claimed)

    def issued(self, namespace: str) -> dict[str, tuple[int, int]]:
        """Labels issued per series."""
        return self.catalogue.series(namespace)

    def enlist(self, change: Change) -> None:
        """Make a change, before the next reading."""
        self._sequence += len(change.events)
        self._waiting.append((self._sequence, change))
        self._claims.update(change.claims)
        if concerns_registry(change):
            self.registry_version = next(self._versions)
        if len(self._waiting) >= _STAGE_BATCH:
            self._apply()

    def _apply(self) -> None:
        if not self._waiting:
            return
        self.generation.apply(self._waiting)
        self.last = write(self._waiting[-1][1], self._sequence)
        self._waiting.clear()
        self._claims.clear()

    @contextmanager
    def reading(self) -> Iterator["Staged"]:
        """Everything enlisted included."""
        self._apply()
        with scanning():
            yield self

    @contextmanager
    def turn(self) -> Iterator["Staged"]:
        """The turn that this is."""
        with scanning():
            yield self

    def snapshot(self) -> AbstractContextManager[Path]:
        """Raises StoreUnavailable: what is under way is not there yet to be queried."""
        raise StoreUnavailable("a change under way cannot be queried; end it first")

    @contextmanager
    def staging(self, *, empty: bool = False) -> Iterator["Staged"]:
        """The turn that this is; it cannot begin again with nothing."""
        if empty:
            raise StoreUnavailable("a change under way cannot begin again with nothing")
        yield self

    def close(self) -> None:
        """Nothing to give up: the block that gave it ends it."""

    def finish(self) -> None:
        """Bring the generation to disk."""
        self._apply()
        if self.last is not None:
            bases.keep(self.generation.folder, self.last.sequence, self.last.event, self.generation.copy_engine)
        self.generation.sync()
        self.generation.sync_folder()


def concerns_registry(change: Change) -> bool:
    """Whether what is known of parties and namespaces is old after the change."""
    return any(quad.graph_name == REGISTRY_GRAPH or quad.predicate == IDS.suspended for quad in (*change.add, *change.remove))
