"""Clocks that are set back or forward, stand still, or differ: no label comes twice, and the log keeps its order."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import idstore
from idstore import Party, Registry
from idstore.model import times
from idstore.registry import allocation
from idstore.schemes.pilin import decode

ALICE = Party("alice")
NOON = times.parse("2040-11-20T12:00:00Z")
HOUR = 3_600_000


class Clock:
    """A clock that goes on only while somebody sleeps, and keeps what it showed.

    sleep  what happens instead of sleeping.
    """

    def __init__(self) -> None:
        self.moment = NOON
        self.shown = {NOON}
        self.slept = 0
        self.sleep: Callable[[], None] = self.tick

    def __call__(self) -> int:
        self.shown.add(self.moment)
        return self.moment

    def tick(self) -> None:
        self.moment += 1

    def asleep(self, seconds: float) -> None:
        assert 0 < seconds <= 0.001, "nobody sleeps longer than until the next millisecond"
        self.slept += 1
        self.sleep()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(times, "now", clock)
    monkeypatch.setattr(allocation, "time", SimpleNamespace(sleep=clock.asleep))
    return clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE, durability="process") as registry:
        registry.add_namespace("h", "102.100.272", "pilin", ALICE)
        yield registry


def made(registry: Registry) -> int:
    """Mint; the moment that the suffix tells."""
    return decode(registry.mint("h", ALICE).label)


def check_order(registry: Registry) -> None:
    events = [entry.event for entry in registry.log(ALICE)]
    assert [event.order for event in events] == sorted(event.order for event in events)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert len({event.iri for event in events}) == len(events)
    assert list(registry.verify(ALICE)) == []


def test_there_is_one_for_each_millisecond(registry: Registry, clock: Clock) -> None:
    assert [made(registry) for _ in range(300)] == list(range(NOON, NOON + 300))
    assert clock.slept == 299
    check_order(registry)


def test_a_clock_set_at_random_gives_each_moment_once_and_none_that_it_did_not_show(registry: Registry, clock: Clock) -> None:
    chance, suffixes = random.Random(20261121), set()
    for _ in range(400):
        if chance.random() < 0.2:
            clock.moment = NOON + chance.choice((-HOUR, 0, HOUR)) + chance.randrange(40)
        suffix = made(registry)
        assert suffix not in suffixes
        assert suffix in clock.shown
        suffixes.add(suffix)
    check_order(registry)


def test_a_clock_that_is_set_back_while_somebody_waits_is_not_waited_for(registry: Registry, clock: Clock) -> None:
    first = made(registry)
    clock.sleep = lambda: setattr(clock, "moment", NOON - HOUR)
    assert (first, made(registry)) == (NOON, NOON - HOUR)
    assert clock.slept == 1
    check_order(registry)


def test_a_clock_that_stands_is_waited_for(registry: Registry, clock: Clock) -> None:
    first = made(registry)
    clock.sleep = lambda: clock.tick() if clock.slept == 50 else None
    assert made(registry) == first + 1
    assert clock.slept == 50


def test_a_store_goes_on_from_its_last_moment_when_opened_again(registry: Registry, folder: Path, clock: Clock) -> None:
    clock.moment = NOON + HOUR
    first = made(registry)
    registry.close()
    clock.moment = NOON
    with idstore.open(folder, durability="process", brief=True) as again:
        record = again.mint("h", ALICE)
        assert decode(record.label) == NOON != first
        assert record.created == NOON + HOUR, "a label tells the clock; the log is never earlier than it was"
    with idstore.open(folder) as again:
        check_order(again)


MINTER = """
import sys, time, idstore
from idstore.model import times
folder, offset, pace, many = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
begun = time.time_ns()
times.now = lambda: int((begun + (time.time_ns() - begun) * pace) / 1e6) + offset
for number in range(many):
    with idstore.open(folder, wait=120, brief=number % 3 > 0) as registry:
        for _ in range(5):
            print(registry.mint("h", idstore.Party("alice")).label, flush=True)
"""


@pytest.mark.parametrize("many", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_whose_clocks_differ(registry: Registry, folder: Path, many: int) -> None:
    """Hours apart, or a hundred times too slow: as on machines that share a disk, or in containers."""
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
