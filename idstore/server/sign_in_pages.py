"""Pages on which people sign in by an OpenID provider, and out again."""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from idstore.errors import IdstoreError, InvalidData, NotPermitted
from idstore.remedies import Remedy
from idstore.server import problems
from idstore.server.form_parameters import read_parameters
from idstore.server.interfaces import Interface
from idstore.server.location import origin
from idstore.server.pages import page
from idstore.server.request_body import check_size
from idstore.server.sign_in.openid import OpenId
from idstore.server.sign_in.openid_way import OpenIdWay, ProviderThreads
from idstore.server.sign_in.provider import Provider
from idstore.server.sign_in.sessions import Sessions, SessionSettings, SessionWay
from idstore.server.sign_in.ways import Way

SIGN_IN: Final = "/sign-in"
CALLBACK: Final = f"{SIGN_IN}/callback"
SIGN_OUT: Final = "/sign-out"
_FORM_BYTES: Final = 4096
"""Bytes of the form that ends a session."""
_PRIVATE: Final = {"Cache-Control": "private, no-store"}


@dataclass(frozen=True, slots=True)
class OpenIdParts:
    """What a server needs to sign people in by a provider."""

    pages: Interface
    ways: list[Way]


def openid_parts(settings: OpenId, session_settings: SessionSettings | None) -> OpenIdParts:
    """Return the pages and the ways for a provider. Raises InvalidData: the sessions have no settings."""
    if session_settings is None:
        raise InvalidData(
            "[openid] needs the table [sessions] with a secret_file, which signs the cookies of browsers;"
            " add it",
            field="sessions",
        )
    provider, threads, sessions = Provider(settings), ProviderThreads(), Sessions(session_settings)
    return OpenIdParts(
        interface(provider, threads, sessions), [OpenIdWay(provider, threads), SessionWay(sessions)]
    )


class SignInPages:
    """Begins and ends sessions."""

    def __init__(self, provider: Provider, threads: ProviderThreads, sessions: Sessions) -> None:
        self._provider, self._threads, self._sessions = provider, threads, sessions

    async def begin(self, request: Request) -> Response:
        """Send a person to the provider. Raises SignInUnavailable."""
        begun = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        begun["next"] = _local(request.query_params.get("next", "/"), request.scope["root_path"])
        address = await self._threads.run(
            lambda: self._provider.address(
                _callback(request), begun["state"], begun["nonce"], begun["verifier"]
            )
        )
        response = RedirectResponse(address, HTTPStatus.SEE_OTHER, _PRIVATE)
        self._sessions.remember(response, begun, secure=_secure(request))
        return response

    async def finish(self, request: Request) -> Response:
        """Begin a session for the person whom the provider sends back.

        Raises NotPermitted, SignInUnavailable.
        """
        given, begun = request.query_params, self._sessions.begun(request.headers, secure=_secure(request))
        state = given.get("state", "").encode()
        if begun is None or not hmac.compare_digest(state, begun["state"].encode()):
            raise NotPermitted(
                "this sign-in began in another browser, or too long ago; sign in again", remedy=Remedy.SIGN_IN
            )
        if "code" not in given:
            raise NotPermitted(
                f"the provider refused the sign-in ({given.get('error', 'no code')}); sign in again",
                remedy=Remedy.SIGN_IN,
            )
        person = await self._threads.run(
            lambda: self._provider.person(
                _callback(request), given["code"], begun["nonce"], begun["verifier"]
            )
        )
        response = RedirectResponse(
            f"{request.scope['root_path']}{begun['next']}", HTTPStatus.SEE_OTHER, _PRIVATE
        )
        self._sessions.forget(response, secure=_secure(request))
        self._sessions.begin(response, person, secure=_secure(request))
        return response

    async def sign_out(self, request: Request) -> Response:
        """Answer the page, or its form. Raises as `end`."""
        return await (self.end(request) if request.method == "POST" else self.ask(request))

    async def ask(self, request: Request) -> Response:
        """Return the page with the form that ends the session."""
        return page(request, "sign_out.html", token=self._form_token(request))

    async def end(self, request: Request) -> Response:
        """End the session here and at the provider.

        Raises NotPermitted: the form is not of this session; RequestTooLarge, InvalidData.
        """
        check_size(len(request.state.body), _FORM_BYTES)
        sent = dict(read_parameters(request.state.body, "the form"))
        if not hmac.compare_digest(sent.get("token", "").encode(), self._form_token(request).encode()):
            raise NotPermitted("the form is not one of this session; open the page again")
        back = f"{origin(request)}/"
        address = await self._threads.run(lambda: self._provider.end_address(back))
        response = RedirectResponse(address or back, HTTPStatus.SEE_OTHER, _PRIVATE)
        self._sessions.end(request.headers, response, secure=_secure(request))
        return response

    def _form_token(self, request: Request) -> str:
        return self._sessions.form_token(request.headers, secure=_secure(request))


def interface(provider: Provider, threads: ProviderThreads, sessions: Sessions) -> Interface:
    """Return the interface."""
    pages = SignInPages(provider, threads, sessions)
    return Interface(
        (SIGN_IN, SIGN_OUT),
        [
            Route(SIGN_IN, _told(pages.begin), name="sign in"),
            Route(CALLBACK, _told(pages.finish), name="sign in"),
            Route(SIGN_OUT, _told(pages.sign_out), methods=["GET", "POST"], name="sign out"),
        ],
        problems.response,
        problems.no_route,
    )


def _told(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that shows errors on a page."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except IdstoreError as error:
            told = problems.response(error)
            headers = {name: told.headers[name] for name in ("retry-after",) if name in told.headers}
            return page(
                request, "sign_in_refusal.html", told.status_code, headers, message=problems.message(error)
            )

    return answer


def _callback(request: Request) -> str:
    return f"{origin(request)}{CALLBACK}"


def _secure(request: Request) -> bool:
    return bool(request.scope["scheme"] == "https")


def _local(path: str, prefix: str) -> str:
    r"""Return a path of this server without its prefix; the start page for anything else.

    >>> _local("/id/rdl", ""), _local("/ids/id/rdl", "/ids"), _local("//example.org", "")
    ('/id/rdl', '/id/rdl', '/')
    >>> _local("/\\example.org", ""), _local("/ids//example.org", "/ids"), _local("https://example.org/", "")
    ('/', '/', '/')
    """
    if prefix and path.startswith(f"{prefix}/"):
        path = path.removeprefix(prefix)
    is_path = path.startswith("/") and not path.startswith("//") and path.isprintable() and "\\" not in path
    return path if is_path else "/"
