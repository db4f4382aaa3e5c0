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
    decision  what a curator decides about such a finding, or that nothing has to be decided.
    conflict  whether statements are contradictory or broken; otherwise the finding is a difference or a
              notice.
    """

    slug: str
    title: str
    decision: str
    conflict: bool = True


DIFFERENT: Final = FindingKind(
    "different-statements",
    "One identifier, different statements",
    "The sides say different things of this identifier; ask its owner which one holds.",
)
RELATED: Final = FindingKind(
    "different-relations",
    "Two identifiers, related differently",
    "The sides relate these two in different ways; keep the relation that is right, and unbind the others.",
)
DENIED: Final = FindingKind(
    "denied",
    "What one side states and another denies",
    "One side states this and another denies it; unbind it if it does not hold.",
)
SEVERAL: Final = FindingKind(
    "several-targets",
    "One identifier bound to several targets of one kind",
    "One identifier ends up meaning several things; keep the right one, and unbind the others, or weaken them"
    " to skos:relatedMatch.",
)
CLAIMED: Final = FindingKind(
    "claimed-twice",
    "One target claimed by several identifiers",
    "Several identifiers end up meaning one thing; keep the right one, and unbind the others, or weaken them"
    " to skos:relatedMatch.",
)
CIRCLE: Final = FindingKind(
    "circle",
    "Bindings that lead in a circle",
    "These bindings lead back to their beginning; all of them name one thing, or one is wrong: unbind it.",
)
JOINED: Final = FindingKind(
    "joined",
    "Equivalents that join identifiers of one namespace",
    "Two identifiers of one list end up meaning the same thing; this is the doubtful link",
)
RELEASED: Final = FindingKind(
    "released",
    "Bindings of or to identifiers that were given up",
    "This identifier was given up; unbind it, or bind its successor.",
)
SUPERSEDED: Final = FindingKind(
    "superseded",
    "Bindings of or to superseded identifiers",
    "This identifier was replaced; bind its successor instead.",
)
UNKNOWN: Final = FindingKind(
    "unknown",
    "Bindings of or to identifiers that their registry does not hold, or not for you to see",
    "No registry here holds this identifier, or you may not see it; look for a misspelling.",
)
MALFORMED: Final = FindingKind(
    "malformed", "Lines that could not be understood", "This line was passed over; correct the file."
)
CHAIN: Final = FindingKind(
    "chain",
    "Bindings that lead on to other bindings",
    "These bindings lead on to others; nothing is wrong, and nothing has to be decided.",
    conflict=False,
)
CLUSTER: Final = FindingKind(
    "cluster",
    "Equivalents that hang together",
    "All of these mean the same thing, if each link is right; nothing is known to be wrong.",
    conflict=False,
)
SIMILAR: Final = FindingKind(
    "probably-same",
    "Targets whose addresses most servers take for one",
    "These differ only in how they are written; write one of them everywhere, if they are one.",
    conflict=False,
)
LACKING: Final = FindingKind(
    "lacking",
    "What one side has and another lacks",
    "Take it over where it is lacking, or leave it.",
    conflict=False,
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

    @property
    def identifiers(self) -> list[str]:
        """The identifiers and other ends that the finding is about, without repetition."""
        claims = [*self.claims, *(link.claim for link in self.weakest)]
        ends = [end for claim in claims for end in (claim.subject, claim.target)]
        pairs = [end for link in self.weakest for pair in link.pairs for end in pair]
        return [*dict.fromkeys((self.about, *ends, *pairs))]


def limited(claims: Iterable[SharedStatement]) -> tuple[tuple[SharedStatement, ...], int]:
    """Return the first `MOST` claims, and the number of the others. Memory: the first ones."""
    remaining = iter(claims)
    return tuple(islice(remaining, MOST)), sum(1 for _ in remaining)
