"""An error reveals nothing of other acts in the same batch."""

import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from store_files import Thread, create
from store_ledgers import SlowLedger

from idstore.errors import AlreadyRegistered, StoreUnavailable
from idstore.stores.contract import Transaction
from idstore.stores.ledger.contract import LedgerTransaction
from idstore.stores.store import DirectoryStore

NAMES = ("ann", "ben", "cleo")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    create(tmp_path / "store").close()
    return tmp_path / "store"


def act_of(name: str) -> Callable[[Transaction], str]:
    """An act that handles an error, has variables, and is refused."""

    def act(transaction: Transaction) -> str:
        hidden = f"draft of {name}"
        transaction.note(name, hidden)
        try:
            return str(int(hidden))
        except ValueError as error:
            raise AlreadyRegistered(f"taken, {name}") from error

    return act


def texts_of(error: BaseException | None, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the text of an error, with the variables of its traceback, its cause and its context."""
    if error is None or id(error) in seen:
        return
    summary = traceback.TracebackException.from_exception(error, capture_locals=True)
    yield "".join(summary.format())
    for other in (error.__cause__, error.__context__):
        yield from texts_of(other, seen | {id(error)})


def errors(store: DirectoryStore, act: Callable[[str], Callable[[Transaction], str]]) -> dict[str, Exception]:
    """Run an act for each name in one batch, and return the errors."""

    def caught(name: str) -> Exception:
        try:
            store.write(act(name))
        except (AlreadyRegistered, StoreUnavailable) as error:
            return error
        raise AssertionError(name)

    with store.bulk():  # acts wait meanwhile, and then share a batch
        threads = {name: Thread(partial(caught, name)) for name in NAMES}
    return {name: thread.result() for name, thread in threads.items()}


def test_the_error_of_an_act_reveals_nothing_of_other_acts(place: Path) -> None:
    with DirectoryStore(place) as store:
        for name, error in errors(store, act_of).items():
            assert error.args == (f"taken, {name}",)
            text = "".join(texts_of(error))
            assert f"draft of {name}" in text
            assert not [other for other in NAMES if other != name and f"draft of {other}" in text]


def test_the_error_of_a_refused_commit_reveals_nothing_of_other_acts(place: Path) -> None:
    def refuse(_: LedgerTransaction) -> None:
        raise StoreUnavailable("no space; nothing was changed")

    def noting(name: str) -> Callable[[Transaction], str]:
        def act(transaction: Transaction) -> str:
            transaction.note(name, f"draft of {name}")
            return name

        return act

    ledgers: list[SlowLedger] = []

    def opened(folder: Path) -> SlowLedger:
        ledgers.append(SlowLedger(folder))
        return ledgers[0]

    with DirectoryStore(place, ledger=opened) as store:
        for _ in NAMES:
            ledgers[0].fail_next(refuse)
        raised = errors(store, noting)
        assert len({id(error) for error in raised.values()}) == len(NAMES)
        assert [
            other
            for error in raised.values()
            for other in NAMES
            if f"draft of {other}" in "".join(texts_of(error))
        ] == []
