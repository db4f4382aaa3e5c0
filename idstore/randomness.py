"""Numbers that nobody can foresee, from the system.

As the standard library's ``secrets``, which imports cryptography that takes longer to load than an identifier to allocate.
"""

import os
import threading
from typing import Final

_STOCK: Final = 512
"""Bytes that a thread fetches at once: each call of the system takes as long as a hundred steps of the interpreter."""


class _Stock(threading.local):
    """Bytes from the system that this thread has not used yet; each is given once."""

    def __init__(self) -> None:
        self.empty()

    def empty(self) -> None:
        self._bytes, self._used = b"", 0

    def take(self, length: int) -> bytes:
        if self._used + length > len(self._bytes):
            self._bytes, self._used = os.urandom(max(length, _STOCK)), 0
        self._used = end = self._used + length
        return self._bytes[end - length : end]


_OWN: Final = _Stock()
os.register_at_fork(after_in_child=_OWN.empty)  # or parent and child would draw the same


def bits(count: int) -> int:
    """A number of so many bits, each number being equally likely."""
    length = (count + 7) // 8
    return int.from_bytes(_OWN.take(length), "big") >> (8 * length - count)


def below(limit: int) -> int:
    """A number from 0 to below ``limit``, each being equally likely."""
    count = limit.bit_length()
    while (drawn := bits(count)) >= limit:
        pass
    return drawn


def uuid() -> str:
    """A random UUID (version 4, RFC 9562)."""
    from uuid import UUID  # itself slow to import

    return str(UUID(bytes=_OWN.take(16), version=4))


def word(length: int) -> str:
    """Hexadecimal digits for so many bytes."""
    return _OWN.take(length).hex()
