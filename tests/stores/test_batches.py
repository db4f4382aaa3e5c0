"""Batches on a disk that is slow or fails.

No answer depends on a change that is not durable, and a refused change never happened. The time of an answer
reveals as much as its content, so every act gets its answer when its batch is on disk.
"""

import errno
import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from store_files import ALICE, PATIENCE, Thread, create, labels, sound
from store_ledgers import SlowLedger

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, IdstoreError, NotRegistered, OutcomeUnknown, StoreUnavailable
from idstore.stores.contract import Transaction, View
from idstore.stores.ledger.contract import LedgerTransaction
from idstore.stores.projection.oxigraph import Engine
from idstore.stores.store import DirectoryStore

T = TypeVar("T")

ANN, BEN = Party("ann"), Party("ben")
URI = "http://example.org/same"
ARTICLE = {
    "issn": "0392-1921",
    "volume": "30",
    "issue": "119",
    "page": "1-23",
    "title": "The Myth of the Unicorn",
}


class _Store(DirectoryStore):
    """A store that counts the requested acts."""

    def __init__(self, place: Path, *, ledger: Callable[[Path], SlowLedger]) -> None:
        self.asked = threading.Semaphore(0)
        super().__init__(place, ledger=ledger)

    def write(self, act: Callable[[Any], T]) -> T:
        self.asked.release()
        return super().write(act)


class Disk:
    """A registry whose ledger is on a disk that can be slow and fail."""

    def __init__(self, place: Path) -> None:
        ledgers: list[SlowLedger] = []

        def opened(folder: Path) -> SlowLedger:
            ledgers.append(SlowLedger(folder))
            return ledgers[0]

        self.store = _Store(place, ledger=opened)
        self.registry = Registry(self.store)
        self.ledger = ledgers[0]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold up a commit while the block runs. The acts requested meanwhile share about one batch."""
        for counted in (self.ledger.begun, self.store.asked):
            while counted.acquire(blocking=False):
                continue
        self.ledger.hold()
        try:
            yield
        finally:
            self.ledger.let_go()

    def asked(self, many: int) -> None:
        """Return after ``many`` more acts were requested."""
        for _ in range(many):
            assert self.store.asked.acquire(timeout=PATIENCE)

    def writing(self) -> None:
        """Return after a commit began."""
        assert self.ledger.begun.acquire(timeout=PATIENCE)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with create(tmp_path / "store") as registry:
        registry.add_namespace("articles", "http://journals.example.org/", "scholars-portal", ALICE)
        for party in (ANN, BEN):
            registry.add_party(party, ALICE)
    return tmp_path / "store"


@pytest.fixture
def disk(place: Path) -> Iterator[Disk]:
    disk = Disk(place)
    yield disk
    disk.registry.close()
    sound(place)


def outcome_of(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except IdstoreError as error:
        return type(error)


def refuse(_: LedgerTransaction) -> None:
    raise StoreUnavailable("no space; nothing was changed")


def doubt(_: LedgerTransaction) -> None:
    raise OutcomeUnknown("the disk did not say")


def doubt_after(transaction: LedgerTransaction) -> None:
    transaction.commit()
    raise OutcomeUnknown("the disk did not say")


KINDS = ("taken", "bound already", "bound to another", "hidden", "never there")


def pair_of_acts(registry: Registry, fixed: str, kind: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return two acts of different parties. The answer to the second depends on the first, or must not."""

    def take(party: Party) -> Callable[[], Any]:
        return lambda: registry.register("names", "one", party).label

    def bind(party: Party, uri: str) -> Callable[[], Any]:
        return lambda: bool(registry.bind(fixed, Statement(uri), party))

    return {
        "taken": (take(ANN), take(BEN)),
        "bound already": (bind(ANN, URI), bind(ANN, URI)),
        "bound to another": (bind(ANN, URI), bind(ANN, f"{URI}2")),
        "hidden": (take(ANN), lambda: registry.name("names:one", "mine", BEN)),
        "never there": (take(ANN), lambda: registry.name("names:two", "mine", BEN)),
    }[kind]


