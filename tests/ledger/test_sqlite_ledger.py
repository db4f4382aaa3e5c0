"""The ledger in a SQLite file: the contract; permissions, copies, damage, forks, and SQLite's log."""

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ledger_contract import LedgerTests, append, claim, head, keys, name, numbers, row

from idstore.errors import AlreadyRegistered, StoreDamaged, StoreUnavailable
from idstore.stores.ledger import sqlite_writer
from idstore.stores.ledger.contract import EMPTY_HEAD, Row
from idstore.stores.ledger.sqlite import SqliteLedger


class SqlitePlace:
    """A file in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.sqlite"
        self.arguments = ["sqlite", str(self.path)]

    def open(self) -> SqliteLedger:
        return SqliteLedger(self.path, create=not self.path.exists())

    def damage(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement)


@pytest.fixture
def place(tmp_path: Path) -> SqlitePlace:
    return SqlitePlace(tmp_path)


@pytest.fixture
def ledger(place: SqlitePlace) -> Iterator[SqliteLedger]:
    with closing(place.open()) as ledger:
        yield ledger


class TestSqliteLedger(LedgerTests):
    pass


# the file


@pytest.mark.parametrize(("folder", "mode"), [(0o755, 0o640), (0o700, 0o600), (0o2770, 0o660)])
def test_every_file_is_for_those_who_may_use_the_folder(place: SqlitePlace, folder: int, mode: int) -> None:
    place.path.parent.chmod(folder)
    mask = os.umask(0o077 if mode == 0o660 else 0)
    try:
        with closing(SqliteLedger(place.path, create=True)) as ledger:
            append(ledger)
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.path.parent.iterdir()}
        with closing(SqliteLedger(place.path)) as ledger:
            append(ledger)
            ledger.copy(place.path.with_name("copy"), ledger.head(), 1)
            files |= {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.path.parent.iterdir()}
    finally:
        os.umask(mask)
    assert files == dict.fromkeys(["copy", "ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"], mode)


def test_an_existing_file_is_not_replaced(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        SqliteLedger(place.path, create=True)
    assert numbers(ledger) == [1]


def test_a_missing_file_is_not_created(place: SqlitePlace) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        SqliteLedger(place.path)
    assert not place.path.exists()


def test_a_given_origin_is_kept(place: SqlitePlace) -> None:
    origin = "01234567-89ab-4cde-8f01-23456789abcd"
    SqliteLedger(place.path, create=True, origin=origin).close()
    with closing(place.open()) as ledger:
        assert ledger.origin == origin


def test_a_closed_ledger_is_one_file(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger)
    ledger.close()
    assert [file.name for file in place.path.parent.iterdir()] == ["ledger.sqlite"]


def test_a_ledger_for_reading_changes_nothing(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger, "a")
    with closing(SqliteLedger(place.path, read_only=True)) as reader:
        assert (reader.head(), numbers(reader), keys(reader)) == (head(1), [1], [name("a")])
        assert (reader.origin, reader.generation) == (ledger.origin, 1)
        with pytest.raises(StoreUnavailable, match="open for reading only"):
            reader.transaction()
        append(ledger)
        assert numbers(reader) == [1, 2]
        assert list(reader.faults()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write in every folder")
def test_a_ledger_is_read_where_nothing_may_be_written(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger)
    ledger.close()
    place.path.parent.chmod(0o500)
    try:
        with closing(SqliteLedger(place.path, read_only=True)) as reader:
            assert numbers(reader) == [1]
    finally:
        place.path.parent.chmod(0o700)


def test_the_ledger_of_a_killed_process_is_read(ledger: SqliteLedger, tmp_path: Path) -> None:
    append(ledger, "a")
    with ledger.transaction() as transaction:
        transaction.append([row(2)], [claim("b", 2)])
        shutil.copytree(tmp_path, tmp_path / "killed", ignore=shutil.ignore_patterns("killed"))
    with closing(SqliteLedger(tmp_path / "killed" / "ledger.sqlite")) as again:
        assert (numbers(again), keys(again)) == ([1], [name("a")])
        assert append(again, "b") == 2


# copies


def test_a_copy_has_the_head_of_the_ledger(ledger: SqliteLedger, tmp_path: Path) -> None:
    with ledger.transaction() as transaction:
        transaction.append([row(1)], [claim("a", 1), claim("key", 1, holder="a", digest="d")])
        transaction.append([row(2)], [])
        transaction.append([row(3)], [claim("b", 3)])
        transaction.commit()
    ledger.copy(tmp_path / "copy", head(2), 1)
    append(ledger, "c")
    assert not list(tmp_path.glob("copy-*"))
    with closing(SqliteLedger(tmp_path / "copy")) as copy:
        assert (copy.origin, copy.generation, copy.head()) == (ledger.origin, 1, head(2))
        assert list(copy.rows(1)) == [Row(head(2), None)]
        assert keys(copy) == [name("a"), name("key")]
        assert copy.claim(name("key")) == claim("key", 1, holder="a", digest="d")
        assert list(copy.faults()) == []
        with pytest.raises(AlreadyRegistered):
            append(copy, "a")
        assert append(copy, "b") == 3


def test_an_empty_ledger_is_copied(ledger: SqliteLedger, tmp_path: Path) -> None:
    ledger.copy(tmp_path / "copy", EMPTY_HEAD, 4)
    with closing(SqliteLedger(tmp_path / "copy")) as copy:
        assert (copy.generation, copy.head(), keys(copy)) == (4, EMPTY_HEAD, [])
    with pytest.raises(StoreUnavailable, match="copy cannot be written"):
        ledger.copy(tmp_path / "copy", EMPTY_HEAD, 4)


# damage


def test_one_flipped_bit_never_gives_another_row(
    place: SqlitePlace, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Bits are flipped in each row and at random places of the file. At most the earlier rows are read."""
    for label in "abc":
        append(ledger, label, body=f"the body of {label}")
    sound = list(ledger.rows(0))
    ledger.close()
    content = place.path.read_bytes()
    places = [content.index(f"the body of {label}".encode()) for label in "abc"]
    bits = {8 * (byte + offset) + bit for byte in places for offset in range(-20, 14) for bit in range(8)}
    bits |= set(random.Random(5).sample(range(8 * len(content)), 100))
    refused = 0
    for bit in sorted(bits):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged = tmp_path / "damaged.sqlite"
        damaged.write_bytes(flipped)
        rows_read: list[Row] = []
        try:
            with closing(SqliteLedger(damaged)) as broken:
                rows_read.extend(broken.rows(0))
        except StoreUnavailable:
            refused += 1
        assert rows_read == sound[: len(rows_read)], f"bit {bit % 8} of byte {bit // 8}"
    assert refused >= 8 * 3 * len("the body of a")


