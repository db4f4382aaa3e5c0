"""Answers to requests for identifiers: a redirect to the target, or the record in the format asked for."""

import hashlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from idstore.errors import AmbiguousIdentifier, IdstoreError, InvalidData, InvalidIdentifier, NotRegistered
from idstore.model.namespace import Namespace
from idstore.model.party import NOBODY, Party
from idstore.model.record import Record, Stage
from idstore.registry import Registry
from idstore.registry.resolution import Resolution
from idstore.server import problems
from idstore.server.cross_site import OWN_ORIGIN
from idstore.server.location import origin
from idstore.server.performer import Performer
from idstore.server.resolution import links, namespace_page, negotiation, record_page, representations
from idstore.server.resolution.negotiation import HTML, PARTS, RecordFormat
from idstore.web_addresses import location

PRIVATE: Final = "private, no-store"
SHARED: Final = "no-cache"
"""A cache may keep the answer, and asks each time whether it still holds: see `_cache_control`."""
CROSS_ORIGIN: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Content-Type, ETag, Link, Location",
}


@dataclass(frozen=True, slots=True)
class Found:
    """An identifier that the party may see; ``resolution`` is None if it has no target."""

    record: Record
    namespace: Namespace
    resolution: Resolution | None


class Answers:
    """Answers for identifiers in any written form.

    A hidden identifier is answered as an absent one: both end in the same error, before anything else is
    read.
    """

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def answer(
        self, request: Request, text: str, redirect: HTTPStatus = HTTPStatus.SEE_OTHER
    ) -> Response:
        """Return the answer to a request for the identifier in ``text``.

        redirect  the status with which clients are sent to its target.
        """
        try:
            format = negotiation.chosen(request)
            found = await self._find(request, text)
            target = None if format is not HTML else self._target(request, found)
            if target is not None:
                return self._redirect(request, found, target, redirect)
            return await self._represent(request, found, format)
        except AmbiguousIdentifier as error:
            return refusal(request, error, HTTPStatus.MULTIPLE_CHOICES)
        except IdstoreError as error:
            return refusal(request, error)

    async def namespace(self, request: Request, space: Namespace) -> Response:
        """Return the answer to a request for the document of a namespace: see `namespace_page`."""
        try:
            format = negotiation.chosen(request, PARTS)
            registry, party = self._performer.registry, request.state.caller.party
            found: namespace_page.Contents = await self._performer.run(
                request, "list", lambda: namespace_page.contents(registry, party, space)
            )
        except IdstoreError as error:
            return refusal(request, error)
        control = SHARED if party == NOBODY else PRIVATE
        headers = {**common_headers(request), "Cache-Control": control}
        if format is HTML:
            return _conditional(request, namespace_page.page(request, found, headers))
        lookup = f"{origin(request)}/resolve?id="
        body = namespace_page.body(format, found, lookup)
        return _conditional(request, Response(body, HTTPStatus.OK, headers, format.media_type))

    async def _find(self, request: Request, text: str) -> Found:
        """Return the identifier. Raises NotRegistered, AmbiguousIdentifier, InvalidIdentifier."""
        registry, party = self._performer.registry, request.state.caller.party
        found: Found = await self._performer.run(request, "resolve", lambda: _found(registry, text, party))
        return found

    def _target(self, request: Request, found: Found) -> str | None:
        """Return the address to which a browser is sent; None if it gets the record."""
        if found.record.stage is Stage.TOMBSTONE or negotiation.asks_for_record(request):
            return None
        target = None if found.resolution is None else found.resolution.target
        return None if target is None else location(target)

    def _redirect(self, request: Request, found: Found, target: str, status: HTTPStatus) -> Response:
        return Response(status_code=status, headers={**self._headers(request, found), "Location": target})

    async def _represent(self, request: Request, found: Found, format: RecordFormat) -> Response:
        """Return the record in a format; of a tombstone with the status 410."""
        gone = found.record.stage is Stage.TOMBSTONE
        status = HTTPStatus.GONE if gone else HTTPStatus.OK
        registry, party = self._performer.registry, request.state.caller.party
        headers = self._headers(request, found)
        iri = found.record.iri
        if format is HTML:
            values = await self._performer.run(
                request,
                "remarks",
                lambda: record_page.values(registry, party, found.record, found.resolution),
            )
            response = record_page.response(request, values, status, headers)
        else:
            remarks = []
            if format.name == "json":
                remarks = await self._performer.run(request, "remarks", lambda: registry.remarks(iri, party))
            body = representations.body(request, format, found.record, found.namespace, remarks)
            response = Response(body, status, headers, format.media_type)
        return response if gone else _conditional(request, response)

    def _headers(self, request: Request, found: Found) -> dict[str, str]:
        """Return the headers of an answer about an identifier."""
        linked = links.links(request, found.record, found.namespace)
        control = _cache_control(request, found.record)
        return {**common_headers(request), "Cache-Control": control, "Link": links.header(linked)}


def refusal(request: Request, error: IdstoreError, status: int | None = None) -> Response:
    """Return the answer to an error: a page for browsers, problem details for programs.

    status  instead of the usual one.
    """
    document = problems.describe(error)
    if isinstance(error, InvalidIdentifier):  # an address of what is no identifier leads nowhere
        document["status"] = HTTPStatus.NOT_FOUND
    document["status"] = code = document["status"] if status is None else status
    headers = {**problems.headers(error), **common_headers(request)}
    wanted = negotiation.accepted(request.headers)
    if wanted is HTML and "format" not in request.query_params:
        return record_page.refusal(request, error, code, headers)
    return JSONResponse(document, code, headers, problems.MEDIA_TYPE)


def common_headers(request: Request) -> dict[str, str]:
    """Return the headers of every answer.

    Scripts of other sites may read what everyone may read. Answers to parties that signed in are for these
    alone, whatever the way of signing in.
    """
    anonymous = request.state.caller.party == NOBODY
    return {"Vary": "Accept", **(CROSS_ORIGIN if anonymous else OWN_ORIGIN)}


def _cache_control(request: Request, record: Record) -> str:
    """Return the header that says who may keep an answer.

    A cache may keep only what an anonymous request got about a published identifier: everyone sees that, and
    it never becomes hidden again. It must ask before each use, because a target may change and a text may be
    redacted. So no cache can show a draft, or what a party sees beyond the public.
    """
    return SHARED if record.public and request.state.caller.party == NOBODY else PRIVATE


def _conditional(request: Request, response: Response) -> Response:
    """Return a response with its ETag, or the status 304 if the client has it already."""
    tag = f'"{hashlib.sha256(response.body).hexdigest()[:32]}"'
    response.headers["ETag"] = tag
    known = ",".join(request.headers.getlist("if-none-match")).split(",")
    if tag not in [one.strip().removeprefix("W/") for one in known] and known != ["*"]:
        return response
    kept = ("access-control-", "cache-control", "etag", "link", "vary")
    headers = {name: value for name, value in response.headers.items() if name.startswith(kept)}
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)


def _found(registry: Registry, text: str, party: Party) -> Found:
    """Return an identifier with its resolution. Raises as `Registry.show`."""
    try:
        resolution = registry.resolve(text, party)
    except (NotRegistered, InvalidData):  # no target, or no such identifier
        record = registry.show(text, party)
        return Found(record, registry.home(record), None)
    return Found(resolution.asked, registry.home(resolution.asked), resolution)
