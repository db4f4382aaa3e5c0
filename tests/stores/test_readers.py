"""Readers beside writers, in other processes: they see complete, durable states and delay no writer."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from other_users import run_as
from reachable_folders import reachable_folder
from store_files import (
    ALICE,
    PATIENCE,
    copy,
    create,
    generation,
    labels,
    line,
    register,
    run,
    running,
    sound,
    until,
)

import idstore
from idstore import Filter, Party, Registry, opening
from idstore.errors import InvalidData, NotRegistered, StoreBusy, StoreUnavailable

READER = """
import json, sys, idstore
with idstore.open(sys.argv[1], mode="shared", wait=float(sys.argv[2])) as registry:
    alice = idstore.Party("alice")
    print(json.dumps({
        "listed": len(registry.list(alice, limit=None)),
        "counted": registry.counts(alice).total,
        "events": len(list(registry.log(alice))),
        "origin": registry.store.origin,
        "behind": registry.store.behind,
    }))
"""
HOLDER = """
import sys, idstore
with idstore.open(sys.argv[1]) as registry:
    print("open", flush=True)
    sys.stdin.read()
"""
OTHER_USER = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with create(folder) as registry:
        yield registry


def read(folder: Path, wait: float = 10) -> dict[str, str | int]:
    """Read the store in another process."""
    answer: dict[str, str | int] = json.loads(run(READER, folder, wait))
    return answer


def test_a_reader_beside_a_writer_sees_acknowledged_changes(registry: Registry, folder: Path) -> None:
    for number in range(3):
        registry.register("names", f"n{number}", ALICE)
        answer = read(folder)
        assert (answer["origin"], answer["behind"]) == (registry.store.origin, "")
        assert answer["listed"] == answer["counted"] == number + 1
        assert answer["events"] == number + 4
    requests = folder / "snapshots" / "requests"
    assert not requests.exists() or not any(requests.iterdir())


def test_readers_alone_read_the_store_at_the_same_time(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, mode="shared") as first, idstore.open(folder, mode="shared") as second:
        assert labels(first) == labels(second) == {"a"}
        assert read(folder)["listed"] == 1
    assert not (folder / "snapshots").exists()


def test_a_reader_beside_a_bulk_sees_the_state_before(registry: Registry, folder: Path) -> None:
    registry.register("names", "before", ALICE)
    with registry.store.bulk() as bulk:
        register(Registry(bulk), (f"n{number}" for number in range(20)))
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
    for answer in seen:
        assert answer["listed"] == answer["counted"] == int(answer["events"]) - 3
    assert [answer["listed"] for answer in seen] == sorted(int(answer["listed"]) for answer in seen)


def test_a_reader_keeps_the_state_that_it_opened(registry: Registry, folder: Path) -> None:
    kept = registry.register("names", "a", ALICE)
    with idstore.open(folder, mode="shared") as reader:
        later = registry.register("names", "b", ALICE)
        registry.fixate([kept.iri], ALICE)
        assert reader.show(kept.iri, ALICE).stage.value == "created"
        assert [record.label for record in reader.list(ALICE, Filter())] == ["a"]
        with pytest.raises(NotRegistered):
            reader.show(later.iri, ALICE)
        with pytest.raises(StoreUnavailable, match="for reading only"):
            reader.register("names", "c", ALICE)
        with pytest.raises(StoreUnavailable, match="for reading only"), reader.store.bulk():
            pass
        with reader.store.snapshot() as snapshot:
            assert snapshot.catalogue.counts()[0] == 1


def test_a_reader_alone_writes_nothing(registry: Registry, folder: Path) -> None:
    registry.close()
    with idstore.open(folder, mode="shared") as reader:
        with pytest.raises(StoreUnavailable, match="for reading only"):
            reader.register("names", "c", ALICE)
        with pytest.raises(StoreUnavailable, match="for reading only"), reader.store.bulk():
            pass


def test_a_detached_reader_keeps_no_writer_waiting(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, mode="read") as reader:
        with idstore.open(folder, wait=0) as writer:
            writer.register("names", "b", ALICE)
        assert labels(reader) == {"a"}


def test_a_reader_sees_changes_after_a_refresh(registry: Registry, folder: Path) -> None:
    with idstore.open(folder, mode="read") as reader:
        for label in "ab":
            registry.register("names", label, ALICE)
            assert label not in labels(reader)
            reader.refresh()
            assert label in labels(reader)
        registry.close()
        with idstore.open(folder, wait=0) as writer:
            writer.add_namespace("more", "20.500.2", "handle", ALICE)
            writer.register("more", "c", ALICE)
        reader.refresh(wait=0)
        assert labels(reader) == set("abc")
        assert reader.namespace("more").owner == ALICE.name
        reader.refresh()
        assert labels(reader) == set("abc")


def test_the_age_of_a_reader_grows_until_a_refresh(registry: Registry, folder: Path) -> None:
    assert registry.age == 0
    registry.refresh()
    with idstore.open(folder, mode="read") as reader:
        first = reader.age
        assert 0 <= first < (later := reader.age) < PATIENCE
        reader.refresh()
        begun = time.monotonic()
        registry.register("names", "a", ALICE)
        reader.refresh()
        assert 0 < reader.age <= time.monotonic() - begun
        assert later > first
    registry.close()
    with idstore.open(folder, mode="shared") as reader:
        reader.refresh()
        assert reader.age == 0


def test_a_refresh_leaves_what_is_being_read(registry: Registry, folder: Path) -> None:
    """An export goes on with the state with which it began, and that state is closed after it."""
    register(registry, "abc")
    registry.close()
    with idstore.open(folder, mode="read") as reader:
        with reader.records(ALICE) as records, reader.store.snapshot() as snapshot:
            seen = [next(records).label]
            for number in range(2):
                with idstore.open(folder, wait=0) as writer:
                    register(writer, [f"n{number}"])
                reader.refresh()
            seen += [record.label for record in records]
            assert snapshot.catalogue.counts()[0] == 3
        assert seen == list("abc")
        assert labels(reader) == {*"abc", "n0", "n1"}
    idstore.open(folder).close()
    assert not any((folder / "snapshots").glob("[0-9]*"))


def test_threads_read_during_refreshes(registry: Registry, folder: Path) -> None:
    register(registry, "a")
    with idstore.open(folder, mode="read") as reader:
        stop, seen = threading.Event(), [set("a")]

        def read_on() -> None:
            while not stop.is_set():
                seen.append(labels(reader))

        threads = [threading.Thread(target=read_on) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in range(5):
                register(registry, [f"n{number}"])
                reader.refresh()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert all("a" in one for one in seen)
    assert {len(one) for one in seen} <= {*range(1, 7)}


def test_a_right_that_was_lost_is_lost_after_a_refresh(registry: Registry, folder: Path) -> None:
    """A group member sees a draft until it leaves the group; others never see it."""
    bob, carol, staff = Party("bob"), Party("carol"), Party("staff")
    registry.add_party(bob, ALICE)
    registry.add_party(staff, ALICE, kind="group")
    registry.join(bob, staff, ALICE)
    iri = registry.register("names", "a", ALICE).iri
    registry.grant(iri, staff, ALICE)
    with idstore.open(folder, mode="read") as reader:
        assert [record.label for record in reader.list(bob)] == ["a"]
        registry.leave(bob, staff, ALICE)
        reader.refresh()
        for party in (bob, carol):
            assert reader.list(party) == []
            with pytest.raises(NotRegistered):
                reader.show(iri, party)
        registry.release(iri, ALICE)
        reader.refresh()
        with pytest.raises(NotRegistered):
            reader.show(iri, ALICE)


def test_a_refresh_without_an_answer_keeps_the_state(registry: Registry, folder: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, mode="read") as reader, running(SERVED, folder) as holder:
        assert line(holder) == "open"
        assert holder.stdin is not None
        holder.stdin.write("b\n")
        holder.stdin.flush()
        assert line(holder) == "b"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy, match=f"process {holder.pid}"):
            reader.refresh(wait=0.1)
        assert labels(reader) == {"a"}
        holder.send_signal(signal.SIGCONT)
        reader.refresh()
        assert labels(reader) == {"a", "b"}


def test_a_refresh_of_another_store_is_refused(registry: Registry, folder: Path, tmp_path: Path) -> None:
    registry.register("names", "a", ALICE)
    registry.close()
    with idstore.open(folder, mode="read") as reader:
        folder.rename(tmp_path / "moved")
        with pytest.raises(StoreUnavailable, match="no store"):
            reader.refresh()
        create(folder).close()
        with pytest.raises(StoreUnavailable, match="another store"):
            reader.refresh()
        assert labels(reader) == {"a"}


def test_a_refresh_does_not_show_what_was_redacted_at_the_source(registry: Registry, folder: Path) -> None:
    registry.close()
    with idstore.open(folder, mode="read") as reader:
        opening.ReplicaMark("http://source.example.org/", is_outdated=True).write(folder)
        with pytest.raises(StoreUnavailable, match="redacted at"):
            reader.refresh()


def test_a_folder_that_has_no_folder_above_it_can_be_marked_as_a_replica(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the current folder, or that of another disk; what a power cut leaves is no obstacle."""
    monkeypatch.chdir(tmp_path)
    mark = opening.ReplicaMark("http://source.example.org/")
    mark.write(Path())
    assert opening.replica_mark(tmp_path) == mark
    (tmp_path / "replica.json").rename(tmp_path / "replica.draft")
    idstore.open(tmp_path, administrator=ALICE).close()
    mark.write(tmp_path)
    assert not (tmp_path / "replica.draft").exists()


