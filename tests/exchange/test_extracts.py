"""An extract carries the namespaces and parties that it needs: it passes the shapes, and can be imported."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.exchange import rdf
from idstore.model import times
from idstore.model.filter import Filter
from idstore.validation.registries import check_file

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
