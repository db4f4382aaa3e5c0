"""The trails match the acts and keep their order under any clock.

A follower of the public feed misses nothing.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode

import idstore
from idstore import Event, Filter, Party, Registry, Statement
from idstore.errors import InvalidData, NotPermitted, NotRegistered
from idstore.exchange import rdf
from idstore.model import times
from idstore.model.change import Change
from idstore.registry import log
from idstore.registry.log import LogEntry, LogPosition
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF

ROOT, ALICE, BOB, EVE = (Party(name) for name in ("root", "alice", "bob", "eve"))
HIGHEST = 2**63 - 1
"""The highest number of an event: the maximum of SQLite."""
NOON = times.milliseconds(times.parse("2040-11-20T12:00:00Z"))
"""Later than any real time of a test."""


class Clock:
    """A clock with a settable time."""

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
    with idstore.open(folder, administrator=ROOT) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        yield registry


def mint(registry: Registry, by: Party = ALICE) -> str:
    return registry.mint("rdl", by).iri


def acts(entries: Iterator[LogEntry] | list[LogEntry]) -> list[tuple[str, str]]:
    return [(entry.event.act, entry.event.by) for entry in entries]


def about(entries: Iterator[LogEntry], iri: str) -> list[str]:
    return [entry.event.act for entry in entries if entry.event.about == iri]


# filters


def alone(name: str, value: Any) -> Filter:
    """Return a filter that restricts one field."""
    return Filter(**{name: value})


def test_every_field_of_a_filter_restricts_a_list_or_the_log(registry: Registry, clock: Clock) -> None:
    """Each field is given alone; where a list takes it, `list` and `list_bound` agree."""
    bound = "http://example.org/bound"
    registry.add_namespace("other", "http://other.example.org/data#", "rdswip", ROOT)
    registry.add_namespace("sp", "http://journals.example.org/", "scholars-portal", ROOT)
    early, draft = mint(registry), mint(registry)
    metadata = {"issn": "0305-4179", "title": "A burn", "doi": "10.5072/a"}
    article = registry.mint("sp", ROOT, idstore.Request(metadata=metadata)).iri
    clock.moment = NOON + times.DAY
    late, elsewhere = mint(registry, BOB), registry.mint("other", ALICE).iri
    registry.fixate([early, elsewhere], ALICE)
    registry.fixate([late], BOB)
    registry.deprecate(elsewhere, "outdated", ALICE)
    released = mint(registry)
    registry.release(released, ALICE)
    for iri, by in ((early, ALICE), (draft, ALICE), (late, BOB), (elsewhere, ALICE), (article, ROOT)):
        registry.bind(iri, Statement(bound), by)
    registry.name(late, "Ventil", BOB, "de")
    listed = {
        "party": ("bob", {late}),
        "since": (times.of(NOON + times.DAY), {late, elsewhere}),
        "until": (times.of(NOON + times.DAY), {early, draft, article}),
        "namespace": ("other", {elsewhere}),
        "stage": ("created", {draft, article}),
        "deprecated": (True, {elsewhere}),
        "without_name": ("de", {early, draft, elsewhere, article}),
        "doi": ("https://doi.org/10.5072/A", {article}),
        "released": (True, {released}),
    }
    logged = {
        "party": ("bob", {(act, late) for act in ("Mint", "Fixation", "Bind", "Naming")}),
        "id": (late, {(act, late) for act in ("Mint", "Fixation", "Bind", "Naming")}),
        "kinds": (["Fixation"], {("Fixation", iri) for iri in (early, late, elsewhere)}),
    }
    assert listed.keys() | logged.keys() == {field.name for field in fields(Filter)}
    for name, (value, found) in listed.items():
        filter = alone(name, value)
        assert {record.iri for record in registry.list(ROOT, filter)} == found, name
        if name == "released":
            with pytest.raises(InvalidData, match="have no bindings"):
                registry.list_bound(bound, ROOT, filter)
            continue
        assert {record.iri for record in registry.list_bound(bound, ROOT, filter)} == found, name
    for name, (value, done) in logged.items():
        filter = alone(name, value)
        for read in (registry.log(ROOT, filter), registry.news(ROOT, filter)):
            assert {(entry.event.act, entry.event.about) for entry in read} == done, name
    everything = len(list(registry.log(ROOT)))
    for name in ("since", "until"):
        some = list(registry.log(ROOT, alone(name, times.of(NOON + times.DAY))))
        assert 0 < len(some) < everything, name


# contents


def carried_out(registry: Registry) -> dict[str, list[Event]]:
    """Do acts on two identifiers, and return the events of each."""
    one, other = mint(registry), mint(registry, BOB)
    begun = {iri: next(registry.log(ROOT, Filter(id=iri))).event for iri in (one, other)}
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
    return {
        one: [event for event in mine if event is not None],
        other: [begun[other], registry.release(other, BOB)],
    }


def test_an_identifiers_trail_is_its_acts(registry: Registry) -> None:
    for iri, events in carried_out(registry).items():
        assert [entry.event for entry in registry.log(ROOT, Filter(id=iri))] == [
            sorted_arguments(event) for event in events
        ]


def sorted_arguments(event: Event) -> Event:
    said = tuple(sorted(event.arguments, key=lambda pair: (pair[0].value, str(pair[1]))))
    return Event(event.origin, event.token, event.kind, event.about, event.by, event.moment, said)


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
    logged = [entry.event for entry in registry.log(ROOT, Filter(party=by.name))]
    assert [
        event.iri for event in logged if event.act not in ("Initialization", "NamespaceAddition")
    ] == sorted(
        (event.iri for event in events),
        key=lambda iri: next(event.order for event in events if event.iri == iri),
    )


def test_an_unknown_party_has_done_nothing(registry: Registry) -> None:
    mint(registry)
    assert list(registry.log(ROOT, Filter(party="nobody"))) == []
    assert list(registry.log(EVE, Filter(party="nobody"))) == []


def test_trails_are_filtered_by_kind(registry: Registry) -> None:
    carried_out(registry)
    assert acts(registry.log(ROOT, Filter(kinds=["Bind", "Unbind"]))) == [
        ("Bind", "bob"),
        ("Unbind", "bob"),
        ("Bind", "eve"),
    ]
    assert acts(registry.log(ROOT, Filter(kinds={"Bind"}, party="eve"))) == [("Bind", "eve")]
    assert acts(registry.log(EVE, Filter(kinds=["Mint"]))) == [("Mint", "alice")]
    assert acts(registry.log(ROOT, Filter(kinds=["Redaction"]))) == []
    with pytest.raises(InvalidData, match="no kind of event 'Nothing'"):
        acts(registry.log(ROOT, Filter(kinds=["Nothing"])))


def test_trails_are_filtered_by_time(registry: Registry, clock: Clock) -> None:
    iri = mint(registry)
    for hour in range(1, 5):
        clock.moment = NOON + hour * 3_600_000
        registry.name(iri, f"name {hour}", ALICE)

    def names_between(since: int | None, until: int | None) -> list[str | None]:
        first, last = (None if moment is None else times.of(moment) for moment in (since, until))
        found = registry.log(ALICE, Filter(id=iri, since=first, until=last, kinds=["Naming"]))
        return [entry.event.arguments[0][1].value for entry in found]

    assert names_between(NOON + 2 * 3_600_000, None) == ["name 2", "name 3", "name 4"]
    assert names_between(None, NOON + 2 * 3_600_000) == ["name 1"]
    assert names_between(NOON + 2 * 3_600_000, NOON + 3 * 3_600_000) == ["name 2"]
    assert acts(registry.log(EVE, Filter(since=times.of(NOON + 3_600_000)))) == []


def test_filters_reveal_nothing_hidden(registry: Registry) -> None:
    draft = mint(registry)
    assert acts(registry.log(EVE, Filter(party="alice"))) == []
    assert acts(registry.log(EVE, Filter(kinds=["Mint"]))) == []
    assert acts(registry.log(EVE, Filter(since=times.of(0)))) == [
        ("Initialization", "root"),
        ("NamespaceAddition", "root"),
    ]
    with pytest.raises(NotRegistered):
        list(registry.log(EVE, Filter(id=draft)))
    with pytest.raises(NotPermitted):
        list(registry.log(ALICE, after=1))
    assert [entry.sequence for entry in registry.log(ALICE)] == [None] * 3
    assert [entry.sequence for entry in registry.log(ROOT, after=2)] == [3]


def test_reading_is_not_logged(registry: Registry) -> None:
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
        with idstore.open(folder, administrator=ROOT) as registry:
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


def test_a_clock_set_back_repeats_the_last_time(registry: Registry, clock: Clock) -> None:
    clock.moment = NOON + 1000
    mint(registry)
    clock.moment = NOON - times.DAY
    assert registry.show(mint(registry), ALICE).created == times.of(NOON + 1000)
    clock.moment = NOON + 2000
    assert registry.show(mint(registry), ALICE).created == times.of(NOON + 2000)


def test_numbers_of_events_do_not_run_out_while_the_clock_stops(registry: Registry, clock: Clock) -> None:
    def use_up(number: int) -> Callable[[Transaction], None]:
        """Log a comment with one of the last numbers of a moment."""

        def act(transaction: Transaction) -> None:
            about, remark = NamedNode("http://rdl.example.org/data#"), ((RDF.value, Literal("valves")),)
            event = Event(
                transaction.origin, number, IDS.Comment, about.value, "root", transaction.moment, remark
            )
            transaction.enlist(Change(((event, PUBLIC_LOG),)))

        return act

    made = []
    for number in (HIGHEST, HIGHEST - 1):
        registry.store.write(use_up(number))
        made.append(registry.show(mint(registry), ALICE).created)
    assert made[1] > made[0] > times.of(clock.moment)
    events = [entry.event for entry in registry.log(ROOT)]
    assert [event.order for event in events] == sorted(event.order for event in events)
    assert list(registry.verify(ROOT)) == []


def test_times_are_utc_with_milliseconds(registry: Registry, clock: Clock) -> None:
    clock.moment = NOON + 7
    [entry] = registry.log(ALICE, Filter(id=mint(registry)))
    assert times.iso(entry.event.at) == "2040-11-20T12:00:00.007Z"


# the public feed


def test_newly_public_events_get_new_numbers_in_their_order(registry: Registry) -> None:
    draft = mint(registry)
    registry.name(draft, "valve", ALICE)
    registry.comment(draft, "between us", ALICE, internal=True)
    published = mint(registry, BOB)
    registry.fixate([published], BOB)
    known = [(entry.event.act, entry.publication) for entry in registry.published()]
    assert known == [("Initialization", 1), ("NamespaceAddition", 2), ("Mint", 3), ("Fixation", 4)]
    registry.fixate([draft], ALICE)
    assert [(entry.event.act, entry.publication) for entry in registry.published(4)] == [
        ("Mint", 5),
        ("Naming", 6),
        ("Fixation", 7),
    ]
    assert [entry.publication for entry in registry.log(ALICE, Filter(id=draft))] == [5, 6, None, 7]


def test_a_long_page_of_the_public_feed_is_read_in_short_questions(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.fixate([mint(registry) for _ in range(4)], ALICE)
    whole, read, questions = registry.published(), registry.store.read, []

    def counted(question: Callable[[View], Any]) -> Any:
        questions.append(question)
        return read(question)

    monkeypatch.setattr(log, "QUESTION", 3)
    monkeypatch.setattr(registry.store, "read", counted)
    assert registry.published() == whole
    assert len(questions) == len(whole) // 3 + 1
    assert registry.published(2, 5) == whole[2:7]


@pytest.mark.parametrize("seed", range(6))
def test_a_follower_of_the_public_feed_misses_nothing(registry: Registry, seed: int) -> None:
    chance = random.Random(seed)
    place, following = 0, LogPosition()
    seen: list[LogEntry] = []
    news: list[LogEntry] = []
    for _ in range(60):
        act_at_random(registry, chance)
        if chance.random() < 0.4:
            page = registry.published(place, chance.choice((1, 2, 1000)))
            seen += page
            place = page[-1].publication or 0 if page else place
            news += registry.news(EVE, Filter(), following)
    while page := registry.published(place, 2):
        seen += page
        place = page[-1].publication or 0
    news += registry.news(EVE, Filter(), following)
    assert [entry.publication for entry in seen] == list(range(1, len(seen) + 1))
    assert {entry.event.iri for entry in seen} == {
        entry.event.iri for entry in registry.log(ROOT) if entry.publication is not None
    }
    assert {entry.event.iri for entry in registry.log(EVE)} == {entry.event.iri for entry in seen}
    assert sorted(entry.event.iri for entry in news) == sorted(entry.event.iri for entry in seen)


def act_at_random(registry: Registry, chance: random.Random) -> None:
    """Do an act of a random owner on a random identifier of hers."""
    party = chance.choice((ALICE, BOB))
    drafts = [record.iri for record in registry.list(party, Filter(party=party.name, stage="created"))]
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
        filter = Filter(
            since=times.parse(since) if since else None, until=times.parse(until) if until else None
        )
        return [minted.index(record.iri) for record in registry.list(ALICE, filter)]

    assert listed() == [4, 3, 2, 1, 0]
    assert listed("2040-11-22", "2040-11-24") == [3, 2]
    assert listed(since="2040-11-23T12:00:00Z") == [4, 3]
    assert listed(until="2040-11-21T12:00:00Z") == [0]
    assert listed("2041-01-01") == []
    within = Filter(since=times.of(NOON + 4 * times.DAY) + timedelta(microseconds=500))
    assert [record.iri for record in registry.list(ALICE, within)] == [minted[4]]
    assert [entry.event.about for entry in registry.log(ALICE, within)] == [minted[4]]
    assert [(day, count) for day, _, count in registry.counts(ALICE).days] == [
        (times.day(NOON) + day, 1) for day in range(5)
    ]


def test_drafts_older_than_some_days_are_listed_for_their_owner(registry: Registry, clock: Clock) -> None:
    old = mint(registry)
    published = mint(registry)
    registry.fixate([published], ALICE)
    others = mint(registry, BOB)
    registry.grant(others, ALICE, BOB)
    clock.moment = NOON + 40 * times.DAY
    mint(registry)
    filter = Filter(party="alice", stage="created", until=times.of(times.now() - 30 * times.DAY))
    assert [record.iri for record in registry.list(ALICE, filter)] == [old]
    assert registry.list(BOB, filter) == []
    assert [record.iri for record in registry.list(ROOT, filter)] == [old]


def test_many_audiences_are_listed_newest_first(registry: Registry) -> None:
    minted = []
    for number in range(30):
        minted.append(mint(registry, chosen := (ALICE, BOB)[number % 2]))
        if number % 3 == 0:
            registry.grant(minted[-1], Party(f"p{number}"), chosen)
        if number % 7 == 0:
            registry.fixate([minted[-1]], chosen)
    assert [record.iri for record in registry.list(ROOT)] == minted[::-1]
    assert [record.iri for record in registry.list(ROOT, limit=3)] == minted[:-4:-1]
    assert [record.iri for record in registry.list(ALICE, Filter(party="alice"))] == minted[::2][::-1]
    assert [record.iri for record in registry.list(ROOT, Filter(stage="fixated"))] == minted[::7][::-1]


def test_earlier_events_of_another_store_hide_no_pace(
    clock: Clock, registry: Registry, tmp_path: Path
) -> None:
    with idstore.open(tmp_path / "other", administrator=ROOT) as other:
        other.add_namespace("theirs", "http://theirs.example.org/data#", "rdswip", ROOT)
        for _ in range(40):
            other.fixate([other.mint("theirs", ROOT).iri], ROOT)
        with (tmp_path / "theirs.nq").open("wb") as file:
            rdf.export(other, file, ROOT, "nquads")
    registry.allow("rdl", [], ROOT, per_minute=3)
    clock.moment += times.DAY
    for _ in range(3):
        mint(registry)
    rdf.import_registry(registry, [tmp_path / "theirs.nq"], ROOT)
    assert [(one.party, one.total) for one in registry.pace(ROOT, times.of(clock.moment))] == [("alice", 3)]
    with pytest.raises(NotPermitted, match="which is the limit"):
        mint(registry)
    clock.moment += 60_001
    mint(registry)
