"""Snapshots on disk: shared, pinned, and removed when nothing needs them."""

import os
import stat
import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from pyoxigraph import NamedNode
from store_files import ALICE, Thread, create, labels, line, register, running

import idstore
from idstore import Party, Registry
from idstore.stores.contract import Snapshot, View
from idstore.stores.projection.oxigraph import Engine
from idstore.stores.snapshots import Snapshots

HOLDER = """
import sys, idstore
from pyoxigraph import NamedNode
base = "https://hdl.handle.net/20.500.1/"
with idstore.open(sys.argv[1], mode="shared") as registry, registry.store.snapshot() as snapshot:
    for word in sys.stdin:
        iris = list(snapshot.catalogue.sorted_identifiers())
        assert all(any(snapshot.quads(NamedNode(iri))) for iri in iris)
        print(*sorted(iri.removeprefix(base) for iri in iris), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> "idstore.Registry":
    return create(folder)


def names(folder: Path) -> list[str]:
    """The snapshots on disk, drafts included."""
    place = folder / "snapshots"
    return sorted(path.name for path in place.iterdir() if path.name != "requests") if place.exists() else []


def labels_in(view: View) -> set[str]:
    """Return the registered labels among ``a`` to ``e``. Fails if engine, catalogue and claims differ."""
    listed = set(view.catalogue.sorted_identifiers())
    registered = set()
    for label in "abcde":
        iri = NamedNode(f"https://hdl.handle.net/20.500.1/{label}")
        present = {any(view.quads(iri)), iri.value in listed, view.claim(iri) is not None}
        assert len(present) == 1, label
        registered |= {label} if present.pop() else set()
    return registered


def test_snapshots_of_one_state_share_a_folder(registry: Registry, folder: Path) -> None:
    with registry:
        with registry.store.snapshot(), registry.store.snapshot():
            before = names(folder)
        with registry.store.snapshot():
            assert names(folder) == before
        assert len(before) <= 1


def test_threads_share_a_snapshot(registry: Registry, folder: Path) -> None:
    def take() -> set[str]:
        with registry.store.snapshot() as snapshot:
            return labels_in(snapshot)

    with registry:
        registry.register("names", "a", ALICE)
        threads = [Thread(take) for _ in range(8)]
        assert [thread.result() for thread in threads] == [{"a"}] * 8
        assert len(names(folder)) <= 1


def test_processes_hold_snapshots_while_writers_go_on(registry: Registry, folder: Path) -> None:
    with registry, ExitStack() as held:
        registry.register("names", "a", ALICE)
        holders = [held.enter_context(running(HOLDER, folder)) for _ in range(3)]
        for holder in holders:
            assert held_labels(holder) == "a"
        register(registry, "bc")
        for holder in holders:
            assert held_labels(holder) == "a"


def held_labels(holder: "subprocess.Popen[str]") -> str:
    """Return the labels that a process sees in its snapshot."""
    assert holder.stdin is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    return line(holder)


def test_superseded_snapshots_are_removed_once_they_are_not_used(registry: Registry, folder: Path) -> None:
    with registry:
        for label in "abcde":
            registry.register("names", label, ALICE)
            with registry.store.snapshot():
                assert len(names(folder)) <= 2
    create_again(folder)
    assert names(folder) == []


def create_again(folder: Path) -> None:
    """Open a store for writing, which removes the leftovers of other processes."""
    idstore.open(folder).close()


def test_a_snapshot_outlives_its_store(registry: Registry, folder: Path) -> None:
    """`close` leaves the snapshot to its reader; the next writers keep it until the reader closes it."""
    registry.register("names", "a", ALICE)
    with running(HOLDER, folder) as holder:
        assert held_labels(holder) == "a"
        registry.close()
        for label in "bcd":
            with idstore.open(folder) as writer:
                writer.register("names", label, ALICE)
            assert held_labels(holder) == "a"
    create_again(folder)
    assert names(folder) == []


def test_a_killed_process_holds_no_snapshot(registry: Registry, folder: Path) -> None:
    with registry:
        registry.register("names", "a", ALICE)
        with running(HOLDER, folder) as holder:
            assert held_labels(holder) == "a"
    create_again(folder)
    assert names(folder) == []


def test_a_reader_sees_what_is_in_the_engine_s_log_alone(registry: Registry, folder: Path) -> None:
    """An engine that is open for reading backs up its tables only, not its log."""
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, mode="shared") as reader, reader.store.snapshot() as snapshot:
        assert labels_in(snapshot) == {"a"}
        with idstore.open(folder, mode="shared") as another, another.store.snapshot() as same:
            assert labels_in(same) == {"a"}


def test_drafts_of_killed_processes_are_removed(registry: Registry, folder: Path) -> None:
    """They are not removed at once: a process may have made a folder and not yet locked it."""
    registry.close()
    place = folder / "snapshots"
    place.mkdir(exist_ok=True)
    for name, used in (("draft-1", True), ("draft-2", False)):
        (place / name).mkdir()
        if used:
            (place / name / "in-use").touch()
    create_again(folder)
    assert "draft-2" in names(folder)
    os.utime(place / "draft-2", (0, 0))
    create_again(folder)
    assert names(folder) == []


@pytest.mark.parametrize("shared", [0o700, 0o750, 0o770, 0o2770])
def test_snapshots_are_shared_with_the_users_of_the_folder(
    registry: Registry, folder: Path, shared: int
) -> None:
    """This holds with any umask; otherwise other users could neither answer requests nor make snapshots."""
    folder.chmod(shared)
    before = os.umask(0o027)
    try:
        with registry:
            registry.register("names", "a", ALICE)
            with idstore.open(folder, mode="shared") as reader:
                assert labels(reader) == {"a"}
            entries = [
                place for place in (folder / "snapshots", folder / "snapshots" / "requests") if place.exists()
            ]
            entries += [folder / "snapshots" / name for name in names(folder)]
            assert entries
            assert {stat.S_IMODE(place.stat().st_mode) & 0o777 for place in entries} == {shared & 0o777}
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_snapshots_that_root_makes_belong_to_the_store_s_owner(registry: Registry, folder: Path) -> None:
    registry.close()
    os.chown(folder, 65534, 65533)
    with idstore.open(folder) as writer:
        writer.register("names", "a", ALICE)
        with idstore.open(folder, mode="shared") as reader:
            assert labels(reader) == {"a"}
        place = folder / "snapshots"
        assert [(each.stat().st_uid, each.stat().st_gid) for each in (place, place / "requests")] == [
            (65534, 65533)
        ] * 2


def test_foreign_entries_among_the_requests_are_ignored(registry: Registry, folder: Path) -> None:
    """Entries that cannot be removed stay, and only files are requests."""
    registry.close()
    requests = folder / "snapshots" / "requests"
    (requests / "left").mkdir(parents=True)
    os.utime(requests / "left", (0, 0))
    os.mkfifo(requests / "fifo")
    for label in "abc":
        with idstore.open(folder, wait=10) as writer:
            writer.register("names", label, ALICE)
            with idstore.open(folder, mode="shared") as reader:
                assert label in labels(reader)
    assert (requests / "left").is_dir()


def test_an_act_that_narrows_what_is_visible_is_in_the_next_snapshot(registry: Registry) -> None:
    """The rate of snapshots is limited, except after such an act."""
    bob = Party("bob")
    with registry:
        registry.add_party(bob, ALICE)
        for number in range(10):
            iri = registry.register("names", f"n{number}", ALICE).iri
            registry.grant(iri, bob, ALICE)
            with registry.store.snapshot() as granted:
                assert iri in set(granted.catalogue.sorted_identifiers())
            registry.ungrant(iri, bob, ALICE)
            with registry.quads(bob) as quads:
                assert iri not in {str(quad.subject).strip("<>") for quad in quads}


def test_a_state_that_is_being_closed_is_not_given_to_another_thread(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other thread asks for a snapshot as the last reader's engine has just been closed."""
    others: list[set[str]] = []
    close = Engine.close

    def take() -> set[str]:
        with registry.store.snapshot() as snapshot:
            return labels_in(snapshot)

    def close_and_ask(engine: Engine) -> None:
        close(engine)
        if not others:
            others.append(set())
            others.append(Thread(take).result())

    with registry:
        registry.register("names", "a", ALICE)
        monkeypatch.setattr(Engine, "close", close_and_ask)
        assert take() == {"a"}
        monkeypatch.undo()
    assert others == [set(), {"a"}]


