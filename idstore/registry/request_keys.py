"""The claim nodes of request keys: a key is one text of one party, or of all, in one namespace."""

from functools import cache
from typing import Final

from pyoxigraph import NamedNode

from idstore.schemes import Deriving, scheme
from idstore.vocabulary import SPACE

REQUESTS: Final = f"{SPACE}request/"
"""Prefix of the IRIs of request key nodes."""


def key_node(owner: str, base: str, key: str) -> NamedNode:
    """Return the claim node of a key.

    owner  name of the party whose key it is; empty for a key that all parties share, such as a DOI.
    base   of the namespace.
    """
    return NamedNode(REQUESTS + short_hash(f"{owner}\0{base}\0{key}"))


def short_hash(text: str) -> str:
    """Return 32 hexadecimal digits of SHA-256."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def deriving(name: str) -> Deriving | None:
    """Return the scheme of that name if it derives labels.

    Cached, because each request asks and the lookup is slow. Raises UnknownScheme.
    """
    code = scheme(name)
    return code if isinstance(code, Deriving) else None
