"""Acts that do not run before a given moment."""

import threading
from functools import partial
from typing import Final

import pytest

from idstore.errors import NotPermitted, StoreUnavailable
from idstore.model import times
from idstore.model.change import Claim
from idstore.stores.contract import Store, Transaction
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import comment, commenting, key, minting, quad, read_texts, texts, thing
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import state_of
from idstore.testing.stores.threads import Running, outcome, together, wait_for

DELAY: Final = 30
"""Milliseconds by which an act is delayed."""
LONG_DELAY: Final = 250
"""Milliseconds after which several acts certainly wait."""


class NotBeforeTests(StoreCase):
    """`Transaction.not_before`."""

    def test_act_runs_again_when_its_moment_has_come(self, store: Store) -> None:
        """It never runs before the moment, and new events are not older than the moment."""
        moment = times.now() + DELAY

        def act(transaction: Transaction) -> tuple[int, int]:
            if transaction.moment < moment:
                transaction.not_before(moment, "queue")
            return times.now(), comment(transaction, "a").moment

        clock, at = rehearsed(store, act)
        assert clock >= moment
        assert at >= moment
        assert state_of(store).sequence == 1

    def test_run_that_was_given_up_leaves_nothing(self, store: Store) -> None:
        """Changes enlisted before `not_before` are dropped; ``asked`` stays the same."""
        asked: list[int] = []

        def act(transaction: Transaction) -> list[str]:
            asked.append(transaction.asked)
            before = texts(transaction, "a")
            comment(transaction, "a", add=[quad("a", str(len(asked)))], claims=[Claim(key("a"), thing("a"))])
            transaction.note("first", "text")
            if len(asked) < 3:
                transaction.not_before(times.now() + DELAY, "queue")
            return before

        assert store.write(act) == []  # not rehearsed: it counts its runs
        assert len(asked) >= 3
        assert read_texts(store, "a") == [str(len(asked))]
        assert state_of(store).sequence == 1
        assert len(set(asked)) == 1

    def test_others_go_on_meanwhile(self, store: Store) -> None:
        """An act waits repeatedly for a change that another act makes."""
        waits = threading.Event()

        def act(transaction: Transaction) -> str:
            if transaction.claim(key("a")) is None:
                waits.set()
                transaction.not_before(transaction.moment + 1, "queue")
            return "done"

        waiting = Running(partial(rehearsed, store, act))
        wait_for(waits)
        for number in range(5):
            rehearsed(store, minting(f"n{number}"))
        with store.snapshot() as snapshot:
            assert snapshot.catalogue.sequence == 5
        rehearsed(store, minting("a"))
        assert waiting.result() == "done"

    def test_acts_of_one_queue_wait_for_milliseconds_of_their_own(self, store: Store) -> None:
        """Acts in one queue wait for distinct milliseconds, in order, even if all request the same moment."""
        names = {f"n{number}" for number in range(8)}
        arrived: set[str] = set()
        waiting: dict[str, int] = {}

        def wait_and_write(name: str) -> int:
            # acts run one after the other, so they may share their counters
            def act(
                transaction: Transaction,
            ) -> int:
                arrived.add(name)
                if arrived != names:
                    transaction.not_before(transaction.moment + 1, "arrivals")
                if name not in waiting:
                    waiting[name] = next(iter(waiting.values()), transaction.moment + LONG_DELAY)
                    transaction.not_before(waiting[name], "queue")
                return comment(transaction, name).moment

            return store.write(act)  # not rehearsed: it counts its runs

        moments = together([partial(wait_and_write, name) for name in names])
        (first,) = set(waiting.values())
        assert all(moment >= first + place for place, moment in enumerate(sorted(moments)))

    def test_queues_do_not_wait_for_each_other(self, store: Store) -> None:
        """A long wait in one queue does not delay another queue."""
        waits = threading.Event()

        def long(transaction: Transaction) -> None:
            if transaction.claim(key("a")) is None:
                waits.set()
                transaction.not_before(transaction.moment + 100, "long")

        moment = times.now() + DELAY

        def short(transaction: Transaction) -> None:
            if transaction.moment < moment:
                transaction.not_before(moment, "short")
            comment(transaction, "a", claims=[Claim(key("a"), thing("a"))])

        waiting = Running(partial(rehearsed, store, long))
        wait_for(waits)
        rehearsed(store, short)
        waiting.result()

    def test_act_may_raise_after_it_waited(self, store: Store) -> None:
        """`write` raises its error, nothing of it happens, and the next act in the queue runs."""
        before, moment = state_of(store), times.now() + DELAY

        def act(transaction: Transaction) -> None:
            comment(transaction, "a", claims=[Claim(key("a"), thing("a"))])
            if transaction.moment < moment:
                transaction.not_before(moment, "queue")
            raise NotPermitted("too late")

        with pytest.raises(NotPermitted, match="too late"):
            rehearsed(store, act)
        assert state_of(store) == before
        soon = times.now() + 1

        def next_act(transaction: Transaction) -> None:
            if transaction.moment < soon:
                transaction.not_before(soon, "queue")
            comment(transaction, "a")

        rehearsed(store, next_act)
        rehearsed(store, commenting("a"))
        assert state_of(store).sequence == 2

    def test_bulk_runs_no_act_before_its_moment(self, store: Store) -> None:
        """A bulk waits for the moment, or raises StoreUnavailable; earlier changes of the bulk stay."""
        moment = times.now() + LONG_DELAY

        def act(transaction: Transaction) -> int:
            comment(transaction, "a", add=[quad("a", "inner")])
            if transaction.moment < moment:
                transaction.not_before(moment, "queue")
            return times.now()

        with store.bulk() as bulk:
            rehearsed(bulk, commenting("a", add=[quad("a", "before")]))
            answer = outcome(rehearsed, bulk, act)
        refused = isinstance(answer, StoreUnavailable)
        assert refused or (isinstance(answer, int) and answer >= moment)
        assert read_texts(store, "a") == (["before"] if refused else ["before", "inner"])
        assert state_of(store).sequence == (1 if refused else 2)
