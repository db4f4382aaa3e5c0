"""RDS/WIP: settings, counts, positions, drawing and growing."""

import random
from collections import Counter
from itertools import islice, pairwise, product
from pathlib import Path

import pytest

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Context, rdswip
from idstore.schemes._numbers import find_violation, population
from idstore.schemes._patterns import find_pattern, lower_bound, unpatterned
from idstore.schemes.rdswip import SCHEME
from idstore.testing import SimulatedAllocation

BASE = "http://rdl.example.org/data#"


def context(**settings: str) -> Context:
    return SCHEME.context(BASE, settings)


def obeys(number: str, max_run: int, max_count: int) -> bool:
    """Return whether a number obeys the rules, in other words than the scheme's code."""
    return all(
        digit * (max_run + 1) not in number and number.count(digit) <= max_count for digit in set(number)
    )


def has_pattern(number: str) -> bool:
    """Return whether a number has a pattern, position by position, in other words than the scheme's code."""
    steps = [(int(after) - int(before)) % 10 for before, after in pairwise(number)]
    counting = any(steps[i : i + 4] in ([1] * 4, [9] * 4) for i in range(len(steps)))
    pair = any(
        number[i : i + 2] * 3 == number[i : i + 6] and number[i] != number[i + 1]
        for i in range(len(number) - 5)
    )
    doubled = any(all(number[j] == number[j + 1] for j in (i, i + 2, i + 4)) for i in range(len(number) - 5))
    halves = len(number) % 2 == 0 and number[: len(number) // 2] == number[len(number) // 2 :]
    return counting or pair or doubled or halves or list(number) == list(reversed(number))


@pytest.mark.parametrize(
    ("digits", "max_run", "max_count"), list(product((1, 2, 3, 4, 5), (1, 2, 3), (1, 2, 3, 5)))
)
def test_populations_match_enumeration(digits: int, max_run: int, max_count: int) -> None:
    every = map(str, range(10 ** (digits - 1), 10**digits))
    assert population(digits, max_run, max_count) == sum(
        obeys(number, max_run, max_count) for number in every
    )


@pytest.mark.parametrize(
    ("digits", "max_run", "max_count", "there_are"),
    [
        (6, 2, 3, 862_407),
        (10, 2, 3, 7_530_535_656),
        (11, 2, 3, 70_395_816_960),
        (11, 2, 4, 81_440_552_520),
        (31, 2, 3, 0),
    ],
)
def test_published_populations(digits: int, max_run: int, max_count: int, there_are: int) -> None:
    assert population(digits, max_run, max_count) == there_are


@pytest.mark.parametrize(
    ("digits", "max_run", "max_count"),
    [*product((1, 2, 3, 4, 5), (1, 2, 3, 5), (1, 2, 3, 5)), (6, 2, 3), (6, 6, 6)],
)
def test_unpatterned_populations_match_enumeration(digits: int, max_run: int, max_count: int) -> None:
    every = map(
        str, range(10 ** (digits - 1), 2 * 10 ** (digits - 1))
    )  # rules and patterns are invariant under adding 1 to every digit
    there_are = 9 * sum(obeys(number, max_run, max_count) and not has_pattern(number) for number in every)
    assert unpatterned(digits, max_run, max_count) == there_are
    assert lower_bound(digits, max_run, max_count) <= there_are


@pytest.mark.parametrize(("digits", "excluded", "remaining"), [(10, 33_513_624, 7_497_022_032)])
def test_published_counts_of_excluded_numbers(digits: int, excluded: int, remaining: int) -> None:
    assert unpatterned(digits, 2, 3) == remaining
    assert population(digits, 2, 3) - remaining == excluded


@pytest.mark.slow
@pytest.mark.parametrize(("digits", "max_run", "max_count"), [(7, 7, 7), (7, 2, 3)])
def test_longer_unpatterned_populations_match_enumeration(digits: int, max_run: int, max_count: int) -> None:
    every = map(str, range(10 ** (digits - 1), 2 * 10 ** (digits - 1)))
    there_are = 9 * sum(obeys(number, max_run, max_count) and not has_pattern(number) for number in every)
    assert unpatterned(digits, max_run, max_count) == there_are


@pytest.mark.slow
@pytest.mark.parametrize(("digits", "max_run", "max_count"), [(11, 2, 4), (12, 2, 3), (12, 12, 12)])
def test_populations_beyond_enumeration_match_the_share_in_a_sample(
    digits: int, max_run: int, max_count: int
) -> None:
    """The share of patterned numbers in a seeded sample of 100,000 matches the counts.

    The tolerance is 5 standard deviations.
    """
    generator = random.Random(2009)
    obeying = (
        str(number) for number in iter(lambda: generator.randrange(10 ** (digits - 1), 10**digits), None)
    )
    sample = islice((number for number in obeying if obeys(number, max_run, max_count)), 100_000)
    share = 1 - unpatterned(digits, max_run, max_count) / population(digits, max_run, max_count)
    assert abs(sum(map(has_pattern, sample)) - 100_000 * share) < 5 * (100_000 * share) ** 0.5


@pytest.mark.parametrize("digits", range(6, 12))
def test_the_quick_count_is_never_too_high(digits: int) -> None:
    assert 0.99 < lower_bound(digits, 2, 3) / unpatterned(digits, 2, 3) < 1


def test_code_and_oracle_agree() -> None:
    for number in map(str, range(100_000, 100_000_000, 3_001)):
        assert (find_violation(number, 2, 3) is None) == obeys(number, 2, 3), number
        assert (find_pattern(number) is None) == (not has_pattern(number)), number


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("X123", 0),
        ("R", 1),
        ("R0123456789", 1),
        ("R12345a789", 6),
        ("R1222", 4),
        ("R1222x", 4),
        ("R122x2", 4),
        ("R1213141", 7),
        ("R123456789", 10),
        ("R3732211754\n", 11),
        ("R" + "9876543210" * 3 + "1", 31),
        (f"{BASE}R1222", len(BASE) + 4),
        ("http://example.org/data#R3732211754", 0),
    ],
)
def test_errors_state_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        SCHEME.label(text, context())
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("number", "position"),
    [
        ("R1234567890", 5),
        ("R5432109876", 5),
        ("R8901246371", 5),
        ("R3838385544", 6),
        ("R7112233968", 7),
        ("R1324513245", 10),
        ("R1352772531", 10),
    ],
)
def test_patterns_can_be_refused(number: str, position: int) -> None:
    assert SCHEME.label(number, context()) == number
    with pytest.raises(InvalidIdentifier) as caught:
        SCHEME.label(number, context(refuse_patterns="true"))
    assert caught.value.position == position


