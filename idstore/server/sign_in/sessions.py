"""Sessions of browsers: a signed cookie that says who signed in, and how long that is valid."""

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response

from idstore.errors import InvalidData
from idstore.model.party import Party
from idstore.server.settings_file import Secret
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.openid import Person
from idstore.server.sign_in.ways import Credentials

try:
    from itsdangerous import BadData, URLSafeTimedSerializer
except ImportError:
    URLSafeTimedSerializer = None  # type: ignore[assignment,misc] # `OpenId` tells what is missing

_SESSION, _BEGUN = "session", "sign-in"
_PATIENCE: Final = 600
"""Seconds in which a person must end the sign-in at the provider."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The table ``[sessions]``.

    secret  signs the cookies; with another one, all sessions end.
    hours   how long a session is valid.
    """

    secret: Secret
    hours: float = 8.0

    def __post_init__(self) -> None:
        """Raise InvalidData for values that make no sense."""
        self.secret.check_length("secret_file")
        if not 0 < self.hours <= 24 * 30:
            raise InvalidData(
                f"hours: {self.hours:g} is not above 0 and at most 720; change it",
                field="hours",
                value=self.hours,
            )


class Sessions:
    """Writes and reads the cookies of sessions, and of sign-ins that have begun."""

    def __init__(self, settings: SessionSettings) -> None:
        self._seconds = int(settings.hours * 3600)
        self._secret = settings.secret.value.encode()
        self._ended = OrderedDict[str, float]()  # by the id of the session, in the order of their ends
        self._signers = {
            kind: URLSafeTimedSerializer(settings.secret.value, salt=f"idstore-{kind}")
            for kind in (_SESSION, _BEGUN)
        }

    def begin(self, response: Response, person: Person, *, secure: bool) -> None:
        """Add the cookie of a session to an answer."""
        content = {"n": person.name, "g": sorted(person.groups), "id": secrets.token_urlsafe(12)}
        self._set(response, _SESSION, content, self._seconds, secure=secure)

    def person(self, headers: Headers, *, secure: bool) -> Person | None:
        """Return who signed in, as far as a valid cookie says it."""
        content = self._session(headers, secure=secure)
        return None if content is None else Person(content["n"], frozenset(content["g"]))

    def form_token(self, headers: Headers, *, secure: bool) -> str:
        """Return the token of the forms of a session, which other sites cannot know."""
        cookie = _cookie(headers, _SESSION, secure=secure)
        return hmac.new(self._secret, f"form {cookie}".encode(), "sha256").hexdigest()

    def remember(self, response: Response, begun: dict[str, str], *, secure: bool) -> None:
        """Add the cookie of a sign-in that has begun."""
        self._set(response, _BEGUN, begun, _PATIENCE, secure=secure)

    def begun(self, headers: Headers, *, secure: bool) -> dict[str, str] | None:
        """Return the sign-in that has begun in this browser."""
        content = self._read(headers, _BEGUN, _PATIENCE, secure=secure)
        return content if isinstance(content, dict) else None

    def end(self, headers: Headers, response: Response, *, secure: bool) -> None:
        """End the session, and remove its cookie.

        A copy of the cookie is refused until the server restarts.
        """
        content, now = self._session(headers, secure=secure), time.monotonic()
        if content is not None:
            while self._ended and next(iter(self._ended.values())) <= now:
                self._ended.popitem(last=False)
            self._ended[content["id"]] = now + self._seconds
        self._remove(response, _SESSION, secure=secure)

    def forget(self, response: Response, *, secure: bool) -> None:
        """Remove the cookie of a sign-in that has begun."""
        self._remove(response, _BEGUN, secure=secure)

    def _session(self, headers: Headers, *, secure: bool) -> dict[str, Any] | None:
        """Return the content of a cookie that is valid and whose session has not ended."""
        content = self._read(headers, _SESSION, self._seconds, secure=secure)
        return content if isinstance(content, dict) and content["id"] not in self._ended else None

    def _set(self, response: Response, kind: str, content: object, seconds: int, *, secure: bool) -> None:
        response.set_cookie(
            _name(kind, secure=secure),
            self._signers[kind].dumps(content),
            max_age=seconds,
            secure=secure,
            httponly=True,
            samesite="lax",
        )

    def _remove(self, response: Response, kind: str, *, secure: bool) -> None:
        response.delete_cookie(_name(kind, secure=secure), secure=secure, httponly=True, samesite="lax")

    def _read(self, headers: Headers, kind: str, seconds: int, *, secure: bool) -> Any:
        try:
            return self._signers[kind].loads(_cookie(headers, kind, secure=secure), max_age=seconds)
        except BadData:
            return None


class SessionWay:
    """Finds the party of a browser's session; see `Way`. It changes nothing: see `Caller.check`."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller; None without a valid cookie, or where other credentials are sent."""
        if credentials.authorization is not None:
            return None
        person = self._sessions.person(credentials.headers, secure=credentials.is_secure)
        return (
            None
            if person is None
            else Caller(Party(person.name, person.groups), is_elsewhere=True, is_session=True)
        )


def _name(kind: str, *, secure: bool) -> str:
    """Return the name of a cookie; over HTTPS one that no other host of the domain can set."""
    return f"{'__Host-' if secure else ''}idstore-{kind}"


def _cookie(headers: Headers, kind: str, *, secure: bool) -> str:
    """Return the value of a cookie, an empty text without it. Cookies of other programs may be malformed."""
    return cookie_parser("; ".join(headers.getlist("cookie"))).get(_name(kind, secure=secure), "")
