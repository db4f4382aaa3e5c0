"""Pictures of clusters: a row for each member, with its whole name, and an arc for each statement.

However many members there are, no name covers another. Members that are bound to each other stand near each other.
"""

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Final

from idstore.reconciliation.claims import Claim
from idstore.reconciliation.kinds import Finding

_DRAWN: Final = 40
"""Members of a cluster that is drawn, at most."""
_ROW, _MARGIN, _NAMES, _CHARACTER = 18, 14, 10, 7.0
"""Pixels: from row to row, around everything, between a dot and its name, and what a character of a name takes, at most."""
_NAME: Final = 64
"""Characters of a name that are shown, at most: the last, which tell it from others."""
_WIDEST: Final = 170
"""Pixels that an arc goes aside, at most."""

Beside = Mapping[str, frozenset[str]]


def picture(finding: Finding) -> str:
    """The cluster as SVG: the weakest links dashed, identifiers of one namespace filled."""
    members = {end for claim in finding.claims for end in (claim.subject, claim.target)}
    if len(members) > _DRAWN:
        return f"<p>{len(members)} members are too many to be drawn.</p>"
    rows = {member: number for number, member in enumerate(in_order(_beside(finding.claims)))}
    weak = {link.claim.key for link in finding.weakest}
    twins = {one for link in finding.weakest for pair in link.pairs for one in pair}
    wide = [_aside(rows[claim.subject], rows[claim.target]) for claim in finding.claims]
    left = _MARGIN + max(wide)
    times: Counter[frozenset[str]] = Counter()
    arcs = []
    for claim in finding.claims:
        ends = frozenset((claim.subject, claim.target))
        arcs.append(_arc(left, sorted(rows[end] for end in ends), claim, claim.key in weak, 4 * times[ends]))
        times[ends] += 1
    dots = "".join(_dot(left, row, member, member in twins) for member, row in rows.items())
    width = left + _NAMES + _CHARACTER * min(_NAME, max(map(len, members))) + _MARGIN
    height = _ROW * (len(rows) - 1) + 2 * _MARGIN
    return (
        f'<svg width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img"'
        f' aria-label="Cluster of {len(members)} equivalents">{"".join(arcs)}{dots}</svg>'
    )


def _beside(claims: tuple[Claim, ...]) -> Beside:
    """Who is bound to whom."""
    made: dict[str, set[str]] = {}
    for claim in claims:
        made.setdefault(claim.subject, set()).add(claim.target)
        made.setdefault(claim.target, set()).add(claim.subject)
    return {one: frozenset(others - {one}) for one, others in made.items()}


def in_order(beside: Beside) -> list[str]:
    """The members, so that who has the most links stands amid its branches, and each branch goes on from its beginning.

    >>> in_order({"hub": frozenset("abc"), "a": frozenset(["hub"]), "b": frozenset(["hub", "x"]), "c": frozenset(["hub"]), "x": frozenset("b")})
    ['c', 'hub', 'a', 'b', 'x']
    """
    seen: set[str] = set()
    made: list[str] = []
    for start in sorted(beside, key=lambda one: (-len(beside[one]), one)):
        if start not in seen:
            seen.add(start)
            branches = [_branch(other, beside, seen) for other in _nearest(start, beside) if other not in seen]
            above: list[str] = []
            below: list[str] = []
            for branch in sorted(branches, key=len):
                side = below if len(below) <= len(above) else above
                side += branch
            made += [*reversed(above), start, *below]
    return made


def _branch(start: str, beside: Beside, seen: set[str]) -> list[str]:
    """What can be reached from here and was not seen, each behind what it was reached from."""
    made: list[str] = []
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            made.append(here)
            waiting += reversed(_nearest(here, beside))
    return made


def _nearest(one: str, beside: Beside) -> list[str]:
    """Who is bound to it: those with the fewest links first."""
    return sorted(beside[one], key=lambda other: (len(beside[other]), other))


def _aside(one: int, other: int) -> float:
    """How far the arc between two rows goes aside."""
    return min(_WIDEST, 8 + 7.0 * abs(one - other))


def _arc(left: float, rows: list[int], claim: Claim, weak: bool, more: int) -> str:
    first, last = rows[0], rows[-1]
    top, bottom = (_MARGIN + _ROW * row for row in (first, last))
    way = f"M{left:.0f} {top}A{max(4, _aside(first, last) - more):.0f} {(bottom - top) / 2:.0f} 0 0 0 {left:.0f} {bottom}"
    return f'<path d="{way}"{" class=weak" if weak else ""}><title>{escape(claim.subject)} → {escape(claim.target)}</title></path>'


def _dot(left: float, row: int, member: str, twin: bool) -> str:
    y = _MARGIN + _ROW * row
    name = member if len(member) <= _NAME else f"…{member[1 - _NAME :]}"
    return (
        f'<g><title>{escape(member)}</title><circle cx="{left:.0f}" cy="{y}" r="5" class="{"twin" if twin else "alone"}"/>'
        f'<text x="{left + _NAMES:.0f}" y="{y + 4}">{escape(name)}</text></g>'
    )
