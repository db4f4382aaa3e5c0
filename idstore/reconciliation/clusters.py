"""Clusters of equivalents, and the weakest links of clusters with two identifiers of one namespace."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge, nsmallest
from itertools import groupby, islice, product
from operator import itemgetter
from typing import Final

from idstore.reconciliation.kinds import CLUSTER, JOINED, MOST, ReconciliationFinding, Weakest, limited
from idstore.reconciliation.relations import EQUIVALENCE, among
from idstore.reconciliation.workspace import (
    JOIN_TERMS,
    LINK_COLUMNS,
    LINK_ORDER,
    Workspace,
    shared_statements,
)

PAIRS: Final = 10
"""Most pairs of identifiers that a weak link lists."""
_EQUIVALENT: Final = among(EQUIVALENCE)
_BUSY: Final = (
    f"INSERT INTO busy SELECT subject FROM link WHERE {_EQUIVALENT}"
    " GROUP BY subject HAVING MIN(target) <> MAX(target) UNION"
    f" SELECT target FROM link WHERE {_EQUIVALENT}"
    " GROUP BY target HAVING MIN(subject) <> MAX(subject) UNION SELECT id FROM turning"
)
_MEETING: Final = (
    f"SELECT subject, target FROM (SELECT DISTINCT subject, target FROM link WHERE {_EQUIVALENT})"
    " WHERE subject IN (SELECT id FROM busy) OR target IN (SELECT id FROM busy) OR EXISTS"
    " (SELECT 1 FROM kind s JOIN kind t ON t.kind = s.kind WHERE s.id = subject AND t.id = target)"
)
"""Links that can be part of a larger cluster, or join two identifiers of one kind."""
_CLUSTERS: Final = (
    "CREATE TEMP TABLE cluster AS SELECT root, MIN(text) AS about, COUNT(*) AS many, root IN"
    " (SELECT root FROM member JOIN kind USING (id) GROUP BY root, kind HAVING COUNT(*) > 1) AS crowded"
    " FROM member JOIN term USING (id) GROUP BY root"
)
_OTHERS: Final = (
    f"SELECT about, {LINK_COLUMNS} FROM link JOIN member ON member.id = subject JOIN cluster USING (root)"
    f" {JOIN_TERMS} WHERE NOT crowded AND many > 2 AND {_EQUIVALENT} ORDER BY about, {LINK_ORDER}"
)


_KIND: Final = "(SELECT MIN(kind) FROM kind WHERE kind.id = {}.id)"
"""One of the kinds of a term."""


class Forest:
    """Disjoint sets (union-find): the root of a set is its least member.

    Cost: almost constant for each step.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def root(self, number: int) -> int:
        """Return the root of a number's set; a new number is a set of its own."""
        parents = self._parents
        top = number
        while (parent := parents.setdefault(top, top)) != top:
            top = parent
        while number != top:
            parents[number], number = top, parents[number]
        return top

    def unite(self, one: int, other: int) -> int:
        """Unite two sets; return the root."""
        low, high = sorted((self.root(one), self.root(other)))
        self._parents[high] = low
        return low

    def members(self) -> Iterator[tuple[int, int]]:
        """Yield every number with its root."""
        return ((number, self.root(number)) for number in list(self._parents))


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link.

    id    its number.
    kind  the number of its kind; its own number if the kind is unknown.
    """

    id: int
    text: str
    kind: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of members of one kind, and the first of them in order."""

    count: int
    first: tuple[str, ...]

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(self.count + other.count, tuple(islice(merge(self.first, other.first), PAIRS)))


