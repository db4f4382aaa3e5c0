"""Attempts to see, to change or to guess what belongs to others. The property test drives histories; these are tried one by one."""

import random
import statistics
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

import idstore
from idstore import Party, Registry, Request, Selection, Statement
from idstore.errors import AlreadyRegistered, IdstoreError, InvalidData, NotPermitted, NotRegistered
from idstore.exchange import rdf
from idstore.model import record, times
from idstore.registry.adopting import Published
from idstore.registry.following import Interest
from idstore.registry.valuing import Draft
from idstore.stores.embedded import EmbeddedStore
from idstore.stores.generation import Generation
from idstore.stores.turns import Numbering
from idstore.testing import SimulatedAllocation
from idstore.vocabulary import CLAIMS, IDS, PUBLIC_LOG, REGISTRY_GRAPH, SPACE, access_graph, access_list, party_iri, party_name

ROOT, ALICE, BOB, CAROL, EVE, STAFF = (Party(name) for name in ("root", "alice", "bob", "carol", "eve", "staff"))
RDL = "http://rdl.example.org/data#"
THING = "http://example.org/thing"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT, durability="process") as registry:
        registry.add_namespace("rdl", RDL, "rdswip", ROOT)
        registry.add_namespace("names", "20.500.1", "handle", ROOT)
        yield registry
        assert list(registry.verify(ROOT)) == []


def mint(registry: Registry, by: Party = ALICE) -> str:
    return registry.mint("rdl", by).iri.value


def refused(act: Callable[[], object]) -> tuple[type[IdstoreError], str, dict[str, object]]:
    """The error, whole."""
    with pytest.raises(IdstoreError) as caught:
        act()
    return type(caught.value), caught.value.message, dict(caught.value.fields)


def shown(act: Callable[[], object]) -> str:
    """All that the error holds: what it says, what was raised before it, and the variables on its way."""
    with pytest.raises(IdstoreError) as caught:
        act()
    told: list[object] = []
    error: BaseException | None = caught.value
    while error is not None:
        told += [error, vars(error)]
        told += [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__) if "idstore" in frame.f_globals["__name__"]]
        error = error.__context__
    return repr(told)


def unallocated() -> Iterator[str]:
    """Identifiers that nobody holds."""
    code = idstore.Namespace(RDL, "rdl", "rdswip", (), "root", 0).scheme
    return (RDL + label for label in code.candidates(SimulatedAllocation(code.context(RDL, {}))))


