"""The turn: one thread's lock around check and write."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from idstore import randomness
from idstore.model import times
from idstore.model.change import Change
from idstore.model.terms import Term
from idstore.stores.generation import Generation, OfGeneration
from idstore.stores.pending import laid_over
from idstore.vocabulary import IDS, REGISTRY_GRAPH

if TYPE_CHECKING:
    from idstore.stores.waiting import Waiting

_HIGHEST = 2**63 - 2**56
"""From here on a token has no successor that SQLite could hold: so far it rises only while the clock stands behind the last event."""


class Numbering:
    """The origin, times and tokens of new events."""

    def __init__(self, origin: str, at: int, token: int) -> None:
        self.origin = origin
        self.moment = max(times.now(), at)
        self._token = token if self.moment == at else -1

    @property
    def asked(self) -> int:
        """The clock."""
        return times.now()

    def token(self) -> int:
        """The number of a new event: random, but rising within a millisecond; the moment moves on when there is no higher one."""
        if self._token > _HIGHEST:
            self.moment, self._token = self.moment + 1, -1
        self._token = randomness.bits(62) if self._token < 0 else self._token + _step()
        return self._token


def _step() -> int:
    """How far a token rises: so unevenly that one step looks like several, and nobody reads off two of his own whether somebody acted in between."""
    return 1 + randomness.bits(40 + randomness.bits(4))


class StoreTurn(Numbering, OfGeneration):
    """The turn of one thread: see `idstore.stores.Turn`.

    It reads everything enlisted before, also what is not durable yet, so that it need not wait for it and is written together with it. What
    comes of the turn may be told when ``relied`` is durable.

    relied  sequence number of the last change before it, or that it enlisted. Whatever was read, an answer waits for it: else one that rests on a hidden
            change of this moment would come later than others.
    """

    def __init__(self, store: "Waiting", asked: int) -> None:
        super().__init__(store.origin, store._given.at, store._given.token)
        self._asked = asked
        self._store = store
        self._changes: list[Change] = []
        self._claims: dict[NamedNode, NamedNode] = {}
        self.relied = store._given.sequence
        self.epoch = store._commits.epoch

    @property
    def asked(self) -> int:
        """When it was asked for; the present time once something is enlisted, which took one of the moments before."""
        return times.now() if self._changes else self._asked

    @property
    def registry_version(self) -> int:
        """Everything earlier included, also what is not applied yet."""
        return self._store._given.registry_version

    def _ready(self, predicate: NamedNode | None = None, graph: NamedNode | None = None) -> Generation:
        self._store._settle(registry=_of_registry(predicate, graph))
        return self._store._generation

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: Term | None = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match; of a subject or an object without waiting for earlier changes to be applied."""
        store = self._store
        if (subject is None and value is None) or _of_registry(predicate, graph):
            return super().quads(subject, predicate, value, graph)
        over = store._given.pending.over(subject, predicate, value, graph)
        return laid_over(over, store._generation.quads(subject, predicate, value, graph))

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label, also by what this turn has enlisted; without waiting for earlier changes to be applied."""
        return self._claims.get(claimed) or self._store._given.holder(claimed) or self._store.holder(claimed)

    def issued(self, namespace: str) -> dict[str, tuple[int, int]]:
        """Labels issued per series."""
        return self._store._issued_in(namespace)

    def enlist(self, change: Change) -> None:
        """Have a change made when the turn ends."""
        self._changes.append(change)
        self._claims.update(change.claims)

    def hand_over(self) -> None:
        """Give the changes their sequence numbers and hand them to the journal."""
        self._store._commits.check(self.epoch)
        if self._changes:
            self._store._enlist(self._changes)
            self.relied = self._store._given.sequence


def _of_registry(predicate: NamedNode | None, graph: NamedNode | None) -> bool:
    """Whether quads like these concern namespaces and parties alone."""
    return graph == REGISTRY_GRAPH or predicate == IDS.suspended


def concerns_registry(change: Change) -> bool:
    """Whether what is known of parties and namespaces is old after the change."""
    return any(quad.graph_name == REGISTRY_GRAPH or quad.predicate == IDS.suspended for quad in (*change.add, *change.remove))
