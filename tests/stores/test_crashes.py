"""kill -9: acknowledged changes survive, no change is incomplete, and no label is issued twice."""

import random
import signal
import time
from pathlib import Path

import pytest
from store_files import ALICE, create, generation, ledger, line, register, rest, running, sound

import idstore
from idstore import Filter, Stage

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
        print("minted", record.iri, flush=True)
        registry.bind(record.iri, Statement("http://example.org/" + record.label), party)
        print("bound", record.iri, flush=True)
        registry.fixate([record.iri], party)
        print("fixated", record.iri, flush=True)
"""


def killed_after(place: Path, seconds: float) -> list[list[str]]:
    """Let a process work for a while, kill it, and return its acknowledgements."""
    with running(WORKER, place) as process:
        output = line(process) + "\n"
        time.sleep(seconds)  # the moment of the kill is arbitrary
        process.send_signal(signal.SIGKILL)
        output += rest(process)
    whole = [
        words for one in output.splitlines(keepends=True) if one.endswith("\n") and (words := one.split())
    ]
    assert all(len(words) == 2 for words in whole)
    return whole


@pytest.mark.parametrize("kills", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_acknowledged_changes_survive_a_kill(tmp_path: Path, kills: int) -> None:
    chance = random.Random(20261120)
    acknowledged: dict[str, str] = {}
    for _ in range(kills):
        output = killed_after(tmp_path / "store", chance.uniform(0, 0.2))
        minted = [iri for act, iri in output if act == "minted"]
        assert not set(minted) & set(acknowledged)
        acknowledged.update((iri, act) for act, iri in output)
    with idstore.open(tmp_path / "store") as registry:
        assert list(registry.verify(ALICE)) == []
        assert len(acknowledged) <= registry.counts(ALICE).total <= len(acknowledged) + kills
        for iri, act in acknowledged.items():
            record = registry.show(iri, ALICE)
            if act in ("bound", "fixated"):
                assert [binding.target for binding in record.bindings] == [
                    f"http://example.org/{record.label}"
                ]
            if act == "fixated":
                assert record.stage is Stage.FIXATED
        assert len(registry.list(ALICE, Filter(), limit=None)) == registry.counts(ALICE).total


THREADS = """
import itertools, sys, threading
import idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1], wait=60)
def work():
    for number in itertools.count():
        record = registry.mint("numbers", alice, idstore.Request(name="format"))
        if number % 30 == 0:
            registry.fixate([record.iri], alice)
        print(record.label + "\\n", end="", flush=True)
for _ in range(4):
    threading.Thread(target=work).start()
"""


def test_a_kill_while_threads_share_batches_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(20261121)
    place = tmp_path / "store"
    create(place).close()
    acknowledged: set[str] = set()
    for _ in range(5):
        with running(THREADS, place) as process:
            output = line(process) + "\n"
            time.sleep(chance.uniform(0, 0.4))  # the moment of the kill is arbitrary
            process.send_signal(signal.SIGKILL)
            output += rest(process)
        minted = {one.strip() for one in output.splitlines(keepends=True) if one.endswith("\n")}
        assert not minted & acknowledged
        acknowledged |= minted
    assert acknowledged <= sound(place)


MANY = """
import os, signal, sys
import idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
for number in range(int(sys.argv[2])):
    registry.register("names", f"n{number}", alice)
print("done", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_store_opens_after_its_ledger_was_pruned(tmp_path: Path) -> None:
    """It opens after a kill, and again after an orderly end; the ledger does not grow without bound."""
    place, many = tmp_path / "store", 21_000
    create(place).close()
    with running(MANY, place, many) as process:
        assert line(process) == "done"
    size = ledger(place).stat().st_size
    with idstore.open(place) as registry:
        with pytest.raises(idstore.errors.AlreadyRegistered):
            registry.register("names", "n0", ALICE)
        later = register(registry, ("one", "two"))
    assert not list(generation(place).glob("engine/bulk-*"))
    assert sound(place) == {f"n{number}" for number in range(many)} | later
    assert ledger(place).stat().st_size < 2 * size
