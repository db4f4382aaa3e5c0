"""Requests of the SPARQL 1.1 Protocol: https://www.w3.org/TR/sparql11-protocol/, section 2.1."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Final

from starlette.requests import Request

from idstore.errors import InvalidData, NotPermitted, UnsupportedMedia
from idstore.queries.limits import SelectedGraphs
from idstore.server.form_parameters import FORM, FormParameters, read_parameters

QUERY: Final = "application/sparql-query"
UPDATE: Final = "application/sparql-update"
_QUERY: Final = "query"
_UPDATE: Final = "update"
_DEFAULT, _NAMED = "default-graph-uri", "named-graph-uri"
_UPDATING: Final = (_UPDATE, "using-graph-uri", "using-named-graph-uri")


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query, the graphs that the request selects (None: as the query says), and its other parameters."""

    text: str
    graphs: SelectedGraphs | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


def asks(request: Request) -> bool:
    """Return whether a GET request has any parameter, so that it is an operation of the protocol."""
    return bool(request.scope["query_string"])


def asked_query(request: Request, body: bytes) -> AskedQuery:
    """Return the query of a request by GET, or by POST in either form. Cost: see `read_parameters`.

    Raises InvalidData, UnsupportedMedia; NotPermitted for an update.
    """
    parameters = read_parameters(request.scope["query_string"], "the address")
    if request.method != "POST":
        return _query(parameters)
    kind = _media_type(request)
    if kind == FORM:
        if any(name == _QUERY for name, _ in parameters):
            raise InvalidData(
                "a query in a form stands in the body alone; take it out of the address", field="query"
            )
        return _query([*parameters, *read_parameters(body, "the body")])
    if kind == QUERY:
        if any(name == _QUERY for name, _ in parameters):
            raise InvalidData("the body is the query; take the other one out of the address", field="query")
        return AskedQuery(_text(body), _graphs(parameters), dict(parameters))
    if kind == UPDATE:
        raise _update_refused()
    raise UnsupportedMedia(
        f"a body of the type {kind or 'that is not said'} is no query; send {QUERY} or {FORM}", type=kind
    )


def _query(parameters: FormParameters) -> AskedQuery:
    texts = [text for name, text in parameters if name == _QUERY]
    if any(name in _UPDATING for name, _ in parameters):
        raise _update_refused()
    if len(texts) != 1:
        raise InvalidData(
            f"the parameter query stands {len(texts)} times; give it once"
            if texts
            else "the parameter query is missing; give it once",
            field=_QUERY,
        )
    return AskedQuery(texts[0], _graphs(parameters), dict(parameters))


def _graphs(parameters: FormParameters) -> SelectedGraphs | None:
    default, named = (
        tuple(text for name, text in parameters if name == wanted) for wanted in (_DEFAULT, _NAMED)
    )
    return SelectedGraphs(default, named) if default or named else None


def _update_refused() -> NotPermitted:
    return NotPermitted("this endpoint only reads; use the registry's operations for changes")


def _media_type(request: Request) -> str:
    """Return the media type of the body. Raises UnsupportedMedia: its text is not in UTF-8."""
    header = Message()
    header["Content-Type"] = request.headers.get("Content-Type", "")
    charset = header.get_param("charset", "utf-8")
    if str(charset).lower() not in ("utf-8", "utf8", "us-ascii"):
        raise UnsupportedMedia(f"the body is in {charset}; send UTF-8", charset=str(charset))
    return header.get_content_type() if "/" in request.headers.get("Content-Type", "") else ""


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"the query is not UTF-8 (byte {error.start + 1}); send it so", position=error.start
        ) from error
