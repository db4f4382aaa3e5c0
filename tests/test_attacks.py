"""Single attempts to see, to change or to guess data of other parties.

`property/test_visibility.py` tries random histories.
"""

import random
import statistics
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad
from store_ledgers import SlowLedger

import idstore
from idstore import Filter, Party, Registry, Request, Statement
from idstore.errors import (
    AlreadyRegistered,
    IdstoreError,
    InvalidData,
    NotPermitted,
    NotRegistered,
    StoreUnavailable,
)
from idstore.exchange import rdf
from idstore.model import record, times
from idstore.model.change import Claim
from idstore.registry.handle_values import Draft
from idstore.registry.imports.adopt import Published
from idstore.stores.contract import Transaction
from idstore.stores.ledger.contract import LedgerTransaction
from idstore.stores.store import DirectoryStore
from idstore.stores.transaction import ActTransaction
from idstore.stores.views import EngineView
from idstore.testing import SimulatedAllocation
from idstore.vocabulary import (
    IDS,
    PUBLIC_LOG,
    REGISTRY_GRAPH,
    SPACE,
    access_graph,
    access_list,
    party_iri,
    party_name,
)

ROOT, ALICE, BOB, CAROL, EVE, STAFF = (
    Party(name) for name in ("root", "alice", "bob", "carol", "eve", "staff")
)
RDL = "http://rdl.example.org/data#"
THING = "http://example.org/thing"


@pytest.fixture
def ledger(tmp_path: Path) -> SlowLedger:
    """Return the ledger of the registry."""
    idstore.open(tmp_path / "store", administrator=ROOT).close()
    return SlowLedger(tmp_path / "store")


@pytest.fixture
def registry(tmp_path: Path, ledger: SlowLedger) -> Iterator[Registry]:
    with Registry(DirectoryStore(tmp_path / "store", ledger=lambda _: ledger)) as registry:
        registry.add_namespace("rdl", RDL, "rdswip", ROOT)
        registry.add_namespace("names", "20.500.1", "handle", ROOT)
        yield registry
        assert list(registry.verify(ROOT)) == []


def mint(registry: Registry, by: Party = ALICE) -> str:
    return registry.mint("rdl", by).iri


def refused(act: Callable[[], object]) -> tuple[type[IdstoreError], str, dict[str, object]]:
    """Return class, message and fields of the error that the act raises."""
    with pytest.raises(IdstoreError) as caught:
        act()
    return type(caught.value), caught.value.message, dict(caught.value.fields)


def shown(act: Callable[[], object]) -> str:
    """Return everything that the error holds: its message, earlier errors, and variables of its traceback."""
    with pytest.raises(IdstoreError) as caught:
        act()
    contents: list[object] = []
    error: BaseException | None = caught.value
    while error is not None:
        contents += [error, vars(error)]
        contents += [
            frame.f_locals
            for frame, _ in traceback.walk_tb(error.__traceback__)
            if "idstore" in frame.f_globals["__name__"]
        ]
        error = error.__context__
    return repr(contents)


def unallocated() -> Iterator[str]:
    """Yield identifiers that were never allocated."""
    code = idstore.Namespace(RDL, "rdl", "rdswip", (), "root", times.of(0)).scheme
    return (RDL + label for label in code.candidates(SimulatedAllocation(code.context(RDL, {}))))


