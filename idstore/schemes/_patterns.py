"""Patterns in RDS/WIP numbers, and exactly how many numbers have none.

A number has a pattern if five digits count up or down (0 follows 9), a pair of different digits stands three times running, three doubled
digits stand side by side, its halves are equal, or it reads the same backwards.

Counting: all rules but the one on counting digits treat every digit alike, so for them it is enough to know how many digits were used how
often (`_Completions`). Numbers that count are taken out by inclusion and exclusion over stretches of steps, each +1 or each -1: what holds
for one stretch holds for as many different digits in any order, of which every 10!/(10-n)!/20-th counts; two stretches leave so few other
digits that they are written out. Numbers of equal halves and mirrored ones are given by their half, and written out as well.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import perm
from typing import Final, NamedTuple

from idstore.schemes._numbers import broken, population

COUNTED: Final = 12
"""Numbers of more digits are not counted here: there, three stretches of counting digits would fit in."""

_CIRCLE: Final = "0123456789" * 2
STEPS: Final = tuple(run for start in range(10) for run in (_CIRCLE[start : start + 5], _CIRCLE[start : start + 5][::-1]))
"""Five digits, each one more or each one less than the digit before it; 0 follows 9."""

_DOUBLED: Final = 2
"""Doubled digits that may stand side by side."""
_ALTERNATED: Final = 5
"""Digits that may alternate."""
_WEIGHTS: Final = {4: -1, 5: 1, 8: -1, 9: 1}
"""Of a stretch of so many steps, covered by overlapping stretches of four: those sets of them of even size less those of odd size."""


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What finds counting digits, repeated pairs, doubled digits; few namespaces refuse them."""
    pair, doubles = r"([0-9])(?!\1)([0-9])(?:\1\2){2}", r"([0-9])\1([0-9])\2([0-9])\3"
    return re.compile("|".join(STEPS)), re.compile(pair), re.compile(doubles)


def patterned(digits: str) -> tuple[int, str] | None:
    """Index of the digit that completes the first pattern, and which; None for a number without patterns.

    >>> patterned("1234567890"), patterned("3838385544")
    ((4, 'it counts up or down: 12345'), (5, 'it repeats a pair: 383838'))
    """
    return min(_patterns(digits), default=None)


def _patterns(digits: str) -> Iterator[tuple[int, str]]:
    said = ("it counts up or down", "it repeats a pair", "it is a chain of doubled digits")
    for pattern, what in zip(_expressions(), said, strict=True):
        found = pattern.search(digits)
        if found is not None:
            yield found.end() - 1, f"{what}: {found.group()}"
    if _halved(digits):
        yield len(digits) - 1, "its halves are equal"
    if digits == digits[::-1]:
        yield len(digits) - 1, "it reads the same backwards"


