"""``idstore validate`` of a store: what each party is told, and which changes are checked."""

from pathlib import Path

import pytest
from command_lines import Minting, Run
from engine_files import engine_of
from pyoxigraph import NamedNode

import idstore
from idstore.vocabulary import IDS

BOB = idstore.Party("bob")


@pytest.fixture
def ownerless(rdl: str, store: Path) -> str:
    """Return a created identifier of bob that has lost its owner."""
    with idstore.open(store) as registry:
        iri = registry.mint(rdl, BOB, idstore.Request(name="valve")).iri.value
        with engine_of(registry) as engine:
            for quad in engine.quads(NamedNode(iri), IDS.owner):
                engine.remove(quad)
        registry.close()
    return iri


@pytest.mark.near_and_far
def test_a_finding_is_told_to_those_who_see_the_identifier(run: Run, ownerless: str) -> None:
    for party in ("alice", "bob"):
        [finding] = run("validate", "--json", by=party, code=5).objects
        assert (finding["focus"], finding["component"]) == (f"<{ownerless}>", "minCount")
        [line] = run("validate", by=party, code=5).lines
        assert line.startswith(f"Violation: <{ownerless}> ids:owner: ")
    assert run("validate", by="carol").out == "conforms\n"


@pytest.mark.near_and_far
def test_changes_are_checked_once_they_conform(run: Run, mint: Minting) -> None:
    mint()
    assert run("validate", "--changed").err == "idstore: checked everything\n"
    assert run("validate", "--changed").err == "idstore: checked 0 nodes\n"
    mint()
    assert run("validate", "--changed").err == "idstore: checked 2 nodes\n"
    assert "only administrators" in run("validate", "--changed", by="bob", code=7).err


@pytest.mark.usefixtures("ownerless")
def test_changes_with_a_violation_are_checked_again(run: Run) -> None:
    for _ in range(2):
        found = run("validate", "--changed", code=5)
        assert (len(found.lines), found.err) == (1, "idstore: checked everything\n")
