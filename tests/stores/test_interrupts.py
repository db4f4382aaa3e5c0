"""Ctrl-C at any moment interrupts the waiting caller.

The store continues, and no acknowledged change is lost. The tests interrupt the calling thread at each moment
at which the interpreter checks for signals, one after the other. They also send real signals to a process at
random moments.
"""

import gc
import os
import random
import select
import shutil
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest
from store_files import (
    ALICE,
    PATIENCE,
    Thread,
    create,
    labels,
    line,
    locked,
    register,
    rest,
    running,
    sound,
    until,
)

import idstore
from idstore import Registry, Statement
from idstore.errors import StoreUnavailable
from idstore.forks import LockHandle
from idstore.stores.contract import Transaction

# a generator of the standard library raises it
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Interrupt:
    """A block that interrupts this thread at the n-th moment at which the interpreter checks for signals.

    These moments are calls of Python functions, resumptions of generators, and returns from C functions. The
    final closing of a file is left out: the interpreter drops an interrupt if it closes the file itself.

    left  how many moments remained until the n-th one when the block ended.
    """

    def __init__(self, number: int) -> None:
        self.left = number

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and frame.f_code not in _SPARED and not _is_reporting(frame):
            self.left -= 1
            if self.left == 0:
                sys.setprofile(self._before)
                raise KeyboardInterrupt


def _is_reporting(frame: FrameType) -> bool:
    """Whether pytest formats an error that Python ignored: an interrupt there would be its own fault."""
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_name == "unraisable_hook":
            return True
        above = above.f_back
    return False


_SPARED = {
    LockHandle.close.__code__,
    LockHandle._close.__code__,
    Interrupt.__enter__.__code__,
    Interrupt.__exit__.__code__,
}


def at_every_moment(
    act: Callable[[int], object], check: Callable[[int, bool], object], *, step: int = 1
) -> int:
    """Interrupt an act at its first moment, ``step`` moments later, and so on, until it ends by itself.

    act    called with a number, each time with another one.
    check  called after each attempt with that number, and with whether the act ended by itself.

    Returns the number of interrupts.
    """
    number, times = 1, 0
    while True:
        done = False
        try:
            with Interrupt(number) as interrupt:
                act(number)
                done = True
        except KeyboardInterrupt:
            times += 1
        check(number, done)
        if interrupt.left > 0:
            return times
        number += step


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


ACTS: dict[str, Callable[[Registry, int], object]] = {
    "register": lambda registry, number: registry.register("names", f"n{number}", ALICE),
    "mint": lambda registry, _: registry.mint("numbers", ALICE),
    "name": lambda registry, number: registry.name("names:first", f"called {number}", ALICE),
    "bind": lambda registry, number: registry.bind(
        "names:first", Statement(f"http://example.org/{number}"), ALICE
    ),
}


@pytest.mark.parametrize("worker", [False, True], ids=["main", "worker"])
@pytest.mark.parametrize("kind", ACTS)
def test_a_write_that_is_interrupted_leaves_the_store_to_others(
    place: Path, kind: str, *, worker: bool
) -> None:
    acknowledged = {"first"}

    def act(number: int) -> None:
        ACTS[kind](registry, number)

    def check(number: int, done: bool) -> None:
        acknowledged.update(register(registry, [f"next-{number}"]))
        if done and kind == "register":
            acknowledged.add(f"n{number}")

    with create(place) as registry:
        register(registry, ["first"])
        times = (
            Thread(lambda: at_every_moment(act, check)).result() if worker else at_every_moment(act, check)
        )
        assert times > 20
        other = Thread(lambda: register(registry, ["other"])).result()
        assert acknowledged | other <= labels(registry)
    assert acknowledged | {"other"} <= sound(place)


