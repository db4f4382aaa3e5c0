"""The findings as one HTML page that a curator decides on: it needs no network, and holds everything it shows."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

from idstore.exchange.mappings import RELATIONS
from idstore.reconciliation.claims import Claim
from idstore.reconciliation.kinds import CHAIN, CLUSTER, JOINED, LACKING, MALFORMED, Finding, Kind
from idstore.reconciliation.pictures import picture
from idstore.reconciliation.report import Reconciliation, by_kind, joined, short

MOST: Final = 2_000
"""Findings of each kind that a page shows."""
_TOLD: Final = 100
"""Statements and weak links of a finding that a page shows, at most."""
_INSTEAD: Final = tuple((RELATIONS[name], f"{name} instead") for name in ("closeMatch", "broadMatch", "narrowMatch", "relatedMatch"))
_UNBIND, _TAKE_OVER = ("unbind", "unbind"), ("bind", "take over")
_CHOICES: Final = {
    True: (("keep", "keep"), _UNBIND, *_INSTEAD, _TAKE_OVER),
    False: (_TAKE_OVER, ("keep", "leave"), _UNBIND, *_INSTEAD),
}
"""What can be decided of a claim, by whether it is questioned, or lacking somewhere: the same, for one claim may be both.
An IRI is the relation to bind by instead."""


def page(found: Reconciliation, tally: Counter[str]) -> str:
    """The page; ``tally`` counts the findings by kind. Of each kind `MOST` are shown. Memory: what is shown."""
    shown = list(by_kind(found.findings(), tally, MOST))
    sections = "\n".join(_section(found, kind, some, tally[kind.slug]) for kind, some in shown)
    names = [side.name for side in found.sides]
    return _template().substitute(
        sides=escape(" and ".join(names)),
        described=escape(_described(found)),
        contents="\n".join(f'<li><a href="#{kind.slug}">{escape(kind.title)}: {tally[kind.slug]}</a></li>' for kind, _ in shown),
        sections=sections or "<p>There is nothing to reconcile.</p>",
        digest=hashlib.sha256(repr(names).encode()).hexdigest()[:16],
    )


def _template() -> Template:
    return Template(files("idstore.reconciliation").joinpath("page.html").read_text(encoding="utf-8"))


def _described(found: Reconciliation) -> str:
    said = [f"{side.name} ({'registry' if side.registry else 'mappings'})" for side in found.sides]
    return f"Compared: {', '.join(said)}. Decide, save the decisions, and hand them to idstore reconcile --accept."


def _section(found: Reconciliation, kind: Kind, some: Sequence[Finding], many: int) -> str:
    rest = f"<p>{many - len(some)} more are not shown; <code>idstore reconcile --json</code> lists all.</p>" if many > len(some) else ""
    heads = "".join(f'<th scope="col"><button type="button">{head}</button></th>' for head in ("About", "What is said", "Where"))
    rows = "\n".join(_row(found, finding) for finding in some)
    return (
        f'<section id="{kind.slug}"><h2>{escape(kind.title)} <small>({many})</small></h2><p>{escape(kind.advice)}</p>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>{rest}</section>"
    )


def _row(found: Reconciliation, finding: Finding) -> str:
    name = found.workspace.name_of(finding.about)
    named = f'<br><span class="name">{escape(name)}</span>' if name else ""
    weak = {link.claim.key for link in finding.weakest}
    claims = "".join(_claim(found, finding.kind, claim, claim.key in weak) for claim in finding.claims[:_TOLD])
    drawn = picture(finding) if finding.kind in (JOINED, CLUSTER) else ""
    said = "".join(f"<li><span></span><span>{text}</span></li>" for text in _told(found, finding))
    where = ", ".join(_where(found, finding))
    return (
        f'<tr><td class="about" data-sort="{escape(finding.about)}">{_link(finding.about)}{named}</td>'
        f'<td data-sort="{len(finding.claims) + len(finding.values)}">{drawn}<ul class="claims">{said}{claims}</ul></td>'
        f'<td data-sort="{escape(where)}">{escape(where)}</td></tr>'
    )


def _told(found: Reconciliation, finding: Finding) -> Iterator[str]:
    """What is said beside claims: values that differ, a reason, the pairs that a cluster joins."""
    for name, said in finding.values.items():
        for side, values in said.items():
            yield f"{escape(name)}: <b>{escape(' · '.join(values))}</b> <span class='said'>{escape(found.sides[side].name)}</span>"
    if finding.reason:
        yield escape(finding.reason)
    for number, link in enumerate(finding.weakest[:_TOLD]):
        yield f"{'another weak' if number else 'the weakest'} link, {_link(link.claim.subject)} → {_link(link.claim.target)}, joins {escape(joined(link))}"
    if (more := len(finding.claims[_TOLD:]) + finding.more) > 0:
        yield f"{more} more statements are not shown"


def _where(found: Reconciliation, finding: Finding) -> Iterable[str]:
    if finding.kind is LACKING:
        return (f"not in {name}" for name in found.names(finding.missing))
    return found.names(
        sorted({side for claim in finding.claims for side in claim.sides} | {side for said in finding.values.values() for side in said})
    )


def _claim(found: Reconciliation, kind: Kind, claim: Claim, weak: bool) -> str:
    said = "; ".join(_words(found, claim))
    chooser = "" if kind in (MALFORMED, CHAIN) else _chooser(claim, questioned=kind is not LACKING)
    return (
        f"<li{' class=weak' if weak else ''}><span>{chooser}</span><span>{_link(claim.subject)} {escape(short(claim.relation))} {_link(claim.target)}"
        f'<br><span class="said">{escape(said)}</span></span></li>'
    )


def _chooser(claim: Claim, *, questioned: bool) -> str:
    options = "".join(f'<option value="{value}">{label}</option>' for value, label in _CHOICES[questioned])
    said = {"id": claim.subject, "relation": claim.relation, "target": claim.target, **_kept(claim)}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in said.items())
    label = escape(f"Decision about {claim.subject} and {claim.target}")
    return f'<select aria-label="{label}" {data}><option value="">undecided</option>{options}</select>'


def _kept(claim: Claim) -> dict[str, str]:
    """What is taken over with a statement: what the first that says so tells of it."""
    _, link = claim.said[0]
    share = None if link.confidence is None else f"{link.confidence:g}"
    told = {"confidence": share, "justification": link.justification, "author": link.author, "note": link.note}
    return {name: value for name, value in told.items() if value}


def _words(found: Reconciliation, claim: Claim) -> Iterator[str]:
    for side, link in claim.said:
        share = None if link.confidence is None else f"confidence {link.confidence:g}"
        line = None if link.line is None else f"line {link.line}"
        yield ", ".join(filter(None, (found.sides[side].name, line, link.by or link.author, link.at, share, link.justification, link.note)))


def _link(text: str) -> str:
    shown = escape(text)
    return f'<a href="{shown}" rel="noreferrer">{shown}</a>' if text.startswith(("http://", "https://")) else shown
