"""A client whose connection ends: an act is sent once, and its unknown outcome is told."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import IO, cast

import pytest
from serving import ALICE

import idstore
from idstore.errors import OutcomeUnknown, StoreUnavailable


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


@contextmanager
def server(*connections: Callable[[IO[bytes]], list[str]]) -> Iterator[tuple[str, list[str]]]:
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
