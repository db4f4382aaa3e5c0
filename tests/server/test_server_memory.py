"""A server under load: its memory, files, threads and processes stay few."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median

import pytest
from serving import ALICE, Reply, Server, wait_until

SECONDS = float(os.environ.get("IDSTORE_TEST_LOAD_SECONDS", "60"))
"""How long the mixed load lasts. In ten minutes a smaller leak shows."""
GROWTH = 12.0
"""Megabytes by which the memory may be larger at the end than after a third of the time.

In it the engine keeps up to 160 MB of what it has read; each new identifier makes it read its files anew.
"""
REPEATED = 100
"""Requests for a new identifier in that time; half of them are repetitions."""
FILLED, MINTED = 4_000, 12_000
"""Identifiers after which the engine has filled its tables of changes, and those at the end."""
GROWTH_BY_MINTING = 24.0
"""Megabytes from one to the other: the engine's tables are not always equally full."""
PAUSE = 0.02
"""Seconds between the requests of a client: some hundred requests a second leave room for other tests."""
CLIENTS = 4
"""Those that mint without a pause."""
MINT = "/api/v1/namespaces/rdl/identifiers"
SHOW = "/api/v1/identifier"


def status(server: Server, field: str) -> int:
    """Return a number that the system knows of the server's process."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{field}:")))


def megabytes(server: Server) -> float:
    return status(server, "VmRSS") / 1024


def files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


Load = tuple[Callable[[int], Reply | None], set[int], float]
"""What a client does again and again, the statuses of the answers, and the seconds between."""


def loads(server: Server, token: str, id: str) -> Sequence[Load]:
    """Return what the clients do.

    Each act gets the number of the repetition; in a row of numbers some are no identifiers.
    """

    def vanish(_: int) -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(f"GET {SHOW}?id=rdl:R1 HTTP/1.1\r\nHost: x\r\n\r\nGET /".encode())

    def mint(number: int) -> Reply:
        headers = {"Idempotency-Key": f"k-{number // 2}"}
        return server.ask("POST", MINT, {"name": "x"}, token=token, headers=headers)

    return (
        (mint, {201}, SECONDS / REPEATED),
        (lambda _: server.ask("GET", SHOW, query={"id": id}, token=token), {200}, PAUSE),
        (lambda number: server.ask("GET", SHOW, query={"id": f"rdl:R{10**9 + number}"}), {404, 422}, PAUSE),
        (lambda _: server.ask("GET", "/api/v1/identifiers", token=token), {200}, PAUSE),
        (lambda number: server.ask("GET", f"/nothing/{number}"), {404}, PAUSE),
        (lambda number: server.ask("GET", SHOW, basic=f"party-{number}:wrong"), {401, 429}, PAUSE),
        (
            lambda _: server.ask("POST", "/api/v1/query", {"text": "ASK { ?s ?p ?o }"}, token=token),
            {200},
            PAUSE,
        ),
        (lambda _: server.ask("GET", "/api/v1/log", query={"id": id}, token=token), {200}, PAUSE),
        (vanish, set(), PAUSE),
    )


@pytest.fixture
def loaded(prepared: Path, fast_folder: Path) -> Iterator[Server]:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, fast_folder / "s")
    with Server(fast_folder / "s") as server:
        yield server


@pytest.mark.slow
def test_memory_stays_flat_under_a_mixed_load(loaded: Server) -> None:
    token = loaded.token(ALICE)
    id = loaded.ask("POST", MINT, {}, token=token).json["id"]
    before, end = files(loaded), time.monotonic() + SECONDS
    waits: list[float] = []
    unexpected: list[tuple[Reply, set[int]]] = []

    def work(act: Callable[[int], Reply | None], statuses: set[int], pause: float) -> None:
        for number in count():
            start = time.monotonic()
            if start > end:
                return
            reply = act(number)
            if reply is not None and reply.status not in statuses:
                unexpected.append((reply, statuses))
            waits.append(time.monotonic() - start)
            time.sleep(pause)

    clients = [threading.Thread(target=work, args=load) for load in loads(loaded, token, id)]
    for client in clients:
        client.start()
    memory: list[float] = []
    while any(client.is_alive() for client in clients):
        memory.append(megabytes(loaded))
        time.sleep(SECONDS / 60)
    third = len(memory) // 3
    early, late = median(memory[third : third + third // 2]), median(memory[-(third // 2) :])
    print(f"{len(waits)} requests, the longest took {max(waits):.1f} s")
    print(f"{early:.1f} MB after a third of the time, {late:.1f} MB at the end")
    assert not unexpected
    assert late - early < GROWTH
    wait_until(lambda: files(loaded) <= before + 16)  # files of the engine and of a snapshot
    assert status(loaded, "Threads") < 200


@pytest.mark.slow
def test_memory_stays_flat_while_identifiers_are_minted(loaded: Server) -> None:
    token = loaded.token(ALICE)

    def mint(numbers: range) -> None:
        for number in numbers:
            assert loaded.ask("POST", MINT, {"name": "x"}, token=token, headers=key(number)).status == 201

    def key(number: int) -> dict[str, str]:
        return {"Idempotency-Key": f"k-{number}"}

    def filled(first: int, end: int) -> float:
        """Mint these identifiers, and return the memory."""
        with ThreadPoolExecutor(CLIENTS) as clients:
            [*clients.map(mint, (range(first + one, end, CLIENTS) for one in range(CLIENTS)))]
        return megabytes(loaded)

    early, late = filled(0, FILLED), filled(FILLED, MINTED)
    print(f"{early:.1f} MB after {FILLED} identifiers, {late:.1f} MB after {MINTED}")
    assert late - early < GROWTH_BY_MINTING
