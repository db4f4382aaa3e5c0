"""The trails match the acts, keep their order whatever the clock does, and a follower of the public one misses nothing."""

import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Event, Party, Registry, Selection, Statement
from idstore.errors import NotPermitted, NotRegistered
from idstore.exchange import rdf
from idstore.model import times
from idstore.registry.following import Interest, Place
from idstore.registry.trails import Entry
from idstore.stores import turns

ROOT, ALICE, BOB, EVE = (Party(name) for name in ("root", "alice", "bob", "eve"))
NOON = times.parse("2040-11-20T12:00:00Z")  # later than any real moment of a test


class Clock:
    """A clock that shows what it is told."""

    def __init__(self) -> None:
        self.moment = NOON

    def __call__(self) -> int:
        return self.moment


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(times, "now", clock)
    return clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ROOT, durability="process") as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        yield registry


def mint(registry: Registry, by: Party = ALICE) -> str:
    return registry.mint("rdl", by).iri.value


def acts(entries: Iterator[Entry] | list[Entry]) -> list[tuple[str, str]]:
    return [(entry.event.act, entry.event.by) for entry in entries]


def about(entries: Iterator[Entry], iri: str) -> list[str]:
    return [entry.event.act for entry in entries if entry.event.about.value == iri]


# what is in them


def carried_out(registry: Registry) -> dict[str, list[Event]]:
    """Acts on two identifiers, each with the event that it returned."""
    one, other = mint(registry), mint(registry, BOB)
    begun = {iri: next(registry.log(ROOT, id=iri)).event for iri in (one, other)}
    mine = [
        begun[one],
        registry.name(one, "valve", ALICE),
        registry.target(one, "http://example.org/", ALICE),
        registry.grant(one, BOB, ALICE, bind=True),
        registry.bind(one, Statement("http://example.org/1"), BOB),
        registry.comment(one, "good", BOB),
        registry.unbind(one, Statement("http://example.org/1"), BOB),
        *registry.fixate([one], ALICE),
        registry.bind(one, Statement("http://example.org/2"), EVE),
        registry.deprecate(one, "outdated", ALICE),
        registry.transfer(one, BOB, ALICE),
        registry.transfer(one, BOB, BOB),
        registry.revoke(one, "abuse", ROOT),
    ]
    return {one: [event for event in mine if event is not None], other: [begun[other], registry.release(other, BOB)]}


def test_an_identifiers_trail_is_its_acts(registry: Registry) -> None:
    for iri, events in carried_out(registry).items():
        assert [entry.event for entry in registry.log(ROOT, id=iri)] == [sorted_arguments(event) for event in events]


def sorted_arguments(event: Event) -> Event:
    said = tuple(sorted(event.arguments, key=lambda pair: (pair[0].value, str(pair[1]))))
    return Event(event.origin, event.token, event.kind, event.about, event.by, event.at, said)


def test_the_registrys_trail_is_all_acts_in_order(registry: Registry) -> None:
    events = [event for made in carried_out(registry).values() for event in made]
    logged = [entry.event for entry in registry.log(ROOT)]
    assert [event.act for event in logged[:2]] == ["Initialization", "NamespaceAddition"]
    assert sorted(event.order for event in logged[2:]) == sorted(event.order for event in events)
    assert [event.order for event in logged] == sorted(event.order for event in logged)
    assert [entry.sequence for entry in registry.log(ROOT)] == list(range(1, len(logged) + 1))


@pytest.mark.parametrize("by", [ROOT, ALICE, BOB, EVE])
def test_a_partys_trail_is_its_acts(registry: Registry, by: Party) -> None:
    events = [event for made in carried_out(registry).values() for event in made if event.by == by.name]
    logged = [entry.event for entry in registry.log(ROOT, user=by.name)]
    assert [event.iri for event in logged if event.act not in ("Initialization", "NamespaceAddition")] == sorted(
        (event.iri for event in events), key=lambda iri: next(event.order for event in events if event.iri == iri)
    )


def test_an_unknown_party_has_done_nothing(registry: Registry) -> None:
    mint(registry)
    assert list(registry.log(ROOT, user="nobody")) == []
    assert list(registry.log(EVE, user="nobody")) == []


