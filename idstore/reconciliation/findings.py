"""The search for findings: one function for each kind."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from idstore.reconciliation import chains, clusters, kinds
from idstore.reconciliation.kinds import ReconciliationFinding
from idstore.reconciliation.relations import IDENTITY, REPLACES, among
from idstore.reconciliation.sides import Side
from idstore.reconciliation.workspace import CAPTION, RELEASED, Workspace

_IDENTITY: Final = among(IDENTITY)


def find(workspace: Workspace, sides: Sequence[Side]) -> Iterator[ReconciliationFinding]:
    """Yield all findings in the order of `kinds.KINDS`, each kind in the order of the identifiers."""
    registries = [number for number, side in enumerate(sides) if side.registry]
    yield from _different(workspace)
    yield from _related(workspace)
    yield from _denied(workspace, sides)
    workspace.progress("looking for contradictions")
    yield from _several(workspace)
    yield from _claimed(workspace)
    workspace.progress("looking for chains and circles")
    identity_chains = chains.Chains(workspace)
    yield from identity_chains.circles()
    workspace.progress("looking for clusters")
    equivalents = clusters.Clusters(workspace)
    yield from equivalents.joined()
    workspace.progress("looking for what is gone or unknown")
    yield from _released(workspace)
    yield from _superseded(workspace)
    yield from _unknown(workspace)
    for side, line, reason in workspace.rows("SELECT side, line, reason FROM refused ORDER BY 1, 2, 3"):
        yield ReconciliationFinding(kinds.MALFORMED, _place(sides[side], line), reason=reason)
    yield from identity_chains.chains()
    identity_chains.close()
    yield from equivalents.others()
    equivalents.close()
    yield from _similar(workspace)
    workspace.progress("looking for what is lacking")
    yield from _lacking(workspace, registries, len(sides))


def _different(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find properties with different values on the sides that state them, and different stages."""
    differing = (
        "SELECT text, property, side, value FROM fact JOIN term USING (id)"
        " WHERE (id, property) IN (SELECT id, property FROM fact"
        f" WHERE property <> '{CAPTION}' GROUP BY id, property"
        " HAVING COUNT(DISTINCT side) > 1 AND COUNT(*) <> COUNT(DISTINCT side) * COUNT(DISTINCT value))"
        " UNION ALL SELECT text, 'stage', side, stage FROM record JOIN term USING (id) WHERE id IN"
        " (SELECT id FROM record GROUP BY id HAVING COUNT(DISTINCT stage) > 1) ORDER BY 1, 2, 3, 4"
    )
    for about, rows in groupby(workspace.rows(differing), key=itemgetter(0)):
        values: dict[str, dict[int, tuple[str, ...]]] = {}
        for _, name, side, value in rows:
            by_side = values.setdefault(name, {})
            by_side[side] = (*by_side.get(side, ()), value)
        yield ReconciliationFinding(kinds.DIFFERENT, about, values=values)


