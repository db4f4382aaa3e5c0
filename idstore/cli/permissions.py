"""File permissions: a store is private to its owner or group; other files follow the user's umask."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_OWNER_UMASK: Final = 0o077
_GROUP_UMASK: Final = 0o007


@contextmanager
def store_umask(*folders: str | Path, group: bool = False) -> Iterator[None]:
    """Set the umask for the block: files are for the owner, or also for the group of a shared store.

    The engine creates files at any time while a store is open, and the umask alone decides their permissions.

    folders  the folders of the stores.
    group    whether a store that the block creates is shared.
    """
    shared = any(_is_shared(Path(folder), group=group) for folder in folders)
    before = os.umask(_GROUP_UMASK if shared else _OWNER_UMASK)
    try:
        yield
    finally:
        os.umask(before)


def output_mode() -> int:
    """Return the mode of a new file that a command writes for the user. Call it outside `store_umask`."""
    umask = os.umask(_OWNER_UMASK)  # the umask cannot be read without being set
    os.umask(umask)
    return 0o666 & ~umask


def _is_shared(folder: Path, *, group: bool) -> bool:
    """Return whether a store's folder is writable by its group; ``group`` decides for a vacant folder."""
    from idstore import opening

    try:
        vacant, status = opening.is_vacant(folder), folder.stat()
    except OSError:
        return group
    return group if vacant and status.st_uid == os.geteuid() else bool(status.st_mode & stat.S_IWGRP)
