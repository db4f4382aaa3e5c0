"""Forks of a process that had a store open: the engine's threads stayed there, and yet they open stores, and lose and repeat nothing."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from random_acts import exported

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import StoreBusy, StoreDamaged, StoreUnavailable
from idstore.exchange import rdf
from idstore.model.record import Stage
from idstore.registry.opening import restore
from idstore.stores import waiting

ALICE = Party("alice")
THREADS = "fork of one that had a store open"
"""Of the message that refuses what needs the engine's threads."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store that this process has written, and closed."""
    with founded(tmp_path / "store") as registry:
        for _ in range(150):  # so many that the engine's threads were needed
            registry.mint("puids", ALICE)
    return tmp_path / "store"


def founded(place: Path) -> Registry:
    registry = idstore.open(place, administrator=ALICE, durability="process")
    registry.add_namespace("puids", "http://n.example.org/", "puid", ALICE)
    return registry


def forked(act: Callable[[], Any]) -> Any:
    """What an act returns in a fork of this process; what it raises is told."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = json.dumps(act())
        except BaseException as error:  # noqa: BLE001 the parent is told
            said = json.dumps({"raised": f"{type(error).__name__}: {error}"})
        with os.fdopen(theirs, "w") as pipe:
            pipe.write(said)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    told = json.loads(said)
    assert not (isinstance(told, dict) and "raised" in told), told["raised"]
    return told


def labels(registry: Registry) -> list[str]:
    return [record.label for record in registry.list(ALICE, limit=None)]


def sound(place: Path) -> list[str]:
    """The labels of a store that has nothing wrong."""
    with idstore.open(place) as registry:
        assert list(registry.verify(ALICE)) == []
        return labels(registry)


def working(place: Path, number: int, told: "multiprocessing.SimpleQueue[list[str]]") -> None:
    """What one of several processes does: it allocates, binds, publishes and reads, and tells what it was given."""
    given: list[str] = []
    for turn in range(4):
        with idstore.open(place, wait=120, durability="process") as registry:
            given += [registry.mint("puids", ALICE).iri.value for _ in range(30)]
            registry.bind(given[-1], Statement(f"http://example.org/{number}/{turn}", given[-1]), ALICE)
            registry.fixate(given[-1:], ALICE)
            assert {record.iri.value for record in registry.list(ALICE, limit=None)} >= set(given)
    told.put(given)


def test_processes_that_are_forked_share_a_store(store: Path) -> None:
    forking = multiprocessing.get_context("fork")
    told = forking.SimpleQueue()
    workers = [forking.Process(target=working, args=(store, number, told)) for number in range(6)]
    for worker in workers:
        worker.start()
    given = [told.get() for _ in workers]
    for worker in workers:
        worker.join()
    counted = Counter(iri for some in given for iri in some)
    assert len(counted) == 6 * 4 * 30
    assert set(counted.values()) == {1}
    assert len(sound(store)) == 150 + len(counted)
    with idstore.open(store) as registry:
        assert sum(record.stage is Stage.FIXATED for record in registry.list(ALICE, limit=None)) == 6 * 4


def minting(place: Path, pipe: int, chance: random.Random) -> None:
    """Allocate and read, for ever; each label is told once it is acknowledged."""
    with idstore.open(place, wait=120) as registry:
        while True:
            os.write(pipe, f"{registry.mint('puids', ALICE).label}\n".encode())
            if chance.random() < 0.1:
                registry.list(ALICE)


def test_forks_that_are_killed_lose_and_repeat_nothing(store: Path) -> None:
    """Also where another process writes for one at that moment: it has the lock as long as it does."""
    chance = random.Random(7)
    told: list[str] = []
    for _ in range(12):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                minting(store, theirs, chance)
            os._exit(1)
        os.close(theirs)
        with os.fdopen(ours) as pipe:
            told += [pipe.readline().strip() for _ in range(chance.randrange(1, 30))]
            time.sleep(chance.uniform(0, 0.2))  # nothing waits for this: the moment of the kill is arbitrary
            os.kill(child, signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            told += pipe.read().split()
    assert set(Counter(told).values()) == {1}
    with idstore.open(store, wait=60) as registry:
        assert set(told) <= set(labels(registry))
    assert len(sound(store)) == len(set(sound(store)))


def test_a_fork_does_whatever_does_not_need_threads(store: Path, tmp_path: Path) -> None:
    def act() -> object:
        with idstore.open(store) as registry:
            registry.add_party(Party("bob"), ALICE)
            registry.add_namespace("names", "20.500.1", "handle", ALICE)
            hidden = registry.register("names", "one", ALICE, Request(request_key="k"))
            assert registry.register("names", "one", ALICE, Request(request_key="k")) == hidden
            registry.grant(hidden.iri.value, Party("bob"), ALICE)
            assert registry.show("names:one", Party("bob")).iri == hidden.iri
            registry.bind("names:one", Statement("http://example.org/1", hidden.iri.value), ALICE)
            bound = len(list(registry.matching(ALICE, hidden.iri)))
            registry.backup(tmp_path / "backup", ALICE)
            assert list(registry.verify(ALICE)) == []
            with registry.store.snapshot() as engine:
                assert engine.is_dir()
        with idstore.open(store, read_only=True) as reader:
            return [len(labels(reader)), bound]

    many, bound = forked(act)
    assert many == 151
    assert bound > 0
    assert len(sound(store)) == len(sound(tmp_path / "backup")) == 151


@pytest.mark.usefixtures("store")
def test_a_fork_makes_a_store(tmp_path: Path) -> None:
    def act() -> object:
        with founded(tmp_path / "new") as registry:
            return registry.mint("puids", ALICE).label

    assert forked(act) == "fmt/1"
    assert sound(tmp_path / "new") == ["fmt/1"]


def test_a_fork_of_a_fork_lacks_them_as_well(store: Path) -> None:
    def act() -> str:
        with idstore.open(store) as registry:
            return registry.mint("puids", ALICE).label

    assert forked(lambda: [act(), forked(act), act()]) == ["fmt/151", "fmt/152", "fmt/153"]


def test_a_fork_opens_what_its_parent_does_not_have_open(store: Path, tmp_path: Path) -> None:
    def act() -> object:
        with idstore.open(store) as registry:
            return registry.mint("puids", ALICE).label

    with founded(tmp_path / "other") as other:
        other.mint("puids", ALICE)
        assert forked(act) == "fmt/151"
        other.mint("puids", ALICE)
    assert len(sound(store)) == 151


def test_what_needs_the_threads_is_refused(store: Path, tmp_path: Path) -> None:
    with founded(tmp_path / "other") as other:
        other.fixate([other.mint("puids", ALICE).iri.value], ALICE)
        export = exported(other, ALICE, tmp_path / "export.nq")

    def act() -> object:
        with idstore.open(store) as registry:
            with pytest.raises(StoreUnavailable, match=THREADS):
                rdf.import_registry(registry, [export], ALICE)
            with pytest.raises(StoreUnavailable, match=THREADS):
                registry.keep_checked(1, 1, ALICE)
            return registry.mint("puids", ALICE).label

    assert forked(act) == "fmt/151"
    assert len(sound(store)) == 151


def test_what_a_fork_finds_broken_is_mended_or_told(store: Path) -> None:
    def act() -> str:
        with idstore.open(store) as registry:
            return registry.mint("puids", ALICE).label

    generation = store / "generation-1"
    (generation / "engine" / "CURRENT").unlink()
    assert forked(act) == "fmt/151"
    (generation / "engine" / "CURRENT").unlink()
    for base in generation.glob("base-*/event"):
        base.unlink()

    def damaged() -> str:
        with pytest.raises(StoreDamaged, match="restore a backup") as caught:
            idstore.open(store)
        return str(caught.value.fields["path"])

    assert forked(damaged) == str(store)


def test_a_fork_answers_readers(store: Path) -> None:
    """It has the store as long as it lives: who reads is given its newest state."""
    ours, theirs = os.pipe()
    there, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        with idstore.open(store) as registry:
            registry.mint("puids", ALICE)
            os.write(begun, b"x")
            os.read(ours, 1)  # until the parent has read
        os._exit(0)
    os.close(begun)
    try:
        assert os.read(there, 1) == b"x"
        with pytest.raises(StoreBusy):
            idstore.open(store, wait=0)
        with idstore.open(store, read_only=True) as reader:
            assert len(labels(reader)) == 151
            assert reader.store.behind == ""
    finally:
        os.close(theirs)
        os.waitpid(child, 0)
        os.close(ours)
        os.close(there)


@pytest.mark.parametrize("forks", [True, False])
def test_the_engine_is_brought_up_before_too_much_is_kept_beside_it(store: Path, monkeypatch: pytest.MonkeyPatch, forks: bool) -> None:
    monkeypatch.setattr(waiting, "_MUCH", 20)

    def act() -> int:
        kept: list[int] = []
        with idstore.open(store, brief=True) as registry:
            waits: Any = registry.store
            for _ in range(70):
                registry.mint("puids", ALICE)
                kept.append(waits._commits.durable - waits._applied)
            assert waits._brief == forks
        return max(kept)

    most = forked(act) if forks else act()
    assert forks is False or most == 21
    assert len(sound(store)) == 220


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false", "/bin/echo"])
def test_a_process_that_did_nothing_is_not_believed(store: Path, program: str) -> None:
    """Nor is one whose end nobody is told of: what was acknowledged is there, and is given to nobody else."""

    def act() -> list[str]:
        told = []
        with idstore.open(store) as registry:
            registry.add_namespace("names", "20.500.1", "handle", ALICE)
            registry.register("names", "one", ALICE)
            sys.executable = program
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            for again in (registry.list, lambda _: registry.register("names", "one", ALICE), registry.list):
                with pytest.raises(StoreUnavailable) as caught:
                    again(ALICE)
                told.append(str(caught.value))
        return told

    assert all("ended before" in one for one in forked(act))
    assert sound(store).count("one") == 1


def test_a_store_that_is_replaced_meanwhile_is_left_alone(store: Path, tmp_path: Path) -> None:
    with idstore.open(store) as registry:
        registry.backup(tmp_path / "backup", ALICE)

    def act() -> list[str]:
        told = []
        with idstore.open(store, brief=True) as registry:
            registry.mint("puids", ALICE)
            store.rename(tmp_path / "moved")
            restore(tmp_path / "backup", store)
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="moved, removed or replaced") as caught:
                    registry.list(ALICE)
                told.append(str(caught.value))
        return told

    for place in (forked, lambda act: act()):
        assert len(place(act)) == 2
        assert len(sound(store)) == 150
        assert len(sound(tmp_path / "moved")) == 151
        shutil.rmtree(store)
        shutil.rmtree(tmp_path / "moved")
        restore(tmp_path / "backup", store)


def test_a_store_with_a_relative_name_stays_where_it_is(store: Path, tmp_path: Path) -> None:
    def act() -> int:
        os.chdir(store.parent)
        with idstore.open(store.name) as registry:
            registry.mint("puids", ALICE)
            os.chdir("/")
            return len(labels(registry))

    assert forked(act) == 151
    assert len(sound(store)) == 151
    assert [place.name for place in tmp_path.iterdir()] == ["store"]


def test_a_lock_has_no_number_of_a_stream(store: Path) -> None:
    """A process that is started has streams of its own under those."""

    def act() -> list[int]:
        os.close(0)
        with idstore.open(store) as registry:
            locks: Any = registry.store
            registry.mint("puids", ALICE)
            return [locks._lock.fileno(), len(labels(registry))]

    number, many = forked(act)
    assert number > 2
    assert many == 151


READING = """
import os, sys
import idstore
ALICE = idstore.Party("alice")
with idstore.open(sys.argv[1], read_only=True) as reader:
    reader.counts(ALICE)