# guessing whether an identifier exists


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that collects what is read from the store from now on: quads and claims."""
    read: list[object] = []
    quads, nquads = EngineView.quads, EngineView.nquads

    def read_quads(view: EngineView, *pattern: NamedNode | None) -> Iterator[Quad]:
        for quad in quads(view, *pattern):
            read.append(quad)
            yield quad

    def read_nquads(
        view: EngineView, subjects: Iterable[NamedNode], graph: NamedNode, through: NamedNode | None = None
    ) -> list[str]:
        lines = nquads(view, subjects, graph, through)
        read.extend(lines)
        return lines

    def read_claim_by(
        claim: Callable[[EngineView, NamedNode], Claim | None],
    ) -> Callable[[EngineView, NamedNode], Claim | None]:
        def read_claim(view: EngineView, key: NamedNode) -> Claim | None:
            found = claim(view, key)
            if found is not None:
                read.append(found)
            return found

        return read_claim

    monkeypatch.setattr(EngineView, "quads", read_quads)
    monkeypatch.setattr(EngineView, "nquads", read_nquads)
    for view in (EngineView, ActTransaction):
        monkeypatch.setattr(view, "claim", read_claim_by(view.claim))  # type: ignore[arg-type]
    return read


def test_a_lookup_of_a_hidden_identifier_reads_as_much_as_of_an_absent_one(
    registry: Registry, read: list[object]
) -> None:
    def needed(iri: str) -> int:
        refused(lambda: registry.show(iri, EVE))
        read.clear()
        refused(lambda: registry.show(iri, EVE))
        return len(read)

    hidden, released = mint(registry), mint(registry)
    registry.release(released, ALICE)
    assert needed(hidden) == needed(released) == needed(next(unallocated())) == 2


LOOKS: dict[str, Callable[[Registry, str], object]] = {
    "log": lambda registry, about: list(registry.log(EVE, Filter(id=about))),
    "news": lambda registry, about: registry.news(EVE, Filter(id=about)),
    "events": lambda registry, about: registry.events_since(EVE, "0", Filter(id=about)),
    "history": lambda registry, about: registry.at(about, times.of(2**47), EVE),
    "bound": lambda registry, about: registry.bound_to(f"{THING}/{about[-1]}", EVE),
    "subject": lambda registry, about: registry.matching(EVE, NamedNode(about)),
    "object": lambda registry, about: registry.matching(EVE, None, IDS.about, NamedNode(about)),
    "predicate": lambda registry, _: registry.matching(EVE, None, IDS.about),
    "graph": lambda registry, about: registry.matching(
        EVE, None, None, NamedNode(about), access_graph(frozenset({"alice"}))
    ),
}


@pytest.mark.parametrize("look", LOOKS)
def test_hidden_data_are_not_read(registry: Registry, read: list[object], look: str) -> None:
    registry.register("names", "x1", ALICE)
    reads = []
    for _ in range(2):
        for about in ("https://hdl.handle.net/20.500.1/x1", "https://hdl.handle.net/20.500.1/x2"):
            read.clear()
            with suppress(NotRegistered):
                LOOKS[look](registry, about)
            reads.append(len(read))
        for number in range(5):
            registry.comment("names:x1", str(number), ALICE)
            registry.bind("names:x1", Statement(f"{THING}/1", f"http://example.org/{number}"), ALICE)
            registry.register("names", f"other{len(reads)}{number}", ALICE, Request(target=f"{THING}/1"))
    assert len({*reads[-2:]}) == 1
    assert look != "predicate" or len({*reads}) == 1


@pytest.mark.parametrize("look", [Registry.resolve, Registry.citation, Registry.versions])
def test_hidden_versions_of_a_work_are_not_read(
    registry: Registry, read: list[object], look: Callable[[Registry, str, Party], object]
) -> None:
    registry.register("names", "work", ALICE, Request(target=THING))
    registry.fixate(["names:work"], ALICE)
    reads = []
    for number in ("V1.0", "V1.1", "V1.2"):
        look(registry, "names:work", EVE)
        read.clear()
        look(registry, "names:work", EVE)
        reads.append(len(read))
        registry.add_version("names:work", number, ALICE, Request(target=THING))
    assert len({*reads}) == 1


ACTS: dict[str, Callable[[Registry, str], object]] = {
    "show": lambda registry, text: registry.show(text, EVE),
    "history": lambda registry, text: registry.at(text, times.of(2**47), EVE),
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
def test_private_values_of_a_handle_do_not_influence_acts_of_others(
    registry: Registry, read: list[object], act: str
) -> None:
    for label, owner in (("few", ALICE), ("many", ALICE), ("own", EVE), ("draft", EVE)):
        registry.register("names", label, owner)
        registry.grant(f"names:{label}", BOB, owner)
    for index in range(1, 6):
        registry.set_value(
            "names:many", Draft("DESC", "for the owner alone", index, permissions="1100"), ALICE
        )
    registry.fixate(["names:few", "names:many"], ALICE)
    registry.fixate(["names:own"], EVE)
    registry.namespaces()  # reads which parties became public
    many = []
    for text in ("names:few", "names:many"):
        read.clear()
        try:
            ACTS[act](registry, text)
            many.append(len(read))
        except IdstoreError:
            many.append(len(read))
            assert "for the owner alone" not in shown(lambda text=text: ACTS[act](registry, text))  # type: ignore[misc]
    assert many[1] == many[0]


@pytest.mark.parametrize("name", ["valve", "pump"])
def test_a_request_key_of_a_transferred_identifier_reads_no_later_events(
    registry: Registry, read: list[object], name: str
) -> None:
    reads = []
    for many in (0, 5):
        asked = Request("valve", request_key=str(many)), Request(name, request_key=str(many))
        iri = registry.mint("rdl", EVE, asked[0]).iri
        for party in (EVE, BOB):
            registry.transfer(iri, BOB, party)
        for number in range(many):
            registry.comment(iri, str(number), BOB)
        read.clear()
        refused(lambda asked=asked[1]: registry.mint("rdl", EVE, asked))  # type: ignore[misc]
        reads.append(len(read))
    assert len({*reads}) == 1


@pytest.mark.slow
def test_a_lookup_of_a_hidden_identifier_takes_as_long_as_of_an_absent_one(registry: Registry) -> None:
    hidden, released = ([mint(registry) for _ in range(500)] for _ in range(2))
    for iri in released:
        registry.release(iri, ALICE)
    asked = [
        (iri, which)
        for which, iris in enumerate((hidden, released, islice(unallocated(), 500)))
        for iri in iris
    ]
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
def test_a_taken_label_reveals_nothing_else(registry: Registry, fate: str) -> None:
    label = registry.register("names", "a", ALICE).label
    if fate == "published":
        registry.fixate(["names:a"], ALICE)
    if fate == "released":
        registry.release("names:a", ALICE)
    error, message, fields = refused(lambda: registry.register("names", "a", EVE))
    assert (error, message) == (AlreadyRegistered, "'a' is taken in names; choose another label")
    assert fields == {"label": label, "namespace": "names"}


def test_a_frozen_namespace_reveals_nothing_of_its_labels(registry: Registry) -> None:
    registry.register("names", "a", ALICE)
    registry.freeze("names", ROOT)
    assert refused(lambda: registry.register("names", "a", EVE)) == refused(
        lambda: registry.register("names", "b", EVE)
    )


ARTICLE = {
    "issn": "1936-0851",
    "volume": "4",
    "issue": "10",
    "page": "6153",
    "title": "Dynamics",
    "doi": "10.1021/nn1",
}


@pytest.fixture
def article(registry: Registry) -> str:
    """Return a draft that Bob minted for a DOI, in a namespace of Carol's."""
    registry.add_namespace("articles", "http://journals.example.org/", "scholars-portal", ROOT)
    for party in (ROOT, CAROL):
        registry.transfer_namespace("articles", CAROL, party)
    return registry.mint("articles", BOB, Request(comment="before the others", metadata=ARTICLE)).iri


