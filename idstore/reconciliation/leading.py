"""Links of identity whose target has such links itself: circles and chains of statements."""

from collections.abc import Iterable, Iterator
from typing import Final

from idstore.reconciliation import kinds, paths
from idstore.reconciliation.claims import Claim
from idstore.reconciliation.kinds import Finding
from idstore.reconciliation.relations import IDENTITY, among
from idstore.reconciliation.workspace import Workspace

_IDENTITY: Final = among(IDENTITY)
_LINKS: Final = (
    f"INSERT INTO lead SELECT DISTINCT subject, target FROM link l WHERE {_IDENTITY}"
    " AND (target IN (SELECT id FROM turning) OR subject IN (SELECT id FROM turning))"
    " AND (subject = target OR NOT EXISTS (SELECT 1 FROM link b WHERE b.subject = l.target AND b.target = l.subject"
    f" AND b.{_IDENTITY}))"
)
"""Two that are bound to each other say one thing, and lead nowhere."""
_BEGINNINGS: Final = (
    "SELECT l.subject FROM lead l JOIN term ON term.id = l.subject WHERE NOT EXISTS (SELECT 1 FROM lead b WHERE b.target = l.subject)"
    " GROUP BY l.subject HAVING MAX(EXISTS (SELECT 1 FROM lead n WHERE n.subject = l.target)) ORDER BY text"
)


class Ways:
    """Where one can go on from a target. Memory: the links between identifiers that are both bound and bound to."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        workspace.put("CREATE TEMP TABLE lead (subject INTEGER, target INTEGER, PRIMARY KEY (subject, target)) WITHOUT ROWID")
        workspace.put(_LINKS)
        workspace.put("CREATE INDEX temp.led ON lead (target)")

    def close(self) -> None:
        """Give up what was kept aside."""
        self._workspace.put("DROP TABLE lead")

    def circles(self) -> Iterator[Finding]:
        """Sets of which each leads to every other, by their first member."""
        edges = paths.directed(
            self._workspace.rows(
                "SELECT subject, target FROM lead WHERE subject IN (SELECT target FROM lead) AND target IN (SELECT subject FROM lead)"
            )
        )
        rounds = ([(one, other) for one in found for other in edges[one] if other in found] for found in paths.circles(edges))
        made = (sorted(self._claims(links), key=lambda claim: claim.key) for links in rounds)
        yield from (_finding(kinds.CIRCLE, claims) for claims in sorted(made, key=lambda claims: claims[0].key))

    def chains(self) -> Iterator[Finding]:
        """Ways from a beginning over more than one link, by the beginning."""
        for (start,) in list(self._workspace.rows(_BEGINNINGS)):
            yield _finding(kinds.CHAIN, list(self._claims(paths.chain(start, self._onward))))

    def _onward(self, here: int) -> list[int]:
        return [other for (other,) in self._workspace.rows("SELECT target FROM lead WHERE subject = ? ORDER BY target", (here,))]

    def _claims(self, links: Iterable[tuple[int, int]]) -> Iterator[Claim]:
        for pair in links:
            yield from self._workspace.claims(f"subject = ? AND target = ? AND {_IDENTITY}", pair)


def _finding(kind: kinds.Kind, claims: list[Claim]) -> Finding:
    return Finding(kind, claims[0].subject, tuple(claims[: kinds.MOST]), more=len(claims[kinds.MOST :]))
