"""Sign-in to the Handle API: the user name ``INDEX:HANDLE``, and a token as the password.

The name is percent-encoded, because the first ``:`` ends it: ``300%3A12345/alice:ids_…``. Clients that do not
encode it send ``300:12345/alice:ids_…``. No password of this server has a ``/`` before a ``:``, so that the
two forms cannot be confused.
"""

import base64
import binascii
import re
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

from starlette.types import Scope

_BASIC: Final = re.compile(rb"basic +(?P<sent>[A-Za-z0-9+/=]+) *", re.IGNORECASE)
_UNENCODED: Final = re.compile(r"(?P<user>[0-9]{1,10}:[^/:]+/.+):(?P<secret>[^:/]+)", re.ASCII | re.DOTALL)
UNSUPPORTED: Final = "handle_sign_in"
"""Key of the request's state: whether it signs in by a method that is not supported."""


def user_in(scope: Scope) -> tuple[str, str] | None:
    """Return user name and password of a request whose user name is ``INDEX:HANDLE``; None for other ones."""
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    found = _BASIC.fullmatch(sent[0]) if len(sent) == 1 else None
    if found is None:
        return None
    with suppress(binascii.Error, UnicodeError):
        text = base64.b64decode(found["sent"], validate=True).decode()
        unencoded = _UNENCODED.fullmatch(text)
        if unencoded is not None:
            return unencoded["user"], unencoded["secret"]
        user, _, secret = text.partition(":")
        return (unquote(user, errors="strict"), secret) if ":" in unquote(user, errors="strict") else None
    return None


def set_user(scope: Scope, party: str, secret: str) -> None:
    """Let a request sign in as a party."""
    basic = b"Basic " + base64.b64encode(f"{party}:{secret}".encode())
    scope["headers"] = [*_others(scope), (b"authorization", basic)]


def set_unsupported(scope: Scope) -> bool:
    """Remove a sign-in by the method ``Handle``, and mark the request. Return whether there was one."""
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    uses = any(value.lower().startswith(b"handle ") for value in sent)
    if uses:
        scope["headers"] = _others(scope)
        scope.setdefault("state", {})[UNSUPPORTED] = True
    return uses


def _others(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in scope["headers"] if name != b"authorization"]
