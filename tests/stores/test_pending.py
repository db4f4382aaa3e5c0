"""Who has the turn reads what others have enlisted, before it is durable or applied, and tells nothing of it before it is durable."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Quad, Store
from random_acts import ACTORS, ANN, BEN, OTHERS, WHOLE, Act, begun, clock, memory, sound

import idstore
from idstore import Party, Record, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, IdstoreError, NotRegistered, StoreUnavailable
from idstore.model.change import Change
from idstore.stores.embedded import EmbeddedStore
from idstore.stores.turns import StoreTurn

ALICE = Party("alice")
URI = "http://example.org/same"
KINDS = ("mint", "register", "register", *OTHERS, "bind", "bind", "fixate")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as made:
        made.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        made.add_namespace("names", "20.500.1", "handle", ALICE)
        yield made


class Oracle:
    """A store in memory that has each change when it is enlisted, and is asked whatever turns ask.

    read   how often that was.
    ahead  how often the engine alone would have answered otherwise.
    """

    def __init__(self, registry: Registry) -> None:
        self.model, self.ahead, self.read = Store(), 0, 0
        with registry.store.reading() as view:
            self.model.extend(view.quads())

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Compare while the block runs."""
        enlist, quads = EmbeddedStore._enlist, StoreTurn.quads

        def enlisted(store: EmbeddedStore, changes: list[Change]) -> None:
            enlist(store, changes)
            for change in changes:
                for quad in change.remove:
                    self.model.remove(quad)
                self.model.extend(change.quads())

        def compared(turn: StoreTurn, *pattern: Any) -> Iterator[Quad]:
            found = list(quads(turn, *pattern))
            asked = (*pattern, None, None, None, None)[:4]
            there = set(self.model.quads_for_pattern(*asked))
            assert set(found) == there
            assert len(found) == len(there)
            self.read += 1
            self.ahead += there != set(turn._store._generation.engine.quads_for_pattern(*asked))
            return iter(found)

        with patch.object(EmbeddedStore, "_enlist", enlisted), patch.object(StoreTurn, "quads", compared):
            yield


def _perform(registry: Registry, act: Act, made: list[Record]) -> None:
    """Try an act; nothing is read for it but in its turn."""
    try:
        if act.kind in WHOLE:
            record = WHOLE[act.kind](registry, act, ACTORS[act.by or 0])
            assert isinstance(record, Record)
            made.append(record)
        elif made:
            one = made[act.number % len(made)]
            OTHERS[act.kind](registry, act, Party(one.owner) if act.by is None else ACTORS[act.by], one)
    except IdstoreError:
        return


_ACT = st.builds(Act, st.sampled_from(KINDS), st.one_of(st.none(), st.none(), st.integers(0, 3)), st.integers(0, 7), st.integers(0, 5))


_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(_QUIET, max_examples=25)
@given(st.lists(st.lists(_ACT, min_size=1, max_size=12), min_size=1, max_size=4))
def test_a_turn_reads_what_is_enlisted(histories: list[list[Act]]) -> None:
    with memory() as folder, clock(), begun(folder / "store") as registry:
        oracle, made = Oracle(registry), list[Record]()
        with oracle.watching():
            for acts in histories:
                with registry.store.reading():  # nothing is applied while somebody reads
                    for act in acts:
                        _perform(registry, act, made)
        with registry.store.reading() as view:
            assert set(view.quads()) == set(oracle.model)
        sound(registry)


@settings(_QUIET, max_examples=15)
@given(st.lists(st.tuples(_ACT, st.integers(0, 9)), min_size=1, max_size=20))
def test_who_opens_the_store_briefly_reads_what_others_did_so(acts: list[tuple[Act, int]]) -> None:
    with memory() as folder, clock():
        with begun(folder / "store") as registry:
            oracle, made = Oracle(registry), list[Record]()
        for act, chance in acts:
            with idstore.open(folder / "store", durability="process", brief=chance > 0) as registry, oracle.watching():
                _perform(registry, act, made)
        with idstore.open(folder / "store") as registry, registry.store.reading() as view:
            assert set(view.quads()) == set(oracle.model)
            sound(registry)


def test_much_of_what_turns_read_is_not_applied(tmp_path: Path) -> None:
    acts = [
        Act(kind, None, number, 4) for number in range(3) for kind in ("register", "name", "bind", "bind", "comment", "fixate", "deprecate")
    ]
    with begun(tmp_path / "store") as registry:
        oracle, made = Oracle(registry), list[Record]()
        with oracle.watching():
            with registry.store.reading():
                for act in acts:
                    _perform(registry, act, made)
            assert (oracle.read > 50, oracle.ahead > 20) == (True, True)
            sound(registry)
    with idstore.open(tmp_path / "store") as registry, oracle.watching():
        before = oracle.ahead
        registry.bind(made[0].iri.value, Statement(URI), ANN)
        assert oracle.ahead == before
    for number in range(4):
        before = oracle.ahead
        with idstore.open(tmp_path / "store", brief=True) as registry, oracle.watching():
            registry.bind(made[0].iri.value, Statement(f"{URI}/{number}"), ANN)
        assert (oracle.ahead > before) == (number > 0)


