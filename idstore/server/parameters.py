"""The parameters of requests: how FastAPI reads them by the declaration of an operation.

What FastAPI would pass over is refused here: unknown parameters, and request keys without effect.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Final, NoReturn, get_origin

from fastapi import Header, Path, Query
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from idstore.errors import InvalidData
from idstore.operations.descriptions import parameter_text
from idstore.operations.operation import API, REQUIRED, ApiOperation, Parameter
from idstore.server.request_body import EMPTY_BODIES
from idstore.server.schema import body_model, parameter_type

KEY: Final = "requestKey"
"""The parameter for a request key."""
_KEY_HEADER: Final = "Idempotency-Key"
KEY_FIELD: Final = Header(alias=_KEY_HEADER, description="The same as `requestKey`.")
Endpoint = Callable[..., Awaitable[Response]]


class _AnyText(PathConvertor):
    """A parameter in a path, which may also hold line breaks: no name has them, but an error says so."""

    regex = "(?s:.*)"


register_url_convertor("any", _AnyText())


def route_path(operation: ApiOperation) -> str:
    """Return the path of an operation with its parameters, as routes write it."""
    return API + operation.path.replace("}", ":any}")


def checked(endpoint: Endpoint, operation: ApiOperation) -> Endpoint:
    """Return an endpoint that refuses what FastAPI would pass over: unknown parameters and request keys."""
    others = [one for one in operation.parameters if f"{{{one.name}}}" not in operation.path]
    known = {one.name: get_origin(parameter_type(one, text=True)) is list for one in others}

    async def endpoint_of_known(request: Request, **sent: Any) -> Response:
        if not operation.in_query:
            check_no_query(request, operation.name)
        for name in request.query_params if operation.in_query else ():
            if name not in known:
                raise InvalidData(
                    f"{name!r} is no parameter of {operation.name}; it has {', '.join(known) or 'none'}",
                    field=name,
                )
            if not known[name] and len(request.query_params.getlist(name)) > 1:
                raise InvalidData(f"{name} stands twice; give it once", field=name)
        if operation.writes:
            check_key(request, operation)
        body = b"" if operation.upload else request.state.body.strip()
        if (operation.in_query or not known) and body not in EMPTY_BODIES:
            refuse_body(operation.name)
        if body == b"null":
            raise InvalidData("the body is no JSON object; send one", field="body")
        return await endpoint(request, **sent)

    return endpoint_of_known


def check_no_query(request: Request, name: str) -> None:
    """Raise InvalidData for a parameter in the query of a URL, of an operation that reads none there."""
    for parameter in request.query_params:
        raise InvalidData(f"{name} reads no {parameter!r} in the query; leave it out there", field=parameter)


def refuse_body(name: str) -> NoReturn:
    """Raise InvalidData for a body, of an operation that reads none."""
    raise InvalidData(f"{name} reads no body; send none", field="body")


def check_key(request: Request, operation: ApiOperation) -> None:
    """Raise InvalidData unless the header for a request key is one that the operation reads, if there is one.

    Header fields are bytes: other characters than those of ASCII would give another key than in JSON.
    """
    keys = request.headers.getlist(_KEY_HEADER)
    keyed = any(one.name == KEY for one in operation.parameters)
    if len(keys) > (1 if keyed else 0):
        reason = "stands twice; send it once" if keyed else f"has no effect on {operation.name}; leave it out"
        raise InvalidData(f"the header {_KEY_HEADER} {reason}", field=_KEY_HEADER)
    if not all(key.isascii() for key in keys):
        raise InvalidData(
            f"the header {_KEY_HEADER} is not ASCII; send ASCII, or {KEY} in a JSON body",
            field=_KEY_HEADER,
        )


def with_parameters(endpoint: Endpoint, operation: ApiOperation) -> Endpoint:
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
    if any(one.name == KEY for one in others):
        yield _keyword("key", Annotated[str | None, KEY_FIELD], None)


def _keyword(name: str, kind: Any, default: Any = REQUIRED) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _default(parameter: Parameter) -> Any:
    return [] if parameter.default == () or parameter.is_mapping else parameter.default


def read_values(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a request gives, by the names of the operation's parameters."""
    values = {name: value for name, value in sent.items() if name not in ("body", "key")}
    if sent.get("body") is not None:
        values |= sent["body"].model_dump(mode="json", exclude_unset=True)
    key = sent.get("key")
    if key is not None and values.setdefault(KEY, key) != key:
        raise InvalidData(
            f"the header {_KEY_HEADER} and requestKey differ; give one of them", field="requestKey"
        )
    return values