def test_an_iri_needs_an_absolute_base() -> None:
    with pytest.raises(InvalidIdentifier, match="absolute") as caught:
        rdswip.parse("data#R3732211754")
    assert caught.value.position == 0


@pytest.mark.parametrize(
    "base", ["http://rdl.example.org/data", "http://rdl.example.org/data/", "data#", "#", "http://a b#", ""]
)
def test_bases_end_in_a_hash(base: str) -> None:
    with pytest.raises(InvalidData, match=r"http://rdl\.example\.org/data#"):
        SCHEME.context(base, {})


@pytest.mark.parametrize(
    ("settings", "stored"),
    [
        ({}, "10 2 3 false"),
        ({"profile": "rdlfacade"}, "11 2 4 false"),
        ({"profile": "rdlfacade", "max_count": "3"}, "11 2 3 false"),
        ({"digits": "06", "refuse_patterns": "true"}, "6 2 3 true"),
    ],
)
def test_settings(settings: dict[str, str], stored: str) -> None:
    assert " ".join(context(**settings).settings.values()) == stored


@pytest.mark.parametrize(
    "settings",
    [
        {"digits": "0"},
        {"digits": "31"},
        {"digits": "ten"},
        {"digits": "-1"},
        {"max_run": ""},
        {"max_count": "1e1"},
        {"refuse_patterns": "yes"},
        {"profile": "seed"},
        {"digits": "11", "max_count": "1"},
        {"digits": "1", "refuse_patterns": "true"},
        {"digits": "13", "refuse_patterns": "true"},
        {"length": "10"},
    ],
)
def test_settings_that_are_refused_are_named(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidData) as caught:
        context(**settings)
    assert caught.value.fields["setting"] in {*settings, "digits"}


