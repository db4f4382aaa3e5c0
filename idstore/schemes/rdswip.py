"""RDS/WIP identifiers: opaque names for reference data, drawn at random and never chosen.

``R`` and ten digits under a base IRI that ends in ``#``, without a leading zero, with no digit three times in
a row or more than three times. When a namespace is 80 % full, new identifiers get one more digit.
Source: POSC Caesar Association, RDS/WIP Identifier Generator,
https://www.posccaesar.org/wiki/RdsWipIdGenerator, version 12.

>>> parse("R3732211754")
RdsWipIdentifier(base='', digits='3732211754')
>>> str(parse("http://rdl.rdlfacade.org/data#R6569332477"))
'http://rdl.rdlfacade.org/data#R6569332477'
>>> parse("R1000000000")
Traceback (most recent call last):
idstore.errors.InvalidIdentifier: ... the digit 0 occurs more than 2 times in a row (at position 4)
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Address, Allocation, Context, Rule, Scheme, WrittenForm
from idstore.schemes._base import NO_MAPPING, SchemeBase, refuse_metadata
from idstore.schemes._numbers import find_violation, population
from idstore.schemes._patterns import COUNTED, STEPS, find_pattern, lower_bound, unpatterned
from idstore.schemes._text import Excerpt, check_base
from idstore.schemes.settings import choice, flag, number, with_defaults
from idstore.vocabulary import IDS

NAME: Final = "rdswip"
LONGEST: Final = 30
"""Maximum number of digits: no longer number has each digit at most three times."""

PROFILES: Final[Mapping[str, Mapping[str, str]]] = {
    "rdlfacade": {"digits": "11", "max_run": "2", "max_count": "4"}
}
"""Named groups of settings. ``rdlfacade`` are those of the deployed service, as 5,635 of its identifiers
show."""

_TRIES: Final = 1024
"""Draws that may hit taken numbers before a digit is added: below 80 % this happens in one of 10^99
namespaces."""
_SPARSE: Final = 10_000
"""Rejection sampling is used only if at least one of so many numbers obeys the rules."""


@dataclass(frozen=True, slots=True, order=True)
class RdsWipIdentifier:
    """A label in a base; ``base`` is empty for a bare label."""

    base: str
    digits: str

    def __str__(self) -> str:
        return f"{self.base}R{self.digits}"


def parse(text: str) -> RdsWipIdentifier:
    """Read an identifier: a full IRI, or ``R`` and digits. Raises InvalidIdentifier."""
    length = text.find("#") + 1
    if length:
        try:
            check_base(text[:length], "#", "http://rdl.example.org/data#")
        except InvalidData as error:
            raise InvalidIdentifier(text, "the part before the R is not an absolute IRI", 0, NAME) from error
    return RdsWipIdentifier(
        text[:length], _digits(Excerpt(text, text[length:], length, NAME), _Digits.of(SCHEME.defaults))
    )


@dataclass(frozen=True, slots=True)
class _Digits:
    """The settings in parsed form."""

    digits: int
    max_run: int
    max_count: int
    refuse_patterns: bool

    @staticmethod
    def of(settings: Mapping[str, str]) -> "_Digits":
        return _read(
            settings["digits"], settings["max_run"], settings["max_count"], settings["refuse_patterns"]
        )

    def violation(self, digits: str) -> tuple[int, str] | None:
        """Return index and reason of the first violation of the rules, or None."""
        violation = find_violation(digits, self.max_run, self.max_count)
        return find_pattern(digits) if violation is None and self.refuse_patterns else violation

    @property
    def longest(self) -> int:
        """Maximum number of digits to mint.

        Growth requires a count, which with patterns ends at `COUNTED`.
        """
        return COUNTED if self.refuse_patterns else LONGEST

    def has_room(self, digits: int, issued: int = 0) -> bool:
        """Whether numbers of so many digits are frequent enough to draw, and less than 80 % are issued."""
        if digits > self.longest:
            return False
        # the lower bound is faster, and never above the exact count
        counts = (lower_bound, unpatterned) if self.refuse_patterns else (population,)
        return any(_has_room(count(digits, self.max_run, self.max_count), digits, issued) for count in counts)


@lru_cache
def _read(digits: str, max_run: str, max_count: str, refuse_patterns: str) -> _Digits:
    return _Digits(int(digits), int(max_run), int(max_count), refuse_patterns == "true")


def _has_room(population: int, digits: int, issued: int) -> bool:
    return population * _SPARSE >= 9 * 10 ** (digits - 1) and 100 * issued < 80 * population


class RdsWip(SchemeBase):
    """See `Scheme`.

    Settings: ``digits``, ``max_run``, ``max_count``, ``refuse_patterns``; ``profile`` sets the first three.
    """

    name = NAME
    title = "RDS/WIP identifiers of reference data (POSC Caesar Association)"
    identifier_class = IDS.RdsWipIdentifier.value
    defaults: Mapping[str, str] = MappingProxyType(
        {"digits": "10", "max_run": "2", "max_count": "3", "refuse_patterns": "false"}
    )
    profiles = PROFILES
    chosen = False
    bulk = False
    example = "R3732211754"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        check_base(base, "#", "http://rdl.example.org/data#")
        profile: Mapping[str, str] = {}
        if "profile" in settings:
            profile = PROFILES[choice(settings, "profile", *PROFILES)]
        chosen = {**profile, **settings}
        chosen.pop("profile", None)
        full = with_defaults(self.defaults, chosen, also=["profile"])
        for name in ("digits", "max_run", "max_count"):
            full[name] = number(full, name, 1, LONGEST)
        full["refuse_patterns"] = flag(full, "refuse_patterns")
        wanted = _Digits.of(full)
        if wanted.digits > wanted.longest:
            reason = (
                f"numbers without patterns have at most {COUNTED} digits, because longer ones are not counted"
            )
            remedy = f"set digits={COUNTED} or fewer, or refuse_patterns=false"
            raise InvalidData(f"{reason}; {remedy}", setting="digits")
        if not wanted.has_room(wanted.digits):
            raise InvalidData(
                f"hardly any number of {full['digits']} digits obeys max_run={full['max_run']},"
                f" max_count={full['max_count']} and refuse_patterns={full['refuse_patterns']};"
                " choose other digits or higher limits",
                setting="digits",
            )
        return Context(base, full)

    def parse(self, text: str) -> RdsWipIdentifier:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        if text.startswith(context.base):
            excerpt = Excerpt(text, text[len(context.base) :], len(context.base), NAME)
        elif "#" in text:
            raise InvalidIdentifier(text, f"its base is not {context.base}", 0, NAME)
        else:
            excerpt = Excerpt(text, text, 0, NAME)
        return "R" + _digits(excerpt, _Digits.of(context.settings))

    def address(self, text: str) -> Address | None:
        """See `Addressed`."""
        length = text.find("#") + 1
        return Address(text[:length] or text) if length or ":" in text else None

    def uniform(self, context: Context) -> bool:  # noqa: ARG002 - the same for all namespaces
        """See `Uniform`."""
        return True

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        return WrittenForm("uri", self.iri(label, context)), WrittenForm("bare", label)

    def series(self, label: str, context: Context) -> tuple[str, int]:  # noqa: ARG002 - the length suffices
        """See `Scheme`: each number of digits is a series."""
        return str(len(label) - 1), 0

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        wanted = _Digits.of(settings)
        rest = f"[0-9]{{{wanted.digits - 1},{LONGEST - 1}}}"
        runs = "|".join(f"{digit}{{{wanted.max_run + 1}}}" for digit in range(10))
        counts = "|".join(f"({digit}[^{digit}]*){{{wanted.max_count + 1}}}" for digit in range(10))
        rules = (
            Rule(
                "characters",
                "Characters",
                "An identifier is R and digits.",
                ("[^0-9R]",),
                forbidden=True,
                fixed=True,
            ),
            Rule(
                "form",
                "Form",
                f"After R there are {wanted.digits} digits or more, the first not 0.",
                (f"^R[1-9]{rest}$",),
            ),
            Rule(
                "run",
                "Equal digits in a row",
                f"No digit stands more than {wanted.max_run} times in a row.",
                (runs,),
                forbidden=True,
            ),
            Rule(
                "count",
                "Equal digits",
                f"No digit stands there more than {wanted.max_count} times.",
                (counts,),
                forbidden=True,
            ),
        )
        return (*rules, *_pattern_rules()) if wanted.refuse_patterns else rules

    def space(self, settings: Mapping[str, str]) -> int:
        """See `Generating`."""
        wanted = _Digits.of(settings)
        count = unpatterned if wanted.refuse_patterns else population
        size: int = count(wanted.digits, wanted.max_run, wanted.max_count)
        return size

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: uniform draws from the numbers that obey the rules."""
        refuse_metadata(allocation, principle=NO_MAPPING)
        wanted = _Digits.of(allocation.context.settings)
        for digits in range(wanted.digits, wanted.longest + 1):
            if wanted.has_room(digits, allocation.issued(str(digits))):
                for _ in range(_TRIES):
                    yield f"R{_draw(digits, wanted)}"
        base = allocation.context.base
        raise NamespaceExhausted(
            f"{base} is full up to the maximum number of digits; use another base", base=base
        )


