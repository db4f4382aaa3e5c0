"""Folders of stores that cannot be looked into, and those in which a store could not be made."""

import errno
import os
from pathlib import Path

import pytest
from command_lines import Minting, Run, tree

from idstore import Party
from idstore.registry import opening
from idstore.stores import backups, reader

IDENTIFIER = "R3732211754"
LONG = "x" * 300
"""No folder has such a name, whoever asks."""
COMMANDS = [("list",), ("mint", "rdl"), ("init",), ("export",), ("verify",), ("namespace", "add", "x", "10.5", "--scheme", "handle")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_folder_that_cannot_be_looked_into_is_told_with_what_helps(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    [line] = run(*words, "--store", tmp_path / LONG, code=6).err.splitlines()
    assert line.startswith(f"idstore: {tmp_path / LONG} cannot be looked into: File name too long; ") and "--store" in line


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_closed_folder_is_told_with_what_helps(
    run: Run, rdl: str, store: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert rdl
    before = tree(store)
    close(store, monkeypatch)
    [line] = run(*words, code=6).err.splitlines()
    assert line.startswith(f"idstore: {store} cannot be looked into: Permission denied; check the folder's permissions")
    monkeypatch.undo()
    assert tree(store) == before


def close(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody into the store, as ``chmod 000`` does, but for root."""
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


def test_check_does_without_such_a_store(run: Run, rdl: str, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rdl
    told = run("check", IDENTIFIER, "--store", tmp_path / LONG)
    assert IDENTIFIER in told.out and "idstore: warning: no registered namespace was asked" in told.err
    close(store, monkeypatch)
    told = run("check", IDENTIFIER)
    assert IDENTIFIER in told.out and "Permission denied" in told.err


def test_what_a_failed_backup_began_is_replaced_by_the_next(
    run: Run, mint: Minting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mint()

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(backups, "sync_tree", full)
    told = run("backup", tmp_path / "copy", code=6).err
    assert tree(tmp_path / "copy")  # so it is not said that nothing is there
    assert "No space left on device; free some space and try again (the next attempt replaces what this one began)" in told
    run("list", "--store", tmp_path / "copy", code=6)
    monkeypatch.undo()
    run("backup", tmp_path / "copy")
    assert run("verify", "--store", tmp_path / "copy").line == "sound"


def test_who_may_only_read_is_told_what_is_not_seen(
    run: Run, mint: Minting, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `mint` left to be applied is not seen by those who may not do it; the process is allowed everything here, so it is refused on purpose."""
    seen = mint()
    run("stats")
    with opening.open(store, brief=True) as brief:
        brief.mint("rdl", Party("alice"))

    monkeypatch.setattr(reader, "_may_write", lambda _: False)
    for words, out in ((("list",), seen), (("reconcile", store, store), "nothing to reconcile"), (("verify",), "sound")):
        told = run(*words)
        assert told.line.startswith(out)
        assert {line.partition(" in ")[0] for line in told.err.splitlines() if "warning" in line} == {
            "idstore: warning: what was done last"
        }
    refused = run("backup", tmp_path / "copy", code=6)
    assert f"{store} has changes that were acknowledged and not applied" in refused.err and not (tmp_path / "copy").exists()
