"""The format of a store.

A store of another format is refused with a remedy and left as it is; a store of an earlier format is migrated
completely or not at all.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from command_lines import Run, tree
from store_files import ALICE, create, labels, ledger, register

import idstore
from idstore.errors import StoreUnavailable
from idstore.stores.ledger import store_format

PRESENT = store_format.FORMAT


@pytest.fixture
def folder(store: Path) -> Path:
    """A closed store with an identifier."""
    with create(store) as registry:
        register(registry, ["a"])
    return store


def form_of(folder: Path, number: int | None = None) -> int:
    """Return the format that a store states. With a number, set it first."""
    with closing(sqlite3.connect(ledger(folder))) as db:
        if number is not None:
            db.execute(f"PRAGMA user_version={number}")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        return int(found)


def content(folder: Path) -> dict[str, bytes]:
    """The files of a store without its lock."""
    return {name: content for name, content in tree(folder).items() if name != "lock"}


# the form before the first release

OLD_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE change (
    sequence INTEGER PRIMARY KEY, token INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL,
    body TEXT NOT NULL);
INSERT INTO meta VALUES ('store', '0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e'), ('generation', '1');
PRAGMA user_version=1;
"""


@pytest.fixture
def old(store: Path) -> Path:
    """A store of the first form: a journal instead of a ledger."""
    (store / "generation-1" / "engine").mkdir(parents=True)
    with closing(sqlite3.connect(store / "journal.sqlite")) as db:
        db.executescript(OLD_SCHEMA)
    (store / "lock").touch()
    return store


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("mint", "names"),
        ("verify",),
        ("init",),
        ("init", "--administrator", "bob"),
        ("namespace", "add", "names", "20.500.1", "--scheme", "handle"),
        ("query", "ASK {}"),
        ("stats",),
        ("backup", "ELSEWHERE"),
        ("restore", "STORE", "--store", "ELSEWHERE"),
    ],
    ids=" ".join,
)
def test_the_first_form_is_refused_and_left_as_it_is(
    old: Path, run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    before = content(old)
    places = {"STORE": str(old), "ELSEWHERE": str(tmp_path / "elsewhere")}
    message = run(*(places.get(word, word) for word in words), code=6).err
    assert "development version of idstore before 0.1.0" in message
    assert "export it with that version as CSV" in message and "nothing was changed" in message
    assert message.count("\n") == 1
    assert content(old) == before
    assert not (tmp_path / "elsewhere" / "ledger.sqlite").exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_the_first_form_is_refused_by_the_library(old: Path, *, read_only: bool) -> None:
    before = content(old)
    with pytest.raises(StoreUnavailable, match="development version"):
        idstore.open(old, mode="shared" if read_only else "write")
    with pytest.raises(StoreUnavailable, match="development version"):
        idstore.open(old, administrator=ALICE)
    assert content(old) == before


@pytest.mark.parametrize("words", [("list",), ("mint", "names"), ("verify",)], ids=" ".join)
def test_the_second_form_is_refused_and_left_as_it_is(folder: Path, run: Run, words: tuple[str, ...]) -> None:
    """Its ledger is that of the present form; its triples have other terms."""
    form_of(folder, 2)
    before = content(folder)
    message = run(*words, code=6).err
    assert "development version of idstore before 0.1.0" in message
    assert message.count("\n") == 1
    assert content(folder) == before


# later and earlier formats


@pytest.mark.parametrize(
    "words", [("list",), ("mint", "names"), ("verify",), ("restore", "STORE", "--store", "ELSEWHERE")]
)
def test_a_later_form_is_refused_and_left_as_it_is(
    folder: Path, run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    form_of(folder, PRESENT + 1)
    before = content(folder)
    places = {"STORE": str(folder), "ELSEWHERE": str(tmp_path / "elsewhere")}
    message = run(*(places.get(word, word) for word in words), code=6).err
    assert (
        f"has format {PRESENT + 1}, and this idstore reads format {PRESENT}: install a newer idstore;"
        " nothing was changed" in message
    )
    assert content(folder) == before
    assert not (tmp_path / "elsewhere" / "ledger.sqlite").exists()


def test_a_file_that_is_no_ledger_is_refused(folder: Path, run: Run) -> None:
    form_of(folder, 0)
    assert "is not the ledger of a store; look for it in a backup" in run("list", code=6).err
    ledger(folder).write_bytes(b"something else" * 1000)
    for words in (("list",), ("mint", "names")):
        assert "idstore: " in run(*words, code=6).err
    assert ledger(folder).read_bytes() == b"something else" * 1000


@pytest.fixture
def next_form(monkeypatch: pytest.MonkeyPatch) -> int:
    """The next version of idstore: its format is one higher, and its ledger has a row for the migration."""

    def step(db: sqlite3.Connection, place: Path) -> None:
        assert ledger(place).is_file()
        db.execute("INSERT INTO meta VALUES ('migrated', 'once')")

    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 1)
    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    return PRESENT + 1


def found(folder: Path, *, read_only: bool = False) -> set[str]:
    with idstore.open(folder, mode="shared" if read_only else "write") as registry:
        assert list(registry.verify(ALICE)) == []
        return labels(registry)


def test_an_earlier_form_is_migrated_once(folder: Path, next_form: int) -> None:
    assert found(folder) == {"a"}
    assert form_of(folder) == next_form
    with idstore.open(folder) as registry:  # a second migration would fail on the key
        register(registry, ["b"])
    assert found(folder, read_only=True) == {"a", "b"}


def test_an_earlier_form_is_not_migrated_by_a_reader_that_may_not_write(folder: Path, next_form: int) -> None:
    """A reader that may write migrates the store first, or names a remedy."""
    try:
        assert found(folder, read_only=True) == {"a"}
    except StoreUnavailable as error:
        assert "open the store once for writing" in str(error)
        assert form_of(folder) == PRESENT
    assert found(folder) == {"a"}
    assert form_of(folder) == next_form


def test_several_steps_are_taken_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def note(number: int, db: sqlite3.Connection, place: Path) -> None:
        assert db.in_transaction and place.is_dir()
        taken.append(number)

    for number in range(PRESENT, PRESENT + 3):
        monkeypatch.setitem(store_format.STEPS, number, partial(note, number))
    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 3)
    assert found(folder) == {"a"}
    assert taken == [PRESENT, PRESENT + 1, PRESENT + 2]
    assert form_of(folder) == PRESENT + 3


