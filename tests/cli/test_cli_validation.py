"""``idstore validate`` of a store: what each party is told, and which changes are checked."""

from pathlib import Path

import pytest
from command_lines import WIKIDATA, Minting, Run
from engine_files import engine_of
from pyoxigraph import NamedNode

import idstore
from idstore.vocabulary import IDS

BOB = idstore.Party("bob")


@pytest.fixture
def ownerless(rdl: str, store: Path) -> str:
    """Return a created identifier of bob that has lost its owner."""
    with idstore.open(store) as registry:
        iri = registry.mint(rdl, BOB, idstore.Request(name="valve")).iri
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


@pytest.mark.parametrize(
    ("own", "foreign"),
    [
        ("https://w3id.org/idstore/ontology#", "https://w3id.org/idstore/ontologyX#"),
        ("https://w3id.org/idstore", "http://example.org/other"),
    ],
)
@pytest.mark.parametrize(("format", "extension"), [("nquads", "nq"), ("turtle", "ttl")])
def test_a_file_without_a_term_of_the_ontology_is_not_checked(
    run: Run, mint: Minting, tmp_path: Path, format: str, extension: str, own: str, foreign: str
) -> None:
    """The shapes also target terms of shared vocabularies, such as rdf:subject: they alone say nothing."""
    iri = mint()
    run("bind", iri, WIKIDATA)
    file = tmp_path / f"export.{extension}"
    run("export", "-o", file, "--format", format)
    assert run("validate", file).out == "conforms\n"
    file.write_text(file.read_text(encoding="utf-8").replace(own, foreign), encoding="utf-8")
    refused = run("validate", file, code=3)
    assert refused.out == "" and refused.err.endswith("; nothing was checked\n")
