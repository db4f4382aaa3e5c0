"""A server process, asked over HTTP."""

import json
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from command_lines import NEVER
from serving import ALICE, BOB, Server

import idstore
from idstore.errors import StoreUnavailable

MINT = "/api/v1/namespaces/rdl/identifiers"


def created(server: Server, token: str, **sent: str) -> str:
    reply = server.ask("POST", MINT, sent, token=token)
    assert reply.status == 201, reply.body
    return str(reply.json["id"])


def test_health(server: Server) -> None:
    assert server.ask("GET", "/healthz").body == b"ok\n"
    assert server.ask("GET", "/readyz").status == 200


def test_an_anonymous_request_sees_what_is_public(server: Server, alice: str) -> None:
    hidden, shown = created(server, alice), created(server, alice, name="valve")
    assert server.ask("POST", "/api/v1/fixate", {"ids": [shown]}, token=alice).status == 200
    listed = {one["id"] for one in server.ask("GET", "/api/v1/identifiers").json}
    assert shown in listed
    assert hidden not in listed
    assert server.ask("GET", "/api/v1/identifier", query={"id": shown}).json["names"] == {"und": "valve"}


@pytest.mark.parametrize("path", ["/identifier", "/identify", "/resolve", "/comments", "/authority", "/cite"])
def test_a_hidden_identifier_answers_as_an_absent_one(
    server: Server, alice: str, bob: str, path: str
) -> None:
    hidden = created(server, alice)
    for token in (None, bob):
        found, absent = (
            server.ask("GET", f"/api/v1{path}", query={"id": id}, token=token) for id in (hidden, NEVER)
        )
        assert found.status == absent.status == 404
        assert {**found.headers, "date": ""} == {**absent.headers, "date": ""}
        assert found.body.replace(hidden.encode(), b"X") == absent.body.replace(NEVER.encode(), b"X")


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (MINT, {}),
        ("/api/v1/bind", {"id": NEVER, "target": "http://x.example.org/"}),
        ("/api/v1/suspend", {"name": "bob", "reason": "r"}),
    ],
)
def test_an_anonymous_request_changes_nothing(server: Server, path: str, sent: dict[str, str]) -> None:
    reply = server.ask("POST", path, sent)
    assert (reply.status, reply.json["error"]) == (401, "sign-in-required")
    assert "Bearer" in reply.headers["www-authenticate"]


def test_acts_of_administrators_are_refused_to_others(server: Server, bob: str) -> None:
    reply = server.ask("POST", "/api/v1/suspend", {"name": "carol", "reason": "r"}, token=bob)
    assert (reply.status, reply.json["error"]) == (403, "not-permitted")


def test_a_token_signs_in_as_bearer_and_as_a_password(server: Server, bob: str) -> None:
    assert server.ask("POST", MINT, {}, token=bob).json["owner"] == "bob"
    assert server.ask("POST", MINT, {}, basic=f"bob:{bob}").json["owner"] == "bob"
    assert server.ask("POST", MINT, {}, basic=f"alice:{bob}").status == 401


def test_what_depends_on_who_asks_is_not_kept(server: Server, alice: str) -> None:
    for path in ("/identifiers", "/namespaces", "/identifier?id=nothing"):
        for token in (None, alice):
            reply = server.ask("GET", f"/api/v1{path}", token=token)
            assert reply.headers["cache-control"] == "private, no-store"


def test_an_error_is_a_problem_with_the_slug(server: Server, alice: str) -> None:
    reply = server.ask("GET", "/api/v1/identifier", query={"id": "rdl:R1"}, token=alice)
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.status, reply.json["status"], reply.json["error"]) == (422, 422, "invalid-identifier")
    assert reply.json["type"].endswith("/error/invalid-identifier")
    assert reply.json["fields"]["scheme"] == "rdswip"


@pytest.mark.parametrize(
    ("sent", "place"),
    [({"nmae": "x"}, "nmae"), ({"name": 3}, "name"), (b"{", "1"), (b"\xff", ""), (b'{"name":"\\ud800"}', "")],
)
def test_a_request_that_is_malformed_is_told_where(
    server: Server, alice: str, sent: object, place: str
) -> None:
    reply = server.ask("POST", MINT, sent, token=alice)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data"), reply.body
    assert place in reply.json["detail"]


