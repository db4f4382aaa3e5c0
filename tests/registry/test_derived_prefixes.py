"""A handle prefix that is derived from a registered one is added by the owner of that one alone."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

import idstore
from idstore import Party, Registry, errors
from idstore.exchange import rdf
from idstore.validation import registries
from idstore.vocabulary import IDS, REGISTRY_GRAPH

ALICE, BOB = Party("alice"), Party("bob")
BASE = "https://hdl.handle.net/{}/".format


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_party(BOB, ALICE, "administrator")
        opened.add_namespace("parent", "Abc.1", "handle", ALICE)
        yield opened
        assert list(opened.verify(ALICE)) == []
        assert str(registries.check(opened, ALICE)) == "conforms"


@pytest.mark.parametrize(
    ("scheme", "prefix", "settings"),
    [
        *product(
            ("handle", "pilin"),
            ("ABC.1.2", "Abc.1.2.3", "10.777.1", "https://doi.org/10.777.1.2/"),
            ({},),
        ),
        ("handle", "Abc.1.2", {"parent": "abc.1"}),
        ("pilin", "77", {"alias": "Abc.1.2"}),
        ("handle", "77", {"alias": "78 10.777.1"}),
        ("puid", "https://hdl.handle.net/ABC.1.2/", {}),
        ("puid", "http://hdl.handle.net/abc.1.2.3/fmt.x/", {}),
        ("scholars-portal", "https://doi.org/10.777.1/", {}),
    ],
)
def test_another_party_cannot_derive_a_prefix(
    registry: Registry, scheme: str, prefix: str, settings: dict[str, str]
) -> None:
    registry.set_namespace("parent", {"alias": "10.777"}, ALICE)
    with pytest.raises(errors.NotPermitted, match="only the owner of parent, alice, may add"):
        registry.add_namespace("child", prefix, scheme, BOB, settings)
    registry.freeze("parent", ALICE)
    with pytest.raises(errors.StageConflict, match="namespace parent is frozen: it takes no derived prefix"):
        registry.add_namespace("child", prefix, scheme, ALICE, settings)
    registry.freeze("parent", ALICE, frozen=False)
    registry.add_namespace("child", prefix, scheme, ALICE, settings)


def test_the_link_to_the_parent_is_a_triple(registry: Registry) -> None:
    child = registry.add_namespace("child", "abc.1.2", "handle", ALICE)
    assert (child.parent, dict(child.settings)["parent"]) == (NamedNode(BASE("Abc.1")), "Abc.1")
    registry.add_namespace("other", "Abc.10", "handle", BOB)
    registry.add_namespace("deep", "abc.1.2.3", "handle", ALICE)
    assert [space.name for space in registry.derived("parent")] == ["child"]
    assert [space.name for space in registry.derived("child")] == ["deep"]
    links = registry.store.read(lambda view: list(view.quads(None, IDS.derivedFrom, None, REGISTRY_GRAPH)))
    assert {(quad.subject, quad.object) for quad in links} == {
        (NamedNode(BASE("abc.1.2")), NamedNode(BASE("Abc.1"))),
        (NamedNode(BASE("abc.1.2.3")), NamedNode(BASE("abc.1.2"))),
    }


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Return the export of a registry where BOB, who has no parent prefix there, added a derived one."""
    with idstore.open(tmp_path / "there", administrator=BOB) as there:
        there.add_namespace("child", "abc.1.2", "handle", BOB)
        there.fixate([there.register("child", "x", BOB).iri], BOB)
        with (tmp_path / "there.nq").open("wb") as file:
            rdf.export(there, file, BOB, "nquads")
    return tmp_path / "there.nq"


def test_an_import_brings_no_prefix_derived_from_another_party_s(registry: Registry, export: Path) -> None:
    with pytest.raises(errors.ExchangeError) as caught:
        rdf.import_registry(registry, [export], ALICE)
    assert (
        "the namespace child of bob there cannot come in: only the owner of parent, alice, may add"
        f" {BASE('abc.1.2')}" in caught.value.message
    )
    registry.add_namespace("child", "abc.1.2", "handle", ALICE)
    rdf.import_registry(registry, [export], ALICE)
    assert registry.show("abc.1.2/x", BOB).owner == "bob"
    assert registry.namespace("child").owner == "alice"


def test_an_import_brings_the_prefix_derived_by_the_owner_of_the_parent(
    registry: Registry, export: Path
) -> None:
    registry.transfer_namespace("parent", BOB, ALICE)
    registry.transfer_namespace("parent", BOB, BOB)
    registry.freeze("parent", BOB)
    with pytest.raises(errors.ExchangeError, match="parent is frozen: it takes no derived prefix"):
        rdf.import_registry(registry, [export], ALICE)
    registry.freeze("parent", BOB, frozen=False)
    rdf.import_registry(registry, [export], ALICE)
    assert registry.namespace("child").owner == "bob"


def test_a_copy_takes_derived_prefixes_whoever_owns_the_parent_now(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_namespace("child", "abc.1.2", "handle", ALICE)
    registry.transfer_namespace("parent", BOB, ALICE)
    registry.transfer_namespace("parent", BOB, BOB)
    with (tmp_path / "all.nq").open("wb") as file:
        rdf.export(registry, file, ALICE, "nquads")
    with idstore.open(tmp_path / "copy", administrator=ALICE) as copy:
        rdf.import_registry(copy, [tmp_path / "all.nq"], ALICE)
        assert copy.namespaces() == registry.namespaces()


def test_a_given_parent_must_be_registered(registry: Registry) -> None:
    with pytest.raises(errors.InvalidData, match="the parent prefix 99 is not registered here"):
        registry.add_namespace("child", "99.1", "handle", ALICE, {"parent": "99"})
    assert registry.add_namespace("child", "99.1", "handle", BOB).parent is None


def test_a_parent_that_is_added_later_lists_what_is_derived_from_it(registry: Registry) -> None:
    registry.add_namespace("child", "102.100.272", "pilin", ALICE)
    registry.add_namespace("grandchild", "102.100.272.1", "handle", ALICE)
    registry.add_namespace("later", "102.100", "handle", ALICE)
    assert [one.name for one in registry.derived("later")] == ["child"]
    assert [one.name for one in registry.derived("child")] == ["grandchild"]
    assert registry.derived("parent") == []