def test_the_error_for_a_taken_doi_reveals_nothing_of_its_holder(registry: Registry, article: str) -> None:
    own = registry.mint("articles", CAROL, Request(metadata=ARTICLE | {"title": "Statics", "doi": ""})).iri
    for act in (
        lambda: registry.mint("articles", EVE, Request(metadata=ARTICLE | {"title": "Kinetics"})),
        lambda: registry.replace(own, ARTICLE | {"title": "Kinetics"}, CAROL),
    ):
        text = shown(act)
        assert article not in text and "bob" not in text and "before the others" not in text


def test_an_error_does_not_reveal_suspended_parties(registry: Registry, article: str) -> None:
    file = registry.mint("articles", BOB, Request(metadata={"parent": article, "kind": "pdf"})).iri
    registry.suspend(ALICE, "too many drafts", ROOT)
    for act in (
        lambda: registry.mint("elsewhere", EVE),
        lambda: registry.show("rdl:none", EVE),
        lambda: list(registry.log(EVE, Filter(id="names:none"))),
        lambda: registry.grant(file, ALICE, BOB),
    ):
        assert "too many drafts" not in shown(act)


def test_a_taken_doi_is_not_revealed_to_a_party_that_may_not_allocate(
    registry: Registry, article: str
) -> None:
    def mint(said: dict[str, str], by: Party) -> str:
        return registry.mint("articles", by, Request(metadata=ARTICLE | said)).iri

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


