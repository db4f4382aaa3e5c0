"""Signing in by name and password of an LDAP directory."""

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from concurrent.futures import Future
from threading import Thread
from typing import Final

from idstore.errors import SignInUnavailable
from idstore.model.party import Party
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.directory import Directory, Ldap, Member
from idstore.server.sign_in.names import canonical
from idstore.server.sign_in.ways import BASIC, Credentials
from idstore.tokens import is_token

_ASKING: Final = 64
"""Sign-ins that ask the directory at a time, each in a thread of its own."""
_KEPT: Final = 1000
"""Sign-ins that are cached."""


class DirectoryWay:
    """Asks a directory about name and password; see `Way`. Valid sign-ins are cached for seconds."""

    def __init__(self, settings: Ldap) -> None:
        self._settings = settings
        self._directory = Directory(settings)
        self._key = secrets.token_bytes(32)
        self._cached: OrderedDict[bytes, tuple[float, Member]] = OrderedDict()
        self._asking = 0

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller. Raises SignInUnavailable: the directory does not answer, or not in time."""
        sent = credentials.authorization
        if sent is None or sent.kind != BASIC or is_token(sent.secret):
            return None
        name = canonical(sent.name or "")
        if name is None or not sent.secret:
            return None
        key = self._hash(name, sent.secret)
        member = self._known(key)
        if member is None:
            begun = time.monotonic()
            member = await self._ask(name, sent.secret)
            if member is None:
                return None
            self._keep(key, begun, member)
        return Caller(Party(member.name, member.groups), is_elsewhere=True)

    async def _ask(self, name: str, password: str) -> Member | None:
        """Ask the directory in a thread. Raises SignInUnavailable."""
        if self._asking >= _ASKING:
            raise SignInUnavailable("too many sign-ins at a time; try again later", retry_after=5)
        answer: Future[Member | None] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._directory.find(name, password))
            except Exception as error:  # noqa: BLE001 # it is raised where the answer is awaited
                answer.set_exception(error)

        self._asking += 1
        loop = asyncio.get_running_loop()
        answer.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end_one))
        Thread(target=ask, name="directory", daemon=True).start()  # a server ends without waiting for it
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(answer)), self._settings.seconds)
        except TimeoutError:
            raise SignInUnavailable(
                "the directory that knows the passwords does not answer in time; try again later",
                retry_after=10,
            ) from None

    def _end_one(self) -> None:
        self._asking -= 1

    def _known(self, key: bytes) -> Member | None:
        end, member = self._cached.get(key, (0.0, None))
        return member if time.monotonic() < end else None

    def _keep(self, key: bytes, begun: float, member: Member) -> None:
        """Cache a member, from the moment when the directory was asked."""
        self._cached[key] = begun + self._settings.cached_seconds, member
        self._cached.move_to_end(key)
        while len(self._cached) > _KEPT:
            self._cached.popitem(last=False)

    def _hash(self, name: str, password: str) -> bytes:
        """Return the key of the cache, from which nothing can be read that was typed."""
        return hashlib.blake2b(f"{name}\0{password}".encode(), key=self._key, digest_size=32).digest()
