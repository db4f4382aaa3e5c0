"""Bases: copies from which a broken engine is rebuilt.

An engine that lost power during its own recovery, or while writing its list of files, may refuse to open. So
a *base* is kept beside it: the engine's files as of one journal row, on disk and never changed. Most are hard
links and take almost no space. The ledger keeps every row since. Before the ledger is first pruned there is
no base: then the engine is rebuilt from the ledger alone.

A base is a folder ``base-MARK-TOKEN`` in its generation. It gets that name when it is complete and on disk.
It loses the name, on disk, before its removal begins. Other folders with a similar name are ignored.
"""

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from idstore.disk_errors import is_full, unnumbered
from idstore.errors import StoreDamaged
from idstore.permissions import conform
from idstore.progress import Progress
from idstore.stores.files import discard, sync, sync_tree
from idstore.stores.projection import engine_checks
from idstore.stores.projection.oxigraph import ENGINE, Engine, copy_files, make_empty

_LOG: Final = logging.getLogger(__name__)
_PREFIX: Final = "base-"
_NAME: Final = re.compile(rf"{_PREFIX}([0-9]+)-[^-]+")
_GONE: Final = "gone-"
"""Prefix of a base that is to be removed."""
_DRAFT: Final = "draft"
_BROKEN: Final = "broken"
_SHARE: Final = 8
"""Divisor: a base may occupy this fraction of the engine's size alone before a new one is made."""
_MIN_SIZE: Final = 1 << 20
"""Bytes that a base may always occupy."""


def mark(generation: Path) -> int:
    """Return the number of the last journal row in the newest base, 0 if there is no base. Raises OSError."""
    return max((number for number, _ in _named(generation)), default=0)


def _named(generation: Path) -> list[tuple[int, Path]]:
    """Return the bases of a generation, each with its mark."""
    matches = [(_NAME.fullmatch(folder.name), folder) for folder in generation.glob(f"{_PREFIX}*")]
    return [(int(name[1]), folder) for name, folder in matches if name is not None]


def keep(generation: Path, copy: Callable[[Path], int]) -> int:
    """Create a base on disk in place of the earlier one, and return its mark.

    copy  copies the engine into a new folder, and returns the mark of the copy.
    Raises OSError, RuntimeError.
    """
    draft = generation / _DRAFT
    discard([draft])
    _sweep(generation)
    draft.mkdir()
    conform(draft)
    mark = copy(draft / ENGINE)
    sync_tree(draft)
    base = draft.rename(generation / f"{_PREFIX}{mark}-{secrets.token_hex(4)}")
    sync(generation)
    for _, earlier in _named(generation):
        if earlier != base:
            earlier.rename(generation / f"{_GONE}{earlier.name.removeprefix(_PREFIX)}")
    _sweep(generation)
    return mark


def _sweep(generation: Path) -> None:
    """Remove former bases once their new names are on disk, so that no partly removed one counts as a base.

    Raises OSError.
    """
    gone = list(generation.glob(f"{_GONE}*"))
    if gone:
        sync(generation)
        discard(gone)


def is_outgrown(generation: Path) -> bool:
    """Whether the base occupies much space alone, since the engine has rewritten its tables.

    Raises OSError.
    """
    bases = _named(generation)
    if not bases:
        return False
    engine_tables, base_tables = _tables(generation / ENGINE), _tables(max(bases)[1] / ENGINE)
    base_only = sum(size for name, size in base_tables.items() if name not in engine_tables)
    return base_only > max(_MIN_SIZE, sum(engine_tables.values()) // _SHARE)


def _tables(engine: Path) -> dict[str, int]:
    """Return the engine's table files with their sizes."""
    sizes = {}
    for file in engine.glob("*.sst"):
        with suppress(FileNotFoundError):  # meanwhile merged into another table
            sizes[file.name] = file.stat().st_size
    return sizes


def faults(generation: Path, folder: Path, progress: Progress) -> Iterator[str]:
    """Yield faults of the newest base.

    folder  a folder on the same disk, for a copy.
    """
    bases = _named(generation)
    if not bases:
        return
    base = max(bases)[1]
    found, copy = [], folder / "base"
    try:
        copy_files(base / ENGINE, copy)
        engine = Engine(copy, read_only=True)
        try:
            found = [*engine_checks.read_all(engine, progress)]
        finally:
            engine.close()
    except (OSError, RuntimeError, ValueError) as error:
        found = [f"{error}"]
    if base.exists():  # else another one took its place meanwhile
        beside = f"the base beside {unnumbered(generation / ENGINE)}"
        yield from (f"{beside}: {unnumbered(fault)}" for fault in found)


def mend(generation: Path) -> None:
    """Replace the engine by its base, or by an empty engine if there is none.

    Raises OSError, RuntimeError; StoreDamaged: no base opens.
    """
    bases, draft, engine = _named(generation), generation / _DRAFT, generation / ENGINE
    discard([draft])
    if not bases:
        make_empty(draft)
    elif not _copy_base(max(bases)[1] / ENGINE, draft):  # the ledger no longer has these rows
        raise StoreDamaged(
            f"the store is damaged: neither {unnumbered(engine)} nor the base beside it opens;"
            f" keep its files, and restore a backup",
            path=unnumbered(engine),
        )
    sync_tree(draft)
    if engine.exists():
        discard([generation / _BROKEN])
        engine.rename(generation / _BROKEN)
    draft.rename(engine)
    sync(generation)
    _LOG.warning("%s: the engine was replaced by its base", unnumbered(generation.parent))


def _copy_base(base: Path, draft: Path) -> bool:
    """Copy a base's engine. If the copy does not open, remove it and return False. Raises OSError."""
    try:
        copy_files(base, draft)
        Engine(draft).close()
    except (FileNotFoundError, ValueError, RuntimeError, OSError) as error:
        discard([draft])
        if is_full(error, draft.parent):
            raise
        return False
    return True


def clear(generation: Path) -> None:
    """Remove the replaced engine, and the remains of an interrupted creation or removal of a base."""
    discard(remains for remains in (generation / _BROKEN, generation / _DRAFT) if remains.exists())
    with suppress(OSError):  # another opening may remove it
        _sweep(generation)
