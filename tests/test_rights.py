"""Stages and rights: the permitted acts of each party, row by row.

y done · h as if it were not there · f seen, but not permitted · s not in this stage

binder: a grantee that may also bind (``grant --bind``), and has bound the identifier. member: a person of the
group ``staff``, which is a grantee; the person is none. root: an administrator, who is not on the grant list.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import idstore
from idstore import NOBODY, Filter, Party, Registry, Request, Statement, opening
from idstore.errors import IdstoreError, InvalidData, NotPermitted, NotRegistered, StageConflict
from idstore.model import times
from idstore.model.party import node
from idstore.vocabulary import IDS

TABLE = """
act         stage      owner  grantee  binder  member  root  outsider  suspended
show        created    y      y        y       y       y     h         y
show        fixated    y      y        y       y       y     y         y
show        tombstone  y      y        y       y       y     y         y
show        released   h      h        h       h       h     h         h
log         created    y      y        y       y       y     h         y
log         fixated    y      y        y       y       y     y         y
log         tombstone  y      y        y       y       y     y         y
log         released   y      h        h       h       y     h         h
resolve     created    y      y        y       y       y     h         y
resolve     fixated    y      y        y       y       y     y         y
resolve     tombstone  y      y        y       y       y     y         y
resolve     released   h      h        h       h       h     h         h
bind        created    y      f        y       f       f     h         f
bind        fixated    y      y        y       y       y     y         f
bind        tombstone  s      s        s       s       s     s         f
bind        released   h      h        h       h       h     h         f
unbind      created    y      f        y       f       f     h         f
unbind      fixated    y      f        y       f       f     f         f
unbind      tombstone  s      f        s       f       f     f         f
unbind      released   h      h        h       h       h     h         f
comment     created    y      y        y       y       f     h         f
comment     fixated    y      y        y       y       f     f         f
comment     tombstone  s      s        s       s       f     f         f
comment     released   h      h        h       h       h     h         f
target      created    y      f        f       f       f     h         f
target      fixated    y      f        f       f       f     f         f
target      tombstone  s      f        f       f       f     f         f
target      released   h      h        h       h       h     h         f
name        created    y      f        f       f       f     h         f
name        fixated    y      f        f       f       f     f         f
name        tombstone  s      f        f       f       f     f         f
name        released   h      h        h       h       h     h         f
grant       created    y      f        f       f       f     h         f
grant       fixated    y      f        f       f       f     f         f
grant       tombstone  s      f        f       f       f     f         f
grant       released   h      h        h       h       h     h         f
ungrant     created    y      f        f       f       f     h         f
ungrant     fixated    y      f        f       f       f     f         f
ungrant     tombstone  s      f        f       f       f     f         f
ungrant     released   h      h        h       h       h     h         f
transfer    created    y      f        f       f       f     h         f
transfer    fixated    y      f        f       f       f     f         f
transfer    tombstone  s      f        f       f       f     f         f
transfer    released   h      h        h       h       h     h         f
fixate      created    y      f        f       f       f     h         f
fixate      fixated    s      f        f       f       f     f         f
fixate      tombstone  s      f        f       f       f     f         f
fixate      released   h      h        h       h       h     h         f
release     created    y      f        f       f       f     h         f
release     fixated    s      f        f       f       f     f         f
release     tombstone  s      f        f       f       f     f         f
release     released   h      h        h       h       h     h         f
deprecate   created    s      f        f       f       f     h         f
deprecate   fixated    y      f        f       f       f     f         f
deprecate   tombstone  s      f        f       f       f     f         f
deprecate   released   h      h        h       h       h     h         f
supersede   created    y      f        f       f       f     h         f
supersede   fixated    y      f        f       f       f     f         f
supersede   tombstone  s      f        f       f       f     f         f
supersede   released   h      h        h       h       h     h         f
revoke      created    f      f        f       f       y     h         f
revoke      fixated    f      f        f       f       y     f         f
revoke      tombstone  f      f        f       f       s     f         f
revoke      released   h      h        h       h       h     h         f
"""
OUTCOMES = {"y": None, "h": "not-registered", "f": "not-permitted", "s": "wrong-stage"}
ROOT, OWNER, BINDER = Party("root"), Party("owner"), Party("binder")
BOUND = Statement("http://example.org/bound")
Act = Callable[[Registry, str, Party], object]


def rows() -> list[tuple[str, str, str, str | None]]:
    """Yield act, stage, party, and outcome."""
    header, *lines = (line.split() for line in TABLE.strip().splitlines())
    return [
        (act, stage, who, OUTCOMES[outcome])
        for act, stage, *outcomes in lines
        for who, outcome in zip(header[2:], outcomes, strict=True)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("rights") / "store", administrator=ROOT) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        registry.add_party(Party("staff"), ROOT, "group")
        for name in ("member", "ben"):
            registry.add_party(Party(name), ROOT)
        registry.join(Party("member"), Party("staff"), ROOT)
        registry.suspend(Party("suspended"), "spam", ROOT)
        yield registry
        assert list(registry.verify(ROOT)) == []


def staged(registry: Registry, stage: str) -> str:
    """Return a shared identifier in a stage; a party beside its owner has bound it."""
    iri = registry.mint("rdl", OWNER, Request(target="http://example.org/")).iri
    for grantee in ("grantee", "staff", "suspended"):
        registry.grant(iri, Party(grantee), OWNER)
    registry.grant(iri, BINDER, OWNER, bind=True)
    registry.bind(iri, BOUND, BINDER)
    if stage == "released":
        registry.release(iri, OWNER)
    elif stage != "created":
        registry.fixate([iri], OWNER)
    if stage == "tombstone":
        registry.revoke(iri, "abuse", ROOT)
    return iri


def supersede(registry: Registry, iri: str, by: Party) -> None:
    successor = registry.mint("rdl", OWNER).iri
    registry.fixate([successor], OWNER)
    registry.supersede(iri, [successor], by)


ACTS: dict[str, Act] = {
    "show": lambda registry, iri, by: registry.show(iri, by),
    "log": lambda registry, iri, by: list(registry.log(by, Filter(id=iri))),
    "resolve": lambda registry, iri, by: registry.resolve(iri, by),
    "bind": lambda registry, iri, by: registry.bind(iri, Statement("http://example.org/other"), by),
    "unbind": lambda registry, iri, by: registry.unbind(iri, BOUND, by),
    "comment": lambda registry, iri, by: registry.comment(iri, "a remark", by),
    "target": lambda registry, iri, by: registry.target(iri, "http://example.org/elsewhere", by),
    "name": lambda registry, iri, by: registry.name(iri, "valve", by),
    "grant": lambda registry, iri, by: registry.grant(iri, Party("ben"), by),
    "ungrant": lambda registry, iri, by: registry.ungrant(iri, Party("grantee"), by),
    "transfer": lambda registry, iri, by: registry.transfer(iri, Party("ben"), by),
    "fixate": lambda registry, iri, by: registry.fixate([iri], by),
    "release": lambda registry, iri, by: registry.release(iri, by),
    "deprecate": lambda registry, iri, by: registry.deprecate(iri, "outdated", by),
    "supersede": supersede,
    "revoke": lambda registry, iri, by: registry.revoke(iri, "abuse", by),
}


def outcome(act: Callable[[], object]) -> str | None:
    """Return the slug of the error, None if the act is done."""
    try:
        act()
    except IdstoreError as error:
        return error.code
    return None


@pytest.mark.parametrize(("act", "stage", "who", "expected"), rows())
def test_each_party_may_do_the_acts_in_the_table(
    registry: Registry, act: str, stage: str, who: str, expected: str | None
) -> None:
    iri = staged(registry, stage)
    before = list(registry.log(ROOT, Filter(id=iri)))
    assert outcome(partial(ACTS[act], registry, iri, Party(who))) == expected
    if expected is not None:
        assert list(registry.log(ROOT, Filter(id=iri))) == before


def test_every_act_on_an_identifier_is_in_the_table() -> None:
    assert {row[0] for row in rows()} == set(ACTS)
    assert len(rows()) == len(ACTS) * 4 * 7


# rules beside the table


@pytest.mark.parametrize("stage", ["created", "fixated"])
def test_only_the_receiver_of_an_offer_sees_and_accepts_it(registry: Registry, stage: str) -> None:
    iri, ben = staged(registry, stage), Party("ben")
    with pytest.raises(StageConflict):
        registry.transfer(iri, OWNER, OWNER)
    registry.transfer(iri, ben, OWNER)
    assert registry.show(iri, ben).offered == "ben"
    with pytest.raises(NotPermitted):
        registry.transfer(iri, BINDER, BINDER)
    with pytest.raises(NotPermitted):
        registry.name(iri, "mine already", ben)
    registry.transfer(iri, ben, ben)
    assert (registry.show(iri, ben).owner, registry.show(iri, ben).offered) == ("ben", None)
    assert outcome(lambda: registry.name(iri, "valve", OWNER)) == (
        "not-registered" if stage == "created" else "not-permitted"
    )
    assert [
        entry.event.by for entry in registry.log(ben, Filter(id=iri)) if entry.event.act == "Transfer"
    ] == ["owner", "ben"]


def test_an_offer_can_be_taken_back(registry: Registry) -> None:
    iri, ben = staged(registry, "created"), Party("ben")
    registry.transfer(iri, ben, OWNER)
    registry.ungrant(iri, ben, OWNER)
    for act in (lambda: registry.show(iri, ben), lambda: registry.transfer(iri, ben, ben)):
        with pytest.raises(NotRegistered):
            act()
    registry.transfer(iri, ben, OWNER)
    registry.transfer(iri, OWNER, OWNER)
    assert (registry.show(iri, OWNER).owner, registry.show(iri, OWNER).offered) == ("owner", None)
    with pytest.raises(NotRegistered):
        registry.transfer(iri, ben, ben)


@pytest.mark.parametrize(
    ("who", "seen"), [("owner", 2), ("member", 2), ("root", 2), ("suspended", 2), ("outsider", 1)]
)
def test_internal_remarks_stay_with_the_grant_list(registry: Registry, who: str, seen: int) -> None:
    iri = staged(registry, "created")
    registry.comment(iri, "for all, one day", BINDER)
    registry.comment(iri, "between us", BINDER, internal=True)
    registry.fixate([iri], OWNER)
    assert len(registry.remarks(iri, Party(who))) == seen
    assert sum(entry.event.act == "Comment" for entry in registry.log(Party(who), Filter(id=iri))) == seen


def test_the_log_of_a_published_identifier_shows_its_grants_to_everyone(registry: Registry) -> None:
    iri, outsider = staged(registry, "fixated"), Party("outsider")
    registry.grant(iri, Party("ben"), OWNER)
    registry.transfer(iri, Party("ada"), OWNER)
    assert (registry.show(iri, outsider).grants, registry.show(iri, outsider).offered) == ((), None)
    said = [
        entry.event
        for entry in registry.log(outsider, Filter(id=iri))
        if entry.event.act in ("Grant", "Transfer")
    ]
    assert [event.text(IDS.party) for event in said[-2:]] == [node(name).value for name in ("ben", "ada")]


def test_a_grant_ends_at_once(registry: Registry) -> None:
    iri = staged(registry, "created")
    registry.ungrant(iri, Party("staff"), OWNER)
    with pytest.raises(NotRegistered):
        registry.show(iri, Party("member"))


@pytest.mark.slow
def test_only_administrators_show_a_long_history_to_others(registry: Registry) -> None:
    owner, reader = Party("chronicler"), Party("grantee")
    iri = registry.mint("rdl", owner).iri
    registry.grant(iri, reader, owner)
    for _ in range(10_000):
        registry.vet(iri, reader)
    acts: list[Callable[[], object]] = [
        lambda: registry.grant(iri, Party("ada"), owner),
        lambda: registry.ungrant(iri, reader, owner),
        lambda: registry.fixate([iri], owner),
    ]
    for act in acts:
        with pytest.raises(InvalidData, match=r"more than 10000 events, .*; only administrators may"):
            act()
    registry.name(iri, "annals", owner)  # it moves nothing
    registry.add_party(owner, ROOT, "administrator")
    for act in acts:
        act()
    seen = [entry.event.act for entry in registry.log(Party("outsider"), Filter(id=iri))]
    assert seen.count("Vetting") == 10_000


@pytest.mark.parametrize("stage", ["created", "fixated"])
def test_only_a_published_identifier_is_a_successor(registry: Registry, stage: str) -> None:
    iri, draft = staged(registry, stage), staged(registry, "created")
    with pytest.raises(StageConflict, match="fixate it first"):
        registry.supersede(iri, [draft], OWNER)


def test_grants_are_the_owners_without_saying(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="is on its grant list"):
        registry.grant(staged(registry, "created"), OWNER, OWNER)


# namespaces and parties


def test_an_anonymous_request_is_given_nothing(registry: Registry, tmp_path: Path) -> None:
    iri = registry.mint("rdl", OWNER).iri
    acts: list[Callable[[], object]] = [
        lambda: registry.grant(iri, NOBODY, OWNER),
        lambda: registry.transfer(iri, NOBODY, OWNER),
        lambda: registry.transfer_namespace("rdl", NOBODY, ROOT),
        lambda: registry.add_party(NOBODY, ROOT, "administrator"),
        lambda: registry.suspend(NOBODY, "spam", ROOT),
        lambda: opening.open(tmp_path / "new", administrator=NOBODY),
    ]
    for act in acts:
        with pytest.raises(InvalidData, match="anonymous"):
            act()
    assert not (tmp_path / "new").exists()


def test_only_administrators_govern(registry: Registry) -> None:
    acts: list[Callable[[Party], object]] = [
        lambda by: registry.add_namespace("new", "http://new.example.org/data#", "rdswip", by),
        lambda by: registry.add_party(Party("somebody"), by),
        lambda by: registry.join(Party("ben"), Party("staff"), by),
        lambda by: registry.leave(Party("ben"), Party("staff"), by),
        lambda by: registry.suspend(Party("ben"), "spam", by),
        lambda by: registry.reinstate(Party("ben"), by),
        lambda by: registry.revoke_all(Party("ben"), times.of(0), "abuse", by, dry_run=True),
        lambda by: registry.revoke_all(Party("ben"), times.of(0), "spam", by),
        lambda by: list(registry.verify(by)),
        lambda by: registry.repair_counters(by),
        lambda by: registry.counters(by),
        lambda by: registry.events_since(by, "commit:0"),
    ]
    assert [outcome(partial(act, OWNER)) for act in acts] == ["not-permitted"] * len(acts)
    assert [outcome(partial(act, Party("suspended"))) for act in acts] == ["not-permitted"] * len(acts)
    assert [outcome(partial(act, ROOT)) for act in acts] == [None] * len(acts)


def test_a_suspended_administrator_reads_and_does_nothing(registry: Registry) -> None:
    deputy = Party("deputy")
    registry.add_party(deputy, ROOT, "administrator")
    iri = staged(registry, "created")
    registry.suspend(deputy, "leave", ROOT)
    assert registry.show(iri, deputy).iri == iri
    assert list(registry.verify(deputy)) == []
    for act in (
        lambda: registry.repair_counters(deputy),
        lambda: registry.reinstate(deputy, deputy),
        lambda: registry.revoke(iri, "x", deputy),
    ):
        with pytest.raises(NotPermitted, match="suspended: leave"):
            act()


def test_only_a_suspended_party_gets_the_reason(registry: Registry) -> None:
    with pytest.raises(NotPermitted, match="suspended: spam") as caught:
        registry.mint("rdl", Party("suspended"))
    assert caught.value.fields == {"party": "suspended", "reason": "spam"}
    for who, told in (("suspended", True), ("root", True), ("owner", False)):
        assert any(known.suspended == "spam" for known in registry.parties(Party(who))) is told
        assert (
            any(
                entry.event.about.endswith("/suspended")
                for entry in registry.log(Party(who))
                if entry.event.act == "Suspension"
            )
            is told
        )


def test_only_its_owner_governs_a_namespace(registry: Registry) -> None:
    registry.add_namespace("own", "http://own.example.org/data#", "rdswip", ROOT)
    registry.transfer_namespace("own", OWNER, ROOT)
    acts: list[Callable[[Party], object]] = [
        lambda by: registry.allow("own", ["staff"], by, per_minute=5),
        lambda by: registry.freeze("own", by),
        lambda by: registry.freeze("own", by, frozen=False),
        lambda by: registry.comment_namespace("own", "ours", by),
        lambda by: registry.transfer_namespace("own", OWNER, by),
    ]
    assert [outcome(partial(act, OWNER)) for act in acts[:-1]] == ["not-permitted"] * (len(acts) - 1)
    registry.transfer_namespace("own", OWNER, OWNER)
    assert registry.namespace("own").owner == "owner"
    assert [outcome(partial(act, ROOT)) for act in acts] == ["not-permitted"] * len(acts)
    assert [outcome(partial(act, OWNER)) for act in acts] == [None] * (len(acts) - 1) + ["wrong-stage"]
    assert outcome(lambda: registry.mint("own", Party("member"))) is None
    assert outcome(lambda: registry.mint("own", OWNER)) is None
    assert outcome(lambda: registry.mint("own", Party("ben"))) == "not-permitted"
    registry.freeze("own", OWNER)
    assert outcome(lambda: registry.mint("own", OWNER)) == "wrong-stage"


def test_nothing_is_offered_to_a_group(registry: Registry) -> None:
    """A group could not accept."""
    registry.add_party(Party("team"), ROOT, "group")
    offered = registry.mint("rdl", OWNER).iri
    with pytest.raises(InvalidData, match="team is a group, and groups own nothing"):
        registry.transfer(offered, Party("team"), OWNER)
    with pytest.raises(InvalidData, match="team is a group, and groups own nothing"):
        registry.transfer_namespace("rdl", Party("team"), ROOT)