def test_a_mode_that_there_is_not(folder: Path) -> None:
    with pytest.raises(InvalidData, match="'append' is no mode; there are write, read, shared") as caught:
        idstore.open(folder, mode="append")  # type: ignore[arg-type]
    assert (caught.value.field, caught.value.value) == ("mode", "append")


def test_a_writer_that_does_not_answer(registry: Registry, folder: Path, tmp_path: Path) -> None:
    """A stopped process holds the lock and answers no request.

    A reader gets the newest snapshot, and a warning about missing changes.
    """
    registry.register("names", "a", ALICE)
    registry.close()
    with running(HOLDER, folder) as holder:
        assert line(holder) == "open"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy, match=f"process {holder.pid}"):
            idstore.open(folder, mode="shared", wait=0.1)
    kept = idstore.open(folder, mode="read")
    for label in ("", "b"):
        if label:
            with idstore.open(folder) as writer:
                writer.register("names", label, ALICE)
        with running(HOLDER, folder) as holder:
            assert line(holder) == "open"
            holder.send_signal(signal.SIGSTOP)
            with idstore.open(folder, mode="shared", wait=0.1) as reader:
                assert labels(reader) == {"a"}
                assert bool(reader.store.behind) is bool(label)
                if label:
                    assert "newest state" in reader.store.behind
                    with pytest.raises(StoreBusy, match="newest state"):
                        reader.backup(tmp_path / "copy", ALICE)
    kept.close()


