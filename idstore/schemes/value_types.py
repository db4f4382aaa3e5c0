"""Types of handle values and their comparison, indexes, permissions, times to live.

Separate from `idstore.schemes.handle_values`, so that reading a record does not import the predefined types.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from idstore.characters import ascii_upper
from idstore.errors import InvalidData

URL: Final = "URL"
ALIAS: Final = "HS_ALIAS"
ADMIN: Final = "HS_ADMIN"
LIST: Final = "HS_VLIST"
SECRET: Final = "HS_SECKEY."  # noqa: S105 the type of a secret and its subtypes, not one
LOCATIONS: Final = "10320/loc"
NAMESPACE: Final = "HS_NAMESPACE"

HIGHEST: Final = 2**31 - 1
"""The highest index: a positive 32-bit integer."""
TTL: Final = 86_400
"""Default time to live of a value, in seconds."""
PERMISSIONS: Final = "1110"
"""Default permissions of a value: all except public writing."""
PERMITTED: Final = ("admin_read", "admin_write", "public_read", "public_write")
"""The permissions of a value, in the order of their digits; the first is the highest of four bits."""


def permissions_of(text: str) -> str:
    """Return the permissions as four digits, from digits or from names joined by commas.

    Raises InvalidData.
    """
    names = [name.strip() for name in text.split(",")]
    if set(names) <= set(PERMITTED):
        return "".join("1" if name in names else "0" for name in PERMITTED)
    if len(text) == len(PERMITTED) and set(text) <= {"0", "1"}:
        return text
    raise InvalidData(
        f"{text!r} is not a set of permissions; write four digits for {', '.join(PERMITTED)}, as in 1110",
        text=text,
    )


def permissions_byte(permissions: str) -> int:
    """Return permissions in the binary form of the protocol, where public writing is the lowest bit.

    >>> permissions_byte("1110"), permissions_byte("1100")
    (14, 12)
    """
    return int(permissions, 2)


def index_of(text: str, lowest: int = 1) -> int:
    """Return an index. Raises InvalidData."""
    if (
        text.isascii()
        and text.isdigit()
        and len(text) <= len(str(HIGHEST))
        and lowest <= int(text) <= HIGHEST
    ):
        return int(text)
    raise InvalidData(f"the index {text!r} must be a whole number from {lowest} to {HIGHEST}", index=text)


def ttl_of(text: str) -> int:
    """Return a time to live in seconds. Raises InvalidData."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST)) and int(text) <= HIGHEST:
        return int(text)
    raise InvalidData(
        f"the time to live {text!r} must be a whole number of seconds, up to {HIGHEST}", ttl=text
    )


@lru_cache(maxsize=256)
def is_type(wanted: str, type: str) -> bool:
    """Whether a value's type is the wanted one, without ASCII case; with a final dot, also a subtype of it.

    >>> is_type("url", "URL"), is_type("URL.", "URL.1"), is_type("URL", "URL.1"), is_type("URL.", "URLS")
    (True, True, False, False)
    """
    name, actual = ascii_upper(wanted), ascii_upper(type)
    return actual == name or (name.endswith(".") and (actual.startswith(name) or f"{actual}." == name))


def check_type(type: str) -> str:
    """Return a type, which must consist of visible characters. Raises InvalidData."""
    if not type or not type.isprintable() or any(c.isspace() for c in type):
        raise InvalidData(
            f"{type!r} is not a type of values; write URL, EMAIL, DESC or another word without spaces",
            type=type,
        )
    return type


def is_requested(types: Sequence[str], indexes: Iterable[int], index: int, type: str) -> bool:
    """Whether a request by types or indexes includes a value.

    A request without either includes all values.
    """
    requested = set(indexes)
    return not (types or requested) or index in requested or any(is_type(wanted, type) for wanted in types)
