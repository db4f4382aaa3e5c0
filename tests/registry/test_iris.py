"""What people write as an IRI: prefixed names are expanded, unknown prefixes are refused."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import InvalidData, NotRegistered
from idstore.model.uri_schemes import begins_uri
from idstore.registry import iris

ADA = Party("ada")
HANDLE = "https://hdl.handle.net/10.5/"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_namespace("h", "10.5", "handle", ADA)
        made.add_namespace("geo", "10.6", "handle", ADA)
        made.register("h", "a", ADA)
        yield made


@pytest.fixture
def without_bioregistry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "bioregistry", None)
    iris._of_bioregistry.cache_clear()
    yield
    iris._of_bioregistry.cache_clear()


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        ("h:2", HANDLE + "2"),
        ("skos:exactMatch", "http://www.w3.org/2004/02/skos/core#exactMatch"),
        ("orcid:0000-0002-7356-1779", "https://orcid.org/0000-0002-7356-1779"),
        *[
            (same, same)
            for same in ("http://a.b/c", "HTTPS://a.b/c", "urn:isbn:1", "URN:ISBN:1", "doi:10.5/a")
        ],
        *[(same, same) for same in ("DOI:10.5/a", "info:pronom/fmt/1", "hdl:10.5/a", "ark:/1/2", "geo:1,2")],
        *[(same, same) for same in ("tag:a.b,2026:c", "mailto:a@b.c", "swh:1:rev:0", "FTP://a.b/c", "git+x")],
        ("skso:exactMatch", None),
        ("GO:0008150", None),
        ("go:0008150", None),
        ("wd:Q42", "http://www.wikidata.org/entity/Q42"),
        ("GEO:GSE1", None),
        ("CID:2244", None),
        ("htpp://example.org/", None),
        ("skos://x", None),
        ("H:2", None),
        ("h:a//b\x00", None),
    ],
)
@pytest.mark.usefixtures("without_bioregistry")
def test_a_text_is_an_iri_or_has_a_known_prefix(registry: Registry, text: str, iri: str | None) -> None:
    by_name = {space.name: space for space in registry.namespaces()}
    if iri is None:
        with pytest.raises(InvalidData):
            iris.expanded(text, by_name)
    else:
        assert iris.expanded(text, by_name) == iri


def test_prefixes_of_bioregistry_are_known_where_it_is_installed() -> None:
    pytest.importorskip("bioregistry")
    for text, iri in (
        ("wd:Q42", "http://www.wikidata.org/entity/Q42"),
        ("GO:0008150", "http://purl.obolibrary.org/obo/GO_0008150"),
    ):
        assert iris.expanded(text, {}) == iri
    with pytest.raises(InvalidData, match=r"perhaps skos\?"):
        iris.expanded("skso:exactMatch", {})


def test_a_name_in_capitals_is_a_prefix_unless_an_authority_follows() -> None:
    assert [begins_uri(text) for text in ("geo:1,2", "GEO:GSE1", "Ftp://a", "ſſh://a", "nothing")] == [
        True,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("without_bioregistry")
def test_every_part_of_a_statement_is_expanded(registry: Registry) -> None:
    registry.bind(
        "h:a",
        Statement("h:b", "owl:sameAs", None, None, "semapv:LexicalMatching", "orcid:0000-0002-1825-0097"),
        ADA,
    )
    [binding] = registry.show("h:a", ADA).bindings
    assert binding.key == ("http://www.w3.org/2002/07/owl#sameAs", HANDLE + "b", "ada")
    for broken in (
        Statement("no:b"),
        Statement("h:b", "no:b"),
        Statement("h:b", justification="no:b"),
        Statement("h:b", author="no:b"),
        Statement("h:a"),
    ):
        with pytest.raises(InvalidData):
            registry.bind("h:a", broken, ADA)
    assert registry.bound_to("h:b", ADA) == registry.bound_to(HANDLE + "b", ADA) == [HANDLE + "a"]
    registry.unbind("h:a", Statement("h:b", "owl:sameAs"), ADA)
    assert registry.show("h:a", ADA).bindings == ()


@pytest.mark.usefixtures("without_bioregistry")
def test_an_iri_of_any_scheme_is_stored_on_demand(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="insist"):
        registry.target("h:a", "no:b", ADA)
    registry.target("h:a", "no:b", ADA, force=True)
    registry.bind("h:a", Statement("h:b", "no:p", force=True), ADA)
    assert registry.bound_to("no:b", ADA) == registry.bound_to("h:b", ADA) == [HANDLE + "a"]
    record = registry.show("h:a", ADA)
    assert (record.target, record.bindings[0].target) == ("no:b", HANDLE + "b")
    registry.unbind("h:a", Statement("h:b", "no:p"), ADA)
    registry.bind("h:a", Statement("no:b", "skos:exactMatch", force=True), ADA)
    [binding] = registry.show("h:a", ADA).bindings
    assert binding.key[:2] == ("http://www.w3.org/2004/02/skos/core#exactMatch", "no:b")
    registry.unbind("h:a", Statement("no:b", "skos:exactMatch"), ADA)
    with pytest.raises(NotRegistered):
        registry.unbind("h:a", Statement("h:b", "no:p"), ADA)


@pytest.mark.usefixtures("without_bioregistry")
def test_the_target_of_a_new_identifier_is_expanded(registry: Registry) -> None:
    request = Request(target="h:a", request_key="k")
    assert registry.mint("h", ADA, request).target == HANDLE + "a"
    assert registry.mint("h", ADA, request) == registry.mint(
        "h", ADA, Request(target=HANDLE + "a", request_key="k")
    )
    with pytest.raises(InvalidData):
        registry.mint("h", ADA, Request(target="no:b"))
    assert registry.mint("h", ADA, Request(target="no:b", force=True)).target == "no:b"
