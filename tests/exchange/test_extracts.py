"""An extract carries the namespaces and parties that it needs: it passes the shapes, and can be imported."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import ExchangeError, InvalidData
from idstore.exchange import rdf
from idstore.exchange.exporting import export
from idstore.model import times
from idstore.model.filter import Filter
from idstore.registry.export import read
from idstore.registry.handle_values import Draft
from idstore.validation import pyshacl_engine, registries, standalone
from idstore.validation.registries import check_file
from idstore.vocabulary import IDS, STORAGE_GRAPH

ROOT, ANN, BEN, STAFF = (Party(name) for name in ("root", "ann", "ben", "staff"))
NOBODY = Party("nobody")
EXTRACTS = [
    Filter(stage="fixated"),
    Filter(stage="created"),
    Filter(stage="tombstone"),
    Filter(since=times.of(0)),
    Filter(namespace="formats"),
    Filter(namespace="derived"),
    Filter(namespace="rdl", stage="created"),
    Filter(namespace="empty"),
    Filter(party="ann"),
    Filter(party="ben", until=times.of(1 << 45)),
]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry with groups, own rules, a derived prefix, drafts, tombstones and a suspended party."""
    with idstore.open(tmp_path_factory.mktemp("extracts") / "store", administrator=ROOT) as registry:
        registry.add_party(STAFF, ROOT, "group")
        registry.add_party(ANN, ROOT, "administrator")
        registry.join(ANN, STAFF, ROOT)
        registry.add_namespace("formats", "http://formats.example.org/", "puid", ANN)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT, {"digits": "6"})
        registry.add_namespace("main", "12345", "handle", ANN)
        registry.add_namespace("derived", "12345.2", "handle", ANN, {"parent": "12345"})
        registry.add_namespace("empty", "http://empty.example.org/", "puid", ROOT)
        registry.allow("rdl", ["staff", "ben"], ROOT)
        fixated = registry.mint("formats", ANN, Request("GIF")).iri
        registry.register("derived", "doc", ANN, Request(target="http://example.org/doc"))
        draft = registry.mint("rdl", ANN, Request("valve", request_key="key")).iri
        registry.grant(draft, BEN, ANN, bind=True)
        registry.fixate([fixated, "derived:doc"], ANN)
        registry.bind(fixated, Statement("http://example.org/gif"), BEN)
        gone = registry.mint("formats", BEN).iri
        registry.fixate([gone], BEN)
        registry.revoke_all(BEN, times.of(0), "abuse", ROOT)
        registry.suspend(BEN, "abuse", ROOT)
        yield registry


@pytest.mark.parametrize(
    ("filter", "party"),
    [*((filter, ROOT) for filter in EXTRACTS), (Filter(stage="fixated"), NOBODY), (Filter(), NOBODY)],
    ids=repr,
)
def test_an_extract_conforms_and_can_be_imported(
    registry: Registry, tmp_path: Path, filter: Filter, party: Party
) -> None:
    place = tmp_path / "filter.nq"
    with place.open("wb") as target:
        rdf.export(registry, target, party, "nquads", filter)
    assert str(check_file(place)) == "conforms"
    with registry.records(party, filter) as records:
        expected = list(records)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [place], ROOT)
        with copy.records(ROOT) as records:
            assert list(records) == expected


def published(registry: Registry, filter: Filter = Filter()) -> set[Quad]:
    with registry.publication(filter) as lines:
        return set(read(lines))


@pytest.mark.parametrize("filter", [Filter(), *(one for one in EXTRACTS if one.stage != "created")], ids=repr)
def test_a_publication_conforms_and_is_not_imported(
    registry: Registry, tmp_path: Path, filter: Filter
) -> None:
    for suffix, format in rdf.SUFFIXES.items() if filter == Filter() else [(".nq", "nquads")]:
        place = tmp_path / f"publication{suffix}"
        with place.open("wb") as target:
            export(registry, target, ROOT, filter, format, for_publication=True)
        assert str(check_file(place)) == "conforms"
        with (
            idstore.open(tmp_path / "copy", administrator=ROOT) as copy,
            pytest.raises(ExchangeError, match="it holds no events"),
        ):
            rdf.import_registry(copy, [place], ROOT)
    shapes = standalone.standalone(registries.shapes(registry.namespaces()))
    triples = [quad.triple for quad in published(registry, filter)]
    assert not list(pyshacl_engine.findings(triples, shapes))


def test_a_publication_is_what_everyone_sees_without_events_and_administration(registry: Registry) -> None:
    with registry.quads(NOBODY) as quads:
        seen = set(quads)
    events = {quad.subject for quad in seen if quad.predicate == IDS.about}
    parties = {quad.subject for quad in seen if quad.object == IDS.Party}
    administration = {IDS.allocator, IDS.perMinute, IDS.offeredTo, IDS.memberOf}
    expected = {
        quad
        for quad in seen
        if quad.subject not in events
        and quad.graph_name != STORAGE_GRAPH
        and quad.predicate not in administration
        and not (quad.subject in parties and quad.predicate != IDS.name and quad.object != IDS.Party)
    }
    found = published(registry)
    unnamed = {quad for quad in expected - found if quad.subject in parties}
    assert found == expected - unnamed
    assert {str(quad.subject) for quad in unnamed} == {f"<https://w3id.org/idstore/party/{STAFF}>"}
    records = {quad.subject for quad in found if quad.predicate == IDS.stage}
    with registry.records(NOBODY) as public:
        assert records == {record.node for record in public}


def test_a_publication_has_no_drafts_and_no_changes(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="holds no drafts"), registry.publication(Filter(stage="created")):
        pass
    with (tmp_path / "p").open("wb") as target, pytest.raises(InvalidData, match="has no events"):
        export(registry, target, ROOT, format="rdf-patch", for_publication=True)
    assert not (tmp_path / "p").read_bytes()


def test_a_publication_has_no_comments_and_no_values_that_are_not_public(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("h", "12345", "handle", ROOT)
        registry.register("h", "a", ANN, Request("valve", comment="first remark"))
        registry.set_value("h:a", Draft("URL", "http://example.org/a"), ANN)
        registry.set_value("h:a", Draft("EMAIL", "hidden@example.org", permissions="1100"), ANN)
        registry.grant("h:a", BEN, ANN)
        registry.fixate(["h:a"], ANN)
        registry.comment("h:a", "second remark", ANN)
        registry.comment("h:a", "inner remark", ANN, internal=True)
        registry.register("h", "draft", ANN, Request("hidden"))
        before = published(registry)
        texts = {str(quad) for quad in before}
        assert not [text for text in texts if "remark" in text or "hidden" in text or "ben" in text]
        assert [text for text in texts if "http://example.org/a" in text]
        assert (
            Quad(
                NamedNode("https://hdl.handle.net/12345/a"),
                IDS.stage,
                IDS.Fixated,
                NamedNode("https://hdl.handle.net/12345/"),
            )
            in before
        )
        registry.register("h", "other", BEN, Request(target="http://example.org/a"))
        registry.comment("h:a", "third remark", BEN)
        assert published(registry) == before
