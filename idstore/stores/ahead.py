"""Opening a store for one quick allocation while the rest of the command is still being imported."""

import threading
from contextlib import suppress
from pathlib import Path

from idstore.stores.background import start
from idstore.stores.engine import Engine, opened
from idstore.stores.founding import GENERATION, LOCK
from idstore.stores.lock import DirectoryLock


class Ahead:
    """The lock of a store, and its engine, which another thread opens to read; `idstore.stores.embedded.EmbeddedStore` takes both over.

    Which generation is the present one is for the journal to say, and is guessed here: a wrong guess costs no more than the attempt.
    Raises StoreBusy, StoreUnavailable.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path
        self.lock = DirectoryLock(path / LOCK)
        self.lock.acquire(shared=False, wait=wait)
        self._folder = path
        self._engine: Engine | None = None
        self._thread = threading.Thread(target=self._open, name="idstore-ahead")
        start(self._thread)

    def _open(self) -> None:
        with suppress(OSError, ValueError, RuntimeError):  # whoever needs the engine tries again, and is told what is wrong
            self._folder = max(self.path.glob(f"{GENERATION}*"), default=self.path, key=_number)
            self._engine = opened(self._folder, read_only=True)

    def engine(self, folder: Path) -> Engine | None:
        """The engine of a generation, if that is the one; it is given once."""
        self._thread.join()
        engine, self._engine = self._engine, None
        return engine if folder == self._folder else None

    def give_up(self) -> None:
        """Let go of both."""
        self.engine(self._folder)
        self.lock.release()


def _number(folder: Path) -> int:
    number = folder.name.removeprefix(GENERATION)
    return int(number) if number.isdecimal() else 0
