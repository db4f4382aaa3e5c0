"""How a server ends, and why it does not start."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from command_lines import Run
from serving import ALICE, Reply, Server

pytest.importorskip("uvicorn", reason="the extra server is not installed")

ENDLESS = {
    "text": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }",
    "timeout": 50,
}


@pytest.fixture
def own(prepared: Path, tmp_path: Path) -> Iterator[Server]:
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s") as server:
        yield server


def started(server: Server, token: str, body: dict[str, object], replies: list[Reply]) -> threading.Thread:
    """Send a query from another thread, and return when the server works on it."""

    def ask() -> None:
        with suppress(OSError):
            replies.append(server.ask("POST", "/api/v1/query", body, token=token))

    thread = threading.Thread(target=ask)
    thread.start()
    while "idstore_active_requests 2.0" not in server.ask("GET", "/metrics").body.decode():
        assert thread.is_alive()
    return thread


@pytest.mark.slow
def test_a_command_that_waits_for_a_starting_server_reaches_it(own: Server) -> None:
    own.end(signal.SIGTERM)
    command = [sys.executable, "-m", "idstore", "--store", str(own.store)]
    environment = {**os.environ, "IDSTORE_USER": "alice"}
    while True:
        with subprocess.Popen(
            [*command, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
        ) as server:
            while f"process {server.pid}" not in (own.store / "lock").read_text():
                assert server.poll() is None
            server.send_signal(signal.SIGSTOP)
            try:
                if (own.store / "server.socket").exists():
                    continue  # it was faster than this test
                minting = subprocess.Popen(
                    [*command, "mint", "rdl"], stdout=subprocess.PIPE, text=True, env=environment
                )
                with pytest.raises(subprocess.TimeoutExpired):
                    minting.wait(2)
                server.send_signal(signal.SIGCONT)
                said, _ = minting.communicate(timeout=30)
                assert (minting.returncode, said.count("\n")) == (0, 1)
                return
            finally:
                server.send_signal(signal.SIGCONT)
                server.send_signal(signal.SIGTERM)


def test_a_signal_lets_requests_end_and_accepts_no_more(own: Server) -> None:
    replies: list[Reply] = []
    thread = started(own, own.token(ALICE), {**ENDLESS, "timeout": 2}, replies)
    own.process.send_signal(signal.SIGTERM)
    with suppress(ConnectionError):  # refused, or reset where it was accepted last
        while True:
            socket.create_connection(("127.0.0.1", own.port)).close()
    thread.join()
    assert [(reply.status, reply.json["error"]) for reply in replies] == [(422, "limit-reached")]
    assert own.end(signal.SIGTERM) == 0
    assert not (own.store / "server.socket").exists()


def test_a_second_signal_does_not_wait_for_requests(own: Server) -> None:
    replies: list[Reply] = []
    thread = started(own, own.token(ALICE), ENDLESS, replies)
    begin = time.monotonic()
    own.process.send_signal(signal.SIGTERM)
    with suppress(ConnectionError):  # refused, or reset where it was accepted last
        while True:
            socket.create_connection(("127.0.0.1", own.port)).close()
    assert own.end(signal.SIGINT) == 0
    assert time.monotonic() - begin < 9
    thread.join()
    assert [(reply.status, reply.json["error"]) for reply in replies] == [(503, "overloaded")]
    assert not (own.store / "server.socket").exists()
    assert all(json.loads(line)["time"] for line in own.lines)
    assert "trace" not in "".join(own.lines)


@pytest.mark.slow
def test_a_request_that_takes_too_long_does_not_keep_a_server_from_ending(own: Server) -> None:
    thread = started(own, own.token(ALICE), ENDLESS, [])
    begin = time.monotonic()
    assert own.end(signal.SIGTERM) == 0
    assert time.monotonic() - begin < 25
    thread.join()


def test_a_server_does_not_start_without_a_store(run: Run, tmp_path: Path) -> None:
    assert "there is no store" in run("serve", "--port", "0", "--store", str(tmp_path / "none"), code=6).err


@pytest.mark.skipif(sys.platform != "linux", reason="another system has no short name for a long path")
def test_a_store_with_a_long_path_is_served(prepared: Path, run: Run, tmp_path: Path) -> None:
    store = tmp_path.joinpath(*["a-long-name"] * 12) / "s"
    shutil.copytree(prepared, store)
    with Server(store) as server:
        assert run("serve", "--port", "0", "--store", str(store), "--wait", "0", code=6).err
        assert run("mint", "rdl", "--store", str(store)).line.startswith("http://rdl.example.org/data#R")
        assert "/identifiers" in server.log_after("namespaces")
    assert not (store / "server.socket").exists()


@pytest.mark.parametrize("prefix", ["ids", "/ids/", "/a b", "/a/../b", "/a//b", "/%41"])
def test_a_prefix_is_a_plain_path(run: Run, prefix: str) -> None:
    assert "write it as /ids" in run("serve", "--port", "0", "--prefix", prefix, code=2).err


def test_a_store_in_use_is_named(server: Server, run: Run) -> None:
    refused = run("serve", "--port", "0", "--store", str(server.store), "--wait", "0", code=6)
    assert "is in use by process" in refused.err
    assert server.ask("GET", "/readyz").status == 200


@pytest.mark.usefixtures("rdl")
def test_a_port_in_use_is_named(server: Server, run: Run) -> None:
    refused = run("serve", "--port", str(server.port), code=6)
    assert f"127.0.0.1:{server.port}" in refused.err
    assert "Address already in use; choose another address" in refused.err


@pytest.mark.usefixtures("rdl")
def test_a_store_of_another_format_is_refused(run: Run, store: Path) -> None:
    with closing(sqlite3.connect(store / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("pragma user_version = 99")
    assert "99" in run("serve", "--port", "0", code=6).err


def test_a_second_server_says_at_once_what_it_waits_for(prepared: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(prepared, store)
    command = [sys.executable, "-m", "idstore", "--store", str(store), "--wait", "60", "serve", "--port", "0"]
    with Server(store) as first:
        second = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with second:
            assert second.stderr is not None
            assert "another server holds" in second.stderr.readline()
            assert first.end(signal.SIGTERM) == 0
            assert "serving" in second.stderr.readline()
            second.terminate()
        assert second.returncode == 0
