"""What is found when registries are compared: one function for each kind."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final

from idstore.reconciliation import clusters, kinds, paths
from idstore.reconciliation.kinds import Finding
from idstore.reconciliation.sides import GIVEN_UP, IDENTITY, Side
from idstore.reconciliation.workspace import STATED, Claim, Workspace

_IDENTITY: Final = "relation IN (SELECT id FROM term WHERE text IN (?, ?, ?))"


def find(workspace: Workspace, sides: Sequence[Side]) -> Iterator[Finding]:
    """Everything that is found, kind by kind as `kinds.KINDS` has them, each kind in the order of the identifiers."""
    registries = [number for number, side in enumerate(sides) if side.registry]
    yield from _different(workspace)
    yield from _crowded(workspace, kinds.SEVERAL, "subject", "target")
    yield from _crowded(workspace, kinds.CLAIMED, "target", "subject")
    leading = list(_leading(workspace))
    yield from (finding for finding in leading if finding.kind is kinds.CIRCLE)
    for claims, weakest in clusters.joining(workspace):
        yield Finding(kinds.JOINED, claims[0].subject, claims, weakest=weakest)
    if registries:
        yield from _astray(workspace, registries)
    for side, line, reason in workspace.rows("SELECT side, line, reason FROM refused ORDER BY 1, 2"):
        yield Finding(kinds.MALFORMED, f"{sides[side].name}, line {line}", reason=reason)
    yield from (finding for finding in leading if finding.kind is kinds.CHAIN)
    yield from _lacking(workspace, registries, len(sides))


def _different(workspace: Workspace) -> Iterator[Finding]:
    """Properties of which the sides that state them say different things, and stages."""
    differing = (
        "SELECT text, property, side, value FROM fact JOIN term USING (id) WHERE (id, property) IN (SELECT id, property FROM fact"
        " GROUP BY id, property HAVING COUNT(DISTINCT side) > 1 AND COUNT(*) <> COUNT(DISTINCT side) * COUNT(DISTINCT value))"
        " UNION ALL SELECT text, 'stage', side, stage FROM record JOIN term USING (id) WHERE stage <> ? AND id IN (SELECT id FROM record"
        " WHERE stage <> ? GROUP BY id HAVING COUNT(DISTINCT stage) > 1) ORDER BY 1, 2, 3, 4"
    )
    for about, rows in groupby(workspace.rows(differing, (STATED, STATED)), key=lambda row: str(row[0])):
        values: dict[str, dict[int, tuple[str, ...]]] = {}
        for _, name, side, value in rows:
            said = values.setdefault(name, {})
            said[side] = (*said.get(side, ()), value)
        yield Finding(kinds.DIFFERENT, about, values=values)


def _crowded(workspace: Workspace, kind: kinds.Kind, one: str, many: str) -> Iterator[Finding]:
    """Ends of links of identity that have more than one other end of one kind."""
    query = (
        f"SELECT {one}, k FROM (SELECT DISTINCT {one}, {many}, m.kind AS k FROM link JOIN term m ON m.id = {many} WHERE {_IDENTITY} AND m.kind <> m.id)"
        f" JOIN term o ON o.id = {one} JOIN term g ON g.id = k GROUP BY {one}, k HAVING COUNT(*) > 1 ORDER BY o.text, g.text"
    )
    for end, of in workspace.rows(query, IDENTITY):
        claims = tuple(workspace.claims(f"{one} = ? AND {many[0]}.kind = ? AND {_IDENTITY}", (end, of, *IDENTITY)))
        yield Finding(kind, getattr(claims[0], one), claims)


def _leading(workspace: Workspace) -> Iterator[Finding]:
    """Links of identity whose target has such links itself."""
    between = f"SELECT target FROM link WHERE {_IDENTITY} INTERSECT SELECT subject FROM link WHERE {_IDENTITY}"
    pairs = workspace.rows(
        f"SELECT DISTINCT subject, target FROM link WHERE {_IDENTITY} AND (subject IN ({between}) OR target IN ({between}))", IDENTITY * 5
    )
    edges = paths.directed((one, other) for one, other in pairs)
    rounds = list(paths.circles(edges))
    links = [[(one, other) for one in found for other in edges[one] if other in found] for found in rounds]
    of = partial(_claims, workspace)
    for kind, found in ((kinds.CIRCLE, links), (kinds.CHAIN, paths.chains(edges, frozenset().union(*rounds)))):
        claims = (of(pairs) for pairs in found)
        yield from sorted((Finding(kind, made[0].subject, made) for made in claims), key=attrgetter("about"))


def _claims(workspace: Workspace, pairs: Sequence[tuple[int, int]]) -> tuple[Claim, ...]:
    return tuple(claim for pair in pairs for claim in workspace.claims(f"subject = ? AND target = ? AND {_IDENTITY}", (*pair, *IDENTITY)))


def _astray(workspace: Workspace, registries: Sequence[int]) -> Iterator[Finding]:
    """Ends of links that the registry of their namespace has given up, has superseded, or does not hold."""
    holders = ",".join(map(str, registries))
    bases = ",".join("?" * len(workspace.bases))
    held = f"SELECT id FROM record WHERE stage <> '{STATED}' AND side IN ({holders})"
    gone = f"SELECT id FROM record WHERE stage IN ('{GIVEN_UP}', 'tombstone') AND side IN ({holders})"
    cases = (
        (kinds.RELEASED, f"id IN ({gone})", ()),
        (
            kinds.SUPERSEDED,
            f"id IN (SELECT id FROM fact WHERE property = 'replaced by' AND side IN ({holders})) AND id NOT IN ({gone})",
            (),
        ),
        (kinds.UNKNOWN, f"id NOT IN ({held}) AND kind IN (SELECT id FROM term WHERE text IN ({bases}))", tuple(workspace.bases)),
    )
    for kind, condition, values in cases:
        ends = (
            f"SELECT id, text FROM term WHERE id IN (SELECT subject FROM link UNION SELECT target FROM link) AND {condition} ORDER BY text"
        )
        for end, text in workspace.rows(ends, values):
            yield Finding(kind, text, tuple(workspace.claims("subject = ? OR target = ?", (end, end))))


def _lacking(workspace: Workspace, registries: Sequence[int], sides: int) -> Iterator[Finding]:
    """Identifiers and links that not every side has; of identifiers only registries are asked."""
    holders = ",".join(map(str, registries))
    held = (
        f"SELECT text, GROUP_CONCAT(side) FROM record JOIN term USING (id) WHERE stage <> '{STATED}' AND side IN ({holders})"
        " GROUP BY id HAVING COUNT(*) < ? ORDER BY text"
    )
    for text, sharing in workspace.rows(held, (len(registries),)):
        having = {int(side) for side in sharing.split(",")}
        yield Finding(kinds.LACKING, text, missing=tuple(side for side in registries if side not in having))
    uneven = "SELECT subject, relation, target FROM link GROUP BY 1, 2, 3 HAVING COUNT(DISTINCT side) < ?"
    for claim in workspace.claims(f"(subject, relation, target) IN ({uneven})", (sides,)):
        yield Finding(kinds.LACKING, claim.subject, (claim,), missing=tuple(side for side in range(sides) if side not in claim.sides))
