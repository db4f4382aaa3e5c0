"""Interfaces beside the JSON API: their addresses, their answers to errors, and the files of pages."""

import asyncio
from contextlib import suppress

import pytest
from serving import Server

pytest.importorskip("fastapi", reason="the extra server is not installed")

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from idstore.errors import IdstoreError, NotPermitted
from idstore.server.interfaces import Interface
from idstore.server.site import Site


def test_pages_load_their_style(server: Server) -> None:
    reply = server.ask("GET", "/static/style.css")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert server.ask("GET", "/static/../style.css").status == 404
    assert server.ask("GET", "/static/nothing.css").status == 404


def _fail(_: Request) -> Response:
    raise NotPermitted("not this one")


def _break(_: Request) -> Response:
    raise RuntimeError("secret")


def _refuse(error: IdstoreError) -> Response:
    return PlainTextResponse(f"in our form: {error.message}", 403)


def _not_found(error: HTTPException) -> Response:
    return PlainTextResponse("nothing here, in our form", error.status_code)


ROUTES = [Route("/ours/fail", _fail), Route("/ours/break", _break)]
SITE = Site(PlainTextResponse("the API"), [Interface(("/ours",), ROUTES, _refuse, _not_found)])


def answer(path: str, method: str = "GET") -> tuple[int, str]:
    """Return the status and the text of an answer, also where the site raises an error for the log."""
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    with suppress(RuntimeError):
        asyncio.run(SITE(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


def test_an_interface_answers_errors_in_its_form() -> None:
    assert answer("/ours/fail") == (403, "in our form: not this one")
    assert answer("/ours/none") == (404, "nothing here, in our form")
    assert answer("/ours/fail", "POST") == (405, "nothing here, in our form")
    assert answer("/ours/break") == (403, "in our form: the server failed unexpectedly: RuntimeError")


@pytest.mark.parametrize("path", ["/", "/other", "/oursandmore"])
def test_other_addresses_are_the_api_s(path: str) -> None:
    assert answer(path)[1] == "the API"