def test_trails_are_filtered_by_kind(registry: Registry) -> None:
    carried_out(registry)
    assert acts(registry.log(ROOT, kinds=["Bind", "Unbind"])) == [("Bind", "bob"), ("Unbind", "bob"), ("Bind", "eve")]
    assert acts(registry.log(ROOT, kinds={"Bind"}, user="eve")) == [("Bind", "eve")]
    assert acts(registry.log(EVE, kinds=["Mint"])) == [("Mint", "alice")]
    assert acts(registry.log(ROOT, kinds=["Nothing"])) == []


def test_trails_are_filtered_by_time(registry: Registry, clock: Clock) -> None:
    iri = mint(registry)
    for hour in range(1, 5):
        clock.moment = NOON + hour * 3_600_000
        registry.name(iri, f"name {hour}", ALICE)

    def told(since: int | None, until: int | None) -> list[str | None]:
        found = registry.log(ALICE, id=iri, since=since, until=until, kinds=["Naming"])
        return [entry.event.arguments[0][1].value for entry in found]

    assert told(NOON + 2 * 3_600_000, None) == ["name 2", "name 3", "name 4"]
    assert told(None, NOON + 2 * 3_600_000) == ["name 1"]
    assert told(NOON + 2 * 3_600_000, NOON + 3 * 3_600_000) == ["name 2"]
    assert acts(registry.log(EVE, since=NOON + 3_600_000)) == []


def test_filters_do_not_reach_into_the_hidden(registry: Registry) -> None:
    draft = mint(registry)
    assert acts(registry.log(EVE, user="alice")) == []
    assert acts(registry.log(EVE, kinds=["Mint"])) == []
    assert acts(registry.log(EVE, since=0)) == [("Initialization", "root"), ("NamespaceAddition", "root")]
    with pytest.raises(NotRegistered):
        list(registry.log(EVE, id=draft))
    with pytest.raises(NotPermitted):
        list(registry.log(ALICE, after=1))
    assert [entry.sequence for entry in registry.log(ALICE)] == [None] * 3
    assert [entry.sequence for entry in registry.log(ROOT, after=2)] == [3]


def test_seeing_is_not_logged(registry: Registry) -> None:
    draft = mint(registry)
    before = list(registry.log(ROOT))
    for look in (registry.show, registry.remarks, registry.identify, registry.cite):
        look(draft, ALICE)
    registry.list(ALICE)
    registry.counts(ALICE)
    assert list(registry.log(ROOT)) == before


# times


def test_times_never_run_backwards(folder: Path, clock: Clock) -> None:
    chance = random.Random(20261120)
    for _ in range(4):
        with idstore.open(folder, administrator=ROOT, durability="process") as registry:
            if not registry.namespaces():
                registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
            for _ in range(15):
                clock.moment = NOON + chance.randint(-3_600_000, 3_600_000)
                mint(registry)
            events = [entry.event for entry in registry.log(ROOT)]
            assert [event.at for event in events] == sorted(event.at for event in events)
            assert [event.order for event in events] == sorted(event.order for event in events)
            assert len({event.iri for event in events}) == len(events)
            assert list(registry.verify(ROOT)) == []


def test_a_clock_that_was_set_back_leaves_the_last_moment(registry: Registry, clock: Clock) -> None:
    clock.moment = NOON + 1000
    mint(registry)
    clock.moment = NOON - times.DAY
    assert registry.show(mint(registry), ALICE).created == NOON + 1000
    clock.moment = NOON + 2000
    assert registry.show(mint(registry), ALICE).created == NOON + 2000


