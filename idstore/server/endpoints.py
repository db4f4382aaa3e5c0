"""The endpoints of operations: they carry out an operation, and answer with JSON, lines or a file."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, Final
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from idstore.operations.operation import LINES, LONGEST_PAGE, PROGRESS, ApiOperation
from idstore.operations.wire import dump
from idstore.progress import never
from idstore.registry import Registry
from idstore.server import lines
from idstore.server.admission import CLIENT_GONE, ServerLimits
from idstore.server.allowances import Allowances, QueryAllowance
from idstore.server.hot_routes import Answering
from idstore.server.parameters import Endpoint, read_values
from idstore.server.performer import permitted
from idstore.server.places import Places
from idstore.server.processor_time_limit import ProcessorTimeLimit
from idstore.server.query_answers import query_response, watched
from idstore.server.sign_in import Caller, counted_as
from idstore.server.transfers import Download, Writers, upload
from idstore.server.workers import Workers
from idstore.stores.contract import Answer

LONG: Final = 3
"""How many times an operation that takes long is carried out at the same time; others wait."""
OF_ONE: Final = 2
"""Those of one party that signed in, or of one address."""
UNTRUSTED: Final = 64
"""How many times smaller the files of others than administrators must be: reading them takes memory."""
PRIVATE: Final = {"Cache-Control": "private, no-store"}
"""Header of every answer that may depend on who asks."""
_UNBUFFERED: Final = {**PRIVATE, "X-Accel-Buffering": "no"}
"""Headers of an answer that takes long: nginx passes each line on at once."""
_NAME: Final = "name"
"""The parameter that names an uploaded file: its path here is none of its sender's business."""
_CANCELLED: Final = "cancelled"
"""Parameter of operations that can be ended: a function that tells whether they should."""
_LIMIT: Final = "limit"
"""Parameter of operations that return a part of a list: how many items it has at most."""


def endpoint_of(operation: ApiOperation, answer: Answering) -> Endpoint:
    """Return the endpoint of an operation that answers with a JSON document, a page or a stream."""

    async def endpoint(request: Request, **sent: Any) -> Response:
        return await answer(operation, request, sent)

    return endpoint


def download_endpoint(
    operation: ApiOperation, registry: Registry, workers: Workers, writers: Writers
) -> Endpoint:
    """Return the endpoint of an operation that writes bytes: see `Download`.

    It ends when its client leaves.
    """

    async def endpoint(request: Request, **sent: Any) -> Response:
        values = read_values(sent)
        arguments = await workers.run(
            operation,
            partial(permitted_arguments, operation, registry, request.state.caller, values),
            counted_as(request),
        )
        download = Download()

        def work(target: IO[bytes]) -> None:
            operation.run(registry, **{operation.download: target, PROGRESS: download.progress}, **arguments)

        if not await writers.begin(request, download, work):
            return Response(status_code=CLIENT_GONE)
        return StreamingResponse(download.blocks(), headers=PRIVATE, media_type=operation.media_type(values))

    return endpoint


def long_endpoint(
    operation: ApiOperation, registry: Registry, workers: Workers, limits: ServerLimits
) -> Endpoint:
    """Return the endpoint of an operation that reports its progress. It ends when its client leaves."""
    writers = Writers(LONG, OF_ONE, limits.sending)

    async def endpoint(request: Request, **sent: Any) -> Response:
        arguments = await workers.run(
            operation,
            partial(permitted_arguments, operation, registry, request.state.caller, read_values(sent)),
            counted_as(request),
        )
        answer = Download(filler=b"\n")

        def work(target: IO[bytes]) -> None:
            lines.write(operation, registry, arguments, target, lambda: answer.is_abandoned)

        if not await writers.begin(request, answer, work):
            return Response(status_code=CLIENT_GONE)
        return StreamingResponse(answer.blocks(), headers=_UNBUFFERED, media_type=LINES)

    return endpoint


