"""Giving a store up: nothing of it is in use any more when it is closed, whoever is interrupted, reads, acts, or was forked meanwhile."""

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

import idstore
from idstore import Party, Registry, Request
from idstore.errors import StoreUnavailable
from idstore.stores import embedded

ALICE = Party("alice")
ARTICLE = {"issn": "0392-1921", "volume": "30", "issue": "119", "page": "1-23", "title": "The Myth of the Unicorn"}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.add_namespace("articles", "http://journals.example.org/", "scholars-portal", ALICE)
        registry.counts(ALICE)
        yield registry


class Interrupting:
    """What the applying thread does, which first interrupts the main thread, once that waits, and goes on once that knows."""

    def __init__(self, act: Callable[..., Any], waits: Callable[[], object], knows: Callable[[], object]) -> None:
        self._act, self._waits, self._knows = act, waits, knows
        self.done = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        _until(self._waits)
        os.kill(os.getpid(), signal.SIGINT)
        _until(self._knows)
        made = self._act(*arguments, **named)
        self.done = True
        return made


def _until(met: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not met() and time.monotonic() < end:
        time.sleep(0.001)


@pytest.mark.parametrize("part", ["engrave", "catalogue"])
def test_an_interrupted_close_waits_for_the_step_under_way(registry: Registry, tmp_path: Path, part: str) -> None:
    store: Any = registry.store
    owner, name = (store._generation, "engrave") if part == "engrave" else (store._generation.catalogue, "apply")
    step = Interrupting(getattr(owner, name), lambda: store._applier._stopping, lambda: store._applier._leaving)
    setattr(owner, name, step)
    registry.register("names", "one", ALICE)
    with pytest.raises(KeyboardInterrupt):
        registry.close()
    assert step.done
    with idstore.open(tmp_path / "store") as again:
        assert [record.label for record in again.list(ALICE)] == ["one"]
        assert list(again.verify(ALICE)) == []


def test_what_an_interrupted_close_leaves_is_applied_at_the_next_opening(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idstore.stores.applying.GROUP", 2)
    store: Any = registry.store
    step = Interrupting(store._generation.engrave, lambda: store._applier._stopping, lambda: store._applier._leaving)
    store._generation.engrave = step
    with store.reading():  # nothing is applied meanwhile
        for number in range(9):
            registry.register("names", f"n{number}", ALICE)
    with pytest.raises(KeyboardInterrupt):
        registry.close()
    assert store._applied < store._given.sequence
    with idstore.open(tmp_path / "store") as again:
        assert len(again.list(ALICE)) == 9
        assert list(again.verify(ALICE)) == []


def test_a_close_that_was_interrupted_can_be_repeated(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(embedded, "_to_the_end", interrupt)
        with pytest.raises(KeyboardInterrupt):
            registry.close()
    registry.close()
    with idstore.open(tmp_path / "store", wait=0) as again:
        again.register("names", "one", ALICE)


def test_an_interrupt_while_readers_are_sent_away_keeps_nothing_open(registry: Registry, tmp_path: Path) -> None:
    store: Any = registry.store
    stop = store._copies.stop

    def interrupted() -> None:
        stop()
        raise KeyboardInterrupt

    store._copies.stop = interrupted
    registry.register("names", "one", ALICE)
    with pytest.raises(KeyboardInterrupt):
        registry.close()
    with idstore.open(tmp_path / "store", wait=0) as again:
        assert [record.label for record in again.list(ALICE)] == ["one"]


def test_files_are_closed_also_where_that_is_interrupted(registry: Registry, tmp_path: Path) -> None:
    store: Any = registry.store
    close, calls = store._generation.close, []

    def interrupted() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        close()

    store._generation.close = interrupted
    with pytest.raises(KeyboardInterrupt):
        registry.close()
    assert len(calls) == 2
    with idstore.open(tmp_path / "store", wait=0) as again:
        again.register("names", "one", ALICE)


def test_an_interrupted_reader_leaves_the_applying_thread_as_it_is(registry: Registry) -> None:
    store: Any = registry.store
    for number in range(20):
        engrave, told = store._generation.engrave, threading.Event()
        store._generation.engrave = Interrupting(engrave, lambda: store._applier._hurried, told.is_set)
        registry.register("names", f"n{number}", ALICE)
        try:
            with pytest.raises(KeyboardInterrupt):
                registry.counts(ALICE)
        finally:
            told.set()
            store._generation.engrave = engrave
        assert registry.counts(ALICE).total == number + 1
    assert not store._applier._hurried


def test_closing_waits_for_whoever_reads(registry: Registry) -> None:
    reading, go = threading.Event(), threading.Event()
    found: list[int] = []

    def read() -> None:
        with registry.store.reading() as view:
            reading.set()
            assert go.wait(60)
            found.append(view.catalogue.counts()[1])

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(60)
    closing = threading.Thread(target=registry.close)
    closing.start()
    store: Any = registry.store
    while not store._applier._ended and store._applier._has_started():
        pass
    assert closing.is_alive()
    go.set()
    reader.join(60)
    closing.join(60)
    assert len(found) == 1


def test_who_acts_while_it_is_closed_is_answered(registry: Registry, tmp_path: Path) -> None:
    """Either it is made and kept, or refused."""
    made: list[str] = []
    told: list[str] = []
    started = threading.Barrier(5)

    def act(place: int) -> None:
        started.wait()
        for number in range(10_000):
            try:
                made.append(registry.register("names", f"n{place}-{number}", ALICE).label)
            except StoreUnavailable as error:
                told.append(str(error))
                return

    threads = [threading.Thread(target=act, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    while len(made) < 40:
        pass
    registry.close()
    for thread in threads:
        thread.join(60)
    assert len(told) == 4
    assert all("closed" in text for text in told)
    with idstore.open(tmp_path / "store") as again:
        assert {record.label for record in again.list(ALICE, limit=None)} >= set(made)
        assert list(again.verify(ALICE)) == []


def test_an_opening_that_fails_late_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idstore.open(tmp_path / "store", administrator=ALICE).close()

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("idstore.stores.copies.Copies.serve", refuse)
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            idstore.open(tmp_path / "store")
    idstore.open(tmp_path / "store", wait=0).close()


@pytest.mark.parametrize(
    "act", [lambda r: r.register("names", "two", ALICE), lambda r: r.counts(ALICE), lambda r: r.show("names:one", ALICE)]
)
def test_a_child_of_the_process_does_not_use_it(registry: Registry, tmp_path: Path, act: Callable[[Registry], object]) -> None:
    registry.register("names", "one", ALICE)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act(registry)
            said = "it did"
        except StoreUnavailable as error:
            said = str(error)
        except BaseException as error:  # noqa: BLE001 the parent is told
            said = repr(error)
        registry.close()  # nothing happens
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        assert "opened by another process" in file.read()
    os.waitpid(child, 0)
    registry.register("names", "two", ALICE)
    registry.close()
    with idstore.open(tmp_path / "store") as again:
        assert {record.label for record in again.list(ALICE)} == {"one", "two"}
        assert list(again.verify(ALICE)) == []


def test_a_child_that_lives_on_holds_nothing(registry: Registry, tmp_path: Path) -> None:
    with a_child():
        with pytest.raises(StoreUnavailable, match="is in use by process"):
            idstore.open(tmp_path / "store", wait=0)
        registry.close()
        with idstore.open(tmp_path / "store", wait=0) as again:
            again.register("names", "two", ALICE)


def test_what_is_not_durable_is_not_told(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = registry.store
    writing, go = threading.Event(), threading.Event()

    def refuse(_: object) -> None:
        writing.set()
        assert go.wait(60)
        raise StoreUnavailable("no space")

    refused: list[StoreUnavailable] = []

    def mint() -> None:
        with pytest.raises(StoreUnavailable) as error:
            registry.mint("articles", ALICE, Request(metadata=ARTICLE))
        refused.append(error.value)

    monkeypatch.setattr(store._journal, "append", refuse)
    other = threading.Thread(target=mint)
    other.start()
    assert writing.wait(60)
    assert not registry.derive("articles", ARTICLE).collides
    go.set()
    other.join(60)
    assert len(refused) == 1
    monkeypatch.undo()
    assert not registry.derive("articles", ARTICLE).collides
    registry.mint("articles", ALICE, Request(metadata=ARTICLE))
    assert registry.derive("articles", ARTICLE).collides


@pytest.mark.parametrize("brief", [False, True], ids=["widely", "briefly"])
def test_no_large_change_comes_into_effect_inside_a_reading(registry: Registry, tmp_path: Path, brief: bool) -> None:
    registry.close()
    with idstore.open(tmp_path / "store", brief=brief) as again:
        with again.store.reading() as view:
            before = view.catalogue.counts()
            with pytest.raises(StoreUnavailable, match="end the block"), again.store.staging():
                pass
            assert view.catalogue.counts() == before
        with again.store.staging() as staged:
            Registry(staged).register("names", "one", ALICE)
        assert again.counts(ALICE).total == 1


def test_a_store_that_could_not_be_widened_says_so(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.register("names", "one", ALICE)
    registry.close()

    def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailable("no space; free some")

    with idstore.open(tmp_path / "store", brief=True) as again:
        with monkeypatch.context() as patched:
            patched.setattr(embedded, "Generation", refuse)
            with pytest.raises(StoreUnavailable, match="no space"), again.store.staging():
                pass
        for act in (
            lambda: again.show("names:one", ALICE),
            lambda: again.counts(ALICE),
            lambda: again.register("names", "two", ALICE),
            lambda: again.backup(tmp_path / "backup", ALICE),
        ):
            with pytest.raises(StoreUnavailable, match="open the store again"):
                act()
    with idstore.open(tmp_path / "store") as again:
        assert [record.label for record in again.list(ALICE)] == ["one"]


def test_what_no_event_tells_is_noted_in_a_store_that_is_opened_briefly(registry: Registry, tmp_path: Path) -> None:
    registry.close()
    with idstore.open(tmp_path / "store", brief=True) as again:
        again.keep_checked(2, 1, ALICE)
    with idstore.open(tmp_path / "store", brief=True) as again:
        again.repair_counters(ALICE)
        again.register("names", "one", ALICE)
        assert list(again.verify(ALICE)) == []


def test_a_child_that_lets_go_of_it_leaves_the_files_of_others_alone(tmp_path: Path) -> None:
    """Closing would remove SQLite's log by its name, in which another process has written by then."""
    store = tmp_path / "store"
    with idstore.open(store, administrator=ALICE) as made:
        made.add_namespace("puids", "http://n.example.org/", "puid", ALICE)
    registries = [idstore.open(store, brief=True)]
    registries[0].mint("puids", ALICE)

    def let_go() -> None:
        registries.clear()
        gc.collect()

    with a_child(let_go):
        registries[0].close()
        killed = "import idstore, os, sys; registry = idstore.open(sys.argv[1], brief=True); alice = idstore.Party('alice')"
        killed += "; print([registry.mint('puids', alice).label for _ in range(5)], flush=True); os.kill(os.getpid(), 9)"
        done = subprocess.run([sys.executable, "-c", killed, str(store)], check=False, capture_output=True, text=True)
        assert done.stdout == "['fmt/2', 'fmt/3', 'fmt/4', 'fmt/5', 'fmt/6']\n"
    with idstore.open(store) as again:
        assert again.mint("puids", ALICE).label == "fmt/7"
        assert len(list(again.list(ALICE))) == 7
        assert list(again.verify(ALICE)) == []


@pytest.mark.parametrize("brief", [True, False])
def test_a_store_that_nobody_has_any_more_is_given_up(tmp_path: Path, brief: bool) -> None:
    """With its threads, and nothing that was acknowledged is lost; a child can open it as well."""
    threads = set(threading.enumerate())
    idstore.open(tmp_path / "store", administrator=ALICE).close()
    with idstore.open(tmp_path / "store") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
    registry = idstore.open(tmp_path / "store", brief=brief)
    labels = [registry.register("names", f"n{number}", ALICE).label for number in range(40)]
    del registry
    gc.collect()
    for thread in set(threading.enumerate()) - threads:
        thread.join(60)
    with a_child(lambda: idstore.open(tmp_path / "store", wait=0).close()), idstore.open(tmp_path / "store", wait=0) as again:
        assert {record.label for record in again.list(ALICE)} == set(labels)
        assert list(again.verify(ALICE)) == []
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("brief", [True, False])
def test_a_fork_does_not_open_what_its_parent_has_open(tmp_path: Path, brief: bool) -> None:
    """It is told so at once, and holds nothing; another store it opens."""
    store, other = tmp_path / "store", tmp_path / "other"
    for place in (store, other):
        with idstore.open(place, administrator=ALICE, durability="process") as made:
            made.add_namespace("puids", "http://n.example.org/", "puid", ALICE)
    registry = idstore.open(store, brief=brief)
    registry.mint("puids", ALICE)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        for place in (store, other):
            try:
                idstore.open(place, wait=30)
                said.append("it did")
            except StoreUnavailable as error:
                said.append(str(error))
            except BaseException as error:  # noqa: BLE001 the parent is told
                said.append(repr(error))
        os.write(theirs, "\n".join(said).encode())
        os._exit(0)
    os.close(theirs)
    registry.close()
    with os.fdopen(ours) as file:
        told = file.read().split("\n")
    assert "of which this one is a fork" in told[0]
    assert told[1:] == ["it did"]
    os.waitpid(child, 0)
    with idstore.open(store, wait=0) as again:
        assert again.mint("puids", ALICE).label == "fmt/2"


def test_a_child_has_no_lock_that_a_thread_waited_for(tmp_path: Path) -> None:
    store = tmp_path / "store"
    holder = idstore.open(store, administrator=ALICE)
    waiting = threading.Thread(target=lambda: idstore.open(store, wait=60).close(), daemon=True)
    waiting.start()
    while not any(thread.name == "idstore-lock" for thread in threading.enumerate()):
        pass
    with a_child():
        holder.close()
        waiting.join(60)
        idstore.open(store, wait=0).close()


def test_a_disk_that_cannot_be_looked_at_fails_nothing_that_was_done(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.register("names", "one", ALICE)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "glob", _raising(OSError(errno.EIO, "Input/output error")))
        registry.close()
    with idstore.open(tmp_path / "store") as again:
        assert [record.label for record in again.list(ALICE)] == ["one"]


def _raising(error: Exception) -> Callable[..., NoReturn]:
    def act(*_: object, **__: object) -> NoReturn:
        raise error

    return act


@contextmanager
def a_child(act: Callable[[], object] = lambda: None) -> Iterator[None]:
    """A fork of this process that lives as long as the block, and then carries out an act."""
    ours, theirs = os.pipe()
    there, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(theirs)
        os.write(begun, b"x")
        os.read(ours, 1)  # until the parent is done
        act()
        os._exit(0)
    try:
        os.read(there, 1)
        yield
    finally:
        os.close(theirs)
        os.waitpid(child, 0)
        for pipe in (ours, there, begun):
            os.close(pipe)
