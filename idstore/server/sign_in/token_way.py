"""Signing in by a token, as a bearer or as the password of its party."""

import asyncio
import time
from typing import Final

from idstore.errors import StoreBusy
from idstore.model.party import Party
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.ways import Credentials
from idstore.tokens import Token, TokenReader

_WAIT: Final = 2.0
"""Seconds to wait for a process that changes the tokens: one that does so usually takes milliseconds."""
_INTERVAL: Final = 0.05
"""Seconds between two looks at the tokens in that time."""


class TokenWay:
    """Finds the party of a token; see `Way`. It reads a file of this machine."""

    def __init__(self, tokens: TokenReader) -> None:
        self._tokens = tokens

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller. Raises StoreUnavailable, StoreBusy."""
        sent = credentials.authorization
        if sent is None or not sent.kind:
            return None
        token = await self._token(sent.secret)
        if token is None or sent.name not in (None, token.party):
            return None
        return Caller(Party(token.party), token)

    async def _token(self, secret: str) -> Token | None:
        """Return the token with a secret. Raises StoreBusy: another process goes on changing the tokens."""
        end = time.monotonic() + _WAIT
        while True:
            try:
                return self._tokens.find(secret)
            except StoreBusy:
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(_INTERVAL)
