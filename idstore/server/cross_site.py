"""Protection from pages of other sites: refuses a change that such a page may have caused (CSRF).

A browser repeats the credentials of HTTP Basic by itself, for each form, image and link of any page, and a
proxy adds its header to each request.
"""

from collections.abc import Iterator
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from idstore.errors import NotPermitted, SignInRequired
from idstore.web_addresses import address_parts

_ANTICIPATIONS: Final = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")
"""Headers of browsers that load what a user may want next."""
OWN_ORIGIN: Final = {"Cross-Origin-Resource-Policy": "same-origin"}
"""Header of answers to parties that signed in: a browser shows them to no page of another site."""
_OWN_SITES: Final = ("same-origin", "none")
_PORTS: Final = {"http": 80, "https": 443}


def is_cross_site(scope: Scope) -> bool:
    """Return whether a browser says that a page of another site caused a request."""
    headers = Headers(scope=scope)
    site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    if site is not None or origin is None:
        return site not in (None, *_OWN_SITES)
    return origin.lower().partition("://")[2] != headers.get("Host", "").lower()


def check_deliberate(request: Request, pages: tuple[str, ...]) -> None:
    """Raise NotPermitted if another page may have caused a request.

    That is a page of another origin, a foreign link, or a prefetch.

    pages  paths of own pages that lead to changes. On other pages of the server stand links that any party
           set.
    """
    reason = next(_objections(request, pages), None)
    if reason is not None:
        raise NotPermitted(
            f"{reason}; a change is made by a client with credentials, or on the page of the registry"
        )


def check_explicit(request: Request) -> None:
    """Raise SignInRequired unless the request itself carries the credentials.

    A request over the store's socket needs none.
    """
    if request.client is not None and "Authorization" not in request.headers:
        raise SignInRequired("this interface needs a sign-in with each request; send a name and a token")


def _objections(request: Request, pages: tuple[str, ...]) -> Iterator[str]:
    headers = request.headers
    for name in _ANTICIPATIONS:
        if name in headers:
            yield f"the header {name} says that a browser loads this in advance"
    site = headers.get("Sec-Fetch-Site")
    if site not in (None, *_OWN_SITES):
        yield f"another site caused the request (Sec-Fetch-Site: {site})"
    sources = [(name, headers[name]) for name in ("Origin", "Referer") if name in headers]
    for name, value in sources:
        if not _is_own(value, request):
            yield f"the header {name} names another site"
    if site is None and not sources and _is_browser(request):
        yield "a browser that does not say which page caused the request may have been led here"
    if site == "same-origin" and "Referer" in headers and not _is_page(headers["Referer"], request, pages):
        yield "the link stands on a page where any party can set links"


def _is_browser(request: Request) -> bool:
    """Whether the request has the headers of a browser for people."""
    return "Accept-Language" in request.headers and request.headers.get("User-Agent", "").startswith(
        "Mozilla/"
    )


def _is_own(address: str, request: Request) -> bool:
    own = _origin(str(request.base_url))
    return own is not None and _origin(address) == own


def _is_page(address: str, request: Request, pages: tuple[str, ...]) -> bool:
    path = address_parts(address).path.removeprefix(request.scope.get("root_path", ""))
    return path in pages


def _origin(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an address; None if it has none."""
    parts = address_parts(address)
    port = parts.port or _PORTS.get(parts.scheme)
    return (parts.scheme, parts.hostname, port) if parts.hostname and port else None
