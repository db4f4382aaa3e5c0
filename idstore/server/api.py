"""The JSON API: a route for each declared operation, and its OpenAPI document."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import IO, Annotated, Any, Final, NoReturn, get_origin
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Header, Path, Query
from fastapi.exceptions import RequestValidationError
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from idstore.errors import IdstoreError, InvalidData, SignInRequired
from idstore.model.record import Record
from idstore.operations.declared import OPERATIONS
from idstore.operations.descriptions import parameter_text, summary
from idstore.operations.operation import (
    API,
    LINES,
    LONGEST_PAGE,
    PROGRESS,
    REQUIRED,
    VERSION,
    ApiOperation,
    Parameter,
)
from idstore.operations.wire import dump
from idstore.progress import never
from idstore.registry import Registry
from idstore.server import description, health, lines, problems
from idstore.server.admission import CLIENT_GONE, Figures, ServerLimits
from idstore.server.allowances import Allowances, QueryAllowance
from idstore.server.hot_routes import Answering, HotRoutes
from idstore.server.performer import permitted
from idstore.server.places import Places
from idstore.server.query_answers import query_response, watched
from idstore.server.request_body import EMPTY_BODIES, RequestBody, check_keys
from idstore.server.request_errors import request_error
from idstore.server.schema import body_model, parameter_type
from idstore.server.sign_in import Caller, counted_as
from idstore.server.transfers import Download, Writers, upload
from idstore.server.workers import Workers
from idstore.stores.contract import Answer

WRITERS: Final = 3
"""Downloads that are written at the same time; others wait."""
IMPORTERS: Final = 2
"""Uploads that are worked on at the same time; others wait."""
LONG: Final = 3
"""How many times an operation that takes long is carried out at the same time; others wait."""
OF_ONE: Final = 2
"""Those of one party that signed in, or of one address."""
UNTRUSTED: Final = 64
"""How many times smaller the files of others than administrators must be: reading them takes memory."""
UPLOADS: Final = frozenset(f"{API}{one.path}" for one in OPERATIONS.values() if one.upload)
"""Paths of requests whose body is a file."""
_KEY: Final = "requestKey"
_KEY_HEADER: Final = "Idempotency-Key"
_KEY_FIELD: Final = Header(alias=_KEY_HEADER, description="The same as `requestKey`.")
_NAME: Final = "name"
"""The parameter that names an uploaded file: its path here is none of its sender's business."""
_CANCELLED: Final = "cancelled"
"""Parameter of operations that can be ended: a function that tells whether they should."""
_LIMIT: Final = "limit"
"""Parameter of operations that return a part of a list: how many items it has at most."""
_PRIVATE: Final = {"Cache-Control": "private, no-store"}
"""Header of every answer that may depend on who asks."""
_UNBUFFERED: Final = {**_PRIVATE, "X-Accel-Buffering": "no"}
"""Headers of an answer that takes long: nginx passes each line on at once."""
_Endpoint = Callable[..., Awaitable[Response]]


class _AnyText(PathConvertor):
    """A parameter in a path, which may also hold line breaks: no name has them, but an error says so."""

    regex = "(?s:.*)"


register_url_convertor("any", _AnyText())


class _Application(FastAPI):
    """An application with hot routes before the others."""

    hot_routes: HotRoutes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        body = scope.get("state", {}).get("body")
        try:
            if len(body or b"") > RequestBody.SMALL:
                self._check_signed_in(scope)
                await to_thread.run_sync(check_keys, body)
            elif body:
                check_keys(body)
        except (InvalidData, SignInRequired) as error:
            await problems.response(error)(scope, receive, send)
            return
        await self.hot_routes(scope, receive, send)

    def _check_signed_in(self, scope: Scope) -> None:
        """Raise SignInRequired for an operation that needs a sign-in, before its large body is read."""
        found = (route for route in self.routes if route.matches(scope)[0] is Match.FULL)
        route = next(found, None)
        operation = OPERATIONS.get(getattr(route, "name", ""))
        if operation is not None:
            scope["route"] = route
            scope["state"]["caller"].check_signed_in(operation)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            self.openapi_schema = description.complete(super().openapi())
        return self.openapi_schema


