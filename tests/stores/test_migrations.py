"""Stores of other formats: an earlier one is brought up to date whole or not at all, a later one is refused and left as it is."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from command_lines import Run, tree

import idstore
from idstore import Party
from idstore.errors import StoreUnavailable
from idstore.stores import journal, migrations
from idstore.stores.founding import JOURNAL

ALICE = Party("alice")
PRESENT = journal.FORMAT


@pytest.fixture
def folder(store: Path) -> Path:
    """A store with an identifier, opened by nobody."""
    with idstore.open(store, administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "a", ALICE)
    return store


def format_of(folder: Path, number: int | None = None) -> int:
    """The format that a store says it has; after it was told another one."""
    with closing(sqlite3.connect(folder / JOURNAL)) as db:
        if number is not None:
            db.execute(f"PRAGMA user_version={number}")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        return int(found)


@pytest.fixture
def next_format(monkeypatch: pytest.MonkeyPatch) -> int:
    """The next version of idstore: its format is one higher, and keeps the number of migrations in the journal."""

    def step(db: sqlite3.Connection, place: Path) -> None:
        assert (place / JOURNAL).is_file()
        db.execute("INSERT INTO meta VALUES ('migrated', 'once')")

    monkeypatch.setattr(journal, "FORMAT", PRESENT + 1)
    monkeypatch.setitem(migrations.STEPS, PRESENT, step)
    return PRESENT + 1


def labels(folder: Path, *, read_only: bool) -> list[str]:
    with idstore.open(folder, read_only=read_only) as registry:
        assert list(registry.verify(ALICE)) == []
        return [record.label for record in registry.list(ALICE)]


@pytest.mark.parametrize("read_only", [False, True])
def test_an_earlier_format_is_brought_up_to_date_once(folder: Path, next_format: int, *, read_only: bool) -> None:
    assert labels(folder, read_only=read_only) == ["a"]
    assert format_of(folder) == next_format
    with idstore.open(folder) as registry:  # again: nothing more happens, else the key would be there twice
        registry.register("names", "b", ALICE)
    assert labels(folder, read_only=True) == ["b", "a"]


def test_several_steps_are_taken_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def note(number: int, db: sqlite3.Connection, place: Path) -> None:
        assert db.in_transaction and place.is_dir()
        taken.append(number)

    for number in range(PRESENT, PRESENT + 3):
        monkeypatch.setitem(migrations.STEPS, number, partial(note, number))
    monkeypatch.setattr(journal, "FORMAT", PRESENT + 3)
    assert labels(folder, read_only=False) == ["a"]
    assert taken == [PRESENT, PRESENT + 1, PRESENT + 2]
    assert format_of(folder) == PRESENT + 3


def test_a_step_that_fails_leaves_the_earlier_format(folder: Path, next_format: int, monkeypatch: pytest.MonkeyPatch) -> None:
    step = migrations.STEPS[PRESENT]

    def fail(db: sqlite3.Connection, place: Path) -> None:
        step(db, place)
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(migrations.STEPS, PRESENT, fail)
    with pytest.raises(StoreUnavailable, match="No space left"):
        idstore.open(folder)
    assert format_of(folder) == PRESENT
    monkeypatch.setitem(migrations.STEPS, PRESENT, step)
    assert labels(folder, read_only=False) == ["a"]
    assert format_of(folder) == next_format


KILLED = """
import os, sys, idstore
from idstore.stores import journal, migrations
def step(db, place):
    db.execute("INSERT INTO meta VALUES ('migrated', 'once')")
    os._exit(9)
migrations.STEPS[journal.FORMAT] = step
journal.FORMAT += 1
idstore.open(sys.argv[1])
"""


def test_a_step_that_is_cut_short_leaves_the_earlier_format(folder: Path, next_format: int) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False).returncode == 9
    assert format_of(folder) == PRESENT
    assert labels(folder, read_only=False) == ["a"]
    assert format_of(folder) == next_format


def test_a_step_can_put_another_generation_in_effect(folder: Path, next_format: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(db: sqlite3.Connection, place: Path) -> None:
        from idstore.stores.generation import Generation

        with closing(Generation(place / "generation-1")) as present:
            present.copy(place / "generation-2")
        db.execute("UPDATE meta SET value = '2' WHERE key = 'generation'")

    monkeypatch.setitem(migrations.STEPS, PRESENT, step)
    assert labels(folder, read_only=False) == ["a"]
    assert format_of(folder) == next_format
    assert [path.name for path in folder.glob("generation-*")] == ["generation-2"]


def test_an_earlier_format_without_steps_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "FORMAT", PRESENT + 1)
    for read_only in (False, True):
        with pytest.raises(
            StoreUnavailable, match=f"has format {PRESENT}, which this idstore cannot read any more: open it with an earlier"
        ):
            idstore.open(folder, read_only=read_only)
    assert format_of(folder) == PRESENT


@pytest.mark.parametrize("words", [("list",), ("mint", "names"), ("verify",), ("restore", "STORE", "--store", "ELSEWHERE")])
def test_a_later_format_is_refused_and_left_as_it_is(folder: Path, run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    format_of(folder, PRESENT + 1)
    before = {name: content for name, content in tree(folder).items() if name != "lock"}
    places = {"STORE": str(folder), "ELSEWHERE": str(tmp_path / "elsewhere")}
    said = run(*(places.get(word, word) for word in words), code=6).err
    assert f"has format {PRESENT + 1}, and this idstore reads format {PRESENT}: install a newer idstore; nothing was changed" in said
    assert {name: content for name, content in tree(folder).items() if name != "lock"} == before
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_no_journal_is_refused(folder: Path, run: Run) -> None:
    format_of(folder, 0)
    assert "is not an idstore journal; look for it in a backup" in run("list", code=6).err
    (folder / JOURNAL).write_bytes(b"something else" * 1000)
    assert "cannot be opened" in run("list", code=6).err
