"""Threads of the server: operations that take long keep none of the others waiting."""

import asyncio
import json
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore.errors import LimitReached, Overloaded, TooManyQueries
from idstore.operations.declared import OPERATIONS

ALICE = idstore.Party("alice")
LIST = OPERATIONS["list"]


@contextmanager
def opened(folder: Path) -> Iterator[idstore.Registry]:
    with idstore.open(folder / "store", administrator=ALICE) as registry:
        yield registry


def test_scans_of_a_caller_run_one_after_the_other(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.workers import Workers

    begun, running, end = list[str](), threading.Semaphore(0), threading.Event()

    def work(name: str) -> None:
        begun.append(name)
        running.release()
        assert end.wait(30)

    async def ask(workers: Workers) -> None:
        scans = [
            asyncio.create_task(workers.scan(LIST, lambda: work("of one"), "@192.0.2.1")) for _ in range(16)
        ]
        await asyncio.to_thread(running.acquire)
        with pytest.raises(TooManyQueries):
            await workers.scan(LIST, lambda: work("too many"), "@192.0.2.1")
        scans.append(asyncio.create_task(workers.scan(LIST, lambda: work("of another"), "bob")))
        await asyncio.to_thread(running.acquire)
        assert begun == ["of one", "of another"]
        assert [await workers.run(LIST, lambda: "short") for _ in range(5)] == ["short"] * 5
        end.set()
        await asyncio.gather(*scans)
        await workers.scan(LIST, lambda: work("later"), "@192.0.2.1")

    with opened(tmp_path) as registry:
        asyncio.run(ask(Workers(registry, 60)))
    assert begun == ["of one", "of another", *["of one"] * 15, "later"]


@pytest.mark.parametrize("name", ["list", "log"])
def test_reads_of_a_caller_take_turns_with_those_of_others(tmp_path: Path, name: str) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.workers import Workers

    operation = OPERATIONS[name]
    begun, running, end = list[str](), threading.Semaphore(0), threading.Event()

    def work(name: str) -> None:
        begun.append(name)
        running.release()
        assert end.wait(30)

    async def ask(workers: Workers) -> None:
        reads = [
            asyncio.create_task(workers.run(operation, lambda: work("of one"), "@192.0.2.1"))
            for _ in range(32)
        ]
        await asyncio.to_thread(running.acquire)
        with pytest.raises(TooManyQueries):
            await workers.run(operation, lambda: work("too many"), "@192.0.2.1")
        further = asyncio.create_task(workers.go_on(operation, lambda: work("further"), "@192.0.2.1"))
        for _ in range(5):
            assert await workers.run(operation, lambda: "of another", "bob") == "of another"
        assert begun == ["of one"]
        end.set()
        await asyncio.gather(*reads, further)
        await workers.run(operation, lambda: work("later"), "@192.0.2.1")

    with opened(tmp_path) as registry:
        asyncio.run(ask(Workers(registry, 60)))
    assert begun == [*["of one"] * 32, "further", "later"]


def test_acts_of_a_caller_leave_threads_and_room_for_those_of_others(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.workers import Workers

    mint, end = OPERATIONS["mint"], threading.Event()

    async def ask(workers: Workers) -> None:
        acts = list[asyncio.Task[bool]]()

        def begin(number: int, caller: str) -> None:
            acts.extend(
                asyncio.create_task(workers.run(mint, partial(end.wait, 30), caller)) for _ in range(number)
            )

        begin(256, "@192.0.2.1")
        await asyncio.sleep(0)  # they begin
        with pytest.raises(TooManyQueries):
            await workers.run(mint, lambda: "too many", "@192.0.2.1")
        assert [await workers.run(mint, lambda: "meanwhile", "bob") for _ in range(3)] == ["meanwhile"] * 3
        for number in range(23):
            begin(16, f"party-{number}")
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await workers.run(mint, lambda: "no room", "bob")
        end.set()
        assert all(await asyncio.gather(*acts))
        assert await workers.run(mint, lambda: "later", "@192.0.2.1") == "later"

    with opened(tmp_path) as registry:
        asyncio.run(ask(Workers(registry, 60)))


def test_a_scan_that_takes_too_long_keeps_the_turn_of_its_caller_until_its_end(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.workers import Workers

    begun, end = list[str](), threading.Event()

    def work(name: str, *, waits: bool = False) -> None:
        begun.append(name)
        assert not waits or end.wait(30)

    async def ask(workers: Workers) -> None:
        with pytest.raises(LimitReached):
            await workers.scan(LIST, lambda: work("endless", waits=True), "@192.0.2.1")
        with pytest.raises(Overloaded):
            await workers.scan(LIST, lambda: work("following"), "@192.0.2.1")
        for _ in range(2):
            await workers.scan(LIST, lambda: work("of another"), "bob")
        assert begun == ["endless", *["of another"] * 2]
        end.set()
        await workers.scan(LIST, lambda: work("later"), "@192.0.2.1")
        assert begun[-1] == "later"

    with opened(tmp_path) as registry:
        asyncio.run(ask(Workers(registry, 1)))


def test_long_lists_of_handles_take_turns_with_other_scans_of_their_caller(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.handles import routes
    from idstore.server.performer import Performer
    from idstore.server.sign_in import Caller
    from idstore.server.workers import Workers

    running, end = threading.Event(), threading.Event()

    def work() -> None:
        running.set()
        assert end.wait(30)

    async def listed(app: Callable[..., Any], address: str, query: bytes) -> Any:
        """Return the answer to a request from an address."""
        body = list[bytes]()

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b""}

        async def send(message: MutableMapping[str, Any]) -> None:
            body.append(message.get("body", b""))

        scope = {
            "type": "http",
            "method": "GET",
            "path": routes.HANDLES,
            "root_path": "",
            "query_string": b"prefix=10.1000" + query,
            "headers": [],
            "client": (address, 1),
            "state": {"caller": Caller(idstore.NOBODY), "body": b""},
        }
        await app(scope, receive, send)
        return json.loads(b"".join(body))

    async def ask(workers: Workers) -> None:
        app = routes.interface(Performer(registry, workers)).application
        held = asyncio.create_task(workers.scan(LIST, work, "@192.0.2.1"))
        await asyncio.to_thread(running.wait)
        following = asyncio.create_task(listed(app, "192.0.2.1", b""))
        for address, query in (("192.0.2.1", b"&page=0&pageSize=10"), *[("192.0.2.2", b"")] * 3):
            assert (await listed(app, address, query))["totalCount"] == "1"
        assert not following.done()
        end.set()
        assert (await following)["handles"] == [f"10.1000/{made.label}"]
        await held

    with opened(tmp_path) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        made = registry.mint("h", ALICE, idstore.Request(fixate=True))
        asyncio.run(ask(Workers(registry, 60)))


def test_acts_that_wait_keep_no_list_waiting(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server import lines
    from idstore.server.workers import Workers

    held, end = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held.set()
        assert end.wait(30)

    async def body(workers: Workers, name: str, items: Iterator[Any]) -> int:
        """Return how many lines an answer has."""
        response = lines.stream(OPERATIONS[name], items, registry.home, {}, workers)
        body = b"".join([part async for part in response.body_iterator if isinstance(part, bytes)])
        return len(body.splitlines())

    async def ask(workers: Workers) -> None:
        batches = [registry.mint_several("h", 2, ALICE) for _ in range(2)]
        first = [next(batch) for batch in batches]
        holding = asyncio.create_task(asyncio.to_thread(registry.store.write, hold))
        await asyncio.to_thread(held.wait)
        minting = [
            asyncio.create_task(body(workers, "mint_several", chain([one], batch)))
            for one, batch in zip(first, batches, strict=True)
        ]
        try:
            async with asyncio.timeout(10):
                assert await body(workers, "log", registry.log(ALICE)) == 4
        finally:
            end.set()
        assert await asyncio.gather(*minting) == [2, 2]
        await holding

    with opened(tmp_path) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        asyncio.run(ask(Workers(registry, 60)))


def test_look_ups_have_threads_after_one_that_took_much_processor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.workers import Workers

    quiet = resource.getrusage(resource.RUSAGE_SELF)  # no thread waits: on a busy machine some do
    monkeypatch.setattr("resource.getrusage", lambda _: quiet)

    show = OPERATIONS["show"]

    def work(count: int) -> threading.Thread:
        sum(range(count))
        return threading.current_thread()

    async def ask(workers: Workers) -> None:
        here = threading.current_thread()
        assert await workers.run(show, lambda: work(0)) is here
        await workers.run(show, lambda: work(7 * 10**6))
        assert await workers.run(show, lambda: work(0)) is not here

    with opened(tmp_path) as registry:
        asyncio.run(ask(Workers(registry, 60)))


@pytest.mark.parametrize(
    ("name", "values", "scans"),
    [
        ("list", {"limit": 20}, False),
        ("list", {"deprecated": False, "withoutName": None}, False),
        ("list", {"withoutName": "und"}, True),
        ("list", {"deprecated": True}, True),
        ("list", {"released": True}, True),
        ("list", {"limit": 10**9}, False),
        ("events_since", {"cursor": "0", "kinds": [], "limit": 1000}, False),
        ("events_since", {"cursor": "0", "party": "nobody"}, True),
        ("events_since", {"cursor": "0", "limit": 1001}, True),
        ("news", {"kinds": ["Mint"]}, True),
        ("published", {"limit": 1000}, False),
        ("published", {"limit": 1001}, False),  # it has pages
        ("handles", {"namespace": "h"}, True),
        ("handles", {"namespace": "h", "limit": 1000, "start": 0}, False),
        ("handles", {"namespace": "h", "limit": 1001}, True),
        ("handles", {"namespace": "h", "limit": 1, "start": 1000}, True),
        ("list_bound", {"text": "http://x.example.org/"}, True),
    ],
)
def test_requests_that_may_read_everything_are_known_by_their_parameters(
    name: str, values: dict[str, object], scans: bool
) -> None:
    assert OPERATIONS[name].scans(values) is scans


def test_a_scan_ends_when_its_client_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    from idstore.registry import lists
    from idstore.server.admission import Figures, ServerLimits
    from idstore.server.allowances import Allowances
    from idstore.server.api import application
    from idstore.server.sign_in import Caller
    from idstore.server.workers import Workers

    until = lists._until
    answer = list[MutableMapping[str, Any]]()

    def endless(items: Iterable[str], cancelled: Callable[[], bool]) -> Iterator[str]:
        while not cancelled():
            time.sleep(0.01)
        return until(items, cancelled)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        answer.append(message)

    monkeypatch.setattr(lists, "_until", endless)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/identifiers",
        "root_path": "",
        "query_string": b"withoutName=en",
        "headers": [],
        "client": ("192.0.2.1", 1),
        "state": {"caller": Caller(idstore.NOBODY), "body": b""},
    }
    with opened(tmp_path) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        registry.mint("h", ALICE, idstore.Request(fixate=True))
        app = application(registry, Workers(registry, 60), Figures(), ServerLimits(), Allowances())
        asyncio.run(app(scope, receive, send))
    assert answer[0]["status"] == 503
