"""Parties that act are described, by class and name, wherever their acts are visible, and nowhere else."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from pyoxigraph import Literal, Quad

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import ExchangeError
from idstore.exchange import description, patch, rdf
from idstore.model.filter import Filter
from idstore.model.party import node
from idstore.registry.party_descriptions import NAMING
from idstore.validation import validate
from idstore.validation.shapes import load
from idstore.vocabulary import IDS, RDF, REGISTRY_GRAPH

ROOT, ANN, BEN, EVE, STAFF = (Party(name) for name in ("root", "ann", "ben", "eve", "staff"))
"""ROOT is an administrator; of the others none is added."""
Parties: TypeAlias = set[str]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        yield registry


def visible(registry: Registry, party: Party) -> list[Quad]:
    with registry.quads(party) as quads:
        return list(quads)


def described(quads: list[Quad]) -> Parties:
    """Return the parties with a class and a name, after checking that all that act are among them."""
    classes = {quad.subject for quad in quads if (quad.predicate, quad.object) == (RDF.type, IDS.Party)}
    names = {
        quad.subject: quad.object.value
        for quad in quads
        if quad.subject in classes and quad.predicate == IDS.name and isinstance(quad.object, Literal)
    }
    assert names.keys() == classes
    assert {quad.object for quad in quads if quad.predicate in NAMING} <= classes
    return set(names.values())


def seen(registry: Registry) -> tuple[Parties, Parties, Parties, Parties]:
    """Return the parties that root, ann, ben and eve see described; check the store too."""
    assert [str(finding) for finding in registry.verify(ROOT)] == []
    root, ann, ben, eve = (described(visible(registry, party)) for party in (ROOT, ANN, BEN, EVE))
    return root, ann, ben, eve


def draft(registry: Registry, party: Party) -> str:
    return registry.mint("rdl", party, Request(f"of {party}")).iri


def test_a_party_of_drafts_alone_is_described_to_those_who_see_them(registry: Registry) -> None:
    shared = draft(registry, ANN)
    draft(registry, BEN)
    assert seen(registry) == ({"root", "ann", "ben"}, {"root", "ann"}, {"root", "ben"}, {"root"})
    registry.grant(shared, EVE, ANN, bind=True)
    registry.bind(shared, Statement("http://example.org/x"), EVE)
    everyone = {"root", "ann", "ben", "eve"}
    assert seen(registry) == (everyone, {"root", "ann", "eve"}, {"root", "ben"}, {"root", "ann", "eve"})


def test_a_public_act_describes_its_parties_once_to_everyone(registry: Registry) -> None:
    shared = draft(registry, ANN)
    draft(registry, BEN)
    other = draft(registry, ANN)
    registry.grant(other, EVE, ANN)
    assert len([quad for quad in visible(registry, ROOT) if quad.subject == node("ann")]) == 4
    registry.fixate([shared], ANN)
    assert seen(registry) == (
        {"root", "ann", "ben"},
        {"root", "ann"},
        {"root", "ann", "ben"},
        {"root", "ann"},
    )
    of_ann = [quad for quad in visible(registry, ROOT) if quad.subject == node("ann")]
    assert {quad.graph_name for quad in of_ann} == {REGISTRY_GRAPH}
    assert len(of_ann) == 2


@pytest.mark.parametrize("fate", ["released", "regranted", "transferred"])
def test_a_description_goes_with_the_last_act_of_its_graph(registry: Registry, fate: str) -> None:
    registry.add_party(STAFF, ROOT, "group")
    shared = draft(registry, ANN)
    registry.grant(shared, STAFF, ANN)
    match fate:
        case "released":
            registry.release(shared, ANN)
        case "regranted":
            registry.ungrant(shared, STAFF, ANN)
        case _:
            registry.transfer(shared, BEN, ANN)
            registry.transfer(shared, BEN, BEN)
            registry.ungrant(shared, STAFF, BEN)
    registry.add_party(EVE, ROOT)
    registry.join(EVE, STAFF, ROOT)
    _, _, _, eve = seen(registry)
    assert eve == {"root", "staff", "eve"}


def test_an_added_party_is_described_once(registry: Registry) -> None:
    draft(registry, ANN)
    registry.add_party(ANN, ROOT)
    of_ann = [quad for quad in visible(registry, ROOT) if quad.subject == node("ann")]
    assert {quad.object for quad in of_ann} == {IDS.Party, IDS.User, Literal("ann")}
    assert {quad.graph_name for quad in of_ann} == {REGISTRY_GRAPH}
    assert seen(registry)[2] == {"root", "ann"}


def exported(registry: Registry, place: Path, party: Party = ROOT) -> Path:
    with place.open("wb") as file:
        rdf.export(registry, file, party, "nquads")
    return place


def lived(registry: Registry) -> None:
    """Let each party have public and hidden acts, or hidden ones alone."""
    published = draft(registry, ANN)
    registry.fixate([published], ANN)
    registry.bind(published, Statement("http://example.org/a"), EVE)
    registry.grant(draft(registry, ANN), BEN, ANN)
    registry.release(draft(registry, BEN), BEN)
    draft(registry, BEN)


def test_an_export_and_a_feed_make_the_same_registry(registry: Registry, tmp_path: Path) -> None:
    lived(registry)
    first = exported(registry, tmp_path / "first.nq")
    feed = tmp_path / "feed.rdfp"
    with feed.open("wb") as file:
        patch.export(registry, file, ROOT)
    for number, source in enumerate((first, feed)):
        with idstore.open(tmp_path / f"copy{number}", administrator=ROOT) as copy:
            rdf.import_registry(copy, [source], ROOT)
            assert exported(copy, tmp_path / "second.nq").read_bytes() == first.read_bytes()
            assert seen(copy) == seen(registry)
            assert str(validate(visible(copy, ROOT), load("registry"))) == "conforms"


def test_an_export_that_describes_a_stranger_is_refused(registry: Registry, tmp_path: Path) -> None:
    lived(registry)
    file = exported(registry, tmp_path / "first.nq")
    with file.open("a") as stream:
        stream.write(f"{node('mallory')} {RDF.type} {IDS.Party} {REGISTRY_GRAPH} .\n")
    with (
        idstore.open(tmp_path / "copy", administrator=ROOT) as copy,
        pytest.raises(ExchangeError, match=r"mallory.*does not follow"),
    ):
        rdf.import_registry(copy, [file], ROOT)


def test_an_export_without_descriptions_is_taken(registry: Registry, tmp_path: Path) -> None:
    lived(registry)
    file = exported(registry, tmp_path / "first.nq")
    lines = file.read_text().splitlines(keepends=True)
    (tmp_path / "less.nq").write_text("".join(line for line in lines if f"{IDS.Party}" not in line))
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [tmp_path / "less.nq"], ROOT)
        assert exported(copy, tmp_path / "second.nq").read_text().splitlines(keepends=True) == lines


def test_a_merge_makes_a_party_public_that_has_drafts_here(registry: Registry, tmp_path: Path) -> None:
    draft(registry, ANN)
    with idstore.open(tmp_path / "other", administrator=BEN) as other:
        other.add_namespace("rdl2", "http://rdl.example.org/other#", "rdswip", BEN)
        other.fixate([other.mint("rdl2", ANN).iri], ANN)
        other.mint("rdl2", EVE)
        file = exported(other, tmp_path / "other.nq", Party("anybody"))
    rdf.import_registry(registry, [file], ROOT)
    assert seen(registry) == ({"root", "ann", "ben"},) * 4


def test_a_redaction_renames_the_description(registry: Registry) -> None:
    lived(registry)
    for party in (ANN, BEN):
        pseudonym = registry.redact_party(party.name, "asked for", ROOT).pseudonym
        root, *_ = seen(registry)
        assert pseudonym in root
        assert party.name not in root
    assert "eve" in root
    registry.fixate([draft(registry, Party("Stevens"))], Party("Stevens"))
    registry.comment_namespace("rdl", "ask Stevens", ROOT)
    registry.redact_text("Stevens", "asked for", ROOT)
    assert "Stevens" in seen(registry)[0], "the text is replaced, and not the name"


def test_an_extract_describes_its_parties(registry: Registry) -> None:
    lived(registry)
    for party in (ROOT, ANN, BEN, EVE):
        for filter in (Filter(namespace="rdl"), Filter(stage="created"), Filter(stage="fixated")):
            with registry.quads(party, filter) as quads:
                described(list(quads))


def test_a_description_of_the_data_counts_each_party_once(registry: Registry) -> None:
    registry.fixate([draft(registry, ANN), draft(registry, ANN)], ANN)
    registry.grant(draft(registry, BEN), EVE, BEN)
    target = io.BytesIO()
    description.describe(registry, target)
    text = target.getvalue().decode()
    assert "void:class ids:Party ;\n\tvoid:entities 2" in text


def test_the_suspension_of_a_party_that_never_acted_keeps_the_shapes(registry: Registry) -> None:
    for suspended in (True, False):
        if suspended:
            registry.suspend(EVE, "a reason", ROOT)
        else:
            registry.reinstate(EVE, ROOT)
        assert str(validate(visible(registry, ROOT), load("registry"))) == "conforms"
        assert list(registry.verify(ROOT)) == []
        assert described(visible(registry, ROOT)) >= {EVE.name}
        assert EVE.name not in described(visible(registry, ANN))
