"""Changes that are applied in large groups: nothing of them is lost or half there, they do not pile up, and the files do not grow for ever."""

import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

import idstore
from idstore import Party, Request
from idstore.errors import StoreUnavailable
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.steps import apply
from idstore.stores import applying, generation, prepared
from idstore.stores.generation import Generation
from idstore.stores.prepared import Prepared, net
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, SKOS

ALICE = Party("alice")
TEXTS = some.text(some.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)


@given(name=TEXTS, comment=TEXTS, party=some.from_regex(r"[a-z0-9][\w.@+-]{0,9}", fullmatch=True), moment=some.integers(0, 2**42))
def test_the_lines_of_a_change_are_its_quads(name: str, comment: str, party: str, moment: int) -> None:
    iri = NamedNode("http://example.org/a")
    said = (
        (IDS.inNamespace, NamedNode("http://example.org/")),
        (SKOS.notation, Literal("a")),
        (IDS.type, IDS.Handle),
        (IDS.name, Literal(name, language="en")),
        (RDF.value, Literal(comment)),
        (IDS.target, NamedNode("http://example.org/é?x=%20")),
    )
    event = Event("5b2f3c1e-1111-4222-8333-444455556666", 7, IDS.Mint, iri, party, moment, said)
    record = apply(None, event)
    assert record is not None
    change = Change(((event, record.log),), begins=True, claims=((iri, iri),))
    read = list(parse(change.lines(), format=RdfFormat.N_QUADS, lenient=True))
    assert set(read) == set(change.quads())
    assert len(read) == len(change.quads())
    assert sorted(change.lines().split("\n")[:-1]) == sorted(f"{quad} ." for quad in change.quads())  # what goes is found among what comes


_QUADS = [
    Quad(NamedNode(f"http://example.org/{number % 4}"), IDS.name, Literal(f'a "{number}" .\n<b> \\ é'), PUBLIC_LOG) for number in range(8)
]


@settings(deadline=None, max_examples=60)
@given(
    toggled=some.lists(some.sets(some.integers(0, 4), max_size=4), min_size=4, max_size=12),
    ends=some.sets(some.integers(1, 8), min_size=1, max_size=3),
    later=some.sets(some.integers(1, 11), max_size=2),
    known=some.integers(0, 6),
    lost=some.integers(0, 2),
    bulk=some.sampled_from([2, 4, 500]),
    halfway=some.booleans(),
)
def test_however_changes_are_grouped_the_engine_has_what_they_leave(
    toggled: list[set[int]], ends: set[int], later: set[int], known: int, lost: int, bulk: int, halfway: bool
) -> None:
    """Also where some of them, or the removals of a group alone, were made before the process ended."""
    changes, there = [], set[Quad]()
    for number, which in enumerate(toggled, start=1):
        chosen = {_QUADS[one] for one in which}
        event = Event("5b2f3c1e-1111-4222-8333-444455556666", number, IDS.Comment, NamedNode("http://example.org/a"), "alice", number, ())
        changes.append((number, Change(((event, PUBLIC_LOG),), add=tuple(chosen - there), remove=tuple(chosen & there))))
        there ^= chosen
        there |= set(event.quads(PUBLIC_LOG))
    ready = [Prepared.of(*change) for change in changes]

    def groups(from_: int, ends: set[int]) -> list[list[Prepared]]:
        cuts = [from_, *sorted(end for end in ends if from_ < end < len(ready)), len(ready)]
        return [ready[start:end] for start, end in pairwise(cuts)]

    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(generation, "_BULK", bulk),
        closing(Generation(Path(folder) / "generation", create=True)) as made,
    ):
        before = groups(0, ends)[:lost]
        for group in before:
            made.engrave(group)
        known = min(known, sum(map(len, before)))
        if halfway and (gone := net(ready[known:], again=True)[0]):
            made.engine.update(f"DELETE DATA {{ {generation._data(gone)} }}")
        for group in groups(known, later):
            made.engrave(group, again=True)
        assert set(made.quads()) == there


WORKER = """
import itertools, sys, threading
import idstore
from idstore.stores import applying, generation
generation._BULK, applying.GROUP, applying.BACKLOG, applying._PAUSE = 5, 40, 80, 0.01
generation._LOGGED = int(sys.argv[2])
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1], administrator=alice, durability="process", wait=60)
if not registry.namespaces():
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
def work():
    for number in itertools.count():
        record = registry.mint("rdl", alice, idstore.Request(name="valve"))
        if number % 30 == 0:
            registry.fixate([record.iri.value], alice)
        print(record.iri.value + "\\n", end="", flush=True)
for _ in range(4):
    threading.Thread(target=work).start()
"""


