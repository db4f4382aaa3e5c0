"""The change feed over HTTP: it misses nothing, tells nothing of drafts, and waits without a cost."""

import http.client
import json
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from serving import ALICE, BOB, Reply, Server, wait_until

pytest.importorskip("uvicorn", reason="the extra server is not installed")

import idstore
from idstore.server.changes import LISTENERS_OF_ONE, LONGEST_WAIT

FEED = "/api/v1/changes"
MINT = "/api/v1/namespaces/rdl/identifiers"
FIXATE = "/api/v1/fixate"


@pytest.fixture
def own(prepared: Path, tmp_path: Path) -> Iterator[Server]:
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s") as server:
        yield server


@pytest.fixture(scope="module")
def shared(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store of this module: its tests publish, and others count what is public."""
    store = tmp_path_factory.mktemp("feed") / "s"
    shutil.copytree(prepared, store)
    with Server(store) as server:
        yield server


def page(server: Server, after: int = 0, **query: str) -> Any:
    reply = server.ask("GET", FEED, query={"after": str(after), **query})
    assert reply.status == 200, reply.body
    assert reply.headers["cache-control"] == "private, no-store"
    return reply.json


def everything(server: Server, limit: int) -> list[Any]:
    """Return all changes, read in pages."""
    after, changes = 0, list[Any]()
    while True:
        read = page(server, after, limit=str(limit))
        if not read["changes"]:
            return changes
        changes += read["changes"]
        after = read["last"]


def mint(server: Server, name: str) -> str:
    reply = server.ask("POST", MINT, {"name": name}, token=server.token(ALICE))
    assert reply.status == 201
    return str(reply.json["id"])


def fixate(server: Server, id: str) -> None:
    assert server.ask("POST", FIXATE, {"ids": [id]}, token=server.token(ALICE)).status == 200


def state(changes: list[Any]) -> set[str]:
    """Return the quads after changes. Each removed one must be there, each added one must not."""
    quads: set[str] = set()
    for change in changes:
        removed, added = set(change["removed"]), set(change["added"])
        assert removed <= quads
        assert quads.isdisjoint(added)
        quads = (quads - removed) | added
    return quads


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_all_changes_give_the_public_export(shared: Server, limit: int) -> None:
    draft, late = mint(shared, "a hidden draft"), mint(shared, "published later")
    mint(shared, "another draft")
    fixate(shared, late)
    changes = everything(shared, limit)
    assert [change["number"] for change in changes] == [*range(1, len(changes) + 1)]
    exported = shared.ask("GET", "/api/v1/export", query={"format": "nquads"}).body.decode()
    lines = {line for line in exported.splitlines() if line and "ontology#partial" not in line}
    assert state(changes) == lines
    text = json.dumps(changes)
    assert late in text
    assert "published later" in text
    assert "draft" not in text
    assert draft not in text


def test_who_asks_makes_no_difference(shared: Server) -> None:
    mint(shared, "a draft of alice")
    anonymous = shared.ask("GET", FEED).body
    assert shared.ask("GET", FEED, token=shared.token(ALICE)).body == anonymous
    assert shared.ask("GET", FEED, token=shared.token(BOB)).body == anonymous


def test_a_patch_is_that_of_an_anonymous_export(shared: Server) -> None:
    fixate(shared, mint(shared, "valve"))
    reply = shared.ask("GET", FEED, headers={"Accept": "application/rdf-patch"})
    assert reply.headers["content-type"] == "application/rdf-patch"
    query = {"format": "rdf-patch", "after": "0"}
    assert reply.body == shared.ask("GET", "/api/v1/export", query=query).body
    two = shared.ask(
        "GET", FEED, headers={"Accept": "application/rdf-patch"}, query={"after": "1", "limit": "2"}
    )
    assert two.body.startswith(reply.body.splitlines()[0] + b"\nH after 1 .\n")
    assert two.body.endswith(b"H upto 3 .\n")


JSON, PATCH, EVENTS = "application/json", "application/rdf-patch", "text/event-stream"
WRONG = [
    *((kind, {"after": text}) for kind in (JSON, PATCH, EVENTS) for text in ("-1", "x", "999999", "9" * 30)),
    *((kind, {"wait": text}) for kind in (JSON, PATCH) for text in ("61", "-1", "x", "nan")),
    (JSON, {"after": "999999", "wait": "5"}),
    (JSON, {"limit": "0"}),
    (JSON, {"what": "1"}),
    *((PATCH, {"limit": text}) for text in ("x", "0")),
]


@pytest.mark.parametrize(("kind", "query"), WRONG)
def test_wrong_parameters_are_named(server: Server, kind: str, query: dict[str, str]) -> None:
    reply = server.ask("GET", FEED, query=query, headers={"Accept": kind})
    assert (reply.status, reply.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize("accept", [JSON, PATCH, EVENTS])
@pytest.mark.parametrize("query", ["aftr=1", "after=0&after=1", "wait=1&wait=60"])
def test_other_and_repeated_parameters_are_refused(shared: Server, accept: str, query: str) -> None:
    reply = shared.ask("GET", f"{FEED}?{query}", headers={"Accept": accept})
    assert (reply.status, reply.json["field"]) == (422, query.partition("=")[0])


@pytest.mark.parametrize("name", ["limit", "wait"])
def test_a_stream_refuses_what_only_pages_have(shared: Server, name: str) -> None:
    reply = shared.ask("GET", FEED, query={name: "1"}, headers={"Accept": EVENTS})
    assert (reply.status, reply.json["field"]) == (422, name)
    assert "a stream of changes; it has after" in reply.json["detail"]


def test_a_wait_ends_with_the_next_public_change_alone(shared: Server) -> None:
    newest, id = page(shared)["newest"], mint(shared, "valve")
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(page, shared, newest, wait="20")
        mint(shared, "hidden")
        shared.ask(
            "POST", "/api/v1/bind", {"id": id, "target": "http://example.org/"}, token=shared.token(ALICE)
        )
        begun = time.monotonic()
        assert page(shared, newest, wait="0.5")["changes"] == []
        assert time.monotonic() - begun >= 0.5
        assert not waiting.done()
        fixate(shared, id)
        assert waiting.result()["changes"][0]["number"] == newest + 1


def test_a_wait_answers_at_once_where_there_are_changes(shared: Server) -> None:
    begun = time.monotonic()
    assert page(shared, 0, wait="30")["changes"]
    assert time.monotonic() - begun < 10


class Stream:
    """A client of server-sent events, in a thread of its shared."""

    def __init__(self, server: Server, after: int, last: int | None = None) -> None:
        self.events: list[dict[str, str]] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=40)
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": str(last)})
        self._connection.request("GET", f"{FEED}?after={after}", headers=headers)
        self.response = self._connection.getresponse()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        event: dict[str, str] = {}
        for line in iter(self.response.readline, b""):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif "data" in event:
                self.events.append(event)
                event = {}

    def close(self) -> None:
        self.response.close()
        self._connection.close()


def test_a_stream_gives_each_change_once_and_goes_on_after_an_interruption(own: Server) -> None:
    newest = page(own)["newest"]
    stream = Stream(own, newest - 2)
    assert stream.response.getheader("Content-Type", "").startswith("text/event-stream")
    wait_until(lambda: len(stream.events) == 2)
    fixate(own, mint(own, "valve"))
    wait_until(lambda: len(stream.events) > 2)
    numbers = [int(event["id"]) for event in stream.events]
    assert numbers == [*range(newest - 1, newest - 1 + len(numbers))]
    documents = [json.loads(event["data"]) for event in stream.events]
    assert documents == page(own, newest - 2)["changes"][: len(documents)]
    again = Stream(own, 0, last=numbers[-1])
    fixate(own, mint(own, "another"))
    wait_until(lambda: again.events)
    assert int(again.events[0]["id"]) == numbers[-1] + 1
    assert own.end(signal.SIGTERM) == 0
    for one in (stream, again):
        one.thread.join(20)
        assert not one.thread.is_alive()
        one.close()


def test_a_server_with_waiting_requests_ends_at_once(own: Server) -> None:
    newest, replies = page(own)["newest"], list[Reply]()
    query = {"after": str(newest), "wait": "50"}
    waiting = threading.Thread(target=lambda: replies.append(own.ask("GET", FEED, query=query)))
    waiting.start()
    wait_until(lambda: "idstore_active_requests 2.0" in own.ask("GET", "/metrics").body.decode())
    begun = time.monotonic()
    assert own.end(signal.SIGTERM) == 0
    assert time.monotonic() - begun < 8
    waiting.join()
    assert replies[0].json["changes"] == []


def wait_for_active(server: Server, number: int) -> None:
    """Wait until that many requests are in progress beside the one that asks."""
    line = f"idstore_active_requests {number + 1}.0"
    wait_until(lambda: line in server.ask("GET", "/metrics").body.decode())


@contextmanager
def stream(server: Server, after: int, headers: dict[str, str] = {}) -> Iterator[int]:  # noqa: B006 it is only read
    """Give the status of a stream whose client reads nothing more."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
        connection.request("GET", f"{FEED}?after={after}", headers={"Accept": EVENTS, **headers})
        with connection.getresponse() as response:
            yield response.status


def test_one_address_or_party_takes_some_of_the_places_only(own: Server) -> None:
    newest = page(own)["newest"]
    query, token = {"after": str(newest), "wait": "0.1"}, own.token(ALICE)
    with ExitStack() as others:
        for _ in range(LISTENERS_OF_ONE - 1):
            assert others.enter_context(stream(own, newest)) == 200
        with stream(own, newest) as status:
            assert status == 200
            for accept in (JSON, PATCH, EVENTS):
                asked = {"after": str(newest)} if accept == EVENTS else query
                refused = own.ask("GET", FEED, headers={"Accept": accept}, query=asked)
                assert (refused.status, refused.json["error"]) == (503, "overloaded")
                assert "address" in refused.json["detail"]
                assert int(refused.headers["retry-after"]) > 0
            assert page(own, newest)["changes"] == []  # without a wait
            assert own.ask("GET", FEED, query=query, token=token).status == 200
        wait_for_active(own, LISTENERS_OF_ONE - 1)
        assert own.ask("GET", FEED, query=query).status == 200


def test_one_network_of_ipv6_takes_the_places_of_one_address(prepared: Path, tmp_path: Path) -> None:
    def sent_from(address: str) -> dict[str, str]:
        return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}

    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--proxy", "127.0.0.1")) as server, ExitStack() as others:
        newest = page(server)["newest"]
        for number in range(LISTENERS_OF_ONE):
            headers = sent_from(f"2001:db8::{number}")
            assert others.enter_context(stream(server, newest, headers)) == 200
        for address, status in (("2001:db8::ffff", 503), ("2001:db8:0:1::1", 200)):
            with stream(server, newest, sent_from(address)) as found:
                assert found == status