def _related(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find pairs that several sides relate, but not all by the same relations."""
    pairs = (
        "SELECT subject, target FROM (SELECT DISTINCT subject, target, relation, side FROM link"
        " WHERE (target, subject) IN (SELECT target, subject FROM link"
        " GROUP BY target, subject HAVING MIN(relation) <> MAX(relation) AND MIN(side) <> MAX(side)))"
        " JOIN term s ON s.id = subject JOIN term t ON t.id = target"
        " GROUP BY target, subject HAVING COUNT(*) <> COUNT(DISTINCT side) * COUNT(DISTINCT relation)"
        " ORDER BY s.text, t.text"
    )
    for pair in list(workspace.rows(pairs)):
        claims, more = kinds.limited(workspace.claims("subject = ? AND target = ?", pair))
        yield ReconciliationFinding(kinds.RELATED, claims[0].subject, claims, more=more)


def _denied(workspace: Workspace, sides: Sequence[Side]) -> Iterator[ReconciliationFinding]:
    """Find statements that another statement denies."""
    denials = (
        "SELECT d.subject, d.relation, d.target, d.side, d.line FROM denial d JOIN term s ON s.id = d.subject"
        " JOIN term r ON r.id = d.relation JOIN term t ON t.id = d.target WHERE EXISTS"
        " (SELECT 1 FROM link l WHERE l.subject = d.subject AND l.relation = d.relation"
        " AND l.target = d.target) ORDER BY s.text, r.text, t.text, d.side, d.line"
    )
    for *key, side, line in list(workspace.rows(denials)):
        [claim] = workspace.claims("subject = ? AND relation = ? AND target = ?", key)
        yield ReconciliationFinding(
            kinds.DENIED, claim.subject, (claim,), reason=f"{_place(sides[side], line)}, denies it"
        )


def _place(side: Side, line: int | None) -> str:
    """Return the place of a statement in words; statements in RDF have no line."""
    return side.name if line is None else f"{side.name}, line {line}"


def _several(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find identifiers that are bound to several targets of one kind."""
    busy = f"SELECT subject FROM link WHERE {_IDENTITY} GROUP BY subject HAVING MIN(target) <> MAX(target)"
    ends = ("subject", "target")
    yield from _crowded(workspace, kinds.SEVERAL, ends, busy, "identity", ("kind_of_target",))


def _claimed(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find targets that several identifiers of one kind are bound to, or that several identify."""
    busy = (
        f"SELECT target FROM link WHERE {_IDENTITY} GROUP BY target HAVING MIN(subject) <> MAX(subject)"
        " UNION SELECT target FROM goal GROUP BY target HAVING MIN(subject) <> MAX(subject)"
        " UNION SELECT goal.target FROM goal JOIN identity USING (target)"
        " WHERE goal.subject <> identity.subject"
    )
    ends, kinds_of = (
        ("target", "subject"),
        ("kind_of_subject", "kind_of_identifier", "kind_of_all_identifiers"),
    )
    yield from _crowded(workspace, kinds.CLAIMED, ends, busy, "claim", kinds_of)


def _crowded(
    workspace: Workspace,
    kind: kinds.FindingKind,
    ends: tuple[str, str],
    busy: str,
    links: str,
    kinds_of: Sequence[str],
) -> Iterator[ReconciliationFinding]:
    """Find ends of links with more than one other end of one kind.

    ends      ``subject`` and ``target``, or the reverse.
    busy      SQL query for the ends with several other ends, of any kind.
    links     the view of the links.
    kinds_of  the views of the ends of these links, with the kinds of the other ends.
    """
    one, many = ends
    members = " UNION ALL ".join(
        f"SELECT {one}, {many}, kind FROM {view} WHERE {one} IN busy" for view in kinds_of
    )
    query = (
        f"WITH busy AS MATERIALIZED ({busy})"
        f" SELECT {one}, k FROM (SELECT DISTINCT {one}, {many}, kind AS k FROM ({members}))"
        f" JOIN term o ON o.id = {one} JOIN term g ON g.id = k"
        f" GROUP BY {one}, k HAVING COUNT(*) > 1 ORDER BY o.text, g.text"
    )
    for end, rows in groupby(list(workspace.rows(query)), key=itemgetter(0)):
        members = " UNION ALL ".join(
            f"SELECT {many}, kind FROM {view} WHERE {one} = {end}" for view in kinds_of
        )
        for alike in _overlapping(workspace, members, [k for _, k in rows]):
            condition = f"{one} = {end} AND {many} IN (SELECT {many} FROM ({members}) WHERE {_one_of(alike)})"
            claims, more = kinds.limited(workspace.claims(condition, (), links))
            yield ReconciliationFinding(kind, getattr(claims[0], one), claims, more=more)


def _overlapping(workspace: Workspace, members: str, some: list[int]) -> list[list[int]]:
    """Group the kinds that share a member, so that one contradiction is one finding.

    members  SQL query for the members of one end, with their kinds.
    """
    if len(some) == 1:
        return [some]
    groups = clusters.united(workspace.rows(f"SELECT * FROM ({members}) WHERE {_one_of(some)} ORDER BY 1"))
    together: dict[int, list[int]] = {}
    for number in some:
        together.setdefault(groups.root(number), []).append(number)
    return list(together.values())


def _one_of(some: Sequence[int]) -> str:
    return f"kind IN ({', '.join(map(str, some))})"


def _released(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find ends of links that their registry has released, or made a tombstone."""
    released = (
        "SELECT DISTINCT id, text, stage FROM record JOIN term USING (id)"
        f" WHERE stage IN ('{RELEASED}', 'tombstone') AND {_BOUND} ORDER BY text, stage"
    )
    for rows in _by_end(workspace, released):
        yield from _about(
            workspace, kinds.RELEASED, rows[0][0], rows[0][1], " and ".join(row[2] for row in rows)
        )


def _superseded(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find ends of links that have a successor, and are neither released nor a tombstone."""
    replaced = (
        "SELECT DISTINCT id, text, value FROM fact JOIN term USING (id)"
        " WHERE property = 'replaced by' AND value <> text AND id NOT IN"
        f" (SELECT id FROM record WHERE stage IN ('{RELEASED}', 'tombstone')) AND {_BOUND}"
        " ORDER BY text, value"
    )
    for rows in _by_end(workspace, replaced):
        reason = f"replaced by {', '.join(row[2] for row in rows)}"
        yield from _about(
            workspace,
            kinds.SUPERSEDED,
            rows[0][0],
            rows[0][1],
            reason,
            f"NOT (relation = {REPLACES} AND target = {rows[0][0]})",
        )


def _unknown(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find ends of links in a namespace of the registries that no registry holds."""
    unknown = (
        "SELECT id, text FROM (SELECT DISTINCT term.id, text FROM kind JOIN base ON base.id = kind.kind"
        " JOIN term ON term.id = kind.id WHERE kind_number(text) = base.id)"
        f" WHERE id NOT IN (SELECT id FROM record) AND {_BOUND} ORDER BY text"
    )
    for end, text in list(workspace.rows(unknown)):
        yield from _about(workspace, kinds.UNKNOWN, end, text)


_BOUND: Final = (
    "(EXISTS (SELECT 1 FROM link WHERE subject = id) OR EXISTS (SELECT 1 FROM link WHERE target = id))"
)


def _by_end(workspace: Workspace, query: str) -> Iterator[list[tuple[int, str, str]]]:
    return (list(rows) for _, rows in groupby(list(workspace.rows(query)), key=itemgetter(0)))


def _about(
    workspace: Workspace, kind: kinds.FindingKind, end: int, text: str, reason: str = "", condition: str = "1"
) -> Iterator[ReconciliationFinding]:
    claims, more = kinds.limited(workspace.claims(f"(subject = ? OR target = ?) AND {condition}", (end, end)))
    if claims:
        yield ReconciliationFinding(kind, text, claims, reason=reason, more=more)


def _similar(workspace: Workspace) -> Iterator[ReconciliationFinding]:
    """Find targets that differ only as addresses of one thing do."""
    workspace.execute(
        "CREATE TEMP TABLE address AS SELECT id, text, similar(text) AS form FROM term"
        " WHERE text LIKE 'http%' AND id IN (SELECT target FROM claim)"
    )
    alike = (
        "SELECT form, id, text FROM address WHERE form IN"
        " (SELECT form FROM address GROUP BY form HAVING COUNT(*) > 1) ORDER BY form, text"
    )
    for _, rows in groupby(list(workspace.rows(alike)), key=itemgetter(0)):
        [(_, first, about), *others] = rows
        numbers = [first, *(number for _, number, _ in others)]
        condition = f"target IN ({', '.join('?' * len(numbers))})"
        claims, more = kinds.limited(workspace.claims(condition, numbers, "claim"))
        reason = f"also written {', '.join(text for *_, text in others)}"
        yield ReconciliationFinding(kinds.SIMILAR, about, claims, reason=reason, more=more)
    workspace.execute("DROP TABLE address")


def _lacking(workspace: Workspace, registries: Sequence[int], sides: int) -> Iterator[ReconciliationFinding]:
    """Find identifiers that a registry lacks, and links that a side lacks."""
    incomplete = (
        f"SELECT text, GROUP_CONCAT(side) FROM record JOIN term USING (id) WHERE stage <> '{RELEASED}'"
        " GROUP BY id HAVING COUNT(*) < ? ORDER BY text"
    )
    for text, numbers in workspace.rows(incomplete, (len(registries),)):
        holders = {int(side) for side in numbers.split(",")}
        yield ReconciliationFinding(
            kinds.LACKING, text, missing=tuple(side for side in registries if side not in holders)
        )
    uneven = (
        f"SELECT subject, relation, target FROM link GROUP BY 1, 2, 3 HAVING COUNT(DISTINCT side) < {sides}"
    )
    for claim in workspace.claims(f"(subject, relation, target) IN ({uneven})"):
        yield ReconciliationFinding(
            kinds.LACKING,
            claim.subject,
            (claim,),
            missing=tuple(side for side in range(sides) if side not in claim.sides),
        )
