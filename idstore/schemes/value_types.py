"""What is common to the values of all handles: types and how they compare, indexes, permissions, times to live.

Apart from `idstore.schemes.handle_values`, so that who reads records need not read what the predefined types hold.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from idstore.errors import InvalidData
from idstore.schemes._text import ascii_upper

URL: Final = "URL"
ALIAS: Final = "HS_ALIAS"
ADMIN: Final = "HS_ADMIN"
LIST: Final = "HS_VLIST"
SECRET: Final = "HS_SECKEY."  # noqa: S105 the type of a secret and its subtypes, not one
LOCATIONS: Final = "10320/loc"

HIGHEST: Final = 2**31 - 1
"""The highest index: a positive 32-bit integer."""
TTL: Final = 86_400
"""Seconds that a value may be kept by whoever resolved it, unless it says otherwise."""
PERMISSIONS: Final = "1110"
"""A value's permissions unless it says otherwise: all but public writing."""
PERMITTED: Final = ("admin_read", "admin_write", "public_read", "public_write")
"""A value's permissions, in the order of their text; the first is the highest of four bits."""


def permissions_of(text: str) -> str:
    """A value's four permissions: digits, or the names of those given, joined by commas. Raises InvalidData."""
    names = [name.strip() for name in text.split(",")]
    if set(names) <= set(PERMITTED):
        return "".join("1" if name in names else "0" for name in PERMITTED)
    if len(text) == len(PERMITTED) and set(text) <= {"0", "1"}:
        return text
    raise InvalidData(f"{text!r} are no permissions of a value; write four digits for {', '.join(PERMITTED)}, as in 1110", text=text)


def permissions_byte(permissions: str) -> int:
    """A value's permissions as the protocol sends them: public writing is the lowest bit.

    >>> permissions_byte("1110"), permissions_byte("1100")
    (14, 12)
    """
    return int(permissions, 2)


def index_of(text: str, lowest: int = 1) -> int:
    """An index. Raises InvalidData."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST)) and lowest <= int(text) <= HIGHEST:
        return int(text)
    raise InvalidData(f"the index {text!r} must be a whole number from {lowest} to {HIGHEST}", index=text)


def ttl_of(text: str) -> int:
    """A time to live in seconds. Raises InvalidData."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST)) and int(text) <= HIGHEST:
        return int(text)
    raise InvalidData(f"the time to live {text!r} must be a whole number of seconds, up to {HIGHEST}", ttl=text)


def is_type(asked: str, type: str) -> bool:
    """Whether a value's type is the one that was asked for; behind a dot also its subtypes.

    >>> is_type("url", "URL"), is_type("URL.", "URL.1"), is_type("URL", "URL.1"), is_type("URL.", "URLS")
    (True, True, False, False)
    """
    wanted, found = ascii_upper(asked), ascii_upper(type)
    return found == wanted or (wanted.endswith(".") and (found.startswith(wanted) or f"{found}." == wanted))


def check_type(type: str) -> str:
    """A value's type: visible characters. Raises InvalidData."""
    if not type or not type.isprintable() or any(c.isspace() for c in type):
        raise InvalidData(f"{type!r} is no type of a value; write URL, EMAIL, DESC or another word without spaces", type=type)
    return type


def asked_for(types: Sequence[str], indexes: Iterable[int], index: int, type: str) -> bool:
    """Whether a value is asked for: by its index or by its type; where neither is asked for, every one is."""
    wanted = set(indexes)
    return not (types or wanted) or index in wanted or any(is_type(one, type) for one in types)
