"""The description of the data: one count at a time, which no request has to wait for."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from serving import wait_until

pytest.importorskip("uvicorn", reason="the extra server is not installed")

from starlette.requests import Request
from starlette.responses import Response

import idstore
from idstore.errors import Overloaded, StoreUnavailable
from idstore.model.party import NOBODY
from idstore.server import problems
from idstore.server.performer import Performer
from idstore.server.sign_in import Caller
from idstore.server.sparql import data_description
from idstore.server.sparql.data_description import DataDescription, DescriptionSettings
from idstore.server.workers import Workers

SHORT = 0.1
"""Seconds: the limit of the operations in threads, and that of the wait."""


class Counts:
    """Counts of the data in place of those of a large store. Each runs until it is released."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.ends: list[threading.Event] = [threading.Event() for _ in range(9)]
        self.failures: list[Exception] = []

    def describe(self, _registry: object, target: IO[bytes], *_: object, **__: object) -> None:
        number = len(self.threads)
        self.threads.append(threading.current_thread())
        self.ends[number].wait(20)
        if self.failures:
            raise self.failures.pop()
        target.write(f"<urn:x> <urn:count> {number} .".encode())


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counts]:
    counts = Counts()
    monkeypatch.setattr(data_description, "describe", counts.describe)
    monkeypatch.setattr(data_description, "_PATIENCE", SHORT)
    yield counts
    for end in counts.ends:
        end.set()


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Callable[[], Response]]:
    """Give a function that asks for the description of a store."""
    with idstore.open(tmp_path / "s", administrator=idstore.Party("ada")) as registry:
        data = DataDescription(Performer(registry, Workers(registry, SHORT)), DescriptionSettings())
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "root_path": "",
            "state": {"caller": Caller(NOBODY)},
            "path": data_description.VOID_PATH,
            "headers": [(b"host", b"x")],
            "query_string": b"",
            "server": ("x", 80),
            "scheme": "http",
        }
        yield lambda: asyncio.run(data.respond(Request(scope)))


def count_in(response: Response) -> bytes:
    return bytes(response.body).partition(b"<urn:count> ")[2].split()[0]


def test_a_long_count_goes_on_and_serves_later_requests(
    counts: Counts, asking: Callable[[], Response]
) -> None:
    for _ in range(3):
        with pytest.raises(Overloaded) as error:
            asking()
        assert int(problems.headers(error.value)["Retry-After"]) > problems.RETRY_AFTER
    [thread] = counts.threads
    assert thread.daemon
    counts.ends[0].set()
    thread.join(20)
    assert count_in(asking()) == b"0"
    assert len(counts.threads) == 1


def test_the_former_description_serves_during_a_count(
    counts: Counts, asking: Callable[[], Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_description, "_KEPT", 0)
    monkeypatch.setattr(data_description, "_REST", 0)
    counts.ends[0].set()
    assert count_in(asking()) == b"0"
    for _ in range(3):
        assert count_in(asking()) == b"0"
    wait_until(lambda: len(counts.threads) == 2)
    counts.ends[1].set()
    counts.threads[1].join(20)
    assert count_in(asking()) == b"1"


def test_a_count_that_failed_is_told_and_begun_again(
    counts: Counts, asking: Callable[[], Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_description, "_PATIENCE", 20)
    counts.failures.append(StoreUnavailable("the disk is full"))
    for end in counts.ends:
        end.set()
    with pytest.raises(StoreUnavailable):
        asking()
    assert count_in(asking()) == b"1"
