"""Helpers for tests of stores: a ledger with slow or failing commits, as on a slow or broken disk."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pyoxigraph import NamedNode
from store_files import PATIENCE

from idstore.model.change import Claim
from idstore.stores.ledger.contract import Head, LedgerTransaction, NumberedClaim, Row
from idstore.stores.ledger.sqlite import SqliteLedger


class SlowLedger:
    """The ledger in a folder, with commits that can be delayed and made to fail.

    begun    released at the start of each commit.
    commits  the number of rows of each attempted commit.
    """

    def __init__(self, folder: Path) -> None:
        self._ledger = SqliteLedger(folder / "ledger.sqlite")
        self.begun = threading.Semaphore(0)
        self.commits: list[int] = []
        self._held = False
        self._permits = threading.Semaphore(0)
        self._failures: list[Callable[[LedgerTransaction], None]] = []

    def hold(self) -> None:
        """Make commits wait."""
        self._held, self._permits = True, threading.Semaphore(0)

    def let_one(self) -> None:
        """Let one commit continue."""
        self._permits.release()

    def let_go(self) -> None:
        """Let all commits continue."""
        self._held = False
        self._permits.release()

    def fail_next(self, failure: Callable[[LedgerTransaction], None]) -> None:
        """Replace the next commit by a function that raises."""
        self._failures.append(failure)

    def commit(self, transaction: LedgerTransaction, rows: int) -> None:
        self.commits.append(rows)
        self.begun.release()
        assert not self._held or self._permits.acquire(timeout=PATIENCE)
        if self._failures:
            self._failures.pop()(transaction)
        else:
            transaction.commit()

    # contract

    @property
    def origin(self) -> str:
        return self._ledger.origin

    @property
    def generation(self) -> int:
        return self._ledger.generation

    def head(self) -> Head:
        return self._ledger.head()

    def rows(self, after: int) -> Iterator[Row]:
        return self._ledger.rows(after)

    def claim(self, key: NamedNode) -> NumberedClaim | None:
        return self._ledger.claim(key)

    def claims(self, until: int) -> Iterator[Claim]:
        return self._ledger.claims(until)

    def transaction(self) -> "SlowTransaction":
        return SlowTransaction(self, self._ledger.transaction())

    def scrub(self) -> None:
        self._ledger.scrub()

    def faults(self) -> Iterator[str]:
        return self._ledger.faults()

    def close(self) -> None:
        self._ledger.close()


class SlowTransaction:
    """A transaction of `SlowLedger`."""

    def __init__(self, ledger: SlowLedger, inner: LedgerTransaction) -> None:
        self._ledger, self._inner, self._rows = ledger, inner, 0

    @property
    def head(self) -> Head:
        return self._inner.head

    def append(self, rows: Sequence[Row], claims: Sequence[NumberedClaim]) -> None:
        self._rows += len(rows)
        self._inner.append(rows, claims)

    def switch(self, generation: int, row: Row, claims: Iterable[NumberedClaim]) -> None:
        self._inner.switch(generation, row, claims)

    def replace_digests(self, claims: Sequence[Claim]) -> None:
        self._inner.replace_digests(claims)

    def prune(self, number: int) -> None:
        self._inner.prune(number)

    def commit(self) -> None:
        self._ledger.commit(self._inner, self._rows)

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