def test_a_question_that_is_interrupted_keeps_no_writer_waiting(place: Path) -> None:
    created = {"first"}

    def check(number: int, _: bool) -> None:
        if number % 5 == 1:
            created.update(Thread(lambda: register(registry, [f"n{len(created)}"])).result())

    with create(place) as registry:
        register(registry, ["first"])
        for question in (lambda _: registry.counts(ALICE), lambda _: registry.show("names:first", ALICE)):
            assert at_every_moment(question, check) > 20
        assert labels(registry) == created
    assert sound(place) == created


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        # no multiple of 3: a new snapshot before each attempt would take the next one longer than the step
        *(("snapshot", 13), ("backup", 167), ("open", 167)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("snapshot", 4), ("backup", 29), ("open", 29))
        ),
    ],
)
def test_an_interrupt_leaves_no_lock(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, step: int
) -> None:
    """The locks of a store, a snapshot and a backup's folder are free for this process and for others.

    A notebook, for example, continues in the same process.
    """
    # pytest's own hook keeps the objects of an interrupted `__del__`
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    target = tmp_path / "target"

    def act(_: int) -> None:
        if kind == "snapshot":
            registry.store.snapshot().close()
        elif kind == "backup":
            registry.backup(target, ALICE)
        else:
            idstore.open(target, administrator=ALICE).close()

    def check(number: int, _: bool) -> None:
        if number % 3 == 1:
            register(registry, [f"n{number}"])
        until(lambda: not held() or gc.collect() < 0, "an interrupt leaves no lock held")
        shutil.rmtree(target, ignore_errors=True)

    def held() -> list[str]:
        return [name for name in locked(place) if name != "lock"] + locked(target)

    with create(place) as registry:
        assert at_every_moment(act, check, step=step) > 5
        register(registry, ["last"])
        with registry.store.snapshot() as snapshot:
            assert snapshot.catalogue.counts()[0] == len(labels(registry))
    sound(place)


@pytest.mark.parametrize("step", [293, pytest.param(61, marks=pytest.mark.slow)])
def test_a_large_change_that_is_interrupted_takes_effect_whole_or_not_at_all(place: Path, step: int) -> None:
    acknowledged: set[str] = set()

    def act(number: int) -> None:
        with registry.store.bulk() as bulk:
            register(Registry(bulk), (f"b{number}-{letter}" for letter in "xyz"))

    def check(number: int, done: bool) -> None:
        acknowledged.update(register(registry, [f"next-{number}"]))
        there = labels(registry)
        assert acknowledged <= there
        whole = {f"b{number}-{letter}" for letter in "xyz"}
        assert whole & there in ((whole,) if done else (whole, set()))
        acknowledged.update(whole & there)

    with create(place) as registry:
        assert at_every_moment(act, check, step=step) > 5
    assert acknowledged <= sound(place)
    assert len(list(place.glob("generation-*"))) == 1


@pytest.mark.parametrize("event", ["call", "c_return"])
def test_an_interrupt_just_before_a_large_change_takes_effect_leaves_the_store_to_others(
    place: Path, event: str
) -> None:
    """The block has ended, and the first line of its end has not run."""

    def act() -> None:
        with registry.store.bulk() as bulk:
            register(Registry(bulk), ["within"])
            end = type(bulk).__exit__.__code__

            def interrupt(frame: FrameType, happened: str, _: Any) -> None:
                if frame.f_code is end and happened == event:
                    sys.setprofile(before)
                    raise KeyboardInterrupt

            before = sys.getprofile()
            sys.setprofile(interrupt)

    with create(place) as registry:
        with pytest.raises(KeyboardInterrupt):
            act()
        gc.collect()  # the error that pytest keeps leads to the change
        assert Thread(lambda: register(registry, ["after"])).result() == {"after"}
        assert labels(registry) == {"after"}
    assert sound(place) == {"after"}