def test_a_hidden_identifier_is_no_successor(registry: Registry) -> None:
    own, hidden, absent = mint(registry, EVE), mint(registry), next(unallocated())
    for act in (registry.supersede, lambda text, by, party: registry.deprecate(text, "old", party, by)):
        registry.fixate([own := mint(registry, EVE)], EVE)
        one, other = (refused(lambda iri=iri: act(own, [iri], EVE)) for iri in (hidden, absent))  # type: ignore[misc]
        assert str(one).replace(hidden, "ID") == str(other).replace(absent, "ID")


def test_a_grantee_cannot_publish_a_draft_as_a_successor(registry: Registry) -> None:
    """A grantee cannot make a draft's registration public by naming it as a successor."""
    draft, own = mint(registry), mint(registry, BOB)
    registry.grant(draft, BOB, ALICE)
    registry.fixate([own], BOB)
    refused(lambda: registry.supersede(own, [draft], BOB))
    assert registry.show(own, EVE).successors == ()


def test_names_of_events_reveal_no_counts(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        times, "now", lambda ticks=iter(range(4_000_000_000_000, 4_000_000_001_000)): next(ticks)
    )
    for _ in range(20):
        mint(registry, EVE)
    tokens = [entry.event.token for entry in registry.log(EVE, Filter(party="eve"))]
    assert tokens != sorted(tokens)
    assert len({token >> 40 for token in tokens}) == len(tokens)


