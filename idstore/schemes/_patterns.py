"""Patterns in RDS/WIP numbers, and the exact count of numbers without patterns.

A number has a pattern if five consecutive digits count up or down (0 follows 9), if a pair of different
digits occurs three times in succession, if three doubled digits are adjacent, if its halves are equal, or if
it is a palindrome.

Method: all rules except the one on counting digits treat every digit alike, so for them it suffices to know
how many digits were used how often (`_Completions`). Inclusion and exclusion over runs of steps, each +1 or
each -1, removes the numbers with counting digits: the count for one run equals the count for as many
different digits in any order, of which every 10!/(10-n)!/20-th counts up or down; two runs leave so few other
digits that they are enumerated. Numbers with equal halves and palindromes are determined by their half, and
also enumerated.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import perm
from typing import Final, NamedTuple

from idstore.schemes._numbers import find_violation, population

COUNTED: Final = 12
"""The most digits for which the count works: three runs of counting digits would fit into longer numbers."""

_CIRCLE: Final = "0123456789" * 2
STEPS: Final = tuple(
    run for start in range(10) for run in (_CIRCLE[start : start + 5], _CIRCLE[start : start + 5][::-1])
)
"""All sequences of five digits that count up or down; 0 follows 9."""

_DOUBLED: Final = 2
"""Maximum number of adjacent doubled digits."""
_ALTERNATED: Final = 5
"""Maximum length of a sequence of two alternating digits."""
_WEIGHTS: Final = {4: -1, 5: 1, 8: -1, 9: 1}
"""Coverings of a run of so many steps by overlapping runs of four: those of even size less those of odd
size."""


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return expressions for counting digits, repeated pairs and doubled digits.

    They are compiled on demand, because few namespaces need them.
    """
    pair, doubles = r"([0-9])(?!\1)([0-9])(?:\1\2){2}", r"([0-9])\1([0-9])\2([0-9])\3"
    return re.compile("|".join(STEPS)), re.compile(pair), re.compile(doubles)


def find_pattern(digits: str) -> tuple[int, str] | None:
    """Return the index of the digit that completes the first pattern, and the pattern; None without patterns.

    >>> find_pattern("1234567890"), find_pattern("3838385544")
    ((4, 'it counts up or down: 12345'), (5, 'it repeats a pair: 383838'))
    """
    return min(_patterns(digits), default=None)


def _patterns(digits: str) -> Iterator[tuple[int, str]]:
    reasons = ("it counts up or down", "it repeats a pair", "it is a chain of doubled digits")
    for pattern, reason in zip(_expressions(), reasons, strict=True):
        match = pattern.search(digits)
        if match is not None:
            yield match.end() - 1, f"{reason}: {match.group()}"
    if _has_equal_halves(digits):
        yield len(digits) - 1, "its halves are equal"
    if digits == digits[::-1]:
        yield len(digits) - 1, "it reads the same backwards"


