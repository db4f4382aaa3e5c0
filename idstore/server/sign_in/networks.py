"""Which addresses of clients count as one, wherever something is limited for an address."""

import ipaddress
from contextlib import suppress
from functools import lru_cache
from typing import Final

_BITS: Final = 64
"""Bits of an IPv6 address that are one network: who has one address of it has them all."""


@lru_cache(maxsize=1024)
def network(address: str) -> str:
    """Return the network of an IPv6 address, any other address unchanged.

    >>> network("2001:db8::1"), network("fe80::1%eth0"), network("192.0.2.1"), network("localhost")
    ('2001:db8::/64', 'fe80::/64', '192.0.2.1', 'localhost')
    >>> network("::ffff:192.0.2.1")
    '192.0.2.1'
    """
    with suppress(ValueError):
        parsed = ipaddress.ip_address(address)
        if isinstance(parsed, ipaddress.IPv6Address):
            mapped = parsed.ipv4_mapped
            return str(mapped or ipaddress.ip_network((int(parsed), _BITS), strict=False))
    return address
