"""One registry, many threads.

Each thread sees complete states, and the engine's objects are dropped only in threads that may drop them.
"""

import contextlib
import gc
import io
import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from pyoxigraph import NamedNode, Quad
from store_files import ALICE, Thread, create, register

import idstore
from idstore import Filter, Party, Registry, Statement
from idstore.errors import AlreadyRegistered
from idstore.exchange.rdf import export
from idstore.stores.contract import View
from idstore.vocabulary import IDS, RDF

THREADS, ACTS = 8, 18


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def registry(folder: Path) -> Iterator[Registry]:
    with create(folder) as registry:
        register(registry, (f"n{number}" for number in range(5)))
        yield registry


def in_another_thread(act: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


def abandon(view: View) -> None:
    """Begin a long scan, and leave it in a reference cycle that only the garbage collector finds."""
    scans = [view.quads(), view.quads(None, RDF.type, IDS.Registration)]
    for scan in scans:
        next(scan)
    cycle: Any = [scans]
    cycle.append(cycle)


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages of Python about objects whose finalization fails."""
    said: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: said.append(repr(what.exc_value)))
    return said


def test_an_unfinished_scan_is_not_left_to_another_thread(
    registry: Registry, folder: Path, unraisable: list[str]
) -> None:
    gc.collect()
    gc.disable()
    try:
        registry.store.read(abandon)
        registry.store.write(abandon)
        with registry.store.snapshot() as snapshot:
            abandon(snapshot)
        with registry.store.bulk() as bulk:
            abandon(bulk)
            bulk.read(abandon)
            bulk.write(abandon)
        in_another_thread(gc.collect)
    finally:
        gc.enable()
    assert unraisable == []
    registry.close()
    with idstore.open(folder) as again:  # the engine is free: a leaked iterator would keep it
        assert list(again.verify(ALICE)) == []


@pytest.mark.usefixtures("registry")
def test_a_reader_beside_a_writer_leaves_no_scan_to_another_thread(
    folder: Path, unraisable: list[str]
) -> None:
    with idstore.open(folder, mode="shared", wait=60) as reader:
        reader.store.read(abandon)
        with reader.store.snapshot() as snapshot:
            abandon(snapshot)
        in_another_thread(gc.collect)
    assert unraisable == []


def test_an_act_that_raises_leaves_no_scan_to_another_thread(
    registry: Registry, unraisable: list[str]
) -> None:
    """Otherwise the error's traceback would carry the scan to the thread that requested the act."""

    def act(view: View) -> None:
        scan = view.quads()
        next(scan)
        raise LookupError(str(next(scan)))

    kept: list[BaseException] = []
    for ask in (registry.store.write, registry.store.read):
        with pytest.raises(LookupError) as caught:
            ask(act)
        kept.append(caught.value)
    del caught
    in_another_thread(kept.clear)
    gc.collect()
    assert unraisable == []


def test_the_engine_itself_leaves_a_scan_to_any_thread(tmp_path: Path, unraisable: list[str]) -> None:
    """The reason for these tests: an object of the engine must not be dropped in another thread."""
    engine = pyoxigraph.Store(str(tmp_path / "engine"))
    engine.add(Quad(NamedNode("http://example.org/"), RDF.type, IDS.Mint))
    kept: list[Iterator[Quad]] = [engine.quads_for_pattern(None, None, None, None)]
    in_another_thread(kept.clear)
    assert len(unraisable) == 1 and "unsendable" in unraisable[0]


def test_a_nested_question_does_not_end_the_scans_of_the_outer_question(registry: Registry) -> None:
    kept: list[Iterator[Quad]] = []

    def question(view: View) -> None:
        whole = len(list(view.quads()))
        outer, seen = view.quads(), 0
        for _ in outer:
            seen += 1
            registry.store.read(lambda inner: next(inner.quads()))
        assert seen == whole > 5
        kept.append(view.quads())
        next(kept[0])

    registry.store.read(question)
    assert list(kept[0]) == []


def test_many_threads_share_a_registry(registry: Registry, folder: Path, tmp_path: Path) -> None:
    """Each thread runs random acts; all threads see acknowledged changes."""
    told: dict[str, str] = {}

    def work(number: int) -> None:
        party, chance = Party(f"p{number}"), random.Random(number)
        for act in range(ACTS):
            made = registry.mint("numbers", party).iri
            assert made not in told
            told[made] = "created"
            registry.bind(made, Statement(f"{made}/same"), party)
            if chance.random() < 0.5:
                registry.fixate([made], party)
                told[made] = "fixated"
            with contextlib.suppress(AlreadyRegistered):
                told[registry.register("names", f"x{chance.randrange(200)}", party).iri] = "created"
            any_iri = chance.choice(list(told))
            assert told[any_iri] in ("created", registry.show(any_iri, ALICE).stage.value)
            assert len(registry.list(party, Filter(), limit=5)) == 5 or act < 5
            if act == number:
                look_at_all(number)

    def look_at_all(number: int) -> None:
        target = io.BytesIO()
        export(registry, target, ALICE, "nquads")
        assert target.getvalue().count(b"ontology#Mint>") >= number
        assert list(registry.verify(ALICE)) == []
        registry.backup(tmp_path / f"copy{number}", ALICE)
        assert list(registry.log(ALICE))

    threads = [Thread(lambda number=number: work(number)) for number in range(THREADS)]  # type: ignore[misc]
    for thread in threads:
        thread.result()
    assert registry.counts(ALICE).total == 5 + len(told)
    registry.close()
    with idstore.open(folder) as again:
        assert list(again.verify(ALICE)) == []
        assert {
            record.iri: record.stage.value for record in again.list(ALICE, limit=None) if record.iri in told
        } == told


def test_errors_form_no_reference_cycles(registry: Registry) -> None:
    """A cycle would keep the engine's objects until the garbage collector runs, in any thread."""
    register(registry, ["one"])

    def many() -> list[str]:
        return [_code(lambda: registry.register("names", "one", ALICE)) for _ in range(50)]

    gc.collect()
    gc.disable()
    try:
        told = Thread(many).result() + Thread(many).result() + many()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [one for one in gc.garbage if isinstance(one, AlreadyRegistered)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert told == ["taken"] * 150
    assert left == []


def _code(act: Callable[[], object]) -> str:
    try:
        act()
    except AlreadyRegistered as error:
        return error.code
    return "done"