def test_drawing_is_uniform() -> None:
    drawn = Counter(islice(SCHEME.candidates(SimulatedAllocation(context(digits="1"))), 900))
    assert set(drawn) == {f"R{digit}" for digit in range(1, 10)}
    assert all(50 < times < 150 for times in drawn.values())


@pytest.mark.parametrize(
    ("counts", "digits"),
    [
        ({}, 10),
        ({"10": 6_024_428_524}, 10),
        ({"10": 6_024_428_525}, 11),
        ({"10": 7_530_535_656, "11": 56_316_653_568}, 12),
    ],
)
def test_a_namespace_grows_when_it_is_80_percent_full(counts: dict[str, int], digits: int) -> None:
    label = next(SCHEME.candidates(SimulatedAllocation(context(), counts=counts)))
    assert SCHEME.series(label, context()) == (str(digits), 0)


def test_a_tiny_namespace_grows_when_all_its_numbers_are_taken() -> None:
    taken: set[str] = set()
    tiny = context(digits="1")
    for _ in range(60):
        counts = Counter(SCHEME.series(label, tiny)[0] for label in taken)
        taken.add(
            next(
                label
                for label in SCHEME.candidates(SimulatedAllocation(tiny, counts=counts))
                if label not in taken
            )
        )
    assert Counter(len(label) - 1 for label in taken) == {1: 8, 2: 52}


def test_taken_numbers_that_are_not_counted_are_skipped() -> None:
    drawn = SCHEME.candidates(SimulatedAllocation(context(digits="1")))
    assert next(label for label in drawn if len(label) > 2)


def test_growth_ends_when_free_numbers_get_rare() -> None:
    full = {str(digits): 10**digits for digits in range(1, 31)}
    with pytest.raises(NamespaceExhausted, match="another base"):
        next(SCHEME.candidates(SimulatedAllocation(context(), counts=full)))


@pytest.mark.parametrize(("issued", "digits"), [(5_997_617_625, 10), (5_997_617_626, 11)])
def test_growth_without_patterns_is_exact(issued: int, digits: int) -> None:
    """80 % of 7,497,022,032 are 5,997,617,625.6."""
    tidy = context(refuse_patterns="true")
    label = next(SCHEME.candidates(SimulatedAllocation(tidy, counts={"10": issued})))
    assert SCHEME.series(label, tidy) == (str(digits), 0)


def test_growth_without_patterns_ends_beyond_the_known_counts() -> None:
    full = {str(digits): 10**digits for digits in range(1, 13)}
    with pytest.raises(NamespaceExhausted, match="another base"):
        next(SCHEME.candidates(SimulatedAllocation(context(refuse_patterns="true"), counts=full)))


@pytest.mark.realdata
def test_identifiers_of_the_deployed_service_are_valid(real_data: Path) -> None:
    facade = context(profile="rdlfacade")
    refused = {}
    issued = (real_data / "rdswip_real_ids.txt").read_text(encoding="utf-8").split()
    for identifier in issued:
        try:
            assert SCHEME.label(identifier, facade) == identifier
        except InvalidIdentifier as error:
            refused[identifier] = error.position
    assert len(issued) == 5635
    assert refused == {"R6569332477": 11, "R3732211754": 11, "R3847624234": 11, "R52054275777": 11}
    assert [SCHEME.label(identifier, context()) for identifier in list(refused) if len(identifier) == 11]
