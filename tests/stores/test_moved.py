"""A store whose folder is removed, moved or replaced while a process has it open.

Every acknowledged change is in the folder. The process may keep files open until its end, so the tests check
a copy.
"""

import os
import shutil
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from store_files import (
    ALICE,
    PATIENCE,
    Thread,
    copy,
    create,
    labels,
    line,
    register,
    run,
    running,
    sound_copy,
    until,
)

import idstore
from idstore import Registry
from idstore.errors import StoreUnavailable
from idstore.stores.contract import Transaction


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A closed store."""
    with create(tmp_path / "store") as registry:
        register(registry, ["first"])
    return tmp_path / "store"


def removed(place: Path) -> None:
    while place.exists():  # the engine may remove a table at the same time
        shutil.rmtree(place, ignore_errors=True)


def moved(place: Path) -> None:
    place.rename(place.with_name("moved"))


def replaced(place: Path) -> None:
    """Replace the store by a copy, as a restored backup does."""
    copy(place, place.with_name("copy"))
    place.rename(place.with_name("moved"))
    place.with_name("copy").rename(place)


def above_moved(place: Path) -> None:
    """Move the folder above the store."""
    target = place.parent.with_name(f"{place.parent.name}-elsewhere")
    os.rename(place.parent, target)  # noqa: PTH104 its own path changes


def unlocked(place: Path) -> None:
    (place / "lock").unlink()


def locked_anew(place: Path) -> None:
    (place / "lock").unlink()
    (place / "lock").touch()


FATES = [removed, moved, replaced, unlocked, locked_anew]


def refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except StoreUnavailable as error:
        return str(error)
    return "it was not refused"


@pytest.mark.parametrize("fate", FATES)
def test_a_moved_or_removed_store_acknowledges_no_change(place: Path, fate: Callable[[Path], None]) -> None:
    registry = idstore.open(place)
    register(registry, ["second"])
    fate(place)
    for _ in range(2):
        assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "third", ALICE))
    with pytest.raises(StoreUnavailable), registry.store.bulk() as bulk:
        Registry(bulk).register("names", "third", ALICE)
    registry.close()
    for left in (place, place.with_name("moved")):
        if left.exists():
            assert sound_copy(left) == {"first", "second"}
            shutil.rmtree(left)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite-wal"])
def test_a_ledger_that_was_removed_or_replaced_acknowledges_no_change(
    place: Path, name: str, kept: bool
) -> None:
    registry = idstore.open(place)
    register(registry, ["second"])
    file, aside = place / name, place.with_name(name)
    file.rename(aside)
    if kept:
        shutil.copyfile(aside, file)
    for _ in range(2):
        assert "removed or replaced" in refusal(lambda: registry.register("names", "third", ALICE))
    file.unlink(missing_ok=True)
    aside.rename(file)
    register(registry, ["fourth"])
    registry.close()
    assert sound_copy(place) == {"first", "second", "fourth"}


@pytest.mark.parametrize("fate", FATES)
def test_every_thread_that_waits_is_answered(place: Path, fate: Callable[[Path], None]) -> None:
    registry = idstore.open(place)
    acting, go = threading.Event(), threading.Event()

    def slow(transaction: Transaction) -> None:
        acting.set()
        assert go.wait(PATIENCE)
        transaction.note("test", "slow")

    first = Thread(lambda: refusal(lambda: registry.store.write(slow)))
    assert acting.wait(PATIENCE)
    others = [
        Thread(partial(refusal, partial(registry.register, "names", f"n{number}", ALICE)))
        for number in range(8)
    ]
    fate(place)
    go.set()
    for thread in (first, *others):
        assert "moved, removed or replaced" in thread.result()
    Thread(registry.close).result()
    for left in (place, place.with_name("moved")):
        if left.exists():
            assert sound_copy(left) == {"first"}
            shutil.rmtree(left)


@pytest.mark.parametrize("fate", FATES)
def test_threads_of_a_moved_store_raise_and_keep_acknowledged_changes(
    place: Path, fate: Callable[[Path], None]
) -> None:
    registry = idstore.open(place)
    acknowledged: list[str] = []

    def work(number: int) -> str:
        turn = 0
        while True:
            try:
                acknowledged.append(registry.register("names", f"t{number}-{turn}", ALICE).label)
            except StoreUnavailable as error:
                return str(error)
            turn += 1

    threads = [Thread(lambda number=number: work(number)) for number in range(4)]  # type: ignore[misc]
    until(lambda: len(acknowledged) > 20, "20 acts")
    copied = len(acknowledged)
    fate(place)
    messages = [thread.result() for thread in threads]
    assert all(
        "moved, removed or replaced" in message or "cannot" in message or "damaged" in message
        for message in messages
    ), messages
    Thread(registry.close).result()
    if fate is moved:
        assert set(acknowledged) <= sound_copy(place.with_name("moved"))
    elif fate in (unlocked, locked_anew):
        assert set(acknowledged) <= sound_copy(place)
    assert len(acknowledged) >= copied


HOLDER = """
import sys, idstore
with idstore.open(sys.argv[1], wait=0):
    print("open", flush=True)
    sys.stdin.read()
