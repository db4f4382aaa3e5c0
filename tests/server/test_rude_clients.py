"""Clients that stall, vanish or come in crowds: the others are served, and nothing of them stays."""

import json
import resource
import selectors
import shutil
import signal
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast
from urllib.parse import quote, urlencode

import pytest
from serving import ALICE, BOB, Server, wait_until

import idstore
from idstore.server.changes import LISTENERS_OF_ONE

FEED = "/api/v1/changes"
MINT = "/api/v1/namespaces/rdl/identifiers"
LISTENING = "0A"
JSON = "Content-Type: application/json\r\n"
SENDING = 0.5
"""Seconds after which the server of these tests ends a client that stalls."""
ROOM = 24
"""Connections of a server that may open 280 files."""


@pytest.fixture(scope="module")
def impatient(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("s") / "store"
    shutil.copytree(prepared, store)
    with Server(store, limits={"sending": SENDING, "idle": SENDING}) as server:
        yield server


def connected(server: Server, sent: bytes, receive_buffer: int = 0, source: str = "") -> socket.socket:
    """Return a connection that has sent something; its end of a transfer may hold so few bytes."""
    client = socket.socket()
    client.bind((source, 0))
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(20)
    client.connect(("127.0.0.1", server.port))
    client.sendall(sent)
    return client


def connections(server: Server, *, read: bool = False) -> int:
    """Return the number of connections that the server has open; with ``read``, and has read all of."""
    opened = set()
    for file in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            opened.add(file.readlink())
    rows = map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(
        Path(f"socket:[{row[9]}]") in opened
        for row in rows
        if row[1].endswith(f":{server.port:04X}")
        and row[3] != LISTENING
        and (not read or row[4].endswith(":00000000"))
    )


def rest(client: socket.socket) -> bytes:
    """Return what the server sends until it ends the connection."""
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def request(server: Server, method: str, path: str, sent: object) -> bytes:
    """Return the bytes of a request of alice."""
    body = json.dumps(sent).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token(ALICE)}\r\n"
    head += JSON
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def memory(server: Server) -> int:
    """Return the bytes of memory that the server has in use."""
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def minted(server: Server) -> bool:
    return server.ask("POST", MINT, {}, token=server.token(ALICE)).status == 201


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET /heal", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /he", b"HTTP/1.1 200 "),
        (b"POST " + MINT.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 503 "),
    ],
)
def test_a_connection_ends_whose_request_does_not_arrive(
    impatient: Server, sent: bytes, answer: bytes
) -> None:
    with connected(impatient, sent) as client:
        assert rest(client).startswith(answer)
        wait_until(lambda: connections(impatient) == 0)


