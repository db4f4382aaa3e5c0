"""How far a label follows PILIN's guidelines on the form of labels. They are advice: no rule of a scheme, and nothing is refused for them.

Source: PILIN, Form of Labels, version 1.0, 2007-12-07, section 4. Its headings are followed; the figures are idstore's own, but for the size of
the space, which the Handle Suffix Format Policy asks for.

>>> from idstore.schemes import scheme
>>> [one.rule for one in advise("Old Label(1)", scheme("handle")) if not one.follows]
['4.1', '4.2', '4.6', '4.7']
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from idstore.frozen import dataclass
from idstore.schemes import Generating, Scheme

LONGEST: Final = 12
"""Characters that can be dictated in one breath."""
SPACE: Final = 10**9
"""Things that a scheme of arbitrary labels is to have room for."""

_UNSAFE: Final = re.compile("[^A-Za-z0-9._~-]")
_PUNCTUATION: Final = re.compile("[^A-Za-z0-9]")
_CONFUSABLE: Final = re.compile("[OoIl]")


@dataclass(frozen=True, slots=True)
class Advice:
    """What a guideline says of a label; ``why`` is empty where there is nothing to say."""

    rule: str
    guideline: str
    follows: bool
    why: str = ""


def advise(label: str, scheme: Scheme, settings: Mapping[str, str] | None = None) -> list[Advice]:
    """The guidelines on a label, in their order; those on how arbitrary labels are made only where the scheme makes them."""
    made = [*_on_writing(label), *_on_making(scheme, settings or scheme.defaults)]
    return sorted(made, key=lambda one: one.rule)


def _on_writing(label: str) -> Iterator[Advice]:
    yield _without("4.1", "safe in addresses", _UNSAFE, label)
    yield _without("4.2", "no punctuation", _PUNCTUATION, label)
    variant = unicodedata.normalize("NFKC", label)
    yield Advice("4.3", "no variant forms", variant == label, "" if variant == label else f"it can also be written {variant!r}")
    short = len(label) <= LONGEST
    yield Advice("4.4", "short", short, "" if short else f"it has {len(label)} characters, more than {LONGEST}")
    uncased = label in (label.upper(), label.lower())
    yield Advice("4.6", "no difference between upper and lower case", uncased, "" if uncased else "it mixes both")
    yield _without("4.7", "no characters that are taken for others", _CONFUSABLE, label)


def _on_making(scheme: Scheme, settings: Mapping[str, str]) -> Iterator[Advice]:
    if isinstance(scheme, Generating):
        space = scheme.space(settings)
        yield Advice("4.5", "a space that is large enough", space >= SPACE, f"{space:,} labels")
        yield Advice("4.8", "arbitrary labels all of one length", follows=True, why="as long as any are left")
        yield Advice("4.9", "collisions are avoided when labels are made", follows=True, why="no label is issued twice")


def _without(rule: str, guideline: str, unwanted: re.Pattern[str], label: str) -> Advice:
    found = unwanted.search(label)
    return Advice(rule, guideline, found is None, "" if found is None else f"{found.group()!r} at position {found.start()}")
