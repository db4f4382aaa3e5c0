"""Run several processes on one store, on a file system that the kernel shuts down at a random moment.

Everything that is not on disk by then is lost. Arguments: the folder of the mounted file system, a seed, the
kind of sync to leave out ("": none), files to import. Passes on the output of the processes.
"""

import fcntl
import os
import random
import signal
import sys
import time

from killed_worker import AT_ONCE, begun, end

SHUTDOWN = 0x8004587D
"""The ``ioctl`` of ext4 and XFS that ends all writing."""
WITHOUT_LOG = (2).to_bytes(4, sys.byteorder)
"""The file system's own log is not written either."""
LONGEST = 2.0
"""Seconds until the shutdown, at most."""


def main() -> None:
    folder, seed, omission, *files = sys.argv[1:]
    chance = random.Random(seed)
    processes = [begun(folder, chance.random(), files, omission=omission) for _ in range(AT_ONCE)]
    time.sleep(chance.uniform(0.2, LONGEST))
    for process in processes:  # so that they acknowledge nothing more
        os.kill(process, signal.SIGSTOP)
    place = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(place, SHUTDOWN, WITHOUT_LOG)
    for process in processes:
        end(process)


if __name__ == "__main__":
    main()
