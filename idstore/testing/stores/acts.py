"""The state that an act sees, and the effects of its changes."""

from collections.abc import Iterator

from pyoxigraph import NamedNode, Quad

from idstore.model.change import Claim
from idstore.model.listing import listing_of
from idstore.model.record import Record
from idstore.stores.contract import Store, Transaction, View
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    BASE,
    EVERYTHING,
    GRAPH,
    PARTY,
    SERIES,
    add_one,
    comment,
    commenting,
    is_minted,
    key,
    mint,
    minting,
    proceed,
    proceeding,
    quad,
    read_minted,
    read_texts,
    record_of,
    texts,
    thing,
)
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import state_of
from idstore.testing.stores.threads import in_one_batch
from idstore.vocabulary import IDS, PUBLIC_LOG

OTHER = NamedNode("http://example.org/graphs/other")


def matches(view: View, quad: Quad) -> list[bool]:
    """Whether a quad is found by subject, object, predicate and graph, by all of them, and by none."""
    subject, predicate, value, graph = quad.subject, quad.predicate, quad.object, quad.graph_name
    assert isinstance(subject, NamedNode)
    assert isinstance(graph, NamedNode)
    patterns: list[Iterator[Quad]] = [
        view.quads(subject),
        view.quads(None, None, value),  # type: ignore[arg-type]
        view.quads(None, predicate),
        view.quads(None, None, None, graph),
        view.quads(subject, predicate, value, graph),  # type: ignore[arg-type]
        view.quads(),
    ]
    return [quad in quads for quads in patterns]


