"""Errors as HTTP answers: the table of statuses, and problem details (RFC 9457)."""

import re
from contextvars import ContextVar
from http import HTTPStatus
from math import isfinite
from typing import Final, NotRequired, TypedDict

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Scope

from idstore import errors
from idstore.operations.operation import ApiOperation
from idstore.server.sign_in import is_local
from idstore.vocabulary import SPACE

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER: Final = 2
"""Seconds after which a refused request may succeed."""

STATUSES: Final[dict[type[errors.IdstoreError], int]] = {
    errors.IdstoreError: 500,
    errors.InvalidIdentifier: 422,
    errors.InvalidData: 422,
    errors.UnsupportedMedia: 415,
    errors.NotAcceptable: 406,
    errors.UnknownScheme: 422,
    errors.AmbiguousIdentifier: 409,
    errors.QueryRefused: 422,
    errors.NotRegistered: 404,
    errors.AlreadyRegistered: 409,
    errors.ImportConflict: 409,
    errors.StageConflict: 409,
    errors.RequestConflict: 409,
    errors.NamespaceExhausted: 409,
    errors.NotPermitted: 403,
    errors.SignInRequired: 401,
    errors.TooManyAttempts: 429,
    errors.SignInUnavailable: 503,
    errors.ShapeViolation: 422,
    errors.IntegrityError: 500,
    errors.LimitReached: 503,
    errors.TooManyQueries: 429,
    errors.RequestTooLarge: 413,
    errors.LocalOnly: 404,
    errors.StoreUnavailable: 503,
    errors.OutcomeUnknown: 504,
}
"""Error → status; an error without an entry has that of its base class."""
TEMPORARY: Final = (429, 503)
"""Statuses of answers that say when to ask again."""
answered: Final = ContextVar[Scope]("answered")
"""The request that is answered."""
_PATH: Final = re.compile(r"""(?<![^\s'"(])/[^\s'":;,)]+""")
_CANCELLED: Final = "cancelled"
"""The limit of a request whose client has gone: no fault of it."""
_DEPTH: Final = 4
_CHALLENGE: Final = 'Bearer realm="idstore", Basic realm="idstore", charset="UTF-8"'


class Problem(TypedDict):
    """What went wrong.

    error   the slug.
    fields  the values used in ``detail``; ``position`` counts in ``value``.
    field   the parameter that is at fault, if one is.
    value   what the request gave there.
    """

    type: str
    title: str
    status: int
    detail: str
    error: str
    fields: NotRequired[dict[str, object]]
    field: NotRequired[str]
    value: NotRequired[object]
    remedy: NotRequired[str]


def status(kind: type[errors.IdstoreError]) -> int:
    """Return the status of an error."""
    return next(STATUSES[base] for base in kind.__mro__ if base in STATUSES)


def statuses(kind: type[errors.IdstoreError]) -> tuple[int, ...]:
    """Return the statuses that an error of this class may have: see `status_of`."""
    return (status(kind), 422) if kind is errors.LimitReached else (status(kind),)


def status_of(error: errors.IdstoreError) -> int:
    """Return the status of an error. A request that reaches a limit of its own would reach it again: 422."""
    if type(error) is errors.LimitReached and error.fields.get("limit", _CANCELLED) != _CANCELLED:
        return 422
    return status(type(error))


def message(error: errors.IdstoreError) -> str:
    """Return what an error says to the caller of a request."""
    return error.message if _may_name_paths(error) else _without_paths(error.message, error)


def _may_name_paths(error: errors.IdstoreError) -> bool:
    """Return whether an answer may name files of this machine: only those who operate it can do something."""
    if not isinstance(error, errors.StoreUnavailable):
        return True
    request = answered.get(None)
    return request is not None and is_local(request)


def _without_paths(text: str, error: errors.IdstoreError) -> str:
    """Return a text without the names of files of this machine.

    >>> _without_paths("/srv/a b/ledger: no space", errors.StoreUnavailable("", path="/srv/a b/ledger"))
    'a file of the server: no space'
    """
    known = error.fields.get("path")
    if known:
        text = text.replace(str(known), "/path")  # it may have blanks
    return _PATH.sub("a file of the server", text)


def describe(error: errors.IdstoreError) -> Problem:
    """Return the problem details of an error."""
    fields, field = error.fields, error.field
    if not _may_name_paths(error):
        fields = {name: value for name, value in fields.items() if not _PATH.match(str(value))}
        field = field if field in fields else None
    problem: Problem = {
        "type": f"{SPACE}error/{error.code}",
        "title": error.code.replace("-", " ").capitalize(),
        "status": status_of(error),
        "detail": message(error),
        "error": error.code,
        "fields": {name: _plain(value) for name, value in fields.items()},
    }
    if error.position is not None:
        problem["fields"]["position"] = error.position
    if field is not None:
        problem |= {"field": str(_plain(field)), "value": _plain(error.value)}
    if error.remedy is not None:
        problem["remedy"] = error.remedy.value
    return problem


def headers(error: errors.IdstoreError) -> dict[str, str]:
    """Return the headers of the answer for an error, in any form of it."""
    found = {"Cache-Control": "private, no-store"}
    if status_of(error) in TEMPORARY:
        found["Retry-After"] = str(error.fields.get("retry_after", RETRY_AFTER))
    if isinstance(error, errors.SignInRequired):
        found["WWW-Authenticate"] = _CHALLENGE
    return found


def response(
    error: errors.IdstoreError, operation: ApiOperation | None = None, status: int | None = None
) -> JSONResponse:
    """Return the answer for an error, which names the parameter at fault as requests for an operation do.

    status  None: that of the error.
    """
    document = describe(error)
    document["status"] = status or document["status"]
    if operation is not None and error.field is not None:
        document["field"] = operation.in_json(error.field)
    return JSONResponse(document, document["status"], headers(error), MEDIA_TYPE)


def no_route(error: HTTPException, message: str = "") -> JSONResponse:
    """Return the answer to a request for an address, or with a method, that there is not.

    It has no field ``text``, by which clients tell it from an identifier that is not registered.

    message  what to say instead of the error's own words.
    """
    slug = no_route_code(error)
    document: Problem = {
        "type": f"{SPACE}error/{slug}",
        "title": slug.replace("-", " ").capitalize(),
        "status": error.status_code,
        "detail": message or error.detail,
        "error": slug,
        "fields": {},
    }
    headers = {"Cache-Control": "private, no-store", **(error.headers or {})}
    return JSONResponse(document, error.status_code, headers, MEDIA_TYPE)


def no_route_code(error: HTTPException) -> str:
    """Return the slug for an address, or a method, that there is not."""
    return "method-not-allowed" if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED else "not-registered"


def failure(error: Exception) -> errors.IdstoreError:
    """Return what callers learn of a failure that was not expected.

    The text of the failure itself may tell of hidden things.
    """
    return errors.IdstoreError(f"the server failed unexpectedly: {type(error).__name__}")


def _plain(value: object, depth: int = _DEPTH) -> object:
    """Return a value that JSON in UTF-8 can hold; what a request nests too deeply is left out.

    >>> _plain({"a": [float("nan"), 1, None]})
    {'a': ['nan', 1, None]}
    """
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case list() | dict() if not depth:
            return "…"
        case list():
            return [_plain(one, depth - 1) for one in value]
        case dict():
            return {str(_plain(str(name))): _plain(one, depth - 1) for name, one in value.items()}
        case float() if not isfinite(value):
            return str(value)
    return value if isinstance(value, int | float | None) else str(value)
