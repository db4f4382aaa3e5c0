"""Clusters of equivalents, and the weakest link of those that join two identifiers of one namespace."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from idstore.reconciliation.kinds import Weakest
from idstore.reconciliation.sides import EQUIVALENCE
from idstore.reconciliation.workspace import Claim, Workspace

_EQUIVALENT: Final = "relation IN (SELECT id FROM term WHERE text IN (?, ?))"


class Forest:
    """Sets that are united: each is told by its root. Cost: next to constant for each step."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def root(self, number: int) -> int:
        """The root of a number's set; one that was never seen is alone."""
        parents = self._parents
        top = number
        while (above := parents.setdefault(top, top)) != top:
            top = above
        while number != top:
            parents[number], number = top, parents[number]
        return top

    def unite(self, one: int, other: int) -> None:
        """Make one set of two."""
        first, second = self.root(one), self.root(other)
        if first != second:
            self._parents[max(first, second)] = min(first, second)

    def members(self) -> Iterator[tuple[int, int]]:
        """Every number with its root."""
        return ((number, self.root(number)) for number in list(self._parents))


def joining(workspace: Workspace) -> Iterator[tuple[tuple[Claim, ...], tuple[Weakest, ...]]]:
    """The statements of each cluster in which two identifiers of one namespace come together, and its weakest links."""
    forest = Forest()
    for one, other in workspace.rows(f"SELECT DISTINCT subject, target FROM link WHERE {_EQUIVALENT}", EQUIVALENCE):
        forest.unite(one, other)
    workspace.db.execute("CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, root INTEGER)")
    workspace.db.executemany("INSERT INTO member VALUES (?, ?)", forest.members())
    workspace.db.execute("CREATE INDEX temp.by_root ON member (root)")
    crowded = (
        "SELECT root, MIN(text) FROM member JOIN term USING (id) WHERE root IN"
        " (SELECT root FROM member JOIN term USING (id) GROUP BY root, kind HAVING COUNT(*) > 1) GROUP BY root ORDER BY 2"
    )
    for root, _ in workspace.rows(crowded):
        claims = tuple(workspace.claims(f"{_EQUIVALENT} AND subject IN (SELECT id FROM member WHERE root = ?)", (*EQUIVALENCE, root)))
        yield claims, tuple(weakest(claims, workspace))
    workspace.db.execute("DROP TABLE member")


def weakest(claims: Iterable[Claim], workspace: Workspace) -> Iterator[Weakest]:
    """The links that bring identifiers of one namespace together, when the strongest links are laid first.

    Stronger is what is stated with more confidence, then what is said more often. Cost: one sort of the links.
    """
    sets: dict[str, dict[str, set[str]]] = {}
    for claim in sorted(claims, key=lambda claim: (*(-one for one in claim.strength), claim.subject, claim.target)):
        one, other = (sets.setdefault(end, {workspace.kind_of(end) or end: {end}}) for end in (claim.subject, claim.target))
        if one is other:
            continue
        pairs = [(min(pair), max(pair)) for kind in one.keys() & other.keys() for pair in product(one[kind], other[kind])]
        if pairs:
            yield Weakest(claim, tuple(sorted(pairs)))
        small, large = sorted((one, other), key=lambda kinds: sum(map(len, kinds.values())))
        for kind, members in small.items():
            large.setdefault(kind, set()).update(members)
            for member in members:
                sets[member] = large
