"""Several processes at once on one store, each killed at a random moment and replaced by another.

Called with a folder, the number of kills, a seed and files to import. Tells, line by line, what the processes tell.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from power_worker import ALICE, Work, prepare, tell

import idstore
import idstore.registry.opening

AT_ONCE = 3
LIVES = 0.4, 1.5
"""Seconds until a process is killed, at most: `SPANS` times a first opening with its acts, within these bounds."""
SPANS = 3


def child(folder: Path, seed: float, files: list[str], rounds: Iterable[int], durability: str) -> int:
    """Open the store, act, close it, over and over."""
    chance = random.Random(seed)
    try:
        for _ in rounds:
            with idstore.open(folder / "store", administrator=ALICE, wait=60, durability=durability) as registry:
                prepare(registry)
                work = Work(registry, chance, folder, [chance.choice(files)])
                for _ in range(chance.randrange(20)):
                    work.go_on()
    except BaseException as error:  # noqa: BLE001 the test is told, whatever it is
        tell(act="failed", message=repr(error), trace=traceback.format_exc()[-3000:])
        return 1
    return 0


def begun(folder: str, seed: float, files: list[str], rounds: Iterable[int] = count(), durability: str = "power") -> int:
    """A process that opens the store and acts: its number."""
    process = os.fork()
    if process == 0:
        os._exit(child(Path(folder), seed, files, rounds, durability))
    return process


def main() -> None:
    folder, kills, seed, *files = sys.argv[1:]
    chance = random.Random(seed)
    doomed: list[tuple[float, int]] = []
    start = time.monotonic()
    os.waitpid(begun(folder, chance.random(), files, [0]), 0)
    longest = min(max(LIVES[0], SPANS * (time.monotonic() - start)), LIVES[1])
    for _ in range(int(kills)):
        while len(doomed) < AT_ONCE:
            doomed.append((time.monotonic() + chance.uniform(0, longest), begun(folder, chance.random(), files)))
        doomed.sort()
        moment, process = doomed.pop(0)
        time.sleep(max(0.0, moment - time.monotonic()))
        end(process)
    for _, process in doomed:
        end(process)


def end(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


if __name__ == "__main__":
    main()
