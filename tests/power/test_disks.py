"""Disks that lose power, fill up or fail.

Acknowledged changes survive, no change is incomplete, and no label is issued twice.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from power_sessions import (
    IO_ERROR,
    NO_SPACE,
    SYNCS,
    FailingDisk,
    Fault,
    KilledSteps,
    LostError,
    PowerCuts,
    Workers,
    compiled,
    foreign_files,
    rounds,
)

import idstore
from idstore import Party

ALICE = Party("alice")
ONCE, LASTING = 1, 1 << 40


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def workers(library: Path) -> Iterator[Workers]:
    process = Workers(library)
    yield process
    process.close()


@pytest.mark.parametrize(
    ("seed", "many"), [(0, 10), *(pytest.param(seed, 30, marks=pytest.mark.slow) for seed in range(1, 8))]
)
def test_acknowledged_changes_survive_power_cuts(
    fast_folder: Path, workers: Workers, seed: int, many: int
) -> None:
    cuts = PowerCuts(fast_folder, workers, seed, foreign_files(fast_folder, 3, 20))
    for _ in rounds(cuts, many, within=3000):
        pass
    print(cuts.outcome)
    assert cuts.outcome.cuts == many
    assert cuts.outcome.acknowledged > many


def first_loss(folder: Path, workers: Workers, many: int, **order: object) -> int | None:
    """Return the first of ``many`` series of cuts that loses an acknowledged change or breaks the store."""
    for number in range(many):
        cuts = PowerCuts(folder / f"series{number}", workers, number, {}, **order)
        try:
            for _ in range(3):
                cuts.cut(within=3000)
        except LostError as lost:
            print(lost)
            return number
    return None


def test_without_syncing_acknowledged_changes_are_lost(fast_folder: Path, workers: Workers) -> None:
    assert first_loss(fast_folder, workers, 20, sabotage="ledger") is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("omission", "circumstances"),
    [
        ("names", {}),
        # A loss needs a pruned ledger. A backup would bring the engine's own log to disk.
        ("engine", {"prune": 7, "backups": False}),
        ("catalogue", {"prune": 7, "backups": False}),
    ],
    ids=["names", "engine", "catalogue"],
)
def test_each_sync_is_needed(
    fast_folder: Path, workers: Workers, omission: str, circumstances: dict[str, object]
) -> None:
    assert first_loss(fast_folder, workers, 30, sabotage=omission, **circumstances) is not None


@pytest.mark.parametrize(
    ("which", "error"), [pytest.param(*NO_SPACE, id="full"), pytest.param(*IO_ERROR, id="failing")]
)
@pytest.mark.parametrize("many", [LASTING, pytest.param(ONCE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("faults", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_call_may_fail(
    fast_folder: Path, workers: Workers, which: int, error: int, many: int, faults: int
) -> None:
    disk = FailingDisk(fast_folder, workers, foreign_files(fast_folder, 1, 20))
    calls = disk.suffer(Fault(which, error, 1 << 40, many, close=True))
    step = max(1, calls // faults)
    for number, first in enumerate(range(1, calls + 1, step)):
        disk.suffer(Fault(which, error, first, many, close=number % 2 == 0))
    print(calls, disk.refused, disk.reopened)
    assert disk.refused or many == ONCE  # most calls that fail once are tried again, or matter to nobody


REFUSED = """
import os, signal, sys
import idstore
from power_worker import ALICE, shim
folder, kind, many, end = sys.argv[1:]
library = shim()
library.shim_begin(os.fsencode(folder), os.fsencode(folder + "-calls"), 0)
registry = idstore.open(folder, administrator=ALICE)
registry.add_namespace("puids", "http://n.example.org/", "puid", ALICE)
for _ in range(20):  # the engine syncs files in threads of its own, which may meet the fault instead
    iri = registry.mint("puids", ALICE).iri
    registry.counts(ALICE)
    library.shim_fail(int(kind), 5, 1, int(many))
    try:
        registry.fixate([iri], ALICE)
    except idstore.errors.StoreUnavailable as error:
        print(iri, error, registry.show(iri, ALICE).stage, flush=True)
        break
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
registry.close()
"""


@pytest.mark.parametrize(
    ("many", "message"), [(1, "nothing was changed"), (LASTING, "shows when the store is open again")]
)
@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_refused_change_does_not_take_effect_later(
    fast_folder: Path, library: Path, many: int, message: str, end: str
) -> None:
    """SQLite has the change in its log; only the sync failed."""
    store = fast_folder / "store"
    store.mkdir()
    command = [sys.executable, "-c", REFUSED, str(store), str(SYNCS), str(many), end]
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert message in done.stdout, done.stderr
    assert done.stdout.endswith(" created\n")
    with idstore.open(store) as registry:
        assert registry.show(done.stdout.split()[0], ALICE).stage == "created"
        assert list(registry.verify(ALICE)) == []


ACTS = ("mint", "take_in", "fixate", "back_up", "restore", "register", "bind", "release")


@pytest.mark.parametrize("act", [ACTS[0], *(pytest.param(act, marks=pytest.mark.slow) for act in ACTS[1:])])
def test_every_call_of_an_act_may_fail(fast_folder: Path, workers: Workers, act: str) -> None:
    """The first call fails, or another one; once or for good, on a full disk or on a broken one."""
    disk, calls = FailingDisk(fast_folder, workers, foreign_files(fast_folder, 1, 20)), 0
    for number, ((which, error), many) in enumerate(itertools.product((NO_SPACE, IO_ERROR), (ONCE, LASTING))):
        calls = (
            disk.suffer(Fault(which, error, 1 << 40, many, close=False, act=act))
            if number % 2 == 0
            else calls
        )
        assert calls
        for first in (1, 1 + (number + 1) * (calls - 1) // 5):
            disk.suffer(Fault(which, error, first, many, close=number % 2 == 0, act=act))
    print(act, calls, disk.refused, disk.reopened)
    assert disk.refused


ATTEMPTS = 3
STEPS = ("mint", "register", "bind", "fixate", "release", "take_in", "back_up", "restore", "close", "open")


@pytest.mark.parametrize(
    ("act", "prune", "most", "share"),
    [
        ("mint", 5, 4, 0.5),
        pytest.param("take_in", None, 6, 0.5, marks=pytest.mark.slow),
        *(pytest.param(act, prune, 8, 0.0, marks=pytest.mark.slow) for act in STEPS for prune in (None, 5)),
    ],
)
def test_an_act_may_be_killed_at_every_call(
    fast_folder: Path, workers: Workers, act: str, prune: int | None, most: int, share: float
) -> None:
    """Between ledger and projection, between steps of a projection, and while a large change takes effect."""
    steps = KilledSteps(fast_folder, workers, foreign_files(fast_folder, 1, 20))
    calls = steps.kill(act, 0, prune)
    assert calls
    at = sorted({1, 2, 3, *range(max(1, calls - 2), calls + 1), *range(1, calls + 1, max(1, calls // most))})
    # The engine does some work in the background, so calls differ from run to run.
    killed = sum(any(steps.kill(act, number, prune) == 0 for _ in range(ATTEMPTS)) for number in at)
    print(act, calls, killed)
    assert killed > int(share * len(at))
