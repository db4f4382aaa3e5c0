"""Checking a registry where it is: what a party may not see is not there, whatever is wrong with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, Quad

import idstore
from idstore import Party, Registry, Request
from idstore.stores.embedded import EmbeddedStore
from idstore.validation import Report, validate_registry
from idstore.validation.registries import check, shapes
from idstore.vocabulary import IDS, SKOS, party_iri

ALICE, BOB, CAROL, NOBODY = (Party(name) for name in ("alice", "bob", "carol", "nobody"))


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as found:
        found.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        for owner, other in ((BOB, CAROL), (CAROL, BOB)):
            private, shared, public = (found.mint("rdl", owner, Request(name="valve")).iri.value for _ in range(3))
            found.grant(shared, other, owner)
            found.fixate([public], owner)
            found.comment(private, "to be looked at", owner)
        yield found


def spoil(registry: Registry, owner: Party) -> set[str]:
    """Give the owner's records a second label, which is no text, behind the registry's back."""
    assert isinstance(registry.store, EmbeddedStore)
    with registry.store.reading() as view:
        owned = [quad for quad in view.quads(None, IDS.owner, party_iri(owner.name)) if quad.subject.value.startswith("http:")]  # type: ignore[union-attr]
    for quad in owned:
        registry.store._generation.engine.add(Quad(quad.subject, SKOS.notation, Literal(7), quad.graph_name))
    registry.mint("rdl", owner)  # what is checked next is a state after this one
    return {str(quad.subject) for quad in owned}


def copied(registry: Registry, party: Party) -> Report:
    """The report on what an export gives the party."""
    with registry.quads(party) as quads:
        seen = list(quads)
    return validate_registry(seen, shapes(registry.namespaces()))


@pytest.mark.parametrize("party", [ALICE, BOB, CAROL, NOBODY], ids=lambda party: party.name)
def test_a_party_finds_what_is_wrong_in_what_it_is_given(registry: Registry, party: Party) -> None:
    spoiled = spoil(registry, CAROL)
    report = check(registry, party)
    assert report == copied(registry, party)
    found = {str(finding.focus) for finding in report.results}
    assert found <= spoiled
    assert len(found) == {ALICE: 3, BOB: 2, CAROL: 3, NOBODY: 1}[party]


def test_what_is_wrong_in_private_changes_no_word_for_others(registry: Registry) -> None:
    before = {party: check(registry, party) for party in (BOB, NOBODY)}
    private = registry.mint("rdl", CAROL).iri
    assert isinstance(registry.store, EmbeddedStore)
    with registry.store.reading() as view:
        lost = [quad for predicate in (IDS.owner, IDS.stage) for quad in view.quads(private, predicate)]
    assert len(lost) == 2
    for quad in lost:
        registry.store._generation.engine.remove(quad)
    registry.mint("rdl", CAROL)
    assert {party: check(registry, party) for party in (BOB, NOBODY)} == before
    assert not check(registry, ALICE).conforms
