"""Disks that lose power, are full, or fail: what was acknowledged is there, nothing is half there, and no label is issued again."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from power_sessions import IO_ERROR, NO_SPACE, SYNCS, FailingDisk, Fault, LostError, PowerCuts, Workers, compiled, foreign_files, rounds

import idstore
from idstore import Party

ALICE = Party("alice")
ONCE, LASTING = 1, 1 << 40


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def workers(library: Path) -> Iterator[Workers]:
    made = Workers(library)
    yield made
    made.close()


@pytest.mark.parametrize("many", [10, pytest.param(210, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_power_cuts(fast_folder: Path, workers: Workers, many: int) -> None:
    cuts = PowerCuts(fast_folder, workers, many, foreign_files(fast_folder, 3, 20))
    for _ in rounds(cuts, many, within=3000):
        pass
    print(cuts.outcome)
    assert cuts.outcome.cuts == many
    assert cuts.outcome.acknowledged > many


def first_loss(folder: Path, workers: Workers, many: int, **order: object) -> int | None:
    """Which of so many series of cuts loses something that was acknowledged, or leaves a store that cannot be opened, first."""
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
    assert first_loss(fast_folder, workers, 20, durability="process") is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("omission", "circumstances"),
    [
        ("names", {}),
        # the journal must have forgotten what the engine lost, and a backup would have brought the engine's own log to disk
        ("engine", {"prune": 7, "backups": False}),
        ("journal", {}),
    ],
    ids=["names", "engine", "journal"],
)
def test_each_sync_is_needed(fast_folder: Path, workers: Workers, omission: str, circumstances: dict[str, object]) -> None:
    assert first_loss(fast_folder, workers, 30, sabotage=omission, **circumstances) is not None


@pytest.mark.parametrize(("which", "error"), [pytest.param(*NO_SPACE, id="full"), pytest.param(*IO_ERROR, id="failing")])
@pytest.mark.parametrize("many", [ONCE, LASTING])
@pytest.mark.parametrize("faults", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_call_may_fail(fast_folder: Path, workers: Workers, which: int, error: int, many: int, faults: int) -> None:
    disk = FailingDisk(fast_folder, workers, foreign_files(fast_folder, 1, 20))
    calls = disk.suffer(Fault(which, error, 1 << 40, many, close=True))
    step = max(1, calls // faults)
    for number, first in enumerate(range(1, calls + 1, step)):
        disk.suffer(Fault(which, error, first, many, close=number % 2 == 0))
    print(calls, disk.refused, disk.reopened)
    assert disk.refused


REFUSED = """
import os, signal, sys
import idstore
from power_worker import ALICE, shim
folder, kind, many, end = sys.argv[1:]
library = shim()
library.shim_begin(os.fsencode(folder), os.fsencode(folder + "-calls"), 0)
registry = idstore.open(folder, administrator=ALICE)
registry.add_namespace("puids", "http://n.example.org/", "puid", ALICE)
iri = registry.mint("puids", ALICE).iri.value
registry.counts(ALICE)
library.shim_fail(int(kind), 5, 1, int(many))
try:
    registry.fixate([iri], ALICE)
except idstore.errors.StoreUnavailable as error:
    print(error, registry.show(iri, ALICE).stage, flush=True)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
registry.close()
"""


@pytest.mark.parametrize(("many", "said"), [(1, "nothing was changed"), (LASTING, "the next opening shows")])
@pytest.mark.parametrize("end", ["kill", "close"])
def test_what_was_refused_does_not_come_into_effect_later(fast_folder: Path, library: Path, many: int, said: str, end: str) -> None:
    """SQLite has it in its log, and only the sync failed."""
    store = fast_folder / "store"
    store.mkdir()
    command = [sys.executable, "-c", REFUSED, str(store), str(SYNCS), str(many), end]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=Path(__file__).parent, env={**os.environ, "LD_PRELOAD": str(library)}
    )
    assert said in done.stdout, done.stderr
    assert done.stdout.endswith(" created\n")
    with idstore.open(store) as registry:
        (record,) = registry.list(ALICE)
        assert record.stage == "created"
        assert list(registry.verify(ALICE)) == []


ACTS = ("mint", "take_in", "fixate", "back_up", "restore", "register", "bind", "release")


@pytest.mark.parametrize(
    ("act", "faults"), [*((act, 1) for act in ACTS[:2]), *(pytest.param(act, 2, marks=pytest.mark.slow) for act in ACTS[2:])]
)
def test_every_call_of_an_act_may_fail(fast_folder: Path, workers: Workers, act: str, faults: int) -> None:
    """The first call, and as many more at even distances; for a moment and for good, on a full disk and on a broken one."""
    disk, calls = FailingDisk(fast_folder, workers, foreign_files(fast_folder, 1, 20)), 0
    for number, ((which, error), many) in enumerate(itertools.product((NO_SPACE, IO_ERROR), (ONCE, LASTING))):
        calls = disk.suffer(Fault(which, error, 1 << 40, many, close=False, act=act)) if number % 2 == 0 else calls
        assert calls
        for place in range(faults):
            first = 1 + (number + len(ACTS) * place) * (calls - 1) // (len(ACTS) * faults)
            disk.suffer(Fault(which, error, first, many, close=number % 2 == 0, act=act))
    print(act, calls, disk.refused, disk.reopened)
    assert disk.refused
