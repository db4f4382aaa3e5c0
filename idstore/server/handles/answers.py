"""Answers of the Handle API: response codes, their HTTP statuses, and the JSON around them."""

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from idstore import errors
from idstore.server import problems


class Code(IntEnum):
    """Response codes of the Handle protocol that occur here."""

    SUCCESS = 1
    ERROR = 2
    TOO_BUSY = 3
    PROTOCOL_ERROR = 4
    NOT_SUPPORTED = 5
    HANDLE_NOT_FOUND = 100
    HANDLE_EXISTS = 101
    INVALID_HANDLE = 102
    VALUES_NOT_FOUND = 200
    VALUE_EXISTS = 201
    INVALID_VALUE = 202
    NOT_RESPONSIBLE = 301
    NO_PERMISSION = 401
    SIGN_IN_NEEDED = 402
    SIGN_IN_FAILED = 403


STATUSES: Final[Mapping[Code, int]] = {
    Code.SUCCESS: 200,
    Code.ERROR: 500,
    Code.TOO_BUSY: 503,
    Code.PROTOCOL_ERROR: 400,
    Code.NOT_SUPPORTED: 501,
    Code.HANDLE_NOT_FOUND: 404,
    Code.HANDLE_EXISTS: 409,
    Code.INVALID_HANDLE: 400,
    Code.VALUES_NOT_FOUND: 400,
    Code.VALUE_EXISTS: 409,
    Code.INVALID_VALUE: 400,
    Code.NOT_RESPONSIBLE: 400,
    Code.NO_PERMISSION: 403,
    Code.SIGN_IN_NEEDED: 401,
    Code.SIGN_IN_FAILED: 403,
}
"""The HTTP status of each response code, if an answer states no other."""
CODES: Final[Mapping[type[errors.IdstoreError], Code]] = {
    errors.IdstoreError: Code.ERROR,
    errors.InvalidIdentifier: Code.INVALID_HANDLE,
    errors.InvalidData: Code.INVALID_VALUE,
    errors.NotRegistered: Code.HANDLE_NOT_FOUND,
    errors.UnknownValue: Code.VALUES_NOT_FOUND,
    errors.AlreadyRegistered: Code.HANDLE_EXISTS,
    errors.StageConflict: Code.NO_PERMISSION,
    errors.NotPermitted: Code.NO_PERMISSION,
    errors.SignInRequired: Code.SIGN_IN_NEEDED,
    errors.TooManyAttempts: Code.SIGN_IN_FAILED,
    errors.SignInUnavailable: Code.TOO_BUSY,
    errors.LimitReached: Code.TOO_BUSY,
    errors.RequestTooLarge: Code.PROTOCOL_ERROR,
    errors.StoreUnavailable: Code.TOO_BUSY,
    errors.OutcomeUnknown: Code.ERROR,
}
"""Error → response code; an error without an entry has that of its base class."""
_TOO_LARGE: Final = 413
_CHALLENGE: Final = 'Basic realm="handle", charset="UTF-8"'
_HEADERS: Final = {
    "Cache-Control": "private, no-store",
    "X-Content-Type-Options": "nosniff",
}


class Refusal(Exception):
    """A request that the API refuses itself.

    status  the HTTP status, if it is not that of the response code.
    """

    def __init__(self, code: Code, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


def answer(
    content: Mapping[str, Any],
    status: int = 200,
    headers: Mapping[str, str] = {},
    *,
    pretty: bool = False,
) -> Response:
    """Return an answer in JSON."""
    text = json.dumps(content, ensure_ascii=False, indent=2 if pretty else None)
    return Response(
        text.encode(errors="replace"), status, {**_HEADERS, **headers}, "application/json; charset=utf-8"
    )


def refusal(error: Refusal | errors.IdstoreError, handle: str | None = None) -> Response:
    """Return the answer to a request that is refused.

    handle  the handle that it is about.
    """
    code, status = _code(error)
    about = {} if handle is None else {"handle": handle}
    headers = {}
    if code is Code.SIGN_IN_NEEDED:
        headers["WWW-Authenticate"] = _CHALLENGE
    if code is Code.TOO_BUSY or isinstance(error, errors.TooManyAttempts):
        fields = error.fields if isinstance(error, errors.IdstoreError) else {}
        headers["Retry-After"] = str(fields.get("retry_after", problems.RETRY_AFTER))
    message = error.message if isinstance(error, Refusal) else problems.message(error)
    return answer({"responseCode": code, **about, "message": message}, status, headers)


def unrouted(error: HTTPException) -> Response:
    """Return the answer to an address, or a method, that the API does not have."""
    return refusal(
        Refusal(Code.PROTOCOL_ERROR, "this address is not one of the Handle API", error.status_code)
    )


def _code(error: Refusal | errors.IdstoreError) -> tuple[Code, int]:
    if isinstance(error, Refusal):
        return error.code, error.status or STATUSES[error.code]
    if isinstance(error, errors.AlreadyRegistered) and "index" in error.fields:
        return Code.VALUE_EXISTS, STATUSES[Code.VALUE_EXISTS]
    code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    return code, _TOO_LARGE if isinstance(error, errors.RequestTooLarge) else STATUSES[code]
