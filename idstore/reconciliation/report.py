"""A reconciliation, and its reports: lines for people, JSON for programs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from idstore import scratch
from idstore.exchange.columns import Columns
from idstore.model.party import Party
from idstore.reconciliation import findings, sides
from idstore.reconciliation.claims import Link, SharedStatement
from idstore.reconciliation.kinds import (
    CLUSTER,
    KINDS,
    LACKING,
    FindingKind,
    ReconciliationFinding,
    Weakest,
)
from idstore.reconciliation.labels import Label, fitted, short
from idstore.reconciliation.sides import Side
from idstore.reconciliation.workspace import Progress, Workspace

Json = dict[str, object]


@dataclass(slots=True)
class Reconciliation:
    """The statements of the sides, ready to be searched.

    sides     the inputs, in the order of the call.
    clusters  whether reports list clusters without a contradiction, which can be many; else they count them.
    language  the language of names, where there are some in it.
    """

    sides: Sequence[Side]
    workspace: Workspace
    clusters: bool = False
    language: str = ""

    def findings(self) -> Iterator[ReconciliationFinding]:
        """Yield all findings, in an order that depends only on the sides."""
        return findings.find(self.workspace, self.sides)

    def listed(self, tally: Counter[str]) -> Iterator[ReconciliationFinding]:
        """Yield the findings that a report lists; ``tally`` counts all by kind."""
        for finding in self.findings():
            tally[finding.kind.slug] += 1
            if self.clusters or finding.kind is not CLUSTER:
                yield finding

    def names(self, numbers: Iterable[int]) -> list[str]:
        """Return the names of sides."""
        return [self.sides[number].name for number in numbers]

    def name(self, iri: str) -> str:
        """Return the name of an identifier or target, empty if no side has one. Cost: one look-up."""
        return self.workspace.name_of(iri, self.language)

    def decision(self, finding: ReconciliationFinding) -> str:
        """Return what a curator decides about a finding, in a sentence.

        That about joined identifiers ends before their link: see `doubtful`.
        """
        if finding.kind is LACKING:
            return f"Not in {', '.join(self.names(finding.missing))}: take it over there, or leave it."
        link = self.doubtful(finding)
        if link is not None and self._joins_ours(link):
            return finding.kind.decision.replace("identifiers of one list", "of our identifiers")
        return finding.kind.decision

    def doubtful(self, finding: ReconciliationFinding) -> Weakest | None:
        """Return the weakest link of joined identifiers, if possible of two that a registry holds."""
        return next(filter(self._joins_ours, finding.weakest), next(iter(finding.weakest), None))

    def _joins_ours(self, link: Weakest) -> bool:
        return any(all(map(self.workspace.holds, pair)) for pair in link.pairs)


@contextmanager
def reconcile(
    names: Sequence[str],
    party: Party,
    *,
    format: str | None = None,
    columns: Columns = Columns(),
    wait: float = 10.0,
    clusters: bool = False,
    language: str = "",
    exports: Mapping[str, Path] = MappingProxyType({}),
    progress: Progress = lambda _: None,
) -> Iterator[Reconciliation]:
    """Read registries and mapping files for a comparison while the block runs.

    names     folders of stores, RDF files (exports, or any other), tables of mappings.
    party     the party that reads the stores: only what it may see is compared.
    format    the format of files whose names imply none.
    columns   settings for the interpretation of tables.
    wait      seconds to wait for a busy store.
    clusters  whether reports list clusters without a contradiction.
    language  the language of names: see `Reconciliation`.
    exports   name → the file to read in the place of a registry: an export of it as N-Quads.
    progress  called with the current activity; an exception that it raises ends the comparison.

    Raises StoreUnavailable, ExchangeError. Cost: each side is read once. Memory: flat but for identifiers
    with relations of identity.
    """
    with scratch.folder() as folder, closing(Workspace(folder, progress)) as workspace:
        found = sides.read(workspace, names, party, format, columns, wait, exports)
        yield Reconciliation(found, workspace, clusters, language)


# for people

SHOWN: Final = 10
"""Findings of each kind that a report for people lists."""


def lines(result: Reconciliation, tally: Counter[str], shown: int = SHOWN) -> Iterator[str]:
    """Yield a heading for each kind, with the number of findings, and its first findings.

    tally  counts the findings by kind.

    The lines are cut to fit: see `labels.fitted`.
    """
    for kind, some in by_kind(result.listed(tally), tally, shown):
        yield f"{kind.title}: {tally[kind.slug]}"
        for finding in some:
            yield from fitted(partial(_lines, result, finding), result.name)
        if kind is CLUSTER and not result.clusters:
            yield "  counted only; --clusters lists them"
        elif tally[kind.slug] > len(some):
            yield f"  and {tally[kind.slug] - len(some)} more; --json lists all"
    yield from () if tally else ["nothing to reconcile"]


def by_kind(
    findings: Iterable[ReconciliationFinding], tally: Counter[str], most: int
) -> Iterator[tuple[FindingKind, list[ReconciliationFinding]]]:
    """Return each kind that was found, with its first listed findings.

    findings  see `Reconciliation.listed`, with the same tally.
    """
    some: dict[str, list[ReconciliationFinding]] = {}
    for finding in findings:
        if tally[finding.kind.slug] <= most:
            some.setdefault(finding.kind.slug, []).append(finding)
    return ((kind, some.get(kind.slug, [])) for kind in KINDS if kind.slug in tally)


def _lines(result: Reconciliation, finding: ReconciliationFinding, label: Label) -> Iterator[str]:
    yield f"  {label(finding.about)}"
    if finding.reason:
        yield f"    {finding.reason}"
    yield f"    {_decision(result, finding, label)}"
    for name, by_side in finding.values.items():
        for side, values in by_side.items():
            yield f"    {name}: {' · '.join(values)} ({result.sides[side].name})"
    for claim in finding.claims[:SHOWN]:
        sources = ", ".join(_sources(result, claim))
        yield f"    {short(claim.relation)} {_arrow(claim, label)} ({sources})"
    if (more := len(finding.claims[SHOWN:]) + finding.more) > 0:
        yield f"    and {more} more"
    doubtful = result.doubtful(finding)
    for link in finding.weakest[:SHOWN]:
        also = (
            "the doubtful link" if link is doubtful else f"also doubtful: {_arrow(link.claim, label)}, which"
        )
        yield f"    {also} joins {joined(link, label)}"


def _decision(result: Reconciliation, finding: ReconciliationFinding, label: Label) -> str:
    """Return what to decide about a finding, with the doubtful link if it has one."""
    doubtful = result.doubtful(finding)
    return result.decision(finding) + (f": {_arrow(doubtful.claim, label)}" if doubtful else "")


def _arrow(claim: SharedStatement, label: Label) -> str:
    return f"{label(claim.subject)} → {label(claim.target)}"


def joined(link: Weakest, label: Label) -> str:
    """Return the pairs of identifiers that a weak link joins, in words."""
    more = link.joins - len(link.pairs)
    pairs = ", ".join(" and ".join(map(label, pair)) for pair in link.pairs)
    return pairs + (f", and {more} more pairs" if more else "")


def _sources(result: Reconciliation, claim: SharedStatement) -> Iterator[str]:
    for side, link in claim.occurrences:
        share = None if link.confidence is None else f"{link.confidence:g}"
        yield " ".join(
            filter(
                None,
                (
                    result.sides[side].name,
                    link.by or link.author,
                    share and f"confidence {share}",
                    link.written and f"written {link.written}",
                ),
            )
        )


# for programs


def json(result: Reconciliation, finding: ReconciliationFinding) -> Json:
    """Return a finding as a JSON object, without empty fields."""
    fields: Json = {
        "kind": finding.kind.slug,
        "conflict": finding.kind.conflict,
        "about": finding.about,
        "name": result.name(finding.about),
        "decide": _decision(result, finding, str),
        "reason": finding.reason,
        "values": {
            name: {result.sides[side].name: [*values] for side, values in by_side.items()}
            for name, by_side in finding.values.items()
        },
        "claims": [_claim_json(result, claim) for claim in finding.claims],
        "missing": result.names(finding.missing),
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
        "names": {iri: name for iri in finding.identifiers if (name := result.name(iri))},
    }
    return {key: value for key, value in fields.items() if key == "conflict" or value not in ("", [], {}, 0)}


def _claim_json(result: Reconciliation, claim: SharedStatement) -> Json:
    return {
        "id": claim.subject,
        "relation": claim.relation,
        "target": claim.target,
        "said": [{"in": result.sides[side].name, **_link_json(link)} for side, link in claim.occurrences],
    }


def _link_json(link: Link) -> Json:
    fields = {
        "by": link.by,
        "at": link.at,
        "note": link.note,
        "confidence": link.confidence,
        "justification": link.justification,
        "author": link.author,
        "line": link.line,
        "written": link.written,
    }
    return {key: value for key, value in fields.items() if value is not None}
