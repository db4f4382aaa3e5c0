"""Folders of stores that cannot be read, and those in which a store could not be made."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Minting, Run, tree
from reachable_folders import reachable_folder

import idstore
from idstore import opening
from idstore.stores import files

IDENTIFIER = "R3732211754"
LONG = "x" * 300
"""A folder name that does not exist for any user."""
OTHER_USER = 65533
"""A user who owns no file."""

pytestmark = pytest.mark.local("these tests close, remove or damage the folder")

AS_READER = f"""
import importlib, os, pkgutil, sys
import idstore, typer
from idstore.cli import app

for package in (idstore, typer):  # which load modules when needed; that user may not be able to read them
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        name = module.name
        if not name.endswith(("__main__", "_winconsole")) and not name.startswith("idstore.testing"):
            importlib.import_module(module.name)
idstore.schemes.installed()
if os.geteuid() == 0:
    os.setresuid({OTHER_USER}, {OTHER_USER}, {OTHER_USER})
sys.exit(app.run(sys.argv[1:]))
"""
COMMANDS = [
    ("list",),
    ("mint", "rdl"),
    ("init",),
    ("export",),
    ("verify",),
    ("namespace", "add", "x", "10.5", "--scheme", "handle"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unreadable_folder_is_reported_with_a_remedy(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    [line] = run(*words, "--store", tmp_path / LONG, code=6).err.splitlines()
    assert (
        line.startswith(f"idstore: {tmp_path / LONG} cannot be read: File name too long; ")
        and "--store" in line
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_folder_without_permissions_is_reported_with_a_remedy(
    run: Run, rdl: str, store: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert rdl
    before = tree(store)
    close(store, monkeypatch)
    [line] = run(*words, code=6).err.splitlines()
    assert line.startswith(
        f"idstore: {store} cannot be read: Permission denied; check the folder's permissions"
    )
    monkeypatch.undo()
    assert tree(store) == before


def close(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deny every user but root access to the store, as ``chmod 000`` does."""
    look, enter = Path.stat, os.listdir

    def refuse_inside(path: Path, **more: bool) -> os.stat_result:
        if store in path.parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return look(path, **more)

    def refuse(path: Path) -> list[str]:
        if Path(path) == store:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return enter(path)

    monkeypatch.setattr(Path, "stat", refuse_inside)
    monkeypatch.setattr(os, "listdir", refuse)


