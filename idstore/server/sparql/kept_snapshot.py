"""The snapshot that queries share while they come one after the other."""

import asyncio
import threading
import time
from typing import Final

from idstore.registry import Registry
from idstore.stores.contract import Snapshot

_SECONDS: Final = 5.0
"""Seconds after the last query for which its snapshot stays open."""


class KeptSnapshot:
    """Keeps the newest snapshot open, because opening one costs more than most queries.

    It is never older than a query: each query takes the snapshot of the newest state, and all of a state
    share one.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._idle_from = 0.0

    def renew(self) -> None:
        """Keep the snapshot of the newest state in the place of the former one. Raises StoreUnavailable."""
        self._replace(self._registry.store.snapshot())

    def release_later(self) -> None:
        """Close the snapshot after a while without a query, or when the event loop ends."""
        self._idle_from = time.monotonic() + _SECONDS
        if self._releasing is None:
            self._releasing = asyncio.create_task(self._release())

    async def _release(self) -> None:
        try:
            while (seconds := self._idle_from - time.monotonic()) > 0:  # noqa: ASYNC110 queries move it
                await asyncio.sleep(seconds)
            self._releasing = None  # from here on, a query begins another task
            await asyncio.to_thread(self._replace, None)
        except asyncio.CancelledError:
            self._replace(None)
            raise

    def _replace(self, snapshot: Snapshot | None) -> None:
        with self._lock:
            former, self._snapshot = self._snapshot, snapshot
        if former is not None:
            former.close()
