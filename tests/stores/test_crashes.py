"""kill -9: what was acknowledged is there, what is there is whole, and no label is issued again."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import idstore
from idstore import Party, Selection, Stage

ALICE = Party("alice")
WORKER = """
import sys
import idstore
from idstore import Party, Request, Statement
party = Party("alice")
with idstore.open(sys.argv[1], administrator=party, wait=60) as registry:
    if not registry.namespaces():
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", party)
    while True:
        record = registry.mint("rdl", party, Request(name="valve"))
        print("minted", record.iri.value, flush=True)
        registry.bind(record.iri.value, Statement("http://example.org/" + record.label), party)
        print("bound", record.iri.value, flush=True)
        registry.fixate([record.iri.value], party)
        print("fixated", record.iri.value, flush=True)
"""


def run_and_kill(folder: Path, seconds: float) -> list[list[str]]:
    """Let a process work for a while, kill it, and give what it acknowledged."""
    process = subprocess.Popen([sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    return [line.split() for line in (first + rest).splitlines() if line.endswith("#R") is False and len(line.split()) == 2]


@pytest.mark.parametrize("kills", [8, pytest.param(16, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, kills: int) -> None:
    chance = random.Random(20261120)
    acknowledged: dict[str, str] = {}
    for _ in range(kills):
        told = run_and_kill(tmp_path / "store", chance.uniform(0, 0.2))
        minted = [iri for act, iri in told if act == "minted"]
        assert not set(minted) & set(acknowledged)
        acknowledged.update((iri, act) for act, iri in told)
    with idstore.open(tmp_path / "store") as registry:
        assert list(registry.verify(ALICE)) == []
        assert len(acknowledged) <= registry.counts(ALICE).total <= len(acknowledged) + kills
        for iri, act in acknowledged.items():
            record = registry.show(iri, ALICE)
            if act in ("bound", "fixated"):
                assert [binding.target.value for binding in record.bindings] == [f"http://example.org/{record.label}"]
            if act == "fixated":
                assert record.stage is Stage.FIXATED
        assert len(registry.list(ALICE, Selection(), limit=None)) == registry.counts(ALICE).total
