"""Endless queries, a full and a frozen disk, a log that nobody reads: other requests are answered, and all
later.
"""

import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from serving import ALICE, BOB, Server, wait_until

import idstore

MINT = "/api/v1/namespaces/rdl/identifiers"
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?s{n} ?p{n} ?o{n} ." for n in range(9)) + " }"


@pytest.fixture(scope="module")
def attacked(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("s") / "store"
    shutil.copytree(prepared, store)
    with Server(store) as server:
        yield server


def children(server: Server) -> list[str]:
    """Return the processes that the server has started and that still run."""
    found: list[str] = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended
            found += (task / "children").read_text().split()
    return found


def processor_time(process: str) -> int:
    """Return how many ticks of the processor a process has had; 0 if it has ended."""
    with suppress(FileNotFoundError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def is_working(server: Server) -> bool:
    """Return whether a process that the server has started uses the processor."""
    before = {child: processor_time(child) for child in children(server)}
    time.sleep(0.3)  # an endless query uses more than a tick in it
    return any(processor_time(child) > ticks + 1 for child, ticks in before.items())


def asking(server: Server, text: str) -> socket.socket:
    """Return a connection over which alice asks a query."""
    body = f'{{"text": "{text}"}}'.encode()
    client = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    client.sendall(
        f"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token(ALICE)}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return client


def test_a_query_ends_at_its_time_limit(attacked: Server) -> None:
    reply = attacked.ask("POST", "/api/v1/query", {"text": ENDLESS, "timeout": 0.2})
    assert (reply.status, reply.json["error"]) == (422, "limit-reached")
    assert not children(attacked)


def test_endless_queries_hold_up_nobody_and_end_with_their_clients(attacked: Server) -> None:
    token = attacked.token(ALICE)
    clients = [asking(attacked, ENDLESS) for _ in range(30)]
    try:
        wait_until(lambda: children(attacked))
        assert len(children(attacked)) <= 4
        others = attacked.ask("POST", "/api/v1/query", {"text": "ASK {}"}, token=attacked.token(BOB))
        assert others.status == 200, others.body
        id = attacked.ask("POST", MINT, {}, token=token).json["id"]
        assert attacked.ask("GET", "/api/v1/identifier", query={"id": id}, token=token).status == 200
        assert attacked.ask("GET", "/api/v1/identifiers", token=token).status == 200
        reply = attacked.ask("POST", "/api/v1/query", {"text": "ASK {}"}, token=token)
        assert (reply.status, reply.json["error"]) == (429, "too-many-queries")
        assert int(reply.headers["retry-after"]) > 0
    finally:
        for client in clients:
            client.close()
    wait_until(lambda: attacked.ask("POST", "/api/v1/query", {"text": "ASK {}"}, token=token).status == 200)
    wait_until(lambda: not is_working(attacked))


def test_a_log_that_nobody_reads_holds_up_nobody(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", reads_log=False) as server:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
            for _ in range(1000):  # more lines than a pipe holds
                connection.request("GET", "/healthz")
                assert connection.getresponse().read() == b"ok\n"
        assert server.end(signal.SIGTERM) == 0


def test_a_log_that_is_read_late_is_complete_also_where_its_writer_may_not_block(
    prepared: Path, tmp_path: Path
) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)  # less than the lines need
    os.set_blocking(writing, False)
    command = [sys.executable, "-m", "idstore", "--store", str(tmp_path / "s"), "serve", "--port", "0"]
    with open(reading) as log, subprocess.Popen(command, stderr=writing) as process:  # noqa: PTH123
        os.close(writing)
        port = int(log.readline().rstrip("/\n").rpartition(":")[2])
        paths = [f"/api/v1/none-{number}" for number in range(100)]
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
                for path in paths:
                    connection.request("GET", path)
                    connection.getresponse().read()
        finally:
            process.terminate()
        assert [json.loads(line)["path"] for line in log] == paths


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[Path]:
    """Mount a file system. Skips the test if that is impossible here."""
    if os.geteuid():
        pytest.skip("only root can mount a file system")
    place.mkdir()
    done = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_told_and_then_the_server_goes_on(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=24m", "tmpfs") as disk:
        shutil.copytree(prepared, disk / "s")
        with Server(disk / "s") as server:
            token = server.token(ALICE)
            id = server.ask("POST", MINT, {}, token=token).json["id"]
            with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
                while True:
                    filler.write(bytes(4096))
            refused = [server.ask("POST", MINT, {"name": "x" * 5000}, token=token) for _ in range(5)]
            assert {(reply.status, reply.json["error"]) for reply in refused} == {(503, "store-unavailable")}
            assert all("full" in reply.json["detail"] for reply in refused)
            assert all(int(reply.headers["retry-after"]) > 0 for reply in refused)
            assert server.ask("GET", "/api/v1/identifier", query={"id": id}, token=token).status == 200
            for path in ("/readyz", "/sparql?query=ASK{}", "/api/v1/export"):
                near = server.ask("GET", path)
                far = server.ask("GET", path, headers={"X-Forwarded-For": "192.0.2.1"})
                assert (near.status, far.status) == (503, 503)
                assert str(disk) in near.json["detail"]
                assert b"full" in far.body
                assert str(disk).encode() not in far.body
            (disk / "filler").unlink()
            assert server.ask("GET", "/readyz").status == 200
            assert server.ask("POST", MINT, {}, token=token).status == 201
            assert server.ask("POST", "/api/v1/query", {"text": "ASK {}"}, token=token).status == 200
        with idstore.open(disk / "s") as registry:
            assert not list(registry.verify(ALICE))


@contextmanager
def freezable(folder: Path) -> Iterator[Path]:
    """Mount a file system that `fsfreeze` can stop."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    if not (shutil.which("mkfs.ext4") and shutil.which("fsfreeze")):
        pytest.skip("mkfs.ext4 or fsfreeze is not installed")
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(128 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with mounted(folder / "disk", "-o", "loop", str(image)) as disk:
        yield disk


@pytest.mark.slow
def test_a_disk_that_stops_holds_up_acts_alone(prepared: Path, tmp_path: Path) -> None:
    with freezable(tmp_path) as disk:
        shutil.copytree(prepared, disk / "s")
        with Server(disk / "s") as server, ThreadPoolExecutor(64) as clients:
            token = server.token(ALICE)
            id = server.ask("POST", MINT, {}, token=token).json["id"]
            # the first read of a state notes it in a mapped file, which would wait too
            assert server.ask("GET", "/api/v1/identifier", query={"id": id}, token=token).status == 200
            os.sync()
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)
            try:
                waiting = [clients.submit(server.ask, "POST", MINT, {}, token=token) for _ in range(64)]
                wait_until(lambda: b"_active_requests 65.0\n" in server.ask("GET", "/metrics").body)
                assert server.ask("GET", "/healthz").status == 200
                assert server.ask("GET", "/api/v1/identifier", query={"id": id}, token=token).status == 200
                assert server.ask("GET", "/api/v1/namespaces", token=token).status == 200
                assert not any(one.done() for one in waiting)
            finally:
                subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            assert {one.result().status for one in waiting} == {201}


@pytest.mark.slow
def test_an_act_that_a_server_does_not_wait_for_is_unknown(prepared: Path, tmp_path: Path) -> None:
    """It takes effect after its answer."""
    with freezable(tmp_path) as disk:
        shutil.copytree(prepared, disk / "s")
        with Server(disk / "s") as server, ThreadPoolExecutor(8) as clients:
            token = server.token(ALICE)
            server.ask("POST", MINT, {}, token=token)
            os.sync()
            subprocess.run(["fsfreeze", "-f", str(disk)], check=True)
            try:
                waiting = [clients.submit(server.ask, "POST", MINT, {}, token=token) for _ in range(8)]
                wait_until(lambda: b"_active_requests 9.0\n" in server.ask("GET", "/metrics").body)
                server.process.send_signal(signal.SIGTERM)
                with suppress(ConnectionError):  # the first signal has arrived
                    while True:
                        socket.create_connection(("127.0.0.1", server.port)).close()
                server.process.send_signal(signal.SIGINT)
                replies = [one.result() for one in waiting]
            finally:
                subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
            assert {(reply.status, reply.json["error"]) for reply in replies} == {(504, "outcome-unknown")}
            assert server.end(signal.SIGTERM) == 0
        with idstore.open(disk / "s") as registry:
            assert len(registry.list(ALICE)) == 9
