"""Links of identity whose target has such links itself: circles and chains of statements."""

from collections.abc import Iterable, Iterator
from typing import Final

from idstore.reconciliation import kinds, paths
from idstore.reconciliation.claims import Claim
from idstore.reconciliation.kinds import Finding
from idstore.reconciliation.relations import IDENTITY, among
from idstore.reconciliation.workspace import Workspace

_IDENTITY: Final = among(IDENTITY)


class Ways:
    """Where one can go on from a target. Memory: the links that do lead on."""

    def __init__(self, workspace: Workspace) -> None:
        onward = f"EXISTS (SELECT 1 FROM link n WHERE n.subject = l.target AND n.{_IDENTITY})"
        reached = f"EXISTS (SELECT 1 FROM link n WHERE n.target = l.subject AND n.{_IDENTITY})"
        pairs = workspace.rows(f"SELECT DISTINCT subject, target FROM link l WHERE {_IDENTITY} AND ({onward} OR {reached})")
        self._workspace = workspace
        self._edges = paths.directed(pairs)
        self._rounds = list(paths.circles(self._edges))

    def circles(self) -> Iterator[Finding]:
        """Sets of which each leads to every other, by their first member."""
        rounds = ([(one, other) for one in found for other in self._edges[one] if other in found] for found in self._rounds)
        made = (sorted(self._claims(links), key=lambda claim: claim.key) for links in rounds)
        yield from self._findings(kinds.CIRCLE, made)

    def chains(self) -> Iterator[Finding]:
        """Ways from a beginning over more than one link, by the beginning."""
        found = paths.chains(self._edges, frozenset().union(*self._rounds))
        yield from self._findings(kinds.CHAIN, (list(self._claims(links)) for links in found))

    def _findings(self, kind: kinds.Kind, made: Iterable[list[Claim]]) -> Iterator[Finding]:
        every = (Finding(kind, claims[0].subject, tuple(claims[: kinds.MOST]), more=len(claims[kinds.MOST :])) for claims in made)
        return iter(sorted(every, key=lambda finding: (finding.about, [claim.key for claim in finding.claims])))

    def _claims(self, links: Iterable[tuple[int, int]]) -> Iterator[Claim]:
        for pair in links:
            yield from self._workspace.claims(f"subject = ? AND target = ? AND {_IDENTITY}", pair)
