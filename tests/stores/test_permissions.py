"""The permissions of a store's files: for its owner alone, or also for the folder's group, with any umask."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import RDL
from store_files import ALICE, sound

import idstore

UMASKS = [0o077, *(pytest.param(umask, marks=pytest.mark.slow) for umask in (0o000, 0o022, 0o027))]


def command(*words: str | Path, umask: int = 0o022) -> str:
    """Run a command line in a separate process, and return its output."""
    environment = {**os.environ, "IDSTORE_USER": "alice"}
    done = subprocess.run(
        [sys.executable, "-m", "idstore", *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        umask=umask,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def modes(place: Path) -> dict[str, set[str]]:
    """Return the octal permissions of a store: of its folder, other folders, files."""
    bits_by_kind: dict[str, set[str]] = {
        "store": {f"{stat.S_IMODE(place.stat().st_mode):o}"},
        "folders": set(),
        "files": set(),
    }
    for path in place.rglob("*"):
        bits_by_kind["folders" if path.is_dir() else "files"].add(f"{stat.S_IMODE(path.stat().st_mode):o}")
    return bits_by_kind


def others(place: Path, bits: int) -> list[str]:
    """Return the entries of a store that grant any of the permissions ``bits``."""
    return [str(path) for path in (place, *place.rglob("*")) if stat.S_IMODE(path.lstat().st_mode) & bits]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a store that is not made yet."""
    yield tmp_path / "store"
    if (tmp_path / "store").exists():
        assert isinstance(sound(tmp_path / "store"), set)


def exercise(place: Path, umask: int) -> None:
    """Run work that makes files: acts, a snapshot, an import, a backup."""
    store = ("--store", place)
    command("namespace", "add", "rdl", RDL, "--scheme", "rdswip", *store, umask=umask)
    minted = command("mint", "rdl", *store, umask=umask).strip()
    command("fixate", minted, *store, umask=umask)
    export = place.with_name("all.nq")
    command("export", "--format", "nquads", "-o", export, *store, umask=umask)
    command("query", "SELECT * { ?s ?p ?o } LIMIT 1", *store, umask=umask)
    command("import", export, *store, umask=umask)
    command("list", *store, umask=umask)
    command("verify", *store, umask=umask)


@pytest.mark.parametrize("umask", UMASKS)
def test_a_new_store_is_for_its_owner_alone(folder: Path, umask: int) -> None:
    command("init", "--store", folder, umask=umask)
    assert modes(folder)["store"] == {"700"}
    exercise(folder, umask)
    assert others(folder, 0o077) == []
    bits_by_kind = modes(folder)
    assert (bits_by_kind["store"], bits_by_kind["folders"], bits_by_kind["files"]) == (
        {"700"},
        {"700"},
        {"600"},
    )


def test_a_store_made_by_a_first_write_is_for_its_owner_alone(folder: Path) -> None:
    command("namespace", "add", "rdl", RDL, "--scheme", "rdswip", "--store", folder)
    assert others(folder, 0o077) == []


def test_a_store_made_by_the_library_is_for_its_owner_alone(folder: Path) -> None:
    """Its folder protects it: the engine makes its files with the permissions that the umask leaves."""
    before = os.umask(0)
    try:
        with idstore.open(folder, administrator=ALICE) as registry:
            registry.add_namespace("rdl", RDL, "rdswip", ALICE)
            for _ in range(150):
                registry.mint("rdl", ALICE)
            with registry.store.snapshot():
                assert modes(folder)["store"] == {"700"}
                assert modes(folder)["folders"] == {"700"}
    finally:
        os.umask(before)
    for path in (folder / "ledger.sqlite", folder / "lock", folder / "generation-1" / "catalogue.sqlite"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", UMASKS)
def test_a_store_can_be_shared_with_a_group(folder: Path, umask: int) -> None:
    command("init", "--group", "--store", folder, umask=umask)
    assert modes(folder)["store"] == {"2770"}
    exercise(folder, umask)
    assert others(folder, 0o007) == []
    bits_by_kind = modes(folder)
    assert {int(mode, 8) & 0o777 for mode in bits_by_kind["folders"]} == {0o770}
    assert bits_by_kind["files"] <= {"660", "640"}, "the engine appends to no file of another process"
    for path in (
        folder / "ledger.sqlite",
        folder / "lock",
        *folder.glob("generation-*/catalogue.sqlite"),
        *folder.glob("generation-*/engine/LOCK"),
    ):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_a_backup_is_for_the_same_people(folder: Path, tmp_path: Path) -> None:
    for options, bits in ((("--group",), 0o007), ((), 0o077)):
        store, copy, again = (tmp_path / f"{name}{bits}" for name in ("store", "copy", "again"))
        command("init", *options, "--store", store, umask=0)
        command("namespace", "add", "rdl", RDL, "--scheme", "rdswip", "--store", store, umask=0)
        command("mint", "rdl", "--store", store, umask=0)
        command("backup", copy, "--store", store, umask=0)
        command("restore", copy, "--store", again, umask=0)
        for place in (store, copy, again):
            assert others(place, bits) == []
            assert len(sound(place)) == 1
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_members_of_the_group_share_a_store(tmp_path: Path) -> None:
    """Each member can write the files of the others; other users cannot even read them."""
    tmp_path.chmod(0o755)
    for above in tmp_path.parents:
        if above.stat().st_uid == os.geteuid() and above != Path(above.anchor):
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o011)
    place = tmp_path / "store"
    place.mkdir()
    os.chown(place, 65533, 65532)
    command("init", "--group", "--store", place, umask=0o077)
    command("namespace", "add", "names", "20.500.1", "--scheme", "handle", "--store", place, umask=0o077)
    for number, (user, group) in enumerate([(65531, 65532), (65533, 65532), (65530, 65532)]):
        assert as_user(place, user, group, number) == f"n{number}\n"
    assert as_user(place, 65529, 65528, 9).startswith("StoreUnavailable")
    assert sound(place) == {"n0", "n1", "n2"}


def as_user(place: Path, user: int, group: int, number: int) -> str:
    """Register a label, write much and take a snapshot as a user. Returns the output, errors included."""
    code = f"""
import importlib, os, pkgutil, random, sys, uuid
import idstore
# the user may be unable to read the package, so import all of it first
for module in pkgutil.walk_packages(idstore.__path__, "idstore."):
    if module.name != "idstore.__main__" and not module.name.startswith("idstore.testing"):
        importlib.import_module(module.name)
idstore.schemes.installed()
os.umask(0o077)
os.setgroups([])
os.setresgid({group}, {group}, {group})
os.setresuid({user}, {user}, {user})
alice = idstore.Party("alice")
try:
    with idstore.open(sys.argv[1]) as registry:
        label = registry.register("names", "n{number}", alice).label
        for turn in range(120):
            registry.comment(f"names:n{number}", f"remark {{turn}}", alice)
        with registry.store.snapshot():
            pass
    with idstore.open(sys.argv[1], read_only=True) as registry:
        assert label in [record.label for record in registry.list(alice)]
    print(label)
except idstore.IdstoreError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_existing_folder_keeps_its_files_private(tmp_path: Path) -> None:
    """A folder with wide permissions becomes private when it becomes a store."""
    place = tmp_path / "store"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    command("init", "--store", place, umask=0)
    assert others(place, 0o077) == []
