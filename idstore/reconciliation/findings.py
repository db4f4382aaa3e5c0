"""What is found when registries are compared: one function for each kind."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from idstore.reconciliation import clusters, kinds, leading
from idstore.reconciliation.kinds import Finding
from idstore.reconciliation.relations import IDENTITY, REPLACES, among
from idstore.reconciliation.sides import Side
from idstore.reconciliation.workspace import RELEASED, Workspace

_IDENTITY: Final = among(IDENTITY)


def find(workspace: Workspace, sides: Sequence[Side]) -> Iterator[Finding]:
    """Everything that is found, kind by kind as `kinds.KINDS` has them, each kind in the order of the identifiers."""
    registries = [number for number, side in enumerate(sides) if side.registry]
    yield from _different(workspace)
    yield from _related(workspace)
    yield from _denied(workspace, sides)
    workspace.progress("looking for contradictions")
    yield from _crowded(workspace, kinds.SEVERAL, "subject", "target")
    yield from _crowded(workspace, kinds.CLAIMED, "target", "subject")
    workspace.progress("looking for chains and circles")
    ways = leading.Ways(workspace)
    yield from ways.circles()
    workspace.progress("looking for clusters")
    hanging = clusters.Clusters(workspace)
    yield from hanging.joining()
    workspace.progress("looking for what is gone or unknown")
    yield from _released(workspace)
    yield from _superseded(workspace)
    yield from _unknown(workspace)
    for side, line, reason in workspace.rows("SELECT side, line, reason FROM refused ORDER BY 1, 2, 3"):
        yield Finding(kinds.MALFORMED, f"{sides[side].name}, line {line}", reason=reason)
    yield from ways.chains()
    ways.close()
    yield from hanging.others()
    hanging.close()
    workspace.progress("looking for what is lacking")
    yield from _lacking(workspace, registries, len(sides))


def _different(workspace: Workspace) -> Iterator[Finding]:
    """Properties of which the sides that state them say different things, and stages."""
    differing = (
        "SELECT text, property, side, value FROM fact JOIN term USING (id) WHERE (id, property) IN (SELECT id, property FROM fact"
        " GROUP BY id, property HAVING COUNT(DISTINCT side) > 1 AND COUNT(*) <> COUNT(DISTINCT side) * COUNT(DISTINCT value))"
        " UNION ALL SELECT text, 'stage', side, stage FROM record JOIN term USING (id) WHERE id IN"
        " (SELECT id FROM record GROUP BY id HAVING COUNT(DISTINCT stage) > 1) ORDER BY 1, 2, 3, 4"
    )
    for about, rows in groupby(workspace.rows(differing), key=itemgetter(0)):
        values: dict[str, dict[int, tuple[str, ...]]] = {}
        for _, name, side, value in rows:
            said = values.setdefault(name, {})
            said[side] = (*said.get(side, ()), value)
        yield Finding(kinds.DIFFERENT, about, values=values)


def _related(workspace: Workspace) -> Iterator[Finding]:
    """Two that several sides relate, not all by the same relations."""
    pairs = (
        "SELECT subject, target FROM (SELECT DISTINCT subject, target, relation, side FROM link WHERE (target, subject) IN (SELECT target, subject FROM link"
        " GROUP BY target, subject HAVING MIN(relation) <> MAX(relation) AND MIN(side) <> MAX(side)))"
        " JOIN term s ON s.id = subject JOIN term t ON t.id = target"
        " GROUP BY target, subject HAVING COUNT(*) <> COUNT(DISTINCT side) * COUNT(DISTINCT relation) ORDER BY s.text, t.text"
    )
    for pair in list(workspace.rows(pairs)):
        claims, more = kinds.first(workspace.claims("subject = ? AND target = ?", pair))
        yield Finding(kinds.RELATED, claims[0].subject, claims, more=more)


def _denied(workspace: Workspace, sides: Sequence[Side]) -> Iterator[Finding]:
    """Statements of which a line says that they do not hold."""
    denials = (
        "SELECT d.subject, d.relation, d.target, d.side, d.line FROM denial d JOIN term s ON s.id = d.subject JOIN term r ON r.id = d.relation"
        " JOIN term t ON t.id = d.target WHERE EXISTS (SELECT 1 FROM link l WHERE l.subject = d.subject AND l.relation = d.relation"
        " AND l.target = d.target) ORDER BY s.text, r.text, t.text, d.side, d.line"
    )
    for *key, side, line in list(workspace.rows(denials)):
        [claim] = workspace.claims("subject = ? AND relation = ? AND target = ?", key)
        yield Finding(kinds.DENIED, claim.subject, (claim,), reason=f"{sides[side].name}, line {line}, denies it")


def _crowded(workspace: Workspace, kind: kinds.Kind, one: str, many: str) -> Iterator[Finding]:
    """Ends of links of identity that have more than one other end of one kind."""
    busy = f"SELECT {one} FROM link WHERE {_IDENTITY} GROUP BY {one} HAVING MIN({many}) <> MAX({many})"
    query = (
        f"SELECT {one}, k FROM (SELECT DISTINCT {one}, {many}, m.kind AS k FROM link JOIN term m ON m.id = {many}"
        f" WHERE {_IDENTITY} AND {one} IN ({busy}) AND m.kind <> m.id)"
        f" JOIN term o ON o.id = {one} JOIN term g ON g.id = k GROUP BY {one}, k HAVING COUNT(*) > 1 ORDER BY o.text, g.text"
    )
    for end, of in list(workspace.rows(query)):
        claims, more = kinds.first(
            workspace.claims(f"{one} = ? AND {many[0]}.kind = ? AND {many[0]}.id <> ? AND {_IDENTITY}", (end, of, of))
        )
        yield Finding(kind, getattr(claims[0], one), claims, more=more)


def _released(workspace: Workspace) -> Iterator[Finding]:
    """Ends of links that their registry has given up."""
    gone = f"SELECT DISTINCT id, text, stage FROM record JOIN term USING (id) WHERE stage IN ('{RELEASED}', 'tombstone') AND {_BOUND} ORDER BY text, stage"
    for rows in _by_end(workspace, gone):
        yield from _about(workspace, kinds.RELEASED, rows[0][0], rows[0][1], " and ".join(row[2] for row in rows))


def _superseded(workspace: Workspace) -> Iterator[Finding]:
    """Ends of links that have a successor, and are still there."""
    replaced = (
        "SELECT DISTINCT id, text, value FROM fact JOIN term USING (id) WHERE property = 'replaced by' AND value <> text AND id NOT IN"
        f" (SELECT id FROM record WHERE stage IN ('{RELEASED}', 'tombstone')) AND {_BOUND} ORDER BY text, value"
    )
    for rows in _by_end(workspace, replaced):
        reason = f"replaced by {', '.join(row[2] for row in rows)}"
        yield from _about(
            workspace, kinds.SUPERSEDED, rows[0][0], rows[0][1], reason, f"NOT (relation = {REPLACES} AND target = {rows[0][0]})"
        )


def _unknown(workspace: Workspace) -> Iterator[Finding]:
    """Ends of links that begin as a namespace of one of the registries does, and that none of them holds."""
    strangers = (
        "SELECT id, text FROM term WHERE kind IN (SELECT id FROM base) AND kind <> id AND id NOT IN (SELECT id FROM record)"
        f" AND {_BOUND} ORDER BY text"
    )
    for end, text in list(workspace.rows(strangers)):
        yield from _about(workspace, kinds.UNKNOWN, end, text)


_BOUND: Final = "(EXISTS (SELECT 1 FROM link WHERE subject = id) OR EXISTS (SELECT 1 FROM link WHERE target = id))"


def _by_end(workspace: Workspace, query: str) -> Iterator[list[tuple[int, str, str]]]:
    return (list(rows) for _, rows in groupby(list(workspace.rows(query)), key=itemgetter(0)))


def _about(workspace: Workspace, kind: kinds.Kind, end: int, text: str, reason: str = "", condition: str = "1") -> Iterator[Finding]:
    claims, more = kinds.first(workspace.claims(f"(subject = ? OR target = ?) AND {condition}", (end, end)))
    if claims:
        yield Finding(kind, text, claims, reason=reason, more=more)


def _lacking(workspace: Workspace, registries: Sequence[int], sides: int) -> Iterator[Finding]:
    """Identifiers and links that not every side has; of identifiers only registries are asked."""
    held = (
        f"SELECT text, GROUP_CONCAT(side) FROM record JOIN term USING (id) WHERE stage <> '{RELEASED}' GROUP BY id HAVING COUNT(*) < ?"
        " ORDER BY text"
    )
    for text, sharing in workspace.rows(held, (len(registries),)):
        having = {int(side) for side in sharing.split(",")}
        yield Finding(kinds.LACKING, text, missing=tuple(side for side in registries if side not in having))
    uneven = f"SELECT subject, relation, target FROM link GROUP BY 1, 2, 3 HAVING COUNT(DISTINCT side) < {sides}"
    for claim in workspace.claims(f"(subject, relation, target) IN ({uneven})"):
        yield Finding(kinds.LACKING, claim.subject, (claim,), missing=tuple(side for side in range(sides) if side not in claim.sides))
