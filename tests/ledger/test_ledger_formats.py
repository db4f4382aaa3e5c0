"""Ledgers of other formats.

An earlier format is migrated completely or not at all; a later one is refused and left as it is.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from ledger_contract import append, numbers

from idstore.errors import StoreUnavailable
from idstore.stores.ledger import store_format
from idstore.stores.ledger.sqlite import SqliteLedger

PRESENT = store_format.FORMAT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with a row, closed."""
    ledger_file = tmp_path / "ledger.sqlite"
    with closing(SqliteLedger(ledger_file, create=True)) as ledger:
        append(ledger, "a")
    return ledger_file


def form(path: Path, number: int | None = None) -> int:
    """Return the format that a ledger states. With a number, set it first."""
    with closing(sqlite3.connect(path)) as database:
        if number is not None:
            database.execute(f"PRAGMA user_version={number}")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        return int(version)


def opened(path: Path, *, read_only: bool = False) -> list[int]:
    with closing(SqliteLedger(path, read_only=read_only)) as ledger:
        return numbers(ledger)


@pytest.fixture
def next_form(monkeypatch: pytest.MonkeyPatch) -> int:
    """The next version of idstore: its format is one higher, and its ledger has a row for the migration."""

    def step(ledger: sqlite3.Connection, folder: Path) -> None:
        assert (folder / "ledger.sqlite").is_file()
        ledger.execute("INSERT INTO meta VALUES ('migrated', 'once')")

    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 1)
    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    return PRESENT + 1


def test_a_new_ledger_has_the_present_form(path: Path) -> None:
    assert form(path) == PRESENT == 3
    assert not store_format.STEPS, "there is no earlier release"


def test_a_store_of_form_one_says_what_to_do(tmp_path: Path) -> None:
    store_format.check_first_format(tmp_path)
    (tmp_path / "journal.sqlite").touch()
    for refuse in (store_format.check_first_format, lambda folder: SqliteLedger(folder / "ledger.sqlite")):
        with pytest.raises(
            StoreUnavailable,
            match=r"before 0\.1\.0, .* export it with that version as CSV",
        ):
            refuse(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["journal.sqlite"]
    SqliteLedger(tmp_path / "ledger.sqlite", create=True).close()
    store_format.check_first_format(tmp_path)


def test_an_earlier_form_is_migrated_once(path: Path, next_form: int) -> None:
    with pytest.raises(StoreUnavailable, match=r"open the store once for writing, which migrates it"):
        opened(path, read_only=True)
    assert form(path) == PRESENT
    assert opened(path) == [1]
    assert form(path) == next_form
    assert opened(path) == [1], "a second migration would fail on the key"
    assert opened(path, read_only=True) == [1]


def test_several_steps_are_taken_in_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def note(number: int, ledger: sqlite3.Connection, folder: Path) -> None:
        assert ledger.in_transaction and folder.is_dir()
        taken.append(number)

    for number in range(PRESENT, PRESENT + 3):
        monkeypatch.setitem(store_format.STEPS, number, partial(note, number))
    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 3)
    assert opened(path) == [1]
    assert taken == [PRESENT, PRESENT + 1, PRESENT + 2]
    assert form(path) == PRESENT + 3


def test_a_step_that_fails_leaves_the_earlier_form(
    path: Path, next_form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = store_format.STEPS[PRESENT]

    def fail(ledger: sqlite3.Connection, folder: Path) -> None:
        step(ledger, folder)
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(store_format.STEPS, PRESENT, fail)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        opened(path)
    assert form(path) == PRESENT
    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    assert opened(path) == [1]
    assert form(path) == next_form


KILLED = """
import os, sys
from pathlib import Path
from idstore.stores.ledger import store_format
from idstore.stores.ledger.sqlite import SqliteLedger
def step(ledger, folder):
    ledger.execute("INSERT INTO meta VALUES ('migrated', 'once')")
    os._exit(9)
store_format.STEPS[store_format.FORMAT] = step
store_format.FORMAT += 1
SqliteLedger(Path(sys.argv[1]))
"""


def test_a_step_that_is_cut_short_leaves_the_earlier_form(path: Path, next_form: int) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == 9
    assert form(path) == PRESENT
    assert opened(path) == [1]
    assert form(path) == next_form


def test_a_step_can_change_the_present_generation(
    path: Path, next_form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(ledger: sqlite3.Connection, folder: Path) -> None:
        (folder / "generation-2").mkdir()
        ledger.execute("UPDATE meta SET value = '2' WHERE key = 'generation'")

    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.generation == 2
    assert form(path) == next_form


@pytest.mark.parametrize("read_only", [False, True])
def test_an_earlier_form_without_steps_says_what_to_do(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool
) -> None:
    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 1)
    with pytest.raises(
        StoreUnavailable,
        match=f"has format {PRESENT}, which this idstore can no longer read: open it with an earlier",
    ):
        opened(path, read_only=read_only)
    assert form(path) == PRESENT


@pytest.mark.parametrize("read_only", [False, True])
def test_a_later_form_is_refused_and_left_as_it_is(path: Path, *, read_only: bool) -> None:
    form(path, PRESENT + 1)
    before = path.read_bytes()
    message = (
        f"has format {PRESENT + 1}, and this idstore reads format {PRESENT}: install a newer idstore;"
        " nothing was changed"
    )
    with pytest.raises(StoreUnavailable, match=message):
        opened(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_database_that_is_no_ledger_is_refused(path: Path) -> None:
    form(path, 0)
    with pytest.raises(StoreUnavailable, match="is not the ledger of a store; look for it in a backup"):
        opened(path)
