"""The digit rules of RDS/WIP numbers, and the count of numbers that obey them."""

from collections import Counter
from functools import cache


def find_violation(digits: str, max_run: int, max_count: int) -> tuple[int, str] | None:
    """Return index and reason of the first digit that breaks a rule; None for a number that obeys both rules.

    >>> find_violation("3732211754", 2, 3), find_violation("1222", 2, 3)
    (None, (3, 'the digit 2 occurs more than 2 times in a row'))
    """
    seen: dict[str, int] = {}
    last, run = "", 0
    for index, digit in enumerate(digits):
        run = run + 1 if digit == last else 1
        seen[digit] = seen.get(digit, 0) + 1
        if run > max_run:
            return index, f"the digit {digit} occurs more than {_times(max_run)} in a row"
        if seen[digit] > max_count:
            return index, f"the digit {digit} occurs more than {_times(max_count)}"
        last = digit
    return None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@cache
def population(digits: int, max_run: int, max_count: int) -> int:
    """Return how many numbers with ``digits`` digits, without a leading zero, obey both rules.

    Digits are interchangeable, so the state consists of the last digit's count and run, and of how many of
    the other nine digits were used how often. The wiki's figure for six digits, and those for ten and eleven:

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
