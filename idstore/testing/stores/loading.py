"""Large changes that start empty, load whole histories, or recount."""

from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from pyoxigraph import NamedNode

from idstore.errors import AlreadyRegistered
from idstore.model.change import Change, Claim
from idstore.model.event import Event
from idstore.model.history import History, LoggedEvent
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.stores.contract import Bulk, Store, Transaction
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.bulk import give_up
from idstore.testing.stores.changes import (
    BASE,
    PARTY,
    SERIES,
    beginning,
    commenting,
    event,
    is_minted,
    key,
    minting,
    quad,
    read_all_minted,
    read_minted,
    read_texts,
    record_of,
    thing,
)
from idstore.testing.stores.processes import in_process
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import state_in, state_of
from idstore.vocabulary import IDS, PUBLIC_LOG

FOREIGN: Final = "0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e"
"""Origin of the loaded events."""
AT: Final = 1_790_000_000_000


def foreign(token: int, kind: NamedNode, name: str, *arguments: tuple[NamedNode, Term]) -> Event:
    """Return an event of another store."""
    return Event(FOREIGN, token, kind, thing(name).value, PARTY, AT + token, arguments)


def history_of(name: str, number: int, *events: tuple[int, Event]) -> History:
    """Return the history made of numbered events; ``number`` is the label's number in its series."""
    record, since = None, None
    for sequence, logged in events:
        record = apply(record, logged)
        if since is None and record is not None and record.public:
            since = sequence
    assert record is not None
    logged_events = [
        LoggedEvent(
            sequence,
            logged,
            record.home(logged),
            max(sequence, since or 0) if record.home(logged) == PUBLIC_LOG else None,
        )
        for sequence, logged in events
    ]
    claims = (Claim(key(name), record.node, "0f"),)
    return History(tuple(logged_events), record, record.lines(), claims, (BASE, SERIES, number))


def minted(token: int, name: str) -> Event:
    """Return the first event of an identifier in another store."""
    return foreign(token, IDS.Mint, name, *beginning(name))


def load_two(bulk: Bulk, first: int = 2) -> None:
    """Load two identifiers of another store between events that are enlisted one by one.

    first  sequence number of the first event; the change uses this and the next five.
    """
    first_mint, second_mint = minted(2, "a"), minted(3, "b")
    commented, fixated = foreign(4, IDS.Comment, "b"), foreign(5, IDS.Fixation, "a")
    bulk.set_next_sequence(first)
    bulk.write(
        lambda transaction: transaction.enlist(Change(((foreign(1, IDS.Import, "source"), PUBLIC_LOG),)))
    )
    bulk.set_next_sequence(first + 5)
    bulk.write(
        lambda transaction: transaction.enlist(Change(((foreign(6, IDS.Comment, "source"), PUBLIC_LOG),)))
    )
    bulk.load(
        [
            history_of("a", 8, (first + 1, first_mint), (first + 4, fixated)),
            history_of("b", 7, (first + 2, second_mint), (first + 3, commented)),
        ]
    )


class LoadingTests(StoreCase):
    """`Store.bulk` with ``fresh``, `Bulk.load`, `Bulk.number` and `Bulk.recount`."""

    def test_fresh_bulk_begins_with_nothing(self, store: Store, folder: Path) -> None:
        """If the store holds only the registry's first event, a fresh bulk replaces the state."""

        def begin(transaction: Transaction) -> None:
            initialized = event(transaction, IDS.Initialization, "registry")
            transaction.enlist(Change(((initialized, PUBLIC_LOG),), add=(quad("a", "beginning"),)))

        rehearsed(store, begin)
        with store.bulk(fresh=True) as bulk:
            assert (bulk.sequence, list(bulk.quads())) == (0, [])
            rehearsed(bulk, minting("a"))
        state = state_of(store)
        assert (state.sequence, state.counts[2], state.publications) == (1, (1, 1), ())
        assert (read_minted(store, "a"), read_texts(store, "a")) == (True, [])
        store.close()
        assert in_process(state_in, type(self).opener, folder) == state

    def test_fresh_bulk_of_a_new_store(self, store: Store) -> None:
        """A store without events accepts a fresh bulk; an abandoned one leaves the store new."""
        before = state_of(store)
        give_up(store, lambda bulk: rehearsed(bulk, minting("a")), fresh=True)
        assert state_of(store) == before
        with store.bulk(fresh=True) as bulk:
            rehearsed(bulk, minting("a"))
        rehearsed(store, minting("b"))
        assert read_all_minted(store, ["a", "b"])

    def test_fresh_bulk_of_a_store_in_use_has_its_state(self, store: Store) -> None:
        """In a store with more events, a fresh bulk starts with the present state."""
        for name in ("a", "b", "c"):
            rehearsed(store, minting(name))
        with store.bulk(fresh=True) as bulk:
            assert bulk.sequence == 3
            assert is_minted(bulk, "c")
            rehearsed(bulk, minting("d"))
        assert read_all_minted(store, ["a", "b", "c", "d"])

    def test_histories_are_loaded(self, store: Store, folder: Path) -> None:
        """Loaded events have their reserved sequence numbers, and appear in order in the public feed."""
        rehearsed(store, minting("old", number=1))
        with store.bulk() as bulk:
            load_two(bulk)
            assert bulk.sequence == 7
            assert bulk.read(lambda view: is_minted(view, "a"))
        state = state_of(store)
        tokens = {2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6}
        assert {row[0]: int(row[1].rpartition("#")[2], 16) for row in state.events[1:]} == tokens
        published = [int(iri.rpartition("#")[2], 16) for _, iri in state.publications]
        assert sorted(published) == [1, 2, 5, 6]
        assert published.index(2) < published.index(5)
        assert state.counts[2:] == ((3, 7), ((SERIES, (3, 8)),))
        assert store.read(lambda view: record_of(view, "a").public) is True
        assert store.read(lambda view: record_of(view, "b").public) is False
        assert read_all_minted(store, ["old", "a", "b"])
        with pytest.raises(AlreadyRegistered):
            rehearsed(store, minting("a"))
        assert rehearsed(store, commenting("a")).moment > AT
        store.close()
        with closing(self.open(folder)) as again:
            assert state_of(again).events[:7] == state.events
            assert again.read(lambda view: view.claim(key("b"))) == Claim(key("b"), thing("b"), "0f")

    def test_numbers_are_given_back_with_a_refused_act(self, store: Store) -> None:
        """A reserved number stays valid for the next enlisted event if an act is refused."""
        with store.bulk() as bulk:
            load_two(bulk, first=1)
            bulk.set_next_sequence(7)
            rehearsed(bulk, commenting("a"))
            assert bulk.sequence == 7
        assert state_of(store).sequence == 7

    def test_recount_replaces_the_counters(self, store: Store) -> None:
        """The numbers of labels issued are the given ones. Recounting alone makes the bulk take effect."""
        for number, name in enumerate(("a", "b", "c")):
            rehearsed(store, minting(name, number))
        before = state_of(store)
        issued, highest = {(BASE, SERIES): 12}, {(BASE, SERIES): 40}
        assert store.read(lambda view: list(view.catalogue.miscounts(issued, highest))) != []
        with store.bulk() as bulk:
            bulk.recount(issued, highest)
        state = state_of(store)
        assert state.counts == (*before.counts[:3], ((SERIES, (12, 40)),))
        assert state._replace(counts=before.counts) == before
        assert store.read(lambda view: list(view.catalogue.miscounts(issued, highest))) == []
        rehearsed(store, minting("d", 41))
        assert store.read(lambda view: view.catalogue.series(BASE)) == {SERIES: (13, 41)}