def _has_equal_halves(digits: str) -> bool:
    return digits[: len(digits) // 2] * 2 == digits


def lower_bound(digits: int, max_run: int, max_count: int) -> int:
    """Return a lower bound of `unpatterned`, at once.

    It assumes that no number has two patterns, and that every number with a pattern obeys the digit rules.
    """
    steps = max(digits - 4, 0) * len(STEPS) * 10 ** max(digits - 5, 0)
    pairs_and_doubles = max(digits - 5, 0) * (90 + 1000) * 10 ** max(digits - 6, 0)
    halves = 10 ** (digits // 2) if digits % 2 == 0 else 0
    mirrors = 10 ** (digits - digits // 2)
    least: int = population(digits, max_run, max_count) - steps - pairs_and_doubles - halves - mirrors
    return max(least, 0)


@cache
def unpatterned(digits: int, max_run: int, max_count: int) -> int:
    """Return how many numbers of ``digits`` digits, at most `COUNTED`, break no rule and have no pattern.

    Numbers with a leading zero do not count.

    >>> 7_530_535_656 - unpatterned(10, 2, 3)
    33513624

    Cost: half a second for ten digits, a few seconds for twelve; `lower_bound` returns at once.
    """
    completions = _Completions(max_run, max_count)
    free = completions.count(_BLANK, digits, 0, pending=False)
    free += completions.count(_BLANK, digits, 0, pending=True) // perm(10)
    free += _twice_counting(digits, max_run, max_count)
    leading: int = free * 9 // 10
    return leading - _mirrored_or_halved(digits, max_run, max_count)


class _PatternState(NamedTuple):
    """The part of the digits so far that matters for the next digit.

    A digit that was used n times is represented by 2n, and by 2n + 1 while it is marked.

    last, other      the last digit, and the digit that alternates with it; -1 for none.
    run, alternated  length of the final run of the last digit, length of the final alternating sequence.
    before, now      number of adjacent doubled digits that end before the last digit, and with it.
    rest             all other digits, sorted.
    """

    last: int
    other: int
    run: int
    alternated: int
    before: int
    now: int
    rest: tuple[int, ...]


_BLANK: Final = _PatternState(-1, -1, 0, 0, 0, 0, (0,) * 10)


class _Completions:
    """Counts of the ways to continue from a state, for any actual digits."""

    def __init__(self, max_run: int, max_count: int) -> None:
        self._max_run = max_run
        self._max_count = max_count
        self._cache: dict[tuple[_PatternState, int, int, bool], int] = {}

    def count(self, state: _PatternState, left: int, inside: int, *, pending: bool) -> int:
        """Return how many ways there are to add ``left`` digits that obey the rules and complete no pattern.

        inside   how many of them, the next first, still belong to a run of digits that are all different.
        pending  whether such a run must still begin; the result is weighted, and 10! times the count of runs
                 that count up or down.
        """
        if not left:
            return int(not pending)
        key = (state, left, inside, pending)
        if key not in self._cache:
            total = sum(
                ways
                * self.count(
                    following if inside > 1 else _unmarked(following),
                    left - 1,
                    max(inside - 1, 0),
                    pending=pending,
                )
                for following, ways in self._following(state, marking=inside > 0)
            )
            if pending:
                for steps, weight in _WEIGHTS.items():
                    if steps < left:
                        share = 20 * weight * perm(10) // perm(10, steps + 1)
                        total += share * self.count(state, left, steps + 1, pending=False)
            self._cache[key] = total
        return self._cache[key]

    def _following(self, state: _PatternState, *, marking: bool) -> Iterator[tuple[_PatternState, int]]:
        """Yield the states after one more digit, each with the number of digits that lead to it."""
        last, other, run, alternated, before, now, rest = state
        if self._may(last, marking) and run < self._max_run and before < _DOUBLED:
            others = tuple(sorted((*rest, other))) if other >= 0 else rest
            yield _PatternState(_used(last, marking), -1, run + 1, 1, now, before + 1, others), 1
        if self._may(other, marking) and alternated < _ALTERNATED:
            yield _PatternState(_used(other, marking), last, 1, alternated + 1, now, 0, rest), 1
        for digit in set(rest):
            if self._may(digit, marking):
                left = list(rest)
                left.remove(digit)
                if other >= 0:
                    left.append(other)
                yield (
                    _PatternState(
                        _used(digit, marking), last, 1, 1 + (last >= 0), now, 0, tuple(sorted(left))
                    ),
                    rest.count(digit),
                )

    def _may(self, digit: int, marking: bool) -> bool:
        return digit >= 0 and digit // 2 < self._max_count and not (marking and digit % 2)


def _used(digit: int, marking: bool) -> int:
    return digit + 2 + marking


def _unmarked(state: _PatternState) -> _PatternState:
    last, other = (digit - digit % 2 if digit >= 0 else digit for digit in state[:2])
    return state._replace(
        last=last, other=other, rest=tuple(sorted(digit - digit % 2 for digit in state.rest))
    )


def _twice_counting(digits: int, max_run: int, max_count: int) -> int:
    """Return the weighted count of numbers with two marked runs, as 20 times those that begin 0, 1, ...."""
    _, pair, doubles = _expressions()
    total = 0
    for steps, more in product(_WEIGHTS, repeat=2):
        for first in range(digits - steps - more):
            for second in range(first + steps, digits - more):
                total += _WEIGHTS[steps] * _WEIGHTS[more] * sum(
                    find_violation(number, max_run, max_count) is None
                    and not pair.search(number)
                    and not doubles.search(number)
                    for number in _written(digits, (first, steps), (second, more))
                )  # fmt: skip
    return 20 * total


def _written(digits: int, first_run: tuple[int, int], second_run: tuple[int, int]) -> Iterator[str]:
    """Yield the numbers with runs at two places (index of the first digit, number of steps).

    The first run counts up from 0, the second counts up or down.
    """
    first = range(first_run[0], first_run[0] + first_run[1] + 1)
    second = range(second_run[0], second_run[0] + second_run[1] + 1)
    shared = second.start in first
    free = [index for index in range(digits) if index not in first and index not in second[1:]]
    values = [index - first.start for index in range(digits)]
    for direction in (1, -1):
        for others in product(range(10), repeat=len(free)):
            for index, digit in zip(free, others, strict=True):
                values[index] = digit
            start = first[-1] - first.start if shared else values[second.start]
            for step in range(1, len(second)):
                values[second.start + step] = start + direction * step
            yield "".join(str(digit % 10) for digit in values)


def _mirrored_or_halved(digits: int, max_run: int, max_count: int) -> int:
    """Return the count of numbers with one of these two patterns and no other pattern."""
    halves = _beginning("1", digits - digits // 2, max_run, max_count)
    numbers = {
        number
        for half in halves
        for number in (half + half[: digits // 2][::-1], half + half)
        if len(number) == digits
    }
    return 9 * sum(
        find_violation(number, max_run, max_count) is None
        and not any(pattern.search(number) for pattern in _expressions())
        for number in numbers
    )


def _beginning(start: str, digits: int, max_run: int, max_count: int) -> Iterator[str]:
    """Yield the allowed numbers that begin with ``start``.

    Their count is the same for each first digit: rules and patterns do not change if 1 is added to every
    digit.
    """
    if find_violation(start, max_run, max_count) is not None:
        return
    if len(start) == digits:
        yield start
        return
    for digit in "0123456789":
        yield from _beginning(start + digit, digits, max_run, max_count)
