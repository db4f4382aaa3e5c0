"""Content negotiation: the formats of answers that a request accepts."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request

from idstore.errors import NotAcceptable
from idstore.queries.formats import FORMATS
from idstore.server import accept

HTML: Final = "html"
PAGE: Final = ("table", "turtle")
"""The formats that a page shows."""
PARAMETERS: Final = ("format", "output")
"""Parameters that name a format."""
_ANSWERS: Final = (
    ("json", "application/sparql-results+json"),
    ("json", "application/json"),
    ("xml", "application/sparql-results+xml"),
    ("turtle", "text/turtle"),
    ("turtle", "application/x-turtle"),
    ("jsonld", "application/ld+json"),
    ("jsonld", "application/json"),
    ("rdfxml", "application/rdf+xml"),
    ("xml", "application/xml"),
    ("xml", "text/xml"),
    ("rdfxml", "application/xml"),
    ("rdfxml", "text/xml"),
    ("ntriples", "application/n-triples"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("table", "text/plain"),
    ("ntriples", "text/plain"),
    (HTML, "text/html"),
    (HTML, "application/xhtml+xml"),
)
"""Formats and media types. Of those that a client accepts equally, the first is chosen."""
GRAPHS: Final = ("turtle", "ntriples", "jsonld", "rdfxml")
"""The formats of a description."""


def wanted(request: Request, parameters: Mapping[str, str] = {}) -> Mapping[str, str]:
    """Return the formats that a request accepts with their media types, the best first.

    A format that a parameter names comes before those of the header. A parameter that names an unknown
    format is ignored.
    Raises NotAcceptable: there is none.
    """
    named = [parameters[key].lower() for key in PARAMETERS if key in parameters]
    first = {name: FORMATS[name].media_type for name in named if name in FORMATS}
    found = first | {name: kind for name, kind in _accepted(request) if name not in first}
    if not found:
        raise NotAcceptable(
            "no answer has such a media type; accept one of"
            f" {', '.join(form.media_type.partition(';')[0] for form in FORMATS.values())}, text/html"
        )
    return found


def wanted_graph(request: Request) -> str | None:
    """Return the format of RDF for a description; None if the request prefers a page.

    Raises NotAcceptable: neither is accepted.
    """
    accepted = [name for name, _ in _accepted(request) if name in (*GRAPHS, HTML)]
    if not accepted:
        raise NotAcceptable(
            f"no description has such a media type; accept one of"
            f" {', '.join(FORMATS[name].media_type.partition(';')[0] for name in GRAPHS)}, text/html"
        )
    return None if accepted[0] == HTML else accepted[0]


def prefers_page(request: Request) -> bool:
    """Return whether a request prefers a page to JSON."""
    accepted = [name for name, _ in _accepted(request) if name in ("json", HTML)]
    return bool(accepted) and accepted[0] == HTML


def _accepted(request: Request) -> list[tuple[str, str]]:
    """Return what a request accepts of the formats and media types, each format once, the best first."""
    qualities = accept.qualities(request.headers, tuple(kind for _, kind in _ANSWERS))
    rated = sorted(zip(qualities, _ANSWERS, strict=True), key=lambda one: -one[0])
    names: dict[str, str] = {}
    for quality, (name, kind) in rated:
        if quality > 0:
            names.setdefault(name, kind)
    return list(names.items())
