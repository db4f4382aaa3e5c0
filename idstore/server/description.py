"""The OpenAPI description of the API: what FastAPI does not know of the operations."""

import json
from http import HTTPStatus
from typing import Any, Final

from idstore import errors
from idstore.operations.declared import OPERATIONS
from idstore.operations.operation import LINES, ApiOperation, Rights
from idstore.queries.formats import FORMATS
from idstore.server import problems
from idstore.server.schema import document_schema, item_schemas, result_type
from idstore.stores.contract import Answer

Json = dict[str, Any]

FILE: Final[Json] = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
"""The body of an upload."""
_SCHEMES: Final[Json] = {
    "token": {"type": "http", "scheme": "bearer"},
    "password": {"type": "http", "scheme": "basic", "description": "A party's name, and a token of it."},
}
"""How a request signs in."""
_ANY: Final = (
    errors.SignInRequired,
    errors.NotPermitted,
    errors.RequestTooLarge,
    errors.InvalidData,
    errors.TooManyAttempts,
    errors.TooManyQueries,
    errors.LimitReached,
    errors.Overloaded,
    errors.StoreUnavailable,
)
"""Errors that every operation may answer with."""
_LINK: Final[Json] = {
    "Link": {"description": 'Of a full page: <?…>; rel="next".', "schema": {"type": "string"}},
}
_RETRY: Final[Json] = {
    "Retry-After": {
        "description": "Seconds after which the request may succeed.",
        "schema": {"type": "integer"},
    }
}
_FACTS: Final[Json] = {
    "Idstore-Format": {"description": "The name of the format.", "schema": {"type": "string"}},
    "Idstore-Kind": {"description": "`rows`, `truth` or `triples`.", "schema": {"type": "string"}},
    "Idstore-Rows": {"description": "The number of rows, or of triples.", "schema": {"type": "integer"}},
    "Idstore-Truncated": {"description": "Whether rows are left out.", "schema": {"type": "boolean"}},
}
"""The headers with the answer to a query."""
_CHALLENGE: Final[Json] = {
    "WWW-Authenticate": {"description": "The ways to sign in.", "schema": {"type": "string"}},
}
_NULL: Final[Json] = {"type": "null"}


def responses(operation: ApiOperation) -> dict[int | str, Json]:
    """Return the documented answers of an operation."""
    answers: dict[int | str, Json] = {201 if operation.creates else 200: _success(operation)}
    bodiless = operation.in_query and not operation.upload
    raised: list[type[errors.IdstoreError]] = [
        *_ANY,
        *([errors.OutcomeUnknown] if operation.writes else []),
        *([] if bodiless else [errors.UnsupportedMedia]),
        *operation.errors,
    ]
    slugs: dict[int, dict[str, None]] = {}
    for error in raised:
        for status in problems.statuses(error):
            slugs.setdefault(status, {})[error.code] = None
    for status, codes in sorted(slugs.items()):
        answers[status] = {
            "description": ", ".join(codes),
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        if status in problems.TEMPORARY:
            answers[status]["headers"] = _RETRY
        elif status == HTTPStatus.UNAUTHORIZED:
            answers[status]["headers"] = _CHALLENGE
    return answers


def generator_responses(operation: ApiOperation) -> dict[int | str, Json]:
    """Return the documented answers of the suffix generator, which mints: the label as a line of text."""
    label = {"text/plain": {"schema": {"type": "string"}}}
    return responses(operation) | {201: {"description": "The label of a new identifier.", "content": label}}


def _success(operation: ApiOperation) -> Json:
    if operation.download or operation.result is Answer:
        media = operation.media or {name: format.media_type for name, format in FORMATS.items()}
        kinds = [one.partition(";")[0] for one in media.values()]
        return {
            "description": "The file, in the format asked for.",
            "content": {one: {"schema": _file_schema(one)} for one in kinds},
            **({"headers": _FACTS} if operation.result is Answer else {}),
        }
    if operation.in_lines:
        progress = " Lines with the key progress, and empty ones, come before." if operation.is_long else ""
        return {
            "description": "One JSON document a line; a last one with the key problem tells of an error."
            + progress
        }
    headers = {} if operation.position is None else {"headers": _LINK}
    return {"description": "Done.", "model": result_type(operation.result), **headers}


def _file_schema(media: str) -> Json:
    """Return the schema of a file: any JSON, bytes, or text."""
    if media.endswith("json"):
        return {}
    return {"type": "string", "format": "binary"} if media.endswith("sheet") else {"type": "string"}


def complete(document: Json) -> Json:
    """Return FastAPI's description with problems, streams and sign-in.

    It has no null where absence says the same.
    """
    components = document["components"]
    components["schemas"].setdefault("Problem", document_schema(problems.Problem))
    components["securitySchemes"] = _SCHEMES
    items, shared = item_schemas({one.name: one.line for one in OPERATIONS.values() if one.in_lines})
    for name, schema in components["schemas"].items():
        if name.endswith("Body"):
            _simplify(schema)
    components["schemas"] |= shared
    for methods in document["paths"].values():
        for described in methods.values():
            operation = OPERATIONS.get(described["operationId"], OPERATIONS["mint"])  # the generator mints
            anonymous: list[Json] = [{}] if operation.rights is Rights.EVERYONE else []
            described["security"] = [*anonymous, *({name: []} for name in _SCHEMES)]
            for parameter in described.get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
            for content in described.get("requestBody", {}).get("content", {}).values():
                content["schema"] = _without_null(content["schema"])
            if operation.in_lines:
                done = described["responses"]["201" if operation.creates else "200"]
                done["content"] = {
                    LINES: {"schema": _lines(items[operation.name], is_long=operation.is_long)}
                }
    return document


def _lines(item: Json, *, is_long: bool) -> Json:
    """Return the schema of a text of one JSON object a line.

    OpenAPI 3.1 has none for the lines themselves.
    """
    problem = {"type": "object", "properties": {"problem": {"$ref": "#/components/schemas/Problem"}}}
    alternatives = [item, {**problem, "required": ["problem"]}]
    if is_long:
        alternatives.append(
            {"type": "object", "properties": {"progress": {"type": "object"}}, "required": ["progress"]}
        )
    return {
        "type": "string",
        "contentMediaType": LINES,
        "contentSchema": {"type": "array", "items": {"anyOf": alternatives}},
    }


def _simplify(body: Json) -> None:
    """Let fields that may be absent be no null, and say a default in words.

    Otherwise some generators of clients require these fields.
    """
    for name, schema in body["properties"].items():
        if "default" in schema:
            default = json.dumps(schema.pop("default"))
            schema["description"] = f"{schema.get('description', '')} Default: `{default}`.".strip()
        elif name not in body.get("required", ()):
            body["properties"][name] = _without_null(schema)


def _without_null(schema: Json) -> Json:
    """Return the schema of something that may be left out, without the alternative null."""
    kinds: list[Json] = [kind for kind in schema.get("anyOf", ()) if kind != _NULL]
    if len(kinds) != 1:
        return schema | ({"anyOf": kinds} if kinds else {})
    others = {key: value for key, value in schema.items() if key not in ("anyOf", "title")}
    return kinds[0] if "$ref" in kinds[0] else kinds[0] | others
