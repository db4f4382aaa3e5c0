"""What the registry needs of a store.

A store holds quads, the catalogue and the log's order. It changes in one way: somebody takes the *turn*, checks, and enlists a `Change`; when the turn
ends without an error the change is durable, and from then on visible. Whoever reads sees whole changes, and only durable ones.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pyoxigraph import NamedNode, Quad

if TYPE_CHECKING:
    from idstore.model.change import Change
    from idstore.model.history import History
    from idstore.model.terms import Term
    from idstore.progress import Progress
    from idstore.stores.catalogue import Catalogue

T = TypeVar("T")


class View(Protocol):
    """A state of the store, to read. Valid inside the ``with`` block that gave it."""

    @property
    def registry_version(self) -> int:
        """Moves with every change of the registry graph or of a suspension: under one number, parties and namespaces are the same."""

    @property
    def catalogue(self) -> "Catalogue":
        """Lists, counts, the order of events."""

    def quads(
        self,
        subject: NamedNode | None = None,
        predicate: NamedNode | None = None,
        value: "Term | None" = None,
        graph: NamedNode | None = None,
    ) -> Iterator[Quad]:
        """The quads that match; None matches anything. Cost: the quads given."""

    def spelled(self, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None) -> list[str]:
        """What a graph says of subjects, or of whatever leads to them by the relation ``through``: N-Quads without the dot, in any order.

        Where `Store.reading` gave the view, other threads may call it while the block runs. Cost: for many subjects half of what `quads` takes.
        """

    def graphs(self) -> Iterator[NamedNode]:
        """Every named graph, those included that were emptied."""

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key; None if it was never issued."""

    def faults(self, progress: "Progress") -> Iterator[str]:
        """What is wrong with the store's files, whatever they mean. Cost: some 70 µs for each quad. Memory: flat."""


class Turn(View, Protocol):
    """The one lock around check and write.

    It reads what other turns have enlisted, also what is not durable yet; what comes of it is told when that is durable.
    """

    @property
    def origin(self) -> str:
        """The store's UUID, for new events."""

    @property
    def moment(self) -> int:
        """The time for new events, milliseconds since 1970: never before that of an earlier event."""

    @property
    def asked(self) -> int:
        """When the turn was asked for, or, once something is enlisted in it, the present time; milliseconds since 1970."""

    def token(self) -> int:
        """The number that a new event is named by; give them out in the order of the events."""

    def issued(self, namespace: str) -> dict[str, tuple[int, int]]:
        """How many labels of each series of a namespace were ever issued, and the highest number. Not to be changed."""

    def enlist(self, change: "Change") -> None:
        """Have a change made when the turn ends. Raises StoreUnavailable."""


class Staging(Turn, Protocol):
    """The turn for a large change: also a store, in which whatever a registry does becomes part of the change."""

    @property
    def sequence(self) -> int:
        """The number of the last event."""

    @property
    def behind(self) -> str:
        """Empty: nothing is missed."""

    def number(self, sequence: int) -> None:
        """Give the next event that is enlisted this number, higher than any; numbers in between are for what `load` will be given."""

    def load(self, histories: "Iterable[History]") -> None:
        """Take in identifiers of which nothing is known here; their events have the numbers that no other has.

        Cost: for each of them far less than enlisting its events. Memory: flat.
        """

    def reading(self) -> AbstractContextManager[View]:
        """Everything enlisted included."""

    def turn(self) -> AbstractContextManager[Turn]:
        """The turn that this is."""

    def together(self, act: Callable[[Turn], T]) -> T:
        """Do an act in the turn that this is."""

    def snapshot(self) -> AbstractContextManager[Path]:
        """Raises StoreUnavailable: what is under way is not there yet to be queried."""

    def staging(self, *, anew: bool = False) -> AbstractContextManager["Staging"]:
        """The turn that this is."""

    def close(self) -> None:
        """Nothing to give up."""


class Store(Protocol):
    """A store of identifiers."""

    @property
    def origin(self) -> str:
        """The store's UUID."""

    @property
    def behind(self) -> str:
        """Why some of the newest changes are not seen, and what to do about it; empty where all are.

        Allocations wait to be applied, and whoever reads may not do it; or whoever holds the store does not answer.
        """

    def reading(self) -> AbstractContextManager[View]:
        """The newest durable state, for a moment: writers wait meanwhile."""

    def snapshot(self) -> AbstractContextManager[Path]:
        """The newest durable state in a folder of its own, which the engine opens and nobody changes while the block runs.

        It needs no lock of the store's: readers and writers go on. Inside `reading` it is the very state that is read there.
        Raises StoreUnavailable. Cost: some milliseconds for each new state, whatever its size; those who want the same one share it.
        """

    def turn(self) -> AbstractContextManager[Turn]:
        """Take the turn. When the block ends without an error, what was enlisted is durable.

        Raises StoreUnavailable: the store cannot be written, and nothing was changed.
        """

    def together(self, act: Callable[[Turn], T]) -> T:
        """Do an act in a turn, perhaps with those that other threads ask for at that moment: one of them does all, and wakes the others.

        act  is not to wait for anything; another thread may do it.
        Returns what the act gives, when what it enlisted is durable. Raises what it raises, and StoreUnavailable as `turn`.
        Cost: for many threads half of what a `turn` takes, and for one the same.
        """

    def staging(self, *, anew: bool = False) -> AbstractContextManager["Staging"]:
        """Take the turn for a change too large for one batch; it takes effect whole when the block ends without an error.

        anew  begin with nothing where nothing has happened yet but the registry's beginning; otherwise with a copy of the present state.
        Raises StoreUnavailable.
        """

    def close(self) -> None:
        """Give the store up. What was acknowledged is kept."""
