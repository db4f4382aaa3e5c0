"""Lists of deprecated identifiers: which records they hold, and whose."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import idstore
from idstore import Filter, Party, Registry, Request, Stage, Statement
from idstore.errors import InvalidData, LimitReached, UnknownNamespace
from idstore.registry.lists import position

ALICE, BOB, CAROL = Party("alice"), Party("bob"), Party("carol")
URI = "http://example.org/valve"
DEPRECATED = Filter(deprecated=True)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as made:
        made.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        made.add_namespace("h", "10.1000", "handle", ALICE)
        yield made


def published(registry: Registry, party: Party = BOB, target: str | None = None) -> str:
    iri = registry.mint("rdl", party, Request(target=target)).iri
    registry.fixate([iri], party)
    return iri


def listed(registry: Registry, party: Party, filter: Filter, limit: int | None = 100) -> list[str]:
    return [record.iri for record in registry.list(party, filter, limit=limit)]


def test_deprecated_and_superseded_identifiers_are_listed_newest_first(registry: Registry) -> None:
    first, second, current = [published(registry) for _ in range(3)]
    assert listed(registry, BOB, DEPRECATED) == []
    registry.supersede(second, [current], BOB)
    registry.deprecate(first, "old", BOB)
    newest_first = [iri for iri in listed(registry, BOB, Filter()) if iri != current]
    assert listed(registry, BOB, DEPRECATED) == newest_first
    assert listed(registry, CAROL, DEPRECATED, limit=None) == newest_first
    assert listed(registry, CAROL, DEPRECATED, limit=1) == newest_first[:1]


def test_a_revoked_identifier_stays_deprecated_only_if_it_was(registry: Registry) -> None:
    outdated, revoked = published(registry), published(registry)
    registry.deprecate(outdated, "old", BOB)
    for iri in (outdated, revoked):
        registry.revoke(iri, "spam", ALICE)
    assert listed(registry, BOB, DEPRECATED) == [outdated]


def test_a_superseded_draft_is_listed_for_its_grant_list_alone(registry: Registry) -> None:
    draft = registry.mint("rdl", BOB).iri
    registry.supersede(draft, [published(registry)], BOB)
    for party, expected in ((BOB, [draft]), (ALICE, [draft]), (CAROL, [])):
        assert listed(registry, party, DEPRECATED) == expected
        assert listed(registry, party, DEPRECATED, limit=None) == expected


def test_the_filter_works_with_the_others(registry: Registry) -> None:
    outdated, other = published(registry, target=URI), published(registry, CAROL)
    published(registry, target=URI)
    registry.deprecate(outdated, "old", BOB)
    registry.deprecate(other, "old", CAROL)
    created = registry.show(outdated, BOB).created
    for filter, expected in (
        (Filter(deprecated=True, namespace="rdl", party="bob"), [outdated]),
        (Filter(deprecated=True, party="carol"), [other]),
        (Filter(deprecated=True, namespace="h"), []),
        (Filter(deprecated=True, stage=Stage.FIXATED, party="bob"), [outdated]),
        (Filter(deprecated=True, stage=Stage.TOMBSTONE), []),
        (Filter(deprecated=True, until=created), []),
        (Filter(deprecated=True, since=created, party="bob"), [outdated]),
    ):
        assert listed(registry, BOB, filter) == expected
    assert [record.iri for record in registry.list_bound(URI, BOB, DEPRECATED)] == [outdated]
    registry.bind(other, Statement(URI), BOB)
    assert {record.iri for record in registry.list_bound(URI, BOB, DEPRECATED)} == {outdated, other}
    with pytest.raises(UnknownNamespace):
        registry.list(BOB, Filter(deprecated=True, namespace="nothing"))


@pytest.mark.parametrize("filter", [Filter(), DEPRECATED, Filter(stage="fixated"), Filter(namespace="rdl")])
def test_pages_follow_each_other_while_identifiers_are_made(registry: Registry, filter: Filter) -> None:
    for iri in [published(registry) for _ in range(5)]:
        registry.deprecate(iri, "old", BOB)
    expected, found = listed(registry, BOB, filter), list[str]()
    after = None
    while page := registry.list(BOB, filter, limit=2, after=after):
        found += [record.iri for record in page]
        after = position(page[-1])
        registry.deprecate(published(registry), "new", BOB)
    assert found == expected
    assert len(found) == 5


def test_a_page_follows_an_identifier_that_is_gone(registry: Registry) -> None:
    older, gone, newer = (registry.mint("rdl", BOB) for _ in range(3))
    after = position(gone)
    registry.release(gone.iri, BOB)
    rest = {record.iri for record in registry.list(BOB, after=after)}
    assert older.iri in rest
    assert gone.iri not in rest
    assert newer.created > gone.created or newer.iri in rest


def test_pages_of_what_is_bound_follow_each_other(registry: Registry) -> None:
    expected = [published(registry, target=URI) for _ in range(3)][::-1]
    first = registry.list_bound(URI, BOB, limit=2)
    second = registry.list_bound(URI, BOB, limit=2, after=position(first[-1]))
    assert [record.iri for record in (*first, *second)] == sorted(
        expected, key=lambda iri: (registry.show(iri, BOB).created, iri), reverse=True
    )


@pytest.mark.parametrize(
    "after", ["", "http://x.example.org/", "2026-01-01 ", "yesterday http://x.example.org/"]
)
def test_a_position_that_is_none_is_refused(registry: Registry, after: str) -> None:
    with pytest.raises(InvalidData, match="is no position"):
        registry.list(BOB, after=after)


def test_a_position_tells_nothing_of_hidden_identifiers(registry: Registry) -> None:
    shown, hidden = published(registry), registry.mint("rdl", BOB)
    absent = f"{position(hidden).partition(' ')[0]} http://rdl.example.org/data#R0000000000"
    for party in (CAROL, BOB):
        after_hidden, after_absent = (
            [record.iri for record in registry.list(party, after=after)]
            for after in (position(hidden), absent)
        )
        assert (after_hidden == after_absent) or party == BOB
        assert shown in after_hidden


def test_a_list_of_bound_identifiers_holds_up_no_act(registry: Registry) -> None:
    bound = [published(registry, target=URI) for _ in range(3)]
    minted = []

    def act() -> bool:
        acting = Thread(target=lambda: minted.append(registry.mint("rdl", BOB)))
        acting.start()
        acting.join(10)
        return not minted

    records = registry.list_bound(URI, BOB, cancelled=act)
    assert {record.iri for record in records} == {*bound}


@pytest.mark.parametrize(
    "filter",
    [DEPRECATED, Filter(without_name="en"), Filter(released=True)],
    ids=["deprecated", "", "released"],
)
def test_a_cancelled_list_ends(registry: Registry, filter: Filter) -> None:
    registry.deprecate(published(registry), "old", BOB)
    registry.release(registry.mint("rdl", BOB).iri, BOB)
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return True

    with pytest.raises(LimitReached):
        registry.list(BOB, filter, cancelled=cancelled)
    assert len(asked) == 1
