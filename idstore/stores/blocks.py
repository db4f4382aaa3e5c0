"""``with`` blocks of generators, left at once also where Ctrl-C comes as one is entered or left.

The standard library's keep what they hold then for as long as somebody keeps the exception: its traceback has the generator. A lock would be
held by nobody who knows of it, as long as a notebook shows the error.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Block(AbstractContextManager[T]):
    __slots__ = ("_manager",)

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> T:
        try:
            entered: T = self._manager.__enter__()
            return entered  # noqa: TRY300 an interrupt may come before this line
        except BaseException:
            self._manager.gen.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        try:
            swallowed: bool | None = self._manager.__exit__(kind, error, trace)
            return swallowed  # noqa: TRY300
        except BaseException:
            self._manager.gen.close()
            raise


def block(generate: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """As `contextlib.contextmanager`."""
    made = contextmanager(generate)

    @wraps(generate)
    def begun(*given: P.args, **named: P.kwargs) -> AbstractContextManager[T]:
        return _Block(made(*given, **named))

    return begun
