"""Acts of many threads, done by one of them for all: each gets what came of its own, when it is durable, whatever becomes of the others."""

import gc
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import AlreadyRegistered, IdstoreError, StoreUnavailable
from idstore.stores import Turn, combining
from idstore.stores.turns import StoreTurn

ALICE = Party("alice")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("names", "20.500.1", "handle", ALICE)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.add_namespace("times", "102.100.272", "pilin", ALICE)
        registry.counts(ALICE)
        yield registry
        assert list(registry.verify(ALICE)) == []


class Bench:
    """One thread whose changes are being written, for as long as that is wanted, and others that ask for acts meanwhile.

    groups  how many changes were written together, each time.
    found   what came of each act, by the name of who asked.
    """

    def __init__(self, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
        store: Any = registry.store
        self.store = store
        self.groups: list[int] = []
        self.found: dict[str, object] = {}
        self.refuses = 0
        self._writing, self._go, self._append = threading.Event(), threading.Event(), store._journal.append
        self._threads: list[threading.Thread] = []
        monkeypatch.setattr(store._journal, "append", self._slowly)

    def _slowly(self, changes: list[Any]) -> None:
        self._writing.set()
        assert self._go.wait(60)
        self.groups.append(len(changes))
        if self.refuses == len(self.groups):
            raise StoreUnavailable("no space")
        self._append(changes)

    def ask(self, name: str, act: Callable[[], object]) -> threading.Thread:
        """Have a thread of that name do it; return when it is written, or waits for who writes."""

        def run() -> None:
            try:
                self.found[name] = act()
            except IdstoreError as error:
                self.found[name] = type(error)

        thread = threading.Thread(target=run, name=name, daemon=True)
        waiting = len(self.store._combining._asked)
        self._threads.append(thread)
        thread.start()
        assert self._writing.wait(60)
        while len(self._threads) > 1 and len(self.store._combining._asked) == waiting:
            pass
        return thread

    def end(self) -> None:
        """Let the disk write, and wait for all."""
        self._go.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def bench(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(registry, monkeypatch)


def test_who_asks_meanwhile_has_it_done_for_him(registry: Registry, bench: Bench) -> None:
    done: list[str] = []
    bench.ask("first", lambda: registry.mint("rdl", ALICE).label)
    for number in range(20):
        bench.ask(f"n{number}", lambda: _where(registry, done))
    assert (done, bench.found) == ([], {})
    bench.end()
    assert bench.groups[0] == 1
    assert {asked: found for asked, found in bench.found.items() if asked != found} == {"first": bench.found["first"]}
    assert len(done) == 20
    assert len({one.partition(" by ")[2] for one in done}) < 5  # the others' acts were done by these


def test_no_more_than_a_few_wait_for_one_another(registry: Registry, bench: Bench) -> None:
    many = 2 * combining._MOST + 8
    for number in range(many):
        bench.ask(f"n{number}", lambda: registry.mint("rdl", ALICE).label)
    bench.end()
    assert sum(bench.groups) == len(set(bench.found.values())) == many
    assert max(bench.groups) <= combining._MOST


def test_an_error_is_told_to_who_asked_alone(registry: Registry, bench: Bench) -> None:
    for number in range(10):
        bench.ask(f"n{number}", lambda number=number: registry.register("names", f"n{number // 2}", ALICE).label)  # type: ignore[misc]
    bench.end()
    assert Counter(bench.found.values()) == Counter({AlreadyRegistered: 5} | {f"n{number}": 1 for number in range(5)})


def test_what_the_journal_refuses_is_refused_to_all_whose_it_is(registry: Registry, bench: Bench) -> None:
    bench.refuses = 2
    for number in range(5):
        bench.ask(f"n{number}", lambda number=number: registry.register("names", f"n{number}", ALICE).label)  # type: ignore[misc]
    bench.end()
    assert bench.found.pop("n0") == "n0"
    assert set(bench.found.values()) == {StoreUnavailable}
    assert [record.label for record in registry.list(ALICE)] == ["n0"]
    assert registry.register("names", "n1", ALICE).label == "n1"


def _where(registry: Registry, done: list[str]) -> str:
    """An act that tells which thread does it, and for whom."""
    mine = threading.current_thread().name

    def act(turn: Turn) -> str:
        registry._namespace(turn, "names")
        done.append(f"{mine} by {threading.current_thread().name}")
        return mine

    return registry.store.together(act)


def test_the_main_thread_does_its_own_alone(registry: Registry, bench: Bench) -> None:
    done: list[str] = []
    bench.ask("first", lambda: registry.mint("rdl", ALICE).label)
    for name in ("second", "third"):
        bench.ask(name, lambda: _where(registry, done))
    bench._go.set()
    _where(registry, done)
    bench.end()
    main = threading.main_thread().name
    assert f"{main} by {main}" in done
    others = [one for one in done if one != f"{main} by {main}"]
    assert len(others) == 2 and not any(one.endswith(f"by {main}") for one in others)


@pytest.mark.parametrize("begun", [False, True], ids=["not begun", "coming into effect"])
def test_what_was_asked_of_one_who_is_interrupted(registry: Registry, bench: Bench, monkeypatch: pytest.MonkeyPatch, begun: bool) -> None:
    """It is done by another, unless it may be done already; whoever is interrupted is not waited for."""
    interrupted: list[str] = []
    act, hand_over = combining.Asked.do, StoreTurn.hand_over

    def interrupt(for_whom: combining.Asked[Any]) -> None:
        if not interrupted and for_whom.at == 7:
            interrupted.append(threading.current_thread().name)
            raise KeyboardInterrupt

    def do(self: combining.Asked[Any], turn: StoreTurn) -> None:
        current.append(self)
        if not begun:
            interrupt(self)
        act(self, turn)

    def handed_over(self: StoreTurn) -> None:
        hand_over(self)
        if begun and current:
            interrupt(current[-1])

    current: list[combining.Asked[Any]] = []
    monkeypatch.setattr(combining.Asked, "do", do)
    monkeypatch.setattr(StoreTurn, "hand_over", handed_over)

    def register(name: str) -> str:
        try:
            return registry.register("names", name, ALICE).label
        except KeyboardInterrupt:
            return "interrupted"

    names = ["first", "second", "third", "fourth"]
    for name in names:
        bench.ask(name, lambda name=name: register(name))  # type: ignore[misc]
    bench.store._combining._asked[1].at = 7  # the third: whoever does it first is interrupted
    bench.end()
    (victim,) = interrupted
    told = {name: name for name in names} | {"third": StoreUnavailable if begun else "third"} | {victim: "interrupted"}
    assert bench.found == told
    assert {record.label for record in registry.list(ALICE)} >= {name for name in names if told[name] == name}
    assert [registry.register("names", name, ALICE).label for name in ("fifth", "sixth")] == ["fifth", "sixth"]


def test_what_is_raised_to_others_tells_nothing_of_who_did_it(registry: Registry) -> None:
    """Whoever does it may be handling an error of his own, and has variables."""

    def act(_: Turn) -> str:
        try:
            return str(int("what is taken"))
        except ValueError as error:
            raise AlreadyRegistered("taken") from error

    def ask() -> None:
        asked.append(combining.Asked(act, 0))

    asked: list[combining.Asked[str]] = []
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(60)
    ask()
    try:
        hidden = int("a hidden draft")
    except ValueError:
        with registry.store.turn() as turn:
            assert isinstance(turn, StoreTurn)
            for one in asked:
                one.do(turn)
    else:
        assert hidden
    told = []
    for one in asked:
        with pytest.raises(AlreadyRegistered) as caught:
            one.answer()
        told.append("".join(traceback.format_exception(caught.value)))
    assert ["hidden draft" in text for text in told] == [False, True]  # the other is the own act of who handles that
    assert [" in do" in text for text in told] == [False, True]


@pytest.mark.parametrize("error", [SystemExit, KeyError, RecursionError])
def test_what_an_act_raises_hits_who_asked_for_it(registry: Registry, bench: Bench, error: type[BaseException]) -> None:
    """An interrupt may be that of the thread that does it for others: it comes out there once, and who asked does it himself."""

    def act(_: Turn) -> str:
        done.append(threading.current_thread().name)
        raise error("of the act")

    def asks() -> str:
        with pytest.raises(error):
            registry.store.together(act)
        return "raised"

    def register(name: str) -> str:
        try:
            return registry.register("names", name, ALICE).label
        except SystemExit:
            return "hit"

    done: list[str] = []
    names = [f"n{number}" for number in range(6)]
    bench.ask("first", lambda: registry.register("names", "first", ALICE).label)
    bench.ask(names[0], lambda: register(names[0]))
    bench.ask("asks", asks)
    for name in names[1:]:
        bench.ask(name, lambda name=name: register(name))  # type: ignore[misc]
    bench.end()
    assert bench.found["asks"] == "raised" and done[-1] == "asks" and len(done) <= 2
    hit = [name for name in names if bench.found[name] != name]
    assert len(hit) <= (error is SystemExit)
    assert all(bench.found[name] == "hit" for name in hit)


def test_errors_are_no_circles(registry: Registry) -> None:
    """They would keep what they rest on until the collector comes, in any thread."""
    registry.register("names", "one", ALICE)
    told: list[object] = []

    def many() -> None:
        told.extend(_code(lambda: registry.register("names", "one", ALICE)) for _ in range(50))

    gc.collect()
    gc.disable()
    try:
        for thread in (threading.Thread(target=many), threading.Thread(target=many)):
            thread.start()
            thread.join(60)
        many()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [one for one in gc.garbage if isinstance(one, combining.Asked | AlreadyRegistered)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert len(told) == 150 and left == []


def _code(act: Callable[[], object]) -> object:
    try:
        return act()
    except IdstoreError as error:
        return error.code


def test_who_waits_for_the_clock_does_so_for_himself(registry: Registry) -> None:
    def mint() -> None:
        found.extend([registry.mint("times", ALICE).label for _ in range(5)])

    found: list[str] = []
    threads = [threading.Thread(target=mint, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(found)) == 20
    assert registry._clocked == {"times", "https://hdl.handle.net/102.100.272/"}


def test_an_act_inside_another_is_refused(registry: Registry) -> None:
    def nested() -> None:
        with registry.store.turn() as turn, pytest.raises(StoreUnavailable, match="inside another one"):
            registry.store.together(lambda _: turn.moment)
        with registry.store.reading():
            found.append(registry.mint("rdl", ALICE).label)

    found: list[str] = []
    thread = threading.Thread(target=nested, daemon=True)
    thread.start()
    thread.join(60)
    assert [record.label for record in registry.list(ALICE)] == found != []


def test_a_store_that_is_closed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = idstore.open(tmp_path / "store", administrator=ALICE)
    registry.add_namespace("names", "20.500.1", "handle", ALICE)
    bench = Bench(registry, monkeypatch)
    for name in ("a", "b", "c"):
        bench.ask(name, lambda name=name: registry.register("names", name, ALICE).label)  # type: ignore[misc]
    bench.store._closed = True
    bench.end()
    assert bench.found == {"a": "a", "b": StoreUnavailable, "c": StoreUnavailable}
    bench.store._closed = False
    registry.close()
    with idstore.open(tmp_path / "store") as again:
        assert [record.label for record in again.list(ALICE)] == ["a"]
