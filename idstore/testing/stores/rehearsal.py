"""Runs every act twice, as a store may do."""

from contextlib import suppress
from typing import NoReturn, TypeVar

from idstore.stores.contract import Store, Transaction
from idstore.testing.stores.changes import Act

T = TypeVar("T")


class _Refusal(Exception):
    """Ends a rehearsal."""


def rehearsed(store: Store, act: Act[T]) -> T:
    """Run an act in a transaction that is rolled back, then again. Returns the answer of the second run.

    A store may run an act again. So this fails for an act that works only once, and for a store that keeps
    anything of an abandoned run. Raises the errors of the second run.
    """

    def rehearse(transaction: Transaction) -> NoReturn:
        act(transaction)
        raise _Refusal

    with suppress(Exception):  # the act raises its error again, or it has another answer by then
        store.write(rehearse)
    return store.write(act)
