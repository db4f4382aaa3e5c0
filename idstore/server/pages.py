"""HTML pages from the templates of the package.

They load nothing from elsewhere, and hold no script and no style of their own: the policy of their content
forbids it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from idstore.characters import printable, safe
from idstore.server import problems
from idstore.server.interfaces import Interface

HEADERS: Final = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every page."""
_FILES: Final = "/static"


def page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] = {}, **values: Any
) -> Response:
    """Return a page, made from a template of the package and the values that it shows.

    Templates also know ``root``, the path before every address of the server, and ``party``, the name of the
    caller's party, empty for an anonymous request. The filters ``line`` and ``lines`` write controls, and
    characters that change the direction of writing, as escapes: use one for each text that a party chose.
    """
    party = request.state.caller.party.name
    text = _templates().get_template(template).render(root=request.scope["root_path"], party=party, **values)
    return HTMLResponse(text, status, {**HEADERS, **headers})


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("idstore.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["line"] = printable
    made.filters["lines"] = safe
    return made


def interface() -> Interface:
    """Return the interface with the files that pages load."""
    files = StaticFiles(packages=[("idstore.server", "static")])
    return Interface((_FILES,), [Mount(_FILES, files, name="static")], problems.response, problems.no_route)
