"""Ctrl-C while changes are written for several: nobody waits for ever, and nothing that was acknowledged is lost."""

import gc
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import idstore
from idstore import Party, Registry, Statement
from idstore.errors import IdstoreError, StoreUnavailable
from idstore.stores import blocks
from idstore.stores.inherited import Handle

ALICE = Party("alice")


def interrupted(act: Callable[..., Any], *, before: bool, gate: Callable[[], None]) -> Callable[..., Any]:
    """A function that is interrupted once, before it begins or when it is done."""
    left = [True]

    def carried_out(*arguments: Any) -> Any:
        once, left[:] = left[:], []
        if not once:
            return act(*arguments)
        gate()
        if not before:
            act(*arguments)
        raise KeyboardInterrupt

    return carried_out


@pytest.mark.parametrize("together", [True, False], ids=["together", "turns"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("step", ["append", "hand_on", "put"])
def test_an_interrupted_leader(tmp_path: Path, step: str, before: bool, together: bool) -> None:
    """Of those who write, and, where acts are done together, of those who do them."""
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.counts(ALICE)
        if not together:
            registry._clocked.add("rdl")
        store: Any = registry.store
        owner, name = {"append": (store._journal, "append"), "hand_on": (store._commits, "_hand_on"), "put": (store._applier, "put")}[step]
        minted: list[str] = []
        leading, others = threading.Event(), threading.Event()

        def gate() -> None:
            leading.set()
            assert others.wait(60)

        def lead() -> None:
            with pytest.raises(KeyboardInterrupt):
                registry.mint("rdl", ALICE)
            minted.append("")

        def follow() -> None:
            minted.append(registry.mint("rdl", ALICE).iri.value)

        setattr(owner, name, interrupted(getattr(owner, name), before=before, gate=gate))
        threads = [threading.Thread(target=lead, daemon=True)]
        threads[0].start()
        assert leading.wait(60)
        threads += [threading.Thread(target=follow, daemon=True) for _ in range(3)]
        for thread in threads[1:]:
            thread.start()
        while together and len(store._combining._asked) < 3:
            pass
        while not together and len(store._commits._enlisted) + (step == "put" and not before) < 3:
            pass
        others.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        acknowledged = {iri for iri in minted if iri}
        assert len(minted) == 4
        assert len(acknowledged) == 3
        last = registry.mint("rdl", ALICE).iri.value
        listed = {record.iri.value for record in registry.list(ALICE)}
        assert acknowledged | {last} <= listed
        assert len(listed) == 5
    with idstore.open(tmp_path / "store") as registry:
        assert {record.iri.value for record in registry.list(ALICE)} == listed
        assert list(registry.verify(ALICE)) == []


class Once:
    """Raises KeyboardInterrupt in the place of one call, or after it."""

    def __init__(self, act: Callable[..., Any], *, after: bool = False) -> None:
        self._act, self._after, self._left = act, after, True

    def __call__(self, *arguments: Any) -> Any:
        if not self._left:
            return self._act(*arguments)
        self._left = False
        if self._after:
            self._act(*arguments)
        raise KeyboardInterrupt


class Connection:
    """A connection whose first COMMIT is interrupted."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self._commit = Once(db.execute)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, statement: str, *arguments: Any) -> Any:
        return (self._commit if statement == "COMMIT" else self._db.execute)(statement, *arguments)


class Units(deque[Any]):
    """A queue whose first `extend` is interrupted when it is done."""

    def __init__(self, units: Any) -> None:
        super().__init__(units)
        self._once = Once(super().extend, after=True)

    def extend(self, units: Any) -> None:
        self._once(units)


def _interrupt_commit(store: Any) -> None:
    store._journal._db = Connection(store._journal._db)


def _interrupt_commit_and_its_end(store: Any) -> None:
    _interrupt_commit(store)
    store._journal.undo = Once(store._journal.undo)


def _interrupt_enlisting(store: Any) -> None:
    store._commits.enlist = Once(store._commits.enlist)


def _interrupt_putting(store: Any) -> None:
    store._applier._units = Units(store._applier._units)


LABEL, SAME = "https://hdl.handle.net/20.500.1/one", "http://example.org/same"


@pytest.mark.parametrize(
    ("act", "then"),
    [
        (
            lambda registry: registry.bind(LABEL, Statement(SAME), ALICE),
            lambda registry: registry.bind(LABEL, Statement(SAME), ALICE) is None,
        ),
        (
            lambda registry: registry.release(LABEL, ALICE),
            lambda registry: _code(lambda: registry.name(LABEL, "new", ALICE)) == "not-registered",
        ),
        (lambda registry: registry.fixate([LABEL], ALICE), lambda registry: _code(lambda: registry.release(LABEL, ALICE)) == "wrong-stage"),
    ],
    ids=["bind", "release", "fixate"],
)
def test_what_was_being_written_when_another_was_interrupted(
    tmp_path: Path, act: Callable[[Registry], Any], then: Callable[[Registry], bool]
) -> None:
    """The next turn begins anew, and reads it."""
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "one", ALICE)
        registry.counts(ALICE)
        store: Any = registry.store
        writing, go, append = threading.Event(), threading.Event(), store._journal.append

        def slowly(written: Any) -> None:
            writing.set()
            assert go.wait(60)
            append(written)

        store._journal.append = slowly
        first = threading.Thread(target=act, args=(registry,), daemon=True)
        first.start()
        assert writing.wait(60)
        _interrupt_enlisting(store)
        with pytest.raises(KeyboardInterrupt):
            registry.register("names", "two", ALICE)
        waits, found = store._commits.lock, list[bool]()
        store._commits.lock = lock = Watched(waits)
        second = threading.Thread(target=lambda: found.append(then(registry)), daemon=True)
        second.start()
        assert lock.wanted.wait(60)  # it has looked at what is durable, and waits for who writes
        go.set()
        for thread in (first, second):
            thread.join(60)
        assert found == [True]
        assert list(registry.verify(ALICE)) == []


@pytest.mark.parametrize("naming", [True, False])
def test_two_are_interrupted_one_as_it_has_written(tmp_path: Path, naming: bool) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "one", ALICE)
        registry.counts(ALICE)
        store: Any = registry.store
        store._journal.append = Once(store._journal.append, after=True)
        with pytest.raises(KeyboardInterrupt):
            registry.name(LABEL, "first", ALICE) if naming else registry.register("names", "first", ALICE)
        _interrupt_enlisting(store)
        with pytest.raises(KeyboardInterrupt):
            registry.register("names", "second", ALICE)
        registry.name(LABEL, "third", ALICE, "en")
        assert list(registry.verify(ALICE)) == []
    with idstore.open(tmp_path / "store") as registry:
        assert dict(registry.show(LABEL, ALICE).names) == {"en": "third"} | ({"und": "first"} if naming else {})
        assert {record.label for record in registry.list(ALICE)} == {"one"} | (set() if naming else {"first"})
        assert list(registry.verify(ALICE)) == []


class Watched:
    """A lock that tells when somebody wants it."""

    def __init__(self, lock: Any) -> None:
        self._lock, self.wanted = lock, threading.Event()

    def __enter__(self) -> None:
        self.wanted.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _code(act: Callable[[], Any]) -> str:
    with pytest.raises(IdstoreError) as caught:
        act()
    return caught.value.code


@pytest.mark.parametrize("where", [_interrupt_commit, _interrupt_commit_and_its_end, _interrupt_enlisting, _interrupt_putting])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, where: Callable[[Any], None]) -> None:
    folder = tmp_path / "store"
    with idstore.open(folder, administrator=ALICE, durability="process") as registry:
        registry.add_namespace("h", "20.500.1", "handle", ALICE)
        registry.counts(ALICE)
        where(registry.store)
        with pytest.raises(KeyboardInterrupt):
            registry.register("h", "a", ALICE)
        made = [registry.register("h", label, ALICE).iri.value for label in ("b", "c", "d")]
        with registry.store.staging() as staged:
            assert staged.sequence
        listed = {record.iri.value for record in registry.list(ALICE)}
        assert {*made} <= listed
        if where is _interrupt_enlisting:  # it never happened; elsewhere it was on its way, and arrived with the next
            registry.register("h", "a", ALICE)
        else:
            assert len(listed) == 4
        assert registry.counts(ALICE).total == 4
    with idstore.open(folder) as registry:
        assert {*made} <= {record.iri.value for record in registry.list(ALICE)}
        assert list(registry.verify(ALICE)) == []


class Interrupting:
    """A database that is interrupted when its next COMMIT is done, as by Ctrl-C while the disk syncs."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, statement: str, *values: Any) -> Any:
        done = self._database.execute(statement, *values)
        if statement == "COMMIT":
            raise KeyboardInterrupt
        return done


@pytest.mark.parametrize(("step", "before"), [("commit", False), *product(("switch", "given", "applier"), (True, False))])
def test_a_large_change_that_is_interrupted_as_it_comes_into_effect(tmp_path: Path, step: str, before: bool) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        acknowledged = {registry.register("names", f"a{number}", ALICE).label for number in range(3)}
        store: Any = registry.store
        if step == "commit":
            store._journal._db = Interrupting(store._journal._db)
        else:
            owner, name = {
                "switch": (store._journal, "switch"),
                "given": (store._given, "begin_after"),
                "applier": (store._applier, "begin_after"),
            }[step]
            setattr(owner, name, interrupted(getattr(owner, name), before=before, gate=lambda: None))
        with pytest.raises(KeyboardInterrupt), store.staging() as staged:
            idstore.Registry(staged).register("names", "staged", ALICE)
        with pytest.raises(StoreUnavailable, match="open the store again"):
            registry.register("names", "later", ALICE)
    whole = set() if step == "switch" and before else {"staged"}
    for label in ("later", "last"):
        with idstore.open(tmp_path / "store", durability="process") as registry:
            assert {record.label for record in registry.list(ALICE)} == acknowledged | whole
            assert list(registry.verify(ALICE)) == []
            acknowledged.add(registry.register("names", label, ALICE).label)
    assert len(list((tmp_path / "store").glob("generation-*"))) == 1


@pytest.mark.parametrize("moment", ["entered", "left"])
@pytest.mark.parametrize("block", ["turn", "alone", "_acting", "reading"])
def test_an_interrupt_holds_nothing_while_somebody_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, moment: str
) -> None:
    """As a notebook keeps the last error: its traceback has the frames that were under way."""

    def interrupted(steps: Any, *default: Any) -> Any:
        """As ``next``, which has a default where a block is left."""
        mine = steps.__name__ == block and threading.current_thread() is threading.main_thread()
        if mine and default and moment == "left":
            raise KeyboardInterrupt
        entered = next(steps, *default)
        if mine and not default and moment == "entered":
            raise KeyboardInterrupt
        return entered

    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.counts(ALICE)
        with monkeypatch.context() as patched:
            patched.setattr(blocks, "next", interrupted, raising=False)
            with pytest.raises(KeyboardInterrupt) as kept:
                registry.counts(ALICE) if block == "reading" else registry.add_namespace("names", "20.500.1", "handle", ALICE)
        minted: list[str] = []
        other = threading.Thread(target=lambda: minted.append(registry.mint("rdl", ALICE).iri.value), daemon=True)
        other.start()
        other.join(60)
        assert minted
        minted.append(registry.mint("rdl", ALICE).iri.value)
        assert {record.iri.value for record in registry.list(ALICE)} >= set(minted)
        assert kept.value.__traceback__ is not None


class Interrupt:
    """Interrupts this thread at the n-th function that is called, or generator that is resumed: there the interpreter looks for signals.

    But not where a file is closed for good: an interrupt there goes nowhere where the interpreter itself does that.
    """

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is not Handle.close.__code__:
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
@pytest.mark.parametrize("kind", ["register", "name"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of a generator of the standard library's
def test_an_interrupt_wherever_a_function_is_called_leaves_the_turn_to_others(tmp_path: Path, kind: str, worker: bool) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.register("names", "one", ALICE)
        store: Any = registry.store
        interrupted: list[int] = []

        def act(number: int) -> bool:
            """Whether it came to its end."""
            interrupt, before = Interrupt(number), sys.gettrace()
            sys.settrace(interrupt)
            try:
                if kind == "register":
                    registry.register("names", f"n{number}", ALICE)
                else:
                    registry.name(LABEL, f"called {number}", ALICE)
            except KeyboardInterrupt:
                interrupted.append(number)
            finally:
                sys.settrace(before)
            assert not store._turn_lock._is_owned(), f"interrupted at call {number}"
            registry.register("names", f"next-{number}", ALICE)
            return interrupt.left > 0

        def all_moments() -> None:
            number = 1
            while not act(number):
                number += 1

        if worker:
            thread = threading.Thread(target=all_moments, daemon=True)
            thread.start()
            thread.join(120)
            assert not thread.is_alive()
        else:
            all_moments()
        assert len(interrupted) > 50
        other: list[str] = []
        thread = threading.Thread(target=lambda: other.append(registry.register("names", "other", ALICE).label), daemon=True)
        thread.start()
        thread.join(60)
        assert other == ["other"]
        assert list(registry.verify(ALICE)) == []


@pytest.mark.parametrize(("kind", "step"), [("snapshot", 3), ("backup", 19), ("open", 19)])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_wherever_a_function_is_called_leaves_no_lock(tmp_path: Path, kind: str, step: int) -> None:
    """Of a store, a snapshot, or the folder of a backup: who goes on in this process, as in a notebook, or in another one, gets it."""
    store, target = tmp_path / "store", tmp_path / "target"

    def act(registry: Registry) -> None:
        if kind == "snapshot":
            with registry.store.snapshot():
                pass
        elif kind == "backup":
            registry.backup(target, ALICE)
        else:
            idstore.open(target, administrator=ALICE).close()

    with idstore.open(store, administrator=ALICE, durability="process") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        left, number = 0, 1
        while left <= 0:
            interrupt, before = Interrupt(number), sys.gettrace()
            sys.settrace(interrupt)
            try:
                act(registry)
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            left = interrupt.left
            if held := _held(target, "lock") + _held(store, "in-use"):
                gc.collect()  # an interrupt in what cleans up leaves it that
                held = _held(target, "lock") + _held(store, "in-use")
            assert held == [], f"interrupted at call {number}"
            for left_behind in (target, store / "snapshots"):
                shutil.rmtree(left_behind, ignore_errors=True)
            number += step
        assert number > 50 * step


def _held(folder: Path, name: str) -> list[Path]:
    """The files of that name in a folder that this process has open."""
    found = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(number.readlink())
    return [path for path in found if path.is_relative_to(folder) and path.name == name]
