"""Answers of the catalogue, compared with a plain model.

The plans of its statements show that lists and counts scan no table.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from random import Random

import pytest
from catalogue_lives import ACTS, BASES, BEGINNING, ORIGINS, PARTIES, Lives, Step, take_all
from sqlite_connections import opened_connections, plan, traced

from idstore.model import times
from idstore.model.event import digest
from idstore.model.history import LoggedEvent
from idstore.model.listing import STAGES, EventRow, Listing, Selection
from idstore.model.terms import hashed
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.catalogue_questions import Questions
from idstore.vocabulary import PUBLIC_LOG, event_name

LAST = BEGINNING + 80 * times.DAY
Connections = list[sqlite3.Connection]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Questions, Lives, Connections]]:
    """Questions of a catalogue, the model of what it holds, and the catalogue's connections."""
    random, lives = Random(11), Lives()
    kinds = ("mint", "publish", *ACTS)
    steps = [
        [
            Step(random.choice(kinds), random.randrange(60), random.randrange(6))
            for _ in range(random.randint(1, 2))
        ]
        for _ in range(300)
    ]
    with opened_connections() as opened:
        made = Catalogue(tmp_path_factory.mktemp("catalogue") / "c", create=True)
    with closing(made) as catalogue:
        take_all(catalogue, list(lives.all(steps)))
        catalogue.note("checked", "earlier")
        catalogue.note("checked", "12")
        yield catalogue.questions, lives, opened


def audiences(lives: Lives) -> list[frozenset[str] | None]:
    graphs = sorted({logged.graph.value for logged in lives.told()} - {PUBLIC_LOG.value})
    listed = sorted({listing.audience for _, listing in lives.listings() if listing.audience})
    return [
        None,
        frozenset(),
        frozenset(graphs[:1]),
        frozenset(graphs),
        frozenset([*listed[:2], "urn:x:unknown"]),
    ]


def selections(seen: frozenset[str] | None) -> Iterator[Selection]:
    spans = [
        (None, None),
        (BEGINNING + 10 * times.DAY, None),
        (BEGINNING + 5 * times.DAY, BEGINNING + 30 * times.DAY),
    ]
    for namespace, owner, stage, (since, until) in product(
        (None, BASES[0], "urn:x:no"), (None, "ann", "\udcff"), (None, *STAGES), spans
    ):
        yield Selection(seen, namespace, owner, stage, since, until)


def within(chosen: Selection, moment: int) -> bool:
    return (chosen.since is None or moment >= chosen.since) and (
        chosen.until is None or moment < chosen.until
    )


def is_chosen(chosen: Selection, listing: Listing) -> bool:
    return (
        (chosen.audiences is None or listing.audience is None or listing.audience in chosen.audiences)
        and chosen.namespace in (None, listing.namespace)
        and chosen.owner in (None, listing.owner)
        and chosen.stage in (None, listing.stage)
        and within(chosen, listing.created)
    )