# guessing whether something is there


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is read of the store from now on."""
    quads, holder = Generation.quads, Generation.holder
    read: list[object] = []

    def reading(self: Generation, *given: NamedNode | None) -> Iterator[Quad]:
        for quad in quads(self, *given):
            read.append(quad)
            yield quad

    def held(self: Generation, claimed: NamedNode) -> NamedNode | None:
        read.extend(one for one in [holder(self, claimed)] if one is not None)
        return holder(self, claimed)

    monkeypatch.setattr(Generation, "quads", reading)
    monkeypatch.setattr(Generation, "holder", held)
    return read


def test_looking_for_the_hidden_reads_as_much_as_for_the_absent(registry: Registry, read: list[object]) -> None:
    def needed(iri: str) -> int:
        refused(lambda: registry.show(iri, EVE))
        read.clear()
        refused(lambda: registry.show(iri, EVE))
        return len(read)

    hidden, released = mint(registry), mint(registry)
    registry.release(released, ALICE)
    assert needed(hidden) == needed(released) == needed(next(unallocated())) == 2


LOOKS: dict[str, Callable[[Registry, str], object]] = {
    "log": lambda registry, about: list(registry.log(EVE, id=about)),
    "news": lambda registry, about: registry.news(EVE, Interest(id=about)),
    "history": lambda registry, about: registry.at(about, 2**50, EVE),
    "bound": lambda registry, about: registry.bound_to(f"{THING}/{about[-1]}", EVE),
    "subject": lambda registry, about: registry.matching(EVE, NamedNode(about)),
    "object": lambda registry, about: registry.matching(EVE, None, IDS.about, NamedNode(about)),
    "predicate": lambda registry, _: registry.matching(EVE, None, IDS.about),
    "graph": lambda registry, about: registry.matching(EVE, None, None, NamedNode(about), access_graph(frozenset({"alice"}))),
}


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_hidden_is_not_even_read(registry: Registry, read: list[object], look: str) -> None:
    registry.register("names", "x1", ALICE)
    told = []
    for _ in range(2):
        for about in ("https://hdl.handle.net/20.500.1/x1", "https://hdl.handle.net/20.500.1/x2"):
            read.clear()
            with suppress(NotRegistered):
                LOOKS[look](registry, about)
            told.append(len(read))
        for number in range(5):
            registry.comment("names:x1", str(number), ALICE)
            registry.bind("names:x1", Statement(f"{THING}/1", f"http://example.org/{number}"), ALICE)
            registry.register("names", f"other{len(told)}{number}", ALICE, Request(target=f"{THING}/1"))
    assert len({*told[-2:]}) == 1
    assert look != "predicate" or len({*told}) == 1


@pytest.mark.parametrize("look", [Registry.resolve, Registry.citation, Registry.versions])
def test_what_hidden_versions_a_work_has_is_not_read(
    registry: Registry, read: list[object], look: Callable[[Registry, str, Party], object]
) -> None:
    registry.register("names", "work", ALICE, Request(target=THING))
    registry.fixate(["names:work"], ALICE)
    told = []
    for number in ("V1.0", "V1.1", "V1.2"):
        look(registry, "names:work", EVE)
        read.clear()
        look(registry, "names:work", EVE)
        told.append(len(read))
        registry.add_version("names:work", number, ALICE, Request(target=THING))
    assert len({*told}) == 1


ACTS: dict[str, Callable[[Registry, str], object]] = {
    "show": lambda registry, text: registry.show(text, EVE),
    "history": lambda registry, text: registry.at(text, 2**50, EVE),
    "bind": lambda registry, text: registry.bind(text, Statement(THING), EVE),
    "vet": lambda registry, text: registry.vet(text, EVE),
    "comment": lambda registry, text: registry.comment(text, "seen", EVE),
    "unbind": lambda registry, text: registry.unbind(text, Statement(f"{THING}/2"), EVE),
    "target": lambda registry, text: registry.target(text, THING, EVE),
    "name": lambda registry, text: registry.name(text, "thing", EVE),
    "set": lambda registry, text: registry.set_value(text, Draft("DESC", "mine"), EVE),
    "unset": lambda registry, text: registry.unset_values(text, [1], EVE),
    "fixate": lambda registry, text: registry.fixate([text], EVE),
    "release": lambda registry, text: registry.release(text, EVE),
    "deprecate": lambda registry, text: registry.deprecate(text, "old", EVE),
    "successor": lambda registry, text: registry.supersede("names:own", [text, "names:draft"], EVE),
    "work": lambda registry, text: registry.add_version(text, "V1.0", EVE),
    "grant": lambda registry, text: registry.grant(text, BOB, EVE),
    "transfer": lambda registry, text: registry.transfer(text, BOB, EVE),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_a_handle_keeps_to_its_owner_has_no_part_in_what_others_do(registry: Registry, read: list[object], act: str) -> None:
    for label, owner in (("few", ALICE), ("many", ALICE), ("own", EVE), ("draft", EVE)):
        registry.register("names", label, owner)
        registry.grant(f"names:{label}", BOB, owner)
    for index in range(1, 6):
        registry.set_value("names:many", Draft("DESC", "for the owner alone", index, permissions="1100"), ALICE)
    registry.fixate(["names:few", "names:many"], ALICE)
    registry.fixate(["names:own"], EVE)
    many = []
    for text in ("names:few", "names:many"):
        registry.counts(EVE)  # what was done is applied
        read.clear()
        try:
            ACTS[act](registry, text)
            many.append(len(read))
        except IdstoreError:
            many.append(len(read))
            assert "for the owner alone" not in shown(lambda text=text: ACTS[act](registry, text))  # type: ignore[misc]
    assert many[1] - many[0] == (5 if act == "history" else 0)  # a trail passes over the events


@pytest.mark.parametrize("name", ["valve", "pump"])
def test_a_key_of_what_was_handed_over_reads_nothing_of_what_was_done_since(registry: Registry, read: list[object], name: str) -> None:
    told = []
    for many in (0, 5):
        asked = Request("valve", request_key=str(many)), Request(name, request_key=str(many))
        iri = registry.mint("rdl", EVE, asked[0]).iri.value
        for party in (EVE, BOB):
            registry.transfer(iri, BOB, party)
        for number in range(many):
            registry.comment(iri, str(number), BOB)
        registry.counts(EVE)  # what was done is applied
        read.clear()
        refused(lambda asked=asked[1]: registry.mint("rdl", EVE, asked))  # type: ignore[misc]
        told.append(len(read))
    assert len({*told}) == 1


@pytest.mark.slow
def test_looking_for_the_hidden_takes_as_long_as_for_the_absent(registry: Registry) -> None:
    hidden, released = ([mint(registry) for _ in range(500)] for _ in range(2))
    for iri in released:
        registry.release(iri, ALICE)
    asked = [(iri, which) for which, iris in enumerate((hidden, released, islice(unallocated(), 500))) for iri in iris]
    spent: list[list[int]] = [[], [], []]
    for _ in range(8):
        random.shuffle(asked)
        for iri, which in asked:
            begin = time.perf_counter_ns()
            try:
                registry.show(iri, EVE)
            except NotRegistered:
                spent[which].append(time.perf_counter_ns() - begin)
    middle = [statistics.median(one) for one in spent]
    assert max(middle) == pytest.approx(min(middle), rel=0.25)


@pytest.mark.parametrize("fate", ["draft", "published", "released"])
def test_a_taken_label_is_taken_and_no_more_is_said(registry: Registry, fate: str) -> None:
    label = registry.register("names", "a", ALICE).label
    if fate == "published":
        registry.fixate(["names:a"], ALICE)
    if fate == "released":
        registry.release("names:a", ALICE)
    error, message, fields = refused(lambda: registry.register("names", "a", EVE))
    assert (error, message) == (AlreadyRegistered, "'a' is taken in names; choose another label")
    assert fields == {"label": label, "namespace": "names"}


def test_a_frozen_namespace_tells_nothing_of_its_labels(registry: Registry) -> None:
    registry.register("names", "a", ALICE)
    registry.freeze("names", ROOT)
    assert refused(lambda: registry.register("names", "a", EVE)) == refused(lambda: registry.register("names", "b", EVE))


ARTICLE = {"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "Dynamics", "doi": "10.1021/nn1"}


@pytest.fixture
def article(registry: Registry) -> str:
    """A draft of Bob's that was minted for a DOI; the namespace is Carol's."""
    registry.add_namespace("articles", "http://journals.example.org/", "scholars-portal", ROOT)
    for party in (ROOT, CAROL):
        registry.transfer_namespace("articles", CAROL, party)
    return registry.mint("articles", BOB, Request(comment="before the others", metadata=ARTICLE)).iri.value


def test_what_is_raised_for_a_taken_doi_tells_nothing_of_who_has_it(registry: Registry, article: str) -> None:
    own = registry.mint("articles", CAROL, Request(metadata=ARTICLE | {"title": "Statics", "doi": ""})).iri.value
    for act in (
        lambda: registry.mint("articles", EVE, Request(metadata=ARTICLE | {"title": "Kinetics"})),
        lambda: registry.replace(own, ARTICLE | {"title": "Kinetics"}, CAROL),
    ):
        told = shown(act)
        assert article not in told and "bob" not in told and "before the others" not in told


def test_what_is_raised_tells_nobody_who_is_suspended(registry: Registry, article: str) -> None:
    file = registry.mint("articles", BOB, Request(metadata={"parent": article, "kind": "pdf"})).iri.value
    registry.suspend(ALICE, "too many drafts", ROOT)
    for act in (
        lambda: registry.mint("elsewhere", EVE),
        lambda: registry.show("rdl:none", EVE),
        lambda: list(registry.log(EVE, id="names:none")),
        lambda: registry.grant(file, ALICE, BOB),
    ):
        assert "too many drafts" not in shown(act)


def test_a_taken_doi_is_not_told_to_whom_nothing_could_be_allocated(registry: Registry, article: str) -> None:
    def mint(said: dict[str, str], by: Party) -> str:
        return registry.mint("articles", by, Request(metadata=ARTICLE | said)).iri.value

    def alike(act: Callable[[dict[str, str], Party], object], by: Party, said: dict[str, str]) -> bool:
        return refused(lambda: act(said, by)) == refused(lambda: act(said | {"doi": "10.1021/nn2"}, by))

    own = mint({"doi": "10.1021/nn3"}, CAROL)
    assert refused(lambda: mint({}, EVE))[0] is AlreadyRegistered
    assert alike(mint, EVE, {"issn": ""})
    registry.allow("articles", ["bob"], CAROL)
    assert alike(mint, EVE, {})
    registry.freeze("articles", CAROL)
    assert alike(mint, EVE, {}) and alike(mint, CAROL, {})
    assert alike(lambda said, by: registry.replace(own, ARTICLE | said, by), CAROL, {})
    assert mint({}, BOB) == article


def test_nothing_is_superseded_by_what_one_may_not_see(registry: Registry) -> None:
    own, hidden, absent = mint(registry, EVE), mint(registry), next(unallocated())
    for act in (registry.supersede, lambda text, by, party: registry.deprecate(text, "old", party, by)):
        registry.fixate([own := mint(registry, EVE)], EVE)
        one, other = (refused(lambda iri=iri: act(own, [iri], EVE)) for iri in (hidden, absent))  # type: ignore[misc]
        assert str(one).replace(hidden, "ID") == str(other).replace(absent, "ID")


def test_nothing_is_learned_of_a_draft_by_whom_it_was_shown_to(registry: Registry) -> None:
    """A grantee cannot make a draft's registration public by naming it as a successor."""
    draft, own = mint(registry), mint(registry, BOB)
    registry.grant(draft, BOB, ALICE)
    registry.fixate([own], BOB)
    refused(lambda: registry.supersede(own, [draft], BOB))
    assert registry.show(own, EVE).successors == ()


