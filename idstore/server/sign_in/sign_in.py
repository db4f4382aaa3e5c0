"""Finds the caller of each request, by the ways to sign in that a server has."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import Scope

from idstore.errors import InvalidData, NotPermitted, SignInRequired, SignInUnavailable, TooManyAttempts
from idstore.model.party import NOBODY, Party
from idstore.remedies import Remedy
from idstore.server.cross_site import is_cross_site
from idstore.server.sign_in.attempts import Attempts
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.token_way import TokenWay
from idstore.server.sign_in.ways import Credentials, Way
from idstore.web_addresses import loops_back

USER_HEADER: Final = "Idstore-User"
"""Header that names the acting party, percent-encoded. The store's socket believes it; over TCP it must name
the party that signed in."""
_PROXY_HEADERS: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto")


class SignIn:
    """Finds the caller of a request.

    ways      are asked in this order; the first that knows a party decides.
    insecure  accept credentials over plain HTTP from other machines.
    """

    def __init__(self, ways: Sequence[Way], *, insecure: bool = False) -> None:
        self._ways, self._insecure = ways, insecure
        self._attempts = Attempts()

    async def caller(self, scope: Scope) -> Caller:
        """Return the caller.

        Raises SignInRequired, NotPermitted (plain HTTP), TooManyAttempts, SignInUnavailable, InvalidData.
        """
        user = _user(scope)
        caller = await self._find(scope)
        if user not in (None, caller.party.name):
            if caller.party == NOBODY:
                raise SignInRequired(f"acting as {user} needs a sign-in; give a token of that party")
            raise NotPermitted(
                f"{user} is not the party that signed in; sign in as {user}", remedy=Remedy.SIGN_IN
            )
        return replace(caller, is_cross_site=True) if is_cross_site(scope) else caller

    async def _find(self, scope: Scope) -> Caller:
        credentials = Credentials(scope)
        sent = credentials.authorization
        address = _address(scope)
        if sent is None:
            found = await self._ask(credentials, self._ways)
        else:
            self._check_secure(scope, address)
            found = await self._ask_seldom(credentials, address, sent.name)
            if found is None:
                self._attempts.count(address, sent.name)
                raise SignInRequired(
                    "the credentials are not valid here, or no longer; use a valid token",
                    remedy=Remedy.USE_VALID_TOKEN,
                )
        if found is None:
            return Caller(NOBODY)
        self._check_secure(scope, address)
        return found

    def _check_secure(self, scope: Scope, address: str) -> None:
        """Raise NotPermitted for credentials that others could read."""
        if not (self._insecure or scope["scheme"] == "https" or loops_back(address)):
            raise NotPermitted(
                "credentials are refused over plain HTTP, because others can read them on the way; use HTTPS,"
                " and a new token"
            )

    async def _ask_seldom(self, credentials: Credentials, address: str, name: str | None) -> Caller | None:
        """Return what `_ask` says, after many failures of tokens alone: nobody guesses one.

        Raises TooManyAttempts, SignInUnavailable.
        """
        try:
            self._attempts.check(address, name)
            found = await self._ask(credentials, self._ways)
            self._attempts.check(address, name)  # of guesses at the same time, no more are answered
        except TooManyAttempts:
            tokens = [way for way in self._ways if isinstance(way, TokenWay)]
            found = await self._ask(credentials, tokens)
            if found is None:
                raise
        return found

    async def _ask(self, credentials: Credentials, ways: Sequence[Way]) -> Caller | None:
        """Return what the first way says that knows a party. Raises SignInUnavailable."""
        unavailable: SignInUnavailable | None = None
        for way in ways:
            try:
                caller = await way.find(credentials)
            except SignInUnavailable as error:
                unavailable = error
            else:
                if caller is not None:
                    return caller
        if unavailable is not None:
            raise unavailable
        return None


class SocketSignIn:
    """Believes the name in a request over the store's socket: the file's permissions are the protection."""

    async def caller(self, scope: Scope) -> Caller:
        """Return the caller. Raises InvalidData."""
        user = _user(scope)
        return Caller(NOBODY if user is None else Party(user))


def _user(scope: Scope) -> str | None:
    """Return the party that a request names. Raises InvalidData."""
    names = Headers(scope=scope).getlist(USER_HEADER)
    if len(names) > 1:
        raise InvalidData(f"the header {USER_HEADER} stands twice; send it once", field=USER_HEADER)
    return unquote(names[0]) if names else None


def is_local(scope: Scope) -> bool:
    """Return whether a request comes from a process of this machine, and no proxy has passed it on."""
    if scope.get("client") is None:
        return True  # over the store's socket
    headers = Headers(scope=scope)
    return loops_back(_address(scope)) and not any(name in headers for name in _PROXY_HEADERS)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])
