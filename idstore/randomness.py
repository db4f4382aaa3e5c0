"""Numbers that nobody can foresee, from the system.

As the standard library's ``secrets``, which imports cryptography that takes longer to load than an identifier to allocate.
"""

import os


def bits(count: int) -> int:
    """A number of so many bits, each number being equally likely."""
    length = (count + 7) // 8
    return int.from_bytes(os.urandom(length), "big") >> (8 * length - count)


def below(limit: int) -> int:
    """A number from 0 to below ``limit``, each being equally likely."""
    count = limit.bit_length()
    while (drawn := bits(count)) >= limit:
        pass
    return drawn


def word(length: int) -> str:
    """Hexadecimal digits for so many bytes."""
    return os.urandom(length).hex()
