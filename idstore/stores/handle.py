"""Files that are open for the sake of their lock."""

import errno
import os
from pathlib import Path
from typing import Final
from weakref import WeakSet

_OPEN: Final["WeakSet[Handle]"] = WeakSet()


class Handle:
    """A file that is open until it is closed, or until nobody has this object any more: whoever opened it may have been interrupted.

    Raises OSError.
    """

    _number: int | None = None

    def __init__(self, path: Path, flags: int = os.O_RDONLY) -> None:
        self._number = os.open(path, flags, 0o666)
        _OPEN.add(self)

    def fileno(self) -> int:
        """Its number, by which the system knows it."""
        if self._number is None:
            raise OSError(errno.EBADF, "it is closed")
        return self._number

    def again(self) -> "Handle":
        """The same, open until both are closed: they have one lock."""
        other = Handle.__new__(Handle)
        other._number = os.dup(self.fileno())
        _OPEN.add(other)
        return other

    def close(self) -> None:
        """Close it, and give up its lock."""
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    __del__ = close


def _let_go() -> None:
    """In a child of the process, which would hold the locks as long as it lives, whatever its parent does."""
    for handle in list(_OPEN):
        handle.close()


os.register_at_fork(after_in_child=_let_go)
