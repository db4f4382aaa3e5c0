"""Requests that an attacker writes: each gets a clear refusal, and none a failure of the server."""

import gzip
import json
import re
import socket
import threading
import time
from typing import Final

import pytest
from serving import Reply, Server
from time_limits import scaled

REGISTER: Final = "/api/v1/namespaces/h/registrations"
NEWS: Final = b"POST /api/v1/news HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
HIDDEN_REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def exchange(server: Server, *sent: bytes) -> tuple[int, bytes]:
    """Send bytes, and return the status of the answer and everything that came."""
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        try:
            for part in sent:
                connection.sendall(part)
            while part := connection.recv(1 << 16):
                received += part
        except ConnectionError:
            pass
    found = re.match(rb"HTTP/1\.1 (\d{3})", received)
    return int(found[1]) if found else 0, received


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/../../etc/passwd", 404),
        ("/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/api/v1/../v1/identifiers", 404),
        ("/api//v1/identifiers", 404),
        ("/api/v1/identifiers/", 404),
        ("/api/v1/identifiers%00", 404),
        ("/api/v1/identifiers;x=1", 404),
        ("/x/metrics", 404),
        ("/api/v1/x/healthz", 404),
        ("/docs", 404),
        ("/api/v1/identifier?id=%00", 422),
        ("/api/v1/identifier?id=%ed%a0%80", 404),
        ("/api/v1/identifiers?namespace=%00", 404),
        ("/api/v1/identifiers?since=9999-12-31T23:59:59.999Z", 200),
        ("/api/v1/identifiers?owner=%ff", 200),
    ],
)
def test_odd_addresses(server: Server, alice: str, path: str, status: int) -> None:
    assert server.ask("GET", path, token=alice).status == status


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PUT", "DELETE", "OPTIONS"])
def test_other_methods(server: Server, method: str) -> None:
    assert server.ask(method, "/api/v1/identifier").status == 405


@pytest.mark.parametrize(
    "body",
    [
        b'{"label":"x","metadata":{"x":NaN}}',
        b'{"label":"x","metadata":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b"[" * 100_000,
        b"[" * 50_000 + b"]" * 50_000,
        b'{"label":"\\udfff"}',
        b'{"\\ud800":"x"}',
        b'{"label":"x","metadata":{"\\ud800":"x"}}',
        b'{"label":' + b"9" * 5000 + b"}",
        b'{"label":"a\\u0000b"}',
        b'{"label":true}',
        b"null",
        b"",
        b"\xff",
        b"label=x",
    ],
    ids=range(14),
)
def test_bodies_that_are_no_request(server: Server, alice: str, body: bytes) -> None:
    reply = server.ask("POST", REGISTER, body, token=alice)
    assert reply.status == 422, reply.body
    assert reply.json["error"] in ("invalid-data", "invalid-identifier")


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("bind", {"target": "http://x.example.org/", "confidence": "sNaN"}),
        ("bind", {"target": "http://x.example.org/", "confidence": "1e999999999"}),
        ("bind", {"target": "http://x.example.org/", "relation": "\0"}),
        ("set-value", {"type": "DESC", "data": {"format": "hex", "value": "zz"}}),
        ("set-value", {"type": "DESC", "data": {"format": "other", "value": "00"}}),
        ("set-value", {"type": "DESC", "data": "x", "index": 2**53 - 1}),
        ("set-value", {"type": "DESC", "data": "x", "ttl": 2**53 - 1}),
    ],
)
def test_values_at_the_edge(server: Server, alice: str, path: str, sent: dict[str, object]) -> None:
    server.ask("POST", REGISTER, {"label": "edge"}, token=alice)
    assert server.ask("POST", f"/api/v1/{path}", {"id": "h:edge", **sent}, token=alice).status == 422


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        b"Content-Length: -1\r\n\r\n{}",
        b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_a_request_in_the_body_of_another_is_not_answered(server: Server, head: bytes) -> None:
    status, received = exchange(server, NEWS + head + HIDDEN_REQUEST)
    assert 400 <= status < 500
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"ok\n" not in received


def test_a_head_without_end_is_refused(server: Server) -> None:
    status, received = exchange(server, b"GET / HTTP/1.1\r\nHost: x\r\n", *[b"X: " + b"a" * 9000] * 20)
    assert status in (0, 413), received  # the rest of what was sent may end the connection first


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nHost x\r\n\r\n", b"hello\r\n\r\n"],
)
def test_bytes_that_are_no_request_get_a_problem(server: Server, sent: bytes) -> None:
    status, received = exchange(server, sent)
    head, _, body = received.partition(b"\r\n\r\n")
    assert status == 400
    assert b"Content-Type: application/problem+json" in head.split(b"\r\n")
    problem = json.loads(body)
    assert (problem["status"], problem["error"]) == (400, "invalid-data")


