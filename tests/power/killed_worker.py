"""Run several processes on one store; kill each at a random moment and replace it by another one.

Arguments: a folder, the number of kills, a seed, files to import. Passes on the output of the processes.
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

from power_worker import ALICE, Work, prepare, sabotage, tell

import idstore
import idstore.opening

AT_ONCE = 3
LIVES = 0.4, 1.5
"""Bounds of the time until a kill, in seconds: `SPANS` times a first opening with its acts."""
SPANS = 3


def child(folder: Path, seed: float, files: list[str], rounds: Iterable[int], omission: str) -> int:
    """Open the store, act, close it; repeat."""
    chance = random.Random(seed)
    try:
        sabotage(omission)
        for _ in rounds:
            with idstore.open(folder / "store", administrator=ALICE, wait=60) as registry:
                prepare(registry)
                work = Work(registry, chance, folder, [chance.choice(files)])
                for _ in range(chance.randrange(20)):
                    work.go_on()
    except BaseException as error:  # noqa: BLE001 the test gets every error
        tell(act="failed", message=repr(error), trace=traceback.format_exc()[-3000:])
        return 1
    return 0


def begun(
    folder: str, seed: float, files: list[str], rounds: Iterable[int] = count(), omission: str = ""
) -> int:
    """Start a process that opens the store and acts, and return its number.

    omission  the syncs that it leaves out; see `power_worker.sabotage`.
    """
    process = os.fork()
    if process == 0:
        os._exit(child(Path(folder), seed, files, rounds, omission))
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
            doomed.append(
                (time.monotonic() + chance.uniform(0, longest), begun(folder, chance.random(), files))
            )
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
