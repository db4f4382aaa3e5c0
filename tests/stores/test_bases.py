"""Bases, from which a store rebuilds a broken engine.

The store opens without a loss if the removal of an earlier base is cut short, or if a base is damaged.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from pyoxigraph import Store
from store_files import ALICE, create, flip, generation, ledger, register, run, sound

import idstore
from idstore.errors import StoreDamaged
from idstore.stores import lock

MANY = 110
"""Acts that make closing flush the engine, so that it makes a base and prunes the ledger."""
LABELS = {f"n{number}" for number in range(MANY)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A closed store with a base."""
    with create(tmp_path / "store") as registry:
        register(registry, sorted(LABELS))
    return tmp_path / "store"


def folders(place: Path) -> list[str]:
    return sorted(folder.name for folder in generation(place).iterdir() if folder.is_dir())


def base_of(place: Path) -> Path:
    [base] = generation(place).glob("base-*")
    return base


def break_engine(place: Path) -> None:
    (generation(place) / "engine" / "CURRENT").unlink()


def test_a_broken_engine_is_rebuilt_from_its_base_and_the_ledger(place: Path) -> None:
    with idstore.open(place) as registry:
        more = register(registry, ["one", "two"])
        registry.release("names:two", ALICE)
    break_engine(place)
    assert sound(place) == LABELS | more - {"two"}
    assert folders(place) == [base_of(place).name, "engine"]


def test_a_broken_engine_without_a_base_is_rebuilt_from_the_ledger(tmp_path: Path) -> None:
    with create(tmp_path / "store") as registry:
        register(registry, "abc")
    assert folders(tmp_path / "store") == ["engine"]
    break_engine(tmp_path / "store")
    assert sound(tmp_path / "store") == {"a", "b", "c"}


def test_a_broken_engine_is_rebuilt_beside_an_older_catalogue(place: Path, tmp_path: Path) -> None:
    catalogue = generation(place) / "catalogue.sqlite"
    shutil.copyfile(catalogue, tmp_path / "earlier")
    with idstore.open(place) as registry:
        more = register(registry, ["one", "two"])
    shutil.copyfile(tmp_path / "earlier", catalogue)
    break_engine(place)
    assert sound(place) == LABELS | more


CUT = """
import os, shutil, signal, sys  # shutil: at its import it checks the abilities of os.unlink
import idstore
from pathlib import Path
place, alice = Path(sys.argv[1]), idstore.Party("alice")
registry = idstore.open(place)
for number in range(int(sys.argv[2])):
    registry.register("names", f"more{number}", alice)
remove, left = os.unlink, [int(sys.argv[3])]
def cut(path, *, dir_fd=None):
    remove(path, dir_fd=dir_fd)
    if any(place.glob("generation-*/gone-*")):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
os.unlink = cut
registry.close()
"""


@pytest.mark.parametrize("removed", [1, 4])
def test_a_partly_removed_base_is_ignored(place: Path, removed: int) -> None:
    first = base_of(place).name
    run(CUT, place, MANY, removed, status=-signal.SIGKILL)
    assert folders(place) == sorted([base_of(place).name, "engine", first.replace("base-", "gone-")])
    break_engine(place)
    whole = LABELS | {f"more{number}" for number in range(MANY)}
    assert sound(place) == whole
    assert folders(place) == [base_of(place).name, "engine"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Renames, syncs and removals of this process from now on, in order.

    Engine and databases sync by themselves; those syncs are not listed.
    """
    noted: list[tuple[str, str]] = []
    fsync, rename, unlink = os.fsync, os.rename, os.unlink

    def name_of(number: int) -> str:
        return str(Path(f"/proc/self/fd/{number}").readlink())

    def noted_sync(number: int) -> None:
        noted.append(("sync", name_of(number)))
        fsync(number)

    def noted_rename(source: str, target: str) -> None:
        rename(source, target)
        noted.append(("rename", str(target)))

    def noted_unlink(path: str, *, dir_fd: int | None = None) -> None:
        noted.append(("remove", str(path) if dir_fd is None else f"{name_of(dir_fd)}/{path}"))
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "rename", noted_rename)
    monkeypatch.setattr(os, "unlink", noted_unlink)
    return noted


def test_a_rename_is_on_disk_before_files_are_removed(place: Path, calls: list[tuple[str, str]]) -> None:
    with idstore.open(place) as registry:
        register(registry, (f"more{number}" for number in range(MANY)))
    renamed = next(
        number for number, (what, name) in enumerate(calls) if what == "rename" and "/gone-" in name
    )
    removed = next(
        number for number, (what, name) in enumerate(calls) if what == "remove" and "/gone-" in name
    )
    assert ("sync", str(generation(place))) in calls[renamed:removed]


def test_a_base_is_on_disk_before_it_has_its_name_and_before_rows_are_pruned(
    place: Path, calls: list[tuple[str, str]]
) -> None:
    with idstore.open(place) as registry:
        register(registry, (f"more{number}" for number in range(MANY)))
    named = next(number for number, (what, name) in enumerate(calls) if what == "rename" and "/base-" in name)
    draft = str(generation(place) / "draft")
    synced = {name for what, name in calls[:named] if what == "sync"}
    there = {str(path).replace(str(base_of(place)), draft) for path in base_of(place).rglob("*")}
    assert there | {draft} <= synced
    assert ("sync", str(generation(place))) in calls[named:]


def without_engine(base: Path) -> None:
    shutil.rmtree(base / "engine")


def emptied(base: Path) -> None:
    for entry in base.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def without_current(base: Path) -> None:
    (base / "engine" / "CURRENT").unlink()


@pytest.mark.parametrize("damage", [without_engine, emptied, without_current])
def test_a_sound_engine_opens_beside_a_damaged_base(place: Path, damage: Callable[[Path], None]) -> None:
    damage(base_of(place))
    idstore.open(place, mode="shared").close()
    with idstore.open(place) as registry:
        assert {record.label for record in registry.list(ALICE, limit=None)} == LABELS
        assert {"the base beside" in str(finding) for finding in registry.verify(ALICE)} == {True}


@pytest.mark.parametrize("damage", [without_engine, emptied, without_current])
def test_a_damaged_engine_with_a_damaged_base_is_left_as_it_is(
    place: Path, damage: Callable[[Path], None]
) -> None:
    """The ledger was pruned, so it cannot replace the engine's lost content."""
    damage(base_of(place))
    break_engine(place)
    before = folders(place)
    for _ in range(2):
        with pytest.raises(
            StoreDamaged,
            match=r"^the store is damaged: neither .*engine nor the base beside it"
            r".*; keep its files, and restore a backup$",
        ):
            idstore.open(place)
    assert folders(place) == before


def test_a_broken_engine_without_a_base_is_damage_after_pruning(place: Path) -> None:
    shutil.rmtree(base_of(place))
    break_engine(place)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="restore a backup"):
            idstore.open(place)


