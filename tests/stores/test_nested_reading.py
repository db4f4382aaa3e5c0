"""A reading inside a reading sees the same state, and waits for nobody."""

import threading
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore import Party, Statement
from idstore.errors import StoreUnavailable
from idstore.stores import applying, waiting

ALICE = Party("alice")


def test_a_reading_inside_a_reading_does_not_wait_for_what_came_between(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        with registry.store.reading() as view:
            seen = view.catalogue.counts()
            other = threading.Thread(target=registry.mint, args=("rdl", ALICE))
            other.start()
            other.join(30)
            assert not other.is_alive()  # durable and acknowledged, but not applied: we read
            with registry.store.reading() as inner:
                assert inner.catalogue.counts() == seen
        assert registry.counts(ALICE).total == 1


def test_acts_inside_a_reading_build_on_one_another(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        kept = sorted(registry.mint("rdl", ALICE).iri.value for _ in range(3))
        with registry.records(ALICE) as records:
            for record in records:
                registry.bind(record.iri.value, Statement("http://example.org/same"), ALICE)
                registry.bind(record.iri.value, Statement("http://example.org/other"), ALICE)
            assert registry.bind(kept[0], Statement("http://example.org/same"), ALICE) is None
        assert [len(registry.show(iri, ALICE).bindings) for iri in kept] == [2, 2, 2]
        assert list(registry.verify(ALICE)) == []


def test_an_act_that_would_wait_for_its_own_reading_is_refused(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        with registry.store.reading():
            registry.freeze("rdl", ALICE)
            with pytest.raises(StoreUnavailable, match="end the block"):  # who may do what is read of what is applied
                registry.mint("rdl", ALICE)
        registry.freeze("rdl", ALICE, frozen=False)
        registry.mint("rdl", ALICE)
        assert list(registry.verify(ALICE)) == []


def test_who_reads_and_acts_lets_go_of_who_waits_for_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread has the turn and waits for the reading to end; the other reads and waits for the turn."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.1)
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        one = registry.mint("rdl", ALICE).iri.value
        store: Any = registry.store
        with store.reading():
            registry.freeze("rdl", ALICE)
            other = threading.Thread(target=registry.name, args=(one, "a name", ALICE))
            other.start()
            while not store._applier._hurried:  # it has the turn
                pass
            with pytest.raises(StoreUnavailable, match="end the block"):
                registry.bind(one, Statement("http://example.org/same"), ALICE)
        other.join(60)
        registry.bind(one, Statement("http://example.org/same"), ALICE)
        assert registry.show(one, ALICE).names == (("und", "a name"),)


def test_an_act_inside_an_act_is_refused(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        with registry.store.turn(), pytest.raises(StoreUnavailable, match="inside another"):
            registry.mint("rdl", ALICE)
        registry.mint("rdl", ALICE)


def test_acts_inside_a_reading_are_no_more_than_may_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "BACKLOG", 20)
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        one = registry.mint("rdl", ALICE).iri.value
        registry.counts(ALICE)
        with registry.store.reading():
            for number in range(21):
                registry.bind(one, Statement(f"http://example.org/{number}"), ALICE)
            with pytest.raises(StoreUnavailable, match="end the block"):
                registry.bind(one, Statement("http://example.org/same"), ALICE)
        registry.bind(one, Statement("http://example.org/same"), ALICE)
        assert len(registry.show(one, ALICE).bindings) == 22


def test_a_closed_store_is_not_read(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        pass
    with pytest.raises(StoreUnavailable, match="closed"):
        registry.list(ALICE)
