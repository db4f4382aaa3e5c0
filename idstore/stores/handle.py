"""Files that are open for the sake of their lock."""

import os
from pathlib import Path


class Handle:
    """A file that is open until it is closed, or until nobody has this object any more: whoever opened it may have been interrupted.

    Raises OSError.
    """

    _number: int | None = None

    def __init__(self, path: Path, flags: int = os.O_RDONLY) -> None:
        self._number = os.open(path, flags, 0o666)

    def fileno(self) -> int:
        """Its number, by which the system knows it."""
        assert self._number is not None, "it is closed"
        return self._number

    def again(self) -> "Handle":
        """The same, open until both are closed: they have one lock."""
        other = Handle.__new__(Handle)
        other._number = os.dup(self.fileno())
        return other

    def close(self) -> None:
        """Close it, and give up its lock."""
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    __del__ = close