class Clusters:
    """Sets of identifiers connected by equivalence.

    Memory: the identifiers with more than one equivalent.
    """

    def __init__(self, workspace: Workspace) -> None:
        forest = Forest()
        workspace.execute("CREATE TEMP TABLE busy (id INTEGER PRIMARY KEY)")
        workspace.execute(_BUSY)
        for one, other in workspace.rows(_MEETING):
            forest.unite(one, other)
        self._workspace = workspace
        workspace.execute("CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, root INTEGER)")
        workspace.execute("INSERT INTO member VALUES (?, ?)", sorted(forest.members()))
        workspace.execute("CREATE INDEX temp.by_root ON member (root)")
        workspace.execute(_CLUSTERS)

    def close(self) -> None:
        """Drop the temporary tables."""
        self._workspace.execute("DROP TABLE member")
        self._workspace.execute("DROP TABLE cluster")
        self._workspace.execute("DROP TABLE busy")

    def joined(self) -> Iterator[ReconciliationFinding]:
        """Yield the clusters with two identifiers of one namespace, by their first member."""
        rows = self._workspace.rows("SELECT root, about FROM cluster WHERE crowded ORDER BY about")
        for root, about in list(rows):
            yield _cluster(self._workspace, root, about)

    def others(self) -> Iterator[ReconciliationFinding]:
        """Yield the other clusters of three or more members, by their first member."""
        for about, rows in groupby(self._workspace.rows(_OTHERS), key=itemgetter(0)):
            claims, more = limited(shared_statements(row[1:] for row in rows))
            yield ReconciliationFinding(CLUSTER, about, claims, more=more)


def united(rows: Iterable[tuple[int, int]]) -> Forest:
    """Return the sets of kinds that have members in common.

    rows  member and kind, in the order of the members.
    """
    sets = Forest()
    for _, kinds in groupby(rows, key=itemgetter(0)):
        (_, first), *others = kinds
        for _, other in others:
            sets.unite(first, other)
    return sets


def _cluster(workspace: Workspace, root: int, about: str) -> ReconciliationFinding:
    within = f"{_EQUIVALENT} AND subject IN (SELECT id FROM member WHERE root = {root})"
    strongest = (
        f"SELECT s.id, s.text, {_KIND.format('s')}, t.id, t.text, {_KIND.format('t')}, r.text FROM link"
        " JOIN term s ON s.id = subject JOIN term t ON t.id = target JOIN term r ON r.id = relation"
        f" WHERE {within} GROUP BY subject, relation, target ORDER BY MAX(IFNULL(confidence, 1)) DESC,"
        " COUNT(DISTINCT side || ' ' || IFNULL(by, IFNULL(author, ''))) DESC, s.text, t.text, r.text"
    )
    members = f"SELECT id, kind FROM member JOIN kind USING (id) WHERE root = {root} ORDER BY id"
    groups = united(workspace.rows(members))

    def end(id: int, text: str, kind: int | None) -> End:
        return End(id, text, id if kind is None else groups.root(kind))

    links = ((end(*row[:3]), end(*row[3:6]), row[6]) for row in workspace.rows(strongest))
    weak = deque(weakest(links), maxlen=MOST)
    weak_links = []
    for subject, relation, target, pairs, joins in reversed(weak):
        condition = f"subject = {subject.id} AND target = {target.id} AND r.text = ?"
        weak_links += [Weakest(claim, pairs, joins) for claim in workspace.claims(condition, (relation,))]
    claims, more = limited(workspace.claims(within))
    return ReconciliationFinding(JOINED, about, claims, weakest=tuple(weak_links), more=more)


Joint = tuple[End, str, End, tuple[tuple[str, str], ...], int]
"""A link (subject, relation, target), the first pairs that it joins, and the number of pairs."""


def weakest(links: Iterable[tuple[End, End, str]]) -> Iterator[Joint]:
    """Yield the links that join identifiers of one namespace, as the links are added one by one.

    links  subject, target and relation, the strongest link first.
    """
    forest = Forest()
    kinds: dict[int, dict[int, Sample]] = {}
    for one, other, relation in links:
        roots = [forest.root(end.id) for end in (one, other)]
        if roots[0] == roots[1]:
            continue
        small, large = sorted(
            (_kinds(kinds, root, end) for root, end in zip(roots, (one, other), strict=True)), key=len
        )
        shared = small.keys() & large.keys()
        if shared:
            pairs = (pair for kind in shared for pair in product(small[kind].first, large[kind].first))
            least = nsmallest(PAIRS, ((min(pair), max(pair)) for pair in pairs))
            yield (
                one,
                relation,
                other,
                tuple(least),
                sum(small[kind].count * large[kind].count for kind in shared),
            )
        for kind, sample in small.items():
            large[kind] = large[kind] + sample if kind in large else sample
        kinds[forest.unite(*roots)] = large


def _kinds(kinds: dict[int, dict[int, Sample]], root: int, end: End) -> dict[int, Sample]:
    """Remove and return the kinds of a set; a new set has only this end."""
    return kinds.pop(root, None) or ({end.kind: Sample(1, (end.text,))} if end.kind != end.id else {})
