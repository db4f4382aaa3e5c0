"""One leads, others follow: all return, each after its part was done, however often the interpreter goes from one to another."""

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from idstore.stores.leading import Leading


@pytest.fixture
def restless() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("restless")
def test_everybody_returns_when_its_part_is_done() -> None:
    leading, adding, working = Leading(), threading.Lock(), threading.Lock()
    added = done = 0

    def work() -> None:
        nonlocal done
        assert working.acquire(blocking=False)  # nobody else works
        reached = added
        time.sleep(0)  # others go on, as they do while the disk is at work
        done = reached
        working.release()

    def act(_: int) -> None:
        nonlocal added
        for _ in range(2000):
            with adding:
                added += 1
                mine = added
            leading.until(lambda mine=mine: done >= mine, work)  # type: ignore[misc]
            assert done >= mine

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(8)))
    assert done == added == 16_000


def test_what_goes_wrong_is_told_to_who_led_and_others_go_on() -> None:
    leading, begun, waiting = Leading(), threading.Event(), threading.Event()
    done = False

    def fail() -> None:
        begun.set()
        assert waiting.wait(60)
        raise KeyboardInterrupt

    def work() -> None:
        nonlocal done
        done = True

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(leading.until, lambda: done, fail)
        assert begun.wait(60)
        second = pool.submit(leading.until, lambda: done, work)
        waiting.set()
        with pytest.raises(KeyboardInterrupt):
            first.result(60)
        second.result(60)
    assert done
