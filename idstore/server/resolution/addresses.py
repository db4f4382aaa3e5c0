"""The addresses of identifiers below a server, as written forms of the identifiers.

The path of a request is percent-decoded once, before it comes here.
"""

from typing import Final
from urllib.parse import quote

from idstore.schemes.puid import DEFAULT_TYPES

PUID_TYPES: Final = tuple(f"{prefix}{code}" for code in DEFAULT_TYPES for prefix in ("", "x-"))
"""First segments of addresses as https://pronom.nationalarchives.gov.uk/fmt/18 has them."""
_ARTICLES: Final = "https://journals.scholarsportal.info/details/"


def handle(path: str) -> str:
    """Return the handle at ``/hdl/PATH``, as PILIN's resolver had it, or ``/handle/PATH``.

    >>> handle("102.100.272/0N8J991QH")
    'hdl:102.100.272/0N8J991QH'
    """
    return f"hdl:{path}"


def puid(path: str) -> str:
    """Return the PUID at ``/pronom/PATH``.

    >>> puid("x-fmt/111")
    'info:pronom/x-fmt/111'
    """
    return f"info:pronom/{path}"


def typed_puid(type: str, path: str) -> str:
    """Return the PUID at ``/TYPE/PATH``.

    >>> typed_puid("fmt", "18")
    'info:pronom/fmt/18'
    """
    return puid(f"{type}/{path}")


def article(path: str) -> str:
    """Return the article at ``/details/PATH``, or with the path as parameter ``uri``.

    >>> article("/19360851/v04i0010/6153_dsognooinira.xml")
    'https://journals.scholarsportal.info/details/19360851/v04i0010/6153_dsognooinira.xml'
    """
    return _ARTICLES + quote(path.removeprefix("/"))


def named(namespace: str, label: str) -> str:
    """Return the identifier at ``/id/NAMESPACE/LABEL``.

    >>> named("rdl", "R3732211754")
    'rdl:R3732211754'
    """
    return f"{namespace}:{label}"
