"""A store's threads, which must not keep it where nobody else has it any more."""

import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar
from weakref import WeakMethod

P = ParamSpec("P")
T = TypeVar("T")


def start(thread: threading.Thread) -> None:
    """Start it. Raises KeyboardInterrupt also where that comes as the standard library waits for it: its condition gives up a lock that it has not."""
    try:
        thread.start()
    except RuntimeError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise


class Weakly(Generic[P, T]):
    """A method that does nothing, and returns None, once its object is gone."""

    def __init__(self, method: Callable[P, T]) -> None:
        self._method = WeakMethod(method)

    def __call__(self, *given: P.args, **named: P.kwargs) -> T | None:
        """Call it."""
        method = self._method()
        return None if method is None else method(*given, **named)

    def is_gone(self) -> bool:
        """Whether its object is."""
        return self._method() is None
