"""The SQLite ledger on disks that are full or whose syncs fail.

Each commit is done, refused or unknown, and a refused commit stays refused.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ledger_contract import append, claim, keys, name, numbers, row
from power_sessions import SYNCS, WRITES, compiled

from idstore.errors import OutcomeUnknown, StoreUnavailable
from idstore.stores.ledger.sqlite import SqliteLedger

HERE = Path(__file__).parent
NO_SPACE, IO_ERROR = 28, 5
ONCE, LASTING = 1, 1 << 40


# a full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(place: Path) -> Path:
    """Fill a file system."""
    file = place / "filling"
    with file.open("ab", buffering=0) as filling:
        for size in (1 << 16, 1 << 12):
            try:
                while True:
                    filling.write(b"x" * size)
            except OSError:
                pass
    return file


def test_a_full_disk_changes_nothing(small_disk: Path) -> None:
    path = small_disk / "ledger.sqlite"
    with closing(SqliteLedger(path, create=True)) as ledger:
        append(ledger, "a")
        filling = fill(small_disk)
        for body in ("x" * 200_000, "x" * 3_000_000, "small"):
            for _ in range(3):
                try:
                    append(ledger, "b", body=body)
                except StoreUnavailable as error:
                    assert not isinstance(error, OutcomeUnknown)
                    assert error.message == (
                        f"{path} cannot be written: the disk is full; nothing was changed, free some space"
                        " and try again"
                    )
                else:
                    pytest.fail("a full disk took a change")
            assert numbers(ledger) == [1]
            assert ledger.claim(name("b")) is None
        filling.unlink()
        assert append(ledger, "b") == 2
        fill(small_disk).unlink()
    with closing(SqliteLedger(path)) as again:
        assert numbers(again) == [1, 2]
        assert keys(again) == [name("a"), name("b")]
        assert list(again.faults()) == []


def test_rows_are_read_on_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "ledger.sqlite"
    with closing(SqliteLedger(path, create=True)) as ledger:
        append(ledger, "a")
        fill(small_disk)
        assert numbers(ledger) == [1]
        assert keys(ledger) == [name("a")]


def test_a_switch_that_finds_no_room_changes_nothing(small_disk: Path) -> None:
    with closing(SqliteLedger(small_disk / "ledger.sqlite", create=True)) as ledger:
        append(ledger, "a")
        many = (claim(f"label{number}", 2) for number in range(100_000))
        with (
            pytest.raises(StoreUnavailable, match="the disk is full; nothing was changed"),
            ledger.transaction() as transaction,
        ):
            transaction.switch(2, row(2, None), many)
        assert (ledger.generation, numbers(ledger), keys(ledger)) == (1, [1], [name("a")])
        assert append(ledger) == 2


def test_a_full_disk_makes_no_ledger(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(StoreUnavailable, match="cannot be opened: the disk is full; free some space"):
        SqliteLedger(small_disk / "ledger.sqlite", create=True)


# a disk that fails


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("shim"))


def session(
    folder: Path, library: Path, which: int, error: int, many: int, end: str, overwrites: str = "yes"
) -> list[str]:
    """Run `failing_ledger` in a process, and return its lines."""
    folder.mkdir()
    command = [
        sys.executable,
        str(HERE / "failing_ledger.py"),
        *map(str, (folder, which, error, many, end, overwrites)),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": str(library)}, timeout=60
    )
    assert done.returncode == (0 if end == "close" else -signal.SIGKILL), done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("end", ["kill", "close"])
@pytest.mark.parametrize(
    ("which", "error", "many", "why"),
    [
        pytest.param(SYNCS, IO_ERROR, ONCE, "disk I/O error", id="sync"),
        pytest.param(WRITES, NO_SPACE, ONCE, "the disk is full", id="full"),
        pytest.param(WRITES, NO_SPACE, LASTING, "the disk is full", id="full for good"),
        pytest.param(WRITES, IO_ERROR, ONCE, "disk I/O error", id="write"),
    ],
)
def test_a_refused_row_is_absent_after_reopening(
    fast_folder: Path, library: Path, which: int, error: int, many: int, why: str, end: str
) -> None:
    """This holds even if SQLite's log has the whole commit and only the sync failed."""
    lines = session(fast_folder / "store", library, which, error, many, end)
    kind, message = lines[0].split("|")
    assert kind == "StoreUnavailable"
    assert f"cannot be written: {why}; nothing was changed, " in message
    assert lines[1:] == ["[1]", "done"], "the ledger goes on"
    with closing(SqliteLedger(fast_folder / "store" / "ledger.sqlite")) as again:
        assert numbers(again) == [1, 2]
        assert keys(again) == [name("a"), name("c")]
        assert list(again.faults()) == []


@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_commit_that_cannot_be_synced_at_all_is_unknown(fast_folder: Path, library: Path, end: str) -> None:
    lines = session(fast_folder / "store", library, SYNCS, IO_ERROR, LASTING, end)
    kind, message = lines[0].split("|")
    assert kind == "OutcomeUnknown"
    assert (
        "disk I/O error; whether the change was made shows when the store is open again:"
        " check the disk, and open" in message
    )
    kind, message = lines[2].split("|")
    assert kind == "StoreUnavailable"
    assert "takes no changes after a commit whose outcome is unknown; open the store again" in message
    with closing(SqliteLedger(fast_folder / "store" / "ledger.sqlite")) as again:
        assert numbers(again) in ([1], [1, 2])
        assert list(again.faults()) == []
        append(again, "d")


@pytest.mark.parametrize(("overwrites", "expected"), [("yes", [1]), ("no", [1, 2])])
def test_pages_that_could_not_be_synced_are_overwritten_at_once(
    fast_folder: Path, library: Path, overwrites: str, expected: list[int]
) -> None:
    """Otherwise the refused row is there after a crash."""
    lines = session(fast_folder / "store", library, SYNCS, IO_ERROR, ONCE, "kill-now", overwrites)
    assert lines[0].startswith("StoreUnavailable|")
    assert lines[1] == "[1]"
    with closing(SqliteLedger(fast_folder / "store" / "ledger.sqlite")) as again:
        assert numbers(again) == expected
