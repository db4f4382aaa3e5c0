"""kill -9 while several processes mint, fixate, import and back up: what was acknowledged is there, what is there is whole."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from power_sessions import Promises, Told, check_backups, check_store, foreign_files, told_by


def kill(folder: Path, kills: int, seed: int, files: Iterable[str]) -> list[Told]:
    """What processes told that were killed, so many of them."""
    return told_by("killed_worker.py", folder, kills, seed, *files)


@pytest.mark.parametrize(("stores", "rounds", "kills"), [(1, 2, 10), pytest.param(10, 1, 100, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_kills(fast_folder: Path, stores: int, rounds: int, kills: int) -> None:
    imports = foreign_files(fast_folder, 3, 100)
    acts = backups = 0
    for number in range(stores):
        folder, promises = fast_folder / f"number{number}", Promises()
        folder.mkdir()
        for round_ in range(rounds):
            told = kill(folder, kills, rounds * number + round_, imports)
            promises.take(told)
            backups += check_backups(folder, promises)
            promises.backups.clear()
            check_store(folder, promises, imports)
            acts += len(told)
        shutil.rmtree(folder)
    print(f"{stores * rounds * kills} kills, {acts} acts, {backups} backups")
    assert acts > stores * kills / 2  # few where processes take longer to begin than most live
