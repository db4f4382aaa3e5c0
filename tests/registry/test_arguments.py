"""Arguments of a wrong kind are refused by name, before anything is stored."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import idstore
from idstore import InvalidData, Party, Registry

ALICE = Party("alice")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("a") / "s", administrator=ALICE) as registry:
        registry.add_namespace("h", "12345", "handle", ALICE)
        registry.register("h", "x", ALICE)
        yield registry


@pytest.mark.parametrize(
    ("act", "field"),
    [
        (lambda registry: registry.allow("h", "alice", ALICE), "parties"),
        (lambda registry: registry.allow_storage("collection", "alice", ALICE), "parties"),
        (lambda registry: registry.fixate("h:x", ALICE), "ids"),
        (lambda registry: registry.unset_values("h:x", "12", ALICE), "indexes"),
        (lambda registry: registry.shared_targets("http://a.example/", ALICE, 1), "ids"),
        (lambda registry: registry.shared_targets([], ALICE, -1), "most"),
        (lambda registry: registry.query("ASK {}", ALICE, rows=-1), "rows"),
        (lambda registry: registry.allow("h", [], ALICE, per_minute=0), "per_minute"),
    ],
)
def test_the_error_names_the_argument(registry: Registry, act: Callable[[Registry], Any], field: str) -> None:
    before = [*registry.log(ALICE)]
    with pytest.raises(InvalidData) as refused:
        act(registry)
    assert refused.value.field == field
    assert [*registry.log(ALICE)] == before
