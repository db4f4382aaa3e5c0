"""How a directory becomes a store: in one step, on disk, whatever stops it before.

The journal has another name until everything beside it is on disk; renaming it makes the store. What is left of an attempt that was cut
short is recognised by that other name, and removed by the next attempt.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable

JOURNAL: Final = "journal.sqlite"
LOCK: Final = "lock"
GENERATION: Final = "generation-"
"""What the names of generations begin with; the first one is number 1."""
_DRAFT: Final = "journal.draft"


def exists(path: Path) -> bool:
    """Whether there is a store at ``path``. Raises StoreUnavailable: nobody lets us look."""
    try:
        return (path / JOURNAL).is_file()
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be looked into: {error.strerror}; check the folder's permissions, or name another (with --store)",
            path=str(path),
        ) from error


def is_vacant(path: Path) -> bool:
    """Whether a store can be made there: nothing is there, or nothing but what an earlier attempt left. Raises OSError."""
    try:
        return _stranger(path) is None
    except FileNotFoundError:
        return True


def prepare(path: Path, permissions: int = 0o777) -> None:
    """Make the folder, on disk, unless it is there and a store can be made in it; with these permissions, less the umask. Raises StoreUnavailable."""
    try:
        _make(path, permissions)
        stranger = _stranger(path)
    except OSError as error:
        raise StoreUnavailable(
            f"no store can be made at {path}: {error.strerror}; name another folder (with --store)", path=str(path)
        ) from error
    if stranger is not None and not exists(path):  # another process may have been faster
        raise StoreUnavailable(
            f"{path} is not a store, and holds {stranger!r}; name an empty folder, or one that does not exist (with --store)",
            path=str(path),
        )


@contextmanager
def founding(path: Path) -> Iterator[Path]:
    """Make a store in a folder that is prepared and locked: gives the path for its journal, and when the block ends there is a store.

    By then the journal is closed, and whatever else the block made is on disk.
    Raises StoreUnavailable.
    """
    draft = path / _DRAFT
    try:
        _clean(path)
        draft.touch()
        sync_folder(path)
        yield draft
        if draft.with_name(f"{_DRAFT}-wal").exists():
            raise OSError(f"{draft} could not be written in full")  # noqa: TRY301 told like the system's own errors
        sync_folder(path)
        _name(draft, path / JOURNAL)
    except StoreUnavailable:
        raise
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(
            f"no store can be made at {path}: {error}; free some space and try again (the next attempt replaces what this one began)",
            path=str(path),
        ) from error


def _name(draft: Path, path: Path) -> None:
    """Give the journal its name, on disk, or leave it as it was. Raises OSError."""
    draft.rename(path)
    try:
        sync_folder(path.parent)
    except OSError:
        path.rename(draft)
        raise


def sync_folder(path: Path) -> None:
    """Bring the entries of a folder to disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Bring everything in a folder to disk: files, and entries of folders. Raises OSError."""
    for place, _, files in os.walk(path):
        for name in files:
            sync_folder(Path(place, name))  # a file is synced just so
        sync_folder(Path(place))


def discard(folders: Iterable[Path]) -> None:
    """Remove folders that nobody needs any more, as far as that can be done."""
    from shutil import rmtree  # itself slow to import

    for folder in folders:
        rmtree(folder, ignore_errors=True)


def _make(path: Path, permissions: int) -> None:
    """Make a folder and those above it, on disk."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    path.mkdir(permissions, parents=True, exist_ok=True)
    try:
        for place in missing or [path]:
            sync_folder(place.absolute().parent)
    except OSError as error:
        if not missing and isinstance(error, PermissionError):  # a folder above is closed to us; somebody else made this one
            return
        for place in missing:  # made again, and synced, by the next attempt
            with suppress(OSError):
                place.rmdir()
        raise


def _stranger(path: Path) -> str | None:
    """Something in the folder that is not left of an attempt to make a store. Raises OSError."""
    names = sorted(entry.name for entry in path.iterdir() if entry.name != LOCK)
    if _DRAFT in names:
        names = [name for name in names if not name.startswith((_DRAFT, GENERATION))]
    return next(iter(names), None)


def _clean(path: Path) -> None:
    """Remove what an earlier attempt left; the draft, by which it is recognised, last."""
    from shutil import rmtree

    left = [*path.glob(f"{_DRAFT}-*"), path / _DRAFT]
    if left[-1].exists():
        for generation in path.glob(f"{GENERATION}*"):
            rmtree(generation)
        for file in left:
            file.unlink(missing_ok=True)