def test_requests_that_do_not_arrive_take_no_place_of_others(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    half = b"POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    large = b"POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{"
    with Server(tmp_path / "s", limits={"requests": 4}) as server, ExitStack() as clients:
        for sent in [half] * 20 + [large] * 4:
            clients.enter_context(connected(server, sent))
        wait_until(lambda: b"\nidstore_active_requests 25.0\n" in server.ask("GET", "/metrics").body)
        assert minted(server)
        assert server.ask("POST", "/nope", b"0" * 100_000).status == 503  # it would take memory
        clients.close()
        wait_until(lambda: server.ask("POST", "/nope", b"0" * 100_000).status != 503)


def test_large_bodies_that_do_not_arrive_take_few_places(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "s")
    whole = b"0" * 100_000
    with Server(tmp_path / "s", limits={"requests_of_one": 2}) as server, ExitStack() as clients:
        alice, bob = server.token(ALICE), server.token(BOB)
        head = f"POST /nope HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice}\r\n"
        for _ in range(2):
            sent = f"{head}Content-Length: {len(whole)}\r\nExpect: 100-continue\r\n\r\n"
            client = clients.enter_context(connected(server, sent.encode()))
            assert b" 100 " in client.recv(1 << 16)
        assert server.ask("POST", "/nope", whole, token=alice).status == 503
        assert server.ask("POST", "/nope", whole, token=bob).status == 404
        assert server.ask("POST", "/nope", whole).status == 404
        clients.close()
        wait_until(lambda: server.ask("POST", "/nope", whole, token=alice).status == 404)


def test_files_that_do_not_arrive_take_no_place_of_others(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "s")
    file, path = b"12345/a-file\n", "/api/v1/imports?format=list&namespace=h"
    with (
        Server(tmp_path / "s", limits={"requests": 4, "uploads": 7, "uploads_of_one": 5}) as server,
        ExitStack() as clients,
    ):
        alice, bob = server.token(ALICE), server.token(BOB)

        def stall(token: str) -> None:
            """Begin to send a file, and wait until the server reads it."""
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            head += "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
            client = clients.enter_context(connected(server, head.encode()))
            assert b" 100 " in client.recv(1 << 16)
            client.sendall(file)

        for _ in range(5):
            stall(bob)
        assert server.ask("POST", path, file, token=bob).status == 503
        assert server.ask("POST", path, file, token=alice).status == 200
        assert minted(server)
        for _ in range(2):
            stall(alice)
        assert server.ask("POST", path, file, token=alice).status == 503
        assert "retry-after" in server.ask("POST", path, file, token=alice).headers
        assert minted(server)
        clients.close()
        wait_until(lambda: server.ask("POST", path, file, token=bob).status != 503)


def test_a_client_that_takes_no_answer_is_ended(impatient: Server) -> None:
    wanted = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(impatient, wanted * 100, receive_buffer=4096):
        wait_until(lambda: connections(impatient) == 1)
        assert minted(impatient)
        wait_until(lambda: connections(impatient) == 0)


def test_clients_that_vanish_leave_nothing(impatient: Server) -> None:
    whole = request(impatient, "POST", MINT, {"name": "of a client that has gone"})
    for number in range(0, len(whole) + 1, 3):
        client = connected(impatient, whole[:number])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the end is a reset
        client.close()
    assert minted(impatient)
    wait_until(lambda: connections(impatient) == 0)
    wait_until(lambda: b"\nidstore_active_requests 1.0\n" in impatient.ask("GET", "/metrics").body)


def test_an_upload_whose_client_leaves_is_no_failure(impatient: Server) -> None:
    head = b"POST /api/v1/imports?format=list HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
    sign_in = f"Authorization: Bearer {impatient.token(ALICE)}\r\n\r\n".encode()
    connected(impatient, head + sign_in + b"12345/a\n").close()
    impatient.log_after('"operation": "import_file"')
    entries = [json.loads(line) for line in impatient.lines]
    assert [one["status"] for one in entries if one.get("operation") == "import_file"] == [499]
    assert "error" not in {one.get("level") for one in entries}


def test_pipelined_requests_of_a_client_that_leaves_are_no_failure(impatient: Server) -> None:
    client = connected(impatient, request(impatient, "POST", MINT, {}) * 50)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.recv(1)
    client.close()
    assert minted(impatient)
    wait_until(lambda: connections(impatient) == 0)
    assert minted(impatient)
    assert '"level": "error"' not in "".join(impatient.lines)


def test_pipelined_requests_are_answered_in_their_order(impatient: Server) -> None:
    names = [f"name {number}" for number in range(20)]
    requests = [request(impatient, "POST", MINT, {"name": name}) for name in names]
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with connected(impatient, b"".join(requests) + last) as client:
        answers = rest(client).split(b"HTTP/1.1 ")[1:]
    assert [json.loads(one.partition(b"\r\n\r\n")[2])["names"]["und"] for one in answers[:-1]] == names
    assert answers[-1].endswith(b"ok\n")


def test_a_wish_for_another_protocol_is_overlooked(impatient: Server) -> None:
    wishes = [
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
        "connection: upgrade\r\nupgrade: websocket",
    ]
    names = [f"name {number}" for number in range(4)]
    whole = b"".join(
        request(impatient, "POST", MINT, {"name": name}).replace(b"Host: x", f"Host: x\r\n{wish}".encode())
        for name, wish in zip(names, wishes * 2, strict=True)
    )
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n"
    for part in (len(whole), 1, 61):
        with connected(impatient, b"") as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(whole), part):
                client.sendall(whole[at : at + part])
            client.sendall(last)
            answers = rest(client).split(b"HTTP/1.1 ")[1:]
        bodies = [one.partition(b"\r\n\r\n")[2] for one in answers]
        assert [json.loads(one)["names"]["und"] for one in bodies[:-1]] == names
        assert bodies[-1] == b"ok\n"


def test_what_follows_a_body_is_overlooked(impatient: Server) -> None:
    head = f"POST {MINT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
    sign_in = f"Authorization: Bearer {impatient.token(ALICE)}\r\n"
    for trailer, status in (("", b"401"), (sign_in, b"401")):
        with connected(impatient, f"{head}{JSON}\r\n2\r\n{{}}\r\n0\r\n{trailer}\r\n".encode()) as client:
            assert rest(client).startswith(b"HTTP/1.1 " + status)


WAITING = f"GET {FEED}?wait=20&after=%d HTTP/1.1\r\nHost: x\r\n\r\n"
PIECES = f"POST {MINT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAuthorization: ".encode()
LONG = b"x" * 999
SHORT = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "part", "answer"),
    [
        (b"GET /healthz HTTP/1.1\r\n", b"X: " + LONG + b"\r\n", b"413"),
        (b"GET /healthz?", LONG, b"413"),
        (PIECES + b"Bearer TOKEN\r\n\r\n2\r\n{}\r\n0\r\n", b"X: " + LONG + b"\r\n", b"413"),
        (PIECES + b"Bearer TOKEN\r\n\r\n2;", LONG, b"413"),
        (b"", SHORT, b"503"),
    ],
)
@pytest.mark.parametrize("earlier", [False, True])
def test_a_request_without_end_takes_no_memory(
    prepared: Path, tmp_path: Path, begin: bytes, part: bytes, answer: bytes, *, earlier: bool
) -> None:
    """It is refused after the answers to the earlier ones."""
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s") as server:
        newest = server.ask("GET", FEED).json["newest"]
        begin = begin.replace(b"TOKEN", server.token(ALICE).encode())
        first = (WAITING % newest).encode() if earlier or part == SHORT else b""
        before = memory(server)
        with connected(server, first + begin) as client:
            client.settimeout(2)
            with suppress(TimeoutError, ConnectionError):
                for _ in range(200):
                    client.sendall(part * 1000)
            assert memory(server) < before + 40 * 2**20
            assert minted(server)
            published(server)
            client.settimeout(20)
            answers = rest(client).split(b"HTTP/1.1 ")[1:]
        assert answers[-1][:3] == answer
        assert len(answers) >= 1 + bool(first)


