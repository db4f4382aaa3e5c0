"""Content negotiation: the formats of a record, and the one that a request asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request

from idstore.errors import InvalidData, NotAcceptable
from idstore.server.accept import preferred


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format of a record; ``name`` is the value of the parameter ``format``."""

    name: str
    media_type: str
    title: str


HTML: Final = RecordFormat("html", "text/html", "Page")
TEXT: Final = RecordFormat("text", "text/plain", "Plain text")
LINKSETS: Final = (
    RecordFormat("linkset-json", "application/linkset+json", "Links as JSON"),
    RecordFormat("linkset", "application/linkset", "Links"),
)
DATA: Final = (
    RecordFormat("turtle", "text/turtle", "Turtle"),
    RecordFormat("jsonld", "application/ld+json", "JSON-LD"),
    RecordFormat("ntriples", "application/n-triples", "N-Triples"),
    RecordFormat("rdfxml", "application/rdf+xml", "RDF/XML"),
    RecordFormat("json", "application/json", "JSON"),
)
"""Formats that hold a whole record."""
FORMATS: Final[Mapping[str, RecordFormat]] = {one.name: one for one in (HTML, *DATA, *LINKSETS, TEXT)}
"""Formats by name. Among formats that a client accepts equally, the first one is chosen."""
PARTS: Final[Mapping[str, RecordFormat]] = {one.name: one for one in (HTML, *DATA)}
"""Formats of a namespace."""
_PARAMETER: Final = "format"
_INFLECTIONS: Final = {"info", "?"}
"""Parameters that ask for a record in plain text, as of ARKs: ``?info``, and ``??`` of older drafts."""


def asks_for_record(request: Request) -> bool:
    """Return whether a request names a format, or says that it wants no redirect."""
    asked = request.query_params
    return bool(asked) and (
        "noredirect" in asked or _PARAMETER in asked or not _INFLECTIONS.isdisjoint(asked)
    )


def chosen(request: Request, formats: Mapping[str, RecordFormat] = FORMATS) -> RecordFormat:
    """Return the format that a request asks for by parameter or header.

    Raises InvalidData: the parameter names no format; NotAcceptable.
    """
    asked = request.query_params
    if name := asked.get(_PARAMETER):
        if name not in formats:
            raise InvalidData(f"no format {name!r}; there are {', '.join(formats)}", format=name)
        return formats[name]
    if asked and not _INFLECTIONS.isdisjoint(asked):
        found = formats.get(TEXT.name)
    else:
        found = accepted(request.headers, formats)
    if found is None:
        listed = ", ".join(f"{one.media_type} (format={name})" for name, one in formats.items())
        raise NotAcceptable(f"there is no such format here; there are {listed}")
    return found


def accepted(headers: Headers, formats: Mapping[str, RecordFormat] = FORMATS) -> RecordFormat | None:
    """Return the format that the header ``Accept`` prefers; None: it accepts none."""
    by_type = {one.media_type: one for one in formats.values()}
    return by_type.get(preferred(headers, tuple(by_type)) or "")
