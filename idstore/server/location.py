"""The address of the server itself, and paths that texts of requests are appended to."""

import re
from typing import Final
from urllib.parse import quote

from starlette.requests import Request

_DOTS: Final = re.compile(r"(?:^|[/\\])(?:\.|%2e){1,2}(?=$|[/?#\\])", re.IGNORECASE)


def origin(request: Request) -> str:
    """Return the address of the server, by the host that the request names, without a final slash."""
    url = request.url
    return f"{url.scheme}://{quote(url.netloc, safe=':[]@')}{quote(request.scope['root_path'])}"


def has_dots(path: str) -> bool:
    """Return whether a text has a segment ``.`` or ``..``.

    Such a segment leads out of the path that the text is appended to.

    >>> has_dots("/a/../b"), has_dots("/%2E%2e"), has_dots("/a..b/c.txt")
    (True, True, False)
    """
    return _DOTS.search(path) is not None
