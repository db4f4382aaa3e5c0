"""Rows, floors, and alternating measurements on a machine with other load."""

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 7
"""Counted rounds of alternating measurements."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    size      identifiers in the store; None if it does not matter.
    measured  the result, in ``unit`` like ``floor``; None if nothing was measured.
    against   description of the floor.
    ratio     the figure that the target limits.
    target    the goal, in words.
    met       whether the goal is met; None without a target or a measurement.
    """

    name: str
    size: int | None
    unit: str
    measured: float | None
    floor: float | None = None
    against: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""


def skipped(name: str, reason: str, target: str = "") -> Row:
    """Return a row that was not measured, with the reason."""
    return Row(name, None, "", None, target=target, note=f"not measured: {reason}")


def judged(reached: bool, size: int, wanted: int) -> bool | None:
    """Return whether a target for stores of ``wanted`` identifiers is met.

    A smaller store can refute the target but not prove it: then the result is None.
    """
    return None if reached and size < wanted else reached


def seconds(act: Callable[[], object]) -> float:
    """Return the duration of an act, in seconds."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def in_threads(threads: int, work: Callable[[int], None]) -> None:
    """Run ``work`` in so many threads, each with its number, and wait for all."""
    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def alternate(acts: Sequence[Callable[[int], float]], rounds: int = ROUNDS) -> list[float]:
    """Return the median result of each act, run in turns. Acts get the round's number; round 0 is ignored."""
    results: list[list[float]] = [[] for _ in acts]
    for number in range(rounds + 1):
        for values, act in zip(results, acts, strict=True):
            values.append(act(number))
    return [statistics.median(values[1:]) for values in results]


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def appends(path: Path, number: int) -> float:
    """Return the rate of appends of 1 kB, each followed by fdatasync, per second."""
    block = os.urandom(1024)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sync = getattr(os, "fdatasync", os.fsync)
    try:
        start = time.perf_counter()
        for _ in range(number):
            os.write(handle, block)
            sync(handle)
        return number / (time.perf_counter() - start)
    finally:
        os.close(handle)


def peak() -> float:
    """Return the peak memory of this process, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage includes the parent's memory from before the start
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def child(act: str, *arguments: object) -> dict[str, float]:
    """Return the report of an act of `benchmarks.child`, run in a separate process."""
    command = [sys.executable, "-m", "benchmarks.child", act, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])
    report: dict[str, float] = json.loads(done.stdout)
    return report


def occupied(folder: Path) -> dict[Path, int]:
    """Return the bytes on disk of each file in a folder. Of two names of a file the shorter path counts."""
    files: dict[tuple[int, int], tuple[Path, int]] = {}
    for path in sorted(folder.rglob("*"), key=lambda path: len(path.parts), reverse=True):
        if path.is_file():
            state = path.stat()
            files[state.st_dev, state.st_ino] = (path, state.st_blocks * 512)
    return dict(files.values())
