"""Opening a store to write in another process, for a fork in which the engine's threads are not there; see `idstore.stores.inherited`.

The other process is started anew. It has the lock that the fork holds, so that nobody comes between, even where the fork is killed meanwhile.
"""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.stores.founding import LOCK
from idstore.stores.lock import DirectoryLock

_HOME: Final = str(Path(__file__).parents[2])
"""Where idstore is, also where the working directory changes and ``sys.path`` has relative entries."""
_START: Final = """
import json, sys
sys.path[:], *job = json.load(sys.stdin)
from idstore.stores.elsewhere import serve
from idstore.stores.embedded import EmbeddedStore
serve(EmbeddedStore, *job)
"""
_DONE: Final = "brought up"


def bring_up(path: Path, lock: DirectoryLock, *, create: bool = False) -> None:
    """Bring the engine of the store at ``path``, an absolute one, up to the journal. The store's lock must be held, and its engine not be open.

    create  make the store, where there is none.
    Raises what opening it raises: StoreUnavailable, StoreDamaged. Cost: 0.1 s, and that of what is to be applied.
    """
    import subprocess  # itself slow to import

    known: list[object] = [*sys.path]
    places = [_HOME, *(place for place in known if isinstance(place, str))]
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START],
            input=json.dumps([places, str(path), lock.fileno(), create]).encode(),
            capture_output=True,
            pass_fds=[lock.fileno()],
            start_new_session=True,  # Ctrl-C is for this one to answer
            check=False,
        )
    except (OSError, TypeError) as error:  # the latter where nobody knows which program this is
        raise StoreUnavailable(f"no process can be started to open the store at {path}: {error}; try again", path=str(path)) from error
    try:
        said, damaged = json.loads(ended.stdout)
    except ValueError:
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise StoreUnavailable(
            f"the process that was to open the store at {path} ended before: {last or f'exit code {ended.returncode}'}; see that Python can be started from here",
            path=str(path),
        ) from None
    if said != _DONE:
        raise (StoreDamaged if damaged else StoreUnavailable)(said, path=str(path))


def serve(opened: Callable[..., AbstractContextManager[object]], name: str, number: int, create: bool) -> None:
    """Be the other process: open the store under the lock of that number, and tell on standard output what became of it."""
    path = Path(name)
    said, damaged = _DONE, False
    try:
        lock = DirectoryLock.of(path / LOCK, number)
        lock.check()
        with opened(path, create=create, lock=lock):
            pass  # which is all
    except IdstoreError as error:
        said, damaged = error.message, isinstance(error, StoreDamaged)
    print(json.dumps([said, damaged]))
