"""Clocks that are set back or forward, stand still, or differ.

No label is issued twice, and the log keeps its order.
"""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_files import ALICE

import idstore
from idstore import Registry
from idstore.model import times
from idstore.schemes.pilin import decode

NOON = times.milliseconds(times.parse("2040-11-20T12:00:00Z"))
HOUR = 3_600_000


class Clock:
    """A clock that advances after some readings, and records the moments that it showed.

    looks  readings that give the same moment.
    step   milliseconds by which it then advances.
    """

    def __init__(self) -> None:
        self.moment = NOON
        self.shown = {NOON}
        self.looks, self.step = 10, 1
        self._looked = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            self._looked += 1
            if self._looked >= self.looks:
                self._looked = 0
                self.moment += self.step
            self.shown.add(self.moment)
            return self.moment

    def set(self, moment: int) -> None:
        with self._lock:
            self._looked, self.moment = 0, moment


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(times, "now", clock)
    return clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("h", "102.100.272", "pilin", ALICE)
        yield registry


def minted_moment(registry: Registry) -> int:
    """Mint an identifier, and return the moment that its suffix encodes."""
    return decode(registry.mint("h", ALICE).label)


def check_order(registry: Registry) -> None:
    events = [entry.event for entry in registry.log(ALICE)]
    assert [event.order for event in events] == sorted(event.order for event in events)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert len({event.iri for event in events}) == len(events)
    assert list(registry.verify(ALICE)) == []


def test_each_millisecond_gives_one_suffix(registry: Registry, clock: Clock) -> None:
    suffixes = [minted_moment(registry) for _ in range(200)]
    assert suffixes == sorted(set(suffixes))
    assert set(suffixes) <= clock.shown
    check_order(registry)


def test_a_random_clock_gives_each_moment_once_and_only_moments_that_it_showed(
    registry: Registry, clock: Clock
) -> None:
    chance, suffixes = random.Random(20261121), set()
    for _ in range(300):
        if chance.random() < 0.2:
            clock.set(NOON + chance.choice((-HOUR, 0, HOUR)) + chance.randrange(40))
        suffix = minted_moment(registry)
        assert suffix not in suffixes
        assert suffix in clock.shown
        suffixes.add(suffix)
    check_order(registry)


def test_a_waiting_act_does_not_wait_for_a_clock_that_is_set_back(registry: Registry, clock: Clock) -> None:
    clock.step = 0
    assert minted_moment(registry) == NOON
    clock.step = -HOUR
    assert minted_moment(registry) <= NOON - HOUR
    clock.step = 1
    check_order(registry)


def test_minting_waits_for_a_clock_that_stands_still(registry: Registry, clock: Clock) -> None:
    clock.step = 0
    assert minted_moment(registry) == NOON
    clock.looks, clock.step = 50, 1
    assert minted_moment(registry) == NOON + 1


def test_a_store_goes_on_from_its_last_moment_when_it_is_opened_again(
    registry: Registry, folder: Path, clock: Clock
) -> None:
    clock.step = 0
    clock.set(NOON + HOUR)
    assert minted_moment(registry) == NOON + HOUR
    registry.close()
    clock.set(NOON)
    with idstore.open(folder) as again:
        record = again.mint("h", ALICE)
        assert decode(record.label) == NOON
        assert record.created == times.of(NOON + HOUR), (
            "a label follows the clock; the time of the log never decreases"
        )
    with idstore.open(folder) as again:
        check_order(again)


MINTER = """
import sys, time, idstore
from idstore.model import times
folder, offset, pace, many = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
begun = time.time_ns()
times.now = lambda: int((begun + (time.time_ns() - begun) * pace) / 1e6) + offset
for number in range(many):
    with idstore.open(folder, wait=120) as registry:
        for _ in range(5):
            print(registry.mint("h", idstore.Party("alice")).label, flush=True)
"""


@pytest.mark.parametrize("many", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_whose_clocks_differ(registry: Registry, folder: Path, many: int) -> None:
    """The clocks are hours apart, or a hundred times too slow, as on machines that share a disk."""
    registry.close()
    clocks = [(0, 1.0), (0, 1.0), (-24 * HOUR, 1.0), (HOUR, 1.0), (0, 0.01)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MINTER, str(folder), str(offset), str(pace), str(many)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for offset, pace in clocks
    ]
    labels = [process.communicate(timeout=300)[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * len(clocks)
    issued = [label for some in labels for label in some]
    assert len(set(issued)) == len(issued) == 5 * many * len(clocks)
    with idstore.open(folder) as again:
        assert sorted(record.label for record in again.list(ALICE, limit=None)) == sorted(issued)
        check_order(again)
