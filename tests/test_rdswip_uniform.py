"""Chi-square tests: every number that obeys the rules is drawn with the same probability.

Each test fails by chance once in a thousand million runs; tests with a seeded generator never do.
"""

import math
import random
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, islice, pairwise
from typing import TypeVar

import pytest

from idstore.schemes.rdswip import SCHEME
from idstore.testing import SimulatedAllocation

BASE = "http://rdl.example.org/data#"
DEVIATIONS = 6.0
"""Number of standard deviations that a normal variable exceeds with probability 1e-9."""
Cell = TypeVar("Cell")


def limit(freedom: int) -> float:
    """Return the chi-square value exceeded with probability 1e-9 (Wilson and Hilferty's approximation)."""
    spread = 2 / (9 * freedom)
    return freedom * math.pow(1 - spread + DEVIATIONS * math.sqrt(spread), 3)


def drawn(count: int, **settings: str) -> list[str]:
    """Return numbers drawn by the scheme."""
    context = SCHEME.context(BASE, settings)

    def endless() -> Iterator[str]:
        while True:
            yield from islice(
                SCHEME.candidates(SimulatedAllocation(context)), 1000
            )  # the following ones have more digits

    return [label[1:] for label in islice(endless(), count)]


def allowed(number: str) -> bool:
    """Return whether a number obeys the rules, in other words than the scheme's code."""
    return not any(digit * 3 in number or number.count(digit) > 3 for digit in set(number))


def chi_square(found: Iterable[Cell], cells: Iterable[Cell]) -> tuple[float, int]:
    """Return the chi-square statistic against a uniform distribution, and its degrees of freedom."""
    counts = Counter(found)
    every = list(cells)
    assert counts.keys() <= set(every)
    expected = counts.total() / len(every)
    return sum((counts[cell] - expected) ** 2 / expected for cell in every), len(every) - 1


def differ(one: Iterable[Cell], other: Iterable[Cell]) -> tuple[float, int]:
    """Return the chi-square statistic of two samples of one size, and its degrees of freedom."""
    first, second = Counter(one), Counter(other)
    assert first.total() == second.total()
    cells = first.keys() | second.keys()
    return sum((first[cell] - second[cell]) ** 2 / (first[cell] + second[cell]) for cell in cells), len(
        cells
    ) - 1


def test_each_number_of_a_small_namespace_is_equally_frequent() -> None:
    """Digits, positions, pairs and all other properties at once, with the generator of real use."""
    every = [str(number) for number in range(100, 1000) if allowed(str(number))]
    assert len(every) == 891
    value, freedom = chi_square(drawn(50 * len(every), digits="3"), every)
    assert value < limit(freedom)


@pytest.mark.slow
def test_each_number_of_a_small_namespace_without_patterns_is_equally_frequent() -> None:
    steps = ("12", "23", "34", "45", "56", "67", "78", "89", "90", "01")
    every = [str(number) for number in range(10_000, 100_000)]
    every = [
        one
        for one in every
        if allowed(one)
        and one != one[::-1]
        and not all(a + b in steps for a, b in pairwise(one))
        and not all(b + a in steps for a, b in pairwise(one))
    ]
    value, freedom = chi_square(drawn(5 * len(every), digits="5", refuse_patterns="true"), every)
    assert value < limit(freedom)


@pytest.fixture(scope="module")
def samples() -> tuple[list[str], list[str]]:
    """Return two seeded samples of numbers with ten digits.

    One is drawn by the scheme; the other is drawn from all numbers, and keeps those that obey the rules.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(secrets, "randbelow", random.Random(1582).randrange)
        ours = drawn(60_000)
    generator = random.Random(2009)
    plain = (str(generator.randrange(10**9, 10**10)) for _ in iter(int, 1))
    return ours, list(islice(filter(allowed, plain), len(ours)))


def test_the_first_digit_is_any_but_zero(samples: tuple[list[str], list[str]]) -> None:
    value, freedom = chi_square((number[0] for number in samples[0]), "123456789")
    assert value < limit(freedom)


@pytest.mark.parametrize("place", range(10))
def test_digits_at_each_place_match_a_rejection_sample(
    samples: tuple[list[str], list[str]], place: int
) -> None:
    value, freedom = differ(*((number[place] for number in sample) for sample in samples))
    assert value < limit(freedom)


@pytest.mark.parametrize(("one", "other"), list(combinations(range(10), 2)))
def test_digits_at_each_pair_of_places_match_a_rejection_sample(
    samples: tuple[list[str], list[str]], one: int, other: int
) -> None:
    value, freedom = differ(*((number[one] + number[other] for number in sample) for sample in samples))
    assert value < limit(freedom)


def test_frequencies_of_digits_match_a_rejection_sample(samples: tuple[list[str], list[str]]) -> None:
    value, freedom = differ(
        *((tuple(sorted(Counter(number).values())) for number in sample) for sample in samples)
    )
    assert value < limit(freedom)


def test_successive_numbers_are_independent(samples: tuple[list[str], list[str]]) -> None:
    """All pairs of the first digits of successive numbers are equally frequent."""
    firsts = [number[0] for number in samples[0]]
    value, freedom = chi_square(pairwise(firsts), [(a, b) for a in "123456789" for b in "123456789"])
    assert value < limit(freedom)


def test_a_skewed_draw_is_detected(samples: tuple[list[str], list[str]]) -> None:
    """Every thirtieth number is drawn from those that begin with 1."""
    skewed = ["1" + number[1:] if index % 30 == 0 else number for index, number in enumerate(samples[0])]
    value, freedom = chi_square((number[0] for number in skewed), "123456789")
    assert value > limit(freedom)
