"""Temporary folders that every user of the machine can enter."""

import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
"""Where to look if ``TMPDIR`` names a private folder, as it does for a session of systemd's."""


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """Yield a temporary folder that every user can enter and read.

    Skips the test if there is no place for one.
    """
    for place in (Path(tempfile.gettempdir()), *_PLACES):
        if place.is_dir() and all(_enterable(folder) for folder in (place, *place.parents)):
            break
    else:
        pytest.skip("no temporary folder is open to other users")
    with tempfile.TemporaryDirectory(prefix="idstore-", dir=place) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _enterable(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)
