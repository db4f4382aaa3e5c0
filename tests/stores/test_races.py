"""Threads and processes compete for labels of a store on disk; each label is issued once."""

import os
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from store_files import ALICE, PATIENCE, Thread, create, sound

import idstore
from idstore import Party
from idstore.errors import AlreadyRegistered, StoreBusy

WORKER = """
import sys
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


@pytest.mark.parametrize("labels", [500, pytest.param(1500, marks=pytest.mark.slow)])
def test_threads_contend_for_the_same_labels(tmp_path: Path, labels: int) -> None:
    threads = 8
    start = threading.Barrier(threads)

    def contend(number: int) -> list[int]:
        party, won = Party(f"p{number}"), []
        start.wait(PATIENCE)
        for label in range(labels):
            try:
                registry.register("names", f"n{label}", party)
            except AlreadyRegistered:
                continue
            won.append(label)
        return won

    with create(tmp_path / "store") as registry:
        running = [Thread(partial(contend, number)) for number in range(threads)]
        wins = [thread.result() for thread in running]
        counted = Counter(label for won in wins for label in won)
        assert sorted(counted) == list(range(labels))
        assert set(counted.values()) == {1}
        assert registry.counts(ALICE).total == labels
        for number, won in enumerate(wins):
            assert sum(
                count for _, owner, _, count in registry.counts(ALICE).tallies if owner == f"p{number}"
            ) == len(won)
    assert len(sound(tmp_path / "store")) == labels


def test_processes_contend_for_the_same_labels(tmp_path: Path) -> None:
    rounds, labels, processes = 12, 25, 4
    create(tmp_path / "store").close()
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
    assert sound(tmp_path / "store") == set(counted)


def test_the_holder_is_named_when_the_wait_runs_out(tmp_path: Path) -> None:
    with create(tmp_path / "store"), pytest.raises(StoreBusy, match=rf"is in use by process {os.getpid()}, "):
        idstore.open(tmp_path / "store", wait=0.1)