def application(
    registry: Registry, workers: Workers, figures: Figures, limits: ServerLimits, allowances: Allowances
) -> FastAPI:
    """Return the application, without the `Admission` that signs callers in."""
    app = _Application(
        title="idstore",
        description="A registry of persistent identifiers.",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    answer = partial(_respond, registry, workers, allowances)
    _add_operations(app, registry, workers, limits, answer)
    _add_generator(app, registry, workers)
    _add_description(app)
    health.add(app, registry, figures)
    app.add_exception_handler(IdstoreError, _refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _no_route)  # type: ignore[arg-type]
    app.add_exception_handler(ClientDisconnect, lambda _, __: Response(status_code=CLIENT_GONE))
    app.add_exception_handler(Exception, lambda _, error: problems.response(problems.failure(error)))
    app.hot_routes = HotRoutes(partial(FastAPI.__call__, app), API, answer)
    return app


def _add_operations(
    app: FastAPI, registry: Registry, workers: Workers, limits: ServerLimits, answer: Answering
) -> None:
    writers, importers = Writers(WRITERS, OF_ONE, limits.sending), CapacityLimiter(IMPORTERS)
    for operation in OPERATIONS.values():
        if operation.download:
            endpoint = _download_endpoint(operation, registry, workers, writers)
        elif operation.upload:
            endpoint = _upload_endpoint(operation, registry, workers, importers, limits)
        elif operation.is_long:
            endpoint = _long_endpoint(operation, registry, workers, limits)
        else:
            endpoint = _endpoint(operation, answer)
        app.add_api_route(
            API + operation.path.replace("}", ":any}"),
            _with_parameters(_checked(endpoint, operation), operation),
            methods=[operation.method],
            name=operation.name,
            operation_id=operation.name,
            summary=summary(operation.run),
            description=f"For {operation.rights}.",
            response_model=None,
            response_class=Response if _is_raw(operation) else JSONResponse,
            status_code=201 if operation.creates else 200,
            responses=description.responses(operation),
            openapi_extra={"requestBody": description.FILE} if operation.upload else None,
        )


def _add_description(app: FastAPI) -> None:
    """Add the OpenAPI document: the only answer that is the same for everybody and may be kept."""

    def openapi(request: Request) -> Response:
        document = {**app.openapi(), "servers": [{"url": request.scope["root_path"] or "/"}]}
        return JSONResponse(document, headers={"Cache-Control": "public, max-age=300"})

    app.add_api_route(f"{API}/openapi.json", openapi, include_in_schema=False)


def _add_generator(app: FastAPI, registry: Registry, workers: Workers) -> None:
    """Add the suffix generator: `mint` with a new label as plain text, for signed-in parties."""
    mint = OPERATIONS["mint"]

    def generated(caller: Caller, values: Mapping[str, Any]) -> str:
        record: Record = mint.run(registry, **_arguments(mint, registry, caller, values))
        return record.label

    async def generate(
        request: Request,
        namespace: Annotated[str, Path(description="The namespace, by name or base.")],
        key: Annotated[str | None, _KEY_FIELD] = None,
    ) -> Response:
        _check_key(request, mint)
        _check_no_query(request, "generate")
        if await request.body():
            _refuse_body("generate")
        values = {"namespace": namespace} | ({} if key is None else {_KEY: key})
        label = await workers.run(mint, partial(generated, request.state.caller, values))
        return PlainTextResponse(f"{label}\n", HTTPStatus.CREATED, _PRIVATE)

    app.add_api_route(
        "/generate/{namespace:path}",
        generate,
        methods=["POST"],
        name="generate",
        operation_id="generate",
        summary="Mint an identifier, and answer with its label as text.",
        description=f"For {mint.rights}.",
        response_class=PlainTextResponse,
        response_model=None,
        status_code=HTTPStatus.CREATED,
        responses=description.generator_responses(mint),
    )


def _endpoint(operation: ApiOperation, answer: Answering) -> _Endpoint:
    async def endpoint(request: Request, **sent: Any) -> Response:
        return await answer(operation, request, sent)

    return endpoint


def _download_endpoint(
    operation: ApiOperation, registry: Registry, workers: Workers, writers: Writers
) -> _Endpoint:
    """Return the endpoint of an operation that writes bytes: see `Download`.

    It ends when its client leaves.
    """

    async def endpoint(request: Request, **sent: Any) -> Response:
        values = _values(sent)
        arguments = await workers.run(
            operation, partial(_arguments, operation, registry, request.state.caller, values)
        )
        download = Download()

        def work(target: IO[bytes]) -> None:
            operation.run(registry, **{operation.download: target, PROGRESS: download.progress}, **arguments)

        if not await writers.begin(request, download, work):
            return Response(status_code=CLIENT_GONE)
        return StreamingResponse(download.blocks(), headers=_PRIVATE, media_type=operation.media_type(values))

    return endpoint


def _long_endpoint(
    operation: ApiOperation, registry: Registry, workers: Workers, limits: ServerLimits
) -> _Endpoint:
    """Return the endpoint of an operation that reports its progress. It ends when its client leaves."""
    writers = Writers(LONG, OF_ONE, limits.sending)

    async def endpoint(request: Request, **sent: Any) -> Response:
        arguments = await workers.run(
            operation, partial(_arguments, operation, registry, request.state.caller, _values(sent))
        )
        answer = Download(filler=b"\n")

        def work(target: IO[bytes]) -> None:
            lines.write(operation, registry, arguments, target, lambda: answer.is_abandoned)

        if not await writers.begin(request, answer, work):
            return Response(status_code=CLIENT_GONE)
        return StreamingResponse(answer.blocks(), headers=_UNBUFFERED, media_type=LINES)

    return endpoint


def _upload_endpoint(
    operation: ApiOperation,
    registry: Registry,
    workers: Workers,
    importers: CapacityLimiter,
    limits: ServerLimits,
) -> _Endpoint:
    """Return the endpoint of an operation whose body is a file.

    Once the file is there, it has no time limit.
    """
    places = Places(limits.uploads, limits.uploads_of_one, "send files", "send this one later")

    def prepared(caller: Caller, values: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        arguments = _arguments(operation, registry, caller, values)
        arguments[_NAME] = arguments.get(_NAME) or "the file"
        return arguments, registry.administers(caller.party)

    async def endpoint(request: Request, **sent: Any) -> Response:
        caller = request.state.caller
        arguments, trusted = await workers.run(operation, partial(prepared, caller, _values(sent)))
        with places.place(request):
            async with upload(
                request,
                str(arguments[_NAME]),
                limit=limits.upload if trusted else limits.upload // UNTRUSTED,
                seconds=limits.sending,
                packed=trusted,
            ) as path:
                work = partial(operation.run, registry, **{operation.upload: path}, **arguments)
                result = await to_thread.run_sync(work, limiter=importers)
        return JSONResponse(dump(result, registry.home), headers=_PRIVATE)

    return endpoint


def _checked(endpoint: _Endpoint, operation: ApiOperation) -> _Endpoint:
    """Return an endpoint that refuses what FastAPI would pass over: unknown parameters and request keys."""
    others = [one for one in operation.parameters if f"{{{one.name}}}" not in operation.path]
    known = {one.name: get_origin(parameter_type(one, text=True)) is list for one in others}

    async def endpoint_of_known(request: Request, **sent: Any) -> Response:
        if not operation.in_query:
            _check_no_query(request, operation.name)
        for name in request.query_params if operation.in_query else ():
            if name not in known:
                raise InvalidData(
                    f"{name!r} is no parameter of {operation.name}; it has {', '.join(known) or 'none'}",
                    field=name,
                )
            if not known[name] and len(request.query_params.getlist(name)) > 1:
                raise InvalidData(f"{name} stands twice; give it once", field=name)
        if operation.writes:
            _check_key(request, operation)
        body = b"" if operation.upload else request.state.body.strip()
        if (operation.in_query or not known) and body not in EMPTY_BODIES:
            _refuse_body(operation.name)
        if body == b"null":
            raise InvalidData("the body is no JSON object; send one", field="body")
        return await endpoint(request, **sent)

    return endpoint_of_known


def _check_no_query(request: Request, name: str) -> None:
    """Raise InvalidData for a parameter in the query of a URL, of an operation that reads none there."""
    for parameter in request.query_params:
        raise InvalidData(f"{name} reads no {parameter!r} in the query; leave it out there", field=parameter)


def _refuse_body(name: str) -> NoReturn:
    raise InvalidData(f"{name} reads no body; send none", field="body")


def _check_key(request: Request, operation: ApiOperation) -> None:
    """Raise InvalidData unless the header for a request key is one that the operation reads, if there is one.

    Header fields are bytes: other characters than those of ASCII would give another key than in JSON.
    """
    keys = request.headers.getlist(_KEY_HEADER)
    keyed = any(one.name == _KEY for one in operation.parameters)
    if len(keys) > (1 if keyed else 0):
        reason = "stands twice; send it once" if keyed else f"has no effect on {operation.name}; leave it out"
        raise InvalidData(f"the header {_KEY_HEADER} {reason}", field=_KEY_HEADER)
    if not all(key.isascii() for key in keys):
        raise InvalidData(
            f"the header {_KEY_HEADER} is not ASCII; send ASCII, or {_KEY} in a JSON body",
            field=_KEY_HEADER,
        )


def _with_parameters(endpoint: _Endpoint, operation: ApiOperation) -> _Endpoint:
    """Give an endpoint the signature by which FastAPI reads requests and describes them."""
    own = [inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)]
    endpoint.__signature__ = inspect.Signature([*own, *_signature(operation)])  # type: ignore[attr-defined]
    return endpoint


def _signature(operation: ApiOperation) -> Iterator[inspect.Parameter]:
    """Yield the parameters as FastAPI reads them: of the path, the query or the body, and one header."""
    in_path = [one for one in operation.parameters if f"{{{one.name}}}" in operation.path]
    others = [one for one in operation.parameters if one not in in_path]
    for one in in_path:
        yield _keyword(
            one.name, Annotated[parameter_type(one), Path(description=parameter_text(operation, one))]
        )
    if operation.in_query:
        for one in others:
            query = Query(description=parameter_text(operation, one))
            yield _keyword(one.name, Annotated[parameter_type(one, text=True), query], _default(one))
    elif others:
        model = body_model(operation, others)
        required = any(one.default is REQUIRED for one in others)
        yield _keyword("body", model if required else model | None, REQUIRED if required else None)
    if any(one.name == _KEY for one in others):
        yield _keyword("key", Annotated[str | None, _KEY_FIELD], None)


def _keyword(name: str, kind: Any, default: Any = REQUIRED) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _default(parameter: Parameter) -> Any:
    return [] if parameter.default == () or parameter.is_mapping else parameter.default


def _values(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a request gives, by the names of the operation's parameters."""
    values = {name: value for name, value in sent.items() if name not in ("body", "key")}
    if sent.get("body") is not None:
        values |= sent["body"].model_dump(mode="json", exclude_unset=True)
    key = sent.get("key")
    if key is not None and values.setdefault(_KEY, key) != key:
        raise InvalidData(
            f"the header {_KEY_HEADER} and requestKey differ; give one of them", field="requestKey"
        )
    return values


async def _respond(
    registry: Registry,
    workers: Workers,
    allowances: Allowances,
    operation: ApiOperation,
    request: Request,
    sent: Mapping[str, Any],
) -> Response:
    """Answer a request for an operation, with the parameters that were read from it."""
    caller, values = request.state.caller, _values(sent)
    answer = partial(_answer, operation, registry, workers, caller, values)
    if operation.scans(values):
        async with watched(request) as gone:
            return await workers.scan(operation, partial(answer, gone), counted_as(request))
    if operation.result is Answer:
        async with watched(request) as gone, allowances.place(request) as allowance:
            most = None if request.client is None else allowance  # by the socket as on the folder
            return await workers.run(operation, partial(answer, gone, most))
    return await workers.run(operation, answer)


def _answer(
    operation: ApiOperation,
    registry: Registry,
    workers: Workers,
    caller: Caller,
    values: Mapping[str, Any],
    cancelled: Callable[[], bool] = never,
    allowance: QueryAllowance | None = None,
) -> Response:
    """Carry out an operation for a caller.

    allowance  the limits of a query, whatever the request asks for.
    """
    arguments = _arguments(operation, registry, caller, values)
    if allowance is not None:
        arguments |= allowance.within(arguments)
    if _CANCELLED in operation.signature.parameters:
        arguments[_CANCELLED] = cancelled
    if operation.position is not None:
        return _page(operation, registry, arguments, values)
    if operation.capped and _LIMIT in arguments:
        arguments[_LIMIT] = min(arguments[_LIMIT], LONGEST_PAGE)
    result = operation.run(registry, **arguments)
    if operation.streams:
        return lines.stream(operation, result, registry.home, _PRIVATE, workers)
    if operation.result is Answer:
        return query_response(result, _PRIVATE)
    return JSONResponse(dump(result, registry.home), 201 if operation.creates else 200, _PRIVATE)


def _page(
    operation: ApiOperation, registry: Registry, arguments: dict[str, Any], values: Mapping[str, Any]
) -> Response:
    """Answer with a page of items; the header ``Link`` leads to the next one."""
    assert operation.position is not None
    default = operation.signature.parameters[_LIMIT].default
    asked = arguments.get(_LIMIT, default)
    limit = LONGEST_PAGE if asked is None else min(asked, LONGEST_PAGE)
    items = operation.run(registry, **arguments | {_LIMIT: limit})
    headers = dict(_PRIVATE)
    if items and len(items) == limit:
        following = {name: value for name, value in values.items() if value not in (None, [], False)}
        query = urlencode(following | {"after": operation.position(items[-1])}, doseq=True)
        headers["Link"] = f'<?{query}>; rel="next"'
    return JSONResponse(dump(items, registry.home), headers=headers)


def _arguments(
    operation: ApiOperation, registry: Registry, caller: Any, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an operation. Raises what is wrong with them, or who may not call it."""
    return permitted(caller, registry, operation, operation.arguments(values))


def _is_raw(operation: ApiOperation) -> bool:
    """Return whether the answer is something else than one JSON document."""
    return operation.in_lines or bool(operation.download) or operation.result is Answer


async def _refused(request: Request, error: IdstoreError) -> Response:
    """Answer a request that an operation refuses; the parameter at fault is named as in the request."""
    operation = OPERATIONS.get(getattr(request.scope.get("route"), "name", ""))
    return problems.response(error, operation)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    """Answer a request that does not fit the declaration of its operation."""
    operation = OPERATIONS.get(getattr(request.scope.get("route"), "name", ""))
    return problems.response(request_error(error.errors(), operation))


def _methods(request: Request) -> set[str]:
    """Return the methods of all routes for the path of a request."""
    matching = [one for one in request.app.routes if one.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return methods | ({"HEAD"} if "GET" in methods else set())


async def _no_route(request: Request, error: HTTPException) -> Response:
    """Answer a request for an address that is none, or with a body that cannot be read."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return problems.response(
            InvalidData("the body is not a JSON object in UTF-8; send one", field="body")
        )
    message = f"{error.detail}; {request.scope['root_path']}{API}/openapi.json describes the API"
    response = problems.no_route(error, message)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return response
