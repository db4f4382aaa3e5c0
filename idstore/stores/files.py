"""The files of a store's folder: what makes it a store, and how files reach the disk.

The ledger has a draft name until everything else is on disk; renaming it completes the store. The draft name
marks an unfinished attempt, and the next attempt removes its files.
"""

import errno
import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final

from idstore.characters import printable
from idstore.disk_errors import cause_and_remedy
from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.remedies import Remedy

LEDGER: Final = "ledger.sqlite"
LOCK: Final = "lock"
SNAPSHOTS: Final = "snapshots"
REPLICA: Final = "replica.json"
REPLICA_DRAFT: Final = "replica.draft"
"""File that makes a folder a replica of another registry."""
GENERATION: Final = "generation-"
"""Prefix of generation names; the first one is number 1."""
_OLD_JOURNAL: Final = "journal.sqlite"
"""The ledger of format 1."""
_DRAFT: Final = "ledger.draft"
_ROOM: Final = 1 << 23
"""Bytes that must be free on the disk before the engine writes its tables."""
_HALVES: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of characters that stand for no byte of a path."""
_PRIVATE: Final = 0o700
"""Permissions of a folder that is made for a store."""


def folder(path: str | PathLike[str]) -> Path:
    """Return a path; a home folder that a text begins with (``~``) is expanded.

    Raises StoreUnavailable: there is no such home folder, no system has such a path, or the path is relative
    to a working directory that no longer exists.
    """
    text = os.fspath(path)
    if "\0" in text or _HALVES.search(text):
        raise StoreUnavailable(f"{printable(text)} is not a path; name another", path=text)
    found = Path(path)
    try:
        if isinstance(path, str) and path.startswith("~"):
            found = found.expanduser()
    except RuntimeError as error:
        raise StoreUnavailable(
            f"there is no home folder for {path}; write the full path, or ./{path}", path=str(path)
        ) from error
    try:
        found.absolute()
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be found, because the working directory is gone; name a full path",
            path=str(path),
        ) from error
    return found


def check_name(path: Path) -> None:
    """Raise StoreUnavailable: the path of a store is not UTF-8, and the engine opens no other."""
    try:
        os.fsencode(path.absolute()).decode()
    except UnicodeDecodeError as error:
        raise StoreUnavailable(
            f"{path} is no place for a store: its full name is not UTF-8; name another folder, or rename it",
            remedy=Remedy.NAME_FOLDER,
            path=str(path),
        ) from error


def exists(path: Path) -> bool:
    """Whether there is a store at ``path``, of the present format or an earlier one.

    Raises StoreUnavailable: the folder cannot be read. Raises StoreDamaged: its ledger is missing.
    """
    try:
        found = (path / LEDGER).is_file() or (path / _OLD_JOURNAL).is_file()
        lost = not found and _has_lost_ledger(path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be read: {error.strerror}; check the folder's permissions, or name another",
            remedy=Remedy.NAME_FOLDER,
            path=str(path),
        ) from error
    if lost:
        raise StoreDamaged(
            f"the store at {path} is damaged: its ledger {LEDGER} is missing;"
            " keep its files, and restore a backup",
            path=str(path),
        )
    return found


def _has_lost_ledger(path: Path) -> bool:
    """Whether the other files of a store are there, and no attempt to make one is unfinished."""
    remains = (path / LOCK).exists() and any(path.glob(f"{GENERATION}*"))
    # the ledger last: another process may have completed the store meanwhile
    return remains and not any(path.glob(f"{_DRAFT}*")) and not (path / LEDGER).is_file()


def store_around(path: Path) -> Path | None:
    """Return the folder of the store in which a path is; None: it is in none."""
    with suppress(OSError, RuntimeError):  # a path that cannot be resolved cannot be written either
        for folder in path.resolve().parents:
            with suppress(StoreUnavailable):  # a folder above that cannot be read is no store of ours
                if exists(folder):
                    return folder
    return None


def is_vacant(path: Path) -> bool:
    """Whether the folder is missing, empty, or holds only the files of an unfinished attempt.

    Raises OSError.
    """
    try:
        return _foreign_entry(path) is None
    except FileNotFoundError:
        return True


def need_room(path: Path) -> None:
    """Raise OSError if the disk is nearly full.

    An engine that runs out of space while it writes its tables accepts no further changes.
    """
    disk = os.statvfs(path)
    if disk.f_bavail * disk.f_frsize < _ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def generation_folder(path: Path, number: int) -> Path:
    """Return the folder of a generation of engine and catalogue."""
    return path / f"{GENERATION}{number}"


def prepare(path: Path) -> None:
    """Create the folder on disk, for its owner alone, or check that it can take a store.

    A folder that exists keeps its permissions: they decide who uses the store.
    Raises StoreUnavailable.
    """
    check_name(path)
    around = store_around(path)
    if around is not None:
        raise StoreUnavailable(
            f"no store can be made at {path}: it is in the folder of the store {around}; name another folder",
            remedy=Remedy.NAME_FOLDER,
            path=str(path),
        )
    try:
        _make(path)
        foreign = _foreign_entry(path)
    except OSError as error:
        raise StoreUnavailable(
            f"no store can be made at {path}: {error.strerror}; name another folder",
            remedy=Remedy.NAME_FOLDER,
            path=str(path),
        ) from error
    if foreign is not None and not exists(path):  # another process may have created it
        raise StoreUnavailable(
            f"{path} is not a store, and holds {foreign!r}; name an empty folder, or one that does not exist",
            remedy=Remedy.NAME_FOLDER,
            path=str(path),
        )


class Founding:
    """Creates a store in a prepared and locked folder.

    The block gets the path of the ledger; its end completes the store.
    Create the ledger first, since it marks an unfinished attempt. At the end of the block the ledger must be
    closed, and everything else on disk.
    Raises StoreUnavailable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path / _DRAFT

    def __enter__(self) -> Path:
        try:
            _clean(self._path)
            sync(self._path)
        except OSError as error:
            raise self._refused(error) from error
        return self._draft

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, StoreUnavailable):
            return
        if isinstance(error, OSError | sqlite3.Error):
            raise self._refused(error) from error
        if error is not None:
            return
        try:
            if self._draft.with_name(f"{_DRAFT}-wal").exists():
                raise OSError(f"{self._draft} could not be written in full")  # noqa: TRY301
            sync(self._path)
            _rename(self._draft, self._path / LEDGER)
        except OSError as unfinished:
            raise self._refused(unfinished) from unfinished

    def _refused(self, error: Exception) -> StoreUnavailable:
        why, remedy = cause_and_remedy(error, self._path)
        return StoreUnavailable(
            f"no store can be made at {self._path}: {why}; {remedy}"
            " (the next attempt replaces what this one began)",
            path=str(self._path),
        )


