"""Signing in by an access token of an OpenID provider."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from idstore.errors import SignInUnavailable
from idstore.model.party import Party
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.provider import Provider
from idstore.server.sign_in.ways import BEARER, Credentials

T = TypeVar("T")

_JWT: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+")
"""Three parts in base64url: a token of the server's own has none of the dots."""
_THREADS: Final = 16
_WAITING: Final = 64
"""Questions that run or wait; each ends in time."""


class ProviderThreads:
    """Threads that ask the provider, so that it holds up no other request."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "openid")
        self._asking = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of a question. Raises what it raises; SignInUnavailable: too many wait."""
        if self._asking >= _WAITING:
            raise SignInUnavailable("too many sign-ins at a time; try again later", retry_after=5)
        self._asking += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._asking -= 1


class OpenIdWay:
    """Finds the party of a bearer token of the provider; see `Way`."""

    def __init__(self, provider: Provider, threads: ProviderThreads) -> None:
        self._provider, self._threads = provider, threads

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller. Raises SignInUnavailable."""
        sent = credentials.authorization
        if sent is None or sent.kind != BEARER or not _JWT.fullmatch(sent.secret):
            return None
        token = sent.secret
        person = await self._threads.run(lambda: self._provider.bearer(token))
        return None if person is None else Caller(Party(person.name, person.groups), is_elsewhere=True)
