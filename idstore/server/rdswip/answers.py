"""Answers in XML. `registry.xsd` and `response.xsd` describe them."""

import re
from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

from starlette.exceptions import HTTPException
from starlette.responses import Response

from idstore.errors import IdstoreError, SignInRequired
from idstore.model import times
from idstore.server import problems

NAMESPACE: Final = "http://ns.ids-adi.org/registry/schema#"
RESPONSE_NAMESPACE: Final = "http://www.iringtools.org/common/response"
MEDIA_TYPE: Final = "application/xml"
_HEADERS: Final = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_CHALLENGE: Final = 'Basic realm="idstore", charset="UTF-8"'
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot write in any form."""

Elements = Iterable[tuple[str, str]]
"""Names and texts of elements."""


def text(value: str) -> str:
    """Return a text as the content of an element; U+FFFD replaces what XML cannot write."""
    return escape(_ILLEGAL.sub("\ufffd", value), {"\r": "&#13;"})


def result(elements: Elements) -> Response:
    """Return the answer to an operation.

    The default namespace and elements without prefix and attributes are what clients search for literally.
    """
    return _xml(_result(_elements(elements)))


def response(id: str) -> Response:
    """Return the answer of ``acquireId``: the identifier is the first message."""
    messages = f"<messages>{_elements([('message', id)])}</messages>"
    found = f"<results><result>{_elements([('key', 'id'), ('value', id)])}</result></results>"
    status = f"<status>{_elements([('level', 'Success'), ('identifier', id)])}{found}{messages}</status>"
    head = _elements([("level", "Success"), ("dateTimeStamp", times.iso(times.current()))])
    content = f"{head}<statusList>{status}</statusList>{messages}"
    return _xml(f'<response xmlns="{RESPONSE_NAMESPACE}">{content}</response>')


def refuse(error: IdstoreError) -> Response:
    """Return the answer to an error: never a success, since clients read one as an identifier."""
    answer = _error(error.code, problems.message(error), problems.status_of(error))
    answer.headers.update(problems.headers(error))
    if isinstance(error, SignInRequired):
        answer.headers["WWW-Authenticate"] = _CHALLENGE
    return answer


def not_found(error: HTTPException) -> Response:
    """Return the answer to an address that is none, or to a method that it has not."""
    message = f"{error.detail}; /registry?registry-op=ui shows the operations"
    answer = _error(problems.no_route_code(error), message, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def _error(code: str, message: str, status: int) -> Response:
    return _xml(_result(f'<error code="{code}">{text(message)}</error>'), status)


def _result(content: str) -> str:
    return f'<result xmlns="{NAMESPACE}">{content}</result>'


def _elements(elements: Elements) -> str:
    return "".join(f"<{name}>{text(value)}</{name}>" for name, value in elements)


def _xml(document: str, status: int = 200) -> Response:
    return Response(document, status, _HEADERS, MEDIA_TYPE + "; charset=utf-8")
