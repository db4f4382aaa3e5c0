"""`with` blocks of generators do what those of the standard library do."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from idstore.stores.blocks import block


def _plain(said: list[str]) -> Iterator[str]:
    said.append("entered")
    try:
        yield "given"
    finally:
        said.append("left")


def _swallowing(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    except Exception as error:  # noqa: BLE001 whatever it is
        said.append(f"swallowed {error!r}")


def _translating(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    except Exception as error:
        said.append("translated")
        raise LookupError("another") from error


def _raising_again(said: list[str]) -> Iterator[str]:
    try:
        yield "given"
    except BaseException:
        said.append("seen")
        raise


def _failing_before(said: list[str]) -> Iterator[str]:
    said.append("begun")
    if said:
        raise OSError("before")
    yield "given"


def _failing_after(said: list[str]) -> Iterator[str]:
    yield "given"
    said.append("ending")
    raise OSError("after")


def _outcome(manager: AbstractContextManager[str], error: BaseException | None) -> tuple[str, list[type]]:
    """What comes of a block in which an error is raised, and what that is the cause of."""
    try:
        with manager as given:
            assert given == "given"
            if error is not None:
                raise error  # noqa: TRY301 that is the block
    except BaseException as raised:  # noqa: BLE001 whatever it is
        frames = [frame.name for frame in traceback.extract_tb(raised.__traceback__) if frame.filename == __file__]
        return f"{raised!r} in {frames}", [type(raised.__cause__), type(raised.__context__)]
    return "ended", []


@pytest.mark.parametrize("generate", [_plain, _swallowing, _translating, _raising_again, _failing_before, _failing_after])
@pytest.mark.parametrize(
    "error", [None, ValueError("one"), StopIteration("one"), RuntimeError("one"), KeyboardInterrupt(), GeneratorExit()], ids=repr
)
def test_as_the_standard_library_s(generate: Callable[[list[str]], Iterator[str]], error: BaseException | None) -> None:
    outcomes = []
    for made in (contextmanager, block):
        said: list[str] = []
        again: Any = None if error is None else type(error)(*error.args)
        outcomes.append((_outcome(made(generate)(said), again), said))
    assert outcomes[0] == outcomes[1]
