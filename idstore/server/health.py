"""Whether the server works: ``/healthz``, ``/readyz`` and ``/metrics``."""

import asyncio
from typing import Final

from anyio import to_thread
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from idstore.disk_errors import has_little_space
from idstore.errors import SignInRequired, StoreUnavailable
from idstore.model.party import NOBODY
from idstore.registry import Registry
from idstore.remedies import Remedy
from idstore.server.admission import Figures
from idstore.server.sign_in import is_local

PATIENCE: Final = 5.0
"""Seconds within which a ready store runs an act."""
_HEADERS: Final = {"Cache-Control": "no-store"}


class Readiness:
    """Asks the store whether it runs acts, once at a time: an act may wait for long."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._question: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Raise StoreUnavailable unless the store can be read and written."""
        if self._question is None or self._question.done():
            self._question = asyncio.ensure_future(to_thread.run_sync(self._ask, abandon_on_cancel=True))
        try:
            await asyncio.wait_for(asyncio.shield(self._question), PATIENCE)
        except TimeoutError:
            raise StoreUnavailable(
                f"the store ran no act within {PATIENCE:g} seconds; a large change may be running; ask again"
            ) from None

    def _ask(self) -> None:
        self._registry.namespaces()
        self._registry.store.write(lambda _: None)
        path = self._registry.store.path
        if has_little_space(path):
            raise StoreUnavailable(f"the disk of {path} is full; free some space", path=str(path))


def add(app: FastAPI, registry: Registry, figures: Figures) -> None:
    """Add the three routes. They are no operations."""
    readiness = Readiness(registry)
    figures.watch_store(registry)

    async def healthz() -> Response:
        return PlainTextResponse("ok\n", headers=_HEADERS)

    async def readyz() -> Response:
        await readiness.check()
        return PlainTextResponse("ok\n", headers=_HEADERS)

    def metrics(request: Request) -> Response:
        if not is_local(request.scope):
            _check_administrator(request, registry)
        return Response(figures.text(), media_type="text/plain; version=0.0.4", headers=_HEADERS)

    for endpoint in (healthz, readyz, metrics):
        app.add_api_route(
            f"/{endpoint.__name__}",
            endpoint,
            response_class=PlainTextResponse,
            include_in_schema=False,
        )


def _check_administrator(request: Request, registry: Registry) -> None:
    """Raise SignInRequired or NotPermitted: the figures tell what others do."""
    party = request.state.caller.party
    if party == NOBODY:
        raise SignInRequired("the figures are for administrators; sign in", remedy=Remedy.SIGN_IN)
    registry.only_administrators(party)
