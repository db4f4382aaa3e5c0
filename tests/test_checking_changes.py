"""``validate --changed`` checks what changed, finds the same there as a full check, or does a full check."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_files import engine_of
from pyoxigraph import NamedNode

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import InvalidData, NotPermitted
from idstore.validation import registries
from idstore.validation.registries import IncrementalReport, check, check_changed
from idstore.validation.shapes import load
from idstore.vocabulary import IDS

ALICE, BOB = Party("alice"), Party("bob")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as found:
        found.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        yield found


def mint(registry: Registry) -> str:
    return registry.mint("rdl", BOB, Request(name="valve")).iri


def checked(registry: Registry) -> IncrementalReport:
    """Check what changed, and take note if nothing was found."""
    found = check_changed(registry, ALICE)
    if found.report.conforms:
        registry.keep_checked(found.sequence, found.shapes, ALICE)
    return found


def lose(registry: Registry, iri: str, predicate: NamedNode) -> None:
    """Remove triples from the engine behind the registry's back."""
    with engine_of(registry) as engine:
        lost = engine.quads(NamedNode(iri), predicate)
        assert lost
        for quad in lost:
            engine.remove(quad)


def test_only_changes_are_checked(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    old, bound = mint(registry), mint(registry)
    assert checked(registry).checked is None
    assert checked(registry).checked == 0
    registry.bind(bound, Statement("http://example.org/valve"), BOB)
    registry.fixate([bound], BOB)
    assert (
        checked(registry).checked == 5
    )  # the record, its binding, and the events of minting, binding and fixation
    lose(registry, old, IDS.owner)
    mint(registry)
    assert checked(registry).checked == 2
    whole = check(registry, ALICE)
    assert not whole.conforms
    monkeypatch.setattr(registries, "mark", lambda _: "1")
    assert (found := checked(registry)).checked is None
    assert found.report == whole


@pytest.mark.parametrize("predicate", [IDS.stage, IDS.owner, IDS.inNamespace])
def test_a_loss_in_a_changed_record_is_found_as_by_a_full_check(
    registry: Registry, predicate: NamedNode
) -> None:
    checked(registry)
    iris = [mint(registry) for _ in range(3)]
    registry.fixate(iris[:2], BOB)
    registry.supersede(iris[0], [iris[1]], BOB)
    lose(registry, iris[1], predicate)
    mint(registry)
    assert checked(registry).report == check(registry, ALICE)


def test_a_finding_recurs_until_it_is_repaired(registry: Registry) -> None:
    checked(registry)
    iri = mint(registry)
    lose(registry, iri, IDS.owner)
    mint(registry)
    first = checked(registry)
    mint(registry)
    assert checked(registry).report == first.report
    assert not first.report.conforms


def test_a_change_of_a_namespace_a_party_or_the_shapes_needs_a_full_check(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(registry)
    for change in (
        lambda: registry.add_namespace("names", "10.5555", "handle", ALICE),
        lambda: registry.add_party(BOB, ALICE),
        lambda: monkeypatch.setattr(registries, "mark", lambda _: "1"),
    ):
        assert checked(registry).checked == 0
        change()
        assert checked(registry).checked is None


def test_many_changes_need_a_full_check(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idstore.registry.checkpoint._MOST", 2)
    checked(registry)
    mint(registry)
    mint(registry)
    assert checked(registry).checked == 4
    for _ in range(3):
        mint(registry)
    assert checked(registry).checked is None


def test_the_mark_does_not_depend_on_names_of_blank_nodes() -> None:
    assert registries.mark(registries.shapes()) == registries.mark(registries.shapes())
    assert registries.mark(load.__wrapped__("registry")) == registries.mark(load("registry"))


def test_only_administrators_check_changes(registry: Registry) -> None:
    with pytest.raises(NotPermitted):
        check_changed(registry, BOB)
    with pytest.raises(NotPermitted):
        registry.keep_checked(1, "1", BOB)


def test_a_position_that_no_event_has_reached_is_refused(registry: Registry) -> None:
    mint(registry)
    found = check_changed(registry, ALICE)
    registry.keep_checked(found.sequence, found.shapes, ALICE)
    with pytest.raises(InvalidData, match=f"the last is {found.sequence}; give the one"):
        registry.keep_checked(found.sequence + 1, found.shapes, ALICE)
    assert check_changed(registry, ALICE).sequence == found.sequence


def test_the_checked_position_is_kept_with_the_store(registry: Registry, tmp_path: Path) -> None:
    checked(registry)
    mint(registry)
    registry.backup(tmp_path / "copy", ALICE)
    with idstore.open(tmp_path / "copy", mode="shared") as copy:
        assert check_changed(copy, ALICE).checked == 2
