"""Readers of other processes are served while this one holds the store: they ask for a snapshot of its present state, and get it."""

import sqlite3
import threading
from collections.abc import Callable

from idstore.errors import StoreUnavailable
from idstore.stores.snapshots import Snapshots, Use

_PERIOD = 0.02
"""Seconds between two looks whether somebody asks. Cost of a look: some 10 µs."""
_DISTRESS = 1.0
"""Seconds until the next attempt when no snapshot could be made."""


class Publisher:
    """A thread that answers readers in other processes.

    publish  gives a whole snapshot of the present state.
    """

    def __init__(self, snapshots: Snapshots, publish: Callable[[], Use]) -> None:
        self._snapshots = snapshots
        self._publish = publish
        self._published: Use | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="idstore-publish")
        self._thread.start()

    def stop(self) -> None:
        """Answer nobody any more; whoever asks can have the store itself soon."""
        self._stopping.set()
        self._thread.join()
        if self._published is not None:
            self._published.release()

    def _watch(self) -> None:
        while not self._stopping.wait(_PERIOD):
            requests = self._snapshots.asked()
            if not requests:
                continue
            try:
                used = self._publish()
            except (StoreUnavailable, OSError, sqlite3.Error):  # a failing store says so to its own users
                self._stopping.wait(_DISTRESS)
                continue
            self._snapshots.answer(requests, used)
            earlier, self._published = self._published, used  # kept, so that nobody removes it before the reader has it
            if earlier is not None:
                earlier.release()
            self._snapshots.sweep(keep=used.folder.name)
