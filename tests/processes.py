"""Other processes, as /proc describes them."""

import os
from pathlib import Path


def children(number: int) -> list[int]:
    """Return the numbers of the processes that the main thread of a process started."""
    return [int(found) for found in Path(f"/proc/{number}/task/{number}/children").read_text().split()]


def is_running(number: int) -> bool:
    """Whether a process has not ended: after a kill its other threads may end after the main one."""
    try:
        states = [(task / "status").read_text() for task in Path(f"/proc/{number}/task").iterdir()]
    except OSError:  # it ends just now, or has ended
        return Path(f"/proc/{number}").exists() and is_running(number)
    return any("State:\tZ" not in state for state in states) or len(states) > 1


def is_busy(number: int) -> bool:
    """Whether a process has worked for 0.3 s since its start, longer than an interpreter takes to start."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    user, system = fields[11:13]  # man 5 proc: utime, stime
    return int(user) + int(system) > 0.3 * os.sysconf("SC_CLK_TCK")
