"""Replication: a store that follows what another registry publishes, by its change feed.

The position of a replica is the number of public events in its store. The feed has no gaps, and each patch is
applied whole or not at all, so that no other position is stored. `ReplicaMark` names the source, the last
event that was checked for being a redaction, and the last event of the newest patch. The source must still
have that one under its number; the replica may number the events of a patch in another order.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from idstore import opening, remote, scratch
from idstore.errors import IdstoreError, InvalidData, StoreDamaged, StoreUnavailable
from idstore.exchange import patch, rdf
from idstore.exchange.changes import ChangePage, newest_public
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.registry import Registry
from idstore.vocabulary import IDS

_LOG: Final = logging.getLogger(__name__)
_PAUSE: Final = 1.0
"""Seconds between two questions to the source."""
_LONGEST_PAUSE: Final = 60.0
"""Seconds between two tries while the source does not answer."""
_END: Final = 1.0
"""Seconds in which a question to the source ends that was cut off; a new connection to it may take longer."""


class Replication:
    """Applies what a source publishes to a replica. Use it in a ``with`` block."""

    def __init__(self, registry: Registry, folder: Path, source: str) -> None:
        self._registry, self._folder, self._source = registry, folder, source
        self._remote = remote.connect(source)
        self._newest, self._answered = 0, time.monotonic()
        self._stopped, self._applying = threading.Event(), threading.Lock()

    def __enter__(self) -> Self:
        """Raise StoreUnavailable: a redacted text came with a patch after which the process was killed."""
        self._check_redactions()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remote.close()

    @property
    def position(self) -> int:
        """The number of the last public event that the replica has."""
        return newest_public(self._registry)

    @property
    def is_empty(self) -> bool:
        """Whether the replica has nothing yet."""
        return not self.position

    @property
    def behind(self) -> int:
        """How many public events the replica lacks, as far as the source told."""
        return max(0, self._newest - self.position)

    @property
    def silence(self) -> float:
        """Seconds since the source answered."""
        return time.monotonic() - self._answered

    def bring_up(self) -> int:
        """Apply what the source has published by now. Returns the position.

        Raises StoreUnavailable: the source does not answer, was restored from an older backup, is another
        store, or has redacted a text that the replica has. Raises StoreDamaged: the patch was not applied.
        """
        position = self.position
        page = self._page()
        self._newest, self._answered = page.newest, time.monotonic()
        if page.newest > position:
            self._apply(position)
        return self.position

    def _apply(self, position: int) -> None:
        """Apply the changes after the position, as one patch, and check them for redactions."""
        with scratch.folder() as folder:
            path = folder / "changes.rdfp"
            with path.open("wb") as target:
                self._remote.export(target, NOBODY, Filter(), patch.FORMAT, after=position)
            self._page()  # the source may have been restored before it gave the patch
            with self._applying:
                if self._stopped.is_set():
                    return
                self._announce(position, path)
                rdf.replicate(self._registry, path)
                if self.position <= position:
                    raise StoreDamaged(
                        f"{self._folder} did not take what {self._source} says; make the replica again"
                    )
                self._check_redactions()

    def _announce(self, position: int, path: Path) -> None:
        """Write the last event of a patch into the mark, before the patch is applied."""
        mark = self._mark()
        count, event = patch.extent(path)
        checked = mark.checked if position else self._newest  # the first patch has no text redacted before
        replace(mark, checked=checked, reached=position + count, event=event).write(self._folder)

    def _page(self) -> ChangePage:
        """Return a page after the last change that the replica has. Raises as `bring_up`."""
        mark = self._mark()
        reached = max(mark.reached, self.position)
        try:
            page = self._remote.changes(reached, 1)
        except InvalidData as error:
            raise self._diverged(reached) from error
        self._check_store(page.store)
        if reached and [one.event.iri for one in self._remote.published(reached - 1, 1)] != [mark.event]:
            raise self._diverged(reached)
        return page

    def _diverged(self, number: int) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._source} does not have change {number}, which the replica has: it was restored from an"
            " older backup; make the replica again"
        )

    def _check_store(self, store: str) -> None:
        """Raise StoreUnavailable unless the source is the store that it was."""
        mark = self._mark()
        if not mark.store:
            replace(mark, store=store).write(self._folder)
        elif mark.store != store:
            raise StoreUnavailable(
                f"{self._source} is now another store ({store}); make another replica for it"
            )

    def _check_redactions(self) -> None:
        """Raise StoreUnavailable if the replica has a redacted text, and refuse to open it from now on."""
        mark = self._mark()
        checked, is_outdated = mark.checked, mark.is_outdated
        while entries := self._registry.published(checked):
            is_outdated = is_outdated or any(entry.event.kind == IDS.Redaction for entry in entries)
            checked += len(entries)
        if checked > mark.checked:
            replace(mark, checked=checked, is_outdated=is_outdated).write(self._folder)
        opening.check_current(self._folder)

    def _mark(self) -> opening.ReplicaMark:
        return opening.replica_mark(self._folder) or opening.ReplicaMark(self._source)

    @property
    def _is_outdated(self) -> bool:
        """Whether a text was redacted at the source that the replica has, as far as the mark can be read."""
        with suppress(StoreUnavailable):
            return self._mark().is_outdated
        return False

    @contextmanager
    def following(self, end: Callable[[], None]) -> Iterator[None]:
        """Follow the source in a thread until the end of the block, and of the change that is being applied.

        end  is called if the replica must not be served any more.
        """
        thread = threading.Thread(target=self._follow, args=[end], name="replication", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._remote.abort()
            with self._applying:
                pass
            thread.join(_END)

    def _follow(self, end: Callable[[], None]) -> None:
        pause, told = _PAUSE, ""
        while not self._stopped.wait(pause):
            try:
                self.bring_up()
            except Exception as error:  # noqa: BLE001 otherwise it would stay behind without a word
                if self._stopped.is_set():
                    return
                if self._is_outdated:
                    _LOG.error("%s", error)  # without its trace
                    end()
                    return
                pause = min(2 * pause, _LONGEST_PAUSE)
                if str(error) != told:
                    is_known = isinstance(error, IdstoreError | OSError)  # OSError: the disk is full
                    _LOG.warning("the replica cannot follow: %s", error, exc_info=not is_known)
                told = str(error)
            else:
                pause, told = _PAUSE, ""