def upload_endpoint(
    operation: ApiOperation,
    registry: Registry,
    workers: Workers,
    importers: CapacityLimiter,
    limits: ServerLimits,
) -> Endpoint:
    """Return the endpoint of an operation whose body is a file.

    Once the file is there, that of an administrator has no time limit.
    """
    places = Places(limits.uploads, limits.uploads_of_one, "send files", "send this one later")

    def prepared(caller: Caller, values: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        arguments = permitted_arguments(operation, registry, caller, values)
        arguments[_NAME] = arguments.get(_NAME) or "the file"
        return arguments, registry.administers(caller.party)

    async def endpoint(request: Request, **sent: Any) -> Response:
        caller = request.state.caller
        # it changes nothing, and waits for none of the caller's acts
        arguments, trusted = await workers.run(operation, partial(prepared, caller, read_values(sent)))
        with places.place(request):
            async with upload(
                request,
                str(arguments[_NAME]),
                limit=limits.upload if trusted else limits.upload // UNTRUSTED,
                seconds=limits.sending,
                packed=trusted,
            ) as path:
                if not trusted:
                    arguments[PROGRESS] = ProcessorTimeLimit(limits.importing)
                work = partial(operation.run, registry, **{operation.upload: path}, **arguments)
                result = await to_thread.run_sync(work, limiter=importers)
        return JSONResponse(dump(result, registry.home), headers=PRIVATE)

    return endpoint


async def respond(
    registry: Registry,
    workers: Workers,
    allowances: Allowances,
    operation: ApiOperation,
    request: Request,
    sent: Mapping[str, Any],
) -> Response:
    """Answer a request for an operation, with the parameters that were read from it."""
    caller, values = counted_as(request), read_values(sent)
    answer = partial(_answer, operation, registry, workers, request, values)
    if operation.scans(values):
        async with watched(request) as gone:
            return await workers.scan(operation, partial(answer, gone), caller)
    if operation.result is Answer:

        async def ask(allowance: QueryAllowance, gone: Callable[[], bool]) -> Response:
            most = None if request.client is None else allowance  # by the socket as on the folder
            return await workers.run(operation, partial(answer, gone, most), caller)

        return await allowances.answer(request, ask)
    return await workers.run(operation, answer, caller)


def _answer(
    operation: ApiOperation,
    registry: Registry,
    workers: Workers,
    request: Request,
    values: Mapping[str, Any],
    cancelled: Callable[[], bool] = never,
    allowance: QueryAllowance | None = None,
) -> Response:
    """Carry out an operation for the caller of a request.

    allowance  the limits of a query, whatever the request asks for.
    """
    arguments = permitted_arguments(operation, registry, request.state.caller, values)
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
        return lines.stream(operation, result, registry.home, PRIVATE, workers, counted_as(request))
    if operation.result is Answer:
        return query_response(result, PRIVATE)
    return JSONResponse(dump(result, registry.home), 201 if operation.creates else 200, PRIVATE)


def _page(
    operation: ApiOperation, registry: Registry, arguments: dict[str, Any], values: Mapping[str, Any]
) -> Response:
    """Answer with a page of items; the header ``Link`` leads to the next one."""
    assert operation.position is not None
    default = operation.signature.parameters[_LIMIT].default
    asked = arguments.get(_LIMIT, default)
    limit = LONGEST_PAGE if asked is None else min(asked, LONGEST_PAGE)
    items = operation.run(registry, **arguments | {_LIMIT: limit})
    headers = dict(PRIVATE)
    if items and len(items) == limit:
        following = {name: value for name, value in values.items() if value not in (None, [], False)}
        query = urlencode(following | {"after": operation.position(items[-1])}, doseq=True)
        headers["Link"] = f'<?{query}>; rel="next"'
    return JSONResponse(dump(items, registry.home), headers=headers)


def permitted_arguments(
    operation: ApiOperation, registry: Registry, caller: Any, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of an operation. Raises what is wrong with them, or who may not call it."""
    return permitted(caller, registry, operation, operation.arguments(values))
