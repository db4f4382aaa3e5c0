"""kill -9 of a server while 64 clients mint: each acknowledged identifier is there, and none twice."""

import http.client
import json
import os
import random
import shutil
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from serving import ALICE, Server

import idstore

CLIENTS = 64
KILLS = int(os.environ.get("IDSTORE_TEST_KILLS", "20"))
"""Kills of the slow test."""
ACKNOWLEDGED = 300
"""A kill comes at a random one of so many answers, while the other clients wait for theirs."""
MINT = "/api/v1/namespaces/rdl/identifiers"


@dataclass
class Mints:
    """What clients sent and got; a name tells the request, and with a key it is the key too.

    sent      names of all requests.
    answered  name → identifier.
    """

    sent: set[str] = field(default_factory=set)
    answered: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, name: str) -> None:
        with self._lock:
            self.sent.add(name)

    def take(self, name: str, identifier: str) -> int:
        """Note an answer, and return the number of answers."""
        with self._lock:
            assert self.answered.setdefault(name, identifier) == identifier
            return len(self.answered)


def mint(connection: http.client.HTTPConnection, token: str, name: str) -> str:
    """Return a new identifier. Names that begin with "key" are the key of the request."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if name.startswith("key"):
        headers["Idempotency-Key"] = name
    connection.request("POST", MINT, json.dumps({"name": name}), headers)
    reply = connection.getresponse()
    body = json.loads(reply.read())
    assert reply.status == 201, body
    return str(body["id"])


def mint_until_killed(server: Server, mints: Mints, round_: int, last: int) -> None:
    """Let all clients mint; the one that gets answer number ``last`` kills the server."""
    token = server.token(ALICE)

    def work(client: int) -> None:
        try:
            with closing(connected(server)) as connection:
                for number in count():
                    name = f"{'key' if client % 2 else 'without'}-{round_}-{client}-{number}"
                    mints.send(name)
                    if mints.take(name, mint(connection, token, name)) == last:
                        server.process.send_signal(signal.SIGKILL)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass  # the server was killed; nothing tells what became of this request

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(work, range(CLIENTS)))
    assert server.end(signal.SIGTERM) == -signal.SIGKILL


def repeat_all_with_a_key(server: Server, mints: Mints, round_: int) -> None:
    """Send all requests of a round that have a key once more: an answered one gets the same answer."""
    token = server.token(ALICE)
    names = [name for name in mints.sent if name.startswith(f"key-{round_}-")]

    def work(part: int) -> None:
        with closing(connected(server)) as connection:
            for name in names[part::8]:
                mints.take(name, mint(connection, token, name))

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(work, range(8)))


def connected(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)


def check(store: Path, mints: Mints) -> None:
    with idstore.open(store) as registry:
        kept = {one.iri: one for one in registry.list(ALICE, limit=None)}
        assert not list(registry.verify(ALICE))
    assert len({*mints.answered.values()}) == len(mints.answered), "one identifier for two requests"
    for name, identifier in mints.answered.items():
        assert kept[identifier].names == (("und", name),)
    times = Counter(name for one in kept.values() for _, name in one.names if name in mints.sent)
    assert set(times.values()) == {1}, "two identifiers for one request"


@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_acknowledged_identifiers_survive_kills_of_the_server(
    prepared: Path, fast_folder: Path, kills: int
) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store, mints, chance = fast_folder / "store", Mints(), random.Random(kills)
    shutil.copytree(prepared, store)
    for round_ in range(kills):
        with Server(store) as server:
            repeat_all_with_a_key(server, mints, round_ - 1)
            mint_until_killed(server, mints, round_, len(mints.answered) + chance.randint(1, ACKNOWLEDGED))
    with Server(store) as server:
        repeat_all_with_a_key(server, mints, kills - 1)
    check(store, mints)
    print(f"{kills} kills, {len(mints.sent)} requests, {len(mints.answered)} answered")
