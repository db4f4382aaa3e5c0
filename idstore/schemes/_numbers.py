"""The digit rules of RDS/WIP numbers, and how many numbers obey them."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

_CIRCLE: Final = "0123456789" * 2
STEPS: Final = tuple(run for start in range(10) for run in (_CIRCLE[start : start + 5], _CIRCLE[start : start + 5][::-1]))
"""Five digits, each one more or each one less than the digit before it; 0 follows 9."""

_STEP: Final = re.compile("|".join(STEPS))
_PAIR: Final = re.compile(r"([0-9])(?!\1)([0-9])(?:\1\2){2}")
_DOUBLES: Final = re.compile(r"([0-9])\1([0-9])\2([0-9])\3")
_ENUMERATED: Final = 6


def broken(digits: str, max_run: int, max_count: int) -> tuple[int, str] | None:
    """Index of the first digit that stands there too often, and why; None for a number that obeys both rules.

    >>> broken("3732211754", 2, 3), broken("1222", 2, 3)
    (None, (3, 'the digit 2 stands there more than 2 times in a row'))
    """
    seen: dict[str, int] = {}
    last, run = "", 0
    for index, digit in enumerate(digits):
        run = run + 1 if digit == last else 1
        seen[digit] = seen.get(digit, 0) + 1
        if run > max_run:
            return index, f"the digit {digit} stands there more than {_times(max_run)} in a row"
        if seen[digit] > max_count:
            return index, f"the digit {digit} stands there more than {_times(max_count)}"
        last = digit
    return None


def patterned(digits: str) -> tuple[int, str] | None:
    """Index of the digit that completes the first pattern, and which; None for a number without patterns.

    Patterns are five steps up or down, a pair of different digits three times running, three doubled digits side by side, two equal halves,
    and mirrored digits.

    >>> patterned("1234567890"), patterned("3838385544")
    ((4, 'it counts up or down: 12345'), (5, 'it repeats a pair: 383838'))
    """
    return min(_patterns(digits), default=None)


def _patterns(digits: str) -> Iterator[tuple[int, str]]:
    for pattern, what in ((_STEP, "it counts up or down"), (_PAIR, "it repeats a pair"), (_DOUBLES, "it is a chain of doubled digits")):
        found = pattern.search(digits)
        if found is not None:
            yield found.end() - 1, f"{what}: {found.group()}"
    half = len(digits) // 2
    if digits[:half] * 2 == digits:
        yield len(digits) - 1, "its halves are equal"
    if digits == digits[::-1]:
        yield len(digits) - 1, "it reads the same backwards"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@cache
def population(digits: int, max_run: int, max_count: int) -> int:
    """How many numbers of so many digits, without a leading zero, are not `broken`.

    Digits are interchangeable, so it is enough to know, besides the last digit's count and run, how many of the other nine digits were used
    how often. The wiki's own figure for six digits, and those for ten and eleven:

    >>> population(6, 2, 3), population(10, 2, 3), population(11, 2, 3)
    (862407, 7530535656, 70395816960)
    """
    states: dict[tuple[tuple[int, ...], int, int], int] = Counter({((9, *[0] * max_count), 1, 1): 9})
    for _ in range(digits - 1):
        following: dict[tuple[tuple[int, ...], int, int], int] = Counter()
        for (others, count, run), ways in states.items():
            if count < max_count and run < max_run:
                following[others, count + 1, run + 1] += ways
            for used, how_many in enumerate(others[:-1]):
                if how_many:
                    swapped = list(others)
                    swapped[used] -= 1
                    swapped[count] += 1
                    following[tuple(swapped), used + 1, 1] += ways * how_many
        states = following
    return sum(states.values())


@cache
def unpatterned(digits: int, max_run: int, max_count: int) -> int:
    """How many of them are not `patterned` either: exact up to six digits, an estimate for longer numbers.

    The estimate takes the share of patterned numbers as if no number had two patterns. It is 0.2 % too low for ten digits (the exact
    figure is 7,497,022,032), so that a namespace grows a little before it is 80 % full, not after.
    """
    if digits <= _ENUMERATED:
        return 9 * sum(patterned(number) is None for number in _beginning("1", digits, max_run, max_count))
    steps = (digits - 4) * len(STEPS) * 10 ** (digits - 5)
    pairs_and_doubles = (digits - 5) * (90 + 1000) * 10 ** (digits - 6)
    halves = 10 ** (digits // 2) if digits % 2 == 0 else 0
    mirrors = 10 ** (digits - digits // 2)
    free = 10**digits - steps - pairs_and_doubles - halves - mirrors
    share: int = population(digits, max_run, max_count) * free // 10**digits
    return share


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
