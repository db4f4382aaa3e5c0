"""Failed sign-ins, counted by address and by name."""

import hashlib
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from idstore.errors import TooManyAttempts
from idstore.server.sign_in.names import canonical
from idstore.server.sign_in.networks import network

ATTEMPTS: Final = 10
"""Failures within `WINDOW` after which an address is refused, or a name for the addresses that failed."""
WINDOW: Final = 60.0
"""Seconds from the first failure until the counting starts again."""
_KEPT: Final = 20_000
"""Counters of addresses and names; beyond that the oldest is dropped."""


class Attempts:
    """Counts failed sign-ins, in one thread. It keeps hashes of addresses and names, with a key of its own.

    An address with `ATTEMPTS` failures is refused. A name with as many, from any addresses, is refused to
    each address that failed: the party itself, at another address, can still sign in. All addresses of a
    network of IPv6 count as one, and all spellings of a name.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._failures: OrderedDict[bytes, tuple[float, int]] = OrderedDict()

    def check(self, address: str, name: str | None) -> None:
        """Raise TooManyAttempts if an address, or a name at this address, failed too often."""
        if not self._failures:
            return
        count, rest = self._failures_of(address)
        if name is not None and 0 < count < ATTEMPTS:
            count, rest = self._failures_of(address, name)
        if count >= ATTEMPTS:
            seconds = math.ceil(rest)
            raise TooManyAttempts(
                f"too many failed sign-ins; try again in {seconds} seconds", retry_after=seconds
            )

    def count(self, address: str, name: str | None) -> None:
        """Count a failure."""
        now = self._clock()
        for key in self._keys(address, name):
            start, count = self._failures.get(key, (now, 0))
            if now - start >= WINDOW:
                del self._failures[key]
                start, count = now, 0
            self._failures[key] = start, count + 1
        while len(self._failures) > _KEPT:
            self._failures.popitem(last=False)

    def _failures_of(self, address: str, name: str | None = None) -> tuple[int, float]:
        """Return the failures of a name, or else of an address, and the seconds until they are forgotten."""
        start, count = self._failures.get([*self._keys(address, name)][-1], (0.0, 0))
        rest = start + WINDOW - self._clock()
        return (count, rest) if rest > 0 else (0, 0.0)

    def _keys(self, address: str, name: str | None) -> list[bytes]:
        texts = [f"address {network(address)}"]
        texts += [] if name is None else [f"name {canonical(name) or name}"]
        return [hashlib.blake2b(text.encode(), key=self._key, digest_size=16).digest() for text in texts]
