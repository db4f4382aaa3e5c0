"""Large changes that are prepared aside."""

from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import pytest

from idstore.errors import AlreadyRegistered, NotPermitted, StoreUnavailable
from idstore.model.change import Claim
from idstore.model.record import Record
from idstore.stores.contract import Bulk, Store, Transaction
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    SERIES,
    comment,
    commenting,
    is_minted,
    key,
    mint,
    minting,
    quad,
    read_all_minted,
    read_minted,
    read_texts,
    texts,
    thing,
)
from idstore.testing.stores.processes import in_process
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import pinned_state, state_in, state_of
from idstore.testing.stores.threads import Running, together

MANY: Final = 600
"""Number of changes that exceeds any batch."""


class Stop(Exception):
    """Ends a bulk early."""


def give_up(store: Store, prepare: Callable[[Bulk], object], *, fresh: bool = False) -> None:
    """Prepare a bulk whose block ends with an error."""
    with pytest.raises(Stop), store.bulk(fresh=fresh) as bulk:  # noqa: PT012 the error is the point
        prepare(bulk)
        raise Stop


class BulkTests(StoreCase):
    """`Store.bulk`."""

    def test_bulk_takes_effect_in_one_step(self, store: Store, folder: Path) -> None:
        """Before the end of the block nothing is visible outside.

        Afterwards everything is, even after reopening.
        """
        rehearsed(store, minting("a", number=1))
        before = state_of(store)
        with store.bulk() as bulk:
            for number in range(MANY):
                mint(bulk, f"n{number}", number)
            bulk.note("first", "bulk")
            assert state_of(store) == before
            assert Running(partial(state_of, store)).result() == before
            assert not read_minted(store, "n0")
        state = state_of(store)
        assert state.sequence == MANY + 1
        assert state.counts[2:] == ((MANY + 1, MANY + 1), ((SERIES, (MANY + 1, MANY - 1)),))
        assert state.notes[0] == "bulk"
        assert read_all_minted(store, ["a", *(f"n{number}" for number in range(0, MANY, 50))])
        store.close()
        assert in_process(state_in, type(self).opener, folder) == state

    def test_bulk_sees_what_it_enlisted(self, store: Store) -> None:
        """Questions, acts and the bulk itself see the old state and everything enlisted so far."""
        rehearsed(store, commenting("a", add=[quad("a", "old")]))
        with store.bulk() as bulk:
            assert bulk.behind == ""
            assert bulk.origin == store.origin
            comment(bulk, "a", remove=[quad("a", "old")], add=[quad("a", "new")])
            assert texts(bulk, "a") == ["new"]
            rehearsed(bulk, minting("b"))
            assert is_minted(bulk, "b")
            assert bulk.read(lambda view: (texts(view, "a"), is_minted(view, "b"))) == (["new"], True)
            assert rehearsed(
                bulk, lambda transaction: (texts(transaction, "a"), is_minted(transaction, "b"))
            ) == (["new"], True)
            assert bulk.sequence == bulk.catalogue.sequence == 3
            with pytest.raises(AlreadyRegistered):
                rehearsed(bulk, minting("b"))
            bulk.close()
            assert bulk.sequence == 3
        assert read_texts(store, "a") == ["new"]
        assert read_minted(store, "b")

    def test_act_that_raises_leaves_nothing_in_the_bulk(self, store: Store) -> None:
        """Acts before and after it count, and the sequence numbers have no gap."""

        def failing(transaction: Transaction) -> NoReturn:
            mint(transaction, "b", number=9)
            comment(transaction, "a", remove=[quad("a", "kept")], add=[quad("a", "lost")])
            transaction.note("first", "lost")
            raise NotPermitted("no")

        with store.bulk() as bulk:
            rehearsed(bulk, commenting("a", add=[quad("a", "kept")]))
            for _ in range(2):
                with pytest.raises(NotPermitted, match=r"^no$"):
                    bulk.write(failing)
                assert (bulk.sequence, texts(bulk, "a"), is_minted(bulk, "b")) == (1, ["kept"], False)
            rehearsed(bulk, minting("c", number=2))
        state = state_of(store)
        assert (state.sequence, state.notes[0], state.counts[3]) == (2, None, ((SERIES, (1, 2)),))
        assert (read_texts(store, "a"), read_minted(store, "b"), read_minted(store, "c")) == (
            ["kept"],
            False,
            True,
        )

    def test_error_leaves_no_trace(self, store: Store) -> None:
        """The block raises the error, the state is unchanged, and acts and bulks still work."""
        rehearsed(store, minting("a"))
        before = state_of(store)

        def prepare(bulk: Bulk) -> None:
            rehearsed(bulk, minting("b"))
            bulk.note("first", "lost")

        for _ in range(2):
            give_up(store, prepare)
            assert state_of(store) == before
        rehearsed(store, minting("b"))
        with store.bulk() as bulk:
            rehearsed(bulk, minting("c"))
        assert read_all_minted(store, ["a", "b", "c"])

    def test_empty_bulk_changes_nothing(self, store: Store) -> None:
        """A bulk without changes, or with refused acts only, leaves the state unchanged."""
        rehearsed(store, minting("a"))
        before = state_of(store)
        with store.bulk() as bulk:
            assert is_minted(bulk, "a")
        with store.bulk() as bulk, suppress(AlreadyRegistered):
            rehearsed(bulk, minting("a"))
        assert state_of(store) == before

    def test_writers_wait_and_readers_go_on(self, store: Store) -> None:
        """While a bulk is prepared readers see the old state; writers wait for its end, however it ends."""
        rehearsed(store, minting("a"))
        with store.bulk() as bulk:
            waiting = Running(partial(rehearsed, store, commenting("a")))
            for number in range(20):
                rehearsed(bulk, minting(f"n{number}"))
                assert not Running(partial(read_minted, store, f"n{number}")).result()
                assert read_minted(store, "a")
        logged = waiting.result()
        assert store.read(lambda view: view.catalogue.place_of(logged.iri)) == 22
        others: list[Running[Record]] = []

        def prepare(bulk: Bulk) -> None:
            others.extend(
                Running(partial(rehearsed, store, minting(f"later{number}"))) for number in range(3)
            )
            rehearsed(bulk, minting("lost"))

        give_up(store, prepare)
        assert {other.result().label for other in others} == {"later0", "later1", "later2"}
        assert not read_minted(store, "lost")
        assert state_of(store).sequence == 25

    def test_writers_go_on_beside_a_dry_run(self, store: Store) -> None:
        """A dry run sees what it enlisted and not what others do meanwhile, and leaves nothing."""
        rehearsed(store, minting("a"))

        def prepare(bulk: Bulk, other: str) -> None:
            rehearsed(bulk, minting("b"))
            Running(partial(rehearsed, store, commenting("a", add=[quad("a", other)]))).result()
            with store.bulk() as meanwhile:
                rehearsed(meanwhile, minting(other))
            assert (is_minted(bulk, "b"), is_minted(bulk, other)) == (True, False)
            assert other not in texts(bulk, "a")

        with store.bulk(dry_run=True) as bulk:
            prepare(bulk, "c")
        with pytest.raises(Stop), store.bulk(dry_run=True) as bulk:  # noqa: PT012 the error is the point
            prepare(bulk, "d")
            raise Stop
        assert state_of(store).sequence == 5
        assert read_all_minted(store, ["a", "c", "d"])
        assert not read_minted(store, "b")
        rehearsed(store, minting("b"))

    def test_bulks_wait_for_each_other(self, store: Store) -> None:
        """Bulks of several threads take effect one by one, each on the state that the previous one left."""

        def work(name: str) -> int:
            with store.bulk() as bulk:
                sequence = bulk.sequence
                for number in range(5):
                    rehearsed(bulk, minting(f"{name}{number}"))
            return sequence

        assert sorted(together([partial(work, name) for name in "abc"])) == [0, 5, 10]
        assert state_of(store).sequence == 15

    def test_claims_of_a_bulk_are_taken(self, store: Store, folder: Path) -> None:
        """Claims of a bulk and earlier claims are refused afterwards, even after reopening."""
        rehearsed(store, minting("a"))
        with store.bulk() as bulk:
            rehearsed(bulk, minting("b", digest="0f"))
            with pytest.raises(AlreadyRegistered):
                rehearsed(bulk, minting("a"))
        for name in ("a", "b"):
            with pytest.raises(AlreadyRegistered):
                rehearsed(store, minting(name))
        store.close()
        with closing(self.open(folder)) as again:
            for name in ("a", "b"):
                with pytest.raises(AlreadyRegistered):
                    rehearsed(again, minting(name))
            assert again.read(lambda view: view.claim(key("b"))) == Claim(key("b"), thing("b"), "0f")

    def test_snapshot_from_before_a_bulk_stays(self, store: Store) -> None:
        """A snapshot taken before a bulk or during its preparation stays readable afterwards."""
        rehearsed(store, minting("a"))
        before = state_of(store)
        with store.snapshot() as first:
            reading = first.quads()
            quads = {str(next(reading))}
            with store.bulk() as bulk:
                rehearsed(bulk, minting("b"))
                second = store.snapshot()
            rehearsed(store, minting("c"))
            with store.bulk() as bulk:
                rehearsed(bulk, minting("d"))
            assert quads | set(map(str, reading)) == before.quads
            assert pinned_state(first, store.origin) == before
        with second:
            assert pinned_state(second, store.origin) == before
        assert state_of(store).sequence == 4

    def test_bulk_is_no_store_to_copy(self, store: Store, folder: Path) -> None:
        """A bulk cannot be pinned, copied or nested before it takes effect.

        A refused attempt does not end it.
        """
        with store.bulk() as bulk:
            rehearsed(bulk, minting("a"))
            with pytest.raises(StoreUnavailable):
                bulk.snapshot()
            with pytest.raises(StoreUnavailable):
                bulk.backup(folder.with_name("copy"))
            with pytest.raises(StoreUnavailable):
                bulk.bulk().__enter__()
        assert read_minted(store, "a")
