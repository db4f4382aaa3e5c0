"""The hot routes answer as those of FastAPI, which are made from the same operations."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from fastapi import FastAPI
from serving import ALICE
from starlette.types import ASGIApp, Message

import idstore
from idstore.model.party import NOBODY, Party
from idstore.server.admission import Figures, ServerLimits
from idstore.server.allowances import Allowances
from idstore.server.api import application
from idstore.server.sign_in import Caller
from idstore.server.workers import Workers

MINT = "/api/v1/namespaces/rdl/identifiers"
SHOW, RESOLVE = "/api/v1/identifier", "/api/v1/resolve"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[idstore.Registry]:
    with idstore.open(tmp_path_factory.mktemp("s") / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.mint("rdl", ALICE, idstore.Request(target="http://x.example.org/", request_key="known"))
        yield registry


@pytest.fixture(scope="module")
def app(registry: idstore.Registry) -> FastAPI:
    return application(registry, Workers(registry, 60), Figures(), ServerLimits(), Allowances())


def ask(
    app: ASGIApp, method: str, path: str, query: str, headers: dict[str, str], body: bytes, party: Party
) -> tuple[int, dict[str, str], Any, str]:
    """Return status, headers and body of the answer, and the class of the route."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "state": {"caller": Caller(party), "body": body},
    }

    async def call() -> None:
        await app(scope, receive, send)

    asyncio.run(call())
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    route = type(scope.get("route")).__name__
    return sent[0]["status"], found, json.loads(b"".join(one.get("body", b"") for one in sent[1:])), route


KNOWN = {"requestKey": "known", "target": "http://x.example.org/"}


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body", "party", "hot"),
    [
        ("POST", MINT, "", JSON, KNOWN, ALICE, True),
        ("POST", MINT, "", JSON | {"idempotency-key": "known"}, {"target": KNOWN["target"]}, ALICE, True),
        ("POST", MINT, "", JSON | {"idempotency-key": "other"}, KNOWN, ALICE, True),
        ("POST", MINT, "", JSON, {"requestKey": "known"}, ALICE, True),
        ("POST", MINT, "", JSON, KNOWN, NOBODY, True),
        ("POST", MINT.replace("rdl", "no"), "", JSON, {}, ALICE, True),
        ("POST", MINT.replace("rdl", "rdl\n"), "", JSON, {}, ALICE, True),
        ("POST", MINT.replace("rdl", "r\ndl"), "", JSON, {}, ALICE, True),
        ("POST", MINT, "", {"content-type": "application/json; charset=utf-8"}, KNOWN, ALICE, False),
        ("POST", MINT, "", {}, KNOWN, ALICE, False),
        ("POST", MINT, "", JSON, {"nmae": "x"}, ALICE, False),
        ("POST", MINT, "", JSON, {"name": 3}, ALICE, False),
        ("POST", MINT, "", JSON, {"fixate": "yes"}, ALICE, False),
        ("POST", MINT, "", JSON, {"fixate": 1}, ALICE, False),
        ("POST", MINT, "", JSON, b"{", ALICE, False),
        ("POST", MINT, "name=x", JSON, {}, ALICE, False),
        ("POST", MINT, "", JSON, b'{"name":"\\ud800"}', ALICE, False),
        ("GET", SHOW, "id=rdl:R1", {}, b"", ALICE, True),
        ("GET", SHOW, "id=ID", {}, b"", ALICE, True),
        ("GET", SHOW, "id=ID", {}, b"", NOBODY, True),
        ("GET", SHOW, "id=", {}, b"", ALICE, True),
        ("GET", SHOW, "id=%FF", {}, b"", ALICE, True),
        ("GET", SHOW, "", {}, b"", ALICE, False),
        ("GET", SHOW, "id=ID&id=ID", {}, b"", ALICE, False),
        ("GET", RESOLVE, "id=ID", {}, b"", ALICE, True),
        ("GET", RESOLVE, "id=ID&aliases=false&country=", {}, b"", ALICE, True),
        ("GET", RESOLVE, "id=ID&aliases=perhaps", {}, b"", ALICE, False),
        ("GET", RESOLVE, "id=ID&indexes=1&indexes=2", {}, b"", ALICE, False),
    ],
)
def test_a_hot_route_answers_as_the_route_of_fastapi(
    registry: idstore.Registry,
    app: FastAPI,
    method: str,
    path: str,
    query: str,
    headers: dict[str, str],
    body: object,
    party: Party,
    hot: bool,
) -> None:
    known = registry.mint("rdl", ALICE, idstore.Request(target=KNOWN["target"], request_key="known"))
    query = query.replace("ID", urlencode({"": known.iri})[1:])
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def without(scope: Any, receive: Any, send: Any) -> None:
        await FastAPI.__call__(app, scope, receive, send)

    *found, route = ask(app, method, path, query, headers, sent, party)
    *expected, _ = ask(without, method, path, query, headers, sent, party)
    assert found == expected
    assert (route == "_HotRoute") == hot


def test_a_failure_of_the_program_tells_nothing(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("idstore.server.endpoints.dump", fail)
    answers: list[object] = []

    async def caught(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(RuntimeError):
            await app(scope, receive, send)

    answers += ask(caught, "POST", MINT, "", JSON, b"{}", ALICE)
    assert answers[0] == 500
    assert "secret" not in json.dumps(answers)