def test_a_step_that_fails_leaves_the_earlier_form(
    folder: Path, next_form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = store_format.STEPS[PRESENT]

    def fail(db: sqlite3.Connection, place: Path) -> None:
        step(db, place)
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(store_format.STEPS, PRESENT, fail)
    with pytest.raises(StoreUnavailable, match=r"full|No space left"):
        idstore.open(folder)
    assert form_of(folder) == PRESENT
    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    assert found(folder) == {"a"}
    assert form_of(folder) == next_form


KILLED = """
import os, sys, idstore
from idstore.stores.ledger import store_format
def step(db, place):
    db.execute("INSERT INTO meta VALUES ('migrated', 'once')")
    os._exit(9)
store_format.STEPS[store_format.FORMAT] = step
store_format.FORMAT += 1
idstore.open(sys.argv[1])
"""


def test_a_step_that_is_cut_short_leaves_the_earlier_form(folder: Path, next_form: int) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False).returncode == 9
    assert form_of(folder) == PRESENT
    assert found(folder) == {"a"}
    assert form_of(folder) == next_form


def test_a_step_can_put_another_generation_in_effect(
    folder: Path, next_form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    def step(db: sqlite3.Connection, place: Path) -> None:
        shutil.copytree(place / "generation-1", place / "generation-2")
        db.execute("UPDATE meta SET value = '2' WHERE key = 'generation'")

    monkeypatch.setitem(store_format.STEPS, PRESENT, step)
    assert found(folder) == {"a"}
    assert form_of(folder) == next_form
    assert [path.name for path in folder.glob("generation-*")] == ["generation-2"]


def test_an_earlier_form_without_a_step_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_format, "FORMAT", PRESENT + 1)
    for read_only in (False, True):
        with pytest.raises(
            StoreUnavailable,
            match=f"has format {PRESENT}, which this idstore can no longer read: open it with an earlier",
        ):
            idstore.open(folder, mode="shared" if read_only else "write")
    assert form_of(folder) == PRESENT
