"""Folders for temporary files: a process removes those of killed processes, and no others."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import idstore
from idstore import Party, scratch
from idstore.exchange import rdf
from idstore.validation.registries import check_file

ALICE = Party("alice")
HOLDER = """
from idstore import scratch
with scratch.folder() as folder:
    (folder / "draft").write_text("not published")
    print(folder, flush=True)
    input()
"""
LONG_AGO = 1_000_000_000


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this process and its children."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def holder() -> tuple[subprocess.Popen[str], Path]:
    """Start a process that works in a folder; return both. The folder looks old."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    os.utime(folder, (LONG_AGO, LONG_AGO))
    return process, folder


def swept() -> None:
    with scratch.folder():
        pass


FORKING = """
import os, sys
from idstore import scratch
with scratch.folder() as folder:
    if os.fork() == 0:
        sys.exit()
    os.wait()
    print(folder.exists())
"""


@pytest.mark.usefixtures("temporary")
def test_a_fork_does_not_remove_the_folder_of_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_folder_is_private_and_gone_when_the_block_ends(temporary: Path) -> None:
    with suppress(KeyError), scratch.folder() as folder:
        assert folder.parent == temporary and folder.stat().st_mode & 0o077 == 0
        (folder / "file").touch()
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed(temporary: Path) -> None:
    process, folder = holder()
    with process:
        swept()
        assert (folder / "draft").exists(), "it is in use"
        process.send_signal(signal.SIGKILL)
    os.utime(folder)
    swept()
    assert folder.exists(), "the folder may be new"
    os.utime(folder, (LONG_AGO, LONG_AGO))
    swept()
    assert list(temporary.iterdir()) == []


def test_other_entries_are_left_alone(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, folder = holder()
    with process:
        process.kill()
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "kept").mkdir(parents=True)
    os.utime(elsewhere, (LONG_AGO, LONG_AGO))
    (temporary / "idstore-scratch-link").symlink_to(elsewhere)
    (temporary / "idstore-scratch-file").touch()
    (temporary / "idstore-quickstart-x").mkdir()
    for kept in ("idstore-scratch-file", "idstore-quickstart-x"):
        os.utime(temporary / kept, (LONG_AGO, LONG_AGO))
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    swept()
    assert folder.exists(), "another user's"
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    swept()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "idstore-quickstart-x",
        "idstore-scratch-file",
        "idstore-scratch-link",
    ]
    assert (elsewhere / "kept").exists()


def exported(folder: Path) -> Path:
    """Return an export with a draft."""
    with idstore.open(folder / "one", administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "a", ALICE)
        with (folder / "all.ttl").open("wb") as file:
            rdf.export(registry, file, ALICE)
    return folder / "all.ttl"


def test_the_store_of_a_killed_validation_is_removed_by_the_next_one(temporary: Path, tmp_path: Path) -> None:
    file = exported(tmp_path)
    code = f"""
import os
from idstore.exchange import sorted_import
from idstore.validation.registries import check_file
sorted_import.SortedImport.number = lambda *_: os.kill(os.getpid(), 9)
check_file({str(file)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    left = [*temporary.iterdir()]
    assert any((folder / "store").exists() for folder in left)
    for folder in left:
        os.utime(folder, (LONG_AGO, LONG_AGO))
    assert check_file(file).results == ()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_import_is_removed_by_the_next_import(temporary: Path, tmp_path: Path) -> None:
    exported(tmp_path)
    code = f"""
import os, sys, idstore
from pathlib import Path
from idstore.exchange import rdf, sorted_import
sorted_import.SortedImport.number = lambda *_: os.kill(os.getpid(), 9)
with idstore.open({str(tmp_path / "two")!r}, administrator=idstore.Party("alice")) as registry:
    rdf.import_registry(registry, [Path({str(tmp_path / "all.ttl")!r})], idstore.Party("alice"))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    [left] = temporary.iterdir()
    assert any(left.iterdir())
    os.utime(left, (LONG_AGO, LONG_AGO))
    with idstore.open(tmp_path / "two") as registry:
        rdf.import_registry(registry, [tmp_path / "all.ttl"], ALICE)
        assert len(registry.list(ALICE)) == 1
    assert list(temporary.iterdir()) == []
