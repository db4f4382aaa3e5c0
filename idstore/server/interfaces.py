"""The interfaces of a server beside the JSON API, each at addresses of its own."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from idstore.errors import IdstoreError
from idstore.server import problems


@dataclass(frozen=True, slots=True)
class HotEndpoint:
    """An endpoint without a route. ``name`` stands in the access log and in the figures.

    answer  reads a request and the rest of its path.
    """

    name: str
    answer: Callable[[Request, str], Awaitable[Response]]


@dataclass(frozen=True)
class Interface:
    """Routes that answer in the form of one system, errors included.

    paths      the beginnings of its addresses: ``/registry`` is for ``/registry`` and ``/registry/…``.
    routes     what answers there. The name of a route stands in the access log and in the figures.
    refuse     the answer to an error of the library, also to one of the sign-in before any route.
    not_found  the answer to an address of the interface, or a method, without a route.
    hosts      names of hosts: of requests to these, the interface has all addresses that belong to no other.
    hot        endpoints that answer a GET before the routes, without their cost, by the path before the text
               that they read; a route for the same addresses answers other methods.
    prepare    changes a request before its sign-in, such as its form of credentials.
    """

    paths: tuple[str, ...]
    routes: Sequence[BaseRoute]
    refuse: Callable[[IdstoreError], Response]
    not_found: Callable[[HTTPException], Response]
    hosts: frozenset[str] = frozenset()
    hot: Mapping[str, HotEndpoint] = field(default_factory=dict)
    prepare: Callable[[Scope], Awaitable[None]] | None = None

    @cached_property
    def application(self) -> ASGIApp:
        """The routes, with the answers to errors."""
        routes = Starlette(
            routes=[_Named(route) for route in self.routes],
            exception_handlers={
                IdstoreError: lambda _, error: self.refuse(error),
                HTTPException: lambda _, error: self.not_found(error),
                Exception: lambda _, error: self.refuse(problems.failure(error)),
            },
        )
        routes.router.redirect_slashes = False  # it would take the host of the address from the request
        return _Hot(routes, self) if self.hot else routes


class _Hot:
    """The hot endpoints of an interface before its routes."""

    def __init__(self, routes: ASGIApp, interface: Interface) -> None:
        self._routes, self._interface = routes, interface

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        for beginning, endpoint in self._interface.hot.items():
            if scope["method"] == "GET" and path.startswith(beginning) and len(path) > len(beginning):
                scope["route"] = endpoint
                response = await self._answer(Request(scope, receive), endpoint, path[len(beginning) :])
                await response(scope, receive, send)
                return
        await self._routes(scope, receive, send)

    async def _answer(self, request: Request, endpoint: HotEndpoint, text: str) -> Response:
        try:
            return await endpoint.answer(request, text)
        except IdstoreError as error:
            return self._interface.refuse(error)


class _Named(BaseRoute):
    """A route that leaves itself in the scope, for the access log and the figures."""

    def __init__(self, route: BaseRoute) -> None:
        self._route = route

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return self._route.matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self._route
        await self._route.handle(scope, receive, send)