def test_a_stopped_writer_goes_on(registry: Registry, folder: Path) -> None:
    """During SIGSTOP the reader's wait runs out; after SIGCONT it gets an answer."""
    registry.close()
    with running(HOLDER, folder) as holder:
        assert line(holder) == "open"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy, match=f"process {holder.pid}"):
            idstore.open(folder, mode="shared", wait=0.1)
        holder.send_signal(signal.SIGCONT)
        assert read(folder)["behind"] == ""
        holder.communicate()
        assert holder.returncode == 0
    assert read(folder)["listed"] == 0


STALLED = """
import sys, idstore
with idstore.open(sys.argv[1], mode="shared") as registry, registry.store.snapshot() as snapshot:
    scan = snapshot.quads()
    next(scan)
    print("reads", flush=True)
    sys.stdin.read()
    print(sum(1 for _ in scan), snapshot.catalogue.counts()[0], flush=True)
"""


def test_a_stalled_reader_holds_up_no_writer(registry: Registry, folder: Path) -> None:
    """A process is stopped in the middle of a scan; later it continues with the state with which it began."""
    register(registry, ["before"])
    with running(STALLED, folder) as reader:
        assert line(reader) == "reads"
        reader.send_signal(signal.SIGSTOP)
        registered = register(registry, (f"n{number}" for number in range(200)))
        with registry.store.bulk() as bulk:
            registered |= register(Registry(bulk), ["within"])
        registered |= register(registry, ["after"])
        assert read(folder)["listed"] == 1 + len(registered)
        reader.send_signal(signal.SIGCONT)
        quads, listed = reader.communicate()[0].split()
    assert int(quads) > 0
    assert listed == "1"


