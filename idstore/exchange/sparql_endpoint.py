"""A client for SPARQL 1.1 endpoints of other servers: queries, updates, and the triples of a graph.

Sources: SPARQL 1.1 Protocol; SPARQL 1.1 Query Results JSON Format.
"""

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import IO, Any, Final
from urllib.parse import urlencode

from pyoxigraph import NamedNode, RdfFormat, Triple
from pyoxigraph import parse as parse_rdf

from idstore.errors import InvalidData, LimitReached, NotPermitted, StoreUnavailable
from idstore.remedies import Remedy
from idstore.web_addresses import address_parts, is_this_machine

_RESULTS: Final = "application/sparql-results+json"
_LONGEST: Final = 500
"""Characters of an answer that an error cites."""


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """An endpoint.

    address      for queries.
    updates      for updates.
    credentials  ``name:password`` for HTTP Basic, or a bearer token.
    seconds      that a request may wait for a part of its answer.
    """

    address: str
    updates: str
    credentials: str | None = field(default=None, repr=False)
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Raise InvalidData for a malformed address, one with a user name, or unencrypted credentials."""
        for text in (self.address, self.updates):
            parts = address_parts(text)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise InvalidData(
                    f"{text!r} is not the address of an endpoint; write https://HOST/sparql",
                    field="endpoint",
                    value=text,
                )
            if parts.username is not None:
                raise InvalidData(
                    "an address names no user, because others can read it; use a file instead",
                    field="endpoint",
                )
            is_plain = parts.scheme == "http" and not is_this_machine(parts.hostname)
            if self.credentials is not None and is_plain:
                raise InvalidData(
                    f"others could read the credentials sent to {text}; use https",
                    field="endpoint",
                    value=text,
                )

    def update(self, text: str) -> None:
        """Carry out an update. Raises as `rows`."""
        with self._sent(self.updates, "update", text, "*/*") as answer:
            answer.read()

    def rows(self, text: str) -> list[Mapping[str, str]]:
        """Return the values of a ``SELECT``, without their types.

        Raises StoreUnavailable (no answer), LimitReached (not in time), NotPermitted, InvalidData (refused,
        or no answer of the protocol).
        """
        with self._sent(self.address, "query", text, _RESULTS) as answer:
            try:
                found = json.load(answer)["results"]["bindings"]
                return [{name: term["value"] for name, term in row.items()} for row in found]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidData(
                    f"{self.address} answered no results in JSON; give the address of a SPARQL endpoint",
                    field="endpoint",
                    value=self.address,
                ) from error

    def triples(self, graph: NamedNode) -> Iterator[Triple]:
        """Yield the triples of a graph as they arrive. Raises as `rows`."""
        text = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}"
        with self._sent(self.address, "query", text, "application/n-triples") as answer:
            try:
                for quad in parse_rdf(answer, format=RdfFormat.N_TRIPLES):
                    yield quad.triple
            except SyntaxError as error:
                raise InvalidData(
                    f"{self.address} answered no N-Triples: {error}", field="endpoint", value=self.address
                ) from error

    @contextmanager
    def _sent(self, address: str, kind: str, text: str, accept: str) -> Iterator[IO[bytes]]:
        body = urlencode({kind: text}).encode()
        request = urllib.request.Request(address, body, {"Accept": accept})  # noqa: S310 # `__post_init__` checks it
        if self.credentials is not None:
            request.add_unredirected_header("Authorization", _authorization(self.credentials))
        try:
            with closing(_OPENER.open(request, timeout=self.seconds)) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            raise _refused(address, error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise LimitReached(
                    f"{address} did not answer in {self.seconds:g} seconds; try again, or raise the limit",
                    remedy=Remedy.RAISE_LIMIT,
                ) from None
            raise StoreUnavailable(f"{address} cannot be asked: {reason}; try again") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Credentials and data go to the given address alone."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect."""


_OPENER: Final = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def _authorization(credentials: str) -> str:
    if ":" in credentials:
        return f"Basic {base64.b64encode(credentials.encode()).decode()}"
    return f"Bearer {credentials}"


def _refused(address: str, error: urllib.error.HTTPError) -> InvalidData | NotPermitted | StoreUnavailable:
    with error:
        said = " ".join(error.read(_LONGEST).decode(errors="replace").split())
    message = f"{address} answered {error.code}: {said or error.reason}"
    if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return NotPermitted(f"{message}; give the credentials of an account that may write there")
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return StoreUnavailable(f"{message}; try again")
    return InvalidData(
        f"{message}; check the address, and that it takes updates", field="endpoint", value=address
    )
