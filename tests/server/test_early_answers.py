"""Requests that are answered before they arrived: a client that sends all first gets the answer."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from serving import BOB, Server

pytest.importorskip("uvicorn", reason="the extra server is not installed")

LARGE: Final = 17 << 20
"""Bytes: more than a party may import, and than the buffers of a connection take."""
MINT: Final = "/api/v1/namespaces/rdl/identifiers"
IMPORT: Final = "/api/v1/imports?format=csv"


def send(server: Server, path: str, token: str, *more: str, size: int = LARGE) -> bytes:
    """Send a request as a whole, and return everything that comes until the server ends the connection."""
    head = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *more]
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*head, f"Content-Length: {LARGE}", "", ""]).encode())
        connection.sendall(bytes(size))
        while part := connection.recv(1 << 16):
            received += part
    return received


@pytest.fixture(scope="module")
def own(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store for this module: failed sign-ins count against all clients of this machine."""
    store = tmp_path_factory.mktemp("s") / "store"
    shutil.copytree(prepared, store)
    with Server(store) as server:
        yield server


@pytest.mark.parametrize(
    ("path", "known", "status"),
    [
        (MINT, False, 401),
        (IMPORT, False, 401),
        (MINT, True, 413),
        (IMPORT, True, 413),
        (IMPORT + "&x=1", True, 422),
    ],
)
def test_a_refusal_reaches_its_client(own: Server, path: str, known: bool, status: int) -> None:
    received = send(own, path, own.token(BOB) if known else "ids_wrong")
    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nconnection: close\r\n" in received
    assert received.count(b"HTTP/1.1 ") == 1


def test_too_many_requests_are_told_to_those_that_send_much(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "store")
    with Server(tmp_path / "store", limits={"requests": 0}) as busy:
        assert send(busy, MINT, "").startswith(b"HTTP/1.1 503 ")


def test_a_client_that_asks_before_it_sends_need_not_send(own: Server) -> None:
    received = send(own, MINT, "ids_wrong", "Expect: 100-continue", size=0)
    assert received.startswith(b"HTTP/1.1 401 ")


def test_a_refusal_without_a_body_keeps_the_connection(own: Server) -> None:
    reply = own.ask("POST", MINT, headers={"Content-Length": "0"})
    assert (reply.status, "connection" in reply.headers) == (401, False)
