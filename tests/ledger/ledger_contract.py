"""The contract of ledgers, as tests.

A test class for each implementation inherits `LedgerTests` and provides the fixture ``place``.
"""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Protocol

import pytest
from pyoxigraph import NamedNode

from idstore.errors import AlreadyRegistered, StoreDamaged, StoreUnavailable
from idstore.model.change import Claim
from idstore.stores.ledger.contract import EMPTY_HEAD, Head, Ledger, LedgerTransaction, NumberedClaim, Row

HERE = Path(__file__).parent
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ODD = "tab\t, line\n, quote ', NUL as JSON \\u0000, e\u0301, \U0001f600, \u2028"


class Place(Protocol):
    """The place of one ledger."""

    arguments: list[str]
    """Arguments with which `claiming_process` opens the ledger."""

    def open(self) -> Ledger:
        """Open the ledger, for the first time or again; it may be open already."""

    def damage(self, statement: str) -> None:
        """Change the tables of the closed ledger by SQL, without any check."""


def name(label: object) -> NamedNode:
    return NamedNode(f"http://n.example.org/{label}")


def head(number: int) -> Head:
    return Head(number, 3 * number, 1_000_000 + number, 7_000 + number)


def row(number: int, body: str | None = "") -> Row:
    return Row(head(number), f"row {number}" if body == "" else body)


def claim(label: object, number: int, holder: object = None, digest: str = "") -> NumberedClaim:
    return NumberedClaim(Claim(name(label), name(label if holder is None else holder), digest), number)


def append(ledger: Ledger, *labels: object, body: str | None = "") -> int:
    """Commit one row that claims labels. Returns its number."""
    with ledger.transaction() as transaction:
        number = transaction.head.number + 1
        transaction.append([row(number, body)], [claim(label, number) for label in labels])
        transaction.commit()
    return number


def numbers(ledger: Ledger, after: int = 0) -> list[int]:
    return [row.head.number for row in ledger.rows(after)]


def keys(ledger: Ledger, until: int = 1 << 40) -> list[NamedNode]:
    return [claim.key for claim in ledger.claims(until)]


