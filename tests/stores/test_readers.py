"""Readers are served whoever else uses the store, and see whole, durable states."""

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from pace import allowing

import idstore
from idstore import Party, Registry, Selection
from idstore.errors import NotRegistered, StoreBusy, StoreDamaged, StoreUnavailable
from idstore.stores import reader
from idstore.stores.copies import Copies
from idstore.stores.embedded import EmbeddedStore
from idstore.stores.generation import Generation
from idstore.stores.journal import Journal, Written
from idstore.stores.lock import DirectoryLock
from idstore.stores.reader import SnapshotStore
from idstore.stores.snapshots import Snapshots, Use

ALICE = Party("alice")
READER = """
import json, sys, time, idstore
with idstore.open(sys.argv[1], read_only=True, wait=float(sys.argv[2])) as registry:
    alice = idstore.Party("alice")
    print(json.dumps({
        "kind": type(registry.store).__name__,
        "listed": len(registry.list(alice, limit=None)),
        "counted": registry.counts(alice).total,
        "events": len(list(registry.log(alice))),
        "origin": registry.store.origin,
    }))
"""
NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        yield registry


def read(folder: Path, wait: float = 10) -> dict[str, str | int]:
    """What another process reads."""
    done = subprocess.run([sys.executable, "-c", READER, str(folder), str(wait)], capture_output=True, text=True, check=True)
    found: dict[str, str | int] = json.loads(done.stdout)
    return found


def test_a_reader_beside_a_writer_sees_what_was_acknowledged(registry: Registry, folder: Path) -> None:
    for number in range(3):
        registry.register("names", f"n{number}", ALICE)
        found = read(folder)
        assert (found["kind"], found["origin"]) == ("SnapshotStore", registry.store.origin)
        assert found["listed"] == found["counted"] == number + 1
        assert found["events"] == number + 3
    assert not any((folder / "snapshots" / "requests").iterdir())


def test_a_reader_alone_reads_the_store_itself(registry: Registry, folder: Path) -> None:
    registry.close()
    assert read(folder)["kind"] == "EmbeddedStore"
    with idstore.open(folder, read_only=True), idstore.open(folder, read_only=True) as second:
        assert isinstance(second.store, EmbeddedStore)
    assert not (folder / "snapshots").exists()


def test_a_reader_beside_an_import_sees_the_state_before(registry: Registry, folder: Path) -> None:
    registry.register("names", "before", ALICE)
    with registry.store.staging() as staged:
        inner = Registry(staged)
        for number in range(20):
            inner.register("names", f"n{number}", ALICE)
        assert read(folder)["listed"] == 1
    assert read(folder)["listed"] == 21


def test_a_reader_beside_many_changes_sees_whole_ones(registry: Registry, folder: Path) -> None:
    stop = threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            registry.register("names", f"n{number}", ALICE)
            number += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        seen = [read(folder) for _ in range(4)]
    finally:
        stop.set()
        worker.join()
    for found in seen:
        assert found["listed"] == found["counted"] == int(found["events"]) - 2
    assert [found["listed"] for found in seen] == sorted(int(found["listed"]) for found in seen)


def test_a_snapshot_stays_as_it_is(registry: Registry, folder: Path) -> None:
    kept = registry.register("names", "a", ALICE)
    with idstore.open(folder, read_only=True) as reader:
        assert isinstance(reader.store, SnapshotStore)
        later = registry.register("names", "b", ALICE)
        registry.fixate([kept.iri.value], ALICE)
        assert reader.show(kept.iri.value, ALICE).stage.value == "created"
        assert [record.label for record in reader.list(ALICE, Selection())] == ["a"]
        with pytest.raises(NotRegistered):
            reader.show(later.iri.value, ALICE)
        for act in (reader.store.turn, reader.store.staging):
            with pytest.raises(StoreUnavailable, match="for reading only"):
                act()
        with reader.store.snapshot() as engine:
            assert engine.is_dir()


