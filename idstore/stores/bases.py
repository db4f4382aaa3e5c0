"""What an engine is made again from.

An engine that lost power in the middle of its own recovery, or of writing its list of files, may refuse to open. So beside it lies its
*base*: its files as of one change, on disk, and never written to again (most are hard links, so that it takes next to no room); the
journal keeps every change since. There is none before the journal first forgets something: then the engine is made from the journal alone.

A base is a folder ``base-SEQUENCE-TOKEN`` in its generation, with the engine, and the name of the change's first event in ``event``. It has
that name from the moment it is whole and on disk, and loses it, on disk, before anything of it is removed; whatever else is called so is
passed over.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from idstore import randomness
from idstore.errors import StoreDamaged
from idstore.frozen import dataclass
from idstore.stores.engine import ENGINE, make_empty
from idstore.stores.founding import discard, sync_folder, sync_tree
from idstore.stores.generation import copy_files

_PREFIX: Final = "base-"
_NAME: Final = re.compile(rf"{_PREFIX}([0-9]+)-[^-]+")
_GONE: Final = "gone-"
"""What the name of a base that is to be removed begins with."""
_DRAFT: Final = "draft"
_BROKEN: Final = "broken"
_EVENT: Final = "event"
_ROOM: Final = 8
"""A base may take an eighth of the engine's room for itself, before a new one is made."""
_LITTLE: Final = 1 << 20
"""Bytes that a base may always take."""


@dataclass(frozen=True, slots=True)
class Base:
    """The base in ``folder``, as of the change with this sequence number, which begins with ``event``."""

    folder: Path
    sequence: int
    event: str

    @property
    def engine(self) -> Path:
        """The engine's files."""
        return self.folder / ENGINE


def newest(generation: Path) -> Base | None:
    """The base of a generation; None if there is none yet, or none that can be used. Raises OSError: it cannot be read now."""
    for sequence, folder in sorted(_named(generation), reverse=True):
        with suppress(FileNotFoundError, IsADirectoryError, ValueError):  # left behind, or damaged: it does not name its event
            event = NamedNode((folder / _EVENT).read_text(encoding="utf-8"))
            return Base(folder, sequence, event.value)
    return None


def _named(generation: Path) -> list[tuple[int, Path]]:
    """The folders that have a base's name, each with its sequence number."""
    found = [(_NAME.fullmatch(folder.name), folder) for folder in generation.glob(f"{_PREFIX}*")]
    return [(int(name[1]), folder) for name, folder in found if name is not None]


def keep(generation: Path, sequence: int, event: str, copy: Callable[[Path], None]) -> None:
    """Make a base, on disk, in the place of an earlier one; ``copy`` copies the engine into a new folder. Raises OSError."""
    draft = generation / _DRAFT
    discard([draft])
    _sweep(generation)
    draft.mkdir()
    copy(draft / ENGINE)
    (draft / _EVENT).write_text(event, encoding="utf-8")
    sync_tree(draft)
    made = draft.rename(generation / f"{_PREFIX}{sequence}-{randomness.word(4)}")
    sync_folder(generation)
    for _, earlier in _named(generation):
        if earlier != made:
            earlier.rename(generation / f"{_GONE}{earlier.name.removeprefix(_PREFIX)}")
    _sweep(generation)


def _sweep(generation: Path) -> None:
    """Remove what is a base no more: once that is on disk, so that none is taken for one that is removed in part. Raises OSError."""
    gone = list(generation.glob(f"{_GONE}*"))
    if gone:
        sync_folder(generation)
        discard(gone)


def outgrown(generation: Path) -> bool:
    """Whether the engine has rewritten so much that its base takes much room for itself, or its base can be used no more. Raises OSError."""
    base = newest(generation)
    if base is None:
        return bool(_named(generation))
    present, kept = _tables(generation / ENGINE), _tables(base.engine)
    alone = sum(size for name, size in kept.items() if name not in present)
    return alone > max(_LITTLE, sum(present.values()) // _ROOM)


def _tables(engine: Path) -> dict[str, int]:
    """The engine's table files, with their sizes."""
    found = {}
    for file in engine.glob("*.sst"):
        with suppress(FileNotFoundError):  # the engine removes what it has merged into others
            found[file.name] = file.stat().st_size
    return found


def mend(generation: Path) -> None:
    """Put the base in the engine's place, or an empty engine if there is none. Raises OSError; StoreDamaged if there is none that can be used."""
    base, draft, engine = newest(generation), generation / _DRAFT, generation / ENGINE
    if base is None and _named(generation):  # the journal may have forgotten what was in it
        raise StoreDamaged(
            f"the store is damaged: neither {engine} nor the base beside it, of which that could be made again, can be opened;"
            f" keep its files, and restore a backup",
            path=str(engine),
        )
    discard([draft])
    if base is None:
        make_empty(draft)
    else:
        copy_files(base.engine, draft)
    sync_tree(draft)
    if engine.exists():
        discard([generation / _BROKEN])
        engine.rename(generation / _BROKEN)
    draft.rename(engine)
    sync_folder(generation)


def clear(generation: Path) -> None:
    """Remove the engine that was replaced, and what is left of an attempt to make a base, or to remove one."""
    discard(left for left in (generation / _BROKEN, generation / _DRAFT) if left.exists())
    with suppress(OSError):  # another opening may remove it
        _sweep(generation)
