"""A redaction by a running server: the text is soon in no file of the store, whatever was asked before."""

import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ENDLESS, SPARQL, ask, form, query_processes
from processes import is_busy
from serving import ALICE, Server, wait_until
from store_files import contents

pytest.importorskip("uvicorn", reason="the extra server is not installed")

SECRET = "Jane Q. Doe, Main Street 5"
MINT = "/api/v1/namespaces/rdl/identifiers"


@pytest.fixture
def server(prepared: Path, tmp_path: Path) -> Iterator[Server]:
    shutil.copytree(prepared, tmp_path / "store")
    with Server(tmp_path / "store") as server:
        made = server.ask("POST", MINT, {"name": SECRET}, token=server.token(ALICE)).json["id"]
        server.ask("POST", "/api/v1/fixate", {"ids": [made]}, token=server.token(ALICE))
        yield server


def redact(server: Server) -> None:
    body = {"text": SECRET, "reason": "asked"}
    reply = server.ask("POST", "/api/v1/redact-text", body, token=server.token(ALICE))
    assert reply.status == 200, reply.body


def traces(server: Server) -> list[Path]:
    """Return the files of the store with the text."""
    return [path for path, content in contents(server.store) if SECRET.encode() in content]


@pytest.mark.slow
@pytest.mark.parametrize(("query", "status"), [("ASK {}", 200), ("nonsense", 400)])
def test_no_file_has_the_text_after_a_query(server: Server, query: str, status: int) -> None:
    assert ask(server, query).status == status
    assert any("snapshots" in path.parts for path in traces(server))
    redact(server)
    wait_until(lambda: not traces(server))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_no_file_has_the_text_once_a_running_query_has_ended(server: Server) -> None:
    asked = f"GET {SPARQL}?{form(('query', ENDLESS)).decode()} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(asked.encode())
        wait_until(lambda: any(map(is_busy, query_processes(server.process.pid))))
        redact(server)
        assert {path.relative_to(server.store).parts[0] for path in traces(server)} == {"snapshots"}
    wait_until(lambda: not traces(server))


def test_no_file_has_the_text_after_the_server_stopped(server: Server) -> None:
    assert ask(server, "ASK {}").status == 200
    redact(server)
    assert server.end(signal.SIGTERM) == 0
    assert not traces(server)