def test_a_request_key_gives_the_same_identifier(server: Server, alice: str) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again = (server.ask("POST", MINT, {"name": "x"}, token=alice, headers=key) for _ in range(2))
    assert first.json["id"] == again.json["id"]
    other = server.ask("POST", MINT, {"name": "y"}, token=alice, headers=key)
    assert (other.status, other.json["error"]) == (409, "request-key")
    both = server.ask("POST", MINT, {"requestKey": "k-2"}, token=alice, headers=key)
    assert both.status == 422


def test_a_request_that_is_too_large_is_refused(server: Server, alice: str) -> None:
    large = b'{"name": "' + b"x" * (5 << 20) + b'"}'
    with socket.create_connection(("127.0.0.1", server.port)) as sender:
        sender.sendall(
            f"POST {MINT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {alice}\r\n"
            f"Content-Length: {len(large)}\r\n\r\n".encode()
        )
        assert sender.recv(100).startswith(b"HTTP/1.1 413")


def test_an_address_that_is_none_is_a_problem(server: Server) -> None:
    assert server.ask("GET", "/nothing").json["status"] == 404
    assert server.ask("DELETE", "/api/v1/identifiers").json["status"] == 405


def test_a_log_is_a_stream_of_events(server: Server, alice: str) -> None:
    id = created(server, alice)
    reply = server.ask("GET", "/api/v1/log", query={"id": id}, token=alice)
    [entry] = map(json.loads, reply.body.splitlines())
    assert (entry["event"]["kind"], entry["event"]["by"]) == ("Mint", "alice")


def test_metrics_name_no_identifier(server: Server, alice: str) -> None:
    id = created(server, alice)
    server.ask("GET", "/api/v1/identifier", query={"id": id}, token=alice)
    text = server.ask("GET", "/metrics").body.decode()
    assert 'idstore_requests_total{operation="show",status="200"}' in text
    assert id not in text


def test_nothing_of_a_sign_in_is_logged(server: Server, alice: str) -> None:
    server.ask("GET", "/api/v1/identifiers", token=alice)
    server.ask("GET", "/api/v1/identifiers", basic="alice:ids_wrong", query={"owner": "carol"})
    text = server.log_after('"status": 401')
    assert not any(secret in text for secret in (alice, "ids_wrong", "carol", "Basic", "Bearer"))
    assert all({"status", "level"} & json.loads(line).keys() for line in server.lines)


