"""Forks of a process that has, or had, a store open are refused with advice, and disturb nothing.

A fork inherits locks, databases and the engine, but not the threads that the writer and the engine need.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from store_files import (
    ALICE,
    PATIENCE,
    Thread,
    allocate_repeatedly,
    create,
    forked,
    labels,
    living_fork,
    register,
    run,
    sound,
    until,
)

import idstore
from idstore import Registry
from idstore.errors import StoreUnavailable
from idstore.model.record import Stage
from idstore.stores.contract import Transaction

ADVICE = "`spawn` in multiprocessing"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed store that this process has written."""
    with create(tmp_path / "store") as registry:
        register(registry, "ab")
    return tmp_path / "store"


def refusal(act: Callable[[], object]) -> str:
    """Return the message with which an act is refused."""
    try:
        act()
    except StoreUnavailable as error:
        return str(error)
    return "it was not refused"


def refused_and_closed(act: Callable[[], object], registry: Registry) -> str:
    """Return the message with which an act is refused, and close the registry."""
    message = refusal(act)
    registry.close()
    return message


# using the parent's store

USES: dict[str, Callable[[Registry, Path], object]] = {
    "register": lambda registry, _: registry.register("names", "c", ALICE),
    "list": lambda registry, _: registry.list(ALICE),
    "show": lambda registry, _: registry.show("names:a", ALICE),
    "counts": lambda registry, _: registry.counts(ALICE),
    "read": lambda registry, _: registry.store.read(lambda view: view.registry_version),
    "write": lambda registry, _: registry.store.write(lambda transaction: transaction.moment),
    "snapshot": lambda registry, _: registry.store.snapshot(),
    "bulk": lambda registry, _: registry.store.bulk().__enter__(),
    "backup": lambda registry, place: registry.backup(place / "backup", ALICE),
}


@pytest.mark.parametrize("use", USES)
def test_a_fork_does_not_use_its_parent_s_store(store: Path, tmp_path: Path, use: str) -> None:
    with idstore.open(store) as registry:
        register(registry, "d")
        assert ADVICE in forked(lambda: refused_and_closed(lambda: USES[use](registry, tmp_path), registry))
        assert register(registry, "c") == {"c"}
        assert labels(registry) == {"a", "b", "c", "d"}
    assert not (tmp_path / "backup").exists()
    assert sound(store) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("read_only", [False, True])
def test_a_fork_does_not_use_its_parent_s_reader(store: Path, *, read_only: bool) -> None:
    with idstore.open(store, mode="shared" if read_only else "write") as registry:
        assert ADVICE in forked(lambda: refusal(lambda: registry.list(ALICE)))
        assert labels(registry) == {"a", "b"}
    assert sound(store) == {"a", "b"}


def test_a_fork_does_not_use_its_parent_s_snapshot_or_bulk(store: Path) -> None:
    with idstore.open(store) as registry:
        with registry.store.snapshot() as snapshot:
            assert ADVICE in forked(lambda: refusal(lambda: list(snapshot.graphs())))
            assert len(list(snapshot.graphs())) > 2
        with registry.store.bulk() as bulk:
            inner = Registry(bulk)
            assert ADVICE in forked(lambda: refusal(lambda: inner.register("names", "c", ALICE)))
            inner.register("names", "d", ALICE)
    assert sound(store) == {"a", "b", "d"}


# opening stores