def test_a_snapshot_can_be_closed_twice(registry: Registry) -> None:
    with registry:
        held: Snapshot = registry.store.snapshot()
        held.close()
        held.close()
        registry.register("names", "a", ALICE)


def test_a_draft_is_not_swept_before_its_maker_locked_it(tmp_path: Path) -> None:
    """Another reader may sweep at any moment, also between the making of a draft and its lock."""
    snapshots, ended = Snapshots(tmp_path / "snapshots"), Event()

    def sweep() -> None:
        while not ended.is_set():
            snapshots.sweep()

    def fill(engine: Path, number: int) -> str:
        engine.write_text(str(number))
        return f"1-{number}"

    sweepers = [Thread(sweep) for _ in range(3)]
    try:
        for number in range(300):
            with snapshots.make("origin", partial(fill, number=number)) as use:
                assert (use.engine.read_text(), use.origin) == (str(number), "origin")
    finally:
        ended.set()
        for sweeper in sweepers:
            sweeper.result()
    snapshots.sweep()
    assert names(tmp_path) == []


def test_a_copy_that_is_being_checked_is_not_swept(tmp_path: Path) -> None:
    """A verification may take longer than the age at which what nobody holds counts as abandoned."""
    snapshots = Snapshots(tmp_path / "snapshots")
    with snapshots.scratch() as folder:
        (folder / "copy").touch()
        os.utime(folder, (0, 0))
        snapshots.sweep()
        snapshots.sweep_former(tmp_path / "generation-1")
        assert (folder / "copy").exists()
    assert names(tmp_path) == []


def test_verify_leaves_no_copy(registry: Registry, folder: Path) -> None:
    with registry:
        registry.register("names", "a", ALICE)
        assert list(registry.verify(ALICE)) == []
    assert not [name for name in names(folder) if name.startswith("draft")]
