"""Threads of the server: operations that take long keep none of the others waiting."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore.errors import TooManyQueries
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
        ("published", {"limit": 1001}, True),
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
        app = application(registry, Workers(registry, 60), Figures(), ServerLimits())
        asyncio.run(app(scope, receive, send))
    assert answer[0]["status"] == 503
