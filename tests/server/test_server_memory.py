"""A server under a mixed load for a minute, or longer: its memory, files, threads and processes stay few."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from statistics import median

import pytest
from serving import ALICE, Server, wait_until

SECONDS = float(os.environ.get("IDSTORE_TEST_LOAD_SECONDS", "60"))
"""How long the load lasts. In ten minutes a smaller leak shows."""
GROWTH = 24.0
"""Megabytes by which the memory may be larger at the end than after a third of the time.

The engine keeps changes in memory before it writes a table: up to that, new identifiers take memory too.
"""
PAUSE = 0.02
"""Seconds between the requests of a client: some hundred requests a second leave room for other tests."""
MINT = "/api/v1/namespaces/rdl/identifiers"
SHOW = "/api/v1/identifier"


def status(server: Server, field: str) -> int:
    """Return a number that the system knows of the server's process."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{field}:")))


def files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def loads(server: Server, token: str, id: str) -> Sequence[Callable[[int], object]]:
    """Return what clients do again and again; each gets the number of the repetition."""

    def vanish(_: int) -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(f"GET {SHOW}?id=rdl:R1 HTTP/1.1\r\nHost: x\r\n\r\nGET /".encode())

    def mint(number: int) -> None:
        headers = {"Idempotency-Key": f"k-{number // 2}"}
        server.ask("POST", MINT, {"name": "x"}, token=token, headers=headers)
        time.sleep(0.05)  # identifiers take memory in the engine until it writes a table

    return (
        mint,
        lambda _: server.ask("GET", SHOW, query={"id": id}, token=token),
        lambda number: server.ask("GET", SHOW, query={"id": f"rdl:R{number}"}),
        lambda _: server.ask("GET", "/api/v1/identifiers", token=token),
        lambda number: server.ask("GET", f"/nothing/{number}"),
        lambda number: server.ask("GET", SHOW, basic=f"party-{number}:wrong"),
        lambda _: server.ask("POST", "/api/v1/query", {"text": "ASK { ?s ?p ?o }"}, token=token),
        lambda _: server.ask("GET", "/api/v1/log", query={"id": id}, token=token),
        vanish,
    )


@pytest.mark.slow
def test_memory_stays_flat_under_load(prepared: Path, fast_folder: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, fast_folder / "s")
    with Server(fast_folder / "s") as server:
        token = server.token(ALICE)
        id = server.ask("POST", MINT, {}, token=token).json["id"]
        before, end = files(server), time.monotonic() + SECONDS
        waits: list[float] = []

        def work(act: Callable[[int], object]) -> None:
            for number in count():
                start = time.monotonic()
                if start > end:
                    return
                act(number)
                waits.append(time.monotonic() - start)
                time.sleep(PAUSE)

        clients = [threading.Thread(target=work, args=[act]) for act in loads(server, token, id)]
        for client in clients:
            client.start()
        memory: list[float] = []
        while any(client.is_alive() for client in clients):
            memory.append(status(server, "VmRSS") / 1024)
            time.sleep(SECONDS / 60)
        third = len(memory) // 3
        early, late = median(memory[third : third + third // 2]), median(memory[-(third // 2) :])
        print(f"{len(waits)} requests, the longest took {max(waits):.1f} s")
        print(f"{early:.1f} MB after a third of the time, {late:.1f} MB at the end")
        assert late - early < GROWTH
        wait_until(lambda: files(server) <= before + 16)  # files of the engine and of a snapshot
        assert status(server, "Threads") < 200