@pytest.mark.parametrize("kind", ["close", "block"])
def test_a_store_can_be_opened_after_an_interrupted_closing(place: Path, kind: str) -> None:
    """It opens at once, or after another attempt to close it, without waiting for the garbage collector."""
    create(place).close()
    acknowledged: set[str] = set()
    number = 0
    left = 0
    while left <= 0:
        number += 1
        registry = idstore.open(place, wait=PATIENCE)
        acknowledged |= register(registry, [f"n{number}"])
        try:
            with Interrupt(number) as interrupt:
                registry.close() if kind == "close" else registry.__exit__(None, None, None)
        except KeyboardInterrupt:
            registry.close()
        left = interrupt.left
        with pytest.raises(StoreUnavailable, match="closed"):
            registry.list(ALICE)
    assert number > 3
    assert sound(place) == acknowledged


# interrupts during slow work


def interrupted(act: Callable[[], object]) -> None:
    """Repeat an act until a signal interrupts it. Signals are sent while it runs.

    One signal is not enough: the interpreter may check for signals just before it arrives, and then wait.
    """
    armed = threading.Event()

    def raise_once(*_: object) -> None:
        if armed.is_set():
            armed.clear()
            raise KeyboardInterrupt

    def send() -> None:
        assert armed.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while armed.is_set() and time.monotonic() < end:
            os.kill(os.getpid(), signal.SIGINT)  # it reaches the main thread
            time.sleep(0.01)

    before = signal.signal(signal.SIGINT, raise_once)
    sender = Thread(send)
    try:
        armed.set()
        while True:
            act()
    except KeyboardInterrupt:
        sender.result()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def slow(place: Path) -> Iterator["SlowAct"]:
    with create(place) as registry:
        yield SlowAct(registry)
    sound(place)