def test_numbers_of_events_do_not_run_out_while_the_clock_stands(registry: Registry, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    mint(registry)
    monkeypatch.setattr(turns, "_HIGHEST", 0)
    first, second = mint(registry), mint(registry)
    assert registry.show(second, ALICE).created > registry.show(first, ALICE).created >= clock.moment
    assert list(registry.verify(ROOT)) == []


def test_times_are_utc_with_milliseconds(registry: Registry, clock: Clock) -> None:
    clock.moment = NOON + 7
    [entry] = registry.log(ALICE, id=mint(registry))
    assert times.iso(entry.event.at) == "2040-11-20T12:00:00.007Z"


# the public feed


def test_what_becomes_public_gets_new_numbers_in_its_own_order(registry: Registry) -> None:
    draft = mint(registry)
    registry.name(draft, "valve", ALICE)
    registry.comment(draft, "between us", ALICE, internal=True)
    published = mint(registry, BOB)
    registry.fixate([published], BOB)
    known = [(entry.event.act, entry.publication) for entry in registry.published()]
    assert known == [("Initialization", 1), ("NamespaceAddition", 2), ("Mint", 3), ("Fixation", 4)]
    registry.fixate([draft], ALICE)
    assert [(entry.event.act, entry.publication) for entry in registry.published(4)] == [("Mint", 5), ("Naming", 6), ("Fixation", 7)]
    assert [entry.publication for entry in registry.log(ALICE, id=draft)] == [5, 6, None, 7]


@pytest.mark.parametrize("seed", range(6))
def test_a_follower_of_the_public_feed_misses_nothing(registry: Registry, seed: int) -> None:
    chance = random.Random(seed)
    place, following = 0, Place()
    seen: list[Entry] = []
    news: list[Entry] = []
    for _ in range(60):
        act_at_random(registry, chance)
        if chance.random() < 0.4:
            page = registry.published(place, chance.choice((1, 2, 1000)))
            seen += page
            place = page[-1].publication or 0 if page else place
            news += registry.news(EVE, Interest(), following)
    while page := registry.published(place, 2):
        seen += page
        place = page[-1].publication or 0
    news += registry.news(EVE, Interest(), following)
    assert [entry.publication for entry in seen] == list(range(1, len(seen) + 1))
    assert {entry.event.iri for entry in seen} == {entry.event.iri for entry in registry.log(ROOT) if entry.publication is not None}
    assert {entry.event.iri for entry in registry.log(EVE)} == {entry.event.iri for entry in seen}
    assert sorted(entry.event.iri.value for entry in news) == sorted(entry.event.iri.value for entry in seen)


def act_at_random(registry: Registry, chance: random.Random) -> None:
    """An act of some owner on some identifier of hers."""
    party = chance.choice((ALICE, BOB))
    drafts = [record.iri.value for record in registry.list(party, Selection(owner=party.name, stage="created"))]
    choices: list[Callable[[], object]] = [lambda: mint(registry, party)]
    if drafts:
        draft = chance.choice(drafts)
        choices += [
            lambda: registry.fixate([draft], party),
            lambda: registry.release(draft, party),
            lambda: registry.comment(draft, "so", party, internal=chance.random() < 0.5),
            lambda: registry.grant(draft, BOB if party == ALICE else ALICE, party),
            lambda: registry.name(draft, "valve", party),
        ]
    chance.choice(choices)()


# lists


def test_lists_between_two_moments(registry: Registry, clock: Clock) -> None:
    minted = []
    for day in range(5):
        clock.moment = NOON + day * times.DAY
        minted.append(mint(registry))

    def listed(since: str | None = None, until: str | None = None) -> list[int]:
        chosen = Selection(since=times.parse(since) if since else None, until=times.parse(until) if until else None)
        return [minted.index(record.iri.value) for record in registry.list(ALICE, chosen)]

    assert listed() == [4, 3, 2, 1, 0]
    assert listed("2040-11-22", "2040-11-24") == [3, 2]
    assert listed(since="2040-11-23T12:00:00Z") == [4, 3]
    assert listed(until="2040-11-21T12:00:00Z") == [0]
    assert listed("2041-01-01") == []
    assert [(day, count) for day, _, count in registry.counts(ALICE).days] == [(times.day(NOON) + day, 1) for day in range(5)]


def test_drafts_older_than_some_days_are_listed_for_their_owner(registry: Registry, clock: Clock) -> None:
    old = mint(registry)
    published = mint(registry)
    registry.fixate([published], ALICE)
    others = mint(registry, BOB)
    registry.grant(others, ALICE, BOB)
    clock.moment = NOON + 40 * times.DAY
    mint(registry)
    chosen = Selection(owner="alice", stage="created", until=times.now() - 30 * times.DAY)
    assert [record.iri.value for record in registry.list(ALICE, chosen)] == [old]
    assert registry.list(BOB, chosen) == []
    assert [record.iri.value for record in registry.list(ROOT, chosen)] == [old]


def test_many_audiences_are_listed_newest_first(registry: Registry) -> None:
    minted = []
    for number in range(30):
        minted.append(mint(registry, chosen := (ALICE, BOB)[number % 2]))
        if number % 3 == 0:
            registry.grant(minted[-1], Party(f"p{number}"), chosen)
        if number % 7 == 0:
            registry.fixate([minted[-1]], chosen)
    assert [record.iri.value for record in registry.list(ROOT)] == minted[::-1]
    assert [record.iri.value for record in registry.list(ROOT, limit=3)] == minted[:-4:-1]
    assert [record.iri.value for record in registry.list(ALICE, Selection(owner="alice"))] == minted[::2][::-1]
    assert [record.iri.value for record in registry.list(ROOT, Selection(stage="fixated"))] == minted[::7][::-1]


def test_what_another_store_did_earlier_hides_nobodys_pace(clock: Clock, registry: Registry, tmp_path: Path) -> None:
    with idstore.open(tmp_path / "other", administrator=ROOT, durability="process") as other:
        other.add_namespace("theirs", "http://theirs.example.org/data#", "rdswip", ROOT)
        for _ in range(40):
            other.fixate([other.mint("theirs", ROOT).iri.value], ROOT)
        with (tmp_path / "theirs.nq").open("wb") as file:
            rdf.export(other, file, ROOT, "nquads")
    registry.allow("rdl", [], ROOT, per_minute=3)
    clock.moment += times.DAY
    for _ in range(3):
        mint(registry)
    rdf.import_registry(registry, [tmp_path / "theirs.nq"], ROOT)
    assert [(one.party, one.total) for one in registry.pace(ROOT, clock.moment)] == [("alice", 3)]
    with pytest.raises(NotPermitted, match="which is its limit"):
        mint(registry)
    clock.moment += 60_001
    mint(registry)


# nothing scans


WALK = "SELECT sequence FROM event WHERE  +origin = "
"""The one that may walk back, over what happened since a moment and is counted then: to the last event of this store before it."""


@pytest.fixture
def plans(registry: Registry) -> Iterator[list[tuple[str, str]]]:
    """Statements that are run from now on, each with a step of its plan."""
    database: sqlite3.Connection = registry.store.catalogue._db  # type: ignore[attr-defined]
    statements: list[str] = []
    found: list[tuple[str, str]] = []
    database.set_trace_callback(statements.append)
    yield found
    database.set_trace_callback(None)
    for statement in {one for one in statements if one.startswith(("SELECT", "WITH"))}:
        found += [(statement, step) for *_, step in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
    walks = f"{WALK}{registry.store.catalogue._find(registry.store.origin)} "  # type: ignore[attr-defined]
    scans = [(one, step) for one, step in found if re.search(r"SCAN (identifier|event)\b", step) and not one.startswith(walks)]
    assert found
    assert scans == []
    lists = [(statement, step) for statement, step in found if statement.startswith(("SELECT created", "SELECT sequence"))]
    assert [statement for statement, step in lists if "TEMP B-TREE" in step] == []


SELECTIONS = [
    Selection(),
    Selection(owner="alice"),
    Selection(namespace="rdl"),
    Selection(owner="alice", namespace="rdl"),
    Selection(stage="created"),
    Selection(stage="fixated"),
    Selection(since=1, until=NOON * 2),
]


@pytest.mark.usefixtures("plans")
@pytest.mark.parametrize("party", [ROOT, ALICE, EVE])
def test_lists_trails_and_counts_scan_no_table(registry: Registry, party: Party) -> None:
    iri = mint(registry)
    registry.grant(iri, BOB, ALICE)
    registry.fixate([mint(registry, BOB)], BOB)
    for chosen in SELECTIONS:
        registry.list(party, chosen)
    list(registry.log(party))
    list(registry.log(party, user="alice", since=1, until=NOON * 2, kinds=["Mint"]))
    registry.news(party, Interest(since=1), Place())
    if party != EVE:
        list(registry.log(party, id=iri))
    registry.published()
    registry.counts(party)
    registry.pace(party, NOON)
    registry.remarks("rdl", party)


@pytest.mark.usefixtures("plans")
def test_allocation_scans_no_table(registry: Registry) -> None:
    registry.allow("rdl", [], ROOT, per_minute=5)
    for _ in range(3):
        registry.release(mint(registry), ALICE)