def test_lists(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    listings = sorted(lives.listings(), key=lambda pair: (pair[1].created, pair[0]), reverse=True)
    for seen in audiences(lives):
        for chosen in selections(seen):
            expected = [listing.iri for _, listing in listings if is_chosen(chosen, listing)]
            assert questions.identifiers(chosen, None) == expected
            assert questions.identifiers(chosen, 3) == expected[:3]


def test_sorted_lists(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    listings = [listing for _, listing in lives.listings()]
    assert list(questions.sorted_identifiers()) == sorted(listing.iri for listing in listings)
    for base in BASES:
        expected = sorted(
            listing.iri for listing in listings if listing.namespace == base and listing.audience is None
        )
        assert list(questions.sorted_identifiers(namespace=base)) == expected
    for audience in {listing.audience for listing in listings} - {None}:
        expected = sorted(listing.iri for listing in listings if listing.audience == audience)
        assert list(questions.sorted_identifiers(audience=audience)) == expected
    assert list(questions.sorted_identifiers(audience="urn:x:unknown")) == []
    assert list(questions.listings()) == [(iri, 1) for iri in questions.sorted_identifiers()]


def rows_of(lives: Lives) -> list[tuple[LoggedEvent, EventRow]]:
    numbers = {sequence: number for number, sequence in enumerate(lives.feed(), 1)}
    return [
        (
            logged,
            EventRow(
                logged.sequence,
                logged.event.origin,
                logged.event.token,
                logged.graph.value,
                numbers.get(logged.sequence),
            ),
        )
        for logged in lives.told()
    ]


def test_log(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    rows, about = rows_of(lives), next(iter(lives.lives.values())).record.iri
    for seen in audiences(lives):
        for owner, kinds, of, after in product(
            (None, "ben", "nobody"), ((), ("Mint",), ("Comment", "Fixation")), (None, about), (0, 40)
        ):
            for since, until in ((None, None), (BEGINNING + 8 * times.DAY, LAST)):
                chosen = Selection(seen, owner=owner, since=since, until=until)
                expected = [
                    row
                    for logged, row in rows
                    if (seen is None or logged.graph == PUBLIC_LOG or logged.graph.value in seen)
                    and owner in (None, logged.event.by)
                    and (not kinds or logged.event.act in kinds)
                    and of in (None, logged.event.about)
                    and row.sequence > after
                    and within(chosen, logged.event.moment)
                ]
                assert questions.events(chosen, about=of, kinds=kinds, after=after) == expected
                assert questions.events(chosen, about=of, kinds=kinds, after=after, limit=4) == expected[:4]


def test_the_public_feed_and_the_order_of_events(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    rows = rows_of(lives)
    public = sorted((row for _, row in rows if row.publication), key=lambda row: row.publication or 0)
    assert [row.sequence for row in public] == lives.feed() != sorted(lives.feed())
    assert [row.publication for row in public] == list(range(1, len(public) + 1))
    assert questions.published(0, 10_000) == public
    assert questions.published(7, 5) == public[7:12]
    assert (questions.sequence, questions.publication) == (lives.sequence, len(public))
    assert questions.last_event() == (rows[-1][1].sequence, rows[-1][1].iri)
    for graph in {logged.graph.value for logged, _ in rows}:
        expected = sorted(
            (logged.event for logged, _ in rows if logged.graph.value == graph), key=lambda event: event.order
        )
        assert list(questions.ordered_events(graph)) == [event.iri for event in expected]
    details = list(questions.details())
    assert [detail.row for detail in details] == [row for _, row in rows]
    assert [(one.act, one.about, one.actor, one.at, one.digest) for one in details] == [
        (
            logged.event.act,
            hashed(logged.event.about),
            logged.event.by,
            logged.event.moment,
            digest(logged.event),
        )
        for logged, _ in rows
    ]


def test_single_look_ups(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    for logged, row in rows_of(lives):
        assert questions.place_of(row.iri) == logged.sequence
        assert questions.knows(row.iri)
        assert questions.mentions(logged.event.about)
    assert questions.place_of(event_name(ORIGINS[0], 5)) is None
    assert not questions.knows(event_name("00000000-7d0c-4a1c-9c0e-1f2a3b4c5d6e", 5))
    with pytest.raises(ValueError, match="base 16"):
        questions.place_of("http://example.org/no-event")
    assert not questions.mentions("urn:x:unknown")
    assert [questions.has_acted(party) for party in (*PARTIES, "nobody", "\udcff")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert (questions.note("checked"), questions.note("other")) == ("12", None)
    for _, listing in lives.listings():
        assert questions.listed(listing.iri) == listing
    assert questions.listed("urn:x:unknown") is None


def test_counts(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, _ = asked
    listings = [listing for _, listing in lives.listings()]
    assert questions.counts() == (len(listings), lives.sequence)
    for seen in audiences(lives):
        chosen = [listing for listing in listings if is_chosen(Selection(seen), listing)]
        tallies = Counter((listing.namespace, listing.owner, listing.stage) for listing in chosen)
        days = Counter((times.day(listing.created), listing.namespace) for listing in chosen)
        assert {(base, owner, stage): many for base, owner, stage, many in questions.tallies(seen)} == tallies
        assert {(day, base): many for day, base, many in questions.days(seen)} == days
        assert questions.days(seen) == sorted(questions.days(seen))
    for base in BASES:
        numbers: dict[str, list[int]] = {}
        for life in lives.lives.values():
            if life.record.namespace == base:
                numbers.setdefault(f"s{life.number % 2}", []).append(life.number)
        assert questions.series(base) == {series: (len(many), max(many)) for series, many in numbers.items()}
    assert questions.series("urn:x:no") == {}


def test_how_much_parties_allocate(asked: tuple[Questions, Lives, Connections]) -> None:
    """Only events of this store count: imported events have the times of other stores."""
    questions, lives, _ = asked
    listed = {listing.iri for _, listing in lives.listings()}
    begun = [logged.event for logged in lives.told() if logged.event.act in ("Mint", "Registration")]
    since = begun[len(begun) // 2].moment
    recent = [event for event in begun if event.moment >= since]
    assert {name: many for name, many, _, _ in questions.pace(since, ORIGINS[0])} == Counter(
        event.by for event in recent
    )
    for party, base in product(PARTIES, BASES):
        own = [event for event in recent if event.by == party]
        there = sum(event.about in listed and event.about.startswith(base) for event in own)
        gone = {event.iri for event in own if event.about not in listed}
        count, released = questions.allocated(party, base, since, 1000, ORIGINS[0])
        assert (count, set(released)) == (there, gone)
        if there:
            assert questions.allocated(party, base, since, 1, ORIGINS[0]) == (1, [])


# no table scans

WALK = "SELECT sequence FROM event WHERE  +origin = "
"""The only statement that may scan: back from the last event to this store's last one before a moment."""


@contextmanager
def no_scans(connections: Connections) -> Iterator[None]:
    """Check the plan of every statement that runs in the block."""
    with traced(connections) as statements:
        yield
    plans = [
        (statement, step)
        for connection, statement in dict.fromkeys(statements)
        if statement.startswith(("SELECT", "WITH"))
        for step in plan(connection, statement)
    ]
    assert plans
    scans = [
        (one, step)
        for one, step in plans
        if re.search(r"SCAN (identifier|event)\b", step) and not one.startswith(WALK)
    ]
    assert scans == []
    lists = [(one, step) for one, step in plans if one.startswith(("SELECT created", "SELECT sequence"))]
    assert [one for one, step in lists if "TEMP B-TREE" in step] == []


def test_lists_trails_and_counts_scan_no_table(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, lives, connections = asked
    about = next(iter(lives.lives.values())).record.iri
    with no_scans(connections):
        for seen in audiences(lives):
            for chosen in selections(seen):
                questions.identifiers(chosen, 10)
            for owner, kinds, of in product((None, "ann"), ((), ("Mint",)), (None, about)):
                questions.events(
                    Selection(seen, owner=owner, since=1, until=LAST),
                    kinds=kinds,
                    about=of,
                    after=3,
                    limit=10,
                )
            questions.tallies(seen)
            questions.days(seen)
        questions.published(0, 10)
        questions.pace(BEGINNING, ORIGINS[0])
        questions.allocated("ann", BASES[0], BEGINNING, 5, ORIGINS[0])
        questions.has_acted("ann")
        questions.mentions(about)
        questions.listed(about)
        questions.place_of(event_name(ORIGINS[0], 5))
        questions.series(BASES[0])
        assert questions.note("checked") == "12"
        assert questions.sequence


def test_changes_scan_no_table(tmp_path: Path) -> None:
    random = Random(4)
    steps = [
        [Step(random.choice(("mint", "publish", *ACTS)), random.randrange(20), random.randrange(6))]
        for _ in range(80)
    ]
    with opened_connections() as opened:
        made = Catalogue(tmp_path / "c", create=True)
    with closing(made) as catalogue, no_scans(opened):
        take_all(catalogue, list(Lives().all(steps)))


def test_the_last_event_is_the_first_row_read(asked: tuple[Questions, Lives, Connections]) -> None:
    questions, _, connections = asked
    with traced(connections) as statements:
        questions.last_event()
    (statement,) = statements
    # a backward scan without sorting
    assert plan(*statement) == ["SCAN event", "SEARCH o USING INTEGER PRIMARY KEY (rowid=?)"]


def test_counting_events_reads_no_event_row(asked: tuple[Questions, Lives, Connections]) -> None:
    """The count runs along the smallest index. It is the only statement whose cost grows with the events."""
    questions, _, connections = asked
    with traced(connections) as statements:
        questions.counts()
    (counting,) = [one for one in statements if "COUNT(*) FROM event" in one[1]]
    assert any("COVERING INDEX" in step for step in plan(*counting))
