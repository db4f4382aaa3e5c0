"""Reading a trail on from where one stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore.errors import NotRegistered
from idstore.model.party import Party
from idstore.registry import Registry, following
from idstore.registry.following import Interest, Place

ALICE, BOB, CAROL = Party("alice"), Party("bob"), Party("carol")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        yield registry


def acts(registry: Registry, party: Party, place: Place, interest: Interest | None = None) -> list[str]:
    return [entry.event.act for entry in registry.news(party, interest or Interest(), place)]


def test_nothing_public_is_missed_and_nothing_comes_twice(registry: Registry) -> None:
    draft = registry.mint("rdl", BOB).iri.value
    registry.comment_namespace("rdl", "public, and later", ALICE)
    places = {party: Place() for party in (ALICE, BOB, CAROL)}
    first = {party: acts(registry, party, place) for party, place in places.items()}
    assert first == {
        ALICE: ["Initialization", "NamespaceAddition", "Mint", "Comment"],
        BOB: first[ALICE],
        CAROL: [*first[ALICE][:2], "Comment"],
    }
    assert all(acts(registry, party, place) == [] for party, place in places.items())
    registry.fixate([draft], BOB)
    registry.bind(draft, idstore.Statement("http://example.org/"), CAROL)
    assert acts(registry, BOB, places[BOB]) == ["Fixation", "Bind"]
    assert acts(registry, CAROL, places[CAROL]) == ["Fixation", "Bind", "Mint"]
    assert all(acts(registry, party, place) == [] for party, place in places.items() if party != ALICE)


def test_what_is_published_between_two_pages_comes_once(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAGE", 2)
    draft, other = (registry.mint("rdl", BOB).iri.value for _ in range(2))
    place, seen = Place(), []
    for published in ([], [draft], [other], [], [], [], []):
        registry.fixate(published, BOB)
        seen += [f"{entry.event.act} {entry.event.about.value}" for entry in registry.news(CAROL, Interest(), place)]
    assert sorted(seen[2:]) == sorted(f"{act} {iri}" for act in ("Mint", "Fixation") for iri in (draft, other))


def test_filters_hold_for_what_becomes_public(registry: Registry) -> None:
    mine, other = registry.mint("rdl", BOB).iri.value, registry.mint("rdl", ALICE).iri.value
    by_bob, by_moment, about = Place(), Place(), Place()
    assert acts(registry, CAROL, by_bob, Interest(user="bob")) == []
    registry.fixate([mine], BOB)
    registry.fixate([other], ALICE)
    assert acts(registry, CAROL, by_bob, Interest(user="bob")) == ["Mint", "Fixation"]
    assert acts(registry, CAROL, by_moment, Interest(until=0)) == []
    assert acts(registry, CAROL, about, Interest(id=mine)) == ["Mint", "Fixation"]
    with pytest.raises(NotRegistered):
        registry.news(CAROL, Interest(id="http://rdl.example.org/data#R3732211754"))


def test_whoever_does_not_follow_remembers_nothing(registry: Registry) -> None:
    registry.mint("rdl", BOB)
    place = Place(follows=False)
    assert len(registry.news(BOB, Interest(), place)) == 3
    assert place.shown == set()


def test_how_far_was_read_does_not_tell_how_much_happened(registry: Registry) -> None:
    mine, hidden = registry.mint("rdl", BOB).iri.value, registry.mint("rdl", ALICE).iri.value
    place = Place()
    for _ in range(2):
        for _ in range(5):
            registry.comment(hidden, "a draft of somebody else's", ALICE)
        remark = registry.comment(mine, "mine", BOB)
        registry.news(BOB, Interest(), place)
        assert place == Place(last=remark.iri.value, publication=2, shown=place.shown)
    assert len(place.shown) == 3


def test_a_state_older_than_what_was_read_has_nothing_new(registry: Registry) -> None:
    place = Place(last="urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#0000000000000001")
    assert registry.news(BOB, Interest(), place) == []
