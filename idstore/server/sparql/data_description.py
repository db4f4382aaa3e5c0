"""The description of the public data as a dataset (VoID and DCAT), at a well-known address."""

import asyncio
import io
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import Final
from urllib.parse import quote

from pyoxigraph import NamedNode, RdfFormat, Triple, parse
from starlette.requests import Request
from starlette.responses import Response

from idstore.errors import Overloaded
from idstore.exchange.description import describe, distribution
from idstore.exchange.exporting import MEDIA_TYPES
from idstore.model import particulars
from idstore.model.namespace import Namespace
from idstore.operations.operation import API
from idstore.queries.formats import FORMATS
from idstore.server.location import origin
from idstore.server.performer import Performer
from idstore.server.sparql.negotiation import GRAPHS, wanted_graph
from idstore.server.sparql.query_responses import common_headers
from idstore.server.sparql.service_description import document
from idstore.vocabulary import DCAT, RDF, VOID, store_name

VOID_PATH: Final = "/.well-known/void"
_KEPT: Final = 60.0
"""Least seconds for which a description serves, because making it reads every public triple."""
_REST: Final = 10
"""A description serves at least so many times as long as its count took."""
_PATIENCE: Final = 5.0
"""Seconds in which a request waits for the first count."""
_LATER: Final = 15
"""Seconds after which a request that waited in vain should come again."""
_LOG: Final = logging.getLogger(__name__)
_DUMPS: Final = ("turtle", "ntriples", "trig", "nquads", "jsonld")


@dataclass(frozen=True, slots=True)
class DescriptionSettings:
    """The table ``[description]``: what the description says beside counts.

    Without licence or publisher here, the description has those on which all namespaces agree.
    Raises InvalidData.
    """

    title: str | None = None
    licence: str | None = None
    publisher: str | None = None

    def __post_init__(self) -> None:
        for name in ("licence", "publisher"):
            text = getattr(self, name)
            if text is not None:
                particulars.checked(name, text)


class DataDescription:
    """Describes what is public, to everyone in the same way."""

    def __init__(self, performer: Performer, settings: DescriptionSettings) -> None:
        self._performer, self._settings = performer, settings
        self._counting: Future[None] | None = None
        self._made: list[Triple] | None = None
        self._spaces: Sequence[Namespace] = ()
        self._expires = 0.0

    async def respond(self, request: Request) -> Response:
        """Return the description in a format of RDF. Raises NotAcceptable, Overloaded."""
        format = wanted_graph(request) or GRAPHS[0]
        triples = [*await self._counted(), *self._access(request)]
        body = document(triples, format)
        return Response(body, headers=common_headers(request), media_type=FORMATS[format].media_type)

    async def _counted(self) -> list[Triple]:
        """Return the description with the newest counts.

        While old ones are counted again, they serve. Raises Overloaded: the first count takes long.
        """
        if time.monotonic() >= self._expires and (self._counting is None or self._counting.done()):
            self._counting = self._begin_count()
        if self._made is None and self._counting is not None:
            try:
                async with asyncio.timeout(_PATIENCE) as limit:
                    await asyncio.wrap_future(self._counting)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise Overloaded(
                    f"the server is counting the data; ask again in {_LATER} seconds", retry_after=_LATER
                ) from None
        assert self._made is not None
        return self._made

    def _begin_count(self) -> Future[None]:
        """Count in a thread of its own, without a limit of time. The server ends without waiting for it."""
        counting = Future[None]()
        counting.set_running_or_notify_cancel()  # so that no waiting request can cancel it
        Thread(target=self._count, args=[counting], name="description", daemon=True).start()
        return counting

    def _count(self, counting: Future[None]) -> None:
        begun = time.monotonic()
        try:
            self._made = self._describe()
        except Exception as error:  # noqa: BLE001 the requests that wait raise it
            _LOG.warning("the public data could not be counted", exc_info=True)
            counting.set_exception(error)
        else:
            now = time.monotonic()
            self._expires = now + max(_KEPT, _REST * (now - begun))
            counting.set_result(None)

    def _describe(self) -> list[Triple]:
        text = io.BytesIO()
        self._spaces = self._performer.registry.namespaces()
        settings = self._settings
        describe(
            self._performer.registry,
            text,
            title=settings.title,
            licence=settings.licence,
            publisher=settings.publisher,
        )
        return [quad.triple for quad in parse(text.getvalue(), format=RdfFormat.TURTLE)]

    def _access(self, request: Request) -> Iterator[Triple]:
        """Yield where the data are: the SPARQL service, and files."""
        dataset = NamedNode(store_name(self._performer.registry.store.origin))
        service = NamedNode(f"{origin(request)}/sparql")
        yield Triple(dataset, VOID.sparqlEndpoint, service)
        yield Triple(service, RDF.type, DCAT.DataService)
        yield Triple(service, DCAT.endpointURL, service)
        yield Triple(service, DCAT.servesDataset, dataset)
        for name in _DUMPS:
            dump = f"{origin(request)}{API}/export?format={name}&forPublication=true"
            yield from distribution(dataset, dataset, dump, MEDIA_TYPES[name])
            for space in self._spaces:
                part = f"{dump}&namespace={quote(space.name)}"
                yield from distribution(dataset, space.iri, part, MEDIA_TYPES[name])
