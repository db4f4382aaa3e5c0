"""Permissions of a store's files; no output is written among them."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Minting, Run

import idstore
from idstore.errors import StoreUnavailable

pytestmark = pytest.mark.local("these tests set the permissions of the folder and its files")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    assert os.umask(before) == 0o022


def modes(folder: Path) -> set[int]:
    """Return the modes of all files below a folder that grant rights to others than the owner."""
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.rglob("*")}


def test_a_store_is_accessible_to_its_owner_alone(run: Run, store: Path) -> None:
    run("init")
    run("namespace", "add", "own", "http://formats.example.org/", "--scheme", "puid")
    run("mint", "own", "--type", "fmt")
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert modes(store) == {0}


def test_a_store_is_shared_with_the_group_of_its_folder(run: Run, store: Path) -> None:
    store.mkdir()
    store.chmod(0o2770)
    run("init")
    run("namespace", "add", "own", "http://formats.example.org/", "--scheme", "puid")
    run("mint", "own", "--type", "fmt")
    assert store.stat().st_mode & 0o077 == 0o070
    assert all(mode & 0o040 and not mode & 0o007 for mode in modes(store))


def test_exported_files_have_the_mode_of_the_umask(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint()
    run("export", "-o", tmp_path / "all.ttl")
    assert stat.S_IMODE((tmp_path / "all.ttl").stat().st_mode) == 0o644


@pytest.mark.parametrize("below", ["", "generation-1", "snapshots/../generation-1/engine"])
@pytest.mark.parametrize(
    "words",
    [
        ("export", "-o"),
        ("export", "--format", "csv", "-o"),
        ("export", "--after", "0", "--format", "rdf-patch", "-o"),
        ("export", "--description", "-o"),
        ("links", "--results"),
        ("backup",),
    ],
)
def test_nothing_is_written_among_the_files_of_a_store(
    run: Run, mint: Minting, store: Path, words: tuple[str, ...], below: str
) -> None:
    mint()
    (store / "snapshots").mkdir(exist_ok=True)
    error = run(*words, store / below / "new.ttl", code=2).err
    assert "cannot be written: it is in the folder of the store" in error
    assert not [*store.rglob("new.ttl")]


def test_nothing_is_written_among_the_files_of_another_store(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    mint()
    own = tmp_path / "own"
    run("init", "--store", own)
    run("backup", tmp_path / "copy", "--store", own)
    for words in (
        ("export", "--format", "csv", "-o", store / "ledger.sqlite"),
        ("export", "-o", store / "x.ttl"),
        ("backup", store / "copy"),
        ("shapes", "-o", store / "x.ttl"),
    ):
        assert f"is in the folder of the store {store}" in run(*words, "--store", own, code=2).err
    run("restore", tmp_path / "copy", "--store", store / "inner", code=2)
    run("init", "--store", store / "inner", code=6)
    run("namespace", "add", "x", "10.5", "--scheme", "handle", "--store", store / "inner", code=6)
    assert not (store / "inner").exists()
    assert run("verify").line == "sound"


def test_the_library_writes_nothing_among_the_files_of_a_store(run: Run, mint: Minting, store: Path) -> None:
    mint()
    with idstore.open(store) as registry:
        for place in (store / "copy", store / "generation-1" / "x"):
            with pytest.raises(StoreUnavailable, match="in the folder of the store"):
                registry.backup(place, idstore.Party("alice"))
            assert not place.exists()
    with pytest.raises(StoreUnavailable, match="in the folder of the store"):
        idstore.open(store / "inner", administrator=idstore.Party("alice"))
    assert run("verify").line == "sound"


def test_a_symbolic_link_to_a_store_opens_it(run: Run, mint: Minting, store: Path, tmp_path: Path) -> None:
    mint()
    (tmp_path / "link").symlink_to(store)
    run("export", "-o", tmp_path / "link" / "new.ttl", code=2)
    run("export", "-o", store / "new.ttl", "--store", tmp_path / "link", code=2)


def test_a_report_is_not_written_into_a_store_that_is_compared(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    mint()
    run("backup", tmp_path / "copy")
    for folder in (store, tmp_path / "copy"):
        run("reconcile", store, tmp_path / "copy", "-o", folder / "new.html", code=2)
    run("restore", tmp_path / "copy", "--store", tmp_path / "copy" / "new", code=2)
    (tmp_path / "folder").mkdir()
    run(
        "reconcile",
        store,
        tmp_path / "copy",
        "-o",
        tmp_path / "folder" / "new.html",
        "--store",
        tmp_path / "folder",
    )
