"""What an engine is made again from: whatever stops the removal of an earlier base, or damages one, the store opens, and loses nothing."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import idstore
from idstore.errors import StoreDamaged
from idstore.stores import bases
from idstore.stores.founding import discard, sync_folder

ALICE = idstore.Party("alice")
MANY = 110
"""Identifiers, so many that the engine is flushed at closing, which makes a base."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A closed store with a base."""
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        for number in range(MANY):
            registry.register("names", f"n{number}", ALICE)
    return tmp_path / "store"


def folders(place: Path) -> list[str]:
    return sorted(folder.name for folder in (place / "generation-1").iterdir() if folder.is_dir())


def base_of(place: Path) -> Path:
    [base] = (place / "generation-1").glob("base-*")
    return base


def break_engine(place: Path) -> None:
    (place / "generation-1" / "engine" / "CURRENT").unlink()


def has_all(place: Path) -> bool:
    with idstore.open(place) as registry:
        return len(registry.list(ALICE, limit=None)) == MANY and list(registry.verify(ALICE)) == []


CUT = """
import os, shutil, signal, sys  # shutil: it looks at its import for what the system can do
import idstore
from idstore.stores import bases
remove = os.unlink
def cut(path, *, dir_fd=None):
    remove(path, dir_fd=dir_fd)
    if path == "event":
        os.kill(os.getpid(), signal.SIGKILL)
bases.outgrown = lambda _: True
os.unlink = cut
idstore.open(sys.argv[1]).close()
"""


def test_a_base_that_is_removed_in_part_is_none(place: Path) -> None:
    first = base_of(place).name
    assert subprocess.run([sys.executable, "-c", CUT, str(place)], check=False).returncode == -signal.SIGKILL
    assert base_of(place).name.split("-")[1] == first.split("-")[1], "of the same change"
    assert folders(place) == sorted([base_of(place).name, "engine", first.replace("base-", "gone-")])
    break_engine(place)
    assert has_all(place)
    assert folders(place) == [base_of(place).name, "engine"]


def test_a_name_is_gone_from_the_disk_before_anything_is_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = base_of(place).name
    done: list[str] = []

    def synced(folder: Path) -> None:
        sync_folder(folder)
        done.append("synced" if folder.name == "generation-1" and first not in folders(place) else "other")

    def discarded(given: Iterable[Path]) -> None:
        found = list(given)
        discard(found)
        done.extend("removed" for folder in found if folder.name == first.replace("base-", "gone-"))

    monkeypatch.setattr(bases, "outgrown", lambda _: True)
    monkeypatch.setattr(bases, "sync_folder", synced)
    monkeypatch.setattr(bases, "discard", discarded)
    idstore.open(place).close()
    assert done[-2:] == ["synced", "removed"]
    assert folders(place) == [base_of(place).name, "engine"]


def test_what_was_left_is_removed_when_its_name_is_gone_from_the_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = base_of(place).with_name("gone-1-x")
    shutil.copytree(base_of(place), left)

    def refuse(_: Path) -> None:
        raise OSError("the disk refuses")

    monkeypatch.setattr(bases, "sync_folder", refuse)
    idstore.open(place).close()
    assert (left / "event").exists(), "the name may still be a base's after a power cut"
    monkeypatch.undo()
    idstore.open(place).close()
    assert not left.exists()


def without_event(base: Path) -> None:
    (base / "event").unlink()


def with_another_text(base: Path) -> None:
    (base / "event").write_text("no IRI")


def without_text(base: Path) -> None:
    (base / "event").write_bytes(b"\xff")


@pytest.mark.parametrize("damage", [without_event, with_another_text, without_text])
def test_a_sound_engine_opens_whatever_its_base_is(place: Path, damage: Callable[[Path], None]) -> None:
    damaged = base_of(place)
    damage(damaged)
    for brief in (True, False):
        idstore.open(place, brief=brief).close()
    assert has_all(place)
    assert base_of(place) != damaged, "another one took its place"
    break_engine(place)
    assert has_all(place)


@pytest.mark.parametrize("token", ["-", "zzzzzzzz"])
def test_the_base_that_can_be_used_is_taken(place: Path, token: str) -> None:
    base = base_of(place)
    shutil.copytree(base / "engine", base.with_name(f"base-{base.name.split('-')[1]}-{token}") / "engine")
    shutil.copytree(base, base.with_name("base-old"))
    shutil.copytree(base, base.with_name("base-9999999-"))
    break_engine(place)
    assert has_all(place)
    assert base.with_name("base-old").exists(), "no base of ours"


def test_an_engine_without_any_base_that_can_be_used_is_left_as_it_is(place: Path) -> None:
    without_event(base_of(place))
    break_engine(place)
    before = folders(place)
    for _ in range(2):
        with pytest.raises(
            StoreDamaged, match=r"^the store is damaged: neither .*engine nor the base beside it.*; keep its files, and restore a backup$"
        ):
            idstore.open(place)
    assert folders(place) == before


def test_a_backup_has_one_base(place: Path, tmp_path: Path) -> None:
    shutil.copytree(base_of(place), base_of(place).with_name("gone-1-x"))
    with idstore.open(place, read_only=True) as registry:
        registry.backup(tmp_path / "copy", ALICE)
    assert folders(tmp_path / "copy") == [base_of(tmp_path / "copy").name, "engine"]
