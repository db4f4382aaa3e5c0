"""The Reconciliation Service API 0.2, as OpenRefine uses it, and prefix maps of the namespaces.

Sources: Reconciliation Service API, W3C Community Group report 0.2 (2023); extended prefix maps of the
package curies; records of the Bioregistry.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from pyoxigraph import Literal, NamedNode
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from idstore.errors import AmbiguousIdentifier, IdstoreError, InvalidData, UnknownNamespace
from idstore.model.namespace import Namespace
from idstore.model.party import NOBODY
from idstore.model.record import Record, Stage
from idstore.server import problems
from idstore.server.form_parameters import FORM, read_parameters
from idstore.server.interfaces import Interface
from idstore.server.location import origin
from idstore.server.performer import Performer
from idstore.server.request_body import check_size
from idstore.vocabulary import RDFS

PATH: Final = "/reconcile"
PREFIXES: Final = "/prefixes"
_QUERIES: Final = 200
"""Queries of a request at most."""
_FORM_BYTES: Final = 1 << 20
"""Bytes of a form at most: 5 kB for each query."""
_CANDIDATES: Final = 50
"""Candidates of a query at most."""
_USUAL: Final = 5
_CORS: Final = {"Access-Control-Allow-Origin": "*"}
_HEADERS: Final = {"Cache-Control": "private, no-store", **_CORS}
_MAPS: Final = {"Cache-Control": "no-cache", **_CORS}


@dataclass(frozen=True, slots=True)
class ReconciliationSettings:
    """The table ``[reconciliation]``.

    namespaces  names or bases of the namespaces whose published identifiers are found.
    languages   languages of names that are looked for, beside names without a language.
    """

    namespaces: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)


@dataclass(frozen=True, slots=True)
class _Query:
    """One query of a batch.

    It has a text, the namespaces that it is restricted to, and the most candidates that it wants.
    """

    text: str
    types: frozenset[str] | None
    limit: int


class Reconciler:
    """Finds published identifiers for texts, the same for every party.

    A text is a written form of an identifier, or the whole name of one. There is no search in parts of names:
    what others define is found by its name, or not at all.
    """

    def __init__(self, performer: Performer, settings: ReconciliationSettings) -> None:
        self._performer, self._settings = performer, settings

    async def respond(self, request: Request) -> Response:
        """Describe the service, or answer a batch of queries.

        Raises InvalidData, RequestTooLarge, UnknownNamespace.
        """
        return await self._performer.run(request, "list", lambda: self._answer(request))

    def _answer(self, request: Request) -> Response:
        given = _given(request)
        namespaces = self._namespaces(request)
        if "queries" not in given:
            return JSONResponse(_manifest(request, namespaces), headers=_HEADERS)
        queries = _queries(given["queries"])
        results = {key: {"result": self._candidates(one, namespaces)} for key, one in queries.items()}
        return JSONResponse(results, headers=_HEADERS)

    def _namespaces(self, request: Request) -> dict[str, Namespace]:
        """Return the namespaces of an address, by base. Raises UnknownNamespace."""
        registry = self._performer.registry
        allowed = [registry.namespace(name) for name in self._settings.namespaces]
        asked = request.path_params.get("namespace")
        found = {one.base: one for one in allowed if asked in (None, one.name, one.base)}
        if asked is not None and not found:
            raise UnknownNamespace(asked)
        return found

    def _candidates(self, query: _Query, namespaces: Mapping[str, Namespace]) -> list[dict[str, Any]]:
        wanted = {
            base: one
            for base, one in namespaces.items()
            if query.types is None or not query.types.isdisjoint((one.name, base))
        }
        records = {record.iri: record for record in self._by_form(query.text)}
        scores = dict.fromkeys(records, 100)
        for record in self._by_name(query.text, wanted):
            records.setdefault(record.iri, record)
            scores.setdefault(record.iri, 90)
        fitting = [
            one for one in records.values() if one.namespace in wanted and one.stage is not Stage.TOMBSTONE
        ]
        return [
            _candidate(one, wanted[one.namespace], scores[one.iri], is_only=len(fitting) == 1)
            for one in fitting[: query.limit]
        ]

    def _by_form(self, text: str) -> Iterator[Record]:
        try:
            yield self._performer.registry.show(text, NOBODY)
        except AmbiguousIdentifier as error:
            for iri in cast("list[str]", error.fields["candidates"]):
                yield self._performer.registry.show(iri, NOBODY)
        except IdstoreError:
            return  # it is no identifier of this registry that everyone may see

    def _by_name(self, text: str, namespaces: Mapping[str, Namespace]) -> Iterator[Record]:
        registry = self._performer.registry
        names = [Literal(text), *(Literal(text, language=one) for one in self._settings.languages)]
        for base in namespaces:
            for name in names:
                quads = registry.store.read(
                    lambda view, name=name, base=base: [  # type: ignore[misc]
                        *islice(view.quads(None, RDFS.label, name, NamedNode(base)), _CANDIDATES)
                    ]
                )
                for quad in quads:
                    assert isinstance(quad.subject, NamedNode)
                    yield registry.show(quad.subject.value, NOBODY)


def interface(performer: Performer, settings: ReconciliationSettings) -> Interface:
    """Return the interface, with prefix maps of all namespaces."""
    reconciler, maps = Reconciler(performer, settings), PrefixMaps(performer)
    return Interface(
        (PATH, PREFIXES),
        [
            Route(PATH, reconciler.respond, methods=["GET", "POST"], name="reconcile"),
            Route(
                f"{PATH}/{{namespace:path}}", reconciler.respond, methods=["GET", "POST"], name="reconcile"
            ),
            Route(f"{PREFIXES}/curies.json", maps.curies, name="prefixes"),
            Route(f"{PREFIXES}/context.jsonld", maps.context, name="prefixes"),
            Route(f"{PREFIXES}/bioregistry.json", maps.bioregistry, name="prefixes"),
        ],
        problems.response,
        problems.no_route,
    )


class PrefixMaps:
    """The names of namespaces as prefixes of their bases. Namespaces are public."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def curies(self, request: Request) -> Response:
        """Return an extended prefix map."""
        found = await self._namespaces(request)
        return JSONResponse(
            [{"prefix": one.name, "uri_prefix": one.base, "prefix_synonyms": []} for one in found],
            headers=_MAPS,
        )

    async def context(self, request: Request) -> Response:
        """Return a context of JSON-LD."""
        found = {one.name: {"@id": one.base, "@prefix": True} for one in await self._namespaces(request)}
        return JSONResponse({"@context": found}, headers=_MAPS, media_type="application/ld+json")

    async def bioregistry(self, request: Request) -> Response:
        """Return records of a registry of prefixes."""
        found = {
            one.name: {
                "prefix": one.name,
                "name": dict(one.particulars).get("description") or one.name,
                "uri_format": f"{one.base}$1",
            }
            for one in await self._namespaces(request)
        }
        return JSONResponse(found, headers=_MAPS)

    async def _namespaces(self, request: Request) -> list[Namespace]:
        return list(await self._performer.run(request, "namespaces", self._performer.registry.namespaces))


