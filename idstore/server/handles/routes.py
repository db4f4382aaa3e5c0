"""The addresses of the Handle API.

Scripts of every site may read what anonymous clients get (CORS), and nothing that needs a sign-in. There is
no JSONP: an address of this server that answers with a script of the caller's choice would undo the content
policy of its pages.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from idstore.errors import IdstoreError, NotRegistered, SignInRequired, StageConflict
from idstore.model.party import NOBODY
from idstore.model.record import Stage
from idstore.model.value import Value, matching
from idstore.registry.handle_records import HandleRange
from idstore.server.cross_site import OWN_ORIGIN
from idstore.server.handles import credentials, names
from idstore.server.handles.answers import Code, Refusal, answer, refusal, unrouted
from idstore.server.handles.parameters import VARIOUS, HandleQuery, handle_in
from idstore.server.handles.values import drafts, value_json
from idstore.server.interfaces import Interface
from idstore.server.performer import Performer

HANDLES: Final = "/api/handles"
PREFIXES: Final = "/api/prefixes"
SESSIONS: Final = "/api/sessions"
MOST_LISTED: Final = 100_000
"""Most handles in one answer."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT")
_READ: Final = ("GET", "HEAD", "OPTIONS")
_CORS: Final = {"Access-Control-Allow-Origin": "*"}
_PREFLIGHT: Final = {**_CORS, "Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "86400"}
_ALWAYS: Final = ("pretty", "auth", "cert")
"""Parameters that every request may have. ``auth`` and ``cert`` concern caches and signatures."""
_Answering = Callable[[Request], Awaitable[Response]]


def interface(performer: Performer) -> Interface:
    """Return the interface."""
    api = HandleApi(performer)
    return Interface(
        (HANDLES, PREFIXES, SESSIONS),
        [
            _route(HANDLES, "handles", {"GET": api.list_handles}),
            _route(
                f"{HANDLES}/{{handle:path}}",
                "handle",
                {"GET": api.read, "PUT": api.write, "DELETE": api.delete},
            ),
            _route(PREFIXES, "prefixes", {"GET": api.list_prefixes}),
            _route(SESSIONS, "sessions", {}),
            _route(f"{SESSIONS}/this", "sessions", {}),
        ],
        refusal,
        unrouted,
        prepare=api.prepare,
    )


class HandleApi:
    """The answers of the API."""

    def __init__(self, performer: Performer) -> None:
        self._performer, self._registry = performer, performer.registry

    async def prepare(self, scope: Scope) -> None:
        """Let a request sign in by the name of a handle: see `idstore.server.handles.credentials`."""
        user = None if credentials.set_unsupported(scope) else credentials.user_in(scope)
        if user is None:
            return
        name, secret = user
        party = await self._performer.run(None, "namespaces", lambda: names.party_in(self._registry, name))
        if party is not None:
            credentials.set_user(scope, party, secret)

    async def read(self, request: Request) -> Response:
        """Answer with the values of a handle."""
        given, handle = HandleQuery(request), handle_in(request, f"{HANDLES}/")
        types, indexes = given.texts("type"), given.indexes()
        party = request.state.caller.party
        public_only = given.flag("publicOnly", default=party == NOBODY)
        values = await self._performer.run(request, "show", lambda: self._values(request, handle))
        shown = [
            value_json(value) for value in matching(values, types, indexes) if value.public or not public_only
        ]
        about = {"handle": handle, "values": shown}
        if not shown:
            missing = "the handle has no such value that you may read"
            about = {"handle": handle, "values": [], "message": missing}
        code = Code.SUCCESS if shown else Code.VALUES_NOT_FOUND
        return answer({"responseCode": code, **about}, pretty=given.pretty)

    def _values(self, request: Request, handle: str) -> tuple[Value, ...]:
        """Return the values that the caller may read. Raises NotRegistered, Refusal, InvalidIdentifier."""
        prefix = names.prefix_in(handle)
        if prefix is not None:
            return names.prefix_values(self._registry, prefix)
        name = names.named(self._registry, handle)
        try:
            record = self._registry.show(name.iri, request.state.caller.party)
        except NotRegistered:
            values = names.party_values(self._registry, name)
            if values is None:
                raise _not_found(handle) from None
            return values
        if record.stage is Stage.TOMBSTONE:
            raise Refusal(
                Code.HANDLE_NOT_FOUND,
                f"the handle is withdrawn (tombstone): {record.reason}; it is never issued again",
            )
        return record.values

    async def write(self, request: Request) -> Response:
        """Create or replace a handle, or set some of its values."""
        _check_signed_in(request)
        given, handle = HandleQuery(request), handle_in(request, f"{HANDLES}/")
        given.check_known(("index", "overwrite", "mintNewSuffix", *_ALWAYS))
        mint, overwrite = given.flag("mintNewSuffix"), given.flag("overwrite", default=True)
        only = given.has("index")
        if mint and only:
            raise Refusal(
                Code.PROTOCOL_ERROR,
                "mintNewSuffix makes a new handle, and index changes one; use one of them",
            )
        if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(
                Code.PROTOCOL_ERROR, "the values must come as JSON; send Content-Type: application/json"
            )
        values = await run_in_threadpool(drafts, request.state.body, None if mint else handle)
        if only and set(given.texts("index")) != {VARIOUS}:
            _check_indexes(given.indexes(), [draft.index for draft in values])
        name = await self._performer.run(request, "show", lambda: self._writable(request, handle, mint=mint))
        record, created = await self._performer.perform(
            request,
            "put_handle",
            namespace=name.home.base,
            label=name.suffix if mint else f"hdl:{handle}",
            values=values,
            overwrite=overwrite,
            only=only,
            mint=mint,
        )
        stored = names.handle_of(record.iri) if mint else handle
        return answer(
            {"responseCode": Code.SUCCESS, "handle": stored},
            201 if created else 200,
            pretty=given.pretty,
        )

    async def delete(self, request: Request) -> Response:
        """Delete a handle, or some of its values."""
        _check_signed_in(request)
        given, handle = HandleQuery(request), handle_in(request, f"{HANDLES}/")
        given.check_known(("index", *_ALWAYS))
        indexes = given.indexes()
        name = await self._performer.run(request, "show", lambda: self._writable(request, handle))
        try:
            if given.has("index"):
                await self._performer.perform(request, "unset_values", id=name.iri, indexes=indexes)
            else:
                await self._performer.perform(request, "delete_handle", id=name.iri)
        except StageConflict as error:
            if error.fields.get("stage") == Stage.TOMBSTONE.value:
                raise Refusal(
                    Code.HANDLE_NOT_FOUND, "the handle is withdrawn (a tombstone); there is nothing to delete"
                ) from error
            raise
        return answer({"responseCode": Code.SUCCESS, "handle": handle}, pretty=given.pretty)

    def _writable(self, request: Request, handle: str, *, mint: bool = False) -> names.HandleName:
        """Return a handle that may be written, as far as its name tells.

        Raises Refusal, InvalidIdentifier.
        """
        if names.prefix_in(handle) is not None:
            raise Refusal(
                Code.NO_PERMISSION,
                "the record of a prefix is made from its namespace; change the namespace instead",
            )
        name = names.named(self._registry, handle, beginning=mint)
        if not mint and names.party_values(self._registry, name) is not None:
            try:
                self._registry.show(name.iri, request.state.caller.party)
            except NotRegistered:
                raise Refusal(
                    Code.NO_PERMISSION if request.method == "DELETE" else Code.HANDLE_EXISTS,
                    f"the handle is that of the party {name.suffix}, made by the server; use another suffix",
                ) from None
        return name

    async def list_handles(self, request: Request) -> Response:
        """List the handles of a prefix that the caller sees."""
        given = HandleQuery(request)
        prefix = given.single("prefix")
        page, size = given.number("page"), given.number("pageSize")
        start, limit = (page * size, size) if page is not None and size is not None else (0, None)
        if size is not None and size > MOST_LISTED:
            raise Refusal(
                Code.PROTOCOL_ERROR, f"pageSize={size} is more than {MOST_LISTED}; ask for smaller pages"
            )
        home = await self._performer.run(
            request, "namespaces", lambda: names.home_of(self._registry, names.prefix_in(prefix) or prefix)
        )
        if home is None:
            raise Refusal(
                Code.NOT_RESPONSIBLE, f"the prefix {prefix} is not one of this server; ask for {PREFIXES}"
            )

        def listing(found: HandleRange) -> Response:
            if len(found.iris) > MOST_LISTED:
                raise Refusal(
                    Code.PROTOCOL_ERROR,
                    f"{found.total} handles are too many for one answer; give page and pageSize",
                )
            handles = [*map(names.handle_of, found.iris)]
            return _listing(given, "handles", handles, found.total, prefix=prefix)

        return await self._performer.answer(
            request,
            "handles",
            listing,
            namespace=home.base,
            start=start,
            limit=MOST_LISTED + 1 if limit is None else limit,
        )

    async def list_prefixes(self, request: Request) -> Response:
        """List the prefixes of this server."""
        given = HandleQuery(request)
        page, size = given.number("page"), given.number("pageSize")
        found = await self._performer.run(
            request, "namespaces", lambda: sorted(names.prefixes(self._registry))
        )
        listed = [f"{names.AUTHORITY}{prefix}" for prefix in found]
        part = listed if page is None or size is None else listed[page * size :][:size]
        return _listing(given, "prefixes", part, len(listed))


def _listing(given: HandleQuery, key: str, listed: list[str], total: int, **about: str) -> Response:
    """Return a list with its place among all; the total is a text, as the Handle.Net software writes it."""
    page, size = given.number("page"), given.number("pageSize")
    paging: dict[str, Any] = {} if page is None or size is None else {"page": page, "pageSize": size}
    content = {"responseCode": Code.SUCCESS, **about, "totalCount": str(total), **paging, key: listed}
    return answer(content, pretty=given.pretty)


def _check_signed_in(request: Request) -> None:
    """Raise SignInRequired for an anonymous request."""
    if request.state.caller.party == NOBODY:
        raise SignInRequired(
            "changes are for signed-in parties; send Basic credentials, a token as the password"
        )


def _check_indexes(asked: list[int], sent: list[int | None]) -> None:
    """Raise Refusal unless the indexes of the query are those of the body."""
    if {*asked} != {*sent}:
        raise Refusal(
            Code.PROTOCOL_ERROR,
            f"the query names the indexes {sorted(set(asked))}, and the body has"
            f" {sorted(filter(None, sent))};"
            f" name the same ones, or write index={VARIOUS}",
        )


def _not_found(handle: str) -> NotRegistered:
    return NotRegistered(handle, f"there is no handle {handle} here")


def _route(path: str, name: str, methods: Mapping[str, _Answering]) -> Route:
    return Route(path, _Endpoint(methods), name=name)


class _Endpoint:
    """An address: its answer to each method, and to all others."""

    def __init__(self, methods: Mapping[str, _Answering]) -> None:
        self._methods = methods
        self._allowed = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        response = await self._answer(request)
        if request.state.caller.party != NOBODY:
            response.headers.update(OWN_ORIGIN)
        elif request.method in _READ:
            response.headers.update(_CORS)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        handle = None
        try:
            self._check(request)
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={**_PREFLIGHT, "Allow": ", ".join(self._allowed)})
            if "handle" in request.path_params:
                handle = handle_in(request, f"{HANDLES}/")
            return await self._methods[request.method](request)
        except (Refusal, IdstoreError) as error:
            response = refusal(error, handle)
            if response.status_code == 405:  # noqa: PLR2004
                response.headers["Allow"] = ", ".join(self._allowed)
            return response

    def _check(self, request: Request) -> None:
        """Raise Refusal for what the API does not do."""
        if getattr(request.state, credentials.UNSUPPORTED, False) or not self._methods:
            raise Refusal(
                Code.NOT_SUPPORTED,
                "sign-in by certificate, key or session is not supported; send Basic credentials with a token"
                " as"
                " the password",
            )
        if request.method not in _METHODS:
            raise Refusal(Code.PROTOCOL_ERROR, f"{request.method} is not a method of the API", 501)
        if request.method not in self._allowed:
            raise Refusal(
                Code.PROTOCOL_ERROR,
                f"{request.method} is not possible here; use {', '.join(self._allowed)}",
                405,
            )
        if "callback" in request.query_params:
            raise Refusal(
                Code.NOT_SUPPORTED, "JSONP is not supported; read with fetch(), which every site may do here"
            )