@pytest.fixture
def small(prepared: Path, tmp_path: Path) -> Iterator[Server]:
    """Yield a server that may open 280 files."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", files=280) as server:
        yield server


@contextmanager
def waiting(server: Server, number: int) -> Iterator[list[socket.socket]]:
    """Send requests that wait for a change."""
    newest = server.ask("GET", FEED).json["newest"]
    asked = f"GET {FEED}?after={newest}&wait=20 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with ExitStack() as clients:
        yield [
            clients.enter_context(connected(server, asked, source=f"127.0.0.{2 + one // LISTENERS_OF_ONE}"))
            for one in range(number)
        ]


def published(server: Server) -> None:
    """Publish something, which ends the waiting."""
    token = server.token(ALICE)
    iri = server.ask("POST", MINT, {}, token=token).json["id"]
    assert server.ask("POST", "/api/v1/fixate", {"ids": [iri]}, token=token).status == 200


BODILESS = f"POST {MINT} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{".encode()


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"no request\r\n\r\n",
        BODILESS,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + BODILESS,
    ],
)
def test_connections_that_lack_a_request_make_room_for_others(small: Server, part: bytes) -> None:
    with waiting(small, 2) as asking, ExitStack() as clients:
        crowd = [clients.enter_context(connected(small, part)) for _ in range(400)]
        for client in crowd[: -2 * ROOM]:
            assert b" 503 " not in rest(client)  # it ends
        published(small)
        assert all(client.recv(1 << 16).startswith(b"HTTP/1.1 200 ") for client in asking)
    wait_until(lambda: connections(small) == 0)


def test_connections_beyond_the_open_files_are_told_to_come_again(small: Server) -> None:
    with waiting(small, ROOM), ExitStack() as clients:
        wait_until(lambda: connections(small, read=True) == ROOM)
        crowd = [clients.enter_context(connected(small, b"")) for _ in range(350)]
        answers = [rest(client) for client in crowd]
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
        assert all(b'"overloaded"' in answer and b"\r\nRetry-After: " in answer for answer in answers)
    wait_until(lambda: connections(small) == 0)
    published(small)


def test_a_crowd_of_new_clients_is_heard_beside_those_that_go_on_asking(impatient: Server) -> None:
    """The event loop would accept one new client after each round of answers to all others."""
    iri = impatient.ask("POST", MINT, {}, token=impatient.token(ALICE)).json["id"]
    wanted = request(impatient, "GET", f"/api/v1/identifier?id={quote(iri, safe='')}", {})
    answers: Counter[socket.socket] = Counter()
    with ExitStack() as clients, selectors.DefaultSelector() as ready:
        impatient.process.send_signal(signal.SIGSTOP)
        try:
            crowd = [clients.enter_context(connected(impatient, wanted)) for _ in range(64)]
        finally:
            impatient.process.send_signal(signal.SIGCONT)
        for client in crowd:
            ready.register(client, selectors.EVENT_READ)
        while len(answers) < len(crowd):
            for key, _ in ready.select(20):
                client = cast("socket.socket", key.fileobj)
                if client.recv(1 << 16).endswith(b"}"):
                    answers[client] += 1
                    client.sendall(wanted)
    assert max(answers.values()) <= 20


@pytest.mark.slow
def test_long_answers_hold_up_no_short_ones(prepared: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(prepared, store)
    with idstore.open(store) as registry:
        assert sum(1 for _ in registry.mint_several("h", 2000, ALICE)) == 2000
    whole = "/api/v1/differences?since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z"
    with Server(store) as server, ExitStack() as clients, selectors.DefaultSelector() as ready:
        for _ in range(6):
            client = clients.enter_context(connected(server, request(server, "GET", whole, {})))
            ready.register(client, selectors.EVENT_READ)
        lists, begun = 0, 0
        while begun < 6:
            assert server.ask("GET", "/api/v1/identifiers?limit=1", token=server.token(ALICE)).status == 200
            lists += 1
            for key, _ in ready.select(0):
                ready.unregister(key.fileobj)
                begun += 1
    assert lists >= 12


@pytest.mark.slow
def test_scans_hold_up_no_short_lists(prepared: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(prepared, store)
    with idstore.open(store) as registry:
        requests = [idstore.Request(name="valve", lang="en", fixate=True)] * 3000
        assert all(outcome.record for outcome in registry.load("h", ALICE, requests))
    scan = b"GET /api/v1/identifiers?withoutName=en&limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n"
    with Server(store) as server, ExitStack() as clients, selectors.DefaultSelector() as ready:
        for _ in range(4):
            ready.register(clients.enter_context(connected(server, scan)), selectors.EVENT_READ)
        lists, ended = 0, 0
        while ended < 3:
            assert server.ask("GET", "/api/v1/identifiers?limit=1").status == 200
            lists += 1
            for key, _ in ready.select(0):
                assert cast("socket.socket", key.fileobj).recv(100).startswith(b"HTTP/1.1 200 ")
                ready.unregister(key.fileobj)
                ended += 1
    assert lists >= 8


@pytest.mark.slow
def test_reads_of_a_caller_take_no_place_of_others(prepared: Path, tmp_path: Path) -> None:
    store, target = tmp_path / "store", "http://www.example.org/valve"
    shutil.copytree(prepared, store)
    with idstore.open(store) as registry:
        outcomes = [*registry.load("h", ALICE, [idstore.Request(target=target, fixate=True)] * 500)]
        iris = [outcome.record.iri for outcome in outcomes if outcome.record]
    sent = {"ids": iris[:100], "most": 100}
    with Server(store) as server, ExitStack() as clients, selectors.DefaultSelector() as ready:
        for _ in range(80):
            client = connected(server, request(server, "POST", "/api/v1/shared-targets", sent))
            ready.register(clients.enter_context(client), selectors.EVENT_READ)
        bob = server.token(BOB)
        statuses = Counter[int]()
        answered, waiting = 0, 32
        while waiting > 16:
            assert server.ask("GET", "/api/v1/identifiers?limit=1", token=bob).status == 200
            answered += 1
            for key, _ in ready.select(0):
                ready.unregister(key.fileobj)
                status = int(cast("socket.socket", key.fileobj).recv(100).split()[1])
                statuses[status] += 1
                waiting -= status == 200
    assert statuses.keys() == {200, 429}
    assert answered >= 8


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["bound-to", "list-bound", "shared-targets"])
def test_a_target_of_many_identifiers_holds_up_no_look_ups(
    prepared: Path, tmp_path: Path, operation: str
) -> None:
    store, target = tmp_path / "store", "http://www.example.org/valve"
    shutil.copytree(prepared, store)
    with idstore.open(store) as registry:
        outcomes = [*registry.load("h", ALICE, [idstore.Request(target=target, fixate=True)] * 1000)]
        iris = [outcome.record.iri for outcome in outcomes if outcome.record]
    asked = f"/api/v1/{operation}"
    method, path, sent = "GET", f"{asked}?{urlencode({'text': target})}", {}
    if operation == "shared-targets":
        method, path, sent = "POST", asked, {"ids": iris[:100], "most": 100}
    one = f"/api/v1/identifier?{urlencode({'id': iris[0]})}"
    with Server(store) as server, ExitStack() as clients, selectors.DefaultSelector() as ready:
        for _ in range(4):
            client = connected(server, request(server, method, path, sent))
            ready.register(clients.enter_context(client), selectors.EVENT_READ)
        found, ended = 0, 0
        while ended < 4:
            assert server.ask("GET", one).status == 200
            found += 1
            for key, _ in ready.select(0):
                assert cast("socket.socket", key.fileobj).recv(100).startswith(b"HTTP/1.1 200 ")
                ready.unregister(key.fileobj)
                ended += 1
    assert found >= 12
