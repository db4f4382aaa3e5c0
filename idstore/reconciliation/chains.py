"""Chains and circles of statements: links of identity whose target has such links itself."""

from collections.abc import Iterable, Iterator
from typing import Final

from idstore.reconciliation import kinds, paths
from idstore.reconciliation.claims import SharedStatement
from idstore.reconciliation.kinds import ReconciliationFinding
from idstore.reconciliation.relations import IDENTITY, among
from idstore.reconciliation.workspace import Workspace

_IDENTITY: Final = among(IDENTITY)
_LINKS: Final = (
    f"INSERT INTO lead SELECT DISTINCT subject, target FROM link l WHERE {_IDENTITY}"
    " AND (target IN (SELECT id FROM turning) OR subject IN (SELECT id FROM turning))"
    " AND (subject = target OR NOT EXISTS"
    " (SELECT 1 FROM link b WHERE b.subject = l.target AND b.target = l.subject"
    f" AND b.{_IDENTITY}))"
)
"""Links to follow: two identifiers that are bound to each other make no chain."""
_BEGINNINGS: Final = (
    "SELECT l.subject FROM lead l JOIN term ON term.id = l.subject"
    " WHERE NOT EXISTS (SELECT 1 FROM lead b WHERE b.target = l.subject)"
    " GROUP BY l.subject HAVING MAX(EXISTS (SELECT 1 FROM lead n WHERE n.subject = l.target)) ORDER BY text"
)


class Chains:
    """The graph of links of identity.

    Memory: the links between identifiers that are subjects as well as targets.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        workspace.execute(
            "CREATE TEMP TABLE lead (subject INTEGER, target INTEGER, PRIMARY KEY (subject, target))"
            " WITHOUT ROWID"
        )
        workspace.execute(_LINKS)
        workspace.execute("CREATE INDEX temp.led ON lead (target)")

    def close(self) -> None:
        """Drop the temporary table."""
        self._workspace.execute("DROP TABLE lead")

    def circles(self) -> Iterator[ReconciliationFinding]:
        """Yield the strongly connected sets, by their first member."""
        edges = paths.directed(
            self._workspace.rows(
                "SELECT subject, target FROM lead"
                " WHERE subject IN (SELECT target FROM lead) AND target IN (SELECT subject FROM lead)"
            )
        )
        rounds = (
            [(start, end) for start in members for end in edges[start] if end in members]
            for members in paths.circles(edges)
        )
        circles = (sorted(self._claims(links), key=lambda claim: claim.key) for links in rounds)
        yield from (
            _finding(kinds.CIRCLE, claims) for claims in sorted(circles, key=lambda claims: claims[0].key)
        )

    def chains(self) -> Iterator[ReconciliationFinding]:
        """Yield the paths of two or more links, by their start."""
        for (start,) in list(self._workspace.rows(_BEGINNINGS)):
            yield _finding(kinds.CHAIN, list(self._claims(paths.chain(start, self._onward))))

    def _onward(self, here: int) -> list[int]:
        return [
            other
            for (other,) in self._workspace.rows(
                "SELECT target FROM lead WHERE subject = ? ORDER BY target", (here,)
            )
        ]

    def _claims(self, links: Iterable[tuple[int, int]]) -> Iterator[SharedStatement]:
        for pair in links:
            yield from self._workspace.claims(f"subject = ? AND target = ? AND {_IDENTITY}", pair)


def _finding(kind: kinds.FindingKind, claims: list[SharedStatement]) -> ReconciliationFinding:
    return ReconciliationFinding(
        kind, claims[0].subject, tuple(claims[: kinds.MOST]), more=len(claims[kinds.MOST :])
    )
