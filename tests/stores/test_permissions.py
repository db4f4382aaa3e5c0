"""The permissions of a store's files: for those who may use its folder, with any umask."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_lines import RDL
from other_users import run_as
from reachable_folders import reachable_folder
from store_files import ALICE, sound

import idstore

UMASKS = [0o077, *(pytest.param(umask, marks=pytest.mark.slow) for umask in (0o000, 0o022))]


def command(*words: str | Path, umask: int = 0o022) -> str:
    """Run a command line in a separate process, and return its output."""
    return run_command(*words, umask=umask).stdout


def run_command(*words: str | Path, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
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
    return done


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
@pytest.mark.parametrize(
    ("given", "folders", "files"),
    [
        pytest.param(None, "700", "600", id="a folder that is made"),
        pytest.param(0o700, "700", "600", id="the owner's", marks=pytest.mark.slow),
        pytest.param(0o750, "2750", "640", id="the group may read", marks=pytest.mark.slow),
        pytest.param(0o2770, "2770", "660", id="the group's"),
        pytest.param(0o777, "2770", "660", id="everybody's", marks=pytest.mark.slow),
    ],
)
def test_files_are_for_those_who_may_use_the_folder(
    folder: Path, umask: int, given: int | None, folders: str, files: str
) -> None:
    if given is not None:
        folder.mkdir()
        folder.chmod(given)
    command("init", "--store", folder, umask=umask)
    exercise(folder, umask)
    assert modes(folder) == {
        "store": {"700" if given is None else f"{given:o}"},
        "folders": {folders},
        "files": {files},
    }


def test_the_first_act_says_that_the_folder_lets_others_in(folder: Path) -> None:
    for words in (("init",), ("namespace", "add", "rdl", RDL, "--scheme", "rdswip")):
        folder.mkdir()
        folder.chmod(0o755)
        done = run_command(*words, "--store", folder)
        assert f"idstore: warning: {folder} lets every account of this machine in" in done.stderr
        done = run_command("party", "add", "bob", "--store", folder)
        assert "lets every account" not in done.stderr
        shutil.rmtree(folder)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_program_that_stays_open_makes_files_for_the_group(folder: Path, umask: int) -> None:
    """Whatever its umask is: the engine makes files at any time."""
    folder.mkdir()
    folder.chmod(0o2770)
    before = os.umask(umask)
    try:
        with idstore.open(folder, administrator=ALICE) as registry:
            registry.add_namespace("rdl", RDL, "rdswip", ALICE)
            for _ in range(150):
                registry.mint("rdl", ALICE)
            with registry.store.snapshot():
                assert modes(folder) == {"store": {"2770"}, "folders": {"2770"}, "files": {"660"}}
    finally:
        os.umask(before)
    assert modes(folder)["files"] == {"660"}


@pytest.mark.parametrize(("mode", "files"), [(0o2770, 0o660), (0o700, 0o600)])
def test_a_backup_is_for_the_same_people(folder: Path, tmp_path: Path, mode: int, files: int) -> None:
    copy, again = tmp_path / "copy", tmp_path / "again"
    folder.mkdir()
    folder.chmod(mode)
    exercise(folder, 0)
    command("backup", copy, "--store", folder, umask=0)
    command("restore", copy, "--store", again, umask=0)
    for place in (folder, copy, again):
        assert stat.S_IMODE(place.stat().st_mode) == mode
        assert modes(place)["files"] == {f"{files:o}"}
        assert len(sound(place)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_root_makes_a_backup_for_the_owner(folder: Path, tmp_path: Path) -> None:
    copy, again = tmp_path / "copy", tmp_path / "again"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, GROUP)
    exercise(folder, 0)
    command("backup", copy, "--store", folder)
    command("restore", copy, "--store", again)
    for place in (copy, again):
        found = {(path.stat().st_uid, path.stat().st_gid) for path in (place, *place.rglob("*"))}
        assert found == {(STRANGER, GROUP)}


def test_a_private_backup_leaves_the_store_to_the_group(folder: Path, tmp_path: Path) -> None:
    """The engine's files are not shared by hard links with a copy that is for other people."""
    folder.mkdir()
    folder.chmod(0o2770)
    exercise(folder, 0)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    command("backup", private, "--store", folder)
    assert modes(private)["files"] == {"600"}
    assert modes(folder)["files"] == {"660"}


SHARING_UMASKS = [0o022, *(pytest.param(umask, marks=pytest.mark.slow) for umask in (0o002, 0o007, 0o077))]
GROUP, COLLEAGUES, STRANGER = 65532, (65531, 65533, 65530), 65529


