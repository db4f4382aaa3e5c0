"""The routes of resolution: which addresses stand for which written forms."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from idstore.errors import IdstoreError, InvalidData
from idstore.server import problems
from idstore.server.interfaces import HotEndpoint, Interface
from idstore.server.performer import Performer
from idstore.server.resolution import addresses, hosts, record_page
from idstore.server.resolution.answers import Answers, common_headers, refusal
from idstore.server.resolution.handle_proxy import HandleAnswers
from idstore.server.resolution.hosts import ResolutionSettings

_METHODS: Final = ["GET", "HEAD", "OPTIONS"]
_PREFLIGHT: Final = {
    "Allow": ", ".join(_METHODS),
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "Accept, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
_HANDLES: Final = ("/hdl", "/handle")
_PUIDS: Final = ("/pronom", "/PRONOM")
_REST: Final = "/{text:everything}"

Endpoint = Callable[[Request], Awaitable[Response]]


class _Everything(Convertor[str]):
    """The rest of a path, also with line ends: a handle may hold any character."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("everything", _Everything())


class Endpoints:
    """The endpoints. Each reads the written form in its address; `Answers` does the rest."""

    def __init__(self, performer: Performer, settings: ResolutionSettings) -> None:
        self._performer, self._hosts = performer, settings.hosts
        self._answers = Answers(performer)
        self._handles = HandleAnswers(performer, settings.country_header)

    async def handle(self, request: Request) -> Response:
        """Answer for a handle, with the status that clients of handle proxies are used to."""
        return await self.hot_handle(request, _path(request))

    async def hot_handle(self, request: Request, path: str) -> Response:
        """Answer a GET for a handle: see `Interface.hot`."""
        return await self._handles.answer(request, addresses.handle(path), HTTPStatus.FOUND)

    def rest(self, read: Callable[[str], str]) -> Endpoint:
        """Return an endpoint whose ``read`` makes the written form from the rest of the path."""

        async def endpoint(request: Request) -> Response:
            return await self._answers.answer(request, read(_path(request)))

        return endpoint

    async def queried_article(self, request: Request) -> Response:
        """Answer for an article at Scholars Portal's older addresses."""
        return await self._parameter(request, "uri", addresses.article)

    async def named(self, request: Request) -> Response:
        """Answer for an identifier by the name of its namespace and its label."""
        text = addresses.named(request.path_params["namespace"], _path(request))
        return await self._answers.answer(request, text)

    async def namespace(self, request: Request) -> Response:
        """Answer for a namespace, or with a parameter ``label`` for an identifier of it."""
        name = request.path_params["namespace"]
        if "label" in request.query_params:
            return await self._parameter(request, "label", partial(addresses.named, name))
        try:
            space = await self._performer.perform(request, "namespace", name=name)
        except IdstoreError as error:
            return refusal(request, error)
        return await self._answers.namespace(request, space)

    async def own(self, request: Request) -> Response:
        """Answer for the IRI that the address itself is: an identifier's, or the document of a namespace."""
        spaces = await self._performer.perform(request, "namespaces")
        path = request.scope["path"].removeprefix(request.scope["root_path"])
        found = hosts.place(spaces, hosts.named(request.scope), path)
        if isinstance(found, str):
            return await self._answers.answer(request, found)
        return await self._answers.namespace(request, found)

    async def home(self, request: Request) -> Response:
        """Answer at the root of the server, or of a host whose base it is."""
        names = hosts.named(request.scope)
        if not names.isdisjoint(self._hosts):
            spaces = await self._performer.perform(request, "namespaces")
            found = hosts.place(spaces, names, "/")
            if not isinstance(found, str):
                return await self._answers.namespace(request, found)
        return record_page.form(request, common_headers(request))

    async def any_form(self, request: Request) -> Response:
        """Answer for an identifier in any written form, or with a form to write it in."""
        if "id" not in request.query_params:
            return record_page.form(request, common_headers(request))
        return await self._parameter(request, "id", str)

    async def _parameter(self, request: Request, name: str, read: Callable[[str], str]) -> Response:
        texts = request.query_params.getlist(name)
        if len(texts) != 1 or not texts[0].strip():
            error = InvalidData(f"the parameter {name} must stand once, with an identifier", field=name)
            return refusal(request, error, HTTPStatus.BAD_REQUEST)
        return await self._answers.answer(request, read(texts[0].strip()))


def _path(request: Request) -> str:
    text: str = request.path_params["text"]
    return text


def _route(path: str, endpoint: Endpoint, name: str) -> Route:
    async def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=_PREFLIGHT)
        return await endpoint(request)

    return Route(path, answer, methods=_METHODS, name=name)


def interface(performer: Performer, settings: ResolutionSettings) -> Interface:
    """Return the interface with an address for each written form of each identifier.

    It has the server's root too.
    """
    own = Endpoints(performer, settings)
    types = {f"/{code}": partial(addresses.typed_puid, code) for code in addresses.PUID_TYPES}
    routes = [
        *(_route(f"{path}{_REST}", own.handle, "handle") for path in _HANDLES),
        *(_route(f"{path}{_REST}", own.rest(addresses.puid), "puid") for path in _PUIDS),
        *(_route(f"{path}{_REST}", own.rest(read), "puid") for path, read in types.items()),
        _route(f"/details{_REST}", own.rest(addresses.article), "article"),
        _route("/details.xqy", own.queried_article, "article"),
        _route("/id/{namespace}", own.namespace, "namespace"),
        _route(f"/id/{{namespace}}{_REST}", own.named, "identifier"),
        _route("/resolve", own.any_form, "resolution"),
        _route("/", own.home, "home"),
    ]
    paths = ("/", *_HANDLES, *_PUIDS, *types, "/details", "/details.xqy", "/id", "/resolve")
    hot = {f"{path}/": HotEndpoint("handle", own.hot_handle) for path in _HANDLES}
    return Interface(paths, routes, problems.response, _no_address, hot=hot)


def own_hosts(performer: Performer, settings: ResolutionSettings) -> Interface:
    """Return the interface with the addresses that the IRIs of identifiers are.

    These are at the hosts of the bases.
    """
    routes = [_route(_REST, Endpoints(performer, settings).own, "own-host")]
    return Interface((), routes, problems.response, _no_address, frozenset(settings.hosts))


def _no_address(error: HTTPException) -> Response:
    """Answer a request for an address that stands for no identifier, or with another method."""
    known = error.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    message = f"use {', '.join(_METHODS)} here" if known else "no identifier has this address; see /resolve"
    response = problems.no_route(error, message)
    response.headers["Vary"] = "Accept"
    return response
