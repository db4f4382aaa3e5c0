"""Nobody wins a label twice: threads and processes on a store on disk."""

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import AlreadyRegistered, StoreBusy

ALICE = Party("alice")
WORKER = """
import sys, time
import idstore
from idstore.errors import AlreadyRegistered
folder, name, rounds, labels = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
party = idstore.Party(name)
for round in range(rounds):
    with idstore.open(folder, wait=60) as registry:
        for label in range(labels):
            try:
                registry.register("names", f"r{round}-{label}", party)
            except AlreadyRegistered:
                continue
            print(f"r{round}-{label}", flush=True)
"""


def prepared(folder: Path) -> Registry:
    registry = idstore.open(folder, administrator=ALICE)
    registry.add_namespace("names", "20.500.1", "handle", ALICE)
    return registry


@pytest.mark.parametrize("labels", [500, pytest.param(1500, marks=pytest.mark.slow)])
def test_threads_contending_for_the_same_labels(tmp_path: Path, labels: int) -> None:
    threads = 8
    wins: list[list[int]] = [[] for _ in range(threads)]
    start = threading.Barrier(threads)

    def contend(number: int) -> None:
        party = Party(f"p{number}")
        start.wait()
        for label in range(labels):
            try:
                registry.register("names", f"n{label}", party)
            except AlreadyRegistered:
                continue
            wins[number].append(label)

    with prepared(tmp_path / "store") as registry:
        running = [threading.Thread(target=contend, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        counted = Counter(label for won in wins for label in won)
        assert sorted(counted) == list(range(labels))
        assert set(counted.values()) == {1}
        assert registry.counts(ALICE).total == labels
        for number, won in enumerate(wins):
            assert sum(count for _, owner, _, count in registry.counts(ALICE).tallies if owner == f"p{number}") == len(won)
    with idstore.open(tmp_path / "store") as again:
        assert list(again.verify(ALICE)) == []


def test_processes_contending_for_the_same_labels(tmp_path: Path) -> None:
    rounds, labels, processes = 12, 25, 4
    prepared(tmp_path / "store").close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "store"), f"p{number}", str(rounds), str(labels)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    won = [process.communicate(timeout=300)[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    counted = Counter(label for labels_won in won for label in labels_won)
    assert len(counted) == rounds * labels
    assert set(counted.values()) == {1}
    with idstore.open(tmp_path / "store") as registry:
        assert list(registry.verify(ALICE)) == []
        assert registry.counts(ALICE).total == rounds * labels


def test_a_holder_is_named_when_the_wait_runs_out(tmp_path: Path) -> None:
    with prepared(tmp_path / "store"), pytest.raises(StoreBusy, match=rf"is in use by process {os.getpid()}, "):
        idstore.open(tmp_path / "store", wait=0.1)