def _given(request: Request) -> dict[str, str]:
    """Return the parameters of a request, from the address and from a form.

    Raises InvalidData, RequestTooLarge.
    """
    given = dict(read_parameters(request.scope["query_string"], "the address"))
    if request.method == "POST":
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != FORM:
            raise InvalidData(f"the body is {kind or 'of no type'}; send {FORM}", field="Content-Type")
        check_size(len(request.state.body), _FORM_BYTES)
        given |= dict(read_parameters(request.state.body, "the form"))
    if "callback" in given:
        raise InvalidData("there is no JSONP here; scripts of other sites may read JSON", field="callback")
    return given


def _queries(text: str) -> dict[str, _Query]:
    """Return the queries of a batch by their keys. Raises InvalidData."""
    try:
        batch = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidData("queries: not JSON; send an object of queries", field="queries") from None
    if not isinstance(batch, dict):
        raise InvalidData('queries: no object; send {"q0": {"query": "…"}}', field="queries")
    if len(batch) > _QUERIES:
        raise InvalidData(f"queries: {len(batch)} in one request; send {_QUERIES} at most", field="queries")
    return {_encodable(key, "queries"): _query(key, one) for key, one in batch.items()}


def _encodable(text: str, place: str) -> str:
    """Return a text unchanged. Raises InvalidData: JSON can write halves of characters, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidData(
            f"{place}: {text!r} is not UTF-8 text (position {error.start}); send UTF-8 text", field=place
        ) from error
    return text


def _query(key: str, given: object) -> _Query:
    if not isinstance(given, dict) or not isinstance(given.get("query"), str):
        raise InvalidData(f'queries: {key} has no text; write {{"query": "…"}}', field=key)
    types, limit = given.get("type"), given.get("limit", _USUAL)
    if isinstance(types, str):
        types = [types]
    if not (types is None or (isinstance(types, list) and all(isinstance(one, str) for one in types))):
        raise InvalidData(f"queries: the type of {key} is no text; name a namespace", field=key)
    if type(limit) is not int or limit < 1:
        raise InvalidData(f"queries: the limit of {key} is no number from 1 on; give one", field=key)
    text = _encodable(given["query"], key).strip()
    names = frozenset(_encodable(one, key) for one in types) if types else None
    return _Query(text, names, min(limit, _CANDIDATES))


def _manifest(request: Request, namespaces: Mapping[str, Namespace]) -> dict[str, Any]:
    site = origin(request)
    return {
        "versions": ["0.2"],
        "name": "idstore" if len(namespaces) != 1 else f"idstore: {next(iter(namespaces.values())).name}",
        "identifierSpace": f"{site}/resolve?id=",
        "schemaSpace": f"{site}/id/",
        "view": {"url": f"{site}/resolve?noredirect&id={{{{id}}}}"},
        "defaultTypes": [{"id": one.name, "name": one.name} for one in namespaces.values()],
    }


def _candidate(record: Record, namespace: Namespace, score: int, *, is_only: bool) -> dict[str, Any]:
    names = dict(record.names)
    name = names.get("en") or next(iter(names.values()), record.label)
    return {
        "id": record.iri,
        "name": name,
        "description": f"{namespace.name}:{record.label}" + (", deprecated" if record.deprecated else ""),
        "type": [{"id": namespace.name, "name": namespace.name}],
        "score": score,
        "match": is_only and not record.deprecated,
    }
