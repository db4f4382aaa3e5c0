"""Typed links of a record: headers ``Link`` by FAIR Signposting, and sets of links.

Sources: FAIR Signposting Profile, 2023-10-02; RFC 8288 (web linking); RFC 9264 (link sets); RFC 8574
(``cite-as``); RFC 5829 (``successor-version``).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urljoin

from starlette.requests import Request

from idstore.model.namespace import Namespace
from idstore.model.record import Record
from idstore.server.location import origin
from idstore.server.resolution.negotiation import DATA, LINKSETS
from idstore.web_addresses import location

_NAMING: Final = ("id", "label", "uri")
"""Parameters that name an identifier: of ``/resolve``, ``/id/NAMESPACE`` and ``/details.xqy``."""
_ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class TypedLink:
    """A link from the address of an identifier; ``target`` may be relative to that address."""

    relation: str
    target: str
    type: str | None = None


def links(request: Request, record: Record, namespace: Namespace) -> list[TypedLink]:
    """Return the links of a record, which are the same in each of its formats."""
    asked = _naming(request)
    found = [TypedLink("cite-as", citable(record, namespace))]
    found += _formats(asked) if asked else _FORMATS
    licence = dict(namespace.particulars).get("licence")
    if licence and (address := location(licence)):
        found.append(TypedLink("license", address))
    if record.below is not None:
        found.append(TypedLink("collection", uri(record.below)))
    return found + [TypedLink("successor-version", uri(one)) for one in record.successors]


def citable(record: Record, namespace: Namespace) -> str:
    """Return the address by which a record is cited: its IRI, if that is one of the web, else a web form."""
    if address := location(record.iri):
        return address
    forms = namespace.scheme.written_forms(record.label, namespace.context)
    return next(filter(None, (location(form.text) for form in forms)), uri(record.iri))


def uri(iri: str) -> str:
    """Return an IRI in ASCII, as headers need it.

    >>> uri("https://example.org/straße"), uri("urn:example:ä")
    ('https://example.org/stra%C3%9Fe', 'urn:example:%C3%A4')
    """
    return location(iri) or quote(iri, safe=_ASCII)


def reference(request: Request, format: str) -> str:
    """Return the address of a record in a format, relative to that of the request."""
    return _reference(_naming(request), format)


def _naming(request: Request) -> dict[str, str]:
    """Return the parameters of a request that say which identifier it is about."""
    given = request.query_params
    return {name: given[name] for name in _NAMING if name in given}


def _reference(asked: Mapping[str, str], format: str) -> str:
    return f"?{urlencode({**asked, 'format': format})}"


def _formats(asked: Mapping[str, str]) -> tuple[TypedLink, ...]:
    """Return the links to a record in its formats."""
    data = [TypedLink("describedby", _reference(asked, one.name), one.media_type) for one in DATA]
    sets = [TypedLink("linkset", _reference(asked, one.name), one.media_type) for one in LINKSETS]
    return (*data, *sets)


_FORMATS: Final = _formats({})
"""These links where the address itself says which record."""


def header(found: Iterable[TypedLink]) -> str:
    """Return the value of a header ``Link``."""
    return ", ".join(_entries(found))


def linkset(request: Request, found: Sequence[TypedLink]) -> str:
    """Return a document ``application/linkset``, with absolute addresses."""
    here = address(request)
    return "".join(f"{entry}\n" for entry in _joined(_entries(_absolute(here, found), here)))


def linkset_json(request: Request, found: Sequence[TypedLink]) -> str:
    """Return a document ``application/linkset+json``, with absolute addresses."""
    here = address(request)
    context: dict[str, object] = {"anchor": here}
    for link in _absolute(here, found):
        target = {"href": link.target} | ({} if link.type is None else {"type": link.type})
        targets = context.setdefault(link.relation, [])
        assert isinstance(targets, list)
        targets.append(target)
    return json.dumps({"linkset": [context]}, indent=2) + "\n"


def address(request: Request) -> str:
    """Return the address of the identifier that a request is about, without other parameters."""
    asked = _naming(request)
    query = f"?{urlencode(asked)}" if asked else ""
    path = request.scope["path"].removeprefix(request.scope["root_path"])
    return f"{origin(request)}{quote(path)}{query}"


def _absolute(here: str, found: Iterable[TypedLink]) -> Iterator[TypedLink]:
    return (TypedLink(link.relation, urljoin(here, link.target), link.type) for link in found)


def _entries(found: Iterable[TypedLink], anchor: str | None = None) -> Iterator[str]:
    for link in found:
        kind = "" if link.type is None else f'; type="{link.type}"'
        context = "" if anchor is None else f'; anchor="{anchor}"'
        yield f'<{link.target}>; rel="{link.relation}"{kind}{context}'


def _joined(entries: Iterable[str]) -> Iterator[str]:
    texts = list(entries)
    return (f"{text}," if text is not texts[-1] else text for text in texts)