def _digits(excerpt: Excerpt, wanted: _Digits) -> str:
    """Return the digits of a label. Raises InvalidIdentifier."""
    text = excerpt.text
    if not text.startswith("R"):
        raise excerpt.error("it does not begin with R" if text else "it is empty; write R and digits", 0)
    if text[1:2] == "0":
        raise excerpt.error("the number begins with 0", 1)
    foreign = re.search("[^0-9]", text[1:])
    end = min(1 + foreign.start() if foreign else len(text), 1 + LONGEST)
    digits = text[1:end]
    violation = find_violation(digits, wanted.max_run, wanted.max_count)
    if violation is not None:
        raise excerpt.error(violation[1], 1 + violation[0])
    if end < len(text):
        raise excerpt.error(
            f"it has more than {LONGEST} digits" if end > LONGEST else f"{text[end]!r} is not a digit", end
        )
    violation = find_pattern(digits) if wanted.refuse_patterns else None
    if violation is not None:
        raise excerpt.error(violation[1], 1 + violation[0])
    if len(digits) < wanted.digits:
        raise excerpt.error(f"it has {len(digits)} digits, and {wanted.digits} or more are needed", end)
    return digits


def _draw(digits: int, wanted: _Digits) -> str:
    """Return a number of so many digits, uniformly among those that obey the rules."""
    lowest = 10 ** (digits - 1)
    while wanted.violation(drawn := str(lowest + secrets.randbelow(9 * lowest))) is not None:
        pass
    return drawn