class LedgerTests:
    """The contract."""

    @pytest.fixture
    def ledger(self, place: Place) -> Iterator[Ledger]:
        with closing(place.open()) as ledger:
            yield ledger

    @contextmanager
    def reopened(self, place: Place, ledger: Ledger) -> Iterator[Ledger]:
        ledger.close()
        with closing(place.open()) as again:
            yield again

    def test_a_new_ledger_is_empty(self, ledger: Ledger) -> None:
        assert UUID.fullmatch(ledger.origin)
        assert ledger.generation == 1
        assert ledger.head() == EMPTY_HEAD
        assert list(ledger.rows(0)) == []
        assert list(ledger.claims(0)) == []
        assert ledger.claim(name("a")) is None
        assert list(ledger.faults()) == []
        with ledger.transaction() as transaction:
            assert transaction.head == EMPTY_HEAD

    # rows

    def test_rows_come_in_order_and_without_a_gap(self, ledger: Ledger) -> None:
        with ledger.transaction() as transaction:
            transaction.append([row(1), row(2)], [])
            assert transaction.head == head(2)
            transaction.append([row(3)], [])
            transaction.commit()
        append(ledger)
        assert list(ledger.rows(0)) == [row(1), row(2), row(3), row(4)]
        assert list(ledger.rows(2)) == [row(3), row(4)]
        assert list(ledger.rows(4)) == []
        assert ledger.head() == head(4)

    def test_a_row_out_of_sequence_is_refused(self, ledger: Ledger) -> None:
        append(ledger)
        for wrong in ([row(1)], [row(3)], [row(2), row(4)]):
            with pytest.raises(AssertionError), ledger.transaction() as transaction:
                transaction.append(wrong, [])
        assert numbers(ledger) == [1]

    @pytest.mark.parametrize(
        "body", [None, "", ODD, "\u00e4" * 1_000_000], ids=["none", "empty", "odd", "long"]
    )
    def test_a_body_is_kept_as_it_is(self, place: Place, ledger: Ledger, body: str | None) -> None:
        with ledger.transaction() as transaction:
            transaction.append([Row(head(1), body)], [])
            transaction.commit()
        with self.reopened(place, ledger) as again:
            assert list(again.rows(0)) == [Row(head(1), body)]
            assert list(again.faults()) == []

    def test_the_largest_numbers_are_kept(self, ledger: Ledger) -> None:
        largest = Row(Head(1, 2**63 - 1, 2**62, -(2**63)), "x")
        with ledger.transaction() as transaction:
            transaction.append([largest], [])
            transaction.commit()
        assert ledger.head() == largest.head
        assert list(ledger.rows(0)) == [largest]

    def test_many_rows(self, ledger: Ledger) -> None:
        with ledger.transaction() as transaction:
            transaction.append([row(number) for number in range(1, 1501)], [])
            transaction.commit()
        assert numbers(ledger, 3) == [*range(4, 1501)]

    def test_committed_rows_are_there_after_reopening(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        append(ledger, "b")
        origin = ledger.origin
        with self.reopened(place, ledger) as again:
            assert (again.origin, again.generation) == (origin, 1)
            assert again.head() == head(2)
            assert list(again.rows(0)) == [row(1), row(2)]
            assert keys(again) == [name("a"), name("b")]
            assert append(again) == 3

    def test_reading_goes_on_while_rows_are_added(self, ledger: Ledger) -> None:
        append(ledger, "a")
        append(ledger, "b")
        rows, claims = ledger.rows(0), ledger.claims(2)
        assert (next(rows), next(claims)) == (row(1), claim("a", 1).claim)
        append(ledger, "c")
        assert (list(rows), list(claims)) == ([row(2)], [claim("b", 2).claim])

    # transactions

    def test_rows_without_a_commit_are_absent(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        with ledger.transaction() as transaction:
            transaction.append([row(2)], [claim("b", 2)])
        with pytest.raises(AssertionError), ledger.transaction() as transaction:
            transaction.append([row(2), row(2)], [claim("b", 2)])
        with ledger.transaction() as transaction:
            transaction.prune(1)
        with closing(place.open()) as other:
            for opened in (ledger, other):
                assert numbers(opened) == [1]
                assert opened.claim(name("b")) is None
        assert append(ledger, "b") == 2

    def test_no_reader_sees_an_uncommitted_change(self, place: Place, ledger: Ledger) -> None:
        with closing(place.open()) as other, ThreadPoolExecutor(1) as thread:
            with ledger.transaction() as transaction:
                transaction.append([row(1)], [claim("a", 1)])
                for reader in (ledger, other):
                    seen = thread.submit(
                        lambda: (reader.head(), numbers(reader), reader.claim(name("a")), keys(reader))
                    ).result()
                    assert seen == (EMPTY_HEAD, [], None, [])
                transaction.commit()
            for reader in (ledger, other):
                assert (reader.head(), numbers(reader), reader.claim(name("a"))) == (
                    head(1),
                    [1],
                    claim("a", 1),
                )

    def test_a_head_includes_the_commits_of_others(self, place: Place, ledger: Ledger) -> None:
        with closing(place.open()) as other:
            for number in range(1, 9):
                assert append((ledger, other)[number % 2]) == number
            assert numbers(ledger) == numbers(other) == [*range(1, 9)]

    def test_a_transaction_waits_for_the_one_before(self, place: Place, ledger: Ledger) -> None:
        begun = threading.Event()

        def follow() -> int:
            with closing(place.open()) as other:
                begun.set()
                return append(other, "b")

        with ThreadPoolExecutor(1) as thread:
            with ledger.transaction() as transaction:
                second = thread.submit(follow)
                assert begun.wait(30)
                transaction.append([row(1)], [claim("a", 1)])
                with pytest.raises(TimeoutError):
                    second.result(0.2)
                transaction.commit()
            assert second.result(30) == 2

    def test_after_an_error_a_transaction_is_over(self, ledger: Ledger) -> None:
        append(ledger, "a")
        with ledger.transaction() as transaction:
            with pytest.raises(AlreadyRegistered):
                transaction.append([row(2)], [claim("b", 2), claim("a", 2)])
            with pytest.raises(StoreUnavailable, match="nothing was changed"):
                transaction.commit()
        assert numbers(ledger) == [1]
        assert ledger.claim(name("b")) is None
        assert append(ledger, "b") == 2

    # claims

    def test_a_claim_is_found_with_the_number_of_its_row(self, ledger: Ledger) -> None:
        committed = [
            claim("a", 1),
            claim("key", 1, holder="a", digest="0123abcd"),
            claim("\u00e4/\U0001f600", 1),
        ]
        with ledger.transaction() as transaction:
            transaction.append([row(1)], committed)
            transaction.commit()
        append(ledger, "b")
        assert [ledger.claim(item.claim.key) for item in committed] == committed
        assert ledger.claim(name("b")) == claim("b", 2)
        assert ledger.claim(name("A")) is None

    def test_a_view_sees_the_claims_of_its_rows(self, ledger: Ledger) -> None:
        for label in ("c", "a", "b"):
            append(ledger, label)
        assert keys(ledger, 0) == []
        assert keys(ledger, 1) == [name("c")]
        assert keys(ledger, 2) == [name("a"), name("c")]
        assert keys(ledger, 3) == [name("a"), name("b"), name("c")]

    def test_many_claims_come_by_key(self, ledger: Ledger) -> None:
        labels = [f"{7919 * number % 3001:05}" for number in range(3001)]
        labels += ["z", "Z", "\u00e4", "\uffee", "\U0001f600"]
        append(ledger, *labels)
        assert [key.value for key in keys(ledger)] == sorted(
            (name(label).value for label in labels), key=str.encode
        )

    def test_a_key_is_claimed_once(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        for taken in (
            [claim("a", 2)],
            [claim("b", 2), claim("a", 2, holder="b")],
            [claim("c", 2), claim("c", 2)],
        ):
            with (
                pytest.raises(AlreadyRegistered, match=" is taken by ") as caught,
                ledger.transaction() as transaction,
            ):
                transaction.append([row(2)], taken)
            assert caught.value.fields == {"id": taken[-1].claim.key.value}
        with self.reopened(place, ledger) as again:
            assert numbers(again) == [1]
            assert keys(again) == [name("a")]
            with pytest.raises(AlreadyRegistered):
                append(again, "a")

    def test_nothing_is_appended_after_an_error(self, ledger: Ledger) -> None:
        append(ledger, "a")
        with ledger.transaction() as transaction:
            with pytest.raises(AlreadyRegistered):
                transaction.append([row(2)], [claim("a", 2)])
            with pytest.raises(StoreUnavailable, match="the transaction has ended"):
                transaction.append([row(2)], [])
            with pytest.raises(StoreUnavailable, match="the transaction has ended"):
                transaction.prune(1)
            with pytest.raises(StoreUnavailable, match="the transaction has ended"):
                transaction.commit()
        assert numbers(ledger) == [1]

    def test_a_long_key_is_claimed_once(self, ledger: Ledger) -> None:
        long = "".join(f"{number * 2654435761 % 2**32:08x}" for number in range(2000))
        append(ledger, long)
        with pytest.raises(AlreadyRegistered):
            append(ledger, long)
        assert ledger.claim(name(long)) == claim(long, 1)
        assert keys(ledger) == [name(long)]

    def test_threads_never_claim_a_key_twice(self, place: Place, ledger: Ledger) -> None:
        def contend(_: int) -> list[int]:
            with closing(place.open()) as own:
                return claim_all(own, 20)

        with ThreadPoolExecutor(4) as threads:
            won = [*threads.map(contend, range(4))]
        assert sorted(chain(*won)) == [*range(20)]
        assert numbers(ledger) == [*range(1, 21)]

    def test_processes_never_claim_a_key_twice(self, place: Place, ledger: Ledger) -> None:
        command = [sys.executable, str(HERE / "claiming_process.py"), *place.arguments, "30"]
        processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
        for process in processes:  # no process begins before all are ready
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        won = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0]
        assert sorted(chain(*won)) == [*range(30)]
        assert numbers(ledger) == [*range(1, 31)]
        assert len(keys(ledger)) == 30
        assert list(ledger.faults()) == []

    # pruning and switching

    def test_pruning_keeps_the_last_row_and_every_claim(self, place: Place, ledger: Ledger) -> None:
        for label in "abcd":
            append(ledger, label)
        self.prune(ledger, 2)
        assert numbers(ledger, 2) == [3, 4]
        self.prune(ledger, 100)
        assert numbers(ledger, 3) == [4]
        with self.reopened(place, ledger) as again:
            assert again.head() == head(4)
            assert keys(again) == [name(label) for label in "abcd"]
            assert list(again.faults()) == []
            assert append(again) == 5

    def prune(self, ledger: Ledger, number: int) -> None:
        with ledger.transaction() as transaction:
            transaction.prune(number)
            transaction.commit()

    def test_pruned_rows_are_missed_and_not_passed_over(self, ledger: Ledger) -> None:
        for _ in range(4):
            append(ledger)
        self.prune(ledger, 2)
        for after in (0, 1):
            with pytest.raises(StoreDamaged, match=rf"row {after + 1} is missing"):
                list(ledger.rows(after))

    def test_a_mark_ahead_of_the_ledger_is_damage(self, ledger: Ledger) -> None:
        append(ledger)
        with pytest.raises(StoreDamaged, match="it ends with row 1, although row 2 had taken effect"):
            list(ledger.rows(2))

    def switch(self, transaction: LedgerTransaction) -> None:
        transaction.switch(2, row(7, None), iter([claim("b", 7), claim("c", 6, holder="b", digest="d")]))

    def test_a_switch_takes_effect_in_one_step(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        append(ledger)
        with ledger.transaction() as transaction:
            self.switch(transaction)
        with ledger.transaction() as transaction:
            self.switch(transaction)
            assert transaction.head == head(7)
            assert (ledger.generation, numbers(ledger), keys(ledger)) == (1, [1, 2], [name("a")])
            transaction.commit()
        assert ledger.generation == 2
        with self.reopened(place, ledger) as again:
            assert again.generation == 2
            assert again.head() == head(7)
            assert list(again.rows(6)) == [row(7, None)]
            assert keys(again) == [name("a"), name("b"), name("c")]
            assert again.claim(name("c")) == claim("c", 6, holder="b", digest="d")
            assert append(again) == 8
            assert list(again.faults()) == []

    def test_a_switch_can_replace_digests(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        with ledger.transaction() as transaction:
            self.switch(transaction)
            transaction.replace_digests([claim("c", 6, holder="b", digest="e").claim])
            transaction.commit()
        with self.reopened(place, ledger) as again:
            assert again.claim(name("c")) == claim("c", 6, holder="b", digest="e")
            assert again.claim(name("a")) == claim("a", 1)
            assert list(again.faults()) == []

    def test_a_switch_with_a_taken_key_changes_nothing(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "c")
        with pytest.raises(AlreadyRegistered), ledger.transaction() as transaction:
            self.switch(transaction)
        with self.reopened(place, ledger) as again:
            assert (again.generation, numbers(again), keys(again)) == (1, [1], [name("c")])

    def test_a_switch_whose_claims_cannot_be_read_changes_nothing(self, ledger: Ledger) -> None:
        append(ledger, "a")

        def claims() -> Iterator[NumberedClaim]:
            yield claim("b", 2)
            raise OSError("cannot be read")

        with pytest.raises(OSError, match="cannot be read"), ledger.transaction() as transaction:
            transaction.switch(2, row(2, None), claims())
        assert (ledger.generation, numbers(ledger), keys(ledger)) == (1, [1], [name("a")])

    def test_a_switch_takes_many_claims(self, ledger: Ledger) -> None:
        many = 20_000
        with ledger.transaction() as transaction:
            transaction.switch(2, row(1, None), (claim(f"{number:06}", 1) for number in range(many)))
            transaction.commit()
        assert len(keys(ledger)) == many

    # damage

    @pytest.mark.parametrize(
        "change",
        [
            "body = 'row 3'",
            "body = NULL",
            "body = ''",
            "checksum = checksum + 1",
            "sequence = sequence + 1",
            "at = at - 1",
            "token = token + 4",
        ],
    )
    @pytest.mark.parametrize("number", [2, 3])
    def test_a_changed_row_is_damage(self, place: Place, ledger: Ledger, change: str, number: int) -> None:
        for _ in range(2):
            append(ledger)
        append(ledger, body="the last one")
        ledger.close()
        place.damage(f"UPDATE row SET {change} WHERE number = {number}")
        with closing(place.open()) as again:
            message = f"row {number} differs from the data written; keep its files, and restore a backup"
            with pytest.raises(StoreDamaged, match=message):
                list(again.rows(0))
            if number == 3:
                with pytest.raises(StoreDamaged, match=message):
                    again.head()
                with pytest.raises(StoreDamaged, match=message):
                    append(again)
            assert [fault for fault in again.faults() if message in fault]

    def test_a_renumbered_row_is_damage(self, place: Place, ledger: Ledger) -> None:
        for _ in range(3):
            append(ledger)
        ledger.close()
        place.damage("UPDATE row SET number = 4 WHERE number = 3")
        with (
            closing(place.open()) as again,
            pytest.raises(StoreDamaged, match="row 4 differs from the data written"),
        ):
            again.head()

    def test_a_missing_row_is_damage(self, place: Place, ledger: Ledger) -> None:
        for _ in range(4):
            append(ledger)
        ledger.close()
        place.damage("DELETE FROM row WHERE number = 3")
        with closing(place.open()) as again:
            rows = again.rows(0)
            assert [next(rows), next(rows)] == [row(1), row(2)]
            with pytest.raises(StoreDamaged, match="row 3 is missing; keep its files, and restore a backup"):
                next(rows)
            assert [fault for fault in again.faults() if "row 3 is missing" in fault]
            assert numbers(again, 3) == [4]

    def test_claims_of_missing_rows_are_a_fault(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        append(ledger, "b")
        ledger.close()
        place.damage("DELETE FROM row WHERE number = 2")
        with closing(place.open()) as again:
            assert [fault for fault in again.faults() if "the rows of 1 claims are missing" in fault]

    def test_a_claim_with_a_malformed_holder_is_damage(self, place: Place, ledger: Ledger) -> None:
        append(ledger, "a")
        ledger.close()
        place.damage("UPDATE claim SET holder = 'no IRI'")
        with closing(place.open()) as again:
            with pytest.raises(
                StoreDamaged, match=r"the claim of 'http://n.example.org/a' differs from the data written"
            ):
                again.claim(name("a"))
            with pytest.raises(StoreDamaged):
                keys(again)


def claim_all(ledger: Ledger, many: int) -> list[int]:
    """Claim ``many`` labels, each in its own transaction. Returns the numbers of those that were free."""
    won = []
    for number in range(many):
        try:
            append(ledger, f"label{number}")
        except AlreadyRegistered:
            continue
        won.append(number)
    return won