def _halved(digits: str) -> bool:
    return digits[: len(digits) // 2] * 2 == digits


def fewest(digits: int, max_run: int, max_count: int) -> int:
    """A number that `unpatterned` is not below, found at once: as if no number had two patterns, and every number with one obeyed the rules."""
    steps = max(digits - 4, 0) * len(STEPS) * 10 ** max(digits - 5, 0)
    pairs_and_doubles = max(digits - 5, 0) * (90 + 1000) * 10 ** max(digits - 6, 0)
    halves = 10 ** (digits // 2) if digits % 2 == 0 else 0
    mirrors = 10 ** (digits - digits // 2)
    least: int = population(digits, max_run, max_count) - steps - pairs_and_doubles - halves - mirrors
    return max(least, 0)


@cache
def unpatterned(digits: int, max_run: int, max_count: int) -> int:
    """How many numbers of at most `COUNTED` digits, without a leading zero, are neither broken nor `patterned`.

    >>> 7_530_535_656 - unpatterned(10, 2, 3)
    33513624

    Cost: half a second for ten digits, a few for twelve; `fewest` answers at once.
    """
    completions = _Completions(max_run, max_count)
    free = completions.count(_BLANK, digits, 0, pending=False)
    free += completions.count(_BLANK, digits, 0, pending=True) // perm(10)
    free += _twice_counting(digits, max_run, max_count)
    leading: int = free * 9 // 10
    return leading - _mirrored_or_halved(digits, max_run, max_count)


class _State(NamedTuple):
    """What of the digits so far matters for the next; digits that were used so often, twice that and one more while they are marked.

    last, other      the last digit, and the one it alternates with; -1 if there is none.
    run, alternated  how often the last digit stands at the end, how long digits alternate there.
    before, now      doubled digits side by side that end before the last digit, and with it.
    rest             all other digits, sorted.
    """

    last: int
    other: int
    run: int
    alternated: int
    before: int
    now: int
    rest: tuple[int, ...]


_BLANK: Final = _State(-1, -1, 0, 0, 0, 0, (0,) * 10)


class _Completions:
    """How many ways there are to go on, whichever digits those so far are."""

    def __init__(self, max_run: int, max_count: int) -> None:
        self._max_run = max_run
        self._max_count = max_count
        self._known: dict[tuple[_State, int, int, bool], int] = {}

    def count(self, state: _State, left: int, inside: int, *, pending: bool) -> int:
        """The ways to add ``left`` digits that obey the rules, repeat no pair and double no three.

        inside   how many of them, the next first, still belong to a stretch of digits that are all different.
        pending  whether one such stretch is to begin somewhere; counted by its weight, and 10! times as often as it counts up or down.
        """
        if not left:
            return int(not pending)
        key = (state, left, inside, pending)
        if key not in self._known:
            found = sum(
                ways * self.count(following if inside > 1 else _unmarked(following), left - 1, max(inside - 1, 0), pending=pending)
                for following, ways in self._following(state, marking=inside > 0)
            )
            if pending:
                for steps, weight in _WEIGHTS.items():
                    if steps < left:
                        share = 20 * weight * perm(10) // perm(10, steps + 1)
                        found += share * self.count(state, left, steps + 1, pending=False)
            self._known[key] = found
        return self._known[key]

    def _following(self, state: _State, *, marking: bool) -> Iterator[tuple[_State, int]]:
        """The states that one more digit leads to, and how many digits lead to each."""
        last, other, run, alternated, before, now, rest = state
        if self._may(last, marking) and run < self._max_run and before < _DOUBLED:
            others = tuple(sorted((*rest, other))) if other >= 0 else rest
            yield _State(_used(last, marking), -1, run + 1, 1, now, before + 1, others), 1
        if self._may(other, marking) and alternated < _ALTERNATED:
            yield _State(_used(other, marking), last, 1, alternated + 1, now, 0, rest), 1
        for digit in set(rest):
            if self._may(digit, marking):
                left = list(rest)
                left.remove(digit)
                if other >= 0:
                    left.append(other)
                yield _State(_used(digit, marking), last, 1, 1 + (last >= 0), now, 0, tuple(sorted(left))), rest.count(digit)

    def _may(self, digit: int, marking: bool) -> bool:
        return digit >= 0 and digit // 2 < self._max_count and not (marking and digit % 2)


def _used(digit: int, marking: bool) -> int:
    return digit + 2 + marking


def _unmarked(state: _State) -> _State:
    last, other = (digit - digit % 2 if digit >= 0 else digit for digit in state[:2])
    return state._replace(last=last, other=other, rest=tuple(sorted(digit - digit % 2 for digit in state.rest)))


def _twice_counting(digits: int, max_run: int, max_count: int) -> int:
    """The numbers with two stretches of steps marked, by their weights: those that begin with 0 upwards, 20 times."""
    _, pair, doubles = _expressions()
    found = 0
    for one, other in product(_WEIGHTS, repeat=2):
        for first in range(digits - one - other):
            for second in range(first + one, digits - other):
                found += _WEIGHTS[one] * _WEIGHTS[other] * sum(
                    broken(number, max_run, max_count) is None and not pair.search(number) and not doubles.search(number)
                    for number in _written(digits, (first, one), (second, other))
                )  # fmt: skip
    return 20 * found


def _written(digits: int, one: tuple[int, int], other: tuple[int, int]) -> Iterator[str]:
    """The numbers with steps at two places (index of the first digit, steps): the first upwards from 0, the second either way."""
    first, second = range(one[0], one[0] + one[1] + 1), range(other[0], other[0] + other[1] + 1)
    shared = second.start in first
    free = [index for index in range(digits) if index not in first and index not in second[1:]]
    made = [index - first.start for index in range(digits)]
    for direction in (1, -1):
        for others in product(range(10), repeat=len(free)):
            for index, digit in zip(free, others, strict=True):
                made[index] = digit
            start = first[-1] - first.start if shared else made[second.start]
            for step in range(1, len(second)):
                made[second.start + step] = start + direction * step
            yield "".join(str(digit % 10) for digit in made)


def _mirrored_or_halved(digits: int, max_run: int, max_count: int) -> int:
    """The numbers that have one of these two patterns, and no other."""
    halves = _beginning("1", digits - digits // 2, max_run, max_count)
    numbers = {number for half in halves for number in (half + half[: digits // 2][::-1], half + half) if len(number) == digits}
    return 9 * sum(
        broken(number, max_run, max_count) is None and not any(pattern.search(number) for pattern in _expressions()) for number in numbers
    )


def _beginning(start: str, digits: int, max_run: int, max_count: int) -> Iterator[str]:
    """The allowed numbers that begin with ``start``.

    There are as many for each first digit: neither rules nor patterns change when 1 is added to every digit.
    """
    if broken(start, max_run, max_count) is not None:
        return
    if len(start) == digits:
        yield start
        return
    for digit in "0123456789":
        yield from _beginning(start + digit, digits, max_run, max_count)
