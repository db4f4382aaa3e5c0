"""Messages about disk errors: they name a full disk, and no number of a generation or snapshot."""

import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from idstore import disk_errors
from idstore.errors import StoreDamaged, StoreUnavailable, engine_error


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError(errno.EIO, "Input/output error"), False),
        (OSError("IO error: No space left on device: While appending to file"), True),
        (OSError("IO error: Input/output error: While reading"), False),
        (RuntimeError("Corruption: checksum mismatch"), False),
        (sqlite_error(sqlite3.SQLITE_FULL), True),
        (sqlite_error(sqlite3.SQLITE_IOERR_WRITE), False),
        (sqlite_error(sqlite3.SQLITE_CORRUPT), False),
    ],
)
def test_a_full_disk_is_reported_as_full(tmp_path: Path, error: Exception, full: bool) -> None:
    assert disk_errors.is_full(error, tmp_path) == full
    assert disk_errors.cause_and_remedy(error, tmp_path)[0].startswith("the disk is full") == full


@pytest.mark.parametrize("free", [100, 10_000])
def test_free_space_decides_the_meaning_of_an_sqlite_io_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(
        "os.statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=4096, f_blocks=1 << 20)
    )
    assert disk_errors.is_full(sqlite_error(sqlite3.SQLITE_IOERR_WRITE), tmp_path / "not" / "there") == (
        free == 100
    )
    assert not disk_errors.is_full(sqlite_error(sqlite3.SQLITE_IOERR_WRITE))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("/s/generation-12/engine/CURRENT: No such file", "/s/generation-…/engine/CURRENT: No such file"),
        ("/s/snapshots/17-3/engine", "/s/snapshots/…/engine"),
        ("/generation-7/of/people/store", "/generation-7/of/people/store"),
    ],
)
def test_numbers_are_not_shown(given: str, shown: str) -> None:
    assert disk_errors.unnumbered(given) == shown


@pytest.mark.parametrize(("kind", "ours"), [(OSError, StoreUnavailable), (RuntimeError, StoreDamaged)])
def test_errors_of_the_engine_are_translated(
    kind: Callable[[str], OSError | RuntimeError], ours: type[StoreUnavailable]
) -> None:
    found = engine_error(kind("/s/generation-12/engine is gone"))
    assert type(found) is ours and "12" not in found.message
    assert engine_error(found) is found
