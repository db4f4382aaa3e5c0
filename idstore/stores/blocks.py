"""``with`` blocks of generators, left at once also where Ctrl-C comes as one is entered or left.

The standard library's keep what they hold then for as long as somebody keeps the exception: its traceback has the generator. A lock would be
held by nobody who knows of it, as long as a notebook shows the error. And they take twice the time, of which each allocation enters several.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Block(AbstractContextManager[T]):
    """What a generator does before its ``yield``, and after it."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Any) -> None:
        self._steps = steps  # a generator

    def __enter__(self) -> T:
        try:
            entered: T = next(self._steps)
            return entered  # noqa: TRY300 an interrupt may come before this line
        except BaseException:
            self._steps.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        try:
            if error is not None:
                return self._swallows(error, trace)
            next(self._steps, None)
            return False  # noqa: TRY300
        except BaseException:
            self._steps.close()
            raise

    def _swallows(self, error: BaseException, trace: TracebackType | None) -> bool:
        """Raise an error where the generator stands. Returns whether it ended then as if there were none; another one comes out."""
        try:
            self._steps.throw(error)
        except BaseException as raised:
            ended = isinstance(raised, StopIteration) and raised is not error
            if raised is not error and not ended and not _stands_for(raised, error):
                raise
            error.__traceback__ = trace  # without the frames in which it was raised again
            return ended
        raise AssertionError("a block yields once")


def _stands_for(raised: BaseException, error: BaseException) -> bool:
    """Whether that is what the interpreter makes of a StopIteration in a generator (PEP 479)."""
    return isinstance(error, StopIteration) and isinstance(raised, RuntimeError) and raised.__cause__ is error


def block(generate: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """As `contextlib.contextmanager`, for generators that yield once."""

    @wraps(generate)
    def begun(*given: P.args, **named: P.kwargs) -> AbstractContextManager[T]:
        return _Block(generate(*given, **named))

    return begun