def _rename(draft: Path, path: Path) -> None:
    """Rename the ledger, on disk, or leave it unchanged. Raises OSError."""
    draft.rename(path)
    try:
        sync(path.parent)
    except OSError:
        path.rename(draft)
        raise


def sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Sync all files and folders below a folder to disk. Raises OSError."""
    for place, _, files in os.walk(path):
        for name in files:
            sync(Path(place, name))
        sync(Path(place))


def discard(folders: Iterable[Path]) -> None:
    """Remove folders as far as possible; errors are ignored."""
    from shutil import rmtree  # slow import

    for folder in folders:
        rmtree(folder, ignore_errors=True)


def _make(path: Path) -> None:
    """Create a folder and its parents on disk. Raises OSError."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    if missing:
        with suppress(FileExistsError):
            path.mkdir(_PRIVATE)
    try:
        for place in missing or [path]:
            sync(place.absolute().parent)
    except OSError as error:
        # a parent is not readable for us; another user created this one
        if not missing and isinstance(error, PermissionError):
            return
        for place in missing:  # the next attempt creates and syncs them again
            with suppress(OSError):
                place.rmdir()
        raise


def _foreign_entry(path: Path) -> str | None:
    """Return an entry of the folder that no unfinished attempt left, None if there is none.

    Raises OSError.
    """
    names = sorted(entry.name for entry in path.iterdir() if entry.name not in (LOCK, REPLICA, REPLICA_DRAFT))
    if any(name.startswith(_DRAFT) for name in names):
        names = [name for name in names if not name.startswith((_DRAFT, GENERATION))]
    return next(iter(names), None)


def _clean(path: Path) -> None:
    """Remove the files of an unfinished attempt, the draft that marks it last. Raises OSError."""
    from shutil import rmtree

    drafts = [*path.glob(f"{_DRAFT}-*"), path / _DRAFT]
    if any(file.exists() for file in drafts):
        for generation in path.glob(f"{GENERATION}*"):
            rmtree(generation)
        for file in drafts:
            file.unlink(missing_ok=True)