@pytest.fixture
def shared() -> Iterator[Path]:
    """The folder of a store for a group: made and given to it as the documentation says."""
    if os.geteuid() != 0:
        pytest.skip("only root can become other users")
    with reachable_folder() as folder:
        place = folder / "store"
        place.mkdir()
        os.chown(place, COLLEAGUES[0], GROUP)
        place.chmod(0o2770)
        yield place


@pytest.mark.parametrize("umask", SHARING_UMASKS)
def test_colleagues_share_a_store(shared: Path, umask: int) -> None:
    """In any order, whatever the umask and the primary group; an administrator of the machine joins in."""
    assert as_user(shared, COLLEAGUES[0], umask, MAKE) == "made\n"
    for number, user in enumerate((*COLLEAGUES, 0, *COLLEAGUES)):
        assert as_user(shared, user, umask, ACT, f"n{number}") == f"n{number}\n"
    assert as_user(shared, STRANGER, umask, ACT, "n9").startswith("StoreUnavailable")
    assert as_user(shared, COLLEAGUES[1], umask, READ) == "7\n"
    assert {path.lstat().st_gid for path in shared.rglob("*")} == {GROUP}
    assert modes(shared) == {"store": {"2770"}, "folders": {"2770"}, "files": {"660"}}
    assert sound(shared) == {f"n{number}" for number in range(7)}


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_a_store_without_the_set_group_bit_is_shared(shared: Path, umask: int) -> None:
    shared.chmod(0o770)
    assert as_user(shared, COLLEAGUES[2], umask, MAKE) == "made\n"
    for number, user in enumerate(COLLEAGUES):
        assert as_user(shared, user, umask, ACT, f"n{number}") == f"n{number}\n"
        for reader in COLLEAGUES:
            assert as_user(shared, reader, umask, READ) == f"{number + 1}\n"
    assert {path.lstat().st_gid for path in shared.rglob("*")} == {GROUP}


def test_a_reader_without_write_permission_is_told_what_makes_the_store_readable(shared: Path) -> None:
    """A killed process left changes in the log, and the memory that readers share is gone."""
    assert as_user(shared, COLLEAGUES[0], 0o022, MAKE) == "made\n"
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT + KILL, "n0") == "n0\n"
    assert (shared / "ledger.sqlite-wal").stat().st_size
    for memory in shared.rglob("*-shm"):
        memory.unlink()
    shared.chmod(0o2750)
    told = as_user(shared, COLLEAGUES[1], 0o022, READ)
    assert told.startswith("StoreUnavailable")
    assert "an account with write permission must open the store once" in told
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT, "n1") == "n1\n"
    assert as_user(shared, COLLEAGUES[1], 0o022, READ) == "2\n"


def test_a_file_system_for_reading_only_is_named(shared: Path) -> None:
    assert as_user(shared, COLLEAGUES[0], 0o022, MAKE) == "made\n"
    bound = ["mount", "--bind", str(shared), str(shared)]
    if subprocess.run(bound, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(shared)], check=True)
        told = as_user(shared, COLLEAGUES[0], 0o022, ACT, "n0")
        assert told.startswith("StoreUnavailable") and "mounted for reading only; mount it" in told
        assert as_user(shared, COLLEAGUES[0], 0o022, READ) == "0\n"
    finally:
        subprocess.run(["umount", str(shared)], check=True)


@pytest.mark.parametrize("umask", SHARING_UMASKS)
def test_a_store_is_usable_by_colleagues_after_a_kill(shared: Path, umask: int) -> None:
    assert as_user(shared, COLLEAGUES[0], umask, MAKE) == "made\n"
    for number, user in enumerate(COLLEAGUES):
        assert as_user(shared, user, umask, ACT + KILL, f"n{number}") == f"n{number}\n"
    assert sound(shared) == {"n0", "n1", "n2"}


def test_what_root_imports_belongs_to_the_owner(shared: Path) -> None:
    shared.chmod(0o700)
    assert as_user(shared, COLLEAGUES[0], 0o022, MAKE) == "made\n"
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT, "n0") == "n0\n"
    export = shared.with_name("all.nq")
    command("export", "--format", "nquads", "-o", export, "--store", shared)
    other = shared.with_name("other")
    command("init", "--store", other)
    command("namespace", "add", "more", "20.500.2", "--scheme", "handle", "--store", other)
    command("register", "more", "x", "--store", other)
    command("export", "--format", "nquads", "-o", export, "--store", other)
    command("import", export, "--store", shared)
    assert {path.lstat().st_uid for path in shared.rglob("*")} == {COLLEAGUES[0]}
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT, "n1") == "n1\n"
    assert sound(shared) == {"n0", "n1"}


