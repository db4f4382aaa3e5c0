"""Time and order in which commits become visible."""

import threading
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from idstore.errors import StoreUnavailable
from idstore.model import times
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.stores.contract import Store, Transaction, View
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    PARTY,
    commenting,
    event,
    is_minted,
    minting,
    quad,
    read_all_minted,
    read_minted,
    read_texts,
    texts,
    thing,
)
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import state_of
from idstore.testing.stores.threads import Running, together, wait_for
from idstore.vocabulary import IDS, PUBLIC_LOG

WRITERS: Final = 4
ACTS: Final = 15
_CHANCE: Final = 0.2
"""Seconds for a writer to reach the point where it waits for a question. Fewer prove less."""


class VisibilityTests(StoreCase):
    """Readers and writers in several threads."""

    def test_read_after_write_sees_it_in_every_thread(self, store: Store) -> None:
        """A read that begins after a write returned sees all of it; an earlier read sees all or nothing."""
        acknowledged: list[str] = []
        done = threading.Event()

        def work(number: int) -> None:
            for turn in range(ACTS):
                name = f"{number}-{turn}"
                rehearsed(store, minting(name))
                acknowledged.append(name)

        def look() -> int:
            looks = 0
            while not done.is_set() or not looks:
                assert read_all_minted(store, acknowledged[-10:])
                for number in range(WRITERS):
                    read_minted(store, f"{number}-{looks % ACTS}")
                looks += 1
            return looks

        looking = [Running(look) for _ in range(2)]
        together([partial(work, number) for number in range(WRITERS)])
        done.set()
        assert all(thread.result() for thread in looking)
        assert state_of(store).sequence == WRITERS * ACTS

    def test_question_sees_one_state(self, store: Store) -> None:
        """Questions never read two quads in different states that a writer always changes together."""
        rehearsed(store, commenting("a", add=[quad("a", "0"), quad("b", "0")]))
        done = threading.Event()

        def both(number: int) -> None:
            old, new = [[quad(name, str(value)) for name in ("a", "b")] for value in (number, number + 1)]
            rehearsed(store, commenting("a", remove=old, add=new))

        def work() -> None:
            for number in range(ACTS * WRITERS):
                both(number)
            done.set()

        def question(view: View) -> tuple[list[str], list[str], int]:
            return texts(view, "a"), texts(view, "b"), view.catalogue.sequence

        writing, last = Running(work), 0
        while not done.is_set():
            first_texts, second_texts, sequence = store.read(question)
            assert first_texts == second_texts == [str(sequence - 1)]
            assert sequence >= last
            last = sequence
        writing.result()

    def test_snapshot_after_write_sees_it(self, store: Store) -> None:
        """A snapshot taken after a write returned includes that write, in any thread."""

        def work(number: int) -> None:
            for turn in range(2):
                rehearsed(store, minting(f"{number}-{turn}"))
                with store.snapshot() as snapshot:
                    assert is_minted(snapshot, f"{number}-{turn}")

        together([partial(work, number) for number in range(3)])

    def test_dependent_acts_keep_their_order(self, store: Store) -> None:
        """An act requested after the answer of another has the later event, even in another thread."""
        ticks, lock = iter(range(10**6)), threading.Lock()

        def tick() -> int:
            with lock:
                return next(ticks)

        def work(number: int) -> list[tuple[int, int, Event]]:
            written = []
            for _ in range(ACTS):
                asked = tick()
                logged = rehearsed(store, commenting(f"n{number}"))
                written.append((asked, tick(), logged))
            return written

        acts = sorted(
            written
            for several in together([partial(work, number) for number in range(WRITERS)])
            for written in several
        )
        places = store.read(lambda view: [view.catalogue.place_of(logged.iri) for _, _, logged in acts])
        for (_, answered, _), place in zip(acts, places, strict=True):
            later = [other for (asked, _, _), other in zip(acts, places, strict=True) if asked > answered]
            assert all(place < other for other in later if place is not None and other is not None)
        assert sorted(place for place in places if place is not None) == list(range(1, WRITERS * ACTS + 1))

    def test_events_have_numbers_times_and_tokens_in_order(self, store: Store) -> None:
        """Numbers have no gap, times never go back, and tokens rise within a moment."""

        def act(transaction: Transaction) -> list[Event]:
            first, second = event(transaction, IDS.Comment, "a"), event(transaction, IDS.Comment, "b")
            transaction.enlist(Change(((first, PUBLIC_LOG), (second, PUBLIC_LOG))))
            third = event(transaction, IDS.Comment, "a")
            transaction.enlist(Change(((third, PUBLIC_LOG),)))
            return [first, second, third]

        events = [event for _ in range(40) for event in rehearsed(store, act)]
        assert store.read(lambda view: [view.catalogue.place_of(event.iri) for event in events]) == list(
            range(1, 121)
        )
        assert all(event.order < other.order for event, other in pairwise(events))
        assert {event.origin for event in events} == {store.origin}
        assert store.read(lambda view: view.catalogue.last_event()) == (120, events[-1].iri)

    def test_time_never_goes_back_behind_an_event(self, store: Store, folder: Path) -> None:
        """New events are not older than an imported event from the future, even after reopening."""
        ahead = times.now() + 3_600_000
        foreign = Event(
            "0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e", 5, IDS.Comment, thing("a").value, PARTY, ahead
        )
        rehearsed(store, lambda transaction: transaction.enlist(Change(((foreign, PUBLIC_LOG),))))
        events = [rehearsed(store, commenting("a")) for _ in range(3)]
        store.close()
        with closing(self.open(folder)) as again:
            events.append(rehearsed(again, commenting("a")))
            with again.bulk() as bulk:
                events.append(rehearsed(bulk, commenting("a")))
            events.append(rehearsed(again, commenting("a")))
        assert all(event.moment >= ahead for event in events)
        assert all(event.order < other.order for event, other in pairwise(events))

    def test_write_inside_an_act_is_refused(self, store: Store) -> None:
        """An act that writes to its own store gets StoreUnavailable instead of a deadlock."""

        def act(transaction: Transaction) -> str:
            with pytest.raises(StoreUnavailable):
                store.write(commenting("a", add=[quad("a", "inner")]))
            commenting("a", add=[quad("a", "outer")])(transaction)
            return "done"

        assert Running(partial(rehearsed, store, act)).result() == "done"
        assert read_texts(store, "a") == ["outer"]
        with pytest.raises(StoreUnavailable):
            Running(partial(rehearsed, store, lambda _: store.write(commenting("a")))).result()
        rehearsed(store, commenting("b", add=[quad("b", "after")]))
        assert read_texts(store, "b") == ["after"]

    def test_write_inside_a_question_is_refused(self, store: Store) -> None:
        """A question that writes to its own store gets StoreUnavailable instead of a deadlock."""

        def question(view: View) -> list[str]:
            with pytest.raises(StoreUnavailable):
                store.write(commenting("a", add=[quad("a", "inner")]))
            return texts(view, "a")

        assert Running(lambda: store.read(question)).result() == []
        rehearsed(store, commenting("a", add=[quad("a", "after")]))
        assert read_texts(store, "a") == ["after"]

    def test_question_inside_a_question(self, store: Store) -> None:
        """A question may run another one, even while a writer waits; both see one state."""
        rehearsed(store, commenting("a", add=[quad("a", "old")]))
        asked, acted = threading.Event(), threading.Event()

        def act(transaction: Transaction) -> None:
            commenting("a", remove=[quad("a", "old")], add=[quad("a", "new")])(transaction)
            acted.set()

        def work() -> None:
            wait_for(asked)
            store.write(act)

        def question(view: View) -> set[str]:
            asked.set()
            acted.wait(_CHANCE)
            inner = {text for _ in range(20) for text in store.read(lambda other: texts(other, "a"))}
            return inner | set(texts(view, "a"))

        writing = Running(work)
        assert Running(lambda: store.read(question)).result() == {"old"}
        writing.result()
        assert read_texts(store, "a") == ["new"]
