"""A client whose connection ends: an act is sent once, and its unknown outcome is told."""

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import IO, cast

import pytest
from serving import ALICE

import idstore
from idstore.errors import LimitReached, NotPermitted, OutcomeUnknown, StoreBusy, StoreUnavailable
from idstore.server import problems

Behaviour = Callable[[IO[bytes]], list[str]]
"""What a server does with a connection; it returns the first lines of the requests."""


def take(stream: IO[bytes]) -> str:
    """Read a request, and return its first line."""
    first, size = stream.readline().decode(), 0
    while line := stream.readline().strip():
        name, _, value = line.lower().partition(b":")
        size = int(value) if name == b"content-length" else size
    stream.read(size)
    return first.strip()


def answer(stream: IO[bytes]) -> str:
    """Answer a request for the namespaces, and keep the connection."""
    first = take(stream)
    body = json.dumps([]).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    stream.write(head.encode() + body)
    stream.flush()
    return first


def replying(status: str, body: bytes, fields: str = "") -> Behaviour:
    """Return how a server answers one request; ``fields`` are further lines of the header."""

    def reply(stream: IO[bytes]) -> list[str]:
        first = take(stream)
        stream.write(f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return [first]

    return reply


@contextmanager
def server(*connections: Behaviour) -> Iterator[tuple[str, list[str]]]:
    """Accept one connection after the other, each with its behaviour; yield the address and the requests."""
    requests: list[str] = []

    def run(listening: socket.socket) -> None:
        for behave in connections:
            connection, _ = listening.accept()
            with connection, cast("IO[bytes]", connection.makefile("rwb")) as stream:
                requests.extend(behave(stream))

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=run, args=[listening])
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/", requests
        thread.join(60)
        assert not thread.is_alive()


def test_an_act_is_not_sent_again_where_the_server_ends() -> None:
    with (
        server(lambda stream: [answer(stream), take(stream)]) as (address, requests),
        idstore.connect(address) as registry,
    ):
        registry.namespaces()
        with pytest.raises(OutcomeUnknown):
            registry.mint("rdl", ALICE)
    assert [one.split()[0] for one in requests] == ["GET", "POST"]


def test_a_connection_that_the_server_ended_meanwhile_is_not_used() -> None:
    def once(stream: IO[bytes]) -> list[str]:
        return [answer(stream)]

    with server(once, once) as (address, requests), idstore.connect(address) as registry:
        registry.namespaces()
        registry.namespaces()
    assert len(requests) == 2


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
@pytest.mark.parametrize("body", [b"null", b""])
def test_another_server_is_no_registry_without_content(kind: str, body: bytes) -> None:
    def other(stream: IO[bytes]) -> list[str]:
        first = take(stream)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        stream.write(head.encode() + body)
        return [first]

    questions: list[Callable[[idstore.Registry], object]] = [
        lambda registry: registry.list(ALICE),
        lambda registry: registry.show("rdl:R1", ALICE),
        lambda registry: [*registry.log(ALICE)],
    ]
    for ask in questions:
        with (
            server(other) as (address, _),
            idstore.connect(address) as registry,
            pytest.raises(StoreUnavailable, match="not as a registry"),
        ):
            ask(registry)


@pytest.mark.parametrize("status", ["500 Internal Server Error", "502 Bad Gateway", "504 Gateway Timeout"])
def test_an_act_that_only_a_proxy_answers_may_have_taken_effect(status: str) -> None:
    acts: list[Callable[[idstore.Registry], object]] = [
        lambda registry: registry.mint("rdl", ALICE),
        lambda registry: registry.repair_counters(ALICE),
    ]
    for act in acts:
        with (
            server(replying(status, b"<h1>proxy</h1>")) as (address, _),
            idstore.connect(address) as registry,
            pytest.raises(OutcomeUnknown, match=f"status {status[:3]}.*same request key"),
        ):
            act(registry)


def test_a_question_that_only_a_proxy_answers_changes_nothing() -> None:
    with (
        server(replying("502 Bad Gateway", b"")) as (address, _),
        idstore.connect(address) as registry,
        pytest.raises(StoreUnavailable, match="status 502") as caught,
    ):
        registry.namespaces()
    assert not isinstance(caught.value, OutcomeUnknown)


@pytest.mark.parametrize("error", [StoreBusy("the store is held", pid=1), LimitReached("it took too long")])
def test_an_act_that_the_registry_refuses_has_no_effect(error: idstore.IdstoreError) -> None:
    body = json.dumps(problems.describe(error)).encode()
    with (
        server(replying("503 Service Unavailable", body)) as (address, _),
        idstore.connect(address) as registry,
        pytest.raises(type(error), match=error.message),
    ):
        registry.mint("rdl", ALICE)


def test_long_work_whose_answer_lacks_its_result_may_have_taken_effect() -> None:
    lines = "Content-Type: application/x-ndjson\r\n"
    with (
        server(replying("200 OK", b"\n", lines)) as (address, _),
        idstore.connect(address) as registry,
        pytest.raises(OutcomeUnknown, match="ended its answer too soon"),
    ):
        registry.repair_counters(ALICE)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_to_a_query_that_is_cut_off_is_an_error(chunked: bool) -> None:
    facts = "".join(
        f"Idstore-{name}: {value}\r\n"
        for name, value in {"Kind": "rows", "Format": "csv", "Rows": 3, "Truncated": "false"}.items()
    )

    def cut_off(stream: IO[bytes]) -> list[str]:
        first = take(stream)
        end = "Transfer-Encoding: chunked\r\n\r\n3\r\n" if chunked else "Content-Length: 9\r\n\r\n"
        stream.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n{facts}{end}".encode() + b"a\r\n")
        return [first]

    for read in (lambda answer: answer.read(), lambda answer: [*iter(lambda: answer.stream.read(2), b"")]):
        with (
            server(cut_off) as (address, _),
            idstore.connect(address) as registry,
            registry.query("SELECT * {}", ALICE) as answer,
            pytest.raises(StoreUnavailable, match="ended its answer too soon"),
        ):
            read(answer)
    with (
        server(cut_off) as (address, _),
        idstore.connect(address) as registry,
        pytest.raises(StoreUnavailable, match="ended its answer too soon"),
    ):
        idstore.export(registry, io.BytesIO(), ALICE)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]"])
def test_a_token_goes_in_the_clear_to_this_machine_alone(host: str) -> None:
    idstore.connect(f"http://{host}:9/", token="ids_x").close()
    with pytest.raises(NotPermitted, match="plain HTTP"):
        idstore.connect("http://[::ffff:10.0.0.1]:9/", token="ids_x")
