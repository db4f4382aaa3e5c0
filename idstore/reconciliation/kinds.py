"""Kinds of findings, and what one of them carries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from idstore.reconciliation.claims import Claim


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding.

    slug      what programs call it.
    title     what people call it.
    advice    what a curator can do about it.
    conflict  whether statements contradict each other or are broken; otherwise it is a difference, or something to know.
    """

    slug: str
    title: str
    advice: str
    conflict: bool = True


DIFFERENT: Final = Kind("different-statements", "One identifier, different statements", "Ask its owner which one holds.")
RELATED: Final = Kind(
    "different-relations",
    "Two identifiers, related differently",
    "The sides agree that the two have to do with each other; decide how, and unbind the rest.",
)
DENIED: Final = Kind("denied", "What one side states and another denies", "Ask both; unbind it if it does not hold.")
SEVERAL: Final = Kind(
    "several-targets",
    "One identifier bound to several targets of one kind",
    "Keep the binding that is right and unbind the others, or bind them by skos:relatedMatch instead.",
)
CLAIMED: Final = Kind(
    "claimed-twice",
    "One target claimed by several identifiers",
    "Decide which identifier means it; the others may be broader, narrower, or duplicates.",
)
CIRCLE: Final = Kind("circle", "Bindings that lead in a circle", "One of them is wrong, or all of them name one thing.")
JOINED: Final = Kind(
    "joined", "Equivalents that join identifiers of one namespace", "Look at the weakest link first: without it the two are apart."
)
RELEASED: Final = Kind("released", "Bindings of or to identifiers that were given up", "Unbind, or bind what took their place.")
SUPERSEDED: Final = Kind("superseded", "Bindings of or to superseded identifiers", "Bind the successor.")
UNKNOWN: Final = Kind(
    "unknown", "Bindings of or to identifiers that their registry does not hold, or not for you to see", "Look for a misspelling."
)
MALFORMED: Final = Kind("malformed", "Lines that could not be understood", "Mend the file.")
CHAIN: Final = Kind(
    "chain", "Bindings that lead on to other bindings", "Nothing is wrong; the ends are not bound to each other.", conflict=False
)
CLUSTER: Final = Kind(
    "cluster", "Equivalents that hang together", "Nothing is wrong; see whether all of them mean the same.", conflict=False
)
LACKING: Final = Kind("lacking", "What one side has and another lacks", "Take over what is right.", conflict=False)

KINDS: Final = (
    DIFFERENT,
    RELATED,
    DENIED,
    SEVERAL,
    CLAIMED,
    CIRCLE,
    JOINED,
    RELEASED,
    SUPERSEDED,
    UNKNOWN,
    MALFORMED,
    CHAIN,
    CLUSTER,
    LACKING,
)
"""Every kind, in the order in which they are reported."""
HARMLESS: Final = frozenset({CHAIN.slug, CLUSTER.slug})
"""Kinds that also sides have which agree in everything."""


MOST: Final = 1_000
"""Statements, weakest links and pairs that one finding tells, at most: it stays small however many there are."""


@dataclass(frozen=True, slots=True)
class Weakest:
    """A link without which a cluster falls apart.

    pairs  the first pairs of identifiers of one namespace that it brings together.
    joins  how many there are.
    """

    claim: Claim
    pairs: tuple[tuple[str, str], ...]
    joins: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something for a curator to look at.

    about    the identifier or target that it is about.
    claims   the statements concerned, the first `MOST` of them; ``more`` says how many others there are.
    values   of different statements: property, side and what it says.
    missing  sides that lack it.
    weakest  of a cluster: its weakest links, the weakest first; `MOST` at most.
    reason   what else there is to say: what is wrong with a line, what has replaced an identifier, who denies a statement.
    """

    kind: Kind
    about: str
    claims: tuple[Claim, ...] = ()
    values: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    weakest: tuple[Weakest, ...] = ()
    reason: str = ""
    more: int = 0


def first(claims: Iterable[Claim]) -> tuple[tuple[Claim, ...], int]:
    """The first `MOST`, and how many more there are. Memory: those."""
    every = iter(claims)
    return tuple(islice(every, MOST)), sum(1 for _ in every)