def listener(server: Server, address: str, path: str, accept: str) -> http.client.HTTPConnection:
    """Return a connection from an address of this machine on which a request for changes waits."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20, source_address=(address, 0))
    connection.request("GET", path, headers={"Accept": accept})
    return connection


def test_all_listeners_get_a_change_and_other_requests_are_answered(own: Server) -> None:
    newest, id, accepts = page(own)["newest"], mint(own, "valve"), (JSON, PATCH, EVENTS)
    paths = {kind: f"{FEED}?after={newest}" + ("" if kind == EVENTS else "&wait=60") for kind in accepts}
    addresses = [f"127.0.0.{number}" for number in range(2, 17)]
    with ExitStack() as stack:
        listeners = list[tuple[str, http.client.HTTPConnection]]()
        for kind, address in product((EVENTS, EVENTS, EVENTS, JSON, JSON, PATCH), addresses):
            listeners += [
                (kind, stack.enter_context(closing(listener(own, address, paths[kind], kind))))
                for _ in range(2 if kind == JSON else 1)
            ]
            wait_for_active(own, len(listeners))
        fixate(own, id)
        assert own.ask("GET", "/api/v1/namespaces").status == 200
        for kind, connection in listeners:
            response = connection.getresponse()
            assert response.status == 200
            if kind == EVENTS:
                assert response.readline() == f"id: {newest + 1}\n".encode()
            elif kind == JSON:
                assert json.loads(response.read()) == page(own, newest)
            else:
                assert f"H upto {page(own)['newest']}".encode() in response.read()


def test_a_wait_ends_with_its_client(own: Server) -> None:
    newest = page(own)["newest"]
    clients = [http.client.HTTPConnection("127.0.0.1", own.port) for _ in range(LISTENERS_OF_ONE)]
    for client in clients:
        client.request("GET", f"{FEED}?after={newest}&wait={LONGEST_WAIT}")
    wait_for_active(own, len(clients))
    for client in clients:
        client.close()
    wait_for_active(own, 0)
    assert page(own, newest, wait="0.1")["changes"] == []
    assert '"status": 499' in own.log_after('"status": 499')


def test_programs_follow_by_the_client(shared: Server) -> None:
    fixate(shared, mint(shared, "valve"))
    with idstore.connect(shared.address) as registry:
        read = registry.changes(after=1, limit=2)
    assert [change.number for change in read.changes] == [2, 3]
    assert read.store.startswith("urn:uuid:")
