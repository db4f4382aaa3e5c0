"""A reading inside a reading sees the same state, and waits for nobody."""

import threading
from pathlib import Path

import pytest

import idstore
from idstore import Party, Statement
from idstore.errors import StoreUnavailable

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


def test_an_act_that_would_wait_for_its_own_reading_is_refused(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        kept = [registry.mint("rdl", ALICE).iri.value for _ in range(3)]
        with registry.records(ALICE) as records:
            first, second = (next(records).iri.value for _ in range(2))
            registry.bind(first, Statement("http://example.org/same"), ALICE)
            with pytest.raises(StoreUnavailable, match="end the block"):
                registry.bind(second, Statement("http://example.org/same"), ALICE)
        assert [len(registry.show(iri, ALICE).bindings) for iri in sorted(kept)] == [1, 0, 0]
        assert list(registry.verify(ALICE)) == []


def test_a_closed_store_is_not_read(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        pass
    with pytest.raises(StoreUnavailable, match="closed"):
        registry.list(ALICE)