def test_what_is_applied_is_let_go_of(registry: Registry) -> None:
    store: Any = registry.store
    pending = store._given.pending
    with store.reading():
        record = registry.mint("rdl", ALICE)
        assert len(pending.over(record.iri, None, None, None)) > 5
        assert len(pending._changes) == 1
    registry.bind(record.iri.value, Statement(URI), ALICE)
    registry.counts(ALICE)
    assert pending.over(record.iri, None, None, None) == {}
    assert (pending._changes, pending._by_subject, pending._by_object) == ([], {}, {})


class Disk:
    """A journal's disk that takes its time: who writes waits until `let` is called."""

    def __init__(self, registry: Registry, monkeypatch: pytest.MonkeyPatch, *, full: bool) -> None:
        store: Any = registry.store
        self.writing, self._go, self._full, self._append = threading.Event(), threading.Event(), full, store._journal.append
        self._until, self._asked = store._commits.until, threading.Semaphore(0)
        monkeypatch.setattr(store._journal, "append", self._slowly)
        monkeypatch.setattr(store._commits, "until", self._counted)

    def _slowly(self, written: Any) -> None:
        self.writing.set()
        assert self._go.wait(60)
        if self._full:
            self._full = False
            raise StoreUnavailable("no space")
        self._append(written)

    def _counted(self, sequence: int, epoch: int) -> None:
        self._asked.release()
        self._until(sequence, epoch)

    def asked(self) -> None:
        """Return when one more waits for the disk."""
        assert self._asked.acquire(timeout=60)

    def let(self) -> None:
        self._go.set()


def _told(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except IdstoreError as error:
        return type(error)


@pytest.mark.parametrize("full", [False, True], ids=["written", "refused"])
@pytest.mark.parametrize("kind", ["taken", "bound already", "bound to another", "hidden", "never there"])
def test_nothing_is_told_of_what_is_not_durable(registry: Registry, monkeypatch: pytest.MonkeyPatch, kind: str, full: bool) -> None:
    label, fixed = "one", registry.mint("rdl", BEN, Request("theirs")).iri.value
    registry.fixate([fixed], BEN)
    registry.counts(ALICE)  # applied
    acts: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "taken": (lambda: registry.register("names", label, ANN).label, lambda: registry.register("names", label, BEN).label),
        "bound already": (lambda: bool(registry.bind(fixed, Statement(URI), ANN)), lambda: bool(registry.bind(fixed, Statement(URI), ANN))),
        "bound to another": (
            lambda: bool(registry.bind(fixed, Statement(URI), ANN)),
            lambda: bool(registry.bind(fixed, Statement(URI + "2"), ANN)),
        ),
        "hidden": (lambda: registry.register("names", label, ANN).label, lambda: registry.name(f"names:{label}", "mine", BEN)),
        "never there": (lambda: registry.register("names", label, ANN).label, lambda: registry.name("names:two", "mine", BEN)),
    }
    registry._clocked.add("names")  # each takes a turn of its own
    first, second = acts[kind]
    outcomes: dict[str, Any] = {}

    def run(name: str, act: Callable[[], Any]) -> None:
        outcomes[name] = _told(act)

    disk = Disk(registry, monkeypatch, full=full)
    threads = [threading.Thread(target=run, args=each, daemon=True) for each in (("first", first), ("second", second))]
    for thread in threads:
        thread.start()
        disk.asked()
        assert disk.writing.wait(60)
    assert outcomes == {}  # both have had their turns, and neither was told anything
    disk.let()
    for thread in threads:
        thread.join(60)
    if full:
        assert outcomes == {"first": StoreUnavailable, "second": StoreUnavailable}
        monkeypatch.undo()
        assert _told(second) == {"taken": label, "hidden": NotRegistered, "never there": NotRegistered}.get(kind, True)
    else:
        said = {"taken": (label, AlreadyRegistered), "bound already": (True, False), "bound to another": (True, True)}
        assert (outcomes["first"], outcomes["second"]) == said.get(kind, (label, NotRegistered))
    assert list(registry.verify(ALICE)) == []


def test_many_act_on_the_same_identifiers(registry: Registry) -> None:
    made = [registry.mint("rdl", ALICE, Request(f"number {number}")).iri.value for number in range(4)]
    refused: list[type[Exception]] = []

    def act(number: int) -> None:
        for turn in range(40):
            one, statement = made[(turn + number) % 4], Statement(f"http://example.org/{turn % 3}")
            try:
                if turn % 2:
                    registry.bind(one, statement, ALICE)
                elif turn % 3:
                    registry.unbind(one, statement, ALICE)
                else:
                    registry.name(one, f"by {number}", ALICE)
            except IdstoreError as error:
                refused.append(type(error))

    threads = [threading.Thread(target=act, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {NotRegistered}  # what somebody else has unbound
    assert list(registry.verify(ALICE)) == []
