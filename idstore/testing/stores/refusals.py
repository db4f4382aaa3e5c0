"""Acts that raise, and the registry version."""

from contextlib import suppress
from typing import NoReturn

import pytest
from pyoxigraph import NamedNode, Quad

from idstore.errors import NotPermitted
from idstore.model.change import Claim
from idstore.stores.contract import Store, Transaction, View
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    Act,
    add_one,
    comment,
    commenting,
    is_minted,
    key,
    mint,
    minting,
    proceed,
    quad,
    read_minted,
    read_texts,
    thing,
)
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import state_of
from idstore.testing.stores.threads import in_one_batch
from idstore.vocabulary import IDS, REGISTRY_GRAPH

OTHER = NamedNode("http://example.org/graphs/other")


class RefusalTests(StoreCase):
    """Refused acts: alone, in a batch and in a bulk."""

    def test_rehearsal_leaves_nothing(self, store: Store) -> None:
        """An act that raises changes nothing, and `write` raises its error."""
        rehearsed(store, minting("a"))
        before = state_of(store)

        def act(transaction: Transaction) -> NoReturn:
            mint(transaction, "b", number=9)
            proceed(transaction, IDS.Fixation, "a")
            comment(transaction, "a", add=[quad("a", "text")], claims=[Claim(key("c"), thing("c"))])
            transaction.note("first", "text")
            raise NotPermitted("no", detail="why")

        for _ in range(2):
            with pytest.raises(NotPermitted, match=r"^no$") as caught:
                store.write(act)
            assert caught.value.fields["detail"] == "why"
            assert state_of(store) == before
        assert store.read(lambda view: (is_minted(view, "b"), view.claim(key("c")))) == (False, None)
        rehearsed(store, minting("b"))
        assert store.read(lambda view: (is_minted(view, "b"), view.catalogue.sequence)) == (
            True,
            before.sequence + 1,
        )

    def test_error_in_a_batch_concerns_its_act_alone(self, store: Store) -> None:
        """The other acts of the batch happen; each gets its own answer or its own error."""
        rehearsed(store, commenting("counter", add=[quad("counter", "0")]))

        def failing(number: int) -> Act[int]:
            def act(transaction: Transaction) -> int:
                answer = add_one(transaction)
                mint(transaction, f"n{number}")
                if number % 3 == 1:
                    raise ValueError(number)
                if number % 3 == 2:
                    raise NotPermitted(f"not {number}")
                return answer

            return act

        outcomes = in_one_batch(store, [failing(number) for number in range(15)])
        answers = sorted(answer for answer in outcomes if isinstance(answer, int))
        assert answers == [1, 2, 3, 4, 5]
        for number, answer in enumerate(outcomes):
            expected = (int, ValueError, NotPermitted)[number % 3]
            assert type(answer) is expected
            assert str(number) in str(answer) or expected is int
            assert read_minted(store, f"n{number}") == (number % 3 == 0)
        assert read_texts(store, "counter") == ["5"]
        assert state_of(store).sequence == 11

    def test_registry_version_stands_for_one_state(self, store: Store) -> None:
        """Equal numbers mean equal namespaces and parties, even within refused acts."""
        seen: dict[int, set[frozenset[Quad]]] = {}

        def look(view: View) -> int:
            seen.setdefault(view.registry_version, set()).add(
                frozenset(view.quads(None, None, None, REGISTRY_GRAPH))
            )
            return view.registry_version

        def act(name: str) -> Act[tuple[int, int]]:
            def add(transaction: Transaction) -> tuple[int, int]:
                before = look(transaction)
                comment(transaction, name, add=[quad(name, "party", REGISTRY_GRAPH)])
                return before, look(transaction)

            return add

        def refused(transaction: Transaction) -> NoReturn:
            act("refused")(transaction)
            raise NotPermitted("no")

        versions = [store.read(look)]
        for name in ("a", "b", "c"):
            with pytest.raises(NotPermitted):
                store.write(refused)
            before, after = rehearsed(store, act(name))
            assert before != after
            versions.append(store.read(look))
            rehearsed(store, commenting(name, add=[quad(name, "no party")]))
            with store.bulk() as bulk, suppress(NotPermitted):
                bulk.write(refused)
            with store.snapshot() as snapshot:
                look(snapshot)
        with store.bulk() as bulk:
            rehearsed(bulk, act("bulk"))
        versions.append(store.read(look))
        assert len(set(versions)) == 5
        assert all(len(states) == 1 for states in seen.values())

    def test_suspension_moves_the_registry_version(self, store: Store) -> None:
        """A quad that suspends a party counts in any graph."""
        before = store.read(lambda view: view.registry_version)
        suspended = Quad(thing("a"), IDS.suspended, thing("reason"), OTHER)
        rehearsed(store, commenting("a", add=[suspended]))
        middle = store.read(lambda view: view.registry_version)
        rehearsed(store, commenting("a", remove=[suspended]))
        assert len({before, middle, store.read(lambda view: view.registry_version)}) == 3