def test_a_kill_while_groups_are_loaded_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(20261121)
    folder = tmp_path / "store"
    acknowledged: set[str] = set()
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(chance.choice((3, 2000)))], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        told = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        told += process.communicate()[0]
        minted = {line.strip() for line in told.splitlines(keepends=True) if line.endswith("\n")}
        assert not minted & acknowledged
        acknowledged |= minted
    with idstore.open(folder) as registry:
        assert list(registry.verify(ALICE)) == []
        listed = {record.iri.value for record in registry.list(ALICE, limit=None)}
        assert acknowledged <= listed
        assert registry.counts(ALICE).total == len(listed)


CRASHER = """
import os, sys
import idstore
from idstore.stores import applying, generation
generation._BULK, applying._PAUSE, applying._QUIET = 2, 600, 600
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1], administrator=alice)
registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
registry.counts(alice)
store = registry.store
def dies(*_):
    os._exit(9)
if sys.argv[2] == "before":
    store._generation.engrave = dies
elif sys.argv[2] == "within":
    engine = store._generation.engine
    engrave = store._generation.engrave
    def halfway(batch):
        engrave(batch[: len(batch) // 2])
        os._exit(9)
    store._generation.engrave = halfway
else:
    store._generation.catalogue.apply = dies
for _ in range(50):
    registry.mint("rdl", alice)
(store._generation.folder / "engine" / "bulk-17.sst").write_bytes(b"left by a loader that was cut short")
registry.counts(alice)
"""


@pytest.mark.parametrize("where", ["before", "within", "after"])
def test_a_group_that_was_cut_short_is_applied_by_the_next_opening(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    assert subprocess.run([sys.executable, "-c", CRASHER, str(folder), where], check=False).returncode == 9
    monkeypatch.setattr(generation, "_BULK", 2)
    with idstore.open(folder) as registry:
        assert registry.counts(ALICE).total == len(registry.list(ALICE, limit=None)) == 50
        assert list(registry.verify(ALICE)) == []
    assert not list(folder.glob("generation-*/engine/bulk-*"))


def begun(folder: Path) -> Any:
    registry = idstore.open(folder, administrator=ALICE, durability="process")
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
    return registry


def test_acknowledged_changes_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "GROUP", 5)
    monkeypatch.setattr(applying, "ENOUGH", 5)
    monkeypatch.setattr(applying, "BACKLOG", 20)
    with begun(tmp_path / "store") as registry:
        registry.counts(ALICE)
        minted: list[str] = []
        minting = threading.Thread(target=lambda: minted.extend(registry.mint("rdl", ALICE).label for _ in range(100)))
        applier = registry.store._applier
        with registry.store.reading():  # nothing is applied meanwhile
            minting.start()
            while applier._waiting <= 20:
                time.sleep(0.001)
            minting.join(0.2)
            assert minting.is_alive()
            assert applier._waiting == 21
        minting.join()
        assert len(set(minted)) == registry.counts(ALICE).total == 100


def test_what_was_done_is_applied_when_nothing_more_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying, "_PAUSE", 600)
    with begun(tmp_path / "store") as registry:
        registry.mint("rdl", ALICE)
        store = registry.store
        while store._applied < store._commits.durable:  # for ever, if only a reader or more changes brought it about
            time.sleep(0.001)


def test_a_reader_is_told_of_whatever_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError("no room")

    with begun(tmp_path / "store") as registry:
        minted = registry.mint("rdl", ALICE).iri.value
        with monkeypatch.context() as patched:
            patched.setattr(prepared.Prepared, "of", refuse)
            last = registry.mint("rdl", ALICE).iri.value
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="no room"):
                    registry.counts(ALICE)
            with pytest.raises(StoreUnavailable, match="no room"):
                registry.mint("rdl", ALICE)
    with idstore.open(tmp_path / "store") as registry:
        assert {record.iri.value for record in registry.list(ALICE)} == {minted, last}


def test_the_files_come_back_to_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "_LOGS", 1 << 16)
    folder = tmp_path / "store"
    with begun(folder) as registry:
        for number in range(1500):
            registry.mint("rdl", ALICE, Request(name=f"thing {number}"))
            if number % 100 == 0:
                registry.counts(ALICE)  # what is read is written in small groups, by the engine's log
        registry.store._journal._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        assert (folder / "journal.sqlite").stat().st_size > 1_000_000
    assert (folder / "journal.sqlite").stat().st_size < 100_000
    assert sum(log.stat().st_size for log in folder.glob("generation-*/engine/*.log")) < 100_000
    with idstore.open(folder) as registry:
        assert registry.counts(ALICE).total == 1500
        assert list(registry.verify(ALICE)) == []


def test_it_rests_for_others_unless_a_reader_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    applier = applying.Applier(lambda _: None, lambda _: None)
    assert list(applier.paced(range(11))) == list(range(11))
    assert len(rests) == 11 // applying._SLICE
    applier._hurried.add(object())
    assert list(applier.paced(range(11))) == list(range(11))
    assert len(rests) == 11 // applying._SLICE