@pytest.mark.parametrize("hosts", [b"", b"Host: a\r\nHost: b\r\n"])
def test_a_request_has_one_host(server: Server, hosts: bytes) -> None:
    """Source: RFC 9112, section 3.2."""
    status, received = exchange(
        server, b"GET /api/v1/counts HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n"
    )
    problem = json.loads(received.partition(b"\r\n\r\n")[2])
    assert status == problem["status"] == 400
    assert (problem["error"], problem["field"]) == ("invalid-data", "Host")


@pytest.mark.parametrize(
    ("path", "sent", "field"),
    [
        ("namespaces/rdl/identifiers", {"fixate": "yes"}, "fixate"),
        ("namespaces/rdl/identifiers", {"fixate": 1}, "fixate"),
        ("namespaces/h/batches", {"count": True}, "count"),
        ("namespaces/h/batches", {"count": "2"}, "count"),
    ],
)
def test_a_value_of_another_kind_mints_nothing(
    server: Server, alice: str, path: str, sent: object, field: str
) -> None:
    """Nothing undoes what was published for ever."""
    before = server.ask("GET", "/api/v1/counts", token=alice).body
    reply = server.ask("POST", f"/api/v1/{path}", sent, token=alice)
    assert (reply.status, reply.json["field"]) == (422, field)
    assert server.ask("GET", "/api/v1/counts", token=alice).body == before


@pytest.mark.parametrize(
    "path",
    ["identifiers?since=foo", "log?until=2026-13-01", "changes?after=0&since=x", "identifiers?until=0"],
)
def test_a_time_that_is_none_is_told_with_its_parameter(server: Server, alice: str, path: str) -> None:
    reply = server.ask("GET", f"/api/v1/{path}", token=alice)
    assert (reply.status, reply.json["field"]) == (422, re.findall(r"\w+(?==[^&]*$)", path)[0])