@pytest.mark.parametrize(
    "part",
    ["engine/*.sst", *(pytest.param(part, marks=pytest.mark.slow) for part in ("catalogue.sqlite", "."))],
)
def test_a_missing_right_is_told_before_an_act_and_nothing_is_moved(shared: Path, part: str) -> None:
    """It is no damage: the engine is not made anew, and the act is not acknowledged."""
    assert as_user(shared, COLLEAGUES[0], 0o022, MAKE) == "made\n"
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT, "n0") == "n0\n"
    [generation] = shared.glob("generation-*")
    for path in [generation] if part == "." else generation.glob(part):
        path.chmod(0o700 if part == "." else 0o600)
    before = {path: path.lstat().st_ino for path in shared.rglob("*")}
    told = as_user(shared, COLLEAGUES[1], 0o022, ACT, "n1")
    assert told.startswith(f"StoreUnavailable {generation}")
    assert "its owner must give the store's group" in told
    assert {path: path.lstat().st_ino for path in shared.rglob("*")} == before
    assert as_user(shared, COLLEAGUES[0], 0o022, ACT, "n2") == "n2\n"
    assert as_user(shared, COLLEAGUES[1], 0o022, ACT, "n1") == "n1\n", "the owner's use gave the rights back"
    assert sound(shared) == {"n0", "n1", "n2"}


@pytest.mark.slow
def test_colleagues_reach_a_server_on_their_folder(shared: Path) -> None:
    """Whoever serves it, also the machine's administrator; a killed server leaves the folder to them."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    assert as_user(shared, COLLEAGUES[0], 0o022, MAKE) == "made\n"
    for number, end in enumerate((signal.SIGKILL, signal.SIGTERM)):
        with serving(shared) as server:
            for user in COLLEAGUES:
                label = f"n{number}-{user}"
                assert as_user(shared, user, 0o022, ASK, label) == f"{label}\n"
            assert as_user(shared, STRANGER, 0o022, ASK, "n").startswith("StoreUnavailable")
            server.send_signal(end)
        assert as_user(shared, COLLEAGUES[2], 0o022, ACT, f"n{number}") == f"n{number}\n"
    assert as_user(shared, COLLEAGUES[1], 0o022, READ) == "8\n"


@contextmanager
def serving(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve a store in a process, which the block ends, once it is ready."""
    words = [sys.executable, "-m", "idstore", "--store", str(place), "serve", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if b"serving" in line:
                    break
            yield server
        finally:
            server.kill()


def test_an_owner_outside_the_group_is_refused(shared: Path) -> None:
    """What that account makes would be closed to the group."""
    told = as_user(shared, COLLEAGUES[0], 0o022, MAKE, groups=())
    assert told.startswith(f"StoreUnavailable {shared} is for its owner and its group")
    assert [*shared.iterdir()] == []


MAKE = """
with idstore.open(sys.argv[1], administrator=alice) as registry:
    registry.add_namespace("names", "20.500.1", "handle", alice)
print("made")
"""
ACT = """
with idstore.open(sys.argv[1]) as registry:
    label = registry.register("names", sys.argv[2], alice).label
    registry.comment(f"names:{label}", "a remark", alice)
    with registry.store.snapshot():
        pass
    print(label, flush=True)
"""
ASK = """
from idstore import remote
with remote.connect_folder(pathlib.Path(sys.argv[1])) as registry:
    print(registry.register("names", sys.argv[2], alice).label)
"""
KILL = """
    registry.comment(f"names:{label}", "another remark", alice)
    os._exit(0)
"""
READ = """
with idstore.open(sys.argv[1], mode="shared") as registry:
    print(len(registry.list(alice)))
"""


def as_user(
    place: Path, user: int, umask: int, code: str, *words: str, groups: tuple[int, ...] = (GROUP,)
) -> str:
    """Run a program as a user whose primary group is its own. Returns the output, errors included."""
    program = f"""
alice = idstore.Party("alice")
try:
{textwrap.indent(code, "    ")}
except idstore.IdstoreError as error:
    print(type(error).__name__, error)
"""
    return run_as(user, program, place, *words, groups=() if user == STRANGER else groups, umask=umask)
