"""Diagrams of clusters: a row with the name of each member, and an arc for each statement.

No name covers another, and members that are bound to each other are near each other.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from html import escape
from typing import Final

from idstore.reconciliation.claims import SharedStatement
from idstore.reconciliation.kinds import ReconciliationFinding

_DRAWN: Final = 40
"""Most members of a cluster that is drawn."""
_ROW, _MARGIN, _NAMES, _CHARACTER = 18, 14, 10, 7.0
"""Pixels: the height of a row, the margin, the gap between a dot and its name, the width of a character."""
_NAME: Final = 64
"""Most characters of an identifier that are shown, the last ones, since identifiers differ there; and most
characters of its name, the first ones."""
_WIDEST: Final = 170
"""Largest width of an arc in pixels."""

Neighbours = Mapping[str, frozenset[str]]


def diagram(finding: ReconciliationFinding, name_of: Callable[[str], str]) -> str:
    """Return the cluster as SVG: the weakest links dashed, identifiers of one namespace filled.

    name_of  returns the name of a member, which is beside it; empty if it has none.
    """
    members = {end for claim in finding.claims for end in (claim.subject, claim.target)}
    if len(members) > _DRAWN:
        return f"<p>{len(members)} members are too many to be drawn.</p>"
    rows = {member: number for number, member in enumerate(in_order(_neighbours(finding.claims)))}
    weak = {link.claim.key for link in finding.weakest}
    twins = {member for link in finding.weakest for pair in link.pairs for member in pair}
    widths = [_arc_width(rows[claim.subject], rows[claim.target]) for claim in finding.claims]
    left = _MARGIN + max(widths)
    times: Counter[frozenset[str]] = Counter()
    arcs = []
    for claim in finding.claims:
        ends = frozenset((claim.subject, claim.target))
        arcs.append(_arc(left, sorted(rows[end] for end in ends), claim, claim.key in weak, 4 * times[ends]))
        times[ends] += 1
    labels = {member: _label(member, name_of(member)) for member in rows}
    dots = "".join(_dot(left, row, member, labels[member], member in twins) for member, row in rows.items())
    width = left + _NAMES + _CHARACTER * max(map(len, labels.values())) + _MARGIN
    height = _ROW * (len(rows) - 1) + 2 * _MARGIN
    return (
        f'<svg width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img"'
        f' aria-label="Cluster of {len(members)} equivalents">{"".join(arcs)}{dots}</svg>'
    )


def _neighbours(claims: tuple[SharedStatement, ...]) -> Neighbours:
    """Return the members that each member is bound to."""
    sets: dict[str, set[str]] = {}
    for claim in claims:
        sets.setdefault(claim.subject, set()).add(claim.target)
        sets.setdefault(claim.target, set()).add(claim.subject)
    return {member: frozenset(others - {member}) for member, others in sets.items()}


def in_order(neighbours: Neighbours) -> list[str]:
    """Return the members in drawing order.

    The member with the most links is in the middle of its branches, and each branch leads away from it.

    >>> hub = frozenset(["hub"])
    >>> in_order({"hub": frozenset("abc"), "a": hub, "b": hub | {"x"}, "c": hub, "x": frozenset("b")})
    ['c', 'hub', 'a', 'b', 'x']
    """
    seen: set[str] = set()
    ordered: list[str] = []
    for start in sorted(neighbours, key=lambda member: (-len(neighbours[member]), member)):
        if start not in seen:
            seen.add(start)
            branches = [
                _branch(other, neighbours, seen) for other in _nearest(start, neighbours) if other not in seen
            ]
            above: list[str] = []
            below: list[str] = []
            for branch in sorted(branches, key=len):
                side = below if len(below) <= len(above) else above
                side += branch
            ordered += [*reversed(above), start, *below]
    return ordered


def _branch(start: str, neighbours: Neighbours, seen: set[str]) -> list[str]:
    """Return the unseen members that can be reached from ``start``, in depth-first order."""
    branch: list[str] = []
    stack = [start]
    while stack:
        member = stack.pop()
        if member not in seen:
            seen.add(member)
            branch.append(member)
            stack += reversed(_nearest(member, neighbours))
    return branch


def _nearest(member: str, neighbours: Neighbours) -> list[str]:
    """Return the neighbours of a member, those with the fewest links first."""
    return sorted(neighbours[member], key=lambda other: (len(neighbours[other]), other))


def _arc_width(row: int, other: int) -> float:
    """Return the width of the arc between two rows, in pixels."""
    return min(_WIDEST, 8 + 7.0 * abs(row - other))


def _arc(left: float, rows: list[int], claim: SharedStatement, weak: bool, more: int) -> str:
    first, last = rows[0], rows[-1]
    top, bottom = (_MARGIN + _ROW * row for row in (first, last))
    width, height = max(4, _arc_width(first, last) - more), (bottom - top) / 2
    path = f"M{left:.0f} {top}A{width:.0f} {height:.0f} 0 0 0 {left:.0f} {bottom}"
    title = f"{escape(claim.subject)} → {escape(claim.target)}"
    return f'<path d="{path}"{" class=weak" if weak else ""}><title>{title}</title></path>'


def _label(member: str, name: str) -> str:
    shown = member if len(member) <= _NAME else f"…{member[1 - _NAME :]}"
    cut = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f"{shown} “{cut}”" if name else shown


def _dot(left: float, row: int, member: str, label: str, twin: bool) -> str:
    y = _MARGIN + _ROW * row
    style = "twin" if twin else "alone"
    return (
        f'<g><title>{escape(member)}</title><circle cx="{left:.0f}" cy="{y}" r="5" class="{style}"/>'
        f'<text x="{left + _NAMES:.0f}" y="{y + 4}">{escape(label)}</text></g>'
    )