def test_an_address_that_is_too_long_is_told_so(server: Server) -> None:
    status, answer = exchange(server, b"GET /sparql?query=" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status in (413, 414) and b"request-too-large" in answer, answer


@pytest.mark.parametrize("size", [70_000, 120_000, 500_000])
@pytest.mark.parametrize("wish", [b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"])
def test_a_head_that_is_too_large_is_told_so(server: Server, size: int, wish: bytes) -> None:
    """Also to a client that goes on sending."""
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + wish + b"X: " + b"x" * size + b"\r\n\r\n"
    status, answer = exchange(server, head)
    assert status == 413 and b"request-too-large" in answer, answer


def test_a_compressed_body_is_refused(server: Server, alice: str) -> None:
    headers = {"Content-Encoding": "gzip"}
    reply = server.ask("POST", REGISTER, gzip.compress(b"{}"), token=alice, headers=headers)
    assert (reply.status, reply.json["error"]) == (415, "unsupported-media")
    assert reply.json["field"] == "Content-Encoding" and "gzip" in reply.json["detail"]
    sent = b"POST /nope HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    status, answer = exchange(server, sent)
    assert status == 415 and b"Transfer-Encoding" in answer


@pytest.mark.parametrize(
    ("before", "status"), [(["a/b"] * 99, 200), (["a/b"] * 100, 406), (["a/" + "b" * 9999], 200)]
)
def test_of_many_media_types_the_first_count(server: Server, before: list[str], status: int) -> None:
    accepted = {"Accept": ",".join([*before, "text/turtle"])}
    described = server.ask("GET", "/sparql", query={"query": "CONSTRUCT {} {}"}, headers=accepted)
    assert described.status == status


def test_a_restriction_that_stands_often_counts_once(server: Server, alice: str) -> None:
    news = {"since": "2000-01-01T00:00:00Z", "kinds": ["Bind"]}
    once = server.ask("POST", "/api/v1/news", news, token=alice)
    often = server.ask("POST", "/api/v1/news", news | {"kinds": ["Bind"] * 300_000}, token=alice)
    assert (once.status, once.body) == (often.status, often.body)
    assert once.status == 200


def test_a_body_that_is_null_mints_nothing(server: Server, alice: str) -> None:
    before = server.ask("GET", "/api/v1/counts", token=alice).body
    reply = server.ask("POST", "/api/v1/namespaces/rdl/identifiers", b"null", token=alice)
    assert (reply.status, json.loads(reply.body)["field"]) == (422, "body")
    assert server.ask("GET", "/api/v1/counts", token=alice).body == before


@pytest.mark.parametrize("path", ["/api/v1/namespaces/rdl/identifiers", REGISTER, "/generate/rdl"])
@pytest.mark.parametrize("sent", [b"\xc3\xa9", b"a\r\nIdempotency-Key: b"])
def test_a_request_key_that_can_be_misread_is_refused(
    server: Server, alice: str, path: str, sent: bytes
) -> None:
    body = b"" if path.startswith("/generate") else b'{"label": "a-key"}' if path == REGISTER else b"{}"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {alice}\r\n"
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nIdempotency-Key: "
    status, answer = exchange(server, (head + length).encode() + sent + b"\r\n\r\n" + body)
    assert (status, json.loads(answer.partition(b"\r\n\r\n")[2])["field"]) == (422, "Idempotency-Key")


@pytest.mark.parametrize(
    ("path", "sent", "field"),
    [
        ("/api/v1/namespaces/rdl/identifiers?name=a", {}, "name"),
        ("/api/v1/fixate?ids=a&dryRun=true", {"ids": []}, "ids"),
        ("/generate/rdl?name=a", None, "name"),
        ("/generate/rdl", {"name": "a"}, "body"),
        ("/api/v1/repair-counters", {"name": "a"}, "body"),
    ],
)
def test_what_an_operation_does_not_read_is_refused(
    server: Server, alice: str, path: str, sent: dict[str, object] | None, field: str
) -> None:
    reply = server.ask("POST", path, sent, token=alice)
    assert (reply.status, reply.json["field"]) == (422, field), reply.body


@pytest.mark.parametrize(
    ("path", "sent", "key"),
    [
        ("/api/v1/namespaces/rdl/identifiers", b'{"name": "a", "n\\u0061me": "b"}', "name"),
        ("/api/v1/namespaces/h/tables", b'{"rows": [{"line": 1, "request": {"a": 1, "a": 1}}]}', "a"),
        ("/api/v1/fixate", b'{"ids": [], "ids": ["rdl:R1"]}', "ids"),
    ],
)
def test_a_key_that_stands_twice_is_refused(
    server: Server, alice: str, path: str, sent: bytes, key: str
) -> None:
    reply = server.ask("POST", path, sent, token=alice)
    assert (reply.status, reply.json["field"]) == (422, key), reply.body
    assert "twice" in reply.json["detail"]


def test_no_redirect_takes_the_host_from_a_request(server: Server) -> None:
    for path in ("/sparql/", "/queries", "/static", "/reconcile/x/"):
        reply = server.ask("GET", path, headers={"Host": "evil.example"})
        assert "evil.example" not in reply.headers.get("location", "")


def test_nothing_of_that_is_a_failure(server: Server) -> None:
    assert (
        server.ask("GET", "/healthz", headers={"Upgrade": "websocket", "Connection": "Upgrade"}).status == 200
    )
    logged = [json.loads(line) for line in server.lines if line.startswith("{")]
    assert not [entry for entry in logged if entry.get("status") == 500]


@pytest.mark.parametrize(
    "caused",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/namespaces/rdl/identifiers", b""),
        ("/api/v1/imports?format=nquads&ownHistory=true", b"#x=\r\n"),
        ("/generate/rdl", b""),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    server: Server, alice: str, path: str, body: bytes, caused: dict[str, str]
) -> None:
    """A browser adds the credentials of Basic to it by itself."""
    sending = {"Content-Type": "text/plain", **caused}
    reply = server.ask("POST", path, body, basic=f"alice:{alice}", headers=sending)
    assert (reply.status, reply.json["error"]) == (403, "not-permitted")
    assert "another site" in reply.json["detail"]


def test_a_page_of_the_server_itself_may_change_something(server: Server, alice: str) -> None:
    for caused in (
        {"Sec-Fetch-Site": "same-origin", "Origin": server.address.rstrip("/")},
        {"Origin": server.address.rstrip("/")},
        {},
    ):
        reply = server.ask(
            "POST", "/api/v1/namespaces/rdl/identifiers", {}, basic=f"alice:{alice}", headers=caused
        )
        assert reply.status == 201


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/v1/namespaces", {"GET", "HEAD", "POST"}),
        ("/api/v1/tokens", {"GET", "HEAD", "POST"}),
        ("/api/v1/fixate", {"POST"}),
    ],
)
def test_another_method_is_told_which_there_are(server: Server, path: str, allowed: set[str]) -> None:
    reply = server.ask("PUT", path, {})
    assert (reply.status, set(reply.headers["allow"].split(", "))) == (405, allowed)


@pytest.mark.parametrize(
    ("method", "path", "metadata"),
    [
        ("GET", f"/api/v1/bound-to?text=http://a{'+' * 50_000}b", None),
        ("GET", f"/api/v1/identifier?id=10.1000/{'%3Cb%3E' * 6_000}y", None),
        ("POST", "/api/v1/derive", {"doi": f"x{'<b>' * 20_000}y"}),
    ],
    ids=range(3),
)
def test_a_long_text_holds_up_no_other_request(
    server: Server, method: str, path: str, metadata: dict[str, str] | None
) -> None:
    replies: list[Reply] = []
    sent: dict[str, object] | None = None
    if metadata is not None:
        sent = {"name": "sp", "metadata": {"issn": "0305-4179", **metadata}}
    asking = threading.Thread(target=lambda: replies.append(server.ask(method, path, sent)))
    limit = scaled(1)
    asking.start()
    waited: list[float] = []
    while not waited or asking.is_alive():
        begun = time.monotonic()
        assert server.ask("GET", "/healthz").status == 200
        waited.append(time.monotonic() - begun)
    asking.join()
    assert replies[0].status in (200, 404, 422), replies[0].body
    assert max(waited) < limit
