"""Rows, floors, and how to measure beside each other on a machine that others use as well."""

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
"""How often floor and measured alternate."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    size      identifiers in the store; None where it does not matter.
    measured  and ``floor``, both in ``unit``; None where nothing was measured.
    against   what the floor is.
    ratio     the figure that the target speaks of.
    target    what is to be reached, in words; ``met`` says whether it is, None where there is no target or no measurement.
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
    """A row that was not measured, and why."""
    return Row(name, None, "", None, target=target, note=f"not measured: {reason}")


def judged(reached: bool, size: int, wanted: int) -> bool | None:
    """Whether a target for stores of ``wanted`` identifiers is met; a smaller store cannot prove it, only refute it."""
    return None if reached and size < wanted else reached


def seconds(act: Callable[[], object]) -> float:
    """How long an act takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def at_once(threads: int, work: Callable[[int], None]) -> None:
    """Have so many threads work, each given its number, and return when all have done."""
    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def alternate(acts: Sequence[Callable[[int], float]], rounds: int = ROUNDS) -> list[float]:
    """The median of what each act returns, given the number of the round, when they take turns; a first round is thrown away."""
    found: list[list[float]] = [[] for _ in acts]
    for number in range(rounds + 1):
        for values, act in zip(found, acts, strict=True):
            values.append(act(number))
    return [statistics.median(values[1:]) for values in found]


def percentile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def appends(path: Path, number: int) -> float:
    """Appends of 1 kB, each followed by fdatasync, per second."""
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
    """The most memory that this process has had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count the parent's from before the start as well
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def child(act: str, *arguments: object) -> dict[str, float]:
    """What an act of `benchmarks.child` reports from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.child", act, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def occupied(folder: Path) -> dict[Path, int]:
    """Bytes that each file in a folder takes on disk; a file with two names counts once, under the shorter path."""
    found: dict[tuple[int, int], tuple[Path, int]] = {}
    for path in sorted(folder.rglob("*"), key=lambda one: len(one.parts), reverse=True):
        if path.is_file():
            state = path.stat()
            found[state.st_dev, state.st_ino] = (path, state.st_blocks * 512)
    return dict(found.values())