def test_a_detached_reader_keeps_no_writer_waiting(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, read_only=True, detached=True) as reader:
        with idstore.open(folder, wait=0) as writer:
            writer.register("names", "b", ALICE)
        assert len(reader.list(ALICE)) == 1


def test_a_writer_that_does_not_answer(registry: Registry, folder: Path, tmp_path: Path) -> None:
    """A process that is stopped holds the lock and answers nobody: the newest snapshot there is will do, and the reader is told what it lacks."""
    registry.register("names", "a", ALICE)
    registry.close()
    lock = DirectoryLock(folder / "lock")
    lock.acquire(shared=False, wait=0)
    begun = time.monotonic()
    with pytest.raises(StoreBusy, match=rf"process {os.getpid()}"):
        idstore.open(folder, read_only=True, wait=0.1)
    assert (took := time.monotonic() - begun) < allowing(3), took
    lock.release()
    kept = idstore.open(folder, read_only=True, detached=True)
    for label, missed in (("", ""), ("b", "gave no snapshot of its newest state within 0.1 s")):
        if label:
            with idstore.open(folder) as writer:
                writer.register("names", label, ALICE)
        lock.acquire(shared=False, wait=10)  # whoever waited for it in vain may have it for a moment
        with idstore.open(folder, read_only=True, wait=0.1) as reader:
            assert [record.label for record in reader.list(ALICE)] == ["a"]
            assert missed in reader.store.behind
            assert bool(reader.store.behind) is bool(missed)
            with pytest.raises(StoreBusy, match="newest state") if missed else nullcontext():
                assert isinstance(reader.store, SnapshotStore)
                reader.store.backup(tmp_path / "copy")
        lock.release()
    with idstore.open(tmp_path / "copy") as copy:
        assert [record.label for record in copy.list(ALICE)] == ["a"]
    kept.close()


def test_requests_that_nobody_waits_for_are_taken_away(registry: Registry, folder: Path) -> None:
    snapshots = Snapshots(folder / "snapshots")
    request = snapshots.ask()
    request.unlink()
    request = snapshots.ask()
    limit = time.monotonic() + 10
    while (used := snapshots.answered(request)) is None and time.monotonic() < limit:
        time.sleep(0.01)
    assert used is not None
    assert used.whole
    used.release()
    os.utime(request, (0, 0))
    registry.close()
    idstore.open(folder).close()
    assert not any((folder / "snapshots" / "requests").iterdir())


def test_what_cannot_be_removed_among_the_requests_stops_nobody(registry: Registry, folder: Path) -> None:
    """A folder stands here for whatever cannot be removed, so that it holds for root as well."""
    left = folder / "snapshots" / "requests" / "left"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    for number in range(1, 4):
        registry.register("names", f"n{number}", ALICE)
        found = read(folder)
        assert (found["kind"], found["listed"]) == ("SnapshotStore", number)
    for _ in range(2):
        registry.close()
        registry = idstore.open(folder, wait=0)
    registry.close()
    assert left.is_dir()


