"""Reading much of an engine, and letting go of it in time.

An iterator of the engine keeps the engine open, and only the thread that made it can give it up. What an error, or whoever looked at the
first quads alone, leaves behind would be left to the collector, which runs in any thread. So each belongs to the reading it was made in, and
ends with it.
"""

import threading
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from pyoxigraph import Quad

from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.stores.telling import unnumbered

P = ParamSpec("P")
T = TypeVar("T")

_HERE: Final = threading.local()
"""``readings``: those that this thread is in, the innermost last."""


def unreadable(error: OSError | RuntimeError) -> StoreUnavailable:
    """What to raise for what the engine raises when it cannot read a file, or finds that its checksum is wrong."""
    if isinstance(error, StoreUnavailable):
        return error
    if isinstance(error, OSError):
        return StoreUnavailable(f"the store cannot be read: {unnumbered(error)}; check the disk")
    return StoreDamaged(f"the store is damaged: {unnumbered(error)}; keep its files, and restore a backup")


def reading(method: Callable[P, T]) -> Callable[P, T]:
    """A method that reads an engine, and raises StoreUnavailable where that fails, StoreDamaged where what it reads is not what was written."""

    @wraps(method)
    def read(*given: P.args, **named: P.kwargs) -> T:
        try:
            return method(*given, **named)
        except (OSError, RuntimeError) as error:
            raise unreadable(error) from error

    return read


def changing(method: Callable[P, T]) -> Callable[P, T]:
    """A method that changes an engine, and raises StoreDamaged where what the engine reads meanwhile is not what was written."""

    @wraps(method)
    def change(*given: P.args, **named: P.kwargs) -> T:
        try:
            return method(*given, **named)
        except RuntimeError as error:
            raise unreadable(error) from error

    return change


class Scanning:
    """A reading: what is scanned in this thread inside the block, and outside an inner one, ends with it."""

    __slots__ = ("_readings", "begun")

    def __init__(self) -> None:
        self.begun: set[_Scan] = set()

    def __enter__(self) -> None:
        self._readings: list[Scanning] = _HERE.__dict__.setdefault("readings", [])
        self._readings.append(self)

    def __exit__(self, *_: object) -> None:
        self._readings.remove(self)
        for scan in list(self.begun):
            scan.close()


class _Scan(Iterator[Quad]):
    def __init__(self, found: Iterator[Quad], reading: Scanning) -> None:
        self._found: Iterator[Quad] | None = found
        self._reading = reading
        reading.begun.add(self)

    def __next__(self) -> Quad:
        try:
            quad = None if self._found is None else next(self._found, None)
        except (OSError, RuntimeError) as error:
            self.close()
            raise unreadable(error) from error
        if quad is None:
            self.close()
            raise StopIteration
        return quad

    def close(self) -> None:
        self._found = None
        self._reading.begun.discard(self)


def scan(found: Iterator[Quad]) -> Iterator[Quad]:
    """An engine's iterator that ends with the present reading; outside of any, all that it gives at once."""
    readings: list[Scanning] | None = _HERE.__dict__.get("readings")
    return _Scan(found, readings[-1]) if readings else iter(list(found))


def anything(found: Iterator[Quad]) -> bool:
    """Whether there is a quad; lets go of the iterator at once, where many would be left to the end of the reading."""
    try:
        return next(found, None) is not None
    finally:
        if isinstance(found, _Scan):
            found.close()
