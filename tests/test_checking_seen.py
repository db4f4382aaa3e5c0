"""Validation of a registry in place: data that a party may not see have no influence on its report."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_files import engine_of
from pyoxigraph import Literal, NamedNode, Quad

import idstore
from idstore import Party, Registry, Request
from idstore.validation import ValidationReport, validate_registry
from idstore.validation.registries import check, shapes
from idstore.vocabulary import IDS, SKOS, party_iri

ALICE, BOB, CAROL, NOBODY = (Party(name) for name in ("alice", "bob", "carol", "nobody"))


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as found:
        found.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        for owner, other in ((BOB, CAROL), (CAROL, BOB)):
            private, shared, public = (found.mint("rdl", owner, Request(name="valve")).iri for _ in range(3))
            found.grant(shared, other, owner)
            found.fixate([public], owner)
            found.comment(private, "to be looked at", owner)
        yield found


def spoil(registry: Registry, owner: Party) -> set[str]:
    """Give the owner's records a second label, which is not a string, behind the registry's back."""
    with engine_of(registry) as engine:
        owned = [
            quad
            for quad in engine.quads(None, IDS.owner, party_iri(owner.name))
            if quad.subject.value.startswith("http:")  # type: ignore[union-attr]
        ]
        for quad in owned:
            engine.add(Quad(quad.subject, SKOS.notation, Literal(7), quad.graph_name))
    registry.mint("rdl", owner)  # the next check is of a later state
    return {str(quad.subject) for quad in owned}


def copied(registry: Registry, party: Party) -> ValidationReport:
    """Return the report on an export of the party."""
    with registry.quads(party) as quads:
        seen = list(quads)
    return validate_registry(seen, shapes(registry.namespaces()))


@pytest.mark.parametrize("party", [ALICE, BOB, CAROL, NOBODY], ids=lambda party: party.name)
def test_a_party_finds_the_faults_in_its_visible_data(registry: Registry, party: Party) -> None:
    spoiled = spoil(registry, CAROL)
    report = check(registry, party)
    assert report == copied(registry, party)
    found = {str(finding.focus) for finding in report.results}
    assert found <= spoiled
    assert len(found) == {ALICE: 3, BOB: 2, CAROL: 3, NOBODY: 1}[party]


def test_faults_in_private_data_do_not_change_the_report_of_others(registry: Registry) -> None:
    before = {party: check(registry, party) for party in (BOB, NOBODY)}
    private = registry.mint("rdl", CAROL).iri
    with engine_of(registry) as engine:
        lost = [
            quad
            for predicate in (IDS.owner, IDS.stage)
            for quad in engine.quads(NamedNode(private), predicate)
        ]
        assert len(lost) == 2
        for quad in lost:
            engine.remove(quad)
    registry.mint("rdl", CAROL)
    assert {party: check(registry, party) for party in (BOB, NOBODY)} == before
    assert not check(registry, ALICE).conforms
