"""Whole records of handles: created and published in one act, replaced, deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import (
    AlreadyRegistered,
    IdstoreError,
    InvalidData,
    NotPermitted,
    NotRegistered,
    StageConflict,
    UnknownValue,
)
from idstore.model.party import NOBODY
from idstore.registry.handle_values import Draft

ROOT, ANN, BEN = Party("root"), Party("ann"), Party("ben")
URL = Draft("URL", "http://example.org/1", 1)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("handles") / "store", administrator=ROOT) as registry:
        registry.add_namespace("live", "10.1000", "handle", ROOT, {"publish": "at-once"})
        registry.add_namespace("drafts", "10.2000", "handle", ROOT)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        yield registry
        assert list(registry.verify(ROOT)) == []


def test_creation_and_publication_are_one_commit(registry: Registry) -> None:
    before = registry.store.read(lambda view: view.catalogue.counts()[1])
    record, new = registry.put_handle(
        "live", "one", [URL, Draft("NOTE", "private", 2, permissions="1100")], ANN
    )
    assert (record.stage.value, record.target and record.target, new) == ("fixated", URL.data, True)
    kinds = [
        entry.event.kind.value.rpartition("#")[2]
        for entry in registry.log(ANN, idstore.Filter(id="hdl:10.1000/one"))
    ]
    assert kinds == ["Registration", "ValueSetting", "ValueSetting", "Fixation"]
    assert registry.store.read(lambda view: view.catalogue.counts()[1]) - before == len(kinds)
    assert [value.index for value in registry.values("hdl:10.1000/one", NOBODY)] == [1]
    public = [entry.event for entry in registry.log(NOBODY, idstore.Filter(id="hdl:10.1000/one"))]
    assert len(public) == 3


@pytest.mark.parametrize("name", ["live", "drafts"])
def test_a_value_that_is_refused_leaves_no_handle(registry: Registry, name: str) -> None:
    with pytest.raises(InvalidData, match="value 2: "):
        registry.put_handle(name, "refused", [URL, Draft("HS_SECKEY", "x", 2)], ANN)
    assert registry.put_handle(name, "refused", [URL], ANN)[1]


def test_a_public_value_that_becomes_private_is_removed_in_public(registry: Registry) -> None:
    registry.put_handle("live", "private", [URL, Draft("NOTE", "x", 2)], ANN)
    registry.put_handle("live", "private", [Draft("NOTE", "y", 2, permissions="1100")], ANN, only=True)
    assert [value.index for value in registry.values("hdl:10.1000/private", NOBODY)] == [1]
    assert [value.data for value in registry.values("hdl:10.1000/private", ANN)] == [URL.data, "y"]


RIGHTS: list[tuple[str, Party, type[IdstoreError] | None]] = [
    ("created", ANN, None),
    ("created", ROOT, NotPermitted),
    ("created", BEN, NotRegistered),
    ("fixated", ANN, None),
    ("fixated", ROOT, NotPermitted),
    ("fixated", BEN, NotPermitted),
    ("tombstone", ANN, StageConflict),
    ("tombstone", BEN, NotPermitted),
    ("released", ANN, NotRegistered),
    ("released", ROOT, NotRegistered),
]


@pytest.mark.parametrize(("stage", "party", "error"), RIGHTS)
def test_only_the_owner_deletes(
    registry: Registry, stage: str, party: Party, error: type[IdstoreError] | None
) -> None:
    label = f"{stage}-{party}"
    name = "drafts" if stage in ("created", "released") else "live"
    iri = registry.put_handle(name, label, [URL], ANN)[0].iri
    if stage in ("released", "tombstone"):
        registry.delete_handle(iri, ANN)
    if error is None:
        registry.delete_handle(iri, party)
    else:
        with pytest.raises(error):
            registry.delete_handle(iri, party)
    gone = error is None or stage in ("released", "tombstone")
    if gone:
        for one in (ANN, BEN, ROOT):
            with pytest.raises(AlreadyRegistered, match="is taken"):
                registry.put_handle(name, label, [URL], one)


def test_a_deleted_handle_says_why(registry: Registry) -> None:
    iri = registry.put_handle("live", "why", [URL], ANN)[0].iri
    registry.delete_handle(iri, ANN)
    found = registry.show(iri, NOBODY)
    assert (found.stage.value, found.reason) == ("tombstone", "deleted by its owner")
    assert registry.handles("live", NOBODY).iris.count(iri) == 0


def test_what_has_no_values_is_no_handle(registry: Registry) -> None:
    iri = registry.mint("rdl", ANN).iri
    with pytest.raises(InvalidData, match="not a handle"):
        registry.delete_handle(iri, ANN)
    with pytest.raises(InvalidData, match="not handles"):
        registry.put_handle("rdl", "R1", [URL], ANN)
    with pytest.raises(InvalidData, match="not handles"):
        registry.handles("rdl", ANN)


@pytest.mark.parametrize("values", [[Draft("URL", "http://example.org/")], [URL, URL]])
def test_each_value_has_an_index_of_its_own(registry: Registry, values: list[Draft]) -> None:
    with pytest.raises(InvalidData, match="index of its own"):
        registry.put_handle("live", "index", values, ANN)


def test_a_missing_value_is_named(registry: Registry) -> None:
    iri = registry.put_handle("live", "missing", [URL], ANN)[0].iri
    with pytest.raises(UnknownValue, match="has no value 7"):
        registry.unset_values(iri, [1, 7], ANN)
    assert len(registry.values(iri, ANN)) == 1


def test_the_setting_can_be_changed_and_is_exported(registry: Registry, tmp_path: Path) -> None:
    registry.add_namespace("later", "10.3000", "handle", ROOT)
    assert registry.put_handle("later", "a", [URL], ROOT)[0].stage.value == "created"
    registry.set_namespace("later", {"publish": "at-once"}, ROOT)
    assert registry.put_handle("later", "b", [URL], ROOT)[0].stage.value == "fixated"
    with pytest.raises(InvalidData, match="publish='never' must be one of at-once, on-fixate"):
        registry.set_namespace("later", {"publish": "never"}, ROOT)
    from idstore.exchange.exporting import export

    with (tmp_path / "all.trig").open("wb") as target:
        export(registry, target, ROOT, format="trig")
    assert '"at-once"' in (tmp_path / "all.trig").read_text(encoding="utf-8")
