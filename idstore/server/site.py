"""The site of a server: its interfaces, and the JSON API at all other addresses."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from idstore.errors import IdstoreError
from idstore.registry import Registry
from idstore.server import changes, pages, problems, reconciliation
from idstore.server.admission import Figures, ServerLimits
from idstore.server.allowances import Allowances
from idstore.server.api import application
from idstore.server.handles import routes as handle_api
from idstore.server.interfaces import Interface
from idstore.server.performer import Performer
from idstore.server.rdswip import interface as rdswip
from idstore.server.resolution import hosts
from idstore.server.resolution import routes as resolution
from idstore.server.settings import Settings
from idstore.server.sparql import routes as sparql
from idstore.server.workers import Workers

_API: Final = ("/api/", "/generate/", "/healthz", "/metrics", "/readyz")
"""Beginnings of the addresses of the JSON API, at every host."""


class Site:
    """An application that passes each request to the interface of its address."""

    def __init__(self, api: ASGIApp, interfaces: Sequence[Interface]) -> None:
        self._api, self._interfaces = api, interfaces
        self._by_path = {path: one for one in reversed(interfaces) for path in one.paths}
        self._longest = max((path.count("/") for path in self._by_path), default=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        interface = self._interface(scope)
        await (self._api if interface is None else interface.application)(scope, receive, send)

    async def prepare(self, scope: Scope) -> None:
        """Change a request before its sign-in."""
        interface = self._interface(scope)
        if interface is not None and interface.prepare is not None:
            await interface.prepare(scope)

    def refuse(self, scope: Scope, error: IdstoreError) -> Response:
        """Return the answer to a request that is not admitted."""
        interface = self._interface(scope)
        return problems.response(error) if interface is None else interface.refuse(error)

    def _interface(self, scope: Scope) -> Interface | None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        segments = path.split("/", self._longest + 1)
        beginnings = ("/".join(segments[: number + 1]) for number in range(self._longest, 0, -1))
        found = next(filter(None, map(self._by_path.get, beginnings)), None)
        if found is not None or path.startswith(_API):
            return found
        names = hosts.named(scope)
        return next((one for one in self._interfaces if not names.isdisjoint(one.hosts)), None)


def site(
    registry: Registry,
    figures: Figures,
    limits: ServerLimits,
    settings: Settings = Settings(),
    stopping: changes.Stopping = changes.Stopping(),
    more: Sequence[Interface] = (),
) -> Site:
    """Return the site of a registry, without the `Admission` that signs callers in.

    stopping  tells requests that wait for changes when the server ends.
    more      interfaces that the settings add.
    """
    workers = Workers(registry, limits.working)
    performer = Performer(registry, workers)
    allowances = Allowances(settings.queries, settings.anonymous_queries)
    return Site(
        changes.ChangeFeed(application(registry, workers, figures, limits, allowances), performer, stopping),
        [
            pages.interface(),
            *more,
            rdswip.interface(performer),
            handle_api.interface(performer),
            resolution.interface(performer, settings.resolution),
            sparql.interface(performer, allowances, settings),
            reconciliation.interface(performer, settings.reconciliation),
            resolution.own_hosts(performer, settings.resolution),
        ],
    )
