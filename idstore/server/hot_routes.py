"""The routes that are called most, without the cost of FastAPI.

They read a request by the same declaration of its operation. A request that they cannot read goes on to the
routes of FastAPI, which know how to refuse it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from idstore.errors import IdstoreError
from idstore.operations.declared import OPERATIONS
from idstore.operations.operation import REQUIRED, ApiOperation, Parameter
from idstore.server import problems
from idstore.server.parameters import route_path
from idstore.server.request_body import EMPTY_BODIES
from idstore.server.schema import body_model, parameter_type

HOT: Final = ("mint", "resolve", "show")
_JSON: Final = b"application/json"

Sent = Mapping[str, Any]
"""What a request gives, by the names of the endpoint's parameters."""
Answering = Callable[[ApiOperation, Request, Sent], Awaitable[Response]]
"""Answers a request for an operation, with the parameters that were read from it."""


class HotRoutes:
    """An ASGI application before the one of FastAPI.

    answer  carries out an operation for a request.
    """

    def __init__(self, app: ASGIApp, answer: Answering) -> None:
        self._app, self._answer = app, answer
        self._routes = [_HotRoute(OPERATIONS[name]) for name in HOT]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        for route in self._routes if scope["type"] == "http" else ():
            sent = route.read(scope)
            if sent is not None:
                scope["route"] = route
                try:
                    response = await self._answer(route.operation, Request(scope, receive), sent)
                except IdstoreError as error:
                    response = problems.response(error, route.operation)
                except Exception as error:
                    await problems.response(problems.failure(error))(scope, receive, send)
                    raise  # it is logged
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _HotRoute:
    """A route to an operation; ``name`` is the operation in the figures."""

    def __init__(self, operation: ApiOperation) -> None:
        self.operation, self.name = operation, operation.name
        self._method = operation.method
        self._path, _, _ = compile_path(route_path(operation))
        others = [one for one in operation.parameters if one.name not in self._path.groupindex]
        self._queried = operation.method == "GET"
        self._body = _query_model(operation, others) if self._queried else body_model(operation, others)

    def read(self, scope: Scope) -> Sent | None:
        """Return what a request gives; None unless it is one for the route, and well-formed."""
        if scope["method"] != self._method:
            return None
        match = self._path.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
        if match is None:
            return None
        try:
            return match.groupdict() | (self._query(scope) if self._queried else self._content(scope))
        except (ValidationError, ValueError, UnicodeError):
            return None

    def _query(self, scope: Scope) -> dict[str, Any]:
        """Return the values of a query string. Raises ValueError, ValidationError."""
        if scope["state"]["body"].strip() not in EMPTY_BODIES:
            raise ValueError("a body that the operation does not read")
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        values = dict(pairs)
        if len(values) < len(pairs):
            raise ValueError("a name stands twice")
        return self._body.model_validate(values).model_dump(exclude_unset=True)

    def _content(self, scope: Scope) -> dict[str, Any]:
        """Return the values of the body and of the header for a request key. Raises ValueError."""
        if scope["query_string"]:
            raise ValueError("parameters that the operation does not read")
        headers = dict(scope["headers"])
        if headers.get(b"content-type") != _JSON or len(headers) < len(scope["headers"]):
            raise ValueError("not a plain request with JSON")
        key = headers.get(b"idempotency-key")
        return {
            "body": self._body.model_validate_json(scope["state"]["body"]),
            "key": None if key is None else key.decode("ascii"),
        }


def _query_model(operation: ApiOperation, parameters: list[Parameter]) -> type[BaseModel]:
    """Return the model of a query string without lists."""
    fields: dict[str, Any] = {}
    for one in parameters:
        kind = parameter_type(one, text=True)
        if get_origin(kind) is not list:
            fields[one.name] = (kind, ... if one.default is REQUIRED else None)
    return create_model(f"{operation.name}_query", __config__=ConfigDict(extra="forbid"), **fields)
