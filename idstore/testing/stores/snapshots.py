"""Pinned states, and copies of them."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from pyoxigraph import Literal, NamedNode

from idstore.errors import StoreUnavailable
from idstore.model.change import Claim
from idstore.progress import unwatched
from idstore.stores.contract import Store
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    BASE,
    GRAPH,
    commenting,
    is_minted,
    key,
    minting,
    proceeding,
    quad,
    read_all_minted,
    read_texts,
    texts,
    thing,
)
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import pinned_state, state_of
from idstore.testing.stores.threads import Running, together
from idstore.vocabulary import IDS

WRITERS: Final = 8
ACTS: Final = 10
OTHER: Final = NamedNode("http://example.org/graphs/other")
QUERY: Final = (
    "SELECT DISTINCT ?text WHERE { ?thing <http://www.w3.org/2000/01/rdf-schema#label> ?text } ORDER BY ?text"
)


@contextmanager
def writing(store: Store, threads: int) -> Iterator[list[str]]:
    """Mint identifiers in several threads while the block runs. Yields the labels acknowledged so far."""
    acknowledged: list[str] = []
    done = threading.Event()

    def work(number: int) -> None:
        for turn in count():
            if done.is_set():
                return
            label = f"{number}-{turn}"
            rehearsed(store, minting(label))
            acknowledged.append(label)

    running = [Running(partial(work, number)) for number in range(threads)]
    try:
        yield acknowledged
    finally:
        done.set()
        for thread in running:
            thread.result()


class SnapshotTests(StoreCase):
    """`Store.snapshot` and `Store.backup`."""

    def test_snapshot_does_not_change(self, store: Store) -> None:
        """No part of a snapshot contains later changes."""
        rehearsed(store, minting("a"))
        rehearsed(store, commenting("a", add=[quad("a", "old")]))
        before = state_of(store)
        with store.snapshot() as snapshot:
            rehearsed(store, commenting("a", remove=[quad("a", "old")], add=[quad("a", "new")]))
            rehearsed(store, proceeding(IDS.Fixation, "a"))
            rehearsed(store, minting("b"))
            assert pinned_state(snapshot, store.origin) == before
            assert texts(snapshot, "a") == ["old"]
            assert not is_minted(snapshot, "b")
        with store.snapshot() as snapshot:
            assert texts(snapshot, "a") == ["new"]
            assert is_minted(snapshot, "b")

    def test_several_snapshots_live_side_by_side(self, store: Store) -> None:
        """Each keeps its own state, even if an older or a newer one is closed."""
        snapshots = []
        for number in range(3):
            rehearsed(store, minting(f"n{number}"))
            snapshots.append(store.snapshot())
        snapshots[1].close()
        assert [is_minted(snapshots[0], f"n{number}") for number in range(3)] == [True, False, False]
        assert [is_minted(snapshots[2], f"n{number}") for number in range(3)] == [True, True, True]
        snapshots[0].close()
        rehearsed(store, minting("n3"))
        assert snapshots[2].catalogue.sequence == 3
        snapshots[2].close()

    def test_stalled_reader_holds_up_no_writer(self, store: Store) -> None:
        """Writers finish while a reader pauses within a snapshot, which keeps its state."""
        for number in range(5):
            rehearsed(store, minting(f"old{number}"))
        before = state_of(store)

        def work(number: int) -> None:
            for turn in range(ACTS):
                rehearsed(store, minting(f"{number}-{turn}"))

        with store.snapshot() as snapshot:
            quads, claims, rows = (
                snapshot.quads(),
                snapshot.claims(),
                snapshot.rows("SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o }"),
            )
            seen_quads, seen_claims, seen_rows = [next(quads)], [next(claims)], [next(rows)]
            together([partial(work, number) for number in range(WRITERS)])
            assert {*map(str, seen_quads), *map(str, quads)} == before.quads
            seen_claims += claims
            seen_rows += rows
            assert (
                tuple((claim.key.value, claim.holder.value, claim.digest) for claim in seen_claims)
                == before.claims
            )
            assert {" ".join(map(str, row)) for row in seen_rows} == {
                line.rpartition(" <")[0] for line in before.quads
            }
            assert pinned_state(snapshot, store.origin) == before
        assert state_of(store).sequence == 5 + WRITERS * ACTS

    def test_rows_answer_a_query(self, store: Store) -> None:
        """A query runs over the union of all graphs, or of the named ones."""
        rehearsed(
            store, commenting("a", add=[quad("a", "one"), quad("b", "two", OTHER), quad("a", "one", OTHER)])
        )
        with store.snapshot() as snapshot:
            rehearsed(store, commenting("a", add=[quad("a", "later")]))
            one, two = Literal("one"), Literal("two")
            assert list(snapshot.rows(QUERY)) == [(one,), (two,)]
            assert list(snapshot.rows(QUERY, [GRAPH])) == [(one,)]
            assert list(snapshot.rows(QUERY, [GRAPH, OTHER])) == [(one,), (two,)]
            assert list(snapshot.rows(QUERY, [])) == []
            unbound = "SELECT ?a ?b WHERE { BIND (1 AS ?a) }"
            assert [row[1] for row in snapshot.rows(unbound)] == [None]

    def test_claims_agree_with_the_changes(self, store: Store) -> None:
        """Every enlisted claim is listed once, by key, and can be looked up; there are no others."""
        names = [f"n{number}" for number in (10, 9, 1, 2)]
        for number, name in enumerate(names):
            rehearsed(store, minting(name, digest=f"digest{number}"))
        with store.bulk() as bulk:
            rehearsed(bulk, minting("bulk"))
        rehearsed(store, proceeding(IDS.Release, "n9"))
        expected = {Claim(key(name), thing(name), f"digest{number}") for number, name in enumerate(names)}
        expected.add(Claim(key("bulk"), thing("bulk")))
        with store.snapshot() as snapshot:
            rehearsed(store, minting("later"))
            claims = list(snapshot.claims())
            assert [claim.key.value for claim in claims] == sorted(claim.key.value for claim in claims)
            assert len(claims) == len(expected)
            assert set(claims) == expected
            assert all(snapshot.claim(claim.key) == claim for claim in claims)
            assert snapshot.claim(key("later")) is None

    def test_sound_store_has_no_faults(self, store: Store) -> None:
        """A new store, one with changes and one after a bulk have no faults, even during writes."""
        with store.snapshot() as snapshot:
            assert list(snapshot.faults(unwatched)) == []
        rehearsed(store, minting("a"))
        rehearsed(store, lambda transaction: transaction.note("first", "text"))
        with store.bulk() as bulk:
            rehearsed(bulk, minting("b"))
        rehearsed(store, proceeding(IDS.Fixation, "b"))
        with writing(store, 2), store.snapshot() as snapshot:
            assert list(snapshot.faults(unwatched)) == []

    def test_backup_is_a_store_itself(self, store: Store, folder: Path) -> None:
        """A backup has the same content and origin, and works independently."""
        rehearsed(store, minting("a", digest="0f"))
        with store.bulk() as bulk:
            rehearsed(bulk, minting("b"))
        rehearsed(store, proceeding(IDS.Fixation, "a"))
        rehearsed(store, lambda transaction: transaction.note("first", "text"))
        state, copy = state_of(store), folder.with_name("copy")
        store.backup(copy)
        rehearsed(store, minting("here"))
        with closing(self.open_copy(copy)) as other:
            assert state_of(other) == state
            rehearsed(other, minting("there"))
            with other.bulk() as bulk:
                rehearsed(bulk, minting("c"))
            assert state_of(other).sequence == state.sequence + 2
            with other.snapshot() as snapshot:
                assert list(snapshot.faults(unwatched)) == []
        assert state_of(store).sequence == state.sequence + 1

    def test_backup_of_a_new_store(self, store: Store, folder: Path) -> None:
        """A new store is copied like any other, even into an existing empty folder."""
        copy = folder.with_name("copy")
        copy.mkdir()
        store.backup(copy)
        with closing(self.open_copy(copy)) as other:
            assert state_of(other) == state_of(store)
            rehearsed(other, minting("a"))

    def test_backup_while_writers_go_on(self, store: Store, folder: Path) -> None:
        """A backup has every change acknowledged before it began, and only complete changes."""
        with writing(store, 4) as acknowledged:
            copies = [folder.with_name(f"copy{number}") for number in range(2)]
            expected = []
            for copy in copies:
                expected.append(set(acknowledged))
                store.backup(copy)
        state = state_of(store)
        for copy, names in zip(copies, expected, strict=True):
            with closing(self.open_copy(copy)) as other:
                copied = state_of(other)
                assert copied.events == state.events[: copied.sequence]
                begun = {iri.removeprefix(BASE) for _, iri, _ in copied.claims}
                assert names <= begun
                assert len(begun) == copied.sequence
                assert read_all_minted(other, sorted(begun))

    def test_backup_refuses_a_folder_that_is_not_empty(self, store: Store, folder: Path) -> None:
        """The error is StoreUnavailable, the folder's contents stay, and the store works."""
        rehearsed(store, commenting("a", add=[quad("a", "text")]))
        copy = folder.with_name("copy")
        copy.mkdir()
        (copy / "file").write_text("kept", encoding="utf-8")
        for occupied in (copy, folder):
            with pytest.raises(StoreUnavailable):
                store.backup(occupied)
        assert [path.name for path in copy.iterdir()] == ["file"]
        assert (copy / "file").read_text(encoding="utf-8") == "kept"
        store.backup(folder.with_name("other"))
        assert read_texts(store, "a") == ["text"]
