"""Several processes at once on one store, each killed at a random moment and replaced by another.

Called with a folder, the number of kills, a seed and files to import. Tells, line by line, what the processes tell.
"""

import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from power_worker import ALICE, Work, prepare, tell

import idstore
import idstore.registry.opening

AT_ONCE = 3
LIVES = 0.4
"""Seconds until a process is killed, at most."""


def child(folder: Path, seed: float, files: list[str]) -> int:
    """Open the store, act, close it, over and over."""
    chance = random.Random(seed)
    try:
        while True:
            with idstore.open(folder / "store", administrator=ALICE, wait=60) as registry:
                prepare(registry)
                work = Work(registry, chance, folder, [chance.choice(files)])
                for _ in range(chance.randrange(20)):
                    work.go_on()
    except BaseException as error:  # noqa: BLE001 the test is told, whatever it is
        tell(act="failed", message=repr(error), trace=traceback.format_exc()[-3000:])
        return 1


def main() -> None:
    folder, kills, seed, *files = sys.argv[1:]
    chance = random.Random(seed)
    doomed: list[tuple[float, int]] = []
    for _ in range(int(kills)):
        while len(doomed) < AT_ONCE:
            chosen = chance.random()
            process = os.fork()
            if process == 0:
                os._exit(child(Path(folder), chosen, files))
            doomed.append((time.monotonic() + chance.uniform(0, LIVES), process))
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