class SlowAct:
    """An act in another thread that runs until `let_go`. All other acts wait for it."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.begun, self._go = threading.Event(), threading.Event()

    def start(self) -> Thread[int]:
        thread = Thread(lambda: self.registry.store.write(self._act))
        assert self.begun.wait(PATIENCE)
        return thread

    def _act(self, transaction: Transaction) -> int:
        self.begun.set()
        assert self._go.wait(PATIENCE)
        transaction.note("test", "slow")
        return transaction.moment

    def let_go(self) -> None:
        self._go.set()


WAITS: dict[str, Callable[[Registry], object]] = {
    "write": lambda registry: registry.register("names", "interrupted", ALICE),
    "snapshot": lambda registry: registry.store.snapshot(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_caller_that_waits_is_interrupted_at_once(slow: SlowAct, wait: str) -> None:
    """Its act may run later or not, and holds up no other act."""
    acting = slow.start()
    interrupted(lambda: WAITS[wait](slow.registry))
    slow.let_go()
    assert acting.result() > 0
    assert register(slow.registry, ["one"]) == {"one"}
    assert Thread(lambda: register(slow.registry, ["two"])).result() == {"two"}
    with slow.registry.store.snapshot() as snapshot:
        assert snapshot.catalogue.counts()[0] >= 2
    assert labels(slow.registry) - {"interrupted"} == {"one", "two"}


@pytest.mark.parametrize("wait", ["write", "bulk"])
def test_a_caller_that_waits_for_a_large_change_is_interrupted_at_once(place: Path, wait: str) -> None:
    begun, go = threading.Event(), threading.Event()

    def change() -> None:
        with registry.store.bulk() as bulk:
            register(Registry(bulk), ["within"])
            begun.set()
            assert go.wait(PATIENCE)

    with create(place) as registry:
        changing = Thread(change)
        assert begun.wait(PATIENCE)
        if wait == "write":
            interrupted(lambda: registry.register("names", "interrupted", ALICE))
        else:
            interrupted(lambda: registry.store.bulk().__enter__())
        go.set()
        changing.result()
        assert register(registry, ["after"]) == {"after"}
    assert sound(place) - {"interrupted"} == {"within", "after"}


def test_a_caller_that_was_interrupted_can_ask_again(slow: SlowAct) -> None:
    """With the same request key it gets the same identifier, whether the first act was done or not."""
    request = idstore.Request(request_key="k")
    acting = slow.start()
    interrupted(lambda: slow.registry.mint("numbers", ALICE, request))
    slow.let_go()
    acting.result()
    first = slow.registry.mint("numbers", ALICE, request)
    assert slow.registry.mint("numbers", ALICE, request) == first
    assert len(labels(slow.registry)) == 1


def test_an_act_that_raises_an_interrupt_hits_its_caller_alone(place: Path) -> None:
    def act(_: Transaction) -> None:
        raise KeyboardInterrupt

    with create(place) as registry:
        others = [Thread(partial(register, registry, [f"n{number}"])) for number in range(6)]
        with pytest.raises(KeyboardInterrupt):
            registry.store.write(act)
        created = set().union(*(other.result() for other in others))
        assert register(registry, ["last"]) == {"last"}
    assert sound(place) == created | {"last"}


def keep(kept: list[BaseException] | deque[BaseException], act: Callable[[], object], number: int) -> bool:
    """Interrupt an act, and keep the error. Returns whether the act ended by itself."""
    try:
        with Interrupt(number) as interrupt:
            act()
    except KeyboardInterrupt as error:
        kept.append(error)
    return interrupt.left > 0


@pytest.mark.parametrize("step", [127, pytest.param(37, marks=pytest.mark.slow)])
def test_a_kept_interrupt_of_an_opening_holds_no_lock(place: Path, step: int) -> None:
    """A program that catches the interrupt can open the store at once."""
    kept: list[BaseException] = []
    opened: list[Registry] = []
    create(place).close()
    number = 1
    while not keep(kept, lambda: opened.append(idstore.open(place)), number):
        number += step
        gc.collect()  # objects that refer to each other
        while opened:  # the interpreter drops an interrupt that comes while it removes a weak reference
            opened.pop().close()
        idstore.open(place).close()
    assert len(kept) > 20
    opened.pop().close()
    sound(place)


def test_a_kept_interrupt_holds_no_lock(place: Path) -> None:
    """A notebook keeps the last errors, whose tracebacks hold the interrupted frames."""
    kept: deque[BaseException] = deque(maxlen=5)  # each holds a snapshot that the next ones look at

    with create(place) as registry:
        register(registry, ["first"])
        acts: list[tuple[Callable[[], object], int]] = [
            (lambda: registry.counts(ALICE), 7),
            (lambda: registry.name("names:first", "called", ALICE), 7),
            (lambda: registry.store.snapshot().close(), 61),
        ]
        for place_of_act, (act, step) in enumerate(acts):
            number = 1
            while not keep(kept, act, number):
                number += step
                assert Thread(partial(register, registry, [f"n{place_of_act}-{number}"])).result()
        assert all(error.__traceback__ is not None for error in kept)
    sound(place)


# real signals

SIGNALLED = """
import faulthandler, gc, itertools, os, random, signal, sys, threading
import idstore
from idstore import Party, Registry, Statement
alice, place, rounds, threads = Party("alice"), sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(rounds)
made, stop = [], threading.Event()
labels = itertools.count()

def check(registry):
    acknowledged = set(made)
    there = {record.label for record in registry.list(alice, limit=None)}
    assert acknowledged <= there, acknowledged - there

def register(registry):
    made.append(registry.register("names", f"n{next(labels)}", alice).label)

def bulk(registry):
    with registry.store.bulk() as bulk:
        inner = Registry(bulk)
        for _ in range(5):
            inner.register("names", f"n{next(labels)}", alice)

def snapshot(registry):
    with registry.store.snapshot() as snapshot:
        assert snapshot.catalogue.counts()[0] == len(list(snapshot.catalogue.sorted_identifiers()))

def backup(registry):
    registry.backup(f"{place}-copy-{next(labels)}", alice)

def query(registry):
    registry.query("SELECT * { ?s ?p ?o }", alice).close()

def reopen(registry):
    registry.close()
    registry.__init__(idstore.open(place, wait=60).store)

ACTS = [register] * 12 + [lambda registry: registry.list(alice, limit=5)] * 4
ACTS += [snapshot] * 3 + [bulk, backup, query] + ([reopen] if threads == 0 else [])