class ActTests(StoreCase):
    """Acts that run one after the other."""

    def test_new_store_is_empty(self, store: Store) -> None:
        """A new store holds no events, and every part of it exists."""
        state = state_of(store)
        assert (state.sequence, state.quads, state.claims, state.publications) == (0, frozenset(), (), ())
        assert store.read(lambda view: view.catalogue.last_event()) is None
        assert (store.behind, store.age) == ("", 0)
        store.refresh()

    def test_write_returns_the_answer_of_the_act(self, store: Store) -> None:
        """`write` returns the answer unchanged, even from an act that enlists nothing.

        Such an act changes nothing.
        """
        before = state_of(store)
        answer = object()
        assert rehearsed(store, lambda _: answer) is answer
        assert state_of(store) == before

    def test_change_becomes_visible_whole(self, store: Store) -> None:
        """A change brings quads, claim, event, listing, counts and the label's number together."""
        assert not read_minted(store, "a")
        record = rehearsed(store, minting("a", number=7, digest="0f"))
        state = state_of(store)
        assert state.claims == ((key("a").value, record.iri, "0f"),)
        listing = listing_of(record, new=True)
        assert state.lists[1] == (
            (listing.iri, BASE, PARTY, "created", record.graph.value, listing.created, None),
        )
        assert state.counts[0] == ((BASE, PARTY, "created", 1),)
        assert state.counts[2:] == ((1, 1), ((SERIES, (1, 7)),))
        assert store.read(lambda view: set(view.quads(record.node))) == set(record.quads())
        assert read_minted(store, "a")

    def test_change_removes_and_adds(self, store: Store) -> None:
        """Quads that a change removes are gone, added ones are there, and others stay."""
        rehearsed(store, commenting("a", add=[quad("a", "old"), quad("a", "kept")]))
        rehearsed(store, commenting("a", remove=[quad("a", "old")], add=[quad("a", "new")]))
        assert read_texts(store, "a") == ["kept", "new"]

    def test_published_event_gets_a_publication_number(self, store: Store) -> None:
        """Private events have none. When they move to the public log they get the next numbers."""
        rehearsed(store, minting("a"))
        rehearsed(store, minting("b"))
        assert store.read(lambda view: view.catalogue.publication) == 0
        rehearsed(store, commenting("a"))
        rehearsed(store, proceeding(IDS.Fixation, "b"))
        state = state_of(store)
        acts = {row[1]: row[3] for row in state.events}
        first, *others = [acts[iri] for _, iri in state.publications]
        assert (first, sorted(others)) == ("Comment", ["Fixation", "Mint"])
        record = store.read(lambda view: record_of(view, "b"))
        assert store.read(lambda view: {match.graph_name for match in view.quads(record.node)}) == {
            NamedNode(BASE)
        }

    def test_released_identifier_is_not_listed(self, store: Store) -> None:
        """Its events and its claim stay, its record and its listing are removed, and the counts follow."""
        rehearsed(store, minting("a"))
        rehearsed(store, minting("b"))
        rehearsed(store, proceeding(IDS.Release, "a"))
        state = state_of(store)
        assert [row[0] for row in state.lists[1]] == [thing("b").value]
        assert state.counts[0] == ((BASE, PARTY, "created", 1),)
        assert state.counts[2] == (1, 3)
        assert [claim[0] for claim in state.claims] == [key("a").value, key("b").value]
        assert not store.read(lambda view: list(view.quads(thing("a"))))

    def test_act_sees_what_it_enlisted(self, store: Store) -> None:
        """An act finds the quads that it added by every pattern, and none of those that it removed."""
        old, new = quad("a", "old"), quad("a", "new", OTHER)
        rehearsed(store, commenting("a", add=[old]))

        def act(transaction: Transaction) -> tuple[list[bool], list[bool], list[bool]]:
            before = matches(transaction, old)
            comment(transaction, "a", remove=[old], add=[new])
            return before, matches(transaction, old), matches(transaction, new)

        yes, no = [True] * 6, [False] * 6
        assert rehearsed(store, act) == (yes, no, yes)
        assert store.read(lambda view: (matches(view, old), matches(view, new))) == (no, yes)

    def test_act_sees_its_own_changes_undone(self, store: Store) -> None:
        """A quad added and then removed by an act is gone; one removed and then added is there once."""
        rehearsed(store, commenting("a", add=[quad("a", "stays")]))

        def act(transaction: Transaction) -> list[str]:
            comment(transaction, "a", add=[quad("a", "goes")], remove=[quad("a", "stays")])
            comment(transaction, "a", remove=[quad("a", "goes")], add=[quad("a", "stays")])
            return texts(transaction, "a")

        assert rehearsed(store, act) == ["stays"]
        assert read_texts(store, "a") == ["stays"]

    def test_act_sees_its_changes_as_lines(self, store: Store) -> None:
        """`nquads` returns the same quads as `quads`, also for nodes that point to a subject."""
        rehearsed(store, commenting("a", add=[quad("a", "old"), quad("a", "elsewhere", OTHER)]))
        pointing = Quad(thing("b"), IDS.valueOf, thing("a"), GRAPH)

        def lines(view: View) -> tuple[list[str], list[str]]:
            direct, through = view.nquads([thing("a")], GRAPH), view.nquads([thing("a")], GRAPH, IDS.valueOf)
            return sorted(direct), sorted(through)

        def act(transaction: Transaction) -> tuple[list[str], list[str]]:
            comment(
                transaction,
                "a",
                remove=[quad("a", "old")],
                add=[quad("a", "new"), quad("b", "value"), pointing],
            )
            return lines(transaction)

        expected = [str(quad("a", "new"))], sorted([str(quad("b", "value")), str(pointing)])
        assert rehearsed(store, act) == expected
        assert store.read(lines) == expected

    def test_act_sees_its_claims_lists_and_counts(self, store: Store) -> None:
        """Claim, listing, events, series and counts include the changes that the act enlisted."""
        rehearsed(store, minting("a", number=2))

        def act(transaction: Transaction) -> Record:
            record = mint(transaction, "b", number=5)
            assert is_minted(transaction, "a")
            assert is_minted(transaction, "b")
            assert transaction.claim(key("b")) == Claim(key("b"), record.node)
            assert transaction.catalogue.series(BASE) == {SERIES: (2, 5)}
            assert transaction.catalogue.counts() == (2, 2)
            assert transaction.catalogue.sequence == 2
            assert transaction.catalogue.identifiers(EVERYTHING, None) == [thing("b").value, thing("a").value]
            after = proceed(transaction, IDS.Fixation, "b")
            assert record_of(transaction, "b") == after
            assert transaction.catalogue.listed(record.iri) == listing_of(after, new=False)
            return after

        record = rehearsed(store, act)
        assert store.read(lambda view: record_of(view, "b")) == record

    def test_graphs_are_those_in_use(self, store: Store) -> None:
        """A graph exists from its first quad on, even for the act that adds it."""
        added = quad("a", "text", OTHER)

        def act(transaction: Transaction) -> bool:
            comment(transaction, "a", add=[added])
            return OTHER in set(transaction.graphs())

        assert OTHER not in store.read(lambda view: set(view.graphs()))
        assert rehearsed(store, act)
        assert {OTHER, PUBLIC_LOG} <= store.read(lambda view: set(view.graphs()))

    def test_acts_see_the_acts_before_them(self, store: Store) -> None:
        """No act is lost, and none counts twice, in one batch or one by one."""
        rehearsed(store, commenting("counter", add=[quad("counter", "0")]))
        assert sorted(map(str, in_one_batch(store, [add_one] * 12)), key=int) == [
            str(number) for number in range(1, 13)
        ]
        assert [rehearsed(store, add_one) for _ in range(3)] == [13, 14, 15]
        assert read_texts(store, "counter") == ["15"]
