"""What a request for an identifier may not say, since it would be for ever or vanish without a word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import InvalidData, Party, Registry, Request

ALICE = Party("alice")
ARTICLE = {"issn": "0036-3634", "issue": "4", "page": "1", "title": "On Names"}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "s", administrator=ALICE) as opened:
        opened.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        opened.add_namespace("sp", "http://journals.example.org/", "scholars-portal", ALICE)
        yield opened


@pytest.mark.parametrize(
    "request_",
    [
        Request(name="valve", lang="en", names={"en": "ball valve"}),
        Request(name="valve", lang="EN", names={"en": "ball valve"}),
        Request(names={"EN": "valve", "en": "ball valve"}),
    ],
)
def test_two_names_in_one_language_are_refused(registry: Registry, request_: Request) -> None:
    with pytest.raises(InvalidData, match="two names in the language 'en'"):
        registry.mint("rdl", ALICE, request_)
    assert list(registry.list(ALICE)) == []


@pytest.mark.parametrize(("volume", "why"), [("\ud800", "not UTF-8"), ("1\x002", "NUL")])
def test_metadata_that_are_no_text_are_refused(registry: Registry, volume: str, why: str) -> None:
    with pytest.raises(InvalidData, match=f"the volume .*{why}") as caught:
        registry.mint("sp", ALICE, Request(metadata={**ARTICLE, "volume": volume}))
    assert caught.value.field == "volume"
    assert list(registry.list(ALICE)) == []


@pytest.mark.parametrize(("number", "meant"), [(2**63, f"from 0 to {2**63 - 1}"), (-1, "from 0 on")])
def test_numbers_that_no_database_stores_are_refused(registry: Registry, number: int, meant: str) -> None:
    for ask in (
        lambda: list(registry.list(ALICE, limit=number)),
        lambda: list(registry.log(ALICE, after=number)),
        lambda: list(registry.published(0, number)),
        lambda: registry.shared_targets([], ALICE, number),
        lambda: registry.mint_several("rdl", number, ALICE),
        lambda: registry.allow("rdl", [], ALICE, per_minute=number),
        lambda: registry.values("rdl:R1", ALICE, indexes=[1, number]),
    ):
        with pytest.raises(InvalidData, match=f" is {number}; give a whole number {meant}"):
            ask()
