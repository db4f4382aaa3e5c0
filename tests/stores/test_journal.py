"""SQLite's log under the journal: it grows once, ahead of what will be written, and nothing of that is ever seen."""

import shutil
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry
from idstore.stores import journal

ALICE = Party("alice")


def _begun(place: Path) -> Registry:
    registry = idstore.open(place, administrator=ALICE)
    registry.add_namespace("names", "20.500.1", "handle", ALICE)
    return registry


def _register(registry: Registry, numbers: range) -> list[str]:
    return [registry.register("names", f"n{number}", ALICE).iri.value for number in numbers]


def test_the_log_grows_once_and_holds_nothing_more(tmp_path: Path) -> None:
    log = tmp_path / "store/journal.sqlite-wal"
    with _begun(tmp_path / "store") as registry:
        named = _register(registry, range(journal._MANY // 2))
        before = log.stat().st_size
        named += _register(registry, range(journal._MANY // 2, journal._MANY))
        grown = log.stat().st_size
        assert before < journal._LOG <= grown
        named += _register(registry, range(journal._MANY, 3 * journal._MANY))
        assert log.stat().st_size == grown
        shutil.copytree(tmp_path / "store", tmp_path / "cut")  # as after kill -9: the log is read back as it stands
    for place in ("store", "cut"):
        with idstore.open(tmp_path / place) as again:
            assert {record.iri.value for record in again.list(ALICE)} == set(named)
            assert not list(again.verify(ALICE))
            again.register("names", "another", ALICE)


def test_the_last_of_the_disk_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_ROOM", 1 << 60)
    with _begun(tmp_path / "store") as registry:
        _register(registry, range(2 * journal._MANY))
        assert (tmp_path / "store/journal.sqlite-wal").stat().st_size < journal._LOG


def test_a_log_that_cannot_grow_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than SQLite takes as one value stands for a disk that has no room: either way a statement fails within the transaction."""
    monkeypatch.setattr(journal, "_LOG", 1 << 40)
    with _begun(tmp_path / "store") as registry:
        named = _register(registry, range(2 * journal._MANY))
        assert {record.iri.value for record in registry.list(ALICE)} == set(named)
        assert not list(registry.verify(ALICE))
    assert not (tmp_path / "store/journal.sqlite-wal").exists()
