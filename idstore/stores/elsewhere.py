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

_START: Final = """
import json, sys
sys.path[:], *job = json.loads(sys.argv[1])
from idstore.stores.elsewhere import serve
from idstore.stores.embedded import EmbeddedStore
serve(EmbeddedStore, *job)
"""


def bring_up(path: Path, lock: DirectoryLock) -> None:
    """Make the store at ``path`` unless it is there, and bring its engine up to the journal. Its lock must be held, and its engine not be open.

    Raises what opening it raises: StoreUnavailable, StoreDamaged. Cost: 0.1 s, and that of what is to be applied.
    """
    import subprocess  # itself slow to import

    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START, json.dumps([sys.path, str(path.absolute()), lock.fileno()])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=[lock.fileno()],
            start_new_session=True,  # Ctrl-C is for this one to answer
            check=False,
        )
    except OSError as error:
        raise StoreUnavailable(f"no process can be started to open the store at {path}: {error}; try again", path=str(path)) from error
    if ended.returncode != 0:
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise StoreUnavailable(
            f"the process that opens the store at {path} failed: {last or f'exit code {ended.returncode}'}; try again", path=str(path)
        )
    if ended.stdout:
        damaged, message = json.loads(ended.stdout)
        raise (StoreDamaged if damaged else StoreUnavailable)(message, path=str(path))


def serve(opened: Callable[..., AbstractContextManager[object]], name: str, number: int) -> None:
    """Be the other process: open the store under the lock of that number, and tell on standard output what is wrong, if anything is."""
    path = Path(name)
    try:
        with opened(path, create=True, lock=DirectoryLock.of(path / LOCK, number)):
            pass  # which is all
    except IdstoreError as error:
        print(json.dumps([isinstance(error, StoreDamaged), error.message]))
