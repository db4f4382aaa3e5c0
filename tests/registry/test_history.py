"""Past states: random histories, compared with exports made at the time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from command_lines import Minting, Run
from hypothesis import HealthCheck, given, settings
from pyoxigraph import Quad
from random_histories import (
    ACTORS,
    ANN,
    BEN,
    GIL,
    OUT,
    ROOT,
    Act,
    acts,
    begun,
    clock,
    exported,
    memory,
    perform,
)

from idstore import Filter, Party, Record, Registry, Request, Stage, Statement
from idstore.errors import InvalidData, NotRegistered
from idstore.exchange import rdf
from idstore.model import times
from idstore.operations.declared import OPERATIONS
from idstore.vocabulary import IDS, REGISTRY_GRAPH

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with clock(), begun(tmp_path / "store") as registry:
        yield registry


def kept(registry: Registry, party: Party) -> set[Quad]:
    """Return records and bindings of an export."""
    with registry.quads(party) as found:
        quads = [
            quad for quad in found if quad.graph_name != REGISTRY_GRAPH and quad.predicate != IDS.suspended
        ]
    events = {quad.subject for quad in quads if quad.predicate == IDS.about}
    return {quad for quad in quads if quad.subject not in events}


def made(records: Iterable[Record]) -> set[Quad]:
    return {quad for record in records for quad in record.quads()}


def standing(registry: Registry, moment: datetime, party: Party) -> dict[str, Record]:
    found = list(registry.all_at(moment, party))
    assert len({record.iri for record in found}) == len(found)
    return {record.iri: record for record in found}


def discreet(record: Record) -> Record:
    return replace(record, grants=(), offered=None)


def compare(history: list[Act]) -> None:
    """Check past states against the exports of the time, as far as the party sees the log today."""
    with clock(), memory() as folder, begun(folder / "store") as registry:
        snapshots = {times.current(): kept(registry, ROOT)}
        snapshots |= {times.current(): kept(registry, ROOT) for act in history if perform(registry, act)}
        subjects = {party: {entry.event.about for entry in registry.log(party)} for party in (*ACTORS, OUT)}
        shown = {
            party: {record.iri: record for record in registry.list(party, limit=None)}
            for party in (*ACTORS, OUT)
        }
        for moment, snapshot in snapshots.items():
            whole = standing(registry, moment, ROOT)
            assert made(whole.values()) == snapshot
            for party in (*ACTORS[:-1], OUT):
                found = standing(registry, moment, party)
                assert found.keys() == whole.keys() & subjects[party]
                assert found.keys() >= whole.keys() & shown[party].keys()
                assert {iri: discreet(one) for iri, one in found.items()} == {
                    iri: discreet(whole[iri]) for iri in found
                }
                absent(registry, moment, party, whole.keys() - found.keys())
        last = max(snapshots)
        for party in (*ACTORS, OUT):
            assert standing(registry, last, party) == shown[party]
            differences(registry, sorted(snapshots), party)


def absent(registry: Registry, moment: datetime, party: Party, hidden: Iterable[str]) -> None:
    """Check that a hidden identifier gives the same answer as an absent one."""
    for iri in hidden:
        with pytest.raises(NotRegistered) as caught:
            registry.at(iri, moment, party)
        with pytest.raises(NotRegistered) as never:
            registry.at("http://rdl.example.org/data#R3732211754", moment, party)
        assert caught.value.message.replace(iri, "ID") == never.value.message.replace(
            "http://rdl.example.org/data#R3732211754", "ID"
        )


def differences(registry: Registry, moments: list[datetime], party: Party) -> None:
    """Check that the differences lead from each state to each later one."""
    for since, until in [*pairwise(moments), (moments[0], moments[-1]), (times.of(0), moments[-1])]:
        state, after = standing(registry, since, party), standing(registry, until, party)
        for found in registry.differences(since, until, party):
            assert found.before == state.pop(found.iri, None)
            assert found.before != found.after
            if found.after is not None:
                state[found.iri] = found.after
        assert state == after


@settings(_QUIET, max_examples=8, derandomize=True)
@given(acts(5, 15))
def test_past_states_match_the_exports_of_the_time(history: list[Act]) -> None:
    compare(history)


@pytest.mark.slow
@settings(_QUIET, max_examples=8)
@given(acts(10, 50))
def test_past_states_of_long_histories_match_the_exports_of_the_time(history: list[Act]) -> None:
    compare(history)


def test_one_identifier_is_shown_at_each_moment(registry: Registry) -> None:
    iri = registry.mint("rdl", ANN, Request("first")).iri
    moments = [times.current()]
    for act in (
        lambda: registry.name(iri, "second", ANN),
        lambda: registry.bind(iri, Statement("http://example.org/a"), ANN),
        lambda: registry.fixate([iri], ANN),
        lambda: registry.revoke(iri, "abuse", ROOT),
    ):
        act()
        moments.append(times.current())
    found = [registry.at(iri, moment, OUT) for moment in moments]
    assert [one.stage for one in found] == [Stage.CREATED] * 3 + [Stage.FIXATED, Stage.TOMBSTONE]
    assert [dict(one.names)["und"] for one in found] == ["first", *["second"] * 4]
    assert [len(one.bindings) for one in found] == [0, 0, 1, 1, 1]
    with pytest.raises(NotRegistered, match="was not there at"):
        registry.at(iri, found[0].created - timedelta(milliseconds=1), OUT)
    assert registry.at(iri, found[0].created, OUT).stage is Stage.CREATED


def test_a_former_grantee_sees_no_past_state(registry: Registry) -> None:
    iri = registry.mint("rdl", ANN, Request("draft")).iri
    registry.grant(iri, BEN, ANN)
    shared = times.current()
    assert registry.at(iri, shared, BEN).grants == (("ben", False),)
    registry.ungrant(iri, BEN, ANN)
    with pytest.raises(NotRegistered):
        registry.at(iri, shared, BEN)
    assert [*registry.all_at(shared, BEN), *registry.differences(times.of(0), times.current(), BEN)] == []
    registry.release(iri, ANN)
    assert registry.at(iri, shared, ANN).stage is Stage.CREATED
    for party in (BEN, OUT):
        with pytest.raises(NotRegistered):
            registry.at(iri, shared, party)


def test_only_present_grantees_see_former_grant_lists(registry: Registry) -> None:
    iri = registry.mint("rdl", ANN).iri
    registry.grant(iri, BEN, ANN)
    shared = times.current()
    registry.fixate([iri], ANN)
    assert [registry.at(iri, shared, party).grants for party in (ANN, BEN, ROOT)] == [(("ben", False),)] * 3
    assert [registry.at(iri, shared, party).grants for party in (GIL, OUT)] == [()] * 2
    assert [one.after and one.after.grants for one in registry.differences(times.of(0), shared, OUT)] == [()]


def test_merged_events_are_part_of_past_states(registry: Registry, tmp_path: Path) -> None:
    with begun(tmp_path / "other") as other:
        iri = other.register("names", "x", BEN, Request("theirs")).iri
        other.fixate([iri], BEN)
        early = times.current()
        registry.fixate([registry.register("names", "x", ANN, Request("ours")).iri], ANN)
        rdf.import_registry(registry, [exported(other, ROOT, tmp_path / "other.nq")], ROOT)
    assert [one.owner for one in registry.all_at(early, OUT)] == ["ben"]
    assert [(one.owner, dict(one.names)["und"]) for one in registry.all_at(times.current(), OUT)] == [
        ("ben", "theirs")
    ]


def test_commands_show_the_past(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve")
    run("fixate", iri)
    moment = run("show", iri, "--json").object["fixated"]
    run("name", iri, "ball valve")
    assert "valve" in run("history", iri, "--at", moment, by="carol").out
    found = run("history", iri, "--at", moment, "--json", by="carol").object
    assert (found["names"], found["stage"], "comments" in found) == ({"und": "valve"}, "fixated", False)
    assert run("history", "--at", moment).lines == [f"{iri}\tfixated\talice\t{found['created']}\tvalve"]
    assert run("history", "--at", "2001-01-01").out == ""
    assert run("diff", moment).lines == [f"~ {iri}", "    name: valve → ball valve"]
    assert run("diff", moment, "--json", by="carol").object["fields"] == [
        {"field": "name", "before": "valve", "after": "ball valve"}
    ]
    assert run("diff", "2001-01-01", "--namespace", "h").out == ""
    assert run("diff", "2001-01-01", moment).lines[0] == f"+ {iri}"
    draft = mint()
    seen = run("diff", moment).lines
    run("release", draft)
    assert f"+ {draft}" in seen
    assert draft not in run("diff", moment, by="carol").out
    run("history", draft, by="carol", code=4)
    run("history", draft, code=4)
    run("history", iri, "--namespace", "rdl", code=2)
    run("history", "--namespace", "nonesuch", code=4)
    run("history", iri, "--at", "last week", code=3)
    run("diff", "2026-01-02", "2026-01-01", code=3)


def test_a_moment_needs_a_time_zone(registry: Registry) -> None:
    when = datetime.now(UTC).replace(tzinfo=None)
    asks: list[Callable[[], object]] = [
        lambda: registry.at("rdl:R1", when, ANN),
        lambda: registry.all_at(when, ANN),
        lambda: registry.differences(times.of(0), when, ANN),
        lambda: Filter(since=when),
        lambda: OPERATIONS["all_at"].values({"moment": when}),
    ]
    for ask in asks:
        with pytest.raises(InvalidData, match=r"give a datetime with its time zone, as datetime\.now\(UTC\)"):
            ask()
