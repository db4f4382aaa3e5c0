"""Acknowledged changes survive, in this process and in others, even a kill."""

import threading
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from idstore.errors import StoreUnavailable
from idstore.progress import unwatched
from idstore.stores.contract import Store
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    BASE,
    commenting,
    minting,
    proceeding,
    quad,
    read_minted,
    read_texts,
)
from idstore.testing.stores.processes import Child, Send, in_process
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import Opener, state_in, state_of
from idstore.vocabulary import IDS

ROUNDS: Final = 3
"""Number of times that a process is killed."""
WRITERS: Final = 4
"""Number of threads of a process that is killed."""


def mint_until_killed(send: Send, opener: Opener, folder: Path, name: str) -> None:
    """Mint identifiers in several threads, and send each acknowledged label."""
    store, sending = opener(folder), threading.Lock()

    def work(number: int) -> None:
        for turn in count():
            label = f"{name}-{number}-{turn}"
            rehearsed(store, minting(label))
            with sending:
                send(label)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def prepare_bulk_until_killed(send: Send, opener: Opener, folder: Path) -> None:
    """Enlist changes in a bulk that does not end."""
    store = opener(folder)
    with store.bulk() as bulk:
        for number in range(50):
            rehearsed(bulk, minting(f"bulk-{number}"))
        bulk.note("first", "bulk")
        send("prepared")
        threading.Event().wait()


def end_bulk_until_killed(send: Send, opener: Opener, folder: Path) -> None:
    """End a bulk, and write once more."""
    store = opener(folder)
    with store.bulk() as bulk:
        for number in range(50):
            rehearsed(bulk, minting(f"bulk-{number}"))
    rehearsed(store, minting("after"))
    send("done")
    threading.Event().wait()


class DurabilityTests(StoreCase):
    """Stores that are closed, killed and reopened."""

    def test_closed_store_has_everything_in_another_process(self, store: Store, folder: Path) -> None:
        """Quads, claims, events, lists, counters, publication numbers and notes are the same there."""
        rehearsed(store, minting("a", number=3, digest="0f"))
        rehearsed(store, minting("b", number=9))
        rehearsed(store, proceeding(IDS.Fixation, "a"))
        rehearsed(store, proceeding(IDS.Release, "b"))
        rehearsed(store, commenting("a", add=[quad("a", "text"), quad("a", 'é\n"\\ \U0001f600')]))
        rehearsed(store, lambda transaction: transaction.note("first", "a note"))
        state = state_of(store)
        store.close()
        assert in_process(state_in, type(self).opener, folder) == state
        with closing(self.open(folder)) as again:
            assert state_of(again) == state
            rehearsed(again, minting("c"))
            assert state_of(again).sequence == state.sequence + 1

    def test_store_without_changes_is_opened_again(self, store: Store, folder: Path) -> None:
        """A reopened new store is the same store: it keeps its origin."""
        state = state_of(store)
        store.close()
        assert in_process(state_in, type(self).opener, folder) == state

    def test_kill_leaves_whole_changes_and_all_that_was_acknowledged(self, folder: Path) -> None:
        """After kill -9 every acknowledged change is complete, no change is partial, and the store works."""
        self.open(folder).close()
        acknowledged: list[str] = []
        for turn in range(ROUNDS):
            with Child(mint_until_killed, type(self).opener, folder, f"round{turn}") as child:
                acknowledged += [child.receive() for _ in range(20 * (turn + 1))]
                acknowledged += child.kill()
            with closing(self.open(folder)) as store:
                state = state_of(store)
                labels = [iri.removeprefix(BASE) for _, iri, _ in state.claims]
                assert set(acknowledged) <= set(labels)
                assert len(labels) <= len(acknowledged) + (turn + 1) * WRITERS
                assert all(read_minted(store, label) for label in labels)
                assert state.sequence == len(labels)
                assert state.counts[2] == (len(labels), len(labels))
                with store.snapshot() as snapshot:
                    assert list(snapshot.faults(unwatched)) == []
                rehearsed(store, minting(f"between{turn}"))
                acknowledged.append(f"between{turn}")

    def test_kill_in_a_bulk_leaves_no_trace(self, store: Store, folder: Path) -> None:
        """An unfinished bulk leaves no trace."""
        rehearsed(store, minting("before"))
        state = state_of(store)
        store.close()
        with Child(prepare_bulk_until_killed, type(self).opener, folder) as child:
            assert child.receive() == "prepared"
            child.kill()
        with closing(self.open(folder)) as again:
            assert state_of(again) == state
            rehearsed(again, minting("bulk-0"))
            with again.bulk() as bulk:
                rehearsed(bulk, minting("bulk-1"))
            assert read_minted(again, "bulk-1")

    def test_kill_after_a_bulk_keeps_it(self, store: Store, folder: Path) -> None:
        """The changes of a bulk, and later ones, survive like any other change."""
        rehearsed(store, minting("before"))
        store.close()
        with Child(end_bulk_until_killed, type(self).opener, folder) as child:
            assert child.receive() == "done"
            child.kill()
        with closing(self.open(folder)) as again:
            assert all(
                read_minted(again, name)
                for name in ("before", "after", *(f"bulk-{number}" for number in range(50)))
            )
            assert state_of(again).sequence == 52

    def test_notes_survive(self, store: Store, folder: Path) -> None:
        """A note is kept, replaces the earlier one of its name, and is not an event."""
        assert store.read(lambda view: view.catalogue.note("first")) is None
        rehearsed(store, lambda transaction: transaction.note("first", "old"))
        rehearsed(store, lambda transaction: transaction.note("second", "é\n"))
        rehearsed(store, lambda transaction: transaction.note("first", "new"))
        state = state_of(store)
        assert (state.notes, state.sequence, state.quads) == (("new", "é\n"), 0, frozenset())
        rehearsed(store, minting("a"))
        assert store.read(lambda view: view.catalogue.sequence) == 1
        store.close()
        with closing(self.open(folder)) as again:
            assert state_of(again).notes == ("new", "é\n")

    def test_closed_store_is_unavailable(self, store: Store, folder: Path) -> None:
        """Every method of a closed store but `close` raises StoreUnavailable; nothing is changed."""
        rehearsed(store, commenting("a", add=[quad("a", "kept")]))
        store.close()
        store.close()
        for use in (
            lambda: store.read(lambda _: None),
            lambda: store.write(commenting("a", add=[quad("a", "lost")])),
            store.snapshot,
            lambda: store.bulk().__enter__(),
            lambda: store.backup(folder.with_name("copy")),
        ):
            with pytest.raises(StoreUnavailable):
                use()
        with closing(self.open(folder)) as again:
            assert read_texts(again, "a") == ["kept"]
