"""Power cuts of real file systems: the kernel shuts them down in the middle of work.

Acknowledged changes survive, and no change is incomplete.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from power_sessions import (
    LostError,
    Message,
    Promises,
    check_backups,
    check_store,
    foreign_files,
    messages_of,
)

from idstore.errors import StoreUnavailable

SIZE = 1 << 30
CUTS = 5
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}


class Disk:
    """A file system in a file."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.image, self.place = folder / "image", folder / "mounted"
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run([*MAKE[kind], str(self.image)], check=True, capture_output=True)

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """Mount the file system and return its folder. A mount reads the log, as after a power cut."""
        done = subprocess.run(
            ["mount", "-o", "loop", str(self.image), str(self.place)],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            pytest.skip(f"no file can be mounted here: {done.stderr.strip()}")
        try:
            yield self.place
        finally:
            subprocess.run(["umount", str(self.place)], check=True)


@pytest.fixture(params=MAKE)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    if shutil.which(MAKE[request.param][0]) is None:
        pytest.skip(f"{MAKE[request.param][0]} is not installed")
    return Disk(request.param, tmp_path)


def cut(place: Path, seed: int, files: list[str], omission: str = "") -> list[Message]:
    """Run processes until the file system is shut down, and return their messages."""
    return messages_of("unplugged_worker.py", place, seed, omission, *files)


@pytest.mark.slow
def test_acknowledged_changes_survive_on_real_file_systems(disk: Disk, tmp_path: Path) -> None:
    imports = foreign_files(tmp_path, 3, 100)
    promises, acts, backups = Promises(), 0, 0
    for number in range(CUTS):
        with disk.mounted() as place:
            messages = cut(place, number, [*imports])
        with disk.mounted() as place:
            promises.take(messages)
            backups += check_backups(place, promises)
            promises.backups.clear()
            check_store(place, promises, imports)
        acts += len(messages)
    print(f"{CUTS} cuts, {acts} acts, {backups} backups")
    assert acts > CUTS


@pytest.mark.slow
def test_without_syncing_acknowledged_changes_are_lost_on_real_file_systems(
    disk: Disk, tmp_path: Path
) -> None:
    imports = foreign_files(tmp_path, 3, 100)

    def suffer() -> None:
        promises = Promises()
        for number in range(5 * CUTS):  # the first or second cut suffices, unless the processes hardly began
            with disk.mounted() as place:
                promises.take(cut(place, number, [*imports], "ledger"))
            with disk.mounted() as place:
                check_store(place, promises, imports)

    with pytest.raises((LostError, StoreUnavailable)) as lost:
        suffer()
    print(lost.value)
