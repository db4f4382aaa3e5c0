"""Bases whose host is ours: identifiers at the addresses that their own IRIs are.

A browser keeps the fragment of ``http://rdl.example.org/data#R3732211754`` to itself, so that the server is
asked for ``/data``, the document of the whole namespace.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.types import Scope

from idstore.errors import InvalidData
from idstore.model.namespace import Namespace

_HOST: Final = re.compile(r"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_PROTOCOLS: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class ResolutionSettings:
    """The table ``[resolution]``.

    hosts           hosts of bases that this server answers for: ``rdl.example.org``, with a port
                    ``localhost:8155``.
    country_header  header in which the reverse proxy tells the country of a client, in two letters, for
                    handles with several locations; empty: the country is unknown.
    """

    hosts: tuple[str, ...] = ()
    country_header: str = ""

    def __post_init__(self) -> None:
        """Raise InvalidData for a text that is no host."""
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise InvalidData(
                    f"hosts: {host!r} is no host; write its name alone, in small letters: rdl.example.org",
                    host=host,
                )


def named(scope: Scope) -> frozenset[str]:
    """Return the host that a request names, with and without its port."""
    host = Headers(scope=scope).get("host", "").lower()
    return frozenset({host, re.sub(":[0-9]*$", "", host)})


def place(spaces: Iterable[Namespace], hosts: Iterable[str], path: str) -> Namespace | str:
    """Return the namespace whose document a path is, or the IRI of an identifier.

    hosts  the names that the host of the request may have in bases.
    path   percent-decoded.
    """
    documents = [f"{protocol}://{host}{path}" for host in sorted(hosts) for protocol in _PROTOCOLS]
    bases = {unquote(base): space for space in spaces for base in space.bases}
    for document in documents:
        if found := bases.get(f"{document}#") or bases.get(document):
            return found
    below = [one for one in documents if any(one.startswith(base) for base in bases)]
    protocol, _, rest = (below or documents)[0].partition("://")
    return f"{protocol}://{quote(rest, safe='/:@!$&()*+,;=~[]')}"
