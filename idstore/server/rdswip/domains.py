"""The RdsWipDomains page: the bases that identifiers may be allocated against, as a page and as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyoxigraph import RdfFormat, serialize
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from idstore.documents import namespace_json
from idstore.errors import InvalidData, NotAcceptable, UnknownScheme
from idstore.model.namespace import Namespace
from idstore.model.party import NOBODY, Party
from idstore.registry import Registry
from idstore.registry.allocation import may_allocate
from idstore.schemes import Deriving
from idstore.server import pages
from idstore.server.accept import preferred
from idstore.server.performer import Performer
from idstore.vocabulary import PREFIXES

PATH: Final = "/RdsWipDomains"
_HEADERS: Final = {
    "Cache-Control": "private, no-store",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}
_MEDIA_TYPES: Final = {"text/html": "html", "application/json": "json", "text/turtle": "turtle"}
"""Formats by media type. Of types that a client accepts equally, the first one is chosen."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A namespace, and whether the asking party may allocate in it."""

    namespace: Namespace
    permitted: bool

    @property
    def particulars(self) -> dict[str, str]:
        """What its owner says of it."""
        return dict(self.namespace.particulars)

    @property
    def title(self) -> str:
        """What its scheme says of itself."""
        return self.namespace.scheme.title


def domains(registry: Registry) -> list[Namespace]:
    """Return the namespaces that clients of this interface can allocate in, by name.

    Their base ends in ``#``, they are not frozen, and their labels need no metadata.
    """
    return [space for space in registry.namespaces() if _is_domain(space)]


def _is_domain(space: Namespace) -> bool:
    try:
        return space.base.endswith("#") and not space.frozen and not isinstance(space.scheme, Deriving)
    except UnknownScheme:
        return False


def domains_for(registry: Registry, party: Party) -> list[Domain]:
    """Return the domains, each with whether a party may allocate in it."""
    facts = registry.store.read(lambda view: registry.core.party_facts(view, party))
    return [Domain(space, party != NOBODY and may_allocate(space, facts)) for space in domains(registry)]


async def page(performer: Performer, request: Request) -> Response:
    """Answer with the page, or with the data in another format. Raises InvalidData: an unknown format."""
    format = _format(request)
    party = request.state.caller.party
    found = await performer.run(request, "namespaces", lambda: domains_for(performer.registry, party))
    if format == "json":
        return JSONResponse({"domains": [_document(one, party) for one in found]}, headers=_HEADERS)
    if format == "turtle":
        return Response(_turtle(found), headers=_HEADERS, media_type="text/turtle; charset=utf-8")
    return pages.page(request, "rdswip_domains.html", headers=_HEADERS, domains=found)


def _document(domain: Domain, party: Party) -> dict[str, Any]:
    document: dict[str, Any] = {**namespace_json(domain.namespace)}
    return document if party == NOBODY else {**document, "mayAllocate": domain.permitted}


def _turtle(found: Sequence[Domain]) -> bytes:
    triples = (quad.triple for one in found for quad in one.namespace.quads())
    text = serialize(triples, format=RdfFormat.TURTLE, prefixes=PREFIXES)
    assert text is not None
    return text


def _format(request: Request) -> str:
    """Return the format of the answer: the one that is asked for, else the one that the client prefers.

    Raises InvalidData, NotAcceptable.
    """
    asked = request.query_params.get("format")
    if asked is not None:
        if asked not in _MEDIA_TYPES.values():
            raise InvalidData(
                f"{asked!r} is no format here; use one of {', '.join(_MEDIA_TYPES.values())}", format=asked
            )
        return asked
    best = preferred(request.headers, tuple(_MEDIA_TYPES))
    if best is None:
        raise NotAcceptable(f"the domains have no such media type; accept one of {', '.join(_MEDIA_TYPES)}")
    return _MEDIA_TYPES[best]