@pytest.mark.parametrize("was", ["open", "closed"])
@pytest.mark.parametrize("which", ["its parent's", "another", "a new one"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_fork_does_not_open_a_store(
    store: Path, tmp_path: Path, was: str, which: str, *, read_only: bool
) -> None:
    """It gets the error at once, and holds no lock afterwards."""
    create(tmp_path / "another").close()
    place = {"its parent's": store, "another": tmp_path / "another"}.get(which, tmp_path / "new")
    registry = idstore.open(store)
    if was == "closed":
        registry.close()

    def act() -> list[str]:
        options = {"mode": "shared"} if read_only else {"administrator": ALICE}
        message = refusal(lambda: idstore.open(place, wait=PATIENCE, **options))
        os.write(1, b"")
        return [message, str(place.exists())]

    message, _ = forked(act)
    if which == "a new one" and read_only:
        assert "no store" in message or ADVICE in message
    else:
        assert ADVICE in message
    registry.close()
    assert sound(store) == {"a", "b"}
    with create(tmp_path / "last") as last:
        assert register(last, "x") == {"x"}
    if which == "a new one":
        assert not (place / "ledger.sqlite").exists()
        create(place).close()
        assert sound(place) == set()


def test_a_fork_of_a_process_that_only_read_does_not_open_a_store(store: Path) -> None:
    """The engine starts its threads for reading as well."""
    assert ADVICE in run(FORKING_READER, store)
    assert sound(store) == {"a", "b"}


FORKING_READER = """
import os, sys
import idstore
with idstore.open(sys.argv[1], mode="shared") as reader:
    reader.counts(idstore.Party("alice"))
child = os.fork()
if child == 0:
    try:
        idstore.open(sys.argv[1], wait=60)
        print("it opened")
    except idstore.IdstoreError as error:
        print(error)
    sys.exit(0)
os.waitpid(child, 0)
idstore.open(sys.argv[1], wait=0).close()
"""


def test_a_fork_of_a_process_that_opened_no_store_opens_one(tmp_path: Path) -> None:
    """Servers fork like this: they import everything first."""
    assert run(FORKING_EARLY, tmp_path / "store").splitlines() == ["1", "2", "3"]
    assert sound(tmp_path / "store") == {"n0", "n1", "n2"}


FORKING_EARLY = """
import os, sys
import idstore
import idstore.opening
alice = idstore.Party("alice")
for number in range(3):
    child = os.fork()
    if child == 0:
        with idstore.open(sys.argv[1], administrator=alice) as registry:
            if not registry.namespaces():
                registry.add_namespace("names", "20.500.1", "handle", alice)
            registry.register("names", f"n{number}", alice)
            print(registry.counts(alice).total, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_of_a_fork_is_refused_as_well(store: Path) -> None:
    messages = forked(
        lambda: [refusal(lambda: idstore.open(store)), forked(lambda: refusal(lambda: idstore.open(store)))]
    )
    assert [ADVICE in message for message in messages] == [True, True]


def test_processes_that_are_spawned_share_a_store(store: Path) -> None:
    """The advice holds: processes started by `spawn` work, even if their parent had the store open."""
    spawning = multiprocessing.get_context("spawn")
    queue = spawning.SimpleQueue()
    workers = [
        spawning.Process(target=allocate_repeatedly, args=(store, number, queue)) for number in range(3)
    ]
    for worker in workers:
        worker.start()
    results = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    counted = Counter(iri for some in results for iri in some)
    assert len(counted) == 3 * 3 * 30
    assert set(counted.values()) == {1}
    assert len(sound(store)) == 2 + len(counted)
    with idstore.open(store) as registry:
        assert sum(record.stage is Stage.FIXATED for record in registry.list(ALICE, limit=None)) == 3 * 3


# the parent after a fork


def test_a_long_lived_fork_does_not_hold_a_closed_store(store: Path) -> None:
    registry = idstore.open(store)
    with living_fork():
        with pytest.raises(StoreUnavailable, match="is in use by process"):
            idstore.open(store, wait=0)
        registry.close()
        with idstore.open(store, wait=0) as again:
            register(again, "c")
    assert sound(store) == {"a", "b", "c"}


def test_a_fork_does_not_inherit_a_lock_that_a_thread_waited_for(store: Path) -> None:
    holder = idstore.open(store)
    waiting = Thread(lambda: idstore.open(store, wait=PATIENCE).close())
    until(
        lambda: any(thread.name == "idstore-lock" for thread in threading.enumerate()),
        "a thread that waits for the lock",
    )
    with living_fork():
        holder.close()
        waiting.result()
        idstore.open(store, wait=0).close()


def test_a_fork_that_drops_a_store_leaves_the_files_of_others_alone(store: Path) -> None:
    """Closing the store in the fork would remove SQLite's log by name, although another process uses it."""
    registries = [idstore.open(store)]
    register(registries[0], "c")

    def let_go() -> None:
        registries.clear()
        gc.collect()

    with living_fork(let_go):
        registries[0].close()
        killed = (
            "import idstore, os, sys; registry = idstore.open(sys.argv[1]); alice = idstore.Party('alice')"
        )
        killed += "; print([registry.register('names', label, alice).label for label in 'def'], flush=True)"
        killed += "; os.kill(os.getpid(), 9)"
        assert run(killed, store, status=-signal.SIGKILL) == "['d', 'e', 'f']\n"
    with idstore.open(store) as again:
        register(again, "g")
    assert sound(store) == set("abcdefg")


def test_a_fork_closes_its_parent_s_store_without_effect(store: Path) -> None:
    def close_twice() -> str:
        registry.close()
        registry.close()
        return "closed"

    with idstore.open(store) as registry:
        register(registry, "c")
        assert forked(close_twice) == "closed"
        with pytest.raises(StoreUnavailable, match="is in use by process"):
            idstore.open(store, wait=0)
        register(registry, "d")
    assert sound(store) == set("abcd")


ENDING = """
import os, sys
import idstore
place, read_only, close = sys.argv[1], *map(int, sys.argv[2:])
registry = idstore.open(place, mode="shared" if read_only else "write")
assert registry.counts(idstore.Party("alice")).total == 2
if close:
    registry.close()
child = os.fork()
if child == 0:
    print("the child ends")
    sys.exit(3)
_, status = os.waitpid(child, 0)
print("with", os.waitstatus_to_exitcode(status), flush=True)
if not close and not read_only:
    registry.register("names", "c", idstore.Party("alice"))
"""


@pytest.mark.parametrize("read_only", [0, 1])
@pytest.mark.parametrize("close", [0, 1])
def test_a_fork_ends_like_any_process(store: Path, read_only: int, close: int) -> None:
    """Otherwise the engine would look for its threads at the end of the process, and hang or fail."""
    assert run(ENDING, store, read_only, close).split("\n")[:2] == ["the child ends", "with 3"]
    assert sound(store) >= {"a", "b"}


DURING_BULK = """
import os, sys
import idstore
from idstore.registry.mappings import Proposal
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
iris = [record.iri for record in registry.list(alice, limit=5)]
ours, theirs = os.pipe()
children = []

def proposals():
    for number, iri in enumerate(iris):
        yield Proposal(number, "bind", iri, idstore.Statement(f"http://example.org/{number}", iri))
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)  # until the parent is done
        sys.exit(3)
    children.append(child)

assert {outcome.verdict for outcome in registry.state(proposals(), alice)} == {"new"}
os.close(theirs)
_, status = os.waitpid(children[0], 0)
assert os.waitstatus_to_exitcode(status) == 3, status
assert registry.register("names", "c", alice).label == "c"
registry.close()
"""


def test_a_fork_that_leaves_a_large_change_undoes_nothing_of_it(store: Path) -> None:
    run(DURING_BULK, store)
    assert sound(store) == {"a", "b", "c"}
    with idstore.open(store) as registry:
        assert sum(len(record.bindings) for record in registry.list(ALICE, limit=None)) == 2


def test_a_fork_during_an_act_disturbs_neither_this_act_nor_the_next(store: Path) -> None:
    """The child has the memory of a writer in the middle of a batch, but not its thread."""
    begun, go = threading.Event(), threading.Event()

    def slow(transaction: Transaction) -> int:
        begun.set()
        assert go.wait(PATIENCE)
        transaction.note("test", "slow")
        return transaction.moment

    with idstore.open(store) as registry:
        acting = Thread(lambda: registry.store.write(slow))
        assert begun.wait(PATIENCE)
        message = forked(lambda: refused_and_closed(lambda: registry.register("names", "c", ALICE), registry))
        assert ADVICE in message
        go.set()
        assert acting.result() > 0
        register(registry, "c")
    assert sound(store) == {"a", "b", "c"}


def test_a_fork_while_threads_write_disturbs_nothing(store: Path) -> None:
    stop = threading.Event()

    def work(number: int) -> set[str]:
        registered: set[str] = set()
        while not stop.is_set():
            registered |= register(registry, [f"t{number}-{len(registered)}"])
        return registered

    with idstore.open(store) as registry:
        threads = [Thread(lambda number=number: work(number)) for number in range(3)]  # type: ignore[misc]
        messages = [
            forked(lambda: refused_and_closed(lambda: registry.list(ALICE), registry)) for _ in range(20)
        ]
        stop.set()
        registered = set().union(*(thread.result() for thread in threads))
    assert all(ADVICE in message for message in messages)
    assert sound(store) == registered | {"a", "b"}


WITHOUT_INPUT = """
import os, sys
import idstore
os.close(0)
with idstore.open(sys.argv[1]) as registry:
    registry.register("names", "c", idstore.Party("alice"))
    print(os.path.exists("/proc/self/fd/0") and os.readlink("/proc/self/fd/0"))
"""


def test_a_lock_has_no_number_of_a_standard_stream(store: Path) -> None:
    """A program may replace its standard streams, and would close the lock by that."""
    assert not run(WITHOUT_INPUT, store).strip().endswith("/lock")
    assert sound(store) == {"a", "b", "c"}


def test_a_store_with_a_relative_name_stays_where_it_is(store: Path, tmp_path: Path) -> None:
    code = """
import os, sys, idstore
alice = idstore.Party("alice")
os.chdir(sys.argv[1])
with idstore.open("store") as registry:
    os.chdir("/")
    registry.register("names", "c", alice)
    registry.store.snapshot().close()
    print(registry.counts(alice).total)
"""
    assert run(code, tmp_path) == "3\n"
    assert sound(store) == {"a", "b", "c"}
    assert [place.name for place in tmp_path.iterdir()] == ["store"]


def test_reopening_leaves_no_old_logs_of_the_engine(store: Path) -> None:
    for _ in range(4):
        idstore.open(store).close()
    assert len(list(store.glob("generation-1/engine/LOG.old.*"))) <= 1
