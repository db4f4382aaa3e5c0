"""Bulk loading of whole histories into a generation that is not in use yet.

Engine and catalogue are loaded in parallel, the engine in its own thread.
"""

import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from idstore.model.history import History
from idstore.stores.projection.catalogue_load import CatalogueLoading
from idstore.stores.projection.generation import Generation

_PORTION: Final = 900_000
"""Number of quads loaded into the engine at once: it applies a million together.

On disk 0.2 kB each, for this portion and the next.
"""
_FIRST: Final = 100_000
"""Number of quads in the first portion; each following one is twice as large."""
_BUFFER: Final = 1 << 20
"""Bytes written at once."""
_LARGE: Final = 1 << 32
"""Bytes of tables above which the engine compresses all that it merges; smaller ones would grow."""


class HistoryLoading:
    """Loads histories into a generation; `finish` ends the load.

    Raises OSError, RuntimeError, sqlite3.Error: then the generation is unusable.
    """

    def __init__(self, generation: Generation) -> None:
        self._engine = _EngineLoading(generation)
        self._catalogue = CatalogueLoading(generation.catalogue)

    def take(self, history: History) -> None:
        """Load a history, at the latest in `finish`."""
        self._engine.take(history.lines())
        self._catalogue.take(history)

    def finish(self, mark: int, sequence: int) -> None:
        """Load the remaining histories; ``sequence`` is the last event's sequence number."""
        self._engine.finish()
        self._catalogue.finish(mark, sequence)
        self._engine.settle()

    def stop(self) -> None:
        """Wait for the running load, which may fail."""
        self._engine.stop()


class _EngineLoading:
    """Quads on their way to the engine, in files of one portion each.

    One is loaded while the next is written.
    The first portions are small, to start early. The others are as large as possible, since the engine merges
    separate loads.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._before = generation.engine.size
        self._pool = ThreadPoolExecutor(1, "idstore-load")
        self._running: list[Future[None]] = []
        self._limit, self._size = _FIRST, 0
        self._file = self._open_file()

    def take(self, lines: str) -> None:
        self._file.write(lines)
        self._size += lines.count("\n")
        if self._size >= self._limit:
            self.settle()
            self._queue_portion()
            self._file = self._open_file()
            self._limit, self._size = min(2 * self._limit, _PORTION), 0

    def _open_file(self) -> IO[str]:
        return tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", buffering=_BUFFER, suffix=".nq", dir=self._generation.folder
        )

    def _queue_portion(self) -> None:
        """Queue the quads collected since the last call for loading."""
        self._file.flush()
        self._running.append(self._pool.submit(self._load, self._file))

    def _load(self, file: IO[str]) -> None:
        with file:
            self._generation.engine.load(Path(file.name))

    def finish(self) -> None:
        """Queue the rest.

        Merge the engine's tables if they are many and mostly new: then they take half the space.
        """
        self._queue_portion()
        self._running.append(self._pool.submit(self._merge))

    def _merge(self) -> None:
        size = self._generation.engine.size
        if size >= max(_LARGE, 2 * self._before):
            self._generation.engine.merge()

    def settle(self) -> None:
        """Return when the engine has loaded all queued portions. Raises OSError, RuntimeError."""
        while self._running:
            self._running.pop(0).result()

    def stop(self) -> None:
        # a second interrupt: the folder must not be used while a file is still being written there
        try:
            self._pool.shutdown()
        except BaseException:
            self._generation.close_after_failure()
            raise
        with suppress(OSError):  # the rest of the file is not needed
            self._file.close()
