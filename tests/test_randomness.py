"""Numbers from the system: in their limits, and all of them."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from idstore import randomness


@pytest.mark.parametrize("count", [1, 7, 8, 9, 40, 53, 62])
def test_bits_fill_their_range(count: int) -> None:
    drawn = [randomness.bits(count) for _ in range(2000)]
    assert all(0 <= number < 2**count for number in drawn)
    assert all(any(number >> place & 1 for number in drawn) for place in range(count))
    assert not all(number >> place & 1 for number in drawn for place in range(count))


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 255, 256, 257])
def test_every_number_below_a_limit_comes_and_no_other(limit: int) -> None:
    assert {randomness.below(limit) for _ in range(60 * limit)} == set(range(limit))


def test_words_differ() -> None:
    words = {randomness.word(8) for _ in range(1000)}
    assert len(words) == 1000
    assert {len(word) for word in words} == {16}


_FORKED = """
import os
from idstore import randomness
randomness.bits(8)
child = os.fork()
word = randomness.word(32)
if child:  # prints after the child has, or their lines could run into each other
    os.waitpid(child, 0)
print(word, flush=True)
"""


def test_a_forked_process_draws_others() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKED], check=True, capture_output=True, text=True)
    words = done.stdout.split()
    assert len(words) == len(set(words)) == 2


def test_threads_draw_others() -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: randomness.word(8), range(20_000)))
    assert len(set(drawn)) == len(drawn)