def test_names_of_events_do_not_count(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "now", lambda ticks=iter(range(4_000_000_000_000, 4_000_000_001_000)): next(ticks))
    for _ in range(20):
        mint(registry, EVE)
    tokens = [entry.event.token for entry in registry.log(EVE, user="eve")]
    assert tokens != sorted(tokens)
    assert len({token >> 40 for token in tokens}) == len(tokens)


def test_the_tokens_of_one_millisecond_do_not_tell_whether_others_acted(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = times.now()
    monkeypatch.setattr(times, "now", lambda: moment)
    drawn: list[int] = []
    while len(drawn) < 4000:
        numbering = Numbering("store", moment, 0)
        tokens = [numbering.token() for _ in range(10)]
        assert (numbering.moment, tokens) == (moment, sorted(tokens))
        drawn += [later - earlier for earlier, later in pairwise(tokens)]
    alone, beside_one = drawn[::3], [sum(pair) for pair in zip(drawn[1::3], drawn[2::3], strict=True)]
    assert sum(gap > max(alone) for gap in beside_one) < 0.03 * len(beside_one), "hardly any gap proves that there was somebody"


def test_a_pace_shows_nobody_else(registry: Registry) -> None:
    mint(registry)
    mint(registry, BOB)
    assert [one.party for one in registry.pace(BOB, 0)] == ["bob"]
    assert [one.party for one in registry.pace(ROOT, 0)] == ["alice", "bob"]


# rights that end


def slowly(registry: Registry) -> tuple[threading.Event, threading.Event]:
    """From now on the disk is slow: one event says that it was reached, the other lets it go on."""
    store = registry.store
    assert isinstance(store, EmbeddedStore)
    reached, go_on, append = threading.Event(), threading.Event(), store._journal.append

    def wait(changes: list[object]) -> None:
        reached.set()
        assert go_on.wait(30)
        append(changes)  # type: ignore[arg-type]

    store._journal.append = wait  # type: ignore[method-assign,assignment]
    return reached, go_on


@pytest.fixture
def shared(registry: Registry) -> str:
    """A draft that Bob sees as a member of staff."""
    registry.add_party(STAFF, ROOT, "group")
    registry.add_party(BOB, ROOT)
    registry.join(BOB, STAFF, ROOT)
    iri = mint(registry)
    registry.grant(iri, STAFF, ALICE)
    return iri


def test_losing_a_membership_loses_sight(registry: Registry, shared: str) -> None:
    registry.leave(BOB, STAFF, ROOT)
    refused(lambda: registry.show(shared, BOB))
    assert registry.list(BOB) == []
    registry.join(BOB, STAFF, ROOT)
    assert registry.show(shared, BOB).iri.value == shared


def test_who_looks_while_a_membership_ends_does_not_keep_it(registry: Registry, shared: str) -> None:
    reached, go_on = slowly(registry)
    leaving = threading.Thread(target=registry.leave, args=(BOB, STAFF, ROOT))
    leaving.start()
    assert reached.wait(30)
    assert registry.show(shared, BOB).iri.value == shared  # not on disk, so it has not happened
    go_on.set()
    leaving.join()
    refused(lambda: registry.show(shared, BOB))


def test_an_act_that_begins_after_a_suspension_is_refused(registry: Registry) -> None:
    assert registry.list(EVE) == []  # what is known of the parties is read by now
    reached, go_on = slowly(registry)
    told: list[tuple[type[IdstoreError], str, dict[str, object]]] = []
    suspending = threading.Thread(target=registry.suspend, args=(EVE, "spam", ROOT))
    suspending.start()
    assert reached.wait(30)
    acting = threading.Thread(target=lambda: told.append(refused(lambda: mint(registry, EVE))))
    acting.start()
    go_on.set()
    for thread in (suspending, acting):
        thread.join()
    assert [one[0] for one in told] == [NotPermitted]


def test_a_refused_journal_leaves_rights_as_they_were(registry: Registry, shared: str) -> None:
    store = registry.store
    assert isinstance(store, EmbeddedStore)
    append = store._journal.append

    def full(_: object) -> None:
        raise idstore.errors.StoreUnavailable("the disk is full")

    store._journal.append = full  # type: ignore[method-assign,assignment]
    refused(lambda: registry.leave(BOB, STAFF, ROOT))
    store._journal.append = append  # type: ignore[method-assign]
    registry.comment(shared, "still here", BOB)
    Registry(store).comment(shared, "and here, for one who knows nothing yet", BOB)
    assert registry.show(shared, BOB).iri.value == shared


# names of parties


@pytest.mark.parametrize(
    "name",
    [
        "alice,bob",
        "alice%2Cbob",
        "%61lice",
        "alice/bob",
        "../alice",
        "alice bob",
        "alice\n",
        "",
        ".alice",
        "a" * 129,
        "<a>",
        "alice#",
        "e\u0301",
    ],
)
def test_what_is_no_name_of_a_party(name: str) -> None:
    with pytest.raises(InvalidData):
        Party(name)


@pytest.mark.parametrize("name", ["alice@example.org", "a+b", "А\u043bиса", "\u0430lice", "\uff41lice", "Alice", "ALICE", "alice.", "名前"])
def test_names_that_look_alike_are_others(registry: Registry, name: str) -> None:
    hidden, other = mint(registry), Party(name)
    refused(lambda: registry.show(hidden, other))
    own = mint(registry, other)
    assert [one.iri.value for one in registry.list(other)] == [own]
    refused(lambda: registry.show(own, ALICE))


names = st.from_regex(r"[^\W_][\w.@+-]{0,12}", fullmatch=True)


@given(st.frozensets(names, min_size=1, max_size=4))
def test_access_lists_are_read_as_they_were_written(listed: frozenset[str]) -> None:
    assert access_list(access_graph(listed)) == listed
    assert {party_name(party_iri(name)) for name in listed} == listed


def test_nobody_acts_or_sees_as_a_group(registry: Registry, shared: str) -> None:
    refused(lambda: registry.show(shared, STAFF))
    assert registry.list(STAFF) == []
    error, message, _ = refused(lambda: mint(registry, STAFF))
    assert error is NotPermitted
    assert "groups do not act" in message


def test_a_name_that_has_acted_becomes_no_group(registry: Registry) -> None:
    mint(registry, EVE)
    assert refused(lambda: registry.add_party(EVE, ROOT, "group"))[0] is AlreadyRegistered
    registry.add_party(EVE, ROOT)
    assert mint(registry, EVE)


def test_a_group_is_not_suspended(registry: Registry, shared: str) -> None:
    assert registry.show(shared, BOB).iri.value == shared
    assert refused(lambda: registry.suspend(STAFF, "spam", ROOT))[0] is InvalidData


def test_a_grant_to_a_name_holds_for_who_bears_it(registry: Registry) -> None:
    """A group that is added later is that name."""
    iri = mint(registry)
    registry.grant(iri, Party("later"), ALICE)
    registry.add_party(BOB, ROOT)
    registry.add_party(Party("later"), ROOT, "group")
    refused(lambda: registry.show(iri, BOB))
    registry.join(BOB, Party("later"), ROOT)
    assert registry.show(iri, BOB).grants == (("later", False),)


# writing what is read otherwise


@pytest.mark.parametrize(
    "relation", [*sorted(term.value for term in record._RESERVED), IDS.owner.value, IDS.stage.value, IDS.grantee.value, IDS.about.value]
)
def test_no_binding_speaks_the_records_own_words(registry: Registry, relation: str) -> None:
    iri = mint(registry)
    registry.fixate([iri], ALICE)
    for act in (registry.bind, registry.unbind):
        assert refused(lambda act=act: act(iri, Statement(party_iri("eve").value, relation), EVE))[0] is InvalidData  # type: ignore[misc]


@pytest.mark.parametrize(
    "relation",
    [IDS.owner.value.replace("https", "HTTPS"), IDS.owner.value.replace("#", "%23"), IDS.claimedBy.value.replace("ids", "IDS") + "x"],
)
def test_relations_that_look_alike_change_nothing(registry: Registry, relation: str) -> None:
    iri = mint(registry)
    registry.fixate([iri], ALICE)
    before = registry.show(iri, ALICE)
    try:
        registry.bind(iri, Statement(party_iri("eve").value, relation), EVE)
    except InvalidData:
        return
    after = registry.show(iri, ALICE)
    assert (after.owner, after.stage, after.grants, after.offered) == (before.owner, before.stage, before.grants, before.offered)


@pytest.mark.parametrize(
    "iri", [CLAIMS.value, PUBLIC_LOG.value, REGISTRY_GRAPH.value, access_graph(frozenset({"alice"})).value, party_iri("alice").value, RDL]
)
def test_naming_what_is_inside_reaches_nothing(registry: Registry, iri: str) -> None:
    hidden, own = mint(registry), mint(registry, EVE)
    registry.bind(own, Statement(iri), EVE)
    registry.target(own, iri, EVE)
    registry.fixate([own], EVE)
    assert registry.resolve(own, EVE).target == iri
    assert registry.bound_to(iri, EVE) == [own]
    refused(lambda: registry.show(hidden, EVE))
    refused(lambda: registry.show(iri, EVE))


@pytest.mark.parametrize(
    "iri",
    [
        "http://example.org/> } ; DROP ALL ; INSERT DATA { <http://a> <http://b> <http://c",
        "http://example.org/a b",
        'http://example.org/"',
        "http://example.org/\\u003e",
        "no-iri",
        "_:b",
        "http://example.org/\x00",
    ],
)
def test_what_is_no_iri_is_refused(registry: Registry, iri: str) -> None:
    own = mint(registry, EVE)
    for act in (
        lambda: registry.bind(own, Statement(iri), EVE),
        lambda: registry.bind(own, Statement(THING, iri), EVE),
        lambda: registry.target(own, iri, EVE),
    ):
        assert refused(act)[0] is InvalidData


ODD = st.one_of(st.text(min_size=1), st.text("\"\\'<>{}.;\n\r\t\x1b\x85\u2028\u202e\ufeff\ufffe\U0001f600e\u0301", min_size=1, max_size=12))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(ODD, min_size=2, max_size=3))
def test_texts_are_kept_as_they_are_and_can_be_replaced(registry: Registry, texts: list[str]) -> None:
    iri = mint(registry)
    for text in texts:
        try:
            registry.name(iri, text, ALICE)
            registry.comment(iri, text, ALICE)
        except InvalidData:  # empty, NUL
            continue
        assert dict(registry.show(iri, ALICE).names)["und"] == text
        assert registry.remarks(iri, ALICE)[-1].text == text
    registry.fixate([iri], ALICE)


