"""A reading inside a reading sees the same state, and waits for nobody."""

import threading
from pathlib import Path

import idstore
from idstore import Party

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
