"""What a forked child inherits of databases that are open: it neither uses nor closes them.

Closing acts on files by their names, where others may have written by then; and neither SQLite nor the engine knows of children: what one
opens of the same store shares the parent's bookkeeping with it.
"""

import os
import sqlite3
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from idstore.errors import StoreUnavailable

FORKED: Final = (
    "the store was opened by another process, of which this one is a fork; use it there, or open it in a process that was started anew"
    " (`spawn` in multiprocessing)"
)

_OPEN: Final["WeakKeyDictionary[Any, Path]"] = WeakKeyDictionary()
_INHERITED: Final[set[Path]] = set()


class Connection(sqlite3.Connection):
    """A connection that `leave_alone` can know."""

    def close(self) -> None:
        """Close it."""
        super().close()
        closed(self)


def leave_alone(database: Any, path: Path) -> None:
    """Have children leave a database alone that was just opened; ``path`` is its file or folder."""
    _OPEN[database] = path


def closed(database: Any) -> None:
    """Take note that it is closed."""
    _OPEN.pop(database, None)


def refuse_inherited(path: Path) -> None:
    """Raise StoreUnavailable if this process inherited the database at ``path``."""
    if _INHERITED and path.resolve() in _INHERITED:
        raise StoreUnavailable(FORKED, path=str(path))


def _inherit() -> None:
    """In a child: nothing may ever close them, not even the end of the interpreter."""
    for database, path in list(_OPEN.items()):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
        _INHERITED.add(path.resolve())


os.register_at_fork(after_in_child=_inherit)
