"""The JSON API: a route for each declared operation, and its OpenAPI document."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Path
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from idstore.errors import IdstoreError, InvalidData, SignInRequired
from idstore.model.record import Record
from idstore.operations.declared import OPERATIONS
from idstore.operations.descriptions import summary
from idstore.operations.operation import API, VERSION, ApiOperation
from idstore.registry import Registry
from idstore.server import description, health, problems
from idstore.server.admission import CLIENT_GONE, Figures, ServerLimits
from idstore.server.allowances import Allowances
from idstore.server.endpoints import (
    OF_ONE,
    PRIVATE,
    download_endpoint,
    endpoint_of,
    long_endpoint,
    permitted_arguments,
    respond,
    upload_endpoint,
)
from idstore.server.hot_routes import Answering, HotRoutes
from idstore.server.parameters import (
    KEY,
    KEY_FIELD,
    check_key,
    check_no_query,
    checked,
    refuse_body,
    route_path,
    with_parameters,
)
from idstore.server.request_body import RequestBody, check_keys
from idstore.server.request_errors import request_error
from idstore.server.sign_in import Caller, counted_as
from idstore.server.transfers import Writers
from idstore.server.workers import Workers
from idstore.stores.contract import Answer

WRITERS: Final = 3
"""Downloads that are written at the same time; others wait."""
IMPORTERS: Final = 2
"""Uploads that are worked on at the same time; others wait."""
UPLOADS: Final = frozenset(f"{API}{one.path}" for one in OPERATIONS.values() if one.upload)
"""Paths of requests whose body is a file."""


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
    answer = partial(respond, registry, workers, allowances)
    _add_operations(app, registry, workers, limits, answer)
    _add_generator(app, registry, workers)
    _add_description(app)
    health.add(app, registry, figures)
    app.add_exception_handler(IdstoreError, _refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _no_route)  # type: ignore[arg-type]
    app.add_exception_handler(ClientDisconnect, lambda _, __: Response(status_code=CLIENT_GONE))
    app.add_exception_handler(Exception, lambda _, error: problems.response(problems.failure(error)))
    app.hot_routes = HotRoutes(partial(FastAPI.__call__, app), answer)
    return app


def _add_operations(
    app: FastAPI, registry: Registry, workers: Workers, limits: ServerLimits, answer: Answering
) -> None:
    writers, importers = Writers(WRITERS, OF_ONE, limits.sending), CapacityLimiter(IMPORTERS)
    for operation in OPERATIONS.values():
        if operation.download:
            endpoint = download_endpoint(operation, registry, workers, writers)
        elif operation.upload:
            endpoint = upload_endpoint(operation, registry, workers, importers, limits)
        elif operation.is_long:
            endpoint = long_endpoint(operation, registry, workers, limits)
        else:
            endpoint = endpoint_of(operation, answer)
        app.add_api_route(
            route_path(operation),
            with_parameters(checked(endpoint, operation), operation),
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
        record: Record = mint.run(registry, **permitted_arguments(mint, registry, caller, values))
        return record.label

    async def generate(
        request: Request,
        namespace: Annotated[str, Path(description="The namespace, by name or base.")],
        key: Annotated[str | None, KEY_FIELD] = None,
    ) -> Response:
        check_key(request, mint)
        check_no_query(request, "generate")
        if await request.body():
            refuse_body("generate")
        values = {"namespace": namespace} | ({} if key is None else {KEY: key})
        work = partial(generated, request.state.caller, values)
        label = await workers.run(mint, work, counted_as(request))
        return PlainTextResponse(f"{label}\n", HTTPStatus.CREATED, PRIVATE)

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
            InvalidData(
                "the body cannot be read; send a JSON object in UTF-8, not nested deeply", field="body"
            )
        )
    message = f"{error.detail}; {request.scope['root_path']}{API}/openapi.json describes the API"
    response = problems.no_route(error, message)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return response
