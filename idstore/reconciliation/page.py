"""Findings as one HTML page for a curator's decisions; the page is self-contained and needs no network."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

from idstore.exchange.mappings import RELATIONS
from idstore.reconciliation.claims import SharedStatement
from idstore.reconciliation.decisions import HEADING, TITLES
from idstore.reconciliation.diagrams import diagram
from idstore.reconciliation.kinds import (
    CHAIN,
    CLUSTER,
    JOINED,
    LACKING,
    MALFORMED,
    FindingKind,
    ReconciliationFinding,
)
from idstore.reconciliation.labels import short
from idstore.reconciliation.relations import TARGET
from idstore.reconciliation.report import Reconciliation, by_kind, joined

MOST: Final = 2_000
"""Most findings of each kind that a page shows."""
_SHOWN: Final = 100
"""Most statements and weak links of a finding that a page shows."""
_INSTEAD: Final = tuple(
    (RELATIONS[name], f"{name} instead")
    for name in ("closeMatch", "broadMatch", "narrowMatch", "relatedMatch")
)
_UNBIND, _TAKE_OVER = ("unbind", "unbind"), ("bind", "take over")
_CHOICES: Final = {
    True: (("keep", "keep"), _UNBIND, *_INSTEAD, _TAKE_OVER),
    False: (_TAKE_OVER, ("keep", "leave"), _UNBIND, *_INSTEAD),
}
"""Decisions on a claim, by whether it is questioned or only lacking on a side. Both lists have the same
decisions, since one claim may be both. An IRI is the relation to bind by instead."""


def page(result: Reconciliation, tally: Counter[str]) -> str:
    """Return the page with the first `MOST` findings of each kind; ``tally`` counts all.

    Memory: the findings shown.
    """
    kinds = list(by_kind(result.listed(tally), tally, MOST))
    sections = "\n".join(_section(result, kind, findings, tally[kind.slug]) for kind, findings in kinds)
    names = [side.name for side in result.sides]
    return _template().substitute(
        sides=escape(" and ".join(names)),
        described=escape(_described(result)),
        contents="\n".join(
            f'<li><a href="#{kind.slug}">{escape(kind.title)}: {tally[kind.slug]}</a></li>'
            for kind, _ in kinds
        ),
        sections=sections or "<p>There is nothing to reconcile.</p>",
        heading=HEADING,
        titles=json.dumps(TITLES),
        digest=hashlib.sha256(repr(names).encode()).hexdigest()[:16],
    )


def _template() -> Template:
    return Template(files("idstore.reconciliation").joinpath("page.html").read_text(encoding="utf-8"))


def _described(result: Reconciliation) -> str:
    sides = [f"{side.name} ({'registry' if side.registry else 'mappings'})" for side in result.sides]
    remedy = "Decide, save the decisions, and give the file to idstore reconcile --accept."
    return f"Compared: {', '.join(sides)}. {remedy}"


def _section(
    result: Reconciliation, kind: FindingKind, findings: Sequence[ReconciliationFinding], total: int
) -> str:
    head = f'<section id="{kind.slug}"><h2>{escape(kind.title)} <small>({total})</small></h2>'
    if kind is CLUSTER and not result.clusters:
        counted = "They are counted only; <code>idstore reconcile --clusters</code> lists them."
        return f"{head}<p>{counted}</p></section>"
    rest = ""
    if hidden := total - len(findings):
        rest = f"<p>{hidden} more are not shown; <code>idstore reconcile --json</code> lists all.</p>"
    heads = "".join(
        f'<th scope="col"><button type="button">{title}</button></th>'
        for title in ("About", "Statements", "Sides")
    )
    rows = "\n".join(_row(result, finding) for finding in findings)
    return f"{head}<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>{rest}</section>"


def _row(result: Reconciliation, finding: ReconciliationFinding) -> str:
    weak = {link.claim.key for link in finding.weakest}
    claims = "".join(
        _claim(result, finding.kind, claim, claim.key in weak) for claim in finding.claims[:_SHOWN]
    )
    drawing = diagram(finding, result.name) if finding.kind in (JOINED, CLUSTER) else ""
    details = "".join(f"<li><span></span><span>{text}</span></li>" for text in _details(result, finding))
    where = ", ".join(_where(result, finding))
    return (
        f'<tr><td class="about" data-sort="{escape(finding.about)}">{_label(result, finding.about)}</td>'
        f'<td data-sort="{len(finding.claims) + len(finding.values)}">{_decision(result, finding)}{drawing}'
        f'<ul class="claims">{details}{claims}</ul></td>'
        f'<td data-sort="{escape(where)}">{escape(where)}</td></tr>'
    )


def _decision(result: Reconciliation, finding: ReconciliationFinding) -> str:
    """Return what to decide about a finding; with the doubtful link, if it has one."""
    doubtful = result.doubtful(finding)
    link = f": {_arrow(result, doubtful.claim)}" if doubtful else ""
    return f'<p class="decide">{escape(result.decision(finding))}{link}</p>'


def _details(result: Reconciliation, finding: ReconciliationFinding) -> Iterator[str]:
    """Yield the details beside the claims: different values, a reason, the pairs that a cluster joins."""
    for name, by_side in finding.values.items():
        for side, values in by_side.items():
            source = f"<span class='said'>{escape(result.sides[side].name)}</span>"
            yield f"{escape(name)}: <b>{escape(' · '.join(values))}</b> {source}"
    if finding.reason:
        yield escape(finding.reason)
    doubtful = result.doubtful(finding)
    for link in finding.weakest[:_SHOWN]:
        also = (
            "the doubtful link" if link is doubtful else f"also doubtful: {_arrow(result, link.claim)}, which"
        )
        yield f"{also} joins {joined(link, partial(_label, result))}"
    if (more := len(finding.claims[_SHOWN:]) + finding.more) > 0:
        yield f"{more} more statements are not shown"


def _where(result: Reconciliation, finding: ReconciliationFinding) -> Iterable[str]:
    if finding.kind is LACKING:
        return (f"not in {name}" for name in result.names(finding.missing))
    return result.names(
        sorted(
            {side for claim in finding.claims for side in claim.sides}
            | {side for by_side in finding.values.values() for side in by_side}
        )
    )


def _claim(result: Reconciliation, kind: FindingKind, claim: SharedStatement, weak: bool) -> str:
    sources = "; ".join(_sources(result, claim))
    undecidable = kind in (MALFORMED, CHAIN) or claim.relation == TARGET
    chooser = "" if undecidable else _chooser(result, claim, questioned=kind is not LACKING)
    ends = _label(result, claim.subject), _label(result, claim.target)
    statement = f" {escape(short(claim.relation))} ".join(ends)
    return (
        f"<li{' class=weak' if weak else ''}><span>{chooser}</span><span>{statement}"
        f'<br><span class="said">{escape(sources)}</span></span></li>'
    )


def _chooser(result: Reconciliation, claim: SharedStatement, *, questioned: bool) -> str:
    options = "".join(f'<option value="{value}">{label}</option>' for value, label in _CHOICES[questioned])
    fields = {"id": claim.subject, "relation": claim.relation, "target": claim.target, **_metadata(claim)}
    fields |= {"name": result.name(claim.subject), "target-name": result.name(claim.target)}
    fields["short"] = short(claim.relation)
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in fields.items() if value)
    label = escape(f"Decision about {claim.subject} and {claim.target}")
    return f'<select aria-label="{label}" {data}><option value="">undecided</option>{options}</select>'


def _metadata(claim: SharedStatement) -> dict[str, str]:
    """Return the metadata to take over with a statement: those of its first occurrence."""
    _, link = claim.occurrences[0]
    share = None if link.confidence is None else f"{link.confidence:g}"
    fields = {
        "confidence": share,
        "justification": link.justification,
        "author": link.author,
        "note": link.note,
    }
    return {name: value for name, value in fields.items() if value}


def _sources(result: Reconciliation, claim: SharedStatement) -> Iterator[str]:
    for side, link in claim.occurrences:
        share = None if link.confidence is None else f"confidence {link.confidence:g}"
        line = None if link.line is None else f"line {link.line}"
        yield ", ".join(
            filter(
                None,
                (
                    result.sides[side].name,
                    line,
                    link.by or link.author,
                    link.at,
                    share,
                    link.justification,
                    link.note,
                ),
            )
        )


def _label(result: Reconciliation, text: str) -> str:
    """Return an identifier or target with its name beside it."""
    name = result.name(text)
    return _link(text) + (f' <span class="name">“{escape(name)}”</span>' if name else "")


def _arrow(result: Reconciliation, claim: SharedStatement) -> str:
    return f"{_label(result, claim.subject)} → {_label(result, claim.target)}"


def _link(text: str) -> str:
    shown = escape(text)
    return (
        f'<a href="{shown}" rel="noreferrer">{shown}</a>'
        if text.startswith(("http://", "https://"))
        else shown
    )
