"""Readers of other processes are served while this one holds the store: they ask for a snapshot of its present state, and get it."""

import threading
from pathlib import Path

from idstore.stores.background import Weakly, start
from idstore.stores.snapshots import Snapshots, Use

_PERIOD = 0.02
"""Seconds between two looks whether somebody asks. Cost of a look: some 10 µs."""
_DISTRESS = 1.0
"""Seconds until the next attempt when no snapshot could be made."""


class Publisher:
    """A thread that answers readers in other processes, until it is stopped, or nobody has the store: what fails for now is tried again.

    publish  gives a whole snapshot of the present state.
    A request that cannot be answered, as in another user's folder, has a snapshot published once: whoever asked takes the newest in the end.
    """

    def __init__(self, snapshots: Snapshots, publish: Weakly[[], Use]) -> None:
        self._snapshots = snapshots
        self._publish = publish
        self._published: Use | None = None
        self._vain: set[Path] = set()  # requests that cannot be answered
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="idstore-publish")
        start(self._thread)

    def stop(self) -> None:
        """Answer nobody any more; whoever asks can have the store itself soon."""
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not (self._stopping.wait(_PERIOD) or self._publish.is_gone()):
            try:
                self._look()
            except Exception:  # noqa: BLE001 whatever it is, it may pass, and others ask; a failing store says so to its own users
                self._stopping.wait(_DISTRESS)
        if self._published is not None:
            self._published.release()

    def _look(self) -> None:
        asked = self._snapshots.asked()
        self._vain.intersection_update(asked)
        requests = [request for request in asked if request not in self._vain]
        if not requests:
            return
        used = self._publish()
        if used is None:
            return
        earlier, self._published = self._published, used  # kept, so that nobody removes it before the reader has it
        if earlier is not None:
            earlier.release()
        self._vain.update(self._snapshots.answer(requests, used))
        self._snapshots.sweep(keep=used.folder.name)