def test_other_folders_of_a_similar_name_are_passed_over(place: Path) -> None:
    base = base_of(place)
    for name in ("base-old", "base-", "base-12", "bases"):
        shutil.copytree(base, base.with_name(name))
    break_engine(place)
    assert sound(place) == LABELS
    assert base.with_name("base-old").exists()


def test_a_reader_does_not_repair_the_engine_of_a_read_only_store(place: Path) -> None:
    """A reader that may write recovers the store first, and does not open an incomplete engine."""
    break_engine(place)
    with idstore.open(place, mode="shared") as reader:
        assert {record.label for record in reader.list(ALICE, limit=None)} == LABELS
    assert sound(place) == LABELS


def test_a_backup_has_a_base_of_its_own(place: Path, tmp_path: Path) -> None:
    shutil.copytree(base_of(place), base_of(place).with_name("gone-1-x"))
    copy = tmp_path / "copy"
    with idstore.open(place, mode="shared") as registry:
        registry.backup(copy, ALICE)
    assert folders(copy) == [base_of(copy).name, "engine"]
    break_engine(copy)
    assert sound(copy) == LABELS
    assert ledger(copy).exists()


def without_a_change(folder: Path) -> idstore.Record:
    """Make a store whose engine lacks an identifier, as after a restart of the system. Return that one."""
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        lost, *_ = [registry.mint("rdl", ALICE, idstore.Request(name="valve")) for _ in range(9)]
        [event] = [entry.event for entry in registry.log(ALICE, idstore.Filter(id=lost))]
    engine = Store(str(generation(folder) / "engine"))
    for node in (lost.node, event.node):
        for quad in list(engine.quads_for_pattern(node, None, None, None)):
            engine.remove(quad)
    engine.flush()
    del engine
    with idstore.open(folder) as registry:
        assert list(registry.verify(ALICE))
    (folder / "lock").write_text("boot of another time\n")
    return lost


@pytest.mark.parametrize("refused", [False, True])
def test_an_engine_that_lost_a_change_in_a_loss_of_power_is_rebuilt(tmp_path: Path, *, refused: bool) -> None:
    """Its log can lose a batch in the middle. That is looked for once after each start of the system.

    refused  whether the first opening since the start got no further than the lock.
    """
    folder = tmp_path / "store"
    lost = without_a_change(folder)
    if refused:
        kept = ledger(folder).rename(tmp_path / "kept")
        with pytest.raises(idstore.StoreDamaged):
            idstore.open(folder)
        kept.rename(ledger(folder))
    with idstore.open(folder) as registry:
        assert list(registry.verify(ALICE)) == []
        assert registry.show(lost, ALICE) == lost


@pytest.mark.parametrize("mode", ["shared", "read"])
def test_the_first_reader_after_a_loss_of_power_has_the_engine_rebuilt(
    tmp_path: Path, mode: Literal["shared", "read"]
) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    lost = without_a_change(folder)
    with idstore.open(folder, mode=mode) as registry:
        assert registry.show(lost, ALICE) == lost
        registry.backup(copy, ALICE)
    with idstore.open(copy) as registry:
        assert list(registry.verify(ALICE)) == []
        assert registry.show(lost, ALICE) == lost


def flipped(base: Path) -> None:
    for table in base.glob("engine/*.sst"):
        flip(table, table.stat().st_size // 2)


def cut(base: Path) -> None:
    [manifest] = base.glob("engine/MANIFEST-*")
    os.truncate(manifest, 10)


@pytest.mark.parametrize(
    ("damage", "message"),
    [(flipped, "the base beside .*engine: "), (cut, "the base beside"), (shutil.rmtree, "has no base")],
)
def test_verify_reads_the_base(place: Path, damage: Callable[[Path], None], message: str) -> None:
    base = base_of(place)
    for table in base.glob("engine/*.sst"):  # shared with the engine, which shall stay sound
        shutil.copyfile(table, table.with_suffix(".copy"))
        table.with_suffix(".copy").replace(table)
    with idstore.open(place, mode="read") as registry:
        assert list(registry.verify(ALICE)) == []
    damage(base)
    with idstore.open(place, mode="read") as registry:
        assert [one for one in registry.verify(ALICE) if re.search(message, str(one))]


def test_a_system_without_a_boot_id_may_have_started_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_BOOT", tmp_path / "none")
    lock._boot.cache_clear()
    try:
        for _ in range(2):
            taken = lock.DirectoryLock(tmp_path / "lock")
            taken.acquire(shared=False, wait=0)
            assert taken.restarted
            taken.found_whole()
            taken.release()
    finally:
        lock._boot.cache_clear()
