"""Signing in by a token, as a bearer or as the password of its party."""

from idstore.model.party import Party
from idstore.server.sign_in.caller import Caller
from idstore.server.sign_in.ways import Credentials
from idstore.tokens import TokenReader


class TokenWay:
    """Finds the party of a token; see `Way`. It reads a file of this machine, and waits for nothing."""

    def __init__(self, tokens: TokenReader) -> None:
        self._tokens = tokens

    async def find(self, credentials: Credentials) -> Caller | None:
        """Return the caller. Raises StoreUnavailable."""
        sent = credentials.authorization
        if sent is None or not sent.kind:
            return None
        token = self._tokens.find(sent.secret)
        if token is None or sent.name not in (None, token.party):
            return None
        return Caller(Party(token.party), token)