def test_check_works_beside_an_unreadable_store(
    run: Run, rdl: str, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rdl
    told = run("check", IDENTIFIER, "--store", tmp_path / LONG)
    assert (
        IDENTIFIER in told.out and "idstore: warning: the namespaces of the store were not tried" in told.err
    )
    close(store, monkeypatch)
    outcome = run("check", IDENTIFIER)
    assert IDENTIFIER in outcome.out and "Permission denied" in outcome.err


def test_the_next_backup_replaces_the_rest_of_a_failed_one(
    run: Run, mint: Minting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mint()

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "sync_tree", full)
    outcome = run("backup", tmp_path / "copy", code=6).err
    assert tree(tmp_path / "copy")  # so the message must not claim that the folder is empty
    assert (
        "the disk is full; free some space and try again (the next attempt replaces what this one began)"
        in outcome
    )
    run("list", "--store", tmp_path / "copy", code=6)
    monkeypatch.undo()
    run("backup", tmp_path / "copy")
    assert run("verify", "--store", tmp_path / "copy").line == "sound"


@pytest.fixture
def left_behind(mint: Minting, run: Run, store: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield a world-readable store whose process was killed between ledger and engine."""
    mint()
    engine, earlier = next(store.glob("generation-*")) / "engine", tmp_path / "earlier"
    shutil.copytree(engine, earlier)
    mint()
    shutil.rmtree(engine)
    shutil.move(earlier, engine)
    with reachable_folder() as folder:
        place = folder / "store"
        shutil.copytree(store, place)
        yield place
        place.chmod(0o755)
        assert run("verify", "--store", place).line == "sound"
        assert len(run("list", "--store", place).lines) == 2


def as_reader(store: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a user who may read the store but not write in its folder."""
    for place in (store, *store.rglob("*")):
        place.chmod(0o555 if place.is_dir() else 0o444)
    command = [sys.executable, "-c", AS_READER, "--store", str(store), "--user", "alice", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


@pytest.mark.parametrize(
    "command", ["list", "verify", "export", "reconcile {0} {0}", "query ASK{{}}", "backup {1}"]
)
def test_a_reader_is_refused_while_the_store_needs_recovery(
    left_behind: Path, tmp_path: Path, command: str
) -> None:
    """A reader without write permission sees no state that lacks an acknowledged act."""
    words = [word.format(left_behind, tmp_path / "copy") for word in command.split()]
    told = as_reader(left_behind, *words)
    assert (told.returncode, told.stdout) == (6, ""), told.stderr
    [line] = told.stderr.splitlines()
    assert line.startswith(
        f"idstore: {left_behind} has acknowledged changes that a killed process left unapplied; an account"
        " with write permission"
    )
    assert not (tmp_path / "copy").exists()


def test_a_reader_without_write_permission_reads_a_recovered_store(left_behind: Path, run: Run) -> None:
    run("stats", "--store", left_behind)
    assert len(as_reader(left_behind, "list").stdout.splitlines()) == 2
    assert as_reader(left_behind, "verify").stdout == "sound\n"


@pytest.mark.parametrize("form", ["~/reg", "~"])
def test_a_home_folder_is_written_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Otherwise each working directory would get a registry of its own, in a folder named ~."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(elsewhere)
    place = home / form[2:]
    assert run("init", "--store", form).line == str(place)
    assert (place / "ledger.sqlite").is_file()
    assert list(elsewhere.iterdir()) == []


def test_the_home_folder_of_nobody_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "there is no home folder" in run("init", "--store", "~no-such-account/x", code=2).err
    assert list(tmp_path.iterdir()) == []
    run("init", "--store", "./~no-such-account")
    assert (tmp_path / "~no-such-account" / "ledger.sqlite").is_file()


def test_a_folder_whose_name_is_not_utf_8_takes_no_store(run: Run, tmp_path: Path) -> None:
    place = os.fsdecode(os.fsencode(tmp_path) + b"/st\xff")
    assert "its full name is not UTF-8" in run("init", "--store", place, code=6).err
    run("init", "--store", tmp_path / "store")
    assert "its full name is not UTF-8" in run("backup", place, "--store", tmp_path / "store", code=6).err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    (tmp_path / "store").rename(place)
    assert "its full name is not UTF-8" in run("stats", "--store", place, code=6).err


def test_a_home_folder_is_expanded_wherever_a_folder_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", str(home))
    run("init")
    run("backup", "~/copy")
    run("restore", "~/copy", "--store", "~/restored")
    with idstore.open("~/library", administrator=idstore.Party("ada")) as registry:
        registry.backup("~/second", idstore.Party("ada"))
    opening.restore("~/second", "~/third")
    assert opening.exists("~/third")
    assert {path.name for path in home.iterdir()} >= {"copy", "restored", "library", "second", "third"}
    assert list(elsewhere.iterdir()) == []
    with pytest.raises(idstore.StoreUnavailable, match="there is no home folder"):
        idstore.open("~no-such-account/x")


@pytest.mark.parametrize("lost", ["ledger.sqlite", "generation-1/catalogue.sqlite", "generation-1"])
@pytest.mark.parametrize("words", [("list",), ("mint", "rdl"), ("init",), ("verify",), ("stats",)])
def test_a_store_without_one_of_its_files_is_damaged_and_not_absent(
    run: Run, rdl: str, store: Path, lost: str, words: tuple[str, ...]
) -> None:
    assert rdl
    if (store / lost).is_dir():
        shutil.rmtree(store / lost)
    else:
        for file in store.glob(f"{lost}*"):
            file.unlink()
    before = set(store.rglob("*"))
    told = run(*words, code=6).err
    assert "damaged" in told and "is missing; keep its files, and restore a backup" in told
    assert told.endswith("(idstore restore BACKUP --store NEW-FOLDER)\n")
    assert {path.parent for path in set(store.rglob("*")) - before} <= {store}, "nothing is made anew"


def test_a_backup_is_restored_as_the_message_of_a_damaged_store_says(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    id = mint()
    run("backup", tmp_path / "backup")
    (store / "ledger.sqlite").unlink()
    run("show", id, code=6)
    run("restore", tmp_path / "backup", "--store", tmp_path / "new")
    assert run("show", id, "--store", tmp_path / "new", "--json").object["id"] == id
