"""Several processes at once on one store, on a file system that the kernel shuts down at a random moment: what is not on disk by then is lost.

Called with the folder where it is mounted, a seed, the durability and files to import. Tells, line by line, what the processes tell.
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
"""Nor is the file system's own log written."""
LONGEST = 2.0
"""Seconds until then, at most."""


def main() -> None:
    folder, seed, durability, *files = sys.argv[1:]
    chance = random.Random(seed)
    processes = [begun(folder, chance.random(), files, durability=durability) for _ in range(AT_ONCE)]
    time.sleep(chance.uniform(0.2, LONGEST))
    for process in processes:  # so that nobody is told of anything any more
        os.kill(process, signal.SIGSTOP)
    place = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(place, SHUTDOWN, WITHOUT_LOG)
    for process in processes:
        end(process)


if __name__ == "__main__":
    main()