def test_a_request_that_cannot_be_answered_keeps_no_other_waiting(
    registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something is published for it, once; whoever asked reads that when it has waited long enough."""
    registry.close()
    published: list[str] = []
    publish = Copies.publish

    def noted(copies: Copies) -> Use:
        used = publish(copies)
        published.append(used.folder.name)
        return used

    monkeypatch.setattr(Copies, "publish", noted)
    snapshots = Snapshots(folder / "snapshots")
    request = snapshots.ask()
    request.with_suffix(".answer").mkdir()
    with idstore.open(folder) as writer:
        limit = time.monotonic() + 10
        while not published and time.monotonic() < limit:
            time.sleep(0.01)
        newest = snapshots.newest()
        assert newest is not None
        with newest:
            assert [newest.folder.name] == published
        writer.register("names", "a", ALICE)
        assert read(folder)["listed"] == 1
        assert len(published) == 2
    assert snapshots.asked() == [request]


@pytest.mark.parametrize("failure", [OSError("no space"), RuntimeError("of the engine"), KeyError("unforeseen")])
def test_readers_are_served_again_after_a_failure(
    registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    registry.close()
    publish = Copies.publish
    failures = [failure]

    def failing(copies: Copies) -> Use:
        if failures:
            raise failures.pop()
        return publish(copies)

    monkeypatch.setattr(Copies, "publish", failing)
    with idstore.open(folder) as writer:
        writer.register("names", "a", ALICE)
        assert read(folder)["listed"] == 1
    assert not failures


def test_a_snapshot_that_cannot_be_published_is_not_held(registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(_: Path) -> sqlite3.Connection:
        raise sqlite3.DatabaseError("malformed")

    monkeypatch.setattr("idstore.stores.copies.pinned", damaged)
    assert isinstance(registry.store, EmbeddedStore)
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        registry.store.publish()
    Snapshots(folder / "snapshots").sweep()
    assert not any((folder / "snapshots").iterdir())


def test_an_answer_that_comes_with_the_lock_is_let_go(registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.register("names", "a", ALICE)
    answered = reader._Request.answered

    def as_the_writer_ends(request: reader._Request) -> bool:
        if not answered(request):
            return False
        registry.close()
        limit = time.monotonic() + 10
        while any(thread.name == "idstore-lock" for thread in threading.enumerate()) and time.monotonic() < limit:
            time.sleep(0.01)  # until whoever waits has the lock
        return answered(request)

    monkeypatch.setattr(reader._Request, "answered", as_the_writer_ends)
    with idstore.open(folder, read_only=True) as reading:
        assert isinstance(reading.store, EmbeddedStore)
    snapshots = Snapshots(folder / "snapshots")
    used = snapshots.newest()
    assert used is not None
    used.release()
    snapshots.sweep()
    assert [path.name for path in (folder / "snapshots").iterdir()] == ["requests"]


CRASHER = """
import os, sys, idstore
from idstore.stores import generation
registry = idstore.open(sys.argv[1])
take = generation.Generation.take
def halfway(self, batch, pace=iter):
    if sys.argv[2] == "engine":
        self.catalogue.apply = lambda batch: os._exit(9)
        take(self, batch)
    os._exit(9)
generation.Generation.take = halfway
alice = idstore.Party("alice")
exec(sys.argv[3])
registry.counts(alice)
"""


def crash(folder: Path, reached: str, act: str = 'registry.register("names", "a", alice)') -> None:
    """An act in a process that ends when the change has reached so much of the store."""
    assert subprocess.run([sys.executable, "-c", CRASHER, str(folder), reached, act], check=False).returncode == 9


@pytest.mark.parametrize("reached", ["journal", "engine"])
def test_a_reader_first_does_what_a_killed_writer_left_undone(registry: Registry, folder: Path, reached: str) -> None:
    registry.close()
    crash(folder, reached)
    store = EmbeddedStore(folder, read_only=True)
    assert store.lags()
    store.close()
    with idstore.open(folder, read_only=True) as reader:
        assert [record.label for record in reader.list(ALICE)] == ["a"]


def test_whoever_waits_in_vain_for_the_lock_does_not_get_it_later(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second, third = DirectoryLock(path), DirectoryLock(path), DirectoryLock(path)
    first.acquire(shared=False, wait=0)
    for shared in (True, False):
        with pytest.raises(StoreBusy):
            second.acquire(shared=shared, wait=0.05)
    first.release()
    limit = time.monotonic() + 10
    while any(thread.name == "idstore-lock" for thread in threading.enumerate()) and time.monotonic() < limit:
        time.sleep(0.01)
    third.acquire(shared=False, wait=0)
    third.release()


@pytest.mark.parametrize("others_allocate", [False, True])
def test_a_reader_of_what_is_never_up_to_date_ends(
    registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch, *, others_allocate: bool
) -> None:
    """It does not open the store over and over, but reads what it has brought up itself."""
    registry.register("names", "first", ALICE)
    registry.close()
    looks: list[int] = []

    def lags(store: EmbeddedStore) -> bool:
        looks.append(len(looks))
        store.close()
        if others_allocate:
            with idstore.open(folder, brief=True) as other:
                other.register("names", f"n{len(looks)}", ALICE)
        return True

    monkeypatch.setattr(EmbeddedStore, "lags", lags)
    with idstore.open(folder, read_only=True) as reader:
        assert isinstance(reader.store, SnapshotStore)
        assert len(reader.list(ALICE)) == 1 + len(looks) * others_allocate
    assert 1 < len(looks) < 10


def test_a_reader_that_must_bring_the_store_up_waits_for_a_writer_or_is_served_by_it(registry: Registry, folder: Path) -> None:
    registry.close()
    with idstore.open(folder, brief=True) as brief:
        brief.register("names", "a", ALICE)
    lock = DirectoryLock(folder / "lock")
    lock.acquire(shared=False, wait=0)  # a writer that answers nobody
    with pytest.raises(StoreBusy, match="gave no snapshot"):
        idstore.open(folder, read_only=True, wait=0.1)
    lock.release()
    with idstore.open(folder) as writer:
        writer.register("names", "b", ALICE)
        assert read(folder)["listed"] == 2


def test_nobody_sees_what_is_not_durable(registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the journal waits for the disk, the change is not there for anybody: not in this process, and not in another."""
    reached, go_on = threading.Event(), threading.Event()
    append = Journal.append

    def slowly(journal: Journal, changes: list[Written]) -> None:
        reached.set()
        assert go_on.wait(60)
        append(journal, changes)

    monkeypatch.setattr(Journal, "append", slowly)
    worker = threading.Thread(target=registry.register, args=("names", "a", ALICE))
    worker.start()
    assert reached.wait(60)
    try:
        assert read(folder)["listed"] == 0
        assert registry.list(ALICE) == []
        assert registry.counts(ALICE).total == 0
    finally:
        go_on.set()
        worker.join()
    assert read(folder)["listed"] == 1


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can read."""
    with tempfile.TemporaryDirectory(prefix="idstore-") as name:
        Path(name).chmod(0o755)
        yield Path(name) / "store"


def as_reader_only(folder: Path, act: str, *, detached: bool = False) -> str:
    """What comes of an act in a process that may not write in the folder."""
    code = f"""
import importlib, os, pathlib, pkgutil, random, sys, uuid
import idstore
for module in pkgutil.walk_packages(idstore.__path__, "idstore."):  # who can read the folder may not be able to read the package
    if module.name not in ("idstore.__main__", "idstore.testing"):
        importlib.import_module(module.name)
idstore.schemes.installed()
if os.geteuid() == 0:
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
alice = idstore.Party("alice")
try:
    with idstore.open(sys.argv[1], read_only=True, wait=0, detached={detached}) as registry:
        print({act})
except idstore.IdstoreError as error:
    print(type(error).__name__, error)
"""
    if os.geteuid() != 0:
        folder.chmod(0o555)
    try:
        return subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True).stdout
    finally:
        folder.chmod(0o755)


def test_a_folder_that_may_only_be_read(open_folder: Path) -> None:
    with idstore.open(open_folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "a", ALICE)
    assert as_reader_only(open_folder, "len(registry.list(alice)), len(list(registry.log(alice)))") == "1 3\n"
    act = "registry.store.snapshot().__enter__().parent.name, len(registry.list(alice))"
    assert as_reader_only(open_folder, act) == "generation-1 1\n"
    assert sorted(path.name for path in open_folder.iterdir() if not path.name.startswith("journal")) == ["generation-1", "lock"]


BEHIND = "bool(registry.store.behind), [record.label for record in registry.list(alice)], len(list(registry.log(alice)))"


@pytest.mark.parametrize("detached", [False, True])
def test_a_folder_that_may_only_be_read_and_has_allocations_to_apply(open_folder: Path, *, detached: bool) -> None:
    """The state before them is read, and whoever asks is told; a backup would lack them, so that none is made."""
    with idstore.open(open_folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "a", ALICE)
    for label in "bc":
        with idstore.open(open_folder, brief=True) as brief:
            brief.register("names", label, ALICE)
    assert as_reader_only(open_folder, BEHIND, detached=detached) == "True ['a'] 3\n"
    engine = "registry.store.snapshot().__enter__().parent.name"
    assert as_reader_only(open_folder, engine, detached=detached) == "generation-1\n"
    faults = "list(registry.verify(alice))"
    assert as_reader_only(open_folder, faults, detached=detached) == "[]\n"
    for act in ("registry.store.backup(pathlib.Path(sys.argv[1] + '-copy'))", "registry.store.publish()"):
        assert as_reader_only(open_folder, act, detached=detached).startswith(f"StoreUnavailable {open_folder} has changes")
    assert not (open_folder / "snapshots").exists()
    with idstore.open(open_folder, read_only=True) as registry:
        assert not registry.store.behind
        assert len(registry.list(ALICE)) == 3
    assert as_reader_only(open_folder, BEHIND, detached=detached) == "False ['c', 'b', 'a'] 5\n"


@pytest.mark.parametrize("reached", ["catalogue", "engine"])
def test_what_is_half_applied_is_not_read(open_folder: Path, monkeypatch: pytest.MonkeyPatch, reached: str) -> None:
    """A state that has the engine's part of an allocation, or the catalogue's alone, was never there."""
    with idstore.open(open_folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        assert registry.counts(ALICE).total == 0
        if reached == "catalogue":
            monkeypatch.setattr(Generation, "engrave", lambda *_: None)
            registry.register("names", "a", ALICE)
    if reached == "engine":
        crash(open_folder, "engine")
    assert as_reader_only(open_folder, BEHIND).startswith(f"StoreUnavailable {open_folder} has changes")


def test_damage_among_them_is_told_and_nobody_kept_out(registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.close()
    with idstore.open(folder, brief=True) as brief:
        brief.register("names", "a", ALICE)
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        journal.execute("UPDATE change SET body = '[' WHERE sequence = (SELECT max(sequence) FROM change)")
        journal.commit()
    monkeypatch.setattr(reader, "_may_write", lambda _: False)
    with pytest.raises(StoreDamaged, match="change 3 is not what was written"):
        idstore.open(folder, read_only=True)
    lock = DirectoryLock(folder / "lock")
    lock.acquire(shared=False, wait=0)
    lock.release()


def test_a_full_disk_makes_nobody_read_behind(registry: Registry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write is told what failed, and does not take an older state for the newest."""
    registry.close()
    with idstore.open(folder, brief=True) as brief:
        brief.register("names", "a", ALICE)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Generation, "engrave", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        idstore.open(folder, read_only=True)
    monkeypatch.undo()
    with idstore.open(folder, read_only=True) as reopened:
        assert [record.label for record in reopened.list(ALICE)] == ["a"]


def test_other_changes_that_are_not_applied_are_not_passed_over(open_folder: Path) -> None:
    """Whoever lost a right by one of them would still have it."""
    with idstore.open(open_folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        iri = registry.register("names", "a", ALICE).iri.value
        registry.grant(iri, Party("bob"), ALICE)
    crash(open_folder, "journal", f"registry.ungrant({iri!r}, idstore.Party('bob'), alice)")
    assert as_reader_only(open_folder, BEHIND).startswith(f"StoreUnavailable {open_folder} has changes")


def test_a_stopped_writer_goes_on(registry: Registry, folder: Path) -> None:
    """SIGSTOP in the middle: the reader is told, or waits; afterwards all is as it should be."""
    registry.close()
    code = "import sys, idstore\nwith idstore.open(sys.argv[1]): print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy, match=f"process {process.pid}"):
            idstore.open(folder, read_only=True, wait=0.1)
        process.send_signal(signal.SIGCONT)
        assert read(folder)["kind"] == "SnapshotStore"
        process.communicate()
    assert read(folder)["kind"] == "EmbeddedStore"
