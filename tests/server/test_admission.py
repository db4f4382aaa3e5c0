"""Limits of requests, on an application in this process."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from idstore.server.admission import Admission, Figures, ServerLimits
from idstore.server.sign_in import SignIn, TokenWay
from idstore.tokens import TokenReader, Tokens


def ask(
    folder: Path,
    limits: ServerLimits,
    *,
    body: tuple[bytes, ...] = (b"",),
    client: str = "127.0.0.1",
    scheme: str = "http",
    headers: dict[str, str] | None = None,
    stalls: bool = False,
    leaves: bool = False,
    path: str = "/api/v1/x",
    prefix: str = "",
    prepare: Callable[[Scope], Awaitable[None]] | None = None,
    fails: bool = False,
) -> tuple[int | None, dict[str, str], Any, list[str]]:
    """Return status, headers and body of the answer, and the access log."""
    sent: list[Message] = []
    log: list[str] = []
    parts = iter(body)

    async def receive() -> Message:
        part = next(parts, None)
        if part is None and leaves:
            return {"type": "http.disconnect"}
        if part is None:
            await asyncio.sleep(9 if stalls else 0)
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": part, "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    tokens = TokenReader(Tokens(folder))
    sign_in = SignIn([TokenWay(tokens)])
    app = Admission(
        PlainTextResponse("done"), sign_in, Figures(), limits, log.append, prefix, prepare=prepare
    )
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "scheme": scheme,
        "client": (client, 1),
        "headers": [
            (b"transfer-encoding", b"chunked"),
            *((name.lower().encode(), value.encode()) for name, value in (headers or {}).items()),
        ],
    }
    with closing(tokens), pytest.raises(RuntimeError) if fails else nullcontext():
        asyncio.run(app(scope, receive, send))
    if not sent:
        return None, {}, b"", log
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    text = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], found, text, log


def test_too_many_requests_are_told_to_come_again(tmp_path: Path) -> None:
    status, headers, body, log = ask(tmp_path, ServerLimits(requests=0))
    assert (status, json.loads(body)["error"]) == (503, "overloaded")
    assert int(headers["retry-after"]) > 0
    assert json.loads(log[0])["status"] == 503


def test_a_body_without_a_length_is_limited_too(tmp_path: Path) -> None:
    limits = ServerLimits(body=10)
    assert ask(tmp_path, limits, body=(b"12345", b"12345"))[0] == 200
    assert ask(tmp_path, limits, body=(b"12345", b"123456"))[0] == 413


def test_a_sender_that_stalls_is_ended(tmp_path: Path) -> None:
    status, headers, body, _ = ask(tmp_path, ServerLimits(sending=0.05, lingering=0.05), stalls=True)
    assert (status, json.loads(body)["error"]) == (503, "limit-reached")
    assert "retry-after" in headers


@pytest.mark.parametrize(
    ("client", "scheme", "status"),
    [
        ("127.0.0.1", "http", 401),
        ("::1", "http", 401),
        ("192.0.2.1", "https", 401),
        ("192.0.2.1", "http", 403),
    ],
)
def test_credentials_are_read_only_where_nobody_else_can(
    tmp_path: Path, client: str, scheme: str, status: int
) -> None:
    headers = {"Authorization": "Bearer ids_wrong"}
    found, _, body, _ = ask(tmp_path, ServerLimits(), client=client, scheme=scheme, headers=headers)
    assert found == status, body
    assert b"ids_wrong" not in body


def test_probes_are_answered_when_there_are_too_many_requests(tmp_path: Path) -> None:
    assert ask(tmp_path, ServerLimits(requests=0), path="/healthz")[0] == 200
    assert ask(tmp_path, ServerLimits(requests=0), path="/ids/readyz", prefix="/ids")[0] == 200
    assert ask(tmp_path, ServerLimits(requests=0), path="/generate/healthz")[0] == 503


def test_a_failure_before_the_application_is_answered_and_tells_nothing(tmp_path: Path) -> None:
    async def fail(scope: Scope) -> None:
        raise RuntimeError(f"a secret of {scope['path']}")

    status, headers, body, log = ask(tmp_path, ServerLimits(), prepare=fail, fails=True)
    assert (status, headers["content-type"]) == (500, "application/problem+json")
    assert (json.loads(body)["error"], b"secret" in body) == ("error", False)
    assert json.loads(log[0])["status"] == 500


def test_a_request_that_breaks_off_does_nothing(tmp_path: Path) -> None:
    status, _, _, log = ask(tmp_path, ServerLimits(), body=(b"12345",), leaves=True)
    assert status is None
    assert json.loads(log[0])["status"] == 499
