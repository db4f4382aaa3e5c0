"""The addresses of the interface."""

from collections.abc import Awaitable, Callable
from functools import cache, partial
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from idstore.errors import InvalidData, SignInRequired
from idstore.model.party import NOBODY
from idstore.server.cross_site import check_deliberate, check_explicit
from idstore.server.interfaces import Interface
from idstore.server.performer import Performer
from idstore.server.rdswip import answers, domains, form
from idstore.server.rdswip.operations import OPERATIONS, acquire_id
from idstore.server.rdswip.parameters import COMMENT, OPERATION, Parameters
from idstore.server.request_body import check_size

REGISTRY: Final = "/registry"
EARLIER: Final = "/servlets/registry"
"""The address of the first deployed service."""
_PAGES: Final = (REGISTRY, EARLIER)
"""Pages that lead to changes."""
_SERVICES: Final = ("", REGISTRY, "/services/idgen")
"""Addresses below which clients of the later service ask: the last one is their default."""
_SCHEMAS: Final = ("registry.xsd", "response.xsd")
_UI: Final = "ui"
_FORM_BYTES: Final = 1 << 16
"""Bytes of a form of the page."""

_Endpoint = Callable[[Performer, Request], Awaitable[Response]]


def interface(performer: Performer) -> Interface:
    """Return the interface."""

    def route(path: str, endpoint: _Endpoint, name: str, *methods: str) -> Route:
        return Route(path, partial(endpoint, performer), name=name, methods=[*methods] or ["GET"])

    return Interface(
        (REGISTRY, EARLIER, "/acquireId", "/services/idgen", domains.PATH),
        [
            route(REGISTRY, _answer, "rdswip", "GET", "POST"),
            route(EARLIER, _answer, "rdswip"),
            *(route(f"{service}/acquireId/{{last}}", _acquire_id, "rdswip_acquire") for service in _SERVICES),
            *(route(f"{REGISTRY}/{name}", _schema, "rdswip_schema") for name in _SCHEMAS),
            route(domains.PATH, domains.page, "rdswip_domains"),
        ],
        answers.refuse,
        answers.not_found,
    )


async def _answer(performer: Performer, request: Request) -> Response:
    """Answer ``registry-op``, or a form of the page."""
    if request.method == "POST":
        return await _submit(performer, request)
    sent = _sent(request)
    name = sent.get(OPERATION) or ""
    operation = OPERATIONS.get(name)
    _admit(request, changes=operation is not None and operation.changes)
    if name == _UI:
        return await form.page(performer, request, sent)
    if operation is None:
        names = ", ".join([*OPERATIONS, _UI])
        raise InvalidData(f"{name!r} is no {OPERATION}; use one of {names}", field=OPERATION)
    return answers.result(await operation.run(performer, request, sent))


async def _submit(performer: Performer, request: Request) -> Response:
    """Answer a form of the page."""
    _admit(request, changes=True)
    check_size(len(request.state.body), _FORM_BYTES)
    return await form.submit(performer, request, Parameters.parse(request.state.body, "the form"))


async def _acquire_id(performer: Performer, request: Request) -> Response:
    """Answer the later ``acquireId/param?uri=BASE&comment=TEXT``.

    Its clients leave out the ``#`` of the base.
    """
    sent = _sent(request)
    _admit(request, changes=True)
    uri = sent.required("uri")
    base = uri if uri.endswith("#") else f"{uri}#"
    return answers.response(await acquire_id(performer, request, base, {COMMENT: sent.get("comment")}))


async def _schema(_: Performer, request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(
        _schema_text(name), headers={"Cache-Control": "public, max-age=3600"}, media_type=answers.MEDIA_TYPE
    )


@cache
def _schema_text(name: str) -> bytes:
    return files("idstore.server.rdswip").joinpath(name).read_bytes()


def _sent(request: Request) -> Parameters:
    """Return the parameters of a query.

    Raises InvalidData, SignInRequired: the first answer is the challenge.
    """
    try:
        return Parameters.parse(request.scope["query_string"])
    except InvalidData:
        _check_signed_in(request)
        raise


def _admit(request: Request, *, changes: bool) -> None:
    """Raise NotPermitted, SignInRequired or HTTPException unless a request may be answered at all."""
    if changes:
        if getattr(request.state, "is_head", False):
            raise HTTPException(
                405, "HEAD changes nothing, and this address answers changes; use GET", {"Allow": "GET"}
            )
        check_deliberate(request, _PAGES)
        check_explicit(request)
    _check_signed_in(request)


def _check_signed_in(request: Request) -> None:
    if request.state.caller.party == NOBODY:
        raise SignInRequired("this interface answers after a sign-in; send a name and a token")
