"""One registry, many threads: whole states for each of them, and nothing of the engine left to a thread that may not touch it."""

import contextlib
import gc
import io
import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

import idstore
from idstore import Party, Registry, Selection, Statement
from idstore.errors import AlreadyRegistered
from idstore.exchange.rdf import export
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.stores import View
from idstore.stores.applying import Durable, Unit
from idstore.stores.committing import Commits, Enlisted
from idstore.stores.embedded import EmbeddedStore
from idstore.stores.journal import Journal, write
from idstore.stores.scans import Scanning
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF

ALICE = Party("alice")
THREADS, ACTS = 8, 18


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with idstore.open(folder, administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.add_namespace("numbers", "http://example.org/numbers/", "puid", ALICE)
        for number in range(5):
            registry.register("names", f"n{number}", ALICE)
        yield registry


def in_another_thread(act: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


def abandon(view: View) -> None:
    """Begin to read much, and leave it in a cycle that only the collector finds."""
    scans = [view.quads(), view.quads(None, RDF.type, IDS.Registration)]
    for scan in scans:
        next(scan)
    cycle: Any = [scans]
    cycle.append(cycle)


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Python says of things that cannot be given up."""
    said: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: said.append(repr(what.exc_value)))
    return said


def test_what_is_not_read_to_its_end_is_not_left_to_another_thread(registry: Registry, folder: Path, unraisable: list[str]) -> None:
    gc.collect()
    gc.disable()
    try:
        with registry.store.reading() as view:
            abandon(view)
        with registry.store.turn() as turn:
            abandon(turn)
        with registry.store.staging() as staged:
            abandon(staged)
        in_another_thread(gc.collect)
    finally:
        gc.enable()
    assert unraisable == []
    registry.close()
    with idstore.open(folder) as again:  # the engine is free: a leaked iterator would keep it
        assert list(again.verify(ALICE)) == []


@pytest.mark.usefixtures("registry")
def test_a_reader_beside_a_writer_leaves_nothing_either(folder: Path, unraisable: list[str]) -> None:
    with idstore.open(folder, read_only=True, wait=60) as reader:
        with reader.store.reading() as view:
            abandon(view)
        in_another_thread(gc.collect)
    assert unraisable == []


def test_the_engine_does_leave_it_to_any_thread(registry: Registry, unraisable: list[str]) -> None:
    """Why all this: what the engine itself gives may not be dropped elsewhere."""
    store = registry.store
    assert isinstance(store, EmbeddedStore)
    kept: list[Iterator[Quad]] = [store._generation.engine.quads_for_pattern(None, None, None, None)]
    in_another_thread(kept.clear)
    assert len(unraisable) == 1 and "unsendable" in unraisable[0]


def test_an_inner_reading_does_not_end_the_outer_ones_scans(registry: Registry) -> None:
    with registry.store.reading() as view:
        whole = len(list(view.quads()))
        outer, seen = view.quads(), 0
        for _ in outer:
            seen += 1
            with registry.store.reading() as inner:
                next(inner.quads())
        assert seen == whole
        left = view.quads()
        next(left)
    assert list(left) == []


def test_readings_that_do_not_end_in_order_end_their_own(registry: Registry) -> None:
    first, second = Scanning(), Scanning()
    store = registry.store
    assert isinstance(store, EmbeddedStore)
    first.__enter__()
    early = store.quads()
    second.__enter__()
    late = store.quads()
    first.__exit__(None, None, None)
    assert list(early) == []
    assert next(late)
    second.__exit__(None, None, None)
    assert list(late) == []
    assert len(list(store.quads())) > 5  # outside of any reading: at once


def test_a_group_is_written_while_others_are_numbered(tmp_path: Path) -> None:
    """Whoever has the turn goes on wherever anything is made, for then the collector may run, and let other threads go on."""
    event = Event("5b2f3c1e-1111-4222-8333-444455556666", 7, IDS.Initialization, NamedNode("http://example.org/"), "alice", 0)
    change = Change(((event, PUBLIC_LOG),))
    units = [(Enlisted(Durable(sequence, change, 0), write(change, sequence)),) for sequence in range(1, 1001)]
    waiting, handed = iter(units), list[Unit]()

    def number(phase: str, _: object) -> None:
        if phase == "start" and (unit := next(waiting, None)) is not None:
            commits.enlist(unit)

    thresholds = gc.get_threshold()
    with contextlib.closing(Journal(tmp_path / "journal.sqlite", create=True, durable=False)) as journal, contextlib.ExitStack() as after:
        commits = Commits(journal, handed.extend)
        after.callback(gc.set_threshold, *thresholds)
        after.callback(gc.callbacks.remove, number)
        gc.callbacks.append(number)
        gc.set_threshold(5)
        while commits.durable < len(units):
            for unit in islice(waiting, 25):
                commits.enlist(unit)
            commits.until(commits.durable + 1, 0)
    assert [unit[0].sequence for unit in handed] == list(range(1, len(units) + 1))


def test_many_threads_share_a_registry(registry: Registry, folder: Path, tmp_path: Path) -> None:
    """Each does everything, at random; what one was told is there for all."""
    told: dict[str, str] = {}
    errors: list[BaseException] = []

    def work(number: int) -> None:
        party, chance = Party(f"p{number}"), random.Random(number)
        try:
            for act in range(ACTS):
                made = registry.mint("numbers", party).iri.value
                assert made not in told
                told[made] = "created"
                registry.bind(made, Statement(f"{made}/same"), party)
                if chance.random() < 0.5:
                    registry.fixate([made], party)
                    told[made] = "fixated"
                with contextlib.suppress(AlreadyRegistered):
                    told[registry.register("names", f"x{chance.randrange(200)}", party).iri.value] = "created"
                any_iri = chance.choice(list(told))
                assert told[any_iri] in ("created", registry.show(any_iri, ALICE).stage.value)
                assert len(registry.list(party, Selection(), limit=5)) == 5 or act < 5
                if act == number:
                    look_at_all(number)
        except BaseException as error:  # noqa: BLE001 the test is told, whatever it is
            errors.append(error)

    def look_at_all(number: int) -> None:
        target = io.BytesIO()
        export(registry, target, ALICE, "nquads")
        assert target.getvalue().count(b"ontology#Mint>") >= number
        assert list(registry.verify(ALICE)) == []
        registry.backup(tmp_path / f"copy{number}", ALICE)
        assert list(registry.log(ALICE))

    running = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert errors == []
    assert registry.counts(ALICE).total == 5 + len(told)
    registry.close()
    with idstore.open(folder) as again:
        assert list(again.verify(ALICE)) == []
        assert {record.iri.value: record.stage.value for record in again.list(ALICE, limit=None) if record.iri.value in told} == told
