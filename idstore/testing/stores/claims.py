"""Claims: one holder each, for ever."""

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from idstore.errors import AlreadyRegistered
from idstore.model.change import Claim
from idstore.stores.contract import Store, Transaction, View
from idstore.testing.stores.base import StoreCase
from idstore.testing.stores.changes import (
    BASE,
    Act,
    comment,
    commenting,
    key,
    minting,
    quad,
    read_minted,
    read_texts,
    texts,
    thing,
)
from idstore.testing.stores.processes import Child, Send
from idstore.testing.stores.rehearsal import rehearsed
from idstore.testing.stores.states import Opener, state_of
from idstore.testing.stores.threads import in_one_batch, outcome, together

THREADS = 8
KEYS = 25


def claim(name: str, holder: str, digest: str = "") -> Claim:
    """Return the claim of a name by a thing."""
    return Claim(key(name), thing(holder), digest)


def winning(name: str, holder: str) -> Act[str]:
    """Return an act that claims a name, and records the holder in a quad."""

    def act(transaction: Transaction) -> str:
        comment(transaction, name, add=[quad(name, holder)], claims=[claim(name, holder)])
        return holder

    return act


def holders(store: Store, name: str) -> set[str]:
    """Return the holders of a name by its claim and by its quads."""

    def find(view: View) -> set[str]:
        claimed = view.claim(key(name))
        return {*texts(view, name), "nothing" if claimed is None else claimed.holder.value.removeprefix(BASE)}

    return store.read(find)


def requesting(name: str, holder: str, digest: str) -> Act[Claim]:
    """Return a repeatable act: it claims a name unless it is taken, and returns the claim."""

    def act(transaction: Transaction) -> Claim:
        earlier = transaction.claim(key(name))
        if earlier is not None:
            return earlier
        comment(transaction, holder, claims=[claim(name, holder, digest)])
        return claim(name, holder, digest)

    return act


def win_what_you_can(send: Send, opener: Opener, folder: Path, holder: str) -> None:
    """Open the store several times, and claim every name that is free."""
    claimed_names = []
    for turn in range(4):
        with closing(opener(folder)) as store:
            for number in range(KEYS // 5):
                name = f"{turn}-{number}"
                if outcome(rehearsed, store, winning(name, holder)) == holder:
                    claimed_names.append(name)
    send(claimed_names)


class ClaimTests(StoreCase):
    """Claims that acts, threads and processes contend for."""

    def test_taken_claim_is_refused(self, store: Store) -> None:
        """The error is AlreadyRegistered, nothing of the act happens, and the first holder stays."""
        rehearsed(store, winning("a", "first"))
        before = state_of(store)
        with pytest.raises(AlreadyRegistered):
            rehearsed(store, winning("a", "second"))
        assert state_of(store) == before
        rehearsed(store, winning("b", "second"))
        assert (holders(store, "a"), holders(store, "b")) == ({"first"}, {"second"})

    def test_refused_change_leaves_the_act_as_it_was(self, store: Store) -> None:
        """An act may continue after AlreadyRegistered: only the refused change is missing, all of it."""

        def act(transaction: Transaction) -> None:
            comment(transaction, "a", add=[quad("a", "before")], claims=[claim("taken", "a")])
            with pytest.raises(AlreadyRegistered):
                comment(
                    transaction,
                    "b",
                    add=[quad("b", "refused")],
                    claims=[claim("free", "b"), claim("taken", "b")],
                )
            assert transaction.claim(key("free")) is None
            assert texts(transaction, "b") == []
            comment(transaction, "c", add=[quad("c", "after")], claims=[claim("free", "c")])

        rehearsed(store, act)
        assert [read_texts(store, name) for name in ("a", "b", "c")] == [["before"], [], ["after"]]
        state = state_of(store)
        assert state.sequence == 2
        assert {row[0]: row[1] for row in state.claims} == {
            key("taken").value: thing("a").value,
            key("free").value: thing("c").value,
        }

    def test_one_act_wins_in_a_batch(self, store: Store) -> None:
        """If acts in one batch claim the same name, one gets it and the others get the error."""
        outcomes = in_one_batch(store, [winning("a", str(number)) for number in range(THREADS)])
        (winner,) = (answer for answer in outcomes if isinstance(answer, str))
        assert all(isinstance(answer, AlreadyRegistered) for answer in outcomes if answer != winner)
        assert holders(store, "a") == {winner}

    def test_threads_win_each_claim_once(self, store: Store) -> None:
        """If threads contend for the same names, each name has one winner, and the winner holds it."""

        def contend(holder: str) -> list[str]:
            outcomes = {
                name: outcome(rehearsed, store, winning(name, holder)) for name in map(str, range(KEYS))
            }
            assert all(
                answer == holder or isinstance(answer, AlreadyRegistered) for answer in outcomes.values()
            )
            return [name for name, answer in outcomes.items() if answer == holder]

        won = together([partial(contend, f"thread{number}") for number in range(THREADS)])
        assert Counter(name for names in won for name in names) == Counter(map(str, range(KEYS)))
        for number, names in enumerate(won):
            assert [holders(store, name) for name in names] == [{f"thread{number}"}] * len(names)
        assert state_of(store).sequence == KEYS

    def test_processes_win_each_claim_once(self, folder: Path) -> None:
        """Processes that open the store in turn, each waiting for the others, see earlier claims."""
        self.open(folder).close()
        contenders = ("first", "second", "third")
        with (
            Child(win_what_you_can, type(self).opener, folder, contenders[0]) as first,
            Child(win_what_you_can, type(self).opener, folder, contenders[1]) as second,
            Child(win_what_you_can, type(self).opener, folder, contenders[2]) as third,
        ):
            won = dict(zip(contenders, (first.receive(), second.receive(), third.receive()), strict=True))
        counted = Counter(name for names in won.values() for name in names)
        assert counted == Counter(f"{turn}-{number}" for turn in range(4) for number in range(KEYS // 5))
        with closing(self.open(folder)) as store:
            for holder, names in won.items():
                assert [holders(store, name) for name in names] == [{holder}] * len(names)
            assert state_of(store).sequence == len(counted)

    def test_claim_outlives_its_identifier(self, store: Store, folder: Path) -> None:
        """A claim is taken for ever; its digest is kept unchanged."""
        rehearsed(store, minting("a", digest="00ff"))
        rehearsed(store, commenting("a", claims=[claim("request", "a", "a digest, of any text: é")]))
        store.close()
        with closing(self.open(folder)) as again:
            with pytest.raises(AlreadyRegistered):
                rehearsed(again, minting("a"))
            assert again.read(lambda view: view.claim(key("a"))) == Claim(key("a"), thing("a"), "00ff")
            assert again.read(lambda view: view.claim(key("request"))) == claim(
                "request", "a", "a digest, of any text: é"
            )
            assert again.read(lambda view: view.claim(NamedNode("http://example.org/keys/other"))) is None
            assert read_minted(again, "a")

    def test_request_gets_the_same_answer_for_ever(self, store: Store, folder: Path) -> None:
        """An act that looks for its claim first has one effect, even after reopening."""
        acts = [requesting("key", f"holder{number}", f"digest{number}") for number in range(THREADS)]
        (answer,) = set(together([partial(rehearsed, store, act) for act in acts]))
        assert answer.digest == f"digest{answer.holder.value[-1]}"
        assert set(in_one_batch(store, acts)) == {answer}
        assert state_of(store).sequence == 1
        store.close()
        with closing(self.open(folder)) as again:
            assert [rehearsed(again, act) for act in acts] == [answer] * THREADS
            assert state_of(again).sequence == 1
