"""Reading the log from an earlier position."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import idstore
from idstore.errors import InvalidData, LimitReached, NotPermitted, NotRegistered
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.party import NOBODY, Party
from idstore.registry import Registry, log
from idstore.registry.log import LogPosition

ALICE, BOB, CAROL = Party("alice"), Party("bob"), Party("carol")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        yield registry


def acts(registry: Registry, party: Party, place: LogPosition, filter: Filter | None = None) -> list[str]:
    return [entry.event.act for entry in registry.news(party, filter or Filter(), place)]


def test_each_public_event_comes_exactly_once(registry: Registry) -> None:
    draft = registry.mint("rdl", BOB).iri
    registry.comment_namespace("rdl", "public, and later", ALICE)
    places = {party: LogPosition() for party in (ALICE, BOB, CAROL)}
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


def test_events_published_between_two_pages_come_once(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PAGE", 2)
    draft, other = (registry.mint("rdl", BOB).iri for _ in range(2))
    place, seen = LogPosition(), []
    for published in ([], [draft], [other], [], [], [], []):
        registry.fixate(published, BOB)
        seen += [f"{entry.event.act} {entry.event.about}" for entry in registry.news(CAROL, Filter(), place)]
    assert sorted(seen[2:]) == sorted(
        f"{act} {iri}" for act in ("Mint", "Fixation") for iri in (draft, other)
    )


def test_filters_apply_to_newly_public_events(registry: Registry) -> None:
    mine, other = registry.mint("rdl", BOB).iri, registry.mint("rdl", ALICE).iri
    by_bob, by_moment, about = LogPosition(), LogPosition(), LogPosition()
    assert acts(registry, CAROL, by_bob, Filter(party="bob")) == []
    registry.fixate([mine], BOB)
    registry.fixate([other], ALICE)
    assert acts(registry, CAROL, by_bob, Filter(party="bob")) == ["Mint", "Fixation"]
    assert acts(registry, CAROL, by_moment, Filter(until=times.of(0))) == []
    assert acts(registry, CAROL, about, Filter(id=mine)) == ["Mint", "Fixation"]
    with pytest.raises(NotRegistered):
        registry.news(CAROL, Filter(id="http://rdl.example.org/data#R3732211754"))


def test_older_events_that_became_public_come_in_pages(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = [registry.mint("rdl", BOB).iri for _ in range(5)]
    registry.fixate(drafts, BOB)
    feed = [entry.event.iri for entry in registry.published()]
    monkeypatch.setattr(log, "PAGE", 3)
    place, pages = LogPosition(last=feed[-1], publication=0), list[list[str]]()
    while page := [entry.event.iri for entry in registry.news(CAROL, Filter(), place)]:
        pages.append(page)
    assert [len(page) for page in pages] == [3, 3, 3, 3]
    assert [iri for page in pages for iri in page] == feed
    assert registry.news(CAROL, Filter(), place) == []


def test_pages_without_an_event_that_passes_do_not_end_the_news(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, place, filter = registry.mint("rdl", BOB).iri, LogPosition(), Filter(kinds=["Bind"])
    for number in range(4):
        registry.name(draft, f"valve {number}", BOB)
    registry.bind(draft, idstore.Statement("http://example.org/"), BOB)
    monkeypatch.setattr(log, "PAGE", 2)
    assert acts(registry, CAROL, place, filter) == []
    registry.fixate([draft], BOB)
    assert acts(registry, CAROL, place, filter) == ["Bind"]
    assert acts(registry, CAROL, place, filter) == []


@pytest.mark.parametrize(
    "read",
    [
        lambda registry: registry.news(CAROL, Filter(), LogPosition(), lambda: True),
        lambda registry: registry.events_since(CAROL, cancelled=lambda: True),
    ],
)
def test_reading_the_log_can_be_cancelled(registry: Registry, read: Callable[[Registry], object]) -> None:
    with pytest.raises(LimitReached, match="cancelled"):
        read(registry)


def test_a_reader_that_does_not_follow_stores_no_position(registry: Registry) -> None:
    registry.mint("rdl", BOB)
    place = LogPosition(follows=False)
    assert len(registry.news(BOB, Filter(), place)) == 3
    assert place.shown == set()


def test_a_position_in_the_log_does_not_reveal_hidden_events(registry: Registry) -> None:
    mine, hidden = registry.mint("rdl", BOB).iri, registry.mint("rdl", ALICE).iri
    place = LogPosition()
    for _ in range(2):
        for _ in range(5):
            registry.comment(hidden, "a draft of another party", ALICE)
        remark = registry.comment(mine, "mine", BOB)
        registry.news(BOB, Filter(), place)
        assert place == LogPosition(last=remark.iri, publication=2, shown=place.shown)
    assert len(place.shown) == 3


def test_a_state_before_the_position_has_no_news(registry: Registry) -> None:
    place = LogPosition(last="urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#0000000000000001")
    assert registry.news(BOB, Filter(), place) == []


def test_kinds_apply_to_new_and_to_newly_public_events(registry: Registry) -> None:
    draft, mints = registry.mint("rdl", BOB).iri, LogPosition()
    filter = Filter(kinds=["Mint"])
    assert acts(registry, CAROL, mints, filter) == []
    registry.fixate([draft], BOB)
    assert acts(registry, CAROL, mints, filter) == ["Mint"]
    assert acts(registry, CAROL, mints, filter) == []


@pytest.mark.parametrize(
    "filter", [Filter(namespace="rdl"), Filter(stage="created"), Filter(deprecated=True)]
)
def test_events_have_no_namespace_no_stage_and_no_deprecation(registry: Registry, filter: Filter) -> None:
    reads: tuple[Callable[[], object], ...] = (
        lambda: registry.news(BOB, filter),
        lambda: list(registry.log(BOB, filter)),
    )
    for read in reads:
        with pytest.raises(InvalidData, match="the log is restricted by"):
            read()


@pytest.mark.parametrize("filter", [Filter(id="rdl:a"), Filter(kinds=["Mint"])])
def test_identifiers_have_no_id_of_an_event_and_no_kind(registry: Registry, filter: Filter) -> None:
    bound = "http://example.org/"
    reads: tuple[Callable[[], object], ...] = (
        lambda: registry.list(BOB, filter),
        lambda: registry.list_bound(bound, BOB, filter),
    )
    for read in reads:
        with pytest.raises(InvalidData, match="a list of identifiers is restricted by"):
            read()


# by a cursor


def read_on(registry: Registry, party: Party, cursor: str, limit: int) -> tuple[list[str], str]:
    """Return the acts after a cursor, read in pages, and the last cursor."""
    seen: list[str] = []
    while True:
        page = registry.events_since(party, cursor, limit=limit)
        seen += [entry.event.act for entry in page.entries]
        cursor = page.cursor
        if len(page.entries) < limit:
            return seen, cursor


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_cursor_goes_on_with_what_is_public_for_everyone(
    registry: Registry, tmp_path: Path, limit: int
) -> None:
    draft = registry.mint("rdl", BOB).iri
    first = read_on(registry, BOB, "0", limit)
    assert first == (["Initialization", "NamespaceAddition"], "2")
    assert all(read_on(registry, party, "0", limit) == first for party in (ALICE, CAROL, NOBODY))
    registry.fixate([draft], BOB)
    registry.bind(draft, idstore.Statement("http://example.org/"), CAROL)
    registry.close()
    with idstore.open(tmp_path / "store", mode="read") as reader:  # a cursor means the same in every process
        for party in (ALICE, BOB, CAROL, NOBODY):
            assert read_on(reader, party, "2", limit) == (["Mint", "Fixation", "Bind"], "5")
            assert read_on(reader, party, "5", limit) == ([], "5")
        numbers = [entry.publication for entry in reader.events_since(CAROL, "2").entries]
        assert numbers == [3, 4, 5]
        assert {entry.sequence for entry in reader.events_since(CAROL).entries} == {None}


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_cursor_of_commits_goes_on_with_all_events_for_administrators(
    registry: Registry, limit: int
) -> None:
    registry.mint("rdl", BOB)
    seen, cursor = read_on(registry, ALICE, "commit:0", limit)
    assert (seen, cursor) == (["Initialization", "NamespaceAddition", "Mint"], "commit:3")
    registry.mint("rdl", CAROL)
    assert read_on(registry, ALICE, cursor, limit) == (["Mint"], "commit:4")
    for party in (BOB, NOBODY):
        for number in (0, 3, 4, 5):  # equal, whether there is such a commit or not
            with pytest.raises(NotPermitted):
                registry.events_since(party, f"commit:{number}")


@pytest.mark.parametrize("start", ["0", "commit:0"])
def test_a_cursor_passes_over_what_a_filter_leaves_out(registry: Registry, start: str) -> None:
    registry.mint("rdl", BOB, idstore.Request(fixate=True))
    last = registry.events_since(ALICE, start).cursor
    for filter, acts in (
        (Filter(kinds={"Mint"}), ["Mint"]),
        (Filter(party="bob"), ["Mint", "Fixation"]),
        (Filter(id="rdl"), ["NamespaceAddition"]),
        (Filter(until=times.of(0)), []),
    ):
        page = registry.events_since(ALICE, start, filter, limit=3)
        assert ([entry.event.act for entry in page.entries], page.cursor) == (acts, last)


@pytest.mark.parametrize(
    "cursor", ["", "x", "-1", "commit:", "commit:x", "commit:-1", "1.0", "²", "9" * 30, "3"]
)
def test_a_text_that_is_no_cursor(registry: Registry, cursor: str) -> None:
    with pytest.raises(InvalidData):
        registry.events_since(ALICE, cursor)


def test_a_cursor_with_a_hidden_identifier_answers_as_with_an_absent_one(registry: Registry) -> None:
    draft = registry.mint("rdl", BOB).iri
    for id in (draft, "http://rdl.example.org/data#R3732211754"):
        with pytest.raises(NotRegistered):
            registry.events_since(CAROL, "0", Filter(id=id))
    assert registry.events_since(BOB, "0", Filter(id=draft)).entries == []
