"""Closing a store frees all its files and threads, also during questions and acts and after an interrupt."""

import gc
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from store_files import (
    ALICE,
    PATIENCE,
    Thread,
    create,
    flip,
    generation,
    labels,
    ledger,
    living_fork,
    open_files,
    register,
    sound,
    until,
)

import idstore
from idstore import Registry
from idstore.errors import StoreUnavailable
from idstore.stores.contract import Transaction, View


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_closed_store_holds_no_file_and_no_thread(place: Path) -> None:
    threads = set(threading.enumerate())
    with create(place) as registry:
        register(registry, "a")
        with registry.store.snapshot():
            pass
    assert open_files(place) == []
    assert set(threading.enumerate()) <= threads
    with idstore.open(place, wait=0) as again:
        register(again, "b")
    assert sound(place) == {"a", "b"}


USES: dict[str, Callable[[Registry, Path], object]] = {
    "read": lambda registry, _: registry.list(ALICE),
    "write": lambda registry, _: registry.register("names", "a", ALICE),
    "snapshot": lambda registry, _: registry.store.snapshot(),
    "bulk": lambda registry, _: registry.store.bulk().__enter__(),
    "backup": lambda registry, place: registry.backup(place / "backup", ALICE),
    "query": lambda registry, _: registry.query("ASK {}", ALICE),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_store_is_not_used(place: Path, tmp_path: Path, use: str) -> None:
    registry = create(place)
    registry.close()
    with idstore.open(place) as other:  # the closed registry does not touch files that another one uses
        with pytest.raises(StoreUnavailable, match="closed"):
            USES[use](registry, tmp_path)
        register(other, "b")
    registry.close()
    assert not (tmp_path / "backup").exists()
    assert sound(place) == {"b"}


def test_closing_waits_for_a_question(place: Path) -> None:
    """The question sees the state with which it began."""
    registry = create(place)
    asking, go = threading.Event(), threading.Event()

    def question(view: View) -> int:
        asking.set()
        assert go.wait(PATIENCE)
        return view.catalogue.counts()[0] + len(list(view.graphs()))

    before = registry.store.read(lambda view: view.catalogue.counts()[0] + len(list(view.graphs())))
    reader = Thread(lambda: registry.store.read(question))
    assert asking.wait(PATIENCE)
    closing = Thread(registry.close)
    until(lambda: _is_refused(registry), "the store takes no more acts")
    go.set()
    assert reader.result() == before
    closing.result()
    assert open_files(place) == []


def _is_refused(registry: Registry) -> bool:
    try:
        registry.store.write(lambda _: None)
    except StoreUnavailable:
        return True
    return False


def test_closing_waits_for_an_act(place: Path) -> None:
    registry = create(place)
    acting, go = threading.Event(), threading.Event()

    def act(transaction: Transaction) -> str:
        acting.set()
        assert go.wait(PATIENCE)
        transaction.note("test", "kept")
        return "done"

    actor = Thread(lambda: registry.store.write(act))
    assert acting.wait(PATIENCE)
    closing = Thread(registry.close)
    go.set()
    assert actor.result() == "done"
    closing.result()
    with idstore.open(place) as again:
        assert again.store.read(lambda view: view.catalogue.note("test")) == "kept"


def test_closing_leaves_a_snapshot_to_its_reader(place: Path) -> None:
    registry = create(place)
    register(registry, "ab")
    snapshot = registry.store.snapshot()
    registry.close()
    with snapshot:
        assert snapshot.catalogue.counts()[0] == 2
        assert len(list(snapshot.graphs())) > 2
    assert open_files(place) == []


def test_acts_are_answered_while_the_store_is_closed(place: Path) -> None:
    """Each act is either done and durable, or refused."""
    registry = create(place)
    acknowledged: list[str] = []
    started = threading.Barrier(5)

    def act(number: int) -> str:
        started.wait(PATIENCE)
        try:
            while True:
                acknowledged.append(registry.register("names", f"n{number}-{len(acknowledged)}", ALICE).label)
        except StoreUnavailable as error:
            return str(error)

    threads = [Thread(lambda number=number: act(number)) for number in range(4)]  # type: ignore[misc]
    started.wait(PATIENCE)
    until(lambda: len(acknowledged) >= 40, "40 acts")
    registry.close()
    assert all("closed" in thread.result() for thread in threads)
    assert set(acknowledged) <= sound(place)


def test_a_large_change_that_is_under_way_is_refused(place: Path) -> None:
    """Closing does not wait for a caller that may never return."""
    registry = create(place)
    begun, go = threading.Event(), threading.Event()

    def change() -> str:
        try:
            with registry.store.bulk() as bulk:
                Registry(bulk).register("names", "a", ALICE)
                begun.set()
                assert go.wait(PATIENCE)
        except StoreUnavailable as error:
            return str(error)
        return "done"

    changing = Thread(change)
    assert begun.wait(PATIENCE)
    closing = Thread(registry.close)
    closing.result()
    go.set()
    assert "closed" in changing.result()
    assert sound(place) == set()
    assert len(list(place.glob("generation-*"))) == 1


def test_two_threads_close_a_store(place: Path) -> None:
    registry = create(place)
    register(registry, "a")
    threads = [Thread(registry.close) for _ in range(4)]
    for thread in threads:
        thread.result()
    assert open_files(place) == []
    assert sound(place) == {"a"}


def damaged_ledger(place: Path) -> None:
    ledger(place).write_bytes(b"SQLite format 3\0" + bytes(4096 * 8))


def damaged_catalogue(place: Path) -> None:
    flip(generation(place) / "catalogue.sqlite", *range(16, 100))


def without_generation(place: Path) -> None:
    shutil.rmtree(generation(place))


@pytest.mark.parametrize("break_it", [damaged_ledger, damaged_catalogue, without_generation])
def test_a_failed_opening_leaves_no_file_open_and_no_thread(
    place: Path, tmp_path: Path, break_it: Callable[[Path], None]
) -> None:
    with create(place) as registry:
        register(registry, "ab")
    shutil.copytree(place, tmp_path / "sound")
    break_it(place)
    threads = set(threading.enumerate())
    for options in ({}, {"mode": "shared"}, {}):
        with pytest.raises(StoreUnavailable):
            idstore.open(place, wait=0, **options)  # type: ignore[arg-type]
    gc.collect()
    assert open_files(place) == []
    assert set(threading.enumerate()) <= threads
    shutil.rmtree(place)
    (tmp_path / "sound").rename(place)
    assert sound(place) == {"a", "b"}


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # from Python 3.13 on
@pytest.mark.parametrize("read_only", [False, True])
def test_an_abandoned_store_is_closed(place: Path, *, read_only: bool) -> None:
    """Its threads end, and no acknowledged change is lost."""
    create(place).close()
    threads = set(threading.enumerate())
    registry = idstore.open(place, mode="shared" if read_only else "write")
    acknowledged = set() if read_only else register(registry, (f"n{number}" for number in range(40)))
    assert labels(registry) == acknowledged
    del registry
    gc.collect()
    for thread in set(threading.enumerate()) - threads:
        thread.join(PATIENCE)
    with living_fork(), idstore.open(place, wait=0) as again:
        assert labels(again) == acknowledged
        assert list(again.verify(ALICE)) == []
    assert set(threading.enumerate()) <= threads


def test_a_store_damaged_while_open_can_be_closed(place: Path) -> None:
    """The next opening repairs it from its ledger, or refuses it."""
    registry = create(place)
    register(registry, "a")
    for table in generation(place).rglob("*.sst"):
        table.write_bytes(bytes(table.stat().st_size))
    Thread(registry.close).result()
    with suppress(StoreUnavailable):
        assert sound(place) == {"a"}
