"""Publishes snapshots on request to readers in other processes, while this process holds the store.

It also removes snapshots of former generations once they are not in use: they may hold redacted texts.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable
from idstore.stores.projection.generation import FAILURES
from idstore.stores.snapshots import Snapshots, Use
from idstore.stores.threads import start

_LOG: Final = logging.getLogger(__name__)
_PERIOD = 0.02
"""Seconds between two looks for requests. Cost of a look: about 30 µs."""
_HELD = 5.0
"""Seconds in which readers take hold of the snapshot that they got."""
_DISTRESS = 1.0
"""Seconds until the next attempt after a failed snapshot."""


class Publisher:
    """A thread that answers readers in other processes until stopped. It retries after a failure.

    publish     returns a snapshot of the present state, with its catalogue.
    generation  returns the folder of the present generation.
    ended       whether the store is closed.
    A request that cannot be answered, such as one in another user's folder, causes one publication; its
    reader finally takes the newest snapshot.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        publish: Callable[[], Use],
        generation: Callable[[], Path],
        ended: Callable[[], bool],
    ) -> None:
        self._snapshots = snapshots
        self._publish = publish
        self._generation = generation
        self._store_ended = ended
        self._published: Use | None = None
        self._held_until = 0.0
        self._unanswerable: set[Path] = set()  # requests that cannot be answered
        self._stopping = threading.Lock()  # not an event: an interrupt of `stop` could leave its lock held
        self._stopping.acquire()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="idstore-publish")
        start(self._thread)

    def stop(self) -> None:
        """Stop answering: readers will soon be able to open the store itself. Returns at once."""
        with suppress(RuntimeError):  # it was called before
            self._stopping.release()

    def join(self) -> None:
        """Return when the thread has ended."""
        self._thread.join()

    def _watch(self) -> None:
        while not (self._stopping.acquire(timeout=_PERIOD) or self._store_ended()):
            try:
                self._look()
                self._remove_former()
            except Exception as error:  # noqa: BLE001
                why = error if isinstance(error, (*FAILURES, StoreUnavailable)) else type(error).__name__
                _LOG.warning("%s: no snapshot for other processes: %s", self._snapshots.folder.parent, why)
                if self._stopping.acquire(timeout=_DISTRESS):
                    break
        if self._published is not None:
            self._published.release()
        self._snapshots.sweep_former(self._generation())

    def _look(self) -> None:
        unanswered = self._snapshots.unanswered()
        self._unanswerable.intersection_update(unanswered)
        requests = [request for request in unanswered if request not in self._unanswerable]
        if not requests:
            return
        use = self._publish()
        earlier, self._published = self._published, use  # held until the readers have it
        if earlier is not None:
            earlier.release()
        self._held_until = time.monotonic() + _HELD
        self._unanswerable.update(self._snapshots.answer(requests, use))
        self._snapshots.sweep(keep=use.folder.name)

    def _remove_former(self) -> None:
        generation, published = self._generation(), self._published
        if published is not None and time.monotonic() > self._held_until and not published.is_of(generation):
            self._published = None
            published.release()
        self._snapshots.sweep_former(generation)