@pytest.mark.parametrize("tag", ["en-a", "a", "abcdefghi", "en-12", "en_US", "", "en\n", "x", "en-x"])
def test_what_is_no_language_is_refused(registry: Registry, tag: str) -> None:
    iri = mint(registry)
    for act in (lambda: registry.name(iri, "valve", ALICE, tag), lambda: registry.mint("rdl", ALICE, Request("valve", lang=tag))):
        assert refused(act)[0] is InvalidData


# namespaces that overlap


@pytest.mark.parametrize(
    "base",
    [
        f"{SPACE}graph/log#",
        f"{SPACE}access/alice#",
        f"{SPACE}party/#",
        "urn:uuid:0b1e5a52-7d0c-4a1c-9c0e-1f2a3b4c5d6e#",
        RDL,
        RDL.upper().replace("HTTP", "http"),
        "http://a/#b#",
        "no-iri#",
    ],
)
def test_bases_that_are_taken(registry: Registry, base: str) -> None:
    assert refused(lambda: registry.add_namespace("new", base, "rdswip", ROOT))[0] in (InvalidData, AlreadyRegistered)


@pytest.mark.parametrize(
    ("first", "second"), [("http://f.example.org/", "http://f.example.org/fmt/"), ("http://f.example.org/fmt/", "http://f.example.org/")]
)
def test_no_identifier_has_two_namespaces(registry: Registry, first: str, second: str) -> None:
    registry.add_namespace("first", first, "puid", ROOT)
    assert refused(lambda: registry.add_namespace("second", second, "scholars-portal", ROOT))[0] is AlreadyRegistered
    registry.add_namespace("third", f"{first}#", "rdswip", ROOT)  # no label has a bare #


