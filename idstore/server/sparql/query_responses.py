"""Answers to queries, within the allowance of the caller, and to errors."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from pyoxigraph import Literal, NamedNode
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from idstore.errors import IdstoreError, InvalidData, QueryRefused
from idstore.model.party import NOBODY
from idstore.server import problems
from idstore.server.allowances import Allowances, QueryAllowance
from idstore.server.pages import page
from idstore.server.performer import Performer
from idstore.server.query_answers import facts, query_response
from idstore.server.sparql.kept_snapshot import KeptSnapshot
from idstore.server.sparql.negotiation import HTML, PAGE, wanted
from idstore.server.sparql.protocol import AskedQuery
from idstore.stores.contract import Answer

LIMITS: Final = "Idstore-Limits"
"""Header that announces the limits of the caller."""
_EXPOSED: Final = (
    "Content-Type, Idstore-Format, Idstore-Kind, Idstore-Limits, Idstore-Rows, Idstore-Truncated"
)
_PAGE_ROWS: Final = 1000
"""Rows on a page."""
_PAGE_CELL: Final = 300
"""Characters of a cell on a page."""
_PAGE_BYTES: Final = 1 << 20
"""Bytes of an answer on a page."""


class Querying:
    """Answers queries with the rights of the caller and within its allowance."""

    def __init__(self, performer: Performer, allowances: Allowances) -> None:
        self.allowances = allowances
        self._performer = performer
        self._kept = KeptSnapshot(performer.registry)

    async def answer(
        self,
        request: Request,
        asked: AskedQuery,
        bindings: Mapping[str, NamedNode | Literal] = {},
    ) -> Response:
        """Return the answer to a query in a format that the request accepts.

        Raises QueryRefused, LimitReached, NotAcceptable, TooManyQueries, Overloaded, StoreUnavailable.
        """
        formats = wanted(request, asked.parameters)
        shows_page = next(iter(formats)) == HTML
        names = PAGE if shows_page else [name for name in formats if name != HTML]

        async def ask(allowance: QueryAllowance, gone: Callable[[], bool]) -> Response:
            headers = {**common_headers(request), LIMITS: allowance.header}
            work = self._work(request, asked, bindings, names, allowance, gone, shows_page=shows_page)

            def respond() -> Response:
                result = work()
                if shows_page:
                    return _page(request, asked, result, headers)
                return query_response(result, headers, formats.get(result.format))

            return await self._performer.run(request, "query", respond)

        try:
            return await self.allowances.answer(request, ask)
        except IdstoreError as error:
            if not shows_page:
                raise
            return await run_in_threadpool(_error_page, request, asked, error)
        finally:
            self._kept.release_later()

    def _work(
        self,
        request: Request,
        asked: AskedQuery,
        bindings: Mapping[str, NamedNode | Literal],
        formats: list[str] | tuple[str, ...],
        allowance: QueryAllowance,
        gone: Callable[[], bool],
        *,
        shows_page: bool,
    ) -> Callable[[], Answer]:
        registry, party = self._performer.registry, request.state.caller.party

        def work() -> Answer:
            self._kept.renew()
            return registry.query(
                asked.text,
                party,
                timeout=allowance.seconds,
                rows=min(allowance.rows, _PAGE_ROWS) if shows_page else allowance.rows,
                memory=allowance.megabytes << 20,
                cancelled=gone,
                formats=formats,
                dataset=asked.graphs,
                bindings=bindings,
                longest_cell=_PAGE_CELL if shows_page else None,
            )

        return work


def _page(request: Request, asked: AskedQuery, answer: Answer, headers: Mapping[str, str]) -> Response:
    """Return a page with the answer, and the form to change the query. For a thread of the workers."""
    with answer:
        content = answer.stream.read(_PAGE_BYTES + 1)
    is_cut = len(content) > _PAGE_BYTES
    text = f"{content[:_PAGE_BYTES].decode(errors='ignore')}…" if is_cut else content.decode()
    described = {**headers, **facts(answer)}
    if is_cut:
        described["Idstore-Truncated"] = "true"
    return page(
        request,
        "sparql.html",
        headers=described,
        query=asked.text,
        answer=text,
        error="",
        truncated=answer.truncated,
        is_cut=is_cut,
        rows=answer.rows,
        limits="",
    )


def _error_page(request: Request, asked: AskedQuery, error: IdstoreError) -> Response:
    """Return a page with an error, and the form to correct the query."""
    response = refused(request, error)
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return page(
        request,
        "sparql.html",
        response.status_code,
        headers,
        query=asked.text,
        answer=None,
        error=problems.message(error),
        limits="",
    )


def common_headers(request: Request) -> dict[str, str]:
    """Return the headers of every answer. Scripts of other sites may read what everyone may read."""
    headers = {"Cache-Control": "private, no-store", "Vary": "Accept"}
    if request.state.caller.party == NOBODY:
        headers |= {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
    return headers


def refusal(error: IdstoreError) -> Response:
    """Return the answer to an error: see `_status`."""
    document = problems.describe(error)
    document["status"] = _status(error)
    headers = {**problems.headers(error), "Vary": "Accept"}
    return JSONResponse(document, document["status"], headers, problems.MEDIA_TYPE)


def refused(request: Request, error: IdstoreError) -> Response:
    """Return the answer to an error of a request, which scripts of other sites may read too."""
    response = refusal(error)
    response.headers.update(common_headers(request))
    return response


def _status(error: IdstoreError) -> int:
    """Return the status of an error. What is the query's fault has none of the server's."""
    if isinstance(error, QueryRefused):
        if "format" in error.fields:
            return HTTPStatus.NOT_ACCEPTABLE
        refused = error.fields.get("refused") == "SERVICE"
        return HTTPStatus.FORBIDDEN if refused else HTTPStatus.BAD_REQUEST
    if type(error) is InvalidData:
        return HTTPStatus.BAD_REQUEST
    return problems.status_of(error)
