"""Snapshots are shared, whole, on disk before they have a name, and gone when nobody needs them."""

import fcntl
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyoxigraph
import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import StoreUnavailable
from idstore.stores.snapshots import Snapshots, Use

ALICE = Party("alice")
HOLDER = """
import sys, idstore
with idstore.open(sys.argv[1], read_only=True) as registry, registry.store.snapshot() as engine:
    print(engine, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        yield registry


def names(folder: Path) -> list[str]:
    """The snapshots there are, drafts included."""
    return sorted(path.name for path in (folder / "snapshots").iterdir() if path.name != "requests")


def labels(engine: Path) -> set[str]:
    notation = pyoxigraph.NamedNode("http://www.w3.org/2004/02/skos/core#notation")
    found = pyoxigraph.Store.read_only(str(engine)).quads_for_pattern(None, notation, None, None)
    return {quad.object.value for quad in found if isinstance(quad.object, pyoxigraph.Literal)}


def test_a_snapshot_does_not_change(registry: Registry) -> None:
    registry.register("names", "a", ALICE)
    with registry.store.snapshot() as engine:
        registry.register("names", "b", ALICE)
        assert labels(engine) == {"a"}
        with registry.store.snapshot() as later:
            assert labels(later) == {"a", "b"}


def test_the_same_state_is_one_snapshot(registry: Registry, folder: Path) -> None:
    with registry.store.snapshot() as first, registry.store.snapshot() as second:
        assert first == second
    with registry.store.snapshot() as third:
        assert third == first
    assert names(folder) == [first.parent.name]


def test_threads_share_one(registry: Registry, folder: Path) -> None:
    found: list[Path] = []

    def take() -> None:
        with registry.store.snapshot() as engine:
            found.append(engine)
            assert labels(engine) == {"a"}

    registry.register("names", "a", ALICE)
    running = [threading.Thread(target=take) for _ in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(found) == 8
    assert {engine.parent.name for engine in found} == set(names(folder))


def test_processes_share_one(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with ExitStack() as held:
        running = [held.enter_context(holding(folder)) for _ in range(3)]
        places = {process.stdout.readline().strip() for process in running if process.stdout is not None}
        assert len(places) == 1
        assert labels(Path(places.pop())) == {"a"}
        for process in running:
            process.communicate()


def holding(folder: Path) -> "subprocess.Popen[str]":
    """A process that holds a snapshot until its standard input ends."""
    return subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_is_superseded_goes_when_nobody_uses_it(registry: Registry, folder: Path) -> None:
    with registry.store.snapshot() as first:
        registry.register("names", "a", ALICE)
        with registry.store.snapshot() as second:
            assert names(folder) == sorted([first.parent.name, second.parent.name])
    registry.register("names", "b", ALICE)
    with registry.store.snapshot() as third:
        assert names(folder) == [third.parent.name]


def test_a_writer_removes_what_is_left(registry: Registry, folder: Path) -> None:
    with registry.store.snapshot():
        registry.close()
        idstore.open(folder).close()
        assert len(names(folder)) == 1
    idstore.open(folder).close()
    assert names(folder) == []


def test_a_killed_process_holds_nothing(registry: Registry, folder: Path) -> None:
    registry.close()
    with holding(folder) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    idstore.open(folder).close()
    assert names(folder) == []


def test_what_is_not_in_the_engines_tables_yet_is_in_the_snapshot(registry: Registry, folder: Path) -> None:
    """An engine that is open for reading backs up its tables alone, not its log."""
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, read_only=True) as reader, reader.store.snapshot() as engine:
        assert labels(engine) == {"a"}
        with idstore.open(folder, read_only=True) as another, another.store.snapshot() as same:
            assert same == engine


def test_a_snapshot_outlives_the_writers_that_follow(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with ExitStack() as held:
        with idstore.open(folder, read_only=True) as reader:
            engine = held.enter_context(reader.store.snapshot())
        for label in "bcd":
            with idstore.open(folder) as writer:
                writer.register("names", label, ALICE)
        assert labels(engine) == {"a"}


def test_after_a_large_change_there_is_another_snapshot(registry: Registry) -> None:
    with registry.store.snapshot() as before:
        with registry.store.staging() as staged:
            Registry(staged).register("names", "a", ALICE)
            with pytest.raises(StoreUnavailable, match="under way"), staged.snapshot():
                pass
        with registry.store.snapshot() as after:
            assert after != before
            assert labels(before) == set()
            assert labels(after) == {"a"}


def filled(engine: Path) -> None:
    engine.mkdir()
    (engine / "table").write_text("x")


def test_a_draft_is_no_snapshot(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)

    def fail(engine: Path) -> None:
        filled(engine)
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        snapshots.make("1-1", "store", fail)
    assert list(tmp_path.iterdir()) == []
    assert snapshots.use("1-1") is None


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    (tmp_path / "draft-1").mkdir()
    (tmp_path / "draft-1" / "in-use").touch()
    (tmp_path / "draft-2").mkdir()
    snapshots.sweep()
    assert names_in(tmp_path) == ["draft-2"]  # it may be somebody's who has not come to its lock yet
    os.utime(tmp_path / "draft-2", (0, 0))
    snapshots.sweep()
    assert names_in(tmp_path) == []


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_who_comes_second_uses_the_firsts(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    others: list[Use] = []

    def overtaken(engine: Path) -> None:
        filled(engine)
        others.append(snapshots.make("1-1", "store", filled))

    with snapshots.make("1-1", "store", overtaken) as used, others[0]:
        assert (used.folder, used.origin) == (tmp_path / "1-1", "store")
        assert names_in(tmp_path) == ["1-1"]
    snapshots.sweep()
    assert names_in(tmp_path) == []


def test_one_that_is_being_removed_is_not_used(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    made = snapshots.make("1-1", "store", filled)
    with made, (tmp_path / "1-1" / "in-use").open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "1-1" / "in-use").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert snapshots.use("1-1") is None


@pytest.mark.parametrize("shared", [0o700, 0o750, 0o770, 0o777])
def test_whoever_shares_the_folder_shares_what_a_reader_makes(tmp_path: Path, shared: int) -> None:
    """Whatever its umask: others could neither answer it nor make snapshots."""
    tmp_path.chmod(shared)
    snapshots = Snapshots(tmp_path / "snapshots")
    before = os.umask(0o027)
    try:
        request = snapshots.ask()
        with snapshots.make("1-1", "store", filled) as used:
            made = (snapshots.folder, request.parent, used.folder)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(place.stat().st_mode) for place in made] == [shared] * 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_belongs_to_the_stores_owner(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65533)
    request = Snapshots(tmp_path / "snapshots").ask()
    assert [(place.stat().st_uid, place.stat().st_gid) for place in (request.parent, request.parent.parent)] == [(65534, 65533)] * 2


def test_what_stays_among_the_requests_is_none(tmp_path: Path) -> None:
    """What cannot be removed is left; what is no file is nobody's request."""
    snapshots = Snapshots(tmp_path)
    left, fifo = tmp_path / "requests" / "left", tmp_path / "requests" / "fifo"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    os.mkfifo(fifo)
    snapshots.sweep()
    assert left.is_dir()
    assert snapshots.asked() == []
    request = snapshots.ask()
    assert snapshots.asked() == [request]
    snapshots.withdraw(request)
    snapshots.withdraw(request)
    snapshots.withdraw(left)
    assert snapshots.asked() == []


def test_the_newest_whole_one_is_found(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    for name in ("1-9", "1-10", "2-3", "2-4"):
        snapshots.make(name, "store", filled).release()
    for name in ("1-9", "1-10", "2-3"):
        (tmp_path / name / "catalogue.sqlite").touch()
    used = snapshots.newest()
    assert used is not None
    with used:
        assert used.folder.name == "2-3"
        assert used.whole


def test_a_full_disk_is_told(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("idstore.stores.snapshots.os.fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left"), registry.store.snapshot():
        pass