META = {
    "no store": "DELETE FROM meta WHERE key = 'store'",
    "no UUID": "UPDATE meta SET value = 'x' WHERE key = 'store'",
    "no generation": "DELETE FROM meta WHERE key = 'generation'",
    "no number": "UPDATE meta SET value = 'one' WHERE key = 'generation'",
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("what", META)
def test_a_ledger_without_metadata_is_damage(
    place: SqlitePlace, ledger: SqliteLedger, what: str, *, read_only: bool
) -> None:
    ledger.close()
    place.damage(META[what])
    with pytest.raises(StoreDamaged, match=r"ledger.sqlite: it lacks .*; keep its files, and restore a"):
        SqliteLedger(place.path, read_only=read_only)


def test_a_file_that_is_no_database_is_refused(place: SqlitePlace) -> None:
    place.path.write_bytes(b"something else" * 1000)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        SqliteLedger(place.path)


def test_a_text_that_is_not_utf8_is_damage(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger, "a")
    append(ledger, "b")
    ledger.close()
    place.damage("UPDATE row SET body = CAST(x'726fff2031' AS TEXT) WHERE number = 1")
    place.damage("UPDATE claim SET key = CAST(x'726fff2031' AS TEXT) WHERE number = 1")
    with closing(place.open()) as again:
        for read in (again.rows(0), again.claims(2)):
            with pytest.raises(StoreDamaged, match="differs from the data written"):
                list(read)


def test_a_broken_tree_raises_and_is_listed_as_a_fault(place: SqlitePlace, ledger: SqliteLedger) -> None:
    with ledger.transaction() as transaction:
        transaction.append([row(number, "x" * 500) for number in range(1, 200)], [])
        transaction.commit()
    ledger.close()
    content = bytearray(place.path.read_bytes())
    pages = range(4096 * 5, len(content), 4096)
    for page in pages:
        content[page : page + 8] = b"\xff" * 8
    place.path.write_bytes(content)
    with closing(place.open()) as again:
        with pytest.raises(StoreUnavailable):
            list(again.rows(0))
        assert list(again.faults())


# forks


def test_a_fork_neither_uses_nor_closes_the_ledger_of_its_parent(place: SqlitePlace) -> None:
    program = f"""
import os, sys
from pathlib import Path
from idstore.errors import StoreUnavailable
from idstore.stores.ledger.sqlite import SqliteLedger
path = Path({str(place.path)!r})
ledger = SqliteLedger(path, create=True)
child = os.fork()
if not child:
    ledger.close()
    try:
        SqliteLedger(path)
    except StoreUnavailable as error:
        os._exit("spawn" in str(error))
    os._exit(7)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), path.with_name("ledger.sqlite-wal").exists(), ledger.head().number)
ledger.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "1 True 0\n"


# SQLite's log


def _log(place: SqlitePlace) -> int:
    return place.path.with_name("ledger.sqlite-wal").stat().st_size


def test_the_log_grows_once_and_holds_nothing_more(
    place: SqlitePlace, ledger: SqliteLedger, tmp_path: Path
) -> None:
    for number in range(sqlite_writer._GROW_AFTER - 1):
        append(ledger, number)
    assert _log(place) < sqlite_writer._LOG_SIZE
    append(ledger, "grown")
    grown = _log(place)
    assert grown >= sqlite_writer._LOG_SIZE
    for number in range(2 * sqlite_writer._GROW_AFTER):
        append(ledger, f"after {number}".replace(" ", "-"))
    assert _log(place) == grown
    expected = numbers(ledger)
    assert expected == [*range(1, 3 * sqlite_writer._GROW_AFTER + 1)]
    shutil.copytree(tmp_path, tmp_path / "killed", ignore=shutil.ignore_patterns("killed"))
    with closing(SqliteLedger(tmp_path / "killed" / "ledger.sqlite")) as again:
        assert numbers(again) == expected
        assert list(again.faults()) == []
        append(again, "more")


def test_the_log_does_not_grow_on_a_nearly_full_disk(
    place: SqlitePlace, ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "_ROOM", 1 << 60)
    for _ in range(2 * sqlite_writer._GROW_AFTER):
        append(ledger)
    assert _log(place) < sqlite_writer._LOG_SIZE


def test_a_log_that_cannot_grow_is_no_failure(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than SQLite takes as one value stands for a disk without room.

    Either way a statement of the transaction fails.
    """
    monkeypatch.setattr(sqlite_writer, "_LOG_SIZE", 1 << 40)
    monkeypatch.setattr(sqlite_writer, "_ROOM", 0)
    for _ in range(2 * sqlite_writer._GROW_AFTER):
        append(ledger)
    assert numbers(ledger) == [*range(1, 2 * sqlite_writer._GROW_AFTER + 1)]
    assert list(ledger.faults()) == []


def test_a_long_reading_does_not_keep_the_log_growing(place: SqlitePlace, ledger: SqliteLedger) -> None:
    append(ledger, *(f"label{number}" for number in range(3000)))
    claims, rows = ledger.claims(1), ledger.rows(0)
    next(claims), next(rows)
    for number in range(400):
        append(ledger, f"later{number}", body="x" * 20_000)  # eight megabytes
    assert _log(place) < 3 * sqlite_writer._LOG_SIZE
    assert len(list(claims)) == 2999
