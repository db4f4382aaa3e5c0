"""The address of the SPARQL 1.1 Protocol."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

from pyoxigraph import NamedNode
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from idstore.errors import IdstoreError
from idstore.model.party import NOBODY
from idstore.queries.formats import FORMATS
from idstore.queries.saved import saved_queries
from idstore.server import problems
from idstore.server.allowances import Allowances
from idstore.server.interfaces import Interface
from idstore.server.location import origin
from idstore.server.pages import page
from idstore.server.performer import Performer
from idstore.server.settings import Settings
from idstore.server.sparql import protocol, service_description
from idstore.server.sparql.data_description import VOID_PATH, DataDescription
from idstore.server.sparql.negotiation import wanted_graph
from idstore.server.sparql.query_responses import (
    LIMITS,
    Querying,
    common_headers,
    refusal,
    refused,
)
from idstore.server.sparql.saved_queries import SavedQueries
from idstore.vocabulary import store_name

PATH: Final = "/sparql"
_PREFLIGHT: Final = {
    "Allow": "GET, HEAD, OPTIONS, POST",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "Accept, Content-Type",
    "Access-Control-Max-Age": "86400",
}
_EXAMPLE: Final = (
    "SELECT ?identifier ?name\nWHERE { ?identifier a ids:Identifier ; rdfs:label ?name }\nLIMIT 10\n"
)

Endpoint = Callable[[Request], Awaitable[Response]]


class SparqlEndpoint:
    """The endpoint of the protocol."""

    def __init__(self, performer: Performer, querying: Querying) -> None:
        self._performer, self._querying = performer, querying

    async def respond(self, request: Request) -> Response:
        """Answer a request of the protocol. Without a query, describe the service or show a form."""
        if request.method == "GET" and not protocol.asks(request):
            return await self._describe(request)
        asked = await run_in_threadpool(protocol.asked_query, request, request.state.body)
        return await self._querying.answer(request, asked)

    async def _describe(self, request: Request) -> Response:
        format = wanted_graph(request)
        allowance = self._querying.allowances.of(request)
        headers = {**common_headers(request), LIMITS: allowance.header}
        if format is None:
            return page(
                request,
                "sparql.html",
                headers=headers,
                query=_EXAMPLE,
                answer=None,
                error="",
                limits=allowance.sentence,
            )
        registry = self._performer.registry
        graphs = await self._performer.run(request, "namespaces", partial(registry.visible_graphs, NOBODY))
        triples = service_description.description(
            f"{origin(request)}{PATH}", NamedNode(store_name(registry.store.origin)), graphs, allowance
        )
        body = service_description.document(triples, format)
        return Response(body, headers=headers, media_type=FORMATS[format].media_type)


def answered(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that answers preflight requests, and errors in the form of the interface."""

    async def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=HTTPStatus.NO_CONTENT, headers=_PREFLIGHT)
        try:
            return await endpoint(request)
        except IdstoreError as error:
            return refused(request, error)

    return answer


def interface(performer: Performer, allowances: Allowances, settings: Settings) -> Interface:
    """Return the interface of the protocol, of saved queries, and of the description of the data.

    Raises InvalidData: a file of a saved query.
    """
    querying = Querying(performer, allowances)
    folder = None if settings.saved_queries is None else settings.saved_queries.folder
    endpoint, queries = SparqlEndpoint(performer, querying), SavedQueries(querying, saved_queries(folder))
    data = DataDescription(performer, settings.description)
    return Interface(
        (PATH, "/queries", VOID_PATH),
        [
            _route(PATH, endpoint.respond, "sparql", "POST"),
            _route("/queries", queries.listed, "saved queries"),
            _route("/queries/", queries.listed, "saved queries"),
            _route("/queries/{name}.rq", queries.text, "saved query"),
            _route("/queries/{name}", queries.answered, "saved query"),
            _route(VOID_PATH, data.respond, "void"),
        ],
        refusal,
        problems.no_route,
    )


def _route(path: str, endpoint: Endpoint, name: str, *methods: str) -> Route:
    return Route(path, answered(endpoint), methods=["GET", "OPTIONS", *methods], name=name)
