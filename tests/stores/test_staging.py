"""A large change is made beside the present state, and takes effect as a whole or not at all."""

from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import NotRegistered, StoreUnavailable

ALICE = Party("alice")


def break_off(registry: Registry, label: str) -> None:
    with registry.store.staging() as staged:
        Registry(staged).register("names", label, ALICE)
        raise OSError("no space")


@pytest.mark.parametrize("attempts", [1, 3])
def test_after_a_disk_that_refused_the_same_process_can_try_again(tmp_path: Path, attempts: int) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        for attempt in range(attempts):
            with pytest.raises(StoreUnavailable, match="nothing was changed, free some space"):
                break_off(registry, f"lost{attempt}")
        with pytest.raises(NotRegistered):
            registry.show("20.500.1/lost0", ALICE)
        with registry.store.staging() as staged:
            Registry(staged).register("names", "kept", ALICE)
        registry.register("names", "later", ALICE)
    with idstore.open(tmp_path / "store") as registry:
        assert {record.label for record in registry.list(ALICE)} == {"kept", "later"}
        assert list(registry.verify(ALICE)) == []
    assert len(list((tmp_path / "store").glob("generation-*"))) == 1