def test_the_tokens_of_one_millisecond_do_not_reveal_acts_of_others(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = times.now() + 1
    monkeypatch.setattr(times, "now", lambda: moment)

    def ten(transaction: Transaction) -> tuple[int, list[int]]:
        tokens = [transaction.token() for _ in range(10)]
        return transaction.moment, tokens

    drawn: list[int] = []
    while len(drawn) < 4000:
        at, tokens = registry.store.write(ten)
        assert (at, tokens) == (moment, sorted(tokens))
        drawn += [later - earlier for earlier, later in pairwise(tokens)]
    alone, beside_one = drawn[::3], [sum(pair) for pair in zip(drawn[1::3], drawn[2::3], strict=True)]
    assert sum(gap > max(alone) for gap in beside_one) < 0.03 * len(beside_one), (
        "a gap would reveal an act of another party"
    )


def test_a_pace_shows_no_other_party(registry: Registry) -> None:
    mint(registry)
    mint(registry, BOB)
    assert [one.party for one in registry.pace(BOB, times.of(0))] == ["bob"]
    assert [one.party for one in registry.pace(ROOT, times.of(0))] == ["alice", "bob"]


# rights that end


def hold(ledger: SlowLedger) -> None:
    """Make the disk slow: `reached` waits for a commit, and ``ledger.let_go()`` lets it continue."""
    while ledger.begun.acquire(blocking=False):
        pass
    ledger.hold()


def reached(ledger: SlowLedger) -> bool:
    return ledger.begun.acquire(timeout=30)


@pytest.fixture
def shared(registry: Registry) -> str:
    """Return a draft that Bob sees as a member of staff."""
    registry.add_party(STAFF, ROOT, "group")
    registry.add_party(BOB, ROOT)
    registry.join(BOB, STAFF, ROOT)
    iri = mint(registry)
    registry.grant(iri, STAFF, ALICE)
    return iri


def test_the_end_of_a_membership_ends_visibility(registry: Registry, shared: str) -> None:
    registry.leave(BOB, STAFF, ROOT)
    refused(lambda: registry.show(shared, BOB))
    assert registry.list(BOB) == []
    registry.join(BOB, STAFF, ROOT)
    assert registry.show(shared, BOB).iri == shared


def test_a_read_during_the_end_of_a_membership_does_not_prolong_it(
    registry: Registry, ledger: SlowLedger, shared: str
) -> None:
    hold(ledger)
    leaving = threading.Thread(target=registry.leave, args=(BOB, STAFF, ROOT))
    leaving.start()
    assert reached(ledger)
    assert registry.show(shared, BOB).iri == shared  # not on disk, so not done
    ledger.let_go()
    leaving.join()
    refused(lambda: registry.show(shared, BOB))


def test_an_act_that_begins_after_a_suspension_is_refused(registry: Registry, ledger: SlowLedger) -> None:
    assert registry.list(EVE) == []  # by now the parties have been read
    hold(ledger)
    results: list[tuple[type[IdstoreError], str, dict[str, object]]] = []
    suspending = threading.Thread(target=registry.suspend, args=(EVE, "spam", ROOT))
    suspending.start()
    assert reached(ledger)
    acting = threading.Thread(target=lambda: results.append(refused(lambda: mint(registry, EVE))))
    acting.start()
    ledger.let_go()
    for thread in (suspending, acting):
        thread.join()
    assert [one[0] for one in results] == [NotPermitted]


def test_a_refused_commit_leaves_rights_as_they_were(
    registry: Registry, ledger: SlowLedger, shared: str
) -> None:
    def full(_: LedgerTransaction) -> None:
        raise StoreUnavailable("the disk is full")

    ledger.fail_next(full)
    assert refused(lambda: registry.leave(BOB, STAFF, ROOT))[0] is StoreUnavailable
    registry.comment(shared, "still here", BOB)
    Registry(registry.store).comment(shared, "and here, for one who knows nothing yet", BOB)
    assert registry.show(shared, BOB).iri == shared


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
def test_malformed_names_of_parties_are_refused(name: str) -> None:
    with pytest.raises(InvalidData):
        Party(name)


@pytest.mark.parametrize(
    "name",
    [
        "alice@example.org",
        "a+b",
        "А\u043bиса",
        "\u0430lice",
        "\uff41lice",
        "Alice",
        "ALICE",
        "alice.",
        "名前",
    ],
)
def test_names_that_look_alike_are_different_parties(registry: Registry, name: str) -> None:
    hidden, other = mint(registry), Party(name)
    refused(lambda: registry.show(hidden, other))
    own = mint(registry, other)
    assert [one.iri for one in registry.list(other)] == [own]
    refused(lambda: registry.show(own, ALICE))


names = st.from_regex(r"[^\W_][\w.@+-]{0,12}", fullmatch=True)


@given(st.frozensets(names, min_size=1, max_size=4))
def test_access_lists_survive_a_round_trip(listed: frozenset[str]) -> None:
    assert access_list(access_graph(listed)) == listed
    assert {party_name(party_iri(name)) for name in listed} == listed


def test_no_party_acts_or_sees_as_a_group(registry: Registry, shared: str) -> None:
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
    assert registry.show(shared, BOB).iri == shared
    assert refused(lambda: registry.suspend(STAFF, "spam", ROOT))[0] is InvalidData


def test_a_grant_to_a_name_applies_to_a_later_group_of_that_name(registry: Registry) -> None:
    """A group that is added later is the party of that name."""
    iri = mint(registry)
    registry.grant(iri, Party("later"), ALICE)
    registry.add_party(BOB, ROOT)
    registry.add_party(Party("later"), ROOT, "group")
    refused(lambda: registry.show(iri, BOB))
    registry.join(BOB, Party("later"), ROOT)
    assert registry.show(iri, BOB).grants == (("later", False),)


# texts that a reader may interpret otherwise


@pytest.mark.parametrize(
    "relation",
    [
        *sorted(term.value for term in record._RESERVED),
        IDS.owner.value,
        IDS.stage.value,
        IDS.grantee.value,
        IDS.about.value,
    ],
)
def test_no_binding_uses_the_properties_of_records(registry: Registry, relation: str) -> None:
    iri = mint(registry)
    registry.fixate([iri], ALICE)
    for act in (registry.bind, registry.unbind):
        assert (
            refused(lambda act=act: act(iri, Statement(party_iri("eve").value, relation), EVE))[0]  # type: ignore[misc]
            is InvalidData
        )


@pytest.mark.parametrize(
    "relation",
    [
        IDS.owner.value.replace("https", "HTTPS"),
        IDS.owner.value.replace("#", "%23"),
        IDS.suspended.value.replace("ids", "IDS") + "x",
    ],
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
    assert (after.owner, after.stage, after.grants, after.offered) == (
        before.owner,
        before.stage,
        before.grants,
        before.offered,
    )


@pytest.mark.parametrize(
    "iri",
    [
        f"{SPACE}graph/mark",
        f"{SPACE}mark",
        PUBLIC_LOG.value,
        REGISTRY_GRAPH.value,
        access_graph(frozenset({"alice"})).value,
        party_iri("alice").value,
        RDL,
    ],
)
def test_internal_graphs_cannot_be_reached_by_name(registry: Registry, iri: str) -> None:
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
def test_malformed_iris_are_refused(registry: Registry, iri: str) -> None:
    own = mint(registry, EVE)
    for act in (
        lambda: registry.bind(own, Statement(iri), EVE),
        lambda: registry.bind(own, Statement(THING, iri), EVE),
        lambda: registry.target(own, iri, EVE),
    ):
        assert refused(act)[0] is InvalidData


ODD = st.one_of(
    st.text(min_size=1),
    st.text("\"\\'<>{}.;\n\r\t\x1b\x85\u2028\u202e\ufeff\ufffe\U0001f600e\u0301", min_size=1, max_size=12),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(ODD, min_size=2, max_size=3))
def test_texts_are_kept_unchanged_and_can_be_replaced(registry: Registry, texts: list[str]) -> None:
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
def test_malformed_language_tags_are_refused(registry: Registry, tag: str) -> None:
    iri = mint(registry)
    for act in (
        lambda: registry.name(iri, "valve", ALICE, tag),
        lambda: registry.mint("rdl", ALICE, Request("valve", lang=tag)),
    ):
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
def test_overlapping_bases_are_refused(registry: Registry, base: str) -> None:
    assert refused(lambda: registry.add_namespace("new", base, "rdswip", ROOT))[0] in (
        InvalidData,
        AlreadyRegistered,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("http://f.example.org/", "http://f.example.org/fmt/"),
        ("http://f.example.org/fmt/", "http://f.example.org/"),
    ],
)
def test_no_identifier_has_two_namespaces(registry: Registry, first: str, second: str) -> None:
    registry.add_namespace("first", first, "puid", ROOT)
    assert (
        refused(lambda: registry.add_namespace("second", second, "scholars-portal", ROOT))[0]
        is AlreadyRegistered
    )
    registry.add_namespace("third", f"{first}#", "rdswip", ROOT)  # no label has a bare #


def test_a_namespace_is_not_transferred_to_its_owner(registry: Registry) -> None:
    assert refused(lambda: registry.transfer_namespace("rdl", ROOT, ROOT))[1] == "rdl already belongs to root"
    assert refused(lambda: registry.transfer_namespace("rdl", EVE, EVE))[0] is NotPermitted


def test_a_release_does_not_evade_a_limit(registry: Registry) -> None:
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
    """Yield another store, without any event."""
    with idstore.open(tmp_path / "fresh", administrator=ROOT) as registry:
        yield registry


def test_only_administrators_import_also_into_an_empty_store(
    registry: Registry, fresh: Registry, tmp_path: Path
) -> None:
    mint(registry)
    file = exported(registry, ROOT, tmp_path / "all.nq")
    for target in (fresh, registry):
        assert refused(lambda target=target: rdf.import_registry(target, [file], EVE))[0] is NotPermitted  # type: ignore[misc]
    deputy = Party("deputy")
    registry.add_party(deputy, ROOT, "administrator")
    registry.suspend(deputy, "leave", ROOT)
    assert (
        "suspended: leave" in refused(lambda: rdf.import_registry(registry, [file], deputy, dry_run=True))[1]
    )


def test_an_extract_holds_only_visible_data_and_is_marked(
    registry: Registry, fresh: Registry, tmp_path: Path
) -> None:
    hidden, own = mint(registry), mint(registry, EVE)
    registry.comment(own, "mine", EVE)
    file = exported(registry, EVE, tmp_path / "part.nq")
    assert hidden not in file.read_text(encoding="utf-8")
    assert IDS.partial.value in file.read_text(encoding="utf-8")
    rdf.import_registry(fresh, [file], ROOT)
    assert [one.iri for one in fresh.list(ROOT)] == [own]
    refused(lambda: fresh.show(own, ALICE))
    assert list(fresh.verify(ROOT)) == []


def forged(registry: Registry, path: Path, change: Callable[[str], str]) -> Path:
    """Return an export after a change."""
    text = exported(registry, ROOT, path).read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    return path


FORGERIES: dict[str, Callable[[str], str]] = {
    "an identifier that is another": lambda text: text.replace(f"{RDL}R", f"{SPACE}party/alice#R"),
    "a namespace that is an internal graph": lambda text: text.replace(f"{RDL}>", f"{SPACE}graph/log>"),
    "an event of the next centuries": lambda text: text.replace('"20', '"29'),
    "a triple beside the log": lambda text: (
        f"{text}<{RDL}R1> <{IDS.owner.value}> <{party_iri('eve').value}> <{RDL}> .\n"
    ),
    "an event without a party": lambda text: "\n".join(
        line for line in text.splitlines() if "wasAssociatedWith" not in line
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused_whole(
    registry: Registry, fresh: Registry, tmp_path: Path, forgery: str
) -> None:
    registry.fixate([mint(registry)], ALICE)
    file = forged(registry, tmp_path / "forged.nq", FORGERIES[forgery])
    before = [entry.event for entry in fresh.log(ROOT)]
    assert issubclass(refused(lambda: rdf.import_registry(fresh, [file], ROOT))[0], InvalidData)
    assert [entry.event for entry in fresh.log(ROOT)] == before
    assert fresh.namespaces() == []


def test_an_adoption_by_a_party_suspended_meanwhile_is_refused(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_namespace("formats", "info:pronom/", "puid", ROOT)
    deputy = Party("deputy")
    registry.add_party(deputy, ROOT, "administrator")
    bulk = registry.store.bulk
    monkeypatch.setattr(registry.store, "bulk", lambda: (registry.suspend(deputy, "leave", ROOT), bulk())[1])
    assert (
        refused(lambda: registry.adopt("formats", [Published("fmt/1", "one")], deputy, "a list"))[0]
        is NotPermitted
    )
    assert registry.list(ROOT) == []


def test_order_and_time_hold_after_an_import_of_older_events(
    registry: Registry, fresh: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.add_party(BOB, ROOT)
    late = times.now() + times.DAY
    monkeypatch.setattr(times, "now", lambda: late)
    registry.register("names", "late", ALICE)
    rdf.import_registry(registry, [exported(fresh, ROOT, tmp_path / "other.nq")], ROOT)
    monkeypatch.setattr(times, "now", lambda: late - times.DAY)
    assert registry.register("names", "later", ALICE).created >= times.of(late)


def test_claims_are_in_no_export(registry: Registry) -> None:
    registry.mint("rdl", ALICE, Request(request_key="once"))
    with registry.quads(ROOT) as quads:
        assert [quad for quad in quads if f"{SPACE}request/" in str(quad)] == []
    assert registry.list(EVE) == []
