"""kill -9 while several processes mint, fixate, import and back up.

Acknowledged changes survive, and no change is incomplete.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from power_sessions import Message, Promises, check_backups, check_store, foreign_files, messages_of


def kill(folder: Path, kills: int, seed: int, files: Iterable[str]) -> list[Message]:
    """Run processes, kill ``kills`` of them, and return their messages."""
    return messages_of("killed_worker.py", folder, kills, seed, *files)


@pytest.mark.parametrize(
    ("stores", "rounds", "kills"), [(1, 1, 6), pytest.param(5, 1, 100, marks=pytest.mark.slow)]
)
def test_acknowledged_changes_survive_kills(fast_folder: Path, stores: int, rounds: int, kills: int) -> None:
    imports = foreign_files(fast_folder, 3, 100)
    acts = backups = 0
    for number in range(stores):
        folder, promises = fast_folder / f"number{number}", Promises()
        folder.mkdir()
        for round_ in range(rounds):
            messages = kill(folder, kills, rounds * number + round_, imports)
            promises.take(messages)
            backups += check_backups(folder, promises)
            promises.backups.clear()
            check_store(folder, promises, imports)
            acts += len(messages)
        shutil.rmtree(folder)
    print(f"{stores * rounds * kills} kills, {acts} acts, {backups} backups")
    assert acts > stores * kills / 2  # few, if a process takes longer to start than it lives