@pytest.mark.parametrize("full", [False, True], ids=["written", "refused"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_depends_on_a_change_that_is_not_durable(disk: Disk, kind: str, *, full: bool) -> None:
    registry = disk.registry
    fixed = registry.mint("numbers", BEN).iri
    registry.fixate([fixed], BEN)
    first, second = pair_of_acts(registry, fixed, kind)
    with disk.held():
        before = Thread(lambda: registry.register("names", "before", ALICE))
        disk.writing()
        threads = [Thread(lambda act=act: outcome_of(act)) for act in (first, second)]  # type: ignore[misc]
        disk.asked(3)
        disk.ledger.let_one()
        before.result()
        disk.writing()
        assert threads[0].is_running
        if full:
            for _ in threads:
                disk.ledger.fail_next(refuse)
    outcomes = [thread.result() for thread in threads]
    if full:
        refusals: set[Any] = {StoreUnavailable, NotRegistered}
        assert set(outcomes) <= refusals and StoreUnavailable in outcomes
        again = {"taken": "one", "hidden": NotRegistered, "never there": NotRegistered}
        disk.ledger.let_go()
        assert outcome_of(second) in (again.get(kind, True), StoreUnavailable)
    else:
        expected: dict[str, set[tuple[Any, Any]]] = {
            "taken": {("one", AlreadyRegistered), (AlreadyRegistered, "one")},
            "bound already": {(True, False), (False, True)},
            "bound to another": {(True, True)},
        }
        assert tuple(outcomes) in expected.get(kind, {("one", NotRegistered)})


def test_every_act_of_a_batch_is_answered_when_it_is_on_disk(disk: Disk) -> None:
    """This includes refused acts and acts without a change.

    An earlier answer would reveal that others changed something at that moment.
    """
    registry = disk.registry
    acts: list[Callable[[], Any]] = [
        lambda: registry.register("names", "one", ANN).label,
        lambda: registry.register("names", "before", BEN),
        lambda: registry.name("names:before", "mine", BEN),
        lambda: registry.name("names:never", "mine", BEN),
        lambda: registry.store.write(lambda transaction: transaction.origin),
    ]
    with disk.held():
        before = Thread(lambda: registry.register("names", "before", ANN))
        disk.writing()
        threads = [Thread(lambda act=act: outcome_of(act)) for act in acts]  # type: ignore[misc]
        disk.asked(1 + len(acts))
        disk.ledger.let_one()
        before.result()
        disk.writing()
        running = [thread.is_running for thread in threads]
    outcomes = [thread.result() for thread in threads]
    assert outcomes == ["one", AlreadyRegistered, NotRegistered, NotRegistered, registry.store.origin]
    assert running[0]


def test_a_question_sees_nothing_that_is_not_durable(disk: Disk) -> None:
    registry = disk.registry
    with disk.held():
        writer = Thread(lambda: registry.mint("articles", ALICE, Request(metadata=ARTICLE)))
        disk.writing()
        assert registry.list(ALICE, limit=5) == []
        assert registry.counts(ALICE).total == 0
        assert not registry.derive("articles", ARTICLE).collides
        assert registry.store.read(lambda view: view.catalogue.counts()[0]) == 0
    writer.result()
    assert registry.derive("articles", ARTICLE).collides
    assert len(labels(registry)) == 1


def test_a_refused_batch_never_happened(disk: Disk, place: Path) -> None:
    """Its quads, rows and traces in memory are gone; the next acts get the same labels and numbers."""
    registry = disk.registry
    registry.mint("numbers", ALICE)
    before = registry.counts(ALICE).total
    acts: list[Callable[[], Any]] = [
        lambda: registry.mint("numbers", ALICE),
        lambda: registry.add_namespace("more", "20.500.2", "handle", ALICE),
        lambda: registry.add_party(Party("carl"), ALICE),
        lambda: registry.freeze("names", ALICE),
        lambda: registry.register("names", "one", ALICE),
        lambda: registry.store.write(lambda transaction: transaction.note("test", "refused")),
    ]
    for act in acts:
        disk.ledger.fail_next(refuse)
        assert outcome_of(act) is StoreUnavailable
    assert registry.counts(ALICE).total == before
    assert {namespace.name for namespace in registry.namespaces()} == {"names", "numbers", "articles"}
    assert "carl" not in {party.name for party in registry.parties(ALICE)}
    assert not registry.namespace("names").frozen
    assert registry.store.read(lambda view: view.catalogue.note("test")) is None
    assert registry.mint("numbers", ALICE).label == "fmt/2"
    assert registry.register("names", "one", ALICE).label == "one"
    assert registry.add_namespace("more", "20.500.2", "handle", ALICE).name == "more"
    registry.close()
    assert sound(place) == {"fmt/1", "fmt/2", "one"}


def end_transaction() -> None:
    """End the catalogue's transaction, as SQLite does if it has no memory or the disk fails."""
    for one in gc.get_objects():
        if isinstance(one, sqlite3.Connection):
            with suppress(sqlite3.ProgrammingError):  # it is closed
                if one.in_transaction and "catalogue" in one.execute("PRAGMA database_list").fetchone()[2]:
                    one.execute("ROLLBACK")


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_batch_is_refused_whole_if_an_act_in_it_loses_the_catalogue_s_transaction(
    disk: Disk, *, goes_on: bool
) -> None:
    """Else what the acts before it enlisted would be missing in lists, and later acts would be ahead."""
    registry = disk.registry

    def lose(transaction: Transaction) -> None:
        end_transaction()
        if not goes_on:
            raise StoreUnavailable("no memory")
        transaction.note("test", "after the loss")

    with disk.held():
        before = Thread(lambda: registry.register("names", "before", ALICE).label)
        disk.writing()
        threads = [Thread(lambda: outcome_of(lambda: registry.register("names", "one", ALICE).label))]
        disk.asked(2)
        threads.append(Thread(lambda: outcome_of(lambda: registry.store.write(lose))))
        disk.asked(1)
        threads.append(Thread(lambda: outcome_of(lambda: registry.register("names", "two", ALICE).label)))
        disk.asked(1)
    assert before.result() == "before"
    assert [thread.result() for thread in threads] == [StoreUnavailable] * 3
    assert registry.store.read(lambda view: view.catalogue.note("test")) is None
    assert registry.register("names", "one", ALICE).label == "one"
    assert labels(registry) == {"before", "one"}


def test_a_change_is_done_if_new_files_cannot_get_their_permissions(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is durable by then: to tell of a refusal would make the caller repeat it."""

    def refused(_: Engine) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "conform", refused)
        assert disk.registry.register("names", "one", ALICE).label == "one"
    assert "Read-only file system" in caplog.text
    assert labels(disk.registry) == {"one"}


@pytest.mark.parametrize("committed", [False, True])
def test_an_unknown_outcome_is_raised_and_ends_all_writing(
    disk: Disk, place: Path, *, committed: bool
) -> None:
    registry = disk.registry
    registry.register("names", "before", ALICE)
    disk.ledger.fail_next(doubt_after if committed else doubt)
    with pytest.raises(OutcomeUnknown):
        registry.register("names", "one", ALICE)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"open the store again|did not say"):
            registry.register("names", "two", ALICE)
    with pytest.raises(StoreUnavailable), registry.store.bulk() as bulk:
        Registry(bulk).register("names", "two", ALICE)
    registry.close()
    assert sound(place) == {"before"} | ({"one"} if committed else set())
    with idstore.open(place) as again:
        assert outcome_of(lambda: again.register("names", "one", ALICE).label) == (
            AlreadyRegistered if committed else "one"
        )


def test_every_thread_of_a_batch_gets_the_unknown_outcome(disk: Disk) -> None:
    registry = disk.registry
    with disk.held():
        before = Thread(lambda: registry.register("names", "before", ALICE))
        disk.writing()
        threads = [
            Thread(partial(outcome_of, partial(registry.register, "names", f"n{number}", ALICE)))
            for number in range(5)
        ]
        disk.asked(6)
        disk.ledger.let_one()
        before.result()
        disk.writing()
        disk.ledger.fail_next(doubt)
    outcomes = {thread.result() for thread in threads}
    assert OutcomeUnknown in outcomes
    assert outcomes <= {OutcomeUnknown, StoreUnavailable}


def test_a_large_change_that_is_refused_as_it_takes_effect_leaves_no_trace(disk: Disk, place: Path) -> None:
    registry = disk.registry
    disk.ledger.fail_next(refuse)
    with pytest.raises(StoreUnavailable, match="no space"), registry.store.bulk() as bulk:
        Registry(bulk).register("names", "one", ALICE)
    assert labels(registry) == set()
    assert registry.register("names", "one", ALICE).label == "one"
    with registry.store.bulk() as bulk:
        Registry(bulk).register("names", "two", ALICE)
    registry.close()
    assert sound(place) == {"one", "two"}
    assert len(list(place.glob("generation-*"))) == 1


@pytest.mark.parametrize("committed", [False, True])
def test_a_large_change_of_unknown_outcome_is_whole_or_absent_at_the_next_opening(
    disk: Disk, place: Path, *, committed: bool
) -> None:
    registry = disk.registry
    registry.register("names", "before", ALICE)
    disk.ledger.fail_next(doubt_after if committed else doubt)
    with pytest.raises(OutcomeUnknown), registry.store.bulk() as bulk:
        Registry(bulk).register("names", "one", ALICE)
    with pytest.raises(StoreUnavailable):
        registry.register("names", "two", ALICE)
    registry.close()
    assert sound(place) == {"before"} | ({"one"} if committed else set())
    assert len(list(place.glob("generation-*"))) == 1


# equal numbers of steps


class Counting:
    """A view that notes each question and the size of its answer."""

    def __init__(self, view: Any, asked: list[str]) -> None:
        self._view, self._asked = view, asked

    def __getattr__(self, name: str) -> Any:
        self._asked.append(name)
        attribute = getattr(self._view, name)
        return Counting(attribute, self._asked) if name == "catalogue" else attribute


class CountingStore:
    """A store whose views note each question."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, question: Callable[[View], T]) -> T:
        self.asked.append("read")
        answer: T = self._store.read(lambda view: question(Counting(view, self.asked)))
        return answer

    def write(self, act: Callable[[Transaction], T]) -> T:
        self.asked.append("write")
        answer: T = self._store.write(lambda transaction: act(Counting(transaction, self.asked)))
        return answer


ACTS: dict[str, Callable[[Registry, str], object]] = {
    "show": lambda registry, name: registry.show(name, BEN),
    "name": lambda registry, name: registry.name(name, "mine", BEN),
    "bind": lambda registry, name: registry.bind(name, Statement(URI), BEN),
    "comment": lambda registry, name: registry.comment(name, "a remark", BEN),
    "fixate": lambda registry, name: registry.fixate([name], BEN),
    "release": lambda registry, name: registry.release(name, BEN),
    "grant": lambda registry, name: registry.grant(name, BEN, BEN),
    "transfer": lambda registry, name: registry.transfer(name, BEN, BEN),
    "resolve": lambda registry, name: registry.resolve(name, BEN),
}


@pytest.mark.parametrize("act", ACTS)
def test_hidden_and_absent_identifiers_take_the_same_steps(place: Path, act: str) -> None:
    with idstore.open(place) as registry:
        registry.register("names", "hidden", ANN)
        released = registry.register("names", "released", ANN).iri
        registry.release(released, ANN)
        store = CountingStore(registry.store)
        watched: Any = Registry(store)
        outcome_of(lambda: ACTS[act](watched, "names:warmup"))
        steps = []
        for label in ("hidden", "released", "absent"):
            store.asked.clear()
            assert outcome_of(partial(ACTS[act], watched, f"names:{label}")) is NotRegistered
            steps.append(list(store.asked))
        assert steps[0] == steps[1] == steps[2] != []