def _pattern_rules() -> Iterator[Rule]:
    """Yield the rules of ``refuse_patterns``.

    Equal halves and mirrored digits are a conjunction of one pattern for each pair of positions.
    """
    doubles = "|".join(f"{digit}{digit}" for digit in range(10))
    pairs = "|".join(
        f"({first}{second}){{3}}" for first in range(10) for second in range(10) if first != second
    )
    message = "The number has a pattern: "
    yield Rule(
        "steps",
        "Counting digits",
        message + "it counts up or down over five digits.",
        ("|".join(STEPS),),
        forbidden=True,
    )
    yield Rule(
        "pairs",
        "Repeated pairs",
        message + "it repeats a pair of digits three times.",
        (pairs,),
        forbidden=True,
    )
    yield Rule(
        "doubles",
        "Doubled digits",
        message + "three doubled digits side by side.",
        (f"({doubles}){{3}}",),
        forbidden=True,
    )
    ends = _equal("[0-9]*")
    mirrored = tuple(
        f"^R([0-9]{{1,{2 * place + 1}}}|[0-9]{{{place}}}({ends})[0-9]{{{place}}})$"
        for place in range(LONGEST // 2)
    )
    yield Rule(
        "mirror", "Mirrored digits", message + "it reads the same backwards.", mirrored, forbidden=True
    )
    for half in range(1, LONGEST // 2 + 1):
        between = _equal(f"[0-9]{{{half - 1}}}")
        equal = tuple(f"^R[0-9]{{{place}}}({between})[0-9]{{{half - 1 - place}}}$" for place in range(half))
        yield Rule(
            f"halves-{2 * half}",
            f"Equal halves of {2 * half} digits",
            message + "its halves are equal.",
            equal,
            forbidden=True,
        )


def _equal(between: str) -> str:
    return "|".join(f"{digit}{between}{digit}" for digit in range(10))


SCHEME: Final[Scheme] = RdsWip()