def test_the_description_has_real_schemas(server: Server) -> None:
    found = server.ask("GET", "/api/v1/openapi.json").json
    answer = found["paths"]["/api/v1/identifier"]["get"]["responses"]
    assert {"200", "401", "404", "422", "503"} <= answer.keys()
    reference = answer["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert "supersededBy" in found["components"]["schemas"][reference]["properties"]
    assert "Problem" in found["components"]["schemas"]


def test_the_description_tells_of_streams_events_pages_and_sign_in(server: Server, alice: str) -> None:
    id = created(server, alice)
    found = server.ask("GET", "/api/v1/openapi.json").json
    schemas = found["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(found)))
    assert references <= schemas.keys()
    assert all(re.fullmatch("[A-Za-z]+", name) for name in schemas)
    log = found["paths"]["/api/v1/log"]["get"]
    assert [*log["responses"]["200"]["content"]] == ["application/x-ndjson"]
    [entry] = map(
        json.loads, server.ask("GET", "/api/v1/log", query={"id": id}, token=alice).body.splitlines()
    )
    assert {*schemas["LogEntry"]["required"]} == entry.keys()
    assert {*schemas["Event"]["required"]} <= entry["event"].keys()
    assert log["security"][0] == {}
    assert {} not in found["paths"]["/api/v1/bind"]["post"]["security"]
    assert "Link" in found["paths"]["/api/v1/identifiers"]["get"]["responses"]["200"]["headers"]
    assert "text/turtle" in found["paths"]["/api/v1/export"]["get"]["responses"]["200"]["content"]


def test_the_acting_party_is_that_of_the_token(server: Server, bob: str) -> None:
    headers = {"Idstore-User": "alice"}
    assert server.ask("GET", "/api/v1/identifiers", token=bob, headers=headers).status == 403
    assert server.ask("GET", "/api/v1/identifiers", headers=headers).status == 401


def test_a_token_with_limits_does_no_more(server: Server) -> None:
    token = server.token(ALICE, namespaces=["rdl"], acts=["mint", "fixate"])
    assert server.ask("POST", MINT, {}, token=token).status == 201
    other = server.ask(
        "POST", "/api/v1/namespaces/own/identifiers", {"metadata": {"type": "fmt"}}, token=token
    )
    assert (other.status, other.json["error"]) == (403, "not-permitted")
    comment = server.ask("POST", "/api/v1/comment", {"id": NEVER, "remark": "x"}, token=token)
    assert comment.status == 403
    redaction = {"text": "x", "reason": "r", "dryRun": True}
    within = server.token(ALICE, namespaces=["rdl"])
    assert server.ask("POST", "/api/v1/redact-text", redaction, token=within).status == 403
    assert server.ask("POST", "/api/v1/tokens", {}, token=within).status == 403, "nor makes a better one"
    assert server.ask("DELETE", "/api/v1/tokens/00000000", token=within).status == 403
    with idstore.connect(server.address, token=server.token(ALICE)) as registry:
        handle = registry.register("h", "limits", ALICE)
    fixate = server.ask("POST", "/api/v1/fixate", {"ids": [handle.iri]}, token=token)
    assert fixate.status == 403


def test_failed_sign_ins_are_slowed_down(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--prefix", "/ids")) as server:
        assert server.ask("GET", "/ids/healthz").status == server.ask("GET", "/healthz").status == 200
        assert server.address.endswith("/ids/")
        token = server.token(BOB)
        with idstore.connect(server.address, token=token) as registry:
            assert registry.mint("rdl", BOB).owner == "bob"
        codes = [server.ask("GET", "/api/v1/identifiers", token="ids_x").status for _ in range(11)]
        assert codes == [401] * 10 + [429]
        late = server.ask("GET", "/api/v1/identifiers", token="ids_y")
        assert late.json["error"] == "too-many-attempts"
        assert 0 < int(late.headers["retry-after"]) <= 61
        assert server.ask("GET", "/api/v1/identifiers").status == 200, "without credentials"
        assert server.ask("GET", "/api/v1/identifiers", token=token).status == 200, "nobody guesses a token"
        assert server.end(signal.SIGTERM) == 0
    assert not (tmp_path / "s" / "server.socket").exists()


def test_the_generator_gives_a_suffix_that_is_registered(server: Server, alice: str) -> None:
    assert server.ask("POST", "/generate/rdl").status == 401
    assert server.ask("POST", "/generate/healthz").status == 401
    reply = server.ask("POST", "/generate/rdl", token=alice)
    assert (reply.status, reply.headers["content-type"]) == (201, "text/plain; charset=utf-8")
    label = reply.body.decode().strip()
    found = server.ask("GET", "/api/v1/identifier", query={"id": f"rdl:{label}"}, token=alice)
    assert found.json["label"] == label


def test_the_generator_gives_suffixes_of_pilin(server: Server, alice: str, bob: str) -> None:
    with idstore.connect(server.address, token=alice) as registry:
        registry.add_namespace("pilin", "102.100.272", "pilin", ALICE)
    key = {"Idempotency-Key": "generated"}
    replies = [server.ask("POST", "/generate/pilin", token=bob, headers=one) for one in ({}, {}, key, key)]
    labels = [reply.body.decode().removesuffix("\n") for reply in replies]
    assert all(re.fullmatch("[0-9B-DF-HJ-NP-TV-Z]{9}", label) for label in labels)
    assert len({*labels[:3]}) == 3
    assert labels[2] == labels[3]
    with idstore.open(server.store, mode="read") as registry:
        assert all(registry.show(f"pilin:{label}", BOB).owner == "bob" for label in labels)
    assert server.ask("POST", "/generate/pilin").status == 401
    assert server.ask("POST", "/generate/none", token=bob).status == 404


def test_rude_clients_hold_up_nobody(server: Server, alice: str) -> None:
    address, rude = ("127.0.0.1", server.port), []
    try:
        for sent in (b"", b"GET / HT", b"POST " + MINT.encode() + b" HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
            for _ in range(20):
                rude.append(socket.create_connection(address))
                rude[-1].sendall(sent)
        for _ in range(20):  # never read the answer
            rude.append(socket.create_connection(address))
            rude[-1].sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        created(server, alice)
    finally:
        for one in rude:
            one.close()


@pytest.mark.parametrize(
    ("method", "path", "query", "sent"),
    [
        ("GET", "/identifiers", {"stage": "wrong"}, None),
        ("GET", "/digest", {"stage": "wrong"}, None),
        ("GET", "/identifiers", {"limit": "-1"}, None),
        ("GET", "/identifiers", {"limit": str(2**64)}, None),
        ("GET", "/identifiers", {"since": "yesterday"}, None),
        ("POST", "/news", None, {"last": "nothing"}),
        ("POST", "/query", None, b'{"text": "ASK {}", "timeout": NaN}'),
        ("POST", "/shared-targets", None, {"ids": ["no IRI"], "most": 9}),
        ("POST", "/shared-targets", None, {"ids": [0], "most": 9}),
        ("POST", "/news", None, {"last": "urn:uuid:x#"}),
    ],
)
def test_values_that_make_no_sense_are_refused(
    server: Server, alice: str, method: str, path: str, query: dict[str, str] | None, sent: object
) -> None:
    reply = server.ask(method, f"/api/v1{path}", sent, query=query, token=alice)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")


@pytest.mark.parametrize(
    "data",
    [{"format": "hex", "value": "0"}, {"format": "hex", "value": "no"}, {"format": "none", "value": ""}],
)
def test_data_that_is_not_hexadecimal_is_refused(server: Server, alice: str, data: dict[str, str]) -> None:
    reply = server.ask("POST", "/api/v1/set-value", {"id": NEVER, "type": "X", "data": data}, token=alice)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")
    assert "hexadecimal" in reply.json["detail"]


@pytest.mark.parametrize(
    ("path", "said"),
    [("/export?namspace=rdl", "no parameter of export"), ("/identifiers?owner=a&owner=b", "stands twice")],
)
def test_parameters_that_would_be_passed_over_are_refused(
    server: Server, alice: str, path: str, said: str
) -> None:
    reply = server.ask("GET", f"/api/v1{path}", token=alice)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")
    assert said in reply.json["detail"]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/identifier?id=rdl:R1"), ("GET", "/identifiers"), ("DELETE", "/tokens/x")]
)
def test_a_body_that_would_be_passed_over_is_refused(
    server: Server, alice: str, method: str, path: str
) -> None:
    reply = server.ask(method, f"/api/v1{path}", {"owner": "alice"}, token=alice)
    assert (reply.status, reply.json["error"], reply.json["field"]) == (422, "invalid-data", "body")
    assert server.ask("GET", "/api/v1/identifiers", {}, token=alice).status == 200


def test_a_request_key_without_effect_is_refused(server: Server, alice: str) -> None:
    body = {"id": "rdl:R1", "remark": "first"}
    reply = server.ask("POST", "/api/v1/comment", body, token=alice, headers={"Idempotency-Key": "k"})
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")
    assert "has no effect on comment" in reply.json["detail"]


@pytest.mark.parametrize("path", ["wrong/path", "api/v1/"])
def test_a_wrong_address_says_what_it_should_look_like(server: Server, bob: str, path: str) -> None:
    with idstore.connect(server.address + path, token=bob) as registry:
        for ask in (
            registry.namespaces,
            lambda: registry.show("rdl:R1", BOB),
            lambda: registry.mint("rdl", BOB),
        ):
            with pytest.raises(StoreUnavailable, match=r"no idstore API .* https://HOST/PREFIX/"):
                ask()
