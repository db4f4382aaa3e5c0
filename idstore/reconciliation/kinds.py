"""Kinds of findings, and the finding itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from idstore.reconciliation.claims import SharedStatement


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind of finding.

    slug      its name for programs.
    title     its name for people.
    advice    the advice for a curator.
    conflict  whether statements are contradictory or broken; otherwise the finding is a difference or a
              notice.
    """

    slug: str
    title: str
    advice: str
    conflict: bool = True


DIFFERENT: Final = FindingKind(
    "different-statements", "One identifier, different statements", "Ask its owner which one holds."
)
RELATED: Final = FindingKind(
    "different-relations",
    "Two identifiers, related differently",
    "The sides agree that the two are related; decide how, and unbind the rest.",
)
DENIED: Final = FindingKind(
    "denied", "What one side states and another denies", "Ask both; unbind it if it does not hold."
)
SEVERAL: Final = FindingKind(
    "several-targets",
    "One identifier bound to several targets of one kind",
    "Keep the binding that is right and unbind the others, or bind them by skos:relatedMatch instead.",
)
CLAIMED: Final = FindingKind(
    "claimed-twice",
    "One target claimed by several identifiers",
    "Decide which identifier denotes it; the others may be broader, narrower, or duplicates.",
)
CIRCLE: Final = FindingKind(
    "circle", "Bindings that lead in a circle", "One of them is wrong, or all of them name one thing."
)
JOINED: Final = FindingKind(
    "joined",
    "Equivalents that join identifiers of one namespace",
    "Check the weakest link first: without it the two are separate.",
)
RELEASED: Final = FindingKind(
    "released", "Bindings of or to identifiers that were given up", "Unbind them, or bind their successors."
)
SUPERSEDED: Final = FindingKind(
    "superseded", "Bindings of or to superseded identifiers", "Bind the successor."
)
UNKNOWN: Final = FindingKind(
    "unknown",
    "Bindings of or to identifiers that their registry does not hold, or not for you to see",
    "Look for a misspelling.",
)
MALFORMED: Final = FindingKind("malformed", "Lines that could not be understood", "Correct the file.")
CHAIN: Final = FindingKind(
    "chain",
    "Bindings that lead on to other bindings",
    "Nothing is wrong; the ends are not bound to each other.",
    conflict=False,
)
CLUSTER: Final = FindingKind(
    "cluster",
    "Equivalents that hang together",
    "Nothing is wrong; see whether all of them mean the same.",
    conflict=False,
)
SIMILAR: Final = FindingKind(
    "probably-same",
    "Targets whose addresses most servers take for one",
    "Write one of them everywhere, if they are one; here they count as different.",
    conflict=False,
)
LACKING: Final = FindingKind(
    "lacking", "What one side has and another lacks", "Take over what is right.", conflict=False
)

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
    SIMILAR,
    LACKING,
)
"""All kinds, in the order of a report."""
HARMLESS: Final = frozenset({CHAIN.slug, CLUSTER.slug, SIMILAR.slug})
"""Kinds of findings that occur even if all sides agree."""


MOST: Final = 1_000
"""Most statements, weakest links and pairs in one finding, so that its size is bounded."""


@dataclass(frozen=True, slots=True)
class Weakest:
    """A link that joins identifiers of one namespace in a cluster.

    pairs  the first pairs of identifiers that it joins.
    joins  the number of pairs.
    """

    claim: SharedStatement
    pairs: tuple[tuple[str, str], ...]
    joins: int


@dataclass(frozen=True, slots=True)
class ReconciliationFinding:
    """A contradiction, a difference or a notice, for a curator.

    about    the identifier or target concerned.
    claims   the first `MOST` statements concerned; ``more`` is the number of the others.
    values   different values: property → side → values.
    missing  sides that lack the identifier or statement.
    weakest  the weakest links of a cluster, the weakest first; `MOST` at most.
    reason   more about it: the error of a line, the successors of an identifier, the line of a denial.
    """

    kind: FindingKind
    about: str
    claims: tuple[SharedStatement, ...] = ()
    values: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    weakest: tuple[Weakest, ...] = ()
    reason: str = ""
    more: int = 0


def limited(claims: Iterable[SharedStatement]) -> tuple[tuple[SharedStatement, ...], int]:
    """Return the first `MOST` claims, and the number of the others. Memory: the first ones."""
    remaining = iter(claims)
    return tuple(islice(remaining, MOST)), sum(1 for _ in remaining)