def test_a_namespace_is_not_transferred_to_its_owner(registry: Registry) -> None:
    assert refused(lambda: registry.transfer_namespace("rdl", ROOT, ROOT))[1] == "rdl belongs to root already"
    assert refused(lambda: registry.transfer_namespace("rdl", EVE, EVE))[0] is NotPermitted


def test_a_limit_is_not_evaded_by_giving_up(registry: Registry) -> None:
    registry.allow("rdl", [], ROOT, per_minute=3)
    registry.register("names", "elsewhere", EVE)
    registry.release("names:elsewhere", EVE)
    for _ in range(3):
        registry.release(mint(registry, EVE), EVE)
    assert "within a minute" in refused(lambda: mint(registry, EVE))[1]
    assert mint(registry, BOB)


# files


def exported(registry: Registry, by: Party, path: Path) -> Path:
    with path.open("wb") as file:
        rdf.export(registry, file, by, "nquads")
    return path


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Registry]:
    """Another store, in which nothing has happened."""
    with idstore.open(tmp_path / "fresh", administrator=ROOT, durability="process") as registry:
        yield registry


def test_only_administrators_import_also_into_an_empty_store(registry: Registry, fresh: Registry, tmp_path: Path) -> None:
    mint(registry)
    file = exported(registry, ROOT, tmp_path / "all.nq")
    for target in (fresh, registry):
        assert refused(lambda target=target: rdf.import_registry(target, [file], EVE))[0] is NotPermitted  # type: ignore[misc]
    deputy = Party("deputy")
    registry.add_party(deputy, ROOT, "administrator")
    registry.suspend(deputy, "leave", ROOT)
    assert "suspended: leave" in refused(lambda: rdf.import_registry(registry, [file], deputy, dry_run=True))[1]