def test_requests_of_ended_readers_are_taken_away(registry: Registry, folder: Path) -> None:
    """A reader that is killed while it waits leaves a request."""
    requests = folder / "snapshots" / "requests"
    registry.close()
    with running(HOLDER, folder) as holder:
        assert line(holder) == "open"
        holder.send_signal(signal.SIGSTOP)
        code = "import sys, idstore; idstore.open(sys.argv[1], mode='shared', wait=600)"
        with running(code, folder) as reader:
            until(lambda: requests.exists() and any(requests.iterdir()), "a request")
            reader.kill()
        assert any(requests.iterdir())
        holder.send_signal(signal.SIGCONT)
        assert read(folder)["listed"] == 0
        for left in requests.iterdir():
            with suppress(FileNotFoundError):
                os.utime(left, (0, 0))
    idstore.open(folder).close()
    assert not any(requests.iterdir())


KILLED = """
import os, signal, sys, idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
for word in sys.argv[2:]:
    registry.register("names", word, alice)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_reader_first_completes_the_changes_of_a_killed_writer(registry: Registry, folder: Path) -> None:
    registry.close()
    run(KILLED, folder, *"abc", status=-signal.SIGKILL)
    with idstore.open(folder, mode="shared") as reader:
        assert labels(reader) == {"a", "b", "c"}
        assert reader.store.behind == ""


SERVED = """
import signal, sys, idstore
alice = idstore.Party("alice")
with idstore.open(sys.argv[1], wait=60) as registry:
    print("open", flush=True)
    for word in sys.stdin:
        print(registry.register("names", word.strip(), alice).label, flush=True)
"""


def test_many_readers_and_writers_take_turns(registry: Registry, folder: Path) -> None:
    """Processes open the store briefly, one after the other, while another one holds it long."""
    registry.close()
    with running(SERVED, folder) as holder:
        assert line(holder) == "open"
        for label in "abc":
            assert holder.stdin is not None
            holder.stdin.write(f"{label}\n")
            holder.stdin.flush()
            assert line(holder) == label
            commands = [sys.executable, "-c", READER, str(folder), "60"]
            readers = [subprocess.Popen(commands, stdout=subprocess.PIPE, text=True) for _ in range(3)]
            answers = [json.loads(reader.communicate(timeout=120)[0]) for reader in readers]
            assert {answer["listed"] for answer in answers} == {"abc".index(label) + 1}
        holder.communicate()


# users who may read only


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for a store that every user may read."""
    with reachable_folder() as folder:
        yield folder / "store"


def readable(folder: Path) -> None:
    """Let every user read the files of a store."""
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)


def as_other_user(folder: Path, expression: str, mode: str = "shared") -> str:
    """Evaluate an expression in a process that may only read the folder. Returns its output."""
    code = f"""
import fcntl
alice = idstore.Party("alice")
try:
    with idstore.open(sys.argv[1], mode={mode!r}, wait=0) as registry:
        print({expression})
except idstore.IdstoreError as error:
    print(type(error).__name__, error)
"""
    readable(folder)
    if os.geteuid() != 0:
        folder.chmod(0o555)
    try:
        return run_as(OTHER_USER if os.geteuid() == 0 else None, code, folder)
    finally:
        folder.chmod(0o755)