child = os.fork()
with idstore.open(sys.argv[1], wait=60) as registry:
    for _ in range(150):
        registry.mint("puids", ALICE)
if child:
    os.waitpid(child, 0)
"""


def test_a_fork_of_a_process_that_only_read(store: Path) -> None:
    """The engine starts its threads for that as well."""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", READING, str(store)], timeout=60, check=True)
    assert len(sound(store)) == 150 + 3 * 300


IMPORTING = """
import os, sys
import idstore
from idstore.registry.stating import Proposal
ALICE = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
iris = [record.iri.value for record in registry.list(ALICE, limit=5)]
ours, theirs = os.pipe()
children = []

def proposals():
    for number, iri in enumerate(iris):
        yield Proposal(number, "bind", iri, idstore.Statement(f"http://example.org/{number}", iri))
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)  # until the parent has done it
        sys.exit(3)
    children.append(child)

assert {outcome.verdict for outcome in registry.state(proposals(), ALICE)} == {"new"}
os.close(theirs)
_, status = os.waitpid(children[0], 0)
assert os.waitstatus_to_exitcode(status) == 3, status
assert registry.mint("puids", ALICE).label == "fmt/151"
registry.close()
"""


def test_a_fork_that_leaves_a_large_change_undoes_nothing_of_it(store: Path) -> None:
    subprocess.run([sys.executable, "-c", IMPORTING, str(store)], timeout=60, check=True)
    assert len(sound(store)) == 151
    with idstore.open(store) as registry:
        assert sum(len(record.bindings) for record in registry.list(ALICE, limit=None)) == 5


def test_namespaces_and_parties_are_read_as_they_are(store: Path) -> None:
    """Also where somebody reads before a change to them is durable."""

    def act() -> list[str]:
        made = []
        with idstore.open(store, brief=True) as registry:
            waits: Any = registry.store
            append = waits._journal.append

            def reading(written: list[Any]) -> None:
                waits._journal.append = append
                append(written)

            for number in range(3):
                waits._journal.append = reading
                registry.add_namespace(f"n{number}", f"20.500.{number}", "handle", ALICE)
                registry.counts(ALICE)
                made.append(registry.register(f"n{number}", "x", ALICE).iri.value)
        return made

    assert len(forked(act)) == 3


def test_a_brief_store_is_not_read_once_it_is_closed(store: Path) -> None:
    registry = idstore.open(store, brief=True)
    registry.mint("puids", ALICE)
    registry.close()
    with idstore.open(store) as other:
        with pytest.raises(StoreUnavailable, match="was closed"):
            registry.counts(ALICE)
        other.mint("puids", ALICE)
        assert not list(store.glob("generation-*/broken"))
    assert len(sound(store)) == 152


def test_the_engine_leaves_no_diaries(store: Path) -> None:
    for _ in range(4):
        idstore.open(store).close()
    assert len(list(store.glob("generation-1/engine/LOG.old.*"))) <= 1


def test_a_process_that_cannot_be_started_is_told(store: Path) -> None:
    def act() -> str:
        sys.executable = "/nonexistent/python"
        with idstore.open(store) as registry:
            registry.mint("puids", ALICE)
            with pytest.raises(StoreUnavailable) as caught:
                registry.list(ALICE)
        return str(caught.value)

    assert "/nonexistent/python" in forked(act)
    assert len(sound(store)) == 151


ENDING = """
import os, sys
import idstore
place, opened, shut = sys.argv[1], *map(int, sys.argv[2:])
registry = idstore.open(place, read_only=opened == 1, brief=opened == 2)
assert registry.counts(idstore.Party("alice")).total == 150
if shut:
    registry.close()
child = os.fork()
if child == 0:
    print("the child ends")
    sys.exit(3)
_, status = os.waitpid(child, 0)
print("with", os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.mark.parametrize("opened", range(3))
@pytest.mark.parametrize("shut", range(2))
def test_a_fork_ends_as_any_process(store: Path, opened: int, shut: int) -> None:
    """The engine would look for its threads as the process ends, and wait for ever, or fail."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(store), str(opened), str(shut)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split("\n")[:2] == ["the child ends", "with 3"]


OTHER = """
import sys
from idstore.stores import elsewhere, embedded
elsewhere.serve(embedded.EmbeddedStore, sys.argv[1], int(sys.argv[2]), False)
"""


def test_the_other_process_holds_the_lock_that_it_is_given(store: Path) -> None:
    from idstore.stores.lock import DirectoryLock

    lock = DirectoryLock(store / "lock")
    lock.acquire(shared=False, wait=0)
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(store), str(lock.fileno())], pass_fds=[lock.fileno()], check=True, capture_output=True
    )
    assert done.stdout == b'["brought up", false]\n'
    with pytest.raises(StoreBusy, match=f"is in use by process {os.getpid()}"):
        idstore.open(store, wait=0)
    lock.release()
    idstore.open(store, wait=0).close()
