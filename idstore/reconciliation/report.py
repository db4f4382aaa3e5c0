"""A reconciliation and what can be printed of it: lines for people, JSON."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from idstore.exchange.mappings import Columns
from idstore.model.party import Party
from idstore.reconciliation import findings, sides
from idstore.reconciliation.claims import Claim, Link
from idstore.reconciliation.kinds import KINDS, Finding, Kind, Weakest
from idstore.reconciliation.sides import Side
from idstore.reconciliation.workspace import Progress, Workspace
from idstore.stores import scratch
from idstore.vocabulary import MAPPING_PREFIXES

Json = dict[str, object]


@dataclass(slots=True)
class Reconciliation:
    """What the sides say, ready to be looked through.

    sides  what is compared, in the order given.
    """

    sides: Sequence[Side]
    workspace: Workspace

    def findings(self) -> Iterator[Finding]:
        """Everything that is found, in an order that only the sides decide."""
        return findings.find(self.workspace, self.sides)

    def names(self, numbers: Iterable[int]) -> list[str]:
        """What sides are called."""
        return [self.sides[number].name for number in numbers]


@contextmanager
def reconcile(
    names: Sequence[str],
    party: Party,
    *,
    format: str | None = None,
    columns: Columns = Columns(),
    wait: float = 10.0,
    progress: Progress = lambda _: None,
) -> Iterator[Reconciliation]:
    """Read registries and mapping files, to be compared while the block runs.

    names     folders of stores, files of RDF (what ``export`` writes, or any other), tables of mappings; of stores what the party may see.
    format    of the files whose names do not tell it.
    columns   how tables are to be understood.
    wait      seconds to wait for a busy store.
    progress  is told now and then what is being done; what it raises ends the comparison.

    Raises StoreUnavailable, ExchangeError. Cost: each side is read once; memory is flat but for what is bound by relations of identity.
    """
    with scratch.folder() as folder, closing(Workspace(folder, progress)) as workspace:
        yield Reconciliation(sides.read(workspace, names, party, format, columns, wait), workspace)


# for people

SHOWN: Final = 10
"""Findings of each kind that are listed for people."""


def lines(found: Reconciliation, tally: Counter[str], shown: int = SHOWN) -> Iterator[str]:
    """A heading for each kind, its first findings, and how many there are; ``tally`` counts them by kind."""
    for kind, some in by_kind(found.findings(), tally, shown):
        yield f"{kind.title}: {tally[kind.slug]}"
        for finding in some:
            yield from _lines(found, finding)
        if tally[kind.slug] > len(some):
            yield f"  and {tally[kind.slug] - len(some)} more; --json lists all"
    yield from () if tally else ["nothing to reconcile"]


def by_kind(found: Iterable[Finding], tally: Counter[str], most: int) -> Iterator[tuple[Kind, list[Finding]]]:
    """The first findings of each kind that has any; ``tally`` counts all of them."""
    some: dict[str, list[Finding]] = {}
    for finding in found:
        tally[finding.kind.slug] += 1
        if tally[finding.kind.slug] <= most:
            some.setdefault(finding.kind.slug, []).append(finding)
    return ((kind, some[kind.slug]) for kind in KINDS if kind.slug in some)


def _lines(found: Reconciliation, finding: Finding) -> Iterator[str]:
    name = found.workspace.name_of(finding.about)
    lacking = f" (not in {', '.join(found.names(finding.missing))})" if finding.missing else ""
    yield f"  {finding.about}{f' “{name}”' if name else ''}{f': {finding.reason}' if finding.reason else ''}{lacking}"
    for name, said in finding.values.items():
        yield from (f"    {name}: {' · '.join(values)} ({found.sides[side].name})" for side, values in said.items())
    for claim in finding.claims[:SHOWN]:
        yield f"    {short(claim.relation)} {claim.subject} → {claim.target} ({', '.join(_sources(found, claim))})"
    if (more := len(finding.claims[SHOWN:]) + finding.more) > 0:
        yield f"    and {more} more"
    for number, link in enumerate(finding.weakest[:SHOWN]):
        yield f"    {'weak' if number else 'weakest'} link: {link.claim.subject} → {link.claim.target}, which joins {joined(link)}"


def joined(link: Weakest) -> str:
    """The pairs of identifiers that a weak link joins, in words."""
    more = link.joins - len(link.pairs)
    return ", ".join(" and ".join(pair) for pair in link.pairs) + (f", and {more} more pairs" if more else "")


def _sources(found: Reconciliation, claim: Claim) -> Iterator[str]:
    for side, link in claim.said:
        share = None if link.confidence is None else f"{link.confidence:g}"
        yield " ".join(filter(None, (found.sides[side].name, link.by or link.author, share and f"confidence {share}")))


def short(iri: str) -> str:
    """An IRI with a well-known prefix."""
    return next((f"{prefix}:{iri[len(space) :]}" for prefix, space in MAPPING_PREFIXES.items() if iri.startswith(space)), iri)


# for programs


def json(found: Reconciliation, finding: Finding) -> Json:
    """A finding as JSON; of what does not concern its kind nothing."""
    made: Json = {
        "kind": finding.kind.slug,
        "conflict": finding.kind.conflict,
        "about": finding.about,
        "name": found.workspace.name_of(finding.about),
        "reason": finding.reason,
        "values": {name: {found.sides[side].name: [*values] for side, values in said.items()} for name, said in finding.values.items()},
        "claims": [_claim_json(found, claim) for claim in finding.claims],
        "missing": found.names(finding.missing),
        "weakest": [
            {
                "id": link.claim.subject,
                "relation": link.claim.relation,
                "target": link.claim.target,
                "joins": [*map(list, link.pairs)],
                "pairs": link.joins,
            }
            for link in finding.weakest
        ],
        "more": finding.more,
    }
    return {key: value for key, value in made.items() if key == "conflict" or value not in ("", [], {}, 0)}


def _claim_json(found: Reconciliation, claim: Claim) -> Json:
    return {
        "id": claim.subject,
        "relation": claim.relation,
        "target": claim.target,
        "said": [{"in": found.sides[side].name, **_said(link)} for side, link in claim.said],
    }


def _said(link: Link) -> Json:
    made = {
        "by": link.by,
        "at": link.at,
        "note": link.note,
        "confidence": link.confidence,
        "justification": link.justification,
        "author": link.author,
        "line": link.line,
    }
    return {key: value for key, value in made.items() if value is not None}
