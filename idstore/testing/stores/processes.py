"""Child processes, started with ``spawn``, that a test can kill."""

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

import pytest

from idstore.testing.stores.threads import PATIENCE

T = TypeVar("T")

Send: TypeAlias = Callable[[object], None]

_SPAWN: Final = multiprocessing.get_context("spawn")


class _Failure(str):  # noqa: SLOT000 a text with a recognizable type
    """The traceback of an error in a child."""


class Child:
    """A process that runs ``work(send, *arguments)`` until the block ends."""

    def __init__(self, work: Callable[..., object], *arguments: object) -> None:
        self._receiving, sending = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(target=_serve, args=(sending, work, arguments), daemon=True)
        self._process.start()
        sending.close()

    def receive(self) -> Any:
        """Return the next value that the child sent. Fails: the child failed, or sends nothing."""
        if not self._receiving.poll(PATIENCE):
            pytest.fail("a child process sends nothing")
        try:
            value = self._receiving.recv()
        except EOFError:
            self._process.join(PATIENCE)
            pytest.fail(f"a child process ended early, with exit code {self._process.exitcode}")
        if isinstance(value, _Failure):
            pytest.fail(f"a child process failed:\n{value}")
        return value

    def kill(self) -> list[Any]:
        """Kill the child (SIGKILL). Returns the values that `receive` has not returned."""
        self._process.kill()
        self._process.join(PATIENCE)
        remaining = []
        while True:
            try:
                remaining.append(self._receiving.recv())
            except (EOFError, OSError):  # the last message may be incomplete
                return remaining

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()
        self._receiving.close()


def in_process(work: Callable[..., T], *arguments: object) -> T:
    """Run a function in a separate process, and return its result. Fails: the function raises."""
    with Child(_answer, work, arguments) as child:
        answer: T = child.receive()
        return answer


def _answer(send: Send, work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    send(work(*arguments))


def _serve(connection: Connection, work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    try:
        work(connection.send, *arguments)
    except Exception:  # noqa: BLE001 reported by the parent
        connection.send(_Failure(traceback.format_exc()))
    connection.close()
