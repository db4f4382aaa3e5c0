"""A generation: engine and catalogue, the two parts of the ledger's projection, in one folder.

A store has one present generation. A large change (an import, a restore, a repair) is prepared in the next
one, and takes effect by one entry in the ledger.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from pyoxigraph import Quad

from idstore.disk_errors import cause_and_remedy, unnumbered
from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.model.event import Event
from idstore.permissions import conform
from idstore.progress import Progress
from idstore.stores.files import discard, sync
from idstore.stores.projection import bases, engine_checks
from idstore.stores.projection.catalogue import Catalogue
from idstore.stores.projection.oxigraph import ENGINE, Engine, is_locked
from idstore.stores.threads import start

FAILURES: Final = (OSError, RuntimeError, sqlite3.Error)
"""Errors of engine and catalogue if files cannot be read or written."""
CATALOGUE: Final = "catalogue.sqlite"
_FRESH: Final = "fresh"
"""Name of an engine that is being written anew."""
_CLOSING: Final = 10.0
"""Maximum seconds for closing an engine after an error."""
_ABANDONED: Final[set[Path]] = set()
"""Folders of generations whose engines could not be closed."""


class Generation:
    """Engine and catalogue in ``folder``.

    create     create missing files.
    read_only  change nothing.
    mend       rebuild an engine that does not open from its base; the ledger then brings it up to date.
    Raises StoreUnavailable, StoreDamaged.
    """

    def __init__(
        self,
        folder: Path,
        *,
        create: bool = False,
        read_only: bool = False,
        mend: bool = False,
    ) -> None:
        self.folder = folder
        if not create and not (folder / CATALOGUE).exists():
            raise StoreDamaged(
                f"the store is damaged: {unnumbered(folder / CATALOGUE)} is missing;"
                " keep its files, and restore a backup",
                path=unnumbered(folder),
            )
        try:
            if create:
                folder.mkdir(exist_ok=True)
                conform(folder)
            self.engine = _open_engine(folder, create=create, read_only=read_only, mend=mend)
        except IdstoreError:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            why, remedy = cause_and_remedy(error, folder)
            raise StoreUnavailable(
                f"the store's folder {unnumbered(folder)} cannot be opened: {why}; {remedy}",
                path=unnumbered(folder),
            ) from error
        try:
            self._identity = folder.stat()
            fresh = create and not (folder / CATALOGUE).exists()
            self.catalogue = Catalogue(folder / CATALOGUE, create=fresh, read_only=read_only)
        except BaseException:
            self.engine.close()
            raise

    def is_replaced(self) -> bool:
        """Whether another folder has replaced this one."""
        try:
            return not os.path.samestat(self.folder.stat(), self._identity)
        except OSError:  # the folder is gone
            return False

    @property
    def mark(self) -> int:
        """Number of the last journal row that both parts have."""
        return min(self.engine.mark, self.catalogue.mark)

    def faults(self, progress: Progress) -> Iterator[str]:
        """Yield faults of the files. Cost: about 80 µs for each quad. Memory: constant."""
        yield from engine_checks.faults(self.engine, progress)
        yield from self.catalogue.faults()

    def sync(self) -> None:
        """Sync all files to disk, and the entries of the folder.

        Raises OSError, RuntimeError, sqlite3.Error.
        """
        self.engine.flush()
        self.catalogue.sync()
        self.engine.sync_folder()
        for folder in (self.folder, self.folder.parent):
            sync(folder)

    def copy(self, folder: Path) -> None:
        """Copy to a new folder, while nothing changes this generation.

        Raises OSError, RuntimeError, sqlite3.Error.
        """
        folder.mkdir()
        conform(folder)
        self.engine.checkpoint(folder / ENGINE)
        self.catalogue.copy(folder / CATALOGUE)

    def redact(
        self,
        replace: Callable[[Quad], Quad],
        events: Iterable[Event],
        renamed: tuple[str, str] | None,
    ) -> None:
        """Replace quads and catalogue rows: see `idstore.stores.contract.Bulk.redact`.

        The engine is written anew: it never removes a text that was used once.
        Raises OSError, RuntimeError, sqlite3.Error: then the generation is unusable.
        """
        place, fresh = self.folder / ENGINE, self.folder / _FRESH
        engine = Engine(fresh, create=True)
        try:
            engine.load_quads(map(replace, self.engine.scan(None, None, None, None)))
            engine.flush()
        finally:
            engine.close()
        self.engine.close()
        discard([place])
        fresh.rename(place)
        self.engine = Engine(place)
        self.catalogue.redact(events, renamed)

    def close(self) -> None:
        """Close the files."""
        self.catalogue.close()
        self.engine.close()

    def close_after_failure(self) -> None:
        """Close the files after an error.

        An engine that does not close within seconds stays open until the process ends.
        RocksDB first waits for its recovery from the error. It was seen to wait for ever on a disk that
        refused all writes.
        """
        closing = threading.Thread(target=self.engine.close, daemon=True, name="idstore-close")
        start(closing)
        closing.join(_CLOSING)
        if closing.is_alive():
            _ABANDONED.add(self.folder)
        self.catalogue.close()


def is_abandoned(folder: Path) -> bool:
    """Whether this process has an engine open there that it could not close."""
    return folder in _ABANDONED


def _open_engine(folder: Path, *, create: bool, read_only: bool, mend: bool) -> Engine:
    """Open the engine. Raises OSError, ValueError, RuntimeError, StoreDamaged."""
    try:
        return Engine(folder / ENGINE, create=create, read_only=read_only)
    except IdstoreError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        if not mend or is_locked(error):
            raise
    bases.mend(folder)
    return Engine(folder / ENGINE)
