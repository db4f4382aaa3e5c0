"""Deposits: an identifier that is minted, bound and published in one commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Record, Registry, Request, Stage, Statement
from idstore.errors import IdstoreError, InvalidData, NotRegistered, RequestConflict, StageConflict
from idstore.model import times

ALICE, BOB = Party("alice"), Party("bob")
SAME = Statement("http://www.wikidata.org/entity/Q1", note="seen", confidence=0.5)  # type: ignore[arg-type]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.add_namespace("names", "12345", "handle", ALICE)
        registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE)
        yield registry


def acts(registry: Registry, record: Record) -> list[str]:
    return [entry.event.act for entry in registry.log(ALICE, idstore.Filter(id=record))]


def test_a_deposit_is_public_at_once(registry: Registry) -> None:
    request = Request("valve", target="https://repo.example.org/item/{label}", bindings=[SAME], fixate=True)
    record = registry.mint("rdl", ALICE, request)
    seen = registry.show(record, BOB)
    assert seen.stage is Stage.FIXATED
    assert seen.target == f"https://repo.example.org/item/{record.label}"
    assert [binding.target for binding in seen.bindings] == [SAME.target]
    assert acts(registry, record) == ["Mint", "Bind", "Fixation"]


def test_a_deposit_is_one_change(registry: Registry) -> None:
    """All of it has one moment."""
    record = registry.mint("rdl", ALICE, Request(bindings=[SAME], fixate=True))
    entries = list(registry.log(ALICE, idstore.Filter(id=record)))
    assert len(entries) == 3
    assert len({entry.event.at for entry in entries}) == 1


@pytest.mark.parametrize(
    ("request_", "kind", "field"),
    [
        (Request(bindings=[SAME, Statement("nope")]), InvalidData, "target"),
        (
            Request(bindings=[Statement("http://x.example.org/", relation="skos:exactmatch")]),
            InvalidData,
            "relation",
        ),
        (Request(target="https://repo.example.org/{label}{other}"), InvalidData, "target"),
        (Request(metadata={"type": "x-fmt"}, fixate=True), StageConflict, "id"),
    ],
)
def test_a_deposit_is_made_whole_or_not_at_all(
    registry: Registry, request_: Request, kind: type[IdstoreError], field: str
) -> None:
    with pytest.raises(kind) as caught:
        registry.mint("formats", ALICE, request_)
    assert caught.value.field == field
    assert registry.list(ALICE) == []
    [outcome] = registry.load("formats", ALICE, [request_]) if kind is InvalidData else [None]
    assert outcome is None or isinstance(outcome.error, kind)
    assert registry.list(ALICE) == []


def test_a_label_in_a_target_is_encoded(registry: Registry) -> None:
    request = Request(target="https://repo.example.org/item/{label}?of={label}")
    record = registry.register("names", "a b/é#1", ALICE, request)
    assert record.target is not None
    assert record.target == ("https://repo.example.org/item/a%20b/%C3%A9%231?of=a%20b/%C3%A9%231")


def test_an_identifier_does_not_lead_to_itself(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="cannot lead or be bound to itself"):
        registry.mint("rdl", ALICE, Request(target="http://rdl.example.org/data#{label}"))
    with pytest.raises(InvalidData, match="cannot lead or be bound to itself"):
        registry.register("names", "x", ALICE, Request(bindings=[Statement("hdl:12345/x")]))


def test_the_same_deposit_gives_the_same_identifier(registry: Registry) -> None:
    whole = Request(
        "valve", target="https://repo.example.org/{label}", request_key="7", bindings=[SAME], fixate=True
    )
    first, is_new = registry.mint_once("rdl", ALICE, whole)
    assert is_new
    again, is_new = registry.mint_once("rdl", ALICE, whole)
    assert (again.iri, is_new) == (first.iri, False)
    assert acts(registry, first) == ["Mint", "Bind", "Fixation"]
    for other in (
        Request("valve", target="https://repo.example.org/{label}", request_key="7", fixate=True),
        Request("valve", target="https://repo.example.org/{label}", request_key="7", bindings=[SAME]),
        Request(
            "valve", target="https://repo.example.org/label", request_key="7", bindings=[SAME], fixate=True
        ),
    ):
        with pytest.raises(RequestConflict):
            registry.mint("rdl", ALICE, other)


def test_a_version_is_not_published_as_it_is_added(registry: Registry) -> None:
    work = registry.mint("rdl", ALICE, Request("work", fixate=True))
    with pytest.raises(InvalidData, match="published by an act of its own") as caught:
        registry.add_version(work, "V1.0", ALICE, Request(fixate=True))
    assert caught.value.field == "fixate"
    assert registry.versions(work, ALICE) == []


def test_identifiers_are_texts_iris_or_records(registry: Registry) -> None:
    record = registry.register("names", "x", ALICE)
    other = registry.register("names", "y", ALICE, Request(fixate=True))
    for one in (record, record.iri, record.iri, "hdl:12345/x", "names:x"):
        assert registry.show(one, ALICE).iri == record.iri
        assert registry.identify(one, ALICE) == record.iri
        registry.comment(one, "seen", ALICE)
        registry.bind(one, Statement("http://x.example.org/"), ALICE)
        registry.unbind(one, Statement("http://x.example.org/"), ALICE)
        registry.grant(one, BOB, ALICE)
        registry.ungrant(one, BOB, ALICE)
        assert registry.remarks(one, ALICE)
        assert registry.at(one, times.of(2**45), ALICE).iri == record.iri
        assert len([*registry.log(ALICE, idstore.Filter(id=one))]) > 5
        with pytest.raises(NotRegistered):
            registry.show(one, BOB)
    registry.fixate([record, record.iri], ALICE)
    registry.supersede(record, [other], ALICE)
    registry.undeprecate(record.iri, ALICE, [other.iri])
    registry.deprecate(record.iri, "double", ALICE, [other.iri])
    for none in (None, 7, Path("x")):
        with pytest.raises(InvalidData) as caught:
            registry.show(none, ALICE)  # type: ignore[arg-type]
        assert caught.value.field == "id"
