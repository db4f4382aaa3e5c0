"""The contract of a ledger: the journal (every change, in order) and the claims, in one SQL database.

The ledger decides which changes are acknowledged. Engine and catalogue are its projection. Each has a mark:
the number of the last row applied to it. A row is durable when `LedgerTransaction.commit` returns. Only then
is it projected and acknowledged.
"""

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from pyoxigraph import NamedNode

from idstore.model.change import Claim


class Head(NamedTuple):
    """State of the journal after a row.

    number     of the row; rows are numbered from 1, without gaps.
    sequence   sequence number of the last event.
    at, token  time (milliseconds since 1970) and token of the latest event; a new event must follow it.
    """

    number: int
    sequence: int
    at: int
    token: int


EMPTY_HEAD = Head(0, 0, 0, -1)
"""Head of an empty journal."""


class Row(NamedTuple):
    """A row of the journal.

    head  state of the journal after this row.
    body  the change or note, encoded by `idstore.model.codec`; None for a bulk, whose changes are not kept as
          text.
    """

    head: Head
    body: str | None


class NumberedClaim(NamedTuple):
    """A claim, and the number of the row that made it. Views with a lower mark do not see it."""

    claim: Claim
    number: int


class LedgerTransaction(Protocol):
    """The exclusive right to append, as a block. Leaving the block without a commit rolls back.

    Every method raises StoreUnavailable: nothing was changed. After a refused `commit`, a crash does not
    bring the changes back.
    `commit` also raises OutcomeUnknown: the outcome cannot be determined, and the ledger accepts no further
    changes until it is opened again.
    """

    @property
    def head(self) -> Head:
        """Head of the journal, including the commits of other processes."""

    def append(self, rows: Sequence[Row], claims: Sequence[NumberedClaim]) -> None:
        """Append rows, starting right after the head, and their claims.

        Raises AlreadyRegistered: a key is claimed already.
        """

    def switch(self, generation: int, row: Row, claims: Iterable[NumberedClaim]) -> None:
        """Make another generation the present one.

        ``row`` has no body; the generation contains every earlier row. ``claims`` are ordered by key.
        """

    def replace_digests(self, claims: Sequence[Claim]) -> None:
        """Replace the digests of claims that are made already."""

    def prune(self, number: int) -> None:
        """Delete rows up to a number; the last row and all claims stay."""

    def commit(self) -> None:
        """Make all changes durable, or none."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Ledger(Protocol):
    """The ledger of one store. Any thread may read; one thread at a time has a transaction."""

    @property
    def origin(self) -> str:
        """The store's UUID."""

    @property
    def generation(self) -> int:
        """Number of the present generation of engine and catalogue."""

    def head(self) -> Head:
        """Return the head of the journal. Raises StoreUnavailable, StoreDamaged."""

    def rows(self, after: int) -> Iterator[Row]:
        """Yield the rows after a number up to the last, in order and without gaps.

        Raises StoreDamaged: a row is missing, was altered, or was pruned; StoreUnavailable.
        """

    def claim(self, key: NamedNode) -> NumberedClaim | None:
        """Return the claim of a key. Raises StoreUnavailable, StoreDamaged."""

    def claims(self, until: int) -> Iterator[Claim]:
        """Yield the claims of rows up to a number, by key. Memory: constant."""

    def transaction(self) -> LedgerTransaction:
        """Return a transaction. It begins when its block is entered, after those of other processes."""

    def scrub(self) -> None:
        """Remove what the database keeps of deleted rows. Raises StoreUnavailable: some may remain."""

    def faults(self) -> Iterator[str]:
        """Yield the faults of the database."""

    def close(self) -> None:
        """Close the database."""
