"""Ways to sign in, and the credentials that they look at."""

import base64
import binascii
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from starlette.datastructures import Headers
from starlette.types import Scope

from idstore.server.sign_in.caller import Caller

BEARER: Final = "bearer"
BASIC: Final = "basic"
_AUTHORIZATION: Final = "Authorization"


@dataclass(frozen=True, slots=True)
class Authorization:
    """What the header ``Authorization`` says; without a kind and a secret if it cannot be read.

    kind    `BEARER` or `BASIC`.
    name    the name as it was typed, None for a bearer token.
    """

    kind: str = ""
    name: str | None = None
    secret: str = ""

    def __repr__(self) -> str:
        """Keep name and secret out of logs and traces."""
        return f"Authorization({self.kind!r})"


class Credentials:
    """What a request brings to sign in with.

    headers    those of the request.
    is_secure  whether the request came over HTTPS.
    peer       address at the other end of the connection: that of a reverse proxy, where there is one. Empty
               for the store's socket.
    """

    def __init__(self, scope: Scope) -> None:
        self.headers = Headers(scope=scope)
        self.is_secure = scope["scheme"] == "https"
        self.peer = str(scope.get("state", {}).get("peer") or "")

    @cached_property
    def authorization(self) -> Authorization | None:
        """What the header ``Authorization`` says, None without that header."""
        sent = self.headers.getlist(_AUTHORIZATION)
        if not sent:
            return None
        return Authorization() if len(sent) > 1 else _read(sent[0])


class Way(Protocol):
    """A way to sign in."""

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller; None if the way knows no party by these credentials.

        It blocks no other request: what waits for another system waits in threads of its own.
        Raises SignInUnavailable: it cannot be known at the moment. NotPermitted: they may not be used so.
        """


def _read(text: str) -> Authorization:
    kind, _, value = text.partition(" ")
    if kind.lower() == BEARER:
        return Authorization(BEARER, None, value.strip())
    if kind.lower() == BASIC:
        with suppress(binascii.Error, UnicodeError):
            name, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
            return Authorization(BASIC, name, secret)
    return Authorization()