def test_a_folder_that_may_only_be_read(open_folder: Path) -> None:
    with create(open_folder) as registry:
        registry.register("names", "a", ALICE)
    assert as_other_user(open_folder, "len(registry.list(alice)), len(list(registry.log(alice)))") == "1 4\n"
    assert (
        as_other_user(
            open_folder, "registry.store.snapshot().catalogue.counts()[0], len(registry.list(alice))"
        )
        == "1 1\n"
    )
    assert as_other_user(open_folder, "[str(finding) for finding in registry.verify(alice)]") == "[]\n"
    assert sound(open_folder) == {"a"}


def test_a_reader_that_may_not_write_reads_no_file_that_a_writer_changes(open_folder: Path) -> None:
    """Without the store's lock and its shared memory, SQLite would not notice a change of the ledger."""
    with create(open_folder) as registry:
        registry.register("names", "a", ALICE)
    opened = """{os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}"""
    look = f"""(sys.argv[1] + "/ledger.sqlite") in {opened}, registry.show("names:a", alice).label"""
    assert as_other_user(open_folder, look, "read") == "False a\n"


def test_a_reader_that_may_not_write_checks_files_beside_a_snapshot_of_another(open_folder: Path) -> None:
    with create(open_folder) as registry:
        registry.register("names", "a", ALICE)
    with idstore.open(open_folder, mode="read"):  # leaves its snapshot in the folder
        pass
    assert [*open_folder.glob("snapshots/*")]
    findings = "[str(finding) for finding in registry.verify(alice)]"
    assert as_other_user(open_folder, findings, "read") == "[]\n"


def test_a_large_change_meanwhile_is_no_fault(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with create(place) as registry:
        registry.register("names", "a", ALICE)
    with (
        idstore.open(place, mode="read") as reader,
        reader.store.snapshot() as snapshot,
        idstore.open(place) as registry,
    ):
        registry.repair_counters(ALICE)
        assert list(snapshot.faults(lambda *_: None)) == []


def test_a_reader_that_may_not_write_makes_a_snapshot_of_its_own(open_folder: Path) -> None:
    """It is in a private folder, holds no lock, and goes with its reader."""
    with create(open_folder) as registry:
        registry.register("names", "a", ALICE)
    look = f"""json.dumps([
        len(registry.list(alice)), 0 < registry.age < 60, registry.refresh(), len(registry.list(alice)),
        fcntl.flock(open({str(open_folder / "lock")!r}), fcntl.LOCK_EX | fcntl.LOCK_NB),
        [str(finding) for finding in registry.verify(alice)],
        registry.backup(pathlib.Path(tempfile.mkdtemp()) / "copy", alice),
        [[str(one), oct(one.stat().st_mode)] for one in pathlib.Path(tempfile.gettempdir()).iterdir()
         if one.name.startswith("idstore-scratch-") and one.stat().st_uid == os.geteuid()],
    ])"""
    *answers, folders = json.loads(as_other_user(open_folder, look, "read"))
    assert answers == [1, True, None, 1, None, [], None]
    assert {mode for _, mode in folders} == {"0o40700"}
    assert not any(Path(path).exists() for path, _ in folders)


@pytest.mark.parametrize("part", ["engine", pytest.param("catalogue.sqlite", marks=pytest.mark.slow)])
def test_a_reader_does_not_skip_changes_that_it_may_not_recover(
    open_folder: Path, tmp_path: Path, part: str
) -> None:
    """Otherwise a party would keep a right that it lost by such a change."""
    with create(open_folder) as registry:
        iri = registry.register("names", "a", ALICE).iri
        registry.add_party(Party("bob"), ALICE)
        registry.grant(iri, Party("bob"), ALICE)
    place, earlier = generation(open_folder) / part, tmp_path / "earlier"
    copy(place, earlier)
    with idstore.open(open_folder) as registry:
        registry.ungrant(iri, Party("bob"), ALICE)
    shutil.move(place, tmp_path / "later")
    copy(earlier, place)
    listed = "[record.label for record in registry.list(idstore.Party('bob'))]"
    assert as_other_user(open_folder, listed).startswith(f"StoreUnavailable {open_folder}")
    with idstore.open(open_folder, mode="shared") as reader:
        assert reader.list(Party("bob")) == []
    assert as_other_user(open_folder, listed) == "[]\n"
    assert sound(open_folder) == {"a"}