def test_an_extract_holds_what_its_maker_sees_and_says_that_it_is_one(registry: Registry, fresh: Registry, tmp_path: Path) -> None:
    hidden, own = mint(registry), mint(registry, EVE)
    registry.comment(own, "mine", EVE)
    file = exported(registry, EVE, tmp_path / "part.nq")
    assert hidden not in file.read_text(encoding="utf-8")
    assert IDS.partial.value in file.read_text(encoding="utf-8")
    rdf.import_registry(fresh, [file], ROOT)
    assert [one.iri.value for one in fresh.list(ROOT)] == [own]
    refused(lambda: fresh.show(own, ALICE))
    assert list(fresh.verify(ROOT)) == []


def forged(registry: Registry, path: Path, change: Callable[[str], str]) -> Path:
    """An export, changed."""
    text = exported(registry, ROOT, path).read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    return path


FORGERIES: dict[str, Callable[[str], str]] = {
    "an identifier that is another": lambda text: text.replace(f"{RDL}R", f"{SPACE}party/alice#R"),
    "a namespace that is an internal graph": lambda text: text.replace(f"{RDL}>", f"{SPACE}graph/log>"),
    "an event of the next centuries": lambda text: text.replace('"20', '"29'),
    "a triple beside the log": lambda text: f"{text}<{RDL}R1> <{IDS.owner.value}> <{party_iri('eve').value}> <{RDL}> .\n",
    "an event without a party": lambda text: "\n".join(line for line in text.splitlines() if "wasAssociatedWith" not in line),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused_whole(registry: Registry, fresh: Registry, tmp_path: Path, forgery: str) -> None:
    registry.fixate([mint(registry)], ALICE)
    file = forged(registry, tmp_path / "forged.nq", FORGERIES[forgery])
    before = [entry.event for entry in fresh.log(ROOT)]
    assert issubclass(refused(lambda: rdf.import_registry(fresh, [file], ROOT))[0], InvalidData)
    assert [entry.event for entry in fresh.log(ROOT)] == before
    assert fresh.namespaces() == []


def test_an_adoption_by_who_was_suspended_meanwhile_is_refused(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.add_namespace("formats", "info:pronom/", "puid", ROOT)
    deputy = Party("deputy")
    registry.add_party(deputy, ROOT, "administrator")
    staging = registry.store.staging
    monkeypatch.setattr(registry.store, "staging", lambda: (registry.suspend(deputy, "leave", ROOT), staging())[1])
    assert refused(lambda: registry.adopt("formats", [Published("fmt/1", "one")], deputy, "a list"))[0] is NotPermitted
    assert registry.list(ROOT) == []


def test_order_and_time_hold_after_older_events_were_taken_in(
    registry: Registry, fresh: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.add_party(BOB, ROOT)
    late = times.now() + times.DAY
    monkeypatch.setattr(times, "now", lambda: late)
    registry.register("names", "late", ALICE)
    rdf.import_registry(registry, [exported(fresh, ROOT, tmp_path / "other.nq")], ROOT)
    monkeypatch.setattr(times, "now", lambda: late - times.DAY)
    assert registry.register("names", "later", ALICE).created >= late


def test_claims_are_in_no_export(registry: Registry) -> None:
    mint(registry)
    with registry.quads(ROOT) as quads:
        assert [quad for quad in quads if quad.graph_name == CLAIMS or quad.predicate == IDS.claimedBy] == []
    assert registry.list(ROOT, Selection(audiences=None)) == registry.list(ROOT)
    assert registry.list(EVE, Selection(audiences=None)) == []
