"""Other processes, as /proc describes them."""

import os
from pathlib import Path


def children(number: int) -> list[int]:
    """Return the numbers of the processes that the main thread of a process started."""
    return [int(found) for found in Path(f"/proc/{number}/task/{number}/children").read_text().split()]


def is_running(number: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


def is_busy(number: int) -> bool:
    """Whether a process has worked for 0.3 s since its start, longer than an interpreter takes to start."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    user, system = fields[11:13]  # man 5 proc: utime, stime
    return int(user) + int(system) > 0.3 * os.sysconf("SC_CLK_TCK")
