"""Saved queries as addresses: ``/queries/NAME?parameter=…``."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from idstore.errors import InvalidData
from idstore.queries.saved import SavedQuery
from idstore.server.form_parameters import read_parameters
from idstore.server.pages import page
from idstore.server.sparql import protocol
from idstore.server.sparql.negotiation import PARAMETERS, prefers_page
from idstore.server.sparql.query_responses import Querying, common_headers

_NO_QUERY: Final = "there is no saved query of that name; /queries/ lists them"


@dataclass(frozen=True, slots=True)
class SavedQueriesSettings:
    """The table ``[saved_queries]``. folder: more queries, in files with the ending ``.rq``."""

    folder: Path


class SavedQueries:
    """The addresses of saved queries. Each runs with the rights of the caller, as its own queries do."""

    def __init__(self, querying: Querying, saved: Mapping[str, SavedQuery]) -> None:
        self._querying, self._saved = querying, saved

    async def answered(self, request: Request) -> Response:
        """Answer a saved query, with its parameters from the address.

        Raises InvalidData: a parameter; and as `Querying.answer`. HTTPException: there is no such query.
        """
        query = self._named(request)
        pairs = read_parameters(request.scope["query_string"], "the address")
        given = dict(pairs)
        if len(given) < len(pairs):
            raise InvalidData("a parameter stands twice; give each once", field="query")
        others: dict[str, str] = {}
        for name in PARAMETERS:
            if name in given and name not in query.parameters:
                others[name] = given.pop(name)
        bindings = query.bindings(given)
        asked = protocol.AskedQuery(query.text, parameters=others)
        return await self._querying.answer(request, asked, bindings)

    async def text(self, request: Request) -> Response:
        """Return the text of a saved query."""
        query = self._named(request)
        return Response(query.text, headers=common_headers(request), media_type=protocol.QUERY)

    async def listed(self, request: Request) -> Response:
        """Return the list of the saved queries: a page, or JSON."""
        headers = common_headers(request)
        if prefers_page(request):
            return page(request, "queries.html", headers=headers, queries=self._saved.values())
        return JSONResponse([_document(query) for query in self._saved.values()], headers=headers)

    def _named(self, request: Request) -> SavedQuery:
        query = self._saved.get(request.path_params["name"])
        if query is None:
            raise HTTPException(404, _NO_QUERY)
        return query


def _document(query: SavedQuery) -> dict[str, object]:
    return {
        "name": query.name,
        "title": query.title,
        "parameters": [
            {"name": one.name, "type": one.type, "required": one.required, "purpose": one.purpose}
            for one in query.parameters.values()
        ],
    }
