"""A copy of a store that is a store itself: identity, engine and catalogue, and of the journal the end, from which it goes on.

The copy holds everything as of one change, and nothing but that; it is there when it is whole and on disk, and not before. Files that the
engine never changes are shared with the original by hard links where both are on one disk.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_IMODE, S_IRWXU

from idstore.errors import StoreUnavailable
from idstore.stores import bases
from idstore.stores.catalogue import Catalogue
from idstore.stores.engine import ENGINE
from idstore.stores.founding import GENERATION, LOCK, exists, founding, prepare, sync_tree
from idstore.stores.generation import CATALOGUE, copy_files
from idstore.stores.journal import Journal, Written
from idstore.stores.lock import DirectoryLock


def back_up(source: Path, engine: Path, catalogue: sqlite3.Connection, store: str, target: Path) -> None:
    """Make a copy of a store in the folder ``target``, which is empty or not there.

    source             the store's folder: one that is made for the copy is open to nobody else.
    engine, catalogue  the same state of the store, which does not change meanwhile.
    store              its UUID.
    Raises StoreUnavailable: the folder is not empty, or cannot be written; then there is no store in it.
    """
    with _claimed(target, S_IMODE(source.stat().st_mode) | S_IRWXU), founding(target) as draft:
        generation = target / f"{GENERATION}1"
        generation.mkdir()
        copy_files(engine, generation / ENGINE)
        last = _copy_catalogue(catalogue, generation / CATALOGUE)
        if last is not None:
            bases.keep(generation, last.sequence, last.event, lambda copy: copy_files(engine, copy))
        sync_tree(generation)
        with closing(Journal(draft, create=True, store=store)) as journal:
            if last is not None:
                journal.append([last])


@contextmanager
def _claimed(target: Path, permissions: int) -> Iterator[None]:
    """Hold the folder, in which there is no store yet. Raises StoreUnavailable."""
    _check(target)  # before its lock is asked for: of a store it may be held
    prepare(target, permissions)
    lock = DirectoryLock(target / LOCK)
    lock.acquire(shared=False, wait=0.0)
    try:
        _check(target)
        yield
    finally:
        lock.release()


def _check(target: Path) -> None:
    """Raise StoreUnavailable if there is a store."""
    if exists(target):
        raise StoreUnavailable(f"there is a store at {target} already; name an empty folder, or one that does not exist", path=str(target))


def _copy_catalogue(source: sqlite3.Connection, path: Path) -> Written | None:
    """Copy it, and give the store's last change as the journal is to hold it; None if nothing ever happened. Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=WAL")
    with closing(Catalogue(path)) as catalogue:
        last, latest = catalogue.last(), catalogue.latest()
        catalogue.sync()
    if last is None:
        return None
    return Written(last[0], -1, latest + 1, last[1], "")  # the next event is later than all, other stores' included