def work(registry, number):
    for turn in itertools.count():
        if stop.is_set():
            return
        made.append(registry.register("names", f"t{number}-{turn}", alice).label)

registry = idstore.open(place, wait=60)
workers = [threading.Thread(target=work, args=(registry, number), daemon=True) for number in range(threads)]
for worker in workers:
    worker.start()
for _ in range(rounds):
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        os.write(1, b"ready\\n")
        while True:
            chance.choice(ACTS)(registry)
    except KeyboardInterrupt:
        try:
            check(registry)
        except idstore.errors.StoreUnavailable as error:  # the signal hit a closing or an opening
            registry.close()
            gc.collect()
            registry = idstore.open(place, wait=60)
            check(registry)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that was sent again, because a round took long
faulthandler.dump_traceback_later(400, exit=True)
stop.set()
for worker in workers:
    worker.join(60)
    assert not worker.is_alive()
check(registry)
assert [str(finding) for finding in registry.verify(alice)] == []
registry.close()
with idstore.open(place) as registry:
    check(registry)
# the interpreter ends with SIGINT if its last `exec` of a text was interrupted, as that of a dataclass may be
exec("")
os.write(1, b"sound\\n")
"""


@pytest.mark.parametrize(
    ("threads", "rounds"),
    [
        (0, 15),
        *(pytest.param(threads, rounds, marks=pytest.mark.slow) for threads, rounds in ((0, 100), (3, 40))),
    ],
)
def test_real_signals_at_random_moments(place: Path, threads: int, rounds: int) -> None:
    chance = random.Random(threads)
    create(place).close()
    with running(SIGNALLED, place, rounds, threads) as process:
        assert process.stdout is not None
        assert line(process) == "ready"
        for number in range(rounds):
            time.sleep(chance.uniform(0, 0.05))  # the moment of the interrupt is arbitrary
            process.send_signal(signal.SIGINT)
            while not select.select([process.stdout], [], [], PATIENCE / 3)[0]:
                process.send_signal(signal.SIGINT)  # the interpreter drops a signal during garbage collection
            assert line(process) == ("ready" if number < rounds - 1 else "sound")
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


MERGING = """
import faulthandler, os, signal, sys
import idstore
from pathlib import Path
from idstore.exchange import rdf
alice = idstore.Party("alice")
with idstore.open(sys.argv[1]) as registry:
    for _ in range(int(sys.argv[3])):
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            os.write(1, b"ready\\n")
            rdf.import_registry(registry, [Path(sys.argv[2])], alice, "trig")
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.write(1, b"imported\\n")
            break
        except KeyboardInterrupt:
            os.write(1, f"{registry.counts(alice).total}\\n".encode())
    else:
        rdf.import_registry(registry, [Path(sys.argv[2])], alice, "trig")
    print(registry.counts(alice).total, len(list(registry.verify(alice))), flush=True)
"""


def test_an_import_that_is_interrupted_can_be_repeated(place: Path, tmp_path: Path) -> None:
    """Also after two interrupts in a row: the second one arrives during the handling of the first one."""
    from idstore.exchange import rdf

    export, many, rounds = tmp_path / "all.trig", 300, 6
    with create(tmp_path / "source") as source:
        created = [source.register("names", f"n{number}", ALICE).iri for number in range(many)]
        source.fixate(created, ALICE)
        with export.open("wb") as file:
            rdf.export(source, file, ALICE, "trig")
    idstore.open(place, administrator=ALICE).close()
    chance = random.Random(20261125)
    with running(MERGING, place, export, rounds) as process:
        for number in range(rounds):
            assert line(process) == "ready"
            time.sleep(chance.uniform(0.02, 0.5))
            process.send_signal(signal.SIGINT)
            answer = line(process)
            if answer == "imported":
                break
            assert answer in ("0", f"{many}"), f"interrupt {number} left a part of the import"
        answers = rest(process)
    assert answers.splitlines()[-1] == f"{many} 0"
    assert len(sound(place)) == many
