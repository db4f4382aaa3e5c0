"""PILIN's guidelines on the form of labels, applied to a label.

They are advice: no scheme refuses a label for them.

Source: PILIN, Form of Labels, version 1.0, 2007-12-07, section 4, with its headings. The figures are
idstore's own, except for the size of the space, which the Handle Suffix Format Policy requires.

>>> from idstore.schemes import scheme
>>> [advice.rule for advice in advise("Old Label(1)", scheme("handle")) if not advice.follows]
['4.1', '4.2', '4.6', '4.7']
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from idstore.schemes import Generating, Scheme

LONGEST: Final = 12
"""Maximum length of a label that is easy to dictate."""
SPACE: Final = 10**9
"""Minimum number of labels of a scheme of arbitrary labels."""

_UNSAFE: Final = re.compile("[^A-Za-z0-9._~-]")
_PUNCTUATION: Final = re.compile("[^A-Za-z0-9]")
_CONFUSABLE: Final = re.compile("[OoIl]")


@dataclass(frozen=True, slots=True)
class Advice:
    """The result of a guideline for a label; ``why`` may be empty."""

    rule: str
    guideline: str
    follows: bool
    why: str = ""


def advise(label: str, scheme: Scheme, settings: Mapping[str, str] | None = None) -> list[Advice]:
    """Return the results of all guidelines, in order.

    Guidelines on generation apply to generating schemes only.
    """
    results = [*_on_writing(label), *_on_making(scheme, settings or scheme.defaults)]
    return sorted(results, key=lambda advice: advice.rule)


def _on_writing(label: str) -> Iterator[Advice]:
    yield _without("4.1", "safe in addresses", _UNSAFE, label)
    yield _without("4.2", "no punctuation", _PUNCTUATION, label)
    variant = unicodedata.normalize("NFKC", label)
    yield Advice(
        "4.3",
        "no variant forms",
        variant == label,
        "" if variant == label else f"it can also be written {variant!r}",
    )
    short = len(label) <= LONGEST
    yield Advice(
        "4.4", "short", short, "" if short else f"it has {len(label)} characters, more than {LONGEST}"
    )
    uncased = label in (label.upper(), label.lower())
    yield Advice(
        "4.6", "no difference between upper and lower case", uncased, "" if uncased else "it mixes both"
    )
    yield _without("4.7", "no characters that are taken for others", _CONFUSABLE, label)


def _on_making(scheme: Scheme, settings: Mapping[str, str]) -> Iterator[Advice]:
    if isinstance(scheme, Generating):
        space = scheme.space(settings)
        yield Advice("4.5", "a space that is large enough", space >= SPACE, f"{space:,} labels")
        yield Advice("4.8", "arbitrary labels all of one length", follows=True, why="as long as any are left")
        yield Advice(
            "4.9", "collisions are avoided when labels are made", follows=True, why="no label is issued twice"
        )


def _without(rule: str, guideline: str, unwanted: re.Pattern[str], label: str) -> Advice:
    match = unwanted.search(label)
    return Advice(
        rule,
        guideline,
        match is None,
        "" if match is None else f"{match.group()!r} at position {match.start()}",
    )
