"""Redirects from handles, as the proxy servers of the Handle System answer them.

Parameters of a request: ``type`` and ``index`` choose values, ``noredirect`` (or ``action=showvalues``) shows
the record, ``ignore_aliases`` stays at an alias, ``urlappend`` is appended to the target, ``locatt`` chooses
among locations. Sources: https://hdl.net/proxy_servlet.html; Handle.Net technical manual, version 9.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from random import SystemRandom
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from idstore.errors import InvalidData, NotRegistered
from idstore.model import times
from idstore.model.party import NOBODY
from idstore.registry.redirects import Redirect, Redirects
from idstore.registry.resolution import ResolutionOptions
from idstore.schemes import locations, value_types
from idstore.server.location import has_dots
from idstore.server.performer import Performer
from idstore.server.resolution import negotiation
from idstore.server.resolution.answers import Answers, Found
from idstore.web_addresses import location

LONGEST_TTL: Final = 2 * 86_400
"""Seconds that a redirect is kept at most, whatever time to live its value has."""
_STATUSES: Final = {str(int(status)): status for status in (301, 302, 303, 307, 308)}
_OWN: Final = frozenset(
    {"type", "index", "noredirect", "action", "ignore_aliases", "urlappend", "locatt", "auth", "cert"}
)
_NEGOTIATED: Final = frozenset({"format", "info", "?"})
"""Parameters of content negotiation, which no target gets."""


@dataclass(frozen=True, slots=True)
class ProxyQuery:
    """The parameters of a request to a proxy.

    shows  whether to show the record instead of redirecting.
    append the text for the end of the target.
    others the parameters that a proxy does not know, as they were sent.
    """

    types: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()
    shows: bool = False
    follows_aliases: bool = True
    append: str = ""
    locatt: tuple[str, ...] = ()
    others: str = ""

    @classmethod
    def parse(cls, query: str) -> "ProxyQuery":
        """Read a query string, with ``&`` or ``;`` between its parameters. A plus sign stays.

        Raises InvalidData.

        >>> ProxyQuery.parse("noredirect;index=2&type=URL&view=full")
        ProxyQuery(types=('URL',), indexes=(2,), shows=True, ..., others='view=full')
        """
        if not query:
            return _PLAIN
        given: dict[str, list[str]] = {}
        others = []
        for part in query.replace(";", "&").split("&"):
            name, _, value = part.partition("=")
            name = _decoded(name)
            if name in _OWN:
                given.setdefault(name, []).append(_decoded(value))
            elif part and name not in _NEGOTIATED:
                others.append(part)
        return cls(
            tuple(given.get("type", ())),
            tuple(value_types.index_of(index) for index in given.get("index", ())),
            "noredirect" in given or "showvalues" in given.get("action", ()),
            "ignore_aliases" not in given,
            given.get("urlappend", [""])[0],
            tuple(given.get("locatt", ())),
            "&".join(others),
        )


_PLAIN: Final = ProxyQuery()


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"the percent-encoded bytes in {text!r} of the query are not UTF-8", text=text
        ) from error


@dataclass(frozen=True, slots=True)
class FoundHandle(Found):
    """A handle that the party may see, where it leads, and what the request wants of it."""

    redirect: Redirect
    query: ProxyQuery


class HandleAnswers(Answers):
    """Answers for handles: as for other identifiers, and redirects as proxy servers make them.

    country_header  see `ResolutionSettings`. It counts where a reverse proxy has told the client's address
                    too.
    draw            random source of the choice among locations: see `ResolutionOptions`.
    """

    def __init__(
        self,
        performer: Performer,
        country_header: str = "",
        draw: Callable[[], float] = SystemRandom().random,
    ) -> None:
        super().__init__(performer)
        self._country_header, self._draw = country_header, draw

    async def _find(self, request: Request, text: str) -> FoundHandle:
        registry, party = self._performer.registry, request.state.caller.party
        query = ProxyQuery.parse(request.scope["query_string"].decode("latin-1"))
        options = self._options(request, query)

        def work() -> FoundHandle:
            redirect = Redirects(registry.core).redirect(text, party, options)
            resolution = redirect.resolution
            record = resolution.asked
            if resolution.values and resolution.answer is record:
                record = replace(record, values=resolution.values)
            return FoundHandle(record, registry.home(record), resolution, redirect, query)

        found: FoundHandle = await self._performer.run(request, "resolve", work)
        if found.redirect.rest and has_dots(found.redirect.rest):
            raise NotRegistered(text)
        return found

    def _options(self, request: Request, query: ProxyQuery) -> ResolutionOptions:
        address = None if request.client is None else request.client.host
        is_proxied = request.scope["state"].get("peer") not in (None, address)
        country = request.headers.get(self._country_header) if self._country_header and is_proxied else None
        return ResolutionOptions(
            query.types,
            query.indexes,
            query.follows_aliases,
            locations.Client(query.locatt, country, address),
            self._draw,
        )

    def _target(self, request: Request, found: Found) -> str | None:
        assert isinstance(found, FoundHandle)
        redirect, query = found.redirect, found.query
        target = redirect.resolution.target
        if (
            target is None
            or redirect.resolution.buried
            or query.shows
            or negotiation.asks_for_record(request)
        ):
            return None
        doubled = target.endswith("/") and redirect.rest.startswith("/")
        appended = redirect.rest[doubled:] + query.append
        if redirect.passes and query.others:
            appended += ("&" if "?" in target + appended else "?") + query.others
        return location(target, appended)

    def _redirect(self, request: Request, found: Found, target: str, status: HTTPStatus) -> Response:
        assert isinstance(found, FoundHandle)
        headers = self._headers(request, found) | {"Location": target}
        seconds = lifetime(found.redirect) if request.state.caller.party == NOBODY else 0
        if seconds > 0:
            headers["Cache-Control"] = f"public, max-age={seconds}"
            headers["Vary"] = "Accept, Authorization"
        place, version = found.redirect.lead.place, request.scope["http_version"]
        return Response(status_code=status_of(place, version, status), headers=headers)


def status_of(place: Mapping[str, str], version: str, usual: HTTPStatus = HTTPStatus.FOUND) -> int:
    """Return the status of a redirect to a location; clients of HTTP/1.0 know only two.

    >>> status_of({}, "1.1"), status_of({"http_sc": "303"}, "1.1"), status_of({"http": "308"}, "1.0")
    (302, 303, 302)
    """
    wanted = _STATUSES.get(place.get("http_sc") or place.get("http") or "", int(usual))
    return wanted if version != "1.0" or wanted == HTTPStatus.MOVED_PERMANENTLY else int(HTTPStatus.FOUND)


def lifetime(redirect: Redirect) -> int:
    """Return for how many seconds caches may keep an anonymous redirect: the time to live of its value.

    Only what everyone gets may be kept: not a draft, an alias or a choice among locations, and not a handle
    that is not registered itself. Others must be asked for each time.
    """
    value, resolution = redirect.lead.value, redirect.resolution
    everyone = resolution.answer.public and len(resolution.path) == 1
    if value is None or redirect.lead.place or redirect.rest or redirect.made or not everyone:
        return 0
    seconds = value.ttl if value.until is None else int((value.until - times.current()).total_seconds())
    return min(seconds, LONGEST_TTL)
