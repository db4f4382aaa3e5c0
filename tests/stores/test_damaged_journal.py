"""A journal, or a catalogue, that is not what was written: however the store is opened, one clear error, and the engine stays as it is."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore.errors import StoreDamaged
from idstore.stores.journal import Journal, Written, read

ALICE = idstore.Party("alice")
WAYS: dict[str, dict[str, Any]] = {"wide": {}, "brief": {"brief": True}, "read-only": {"read_only": True}}
SQL = "UPDATE change SET {} WHERE sequence = (SELECT max(sequence) FROM change)"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store whose last two changes, 4 and 5, are in its journal alone."""
    store = tmp_path / "store"
    with idstore.open(store, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "zero", ALICE)
    for label in ("one", "two"):
        with idstore.open(store, brief=True) as registry:
            registry.register("names", label, ALICE, idstore.Request(name="ball"))
    return store


def damage(place: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place / "journal.sqlite")) as journal, journal:
        journal.execute(statement, values)


def replaced(old: str, new: str) -> Callable[[Path], None]:
    return lambda place: damage(place, SQL.format("body = replace(body, ?, ?)"), old, new)


def turned(place: Path) -> None:
    """So that the text is none."""
    damage(place, SQL.format("body = CAST(replace(CAST(body AS BLOB), CAST('ball' AS BLOB), x'62e16c6c') AS TEXT)"))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no JSON": replaced('"ball', '"bal"'),
    "no list": lambda place: damage(place, SQL.format("body = '7'")),
    "too short": lambda place: damage(place, SQL.format("body = '[]'")),
    "no event": lambda place: damage(place, SQL.format('body = \'[[],false,"","",[],[],[],[]]\'')),
    "no IRI": replaced("https://hdl.handle.net/20.500.1/two", "https://hdl.handle.net/20.500.1/t o"),
    "no known act": replaced("Registration", "Registratinn"),
    "no property": replaced("#inNamespace", "#inNamespacd"),
    "no text": turned,
    "no number": lambda place: damage(place, SQL.format("body = replace(body, at, substr(at, 1, 5) || '.' || substr(at, 7))")),
    "another event": lambda place: damage(place, SQL.format("event = substr(event, 1, length(event) - 1) || 'x'")),
    "no event's name": lambda place: damage(place, SQL.format("event = 'no IRI'")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_change_is_named(place: Path, what: str, way: str) -> None:
    DAMAGE[what](place)
    engine = (place / "generation-1" / "engine").stat().st_ino
    for _ in range(2):
        with pytest.raises(StoreDamaged) as caught:
            idstore.open(place, **WAYS[way])
        assert str(caught.value) == (
            f"the store is damaged: {place / 'journal.sqlite'}: change 5 is not what was written there; keep its files, and restore a backup"
        )
    assert (place / "generation-1" / "engine").stat().st_ino == engine, "it is sound, and was not made again"


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_the_change_before_has_are_refused(place: Path, way: str) -> None:
    with closing(Journal(place / "journal.sqlite")) as journal:
        *_, last = journal.after(0)
    events, *rest = json.loads(last.body)
    damage(place, SQL.format("body = ?"), json.dumps([events * 2, *rest]))
    with pytest.raises(StoreDamaged, match="change 5 is not what was written there"):
        idstore.open(place, **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_a_change_that_is_missing_is_told_of(place: Path, way: str) -> None:
    damage(place, "DELETE FROM change WHERE sequence = 4")
    with pytest.raises(StoreDamaged, match=r"it lacks what happened after change 3; restore a backup$"):
        idstore.open(place, **WAYS[way])


def test_what_was_written_is_read(place: Path) -> None:
    with closing(Journal(place / "journal.sqlite")) as journal:
        written = list(journal.after(0))
        assert [journal.change(one) for one in written] == [read(one) for one in written]
        assert journal.change(Written(9, -1, 0, "urn:x", "")) is None
    assert [len(read(one).begun) for one in written] == [0, 0, 1, 1, 1]


META = {
    "no store": ("journal.sqlite", "DELETE FROM meta WHERE key = 'store'"),
    "no UUID": ("journal.sqlite", "UPDATE meta SET value = 'x' WHERE key = 'store'"),
    "no generation": ("journal.sqlite", "DELETE FROM meta WHERE key = 'generation'"),
    "no number": ("journal.sqlite", "UPDATE meta SET value = 'one' WHERE key = 'generation'"),
    "no state": ("generation-1/catalogue.sqlite", "DELETE FROM meta WHERE key = 'applied'"),
    "no number of it": ("generation-1/catalogue.sqlite", "UPDATE meta SET value = 'one' WHERE key = 'publication'"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", META)
def test_a_file_that_does_not_say_what_it_is_is_named(place: Path, what: str, way: str) -> None:
    name, statement = META[what]
    with closing(sqlite3.connect(place / name)) as file, file:
        file.execute(statement)
    with pytest.raises(StoreDamaged, match=f"{place / name} does not say .*; keep its files, and restore a backup"):
        idstore.open(place, **WAYS[way])