"""
OPENER = """
import sys, idstore
try:
    idstore.open(sys.argv[1], wait=0)
except idstore.errors.StoreUnavailable:
    sys.exit(6)
"""


def test_another_process_opens_the_copy_that_replaced_the_store(place: Path) -> None:
    registry = idstore.open(place)
    replaced(place)
    with running(HOLDER, place) as other:
        assert line(other) == "open"
        assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "second", ALICE))
        other.communicate()
        assert other.returncode == 0
    registry.close()
    assert sound_copy(place) == sound_copy(place.with_name("moved")) == {"first"}


@pytest.mark.parametrize("fate", [moved, unlocked, locked_anew])
def test_another_process_cannot_open_files_in_use(place: Path, fate: Callable[[Path], None]) -> None:
    """The lock moves with the folder. If it is gone, the engine's own lock keeps other processes out."""
    registry = idstore.open(place)
    fate(place)
    now = place.with_name("moved") if fate is moved else place
    run(OPENER, now, status=6)
    assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "second", ALICE))
    registry.close()
    assert sound_copy(now) == {"first"}


@pytest.mark.parametrize("fate", [moved, unlocked, locked_anew])
def test_another_process_can_open_a_moved_store_after_its_closing(
    place: Path, fate: Callable[[Path], None]
) -> None:
    """The folder is the opened one, so closing its files touches no other store."""
    registry = idstore.open(place)
    register(registry, ["second"])
    fate(place)
    assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "third", ALICE))
    registry.close()
    now = place.with_name("moved") if fate is moved else place
    with running(HOLDER, now) as other:
        assert line(other) == "open"


READER = """
import sys, idstore
alice = idstore.Party("alice")
with idstore.open(sys.argv[1], mode="shared") as reader:
    print("open", flush=True)
    sys.stdin.read()
    print(sorted(record.label for record in reader.list(alice)))
"""


def test_a_reader_of_a_moved_store_continues_or_raises(place: Path) -> None:
    with running(READER, place) as reader:
        assert line(reader) == "open"
        moved(place)
        output = reader.communicate()[0]
    assert output in ("['first']\n", "") or "moved" in output
    assert sound_copy(place.with_name("moved")) == {"first"}


def test_a_store_moved_back_to_its_place_takes_changes_again(place: Path) -> None:
    """It takes them in the same process, or after another opening."""
    with idstore.open(place) as registry:
        moved(place)
        assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "second", ALICE))
        place.with_name("moved").rename(place)
        again = refusal(lambda: registry.register("names", "third", ALICE))
        assert again == "it was not refused" or "open" in again
        if again == "it was not refused":
            assert labels(registry) == {"first", "third"}
    assert sound_copy(place) - {"third"} == {"first"}


def test_a_moved_parent_folder_is_reported(tmp_path: Path) -> None:
    above = tmp_path / "above"
    above.mkdir()
    registry = create(above / "store")
    register(registry, ["first"])
    above_moved(above / "store")
    assert "moved, removed or replaced" in refusal(lambda: registry.register("names", "second", ALICE))
    registry.close()
    assert sound_copy(tmp_path / "above-elsewhere" / "store") == {"first"}


KILLED_LATER = """
import os, signal, sys, idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
try:
    registry.register("names", "second", alice)
    print("acknowledged", flush=True)
except idstore.errors.StoreUnavailable as error:
    print("refused", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("fate", [moved, unlocked, locked_anew])
def test_a_refused_act_is_not_found_again_after_a_kill(place: Path, fate: Callable[[Path], None]) -> None:
    with running(KILLED_LATER, place) as process:
        assert line(process) == "open"
        fate(place)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert line(process) == "refused"
        process.wait(PATIENCE)
        assert process.returncode == -signal.SIGKILL
    assert sound_copy(place.with_name("moved") if fate is moved else place) == {"first"}
