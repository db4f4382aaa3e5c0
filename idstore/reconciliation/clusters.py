"""Clusters of equivalents, and the weakest links of those that join two identifiers of one namespace."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge, nsmallest
from itertools import groupby, islice, product
from operator import itemgetter
from typing import Final

from idstore.reconciliation.kinds import CLUSTER, JOINED, MOST, Finding, Weakest, first
from idstore.reconciliation.relations import EQUIVALENCE, among
from idstore.reconciliation.workspace import IN_ORDER, NAMED, TOLD, Workspace, together

PAIRS: Final = 10
"""Pairs of identifiers that are told of one weak link."""
_EQUIVALENT: Final = among(EQUIVALENCE)
_BUSY: Final = (
    f"INSERT INTO busy SELECT subject FROM link WHERE {_EQUIVALENT} GROUP BY subject HAVING MIN(target) <> MAX(target) UNION"
    f" SELECT target FROM link WHERE {_EQUIVALENT} GROUP BY target HAVING MIN(subject) <> MAX(subject) UNION SELECT id FROM turning"
)
_MEETING: Final = (
    f"SELECT subject, target FROM (SELECT DISTINCT subject, target FROM link WHERE {_EQUIVALENT})"
    " CROSS JOIN term s ON s.id = subject CROSS JOIN term t ON t.id = target"
    f" WHERE s.kind = t.kind OR subject IN (SELECT id FROM busy) OR target IN (SELECT id FROM busy)"
)
"""Links that do not stand alone: two of different kinds that nothing else is bound to join nothing."""
_CLUSTERS: Final = (
    "CREATE TEMP TABLE cluster AS SELECT root, MIN(first) AS about, MAX(crowd) AS crowded, SUM(many) AS many FROM"
    " (SELECT root, MIN(text) AS first, COUNT(*) AS many, SUM(kind <> id) > 1 AS crowd FROM"
    " (SELECT root, text, kind, id FROM member JOIN term USING (id)) GROUP BY root, kind) GROUP BY root"
)
_OTHERS: Final = (
    f"SELECT about, {TOLD} FROM link JOIN member ON member.id = subject JOIN cluster USING (root) {NAMED}"
    f" WHERE NOT crowded AND many > 2 AND {_EQUIVALENT} ORDER BY about, {IN_ORDER}"
)


class Forest:
    """Sets that are united: each is told by its root, its least member. Cost: next to constant for each step."""

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

    def unite(self, one: int, other: int) -> int:
        """Make one set of two; its root."""
        low, high = sorted((self.root(one), self.root(other)))
        self._parents[high] = low
        return low

    def members(self) -> Iterator[tuple[int, int]]:
        """Every number with its root."""
        return ((number, self.root(number)) for number in list(self._parents))


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link: its number, its text, and the number of what it is one of; of itself where nothing is known."""

    id: int
    text: str
    kind: int


@dataclass(frozen=True, slots=True)
class Few:
    """How many members of one kind there are, and the first of them in order."""

    many: int
    first: tuple[str, ...]

    def __add__(self, other: "Few") -> "Few":
        return Few(self.many + other.many, tuple(islice(merge(self.first, other.first), PAIRS)))


class Clusters:
    """What hangs together by statements of equivalence. Memory: the identifiers that more than one other is equivalent to."""

    def __init__(self, workspace: Workspace) -> None:
        forest = Forest()
        workspace.put("CREATE TEMP TABLE busy (id INTEGER PRIMARY KEY)")
        workspace.put(_BUSY)
        for one, other in workspace.rows(_MEETING):
            forest.unite(one, other)
        self._workspace = workspace
        workspace.put("CREATE TEMP TABLE member (id INTEGER PRIMARY KEY, root INTEGER)")
        workspace.put("INSERT INTO member VALUES (?, ?)", sorted(forest.members()))
        workspace.put("CREATE INDEX temp.by_root ON member (root)")
        workspace.put(_CLUSTERS)

    def close(self) -> None:
        """Give up what was kept aside."""
        self._workspace.put("DROP TABLE member")
        self._workspace.put("DROP TABLE cluster")
        self._workspace.put("DROP TABLE busy")

    def joining(self) -> Iterator[Finding]:
        """Those in which two identifiers of one namespace come together, by their first member."""
        for root, about in list(self._workspace.rows("SELECT root, about FROM cluster WHERE crowded ORDER BY about")):
            yield _cluster(self._workspace, root, about)

    def others(self) -> Iterator[Finding]:
        """Those of three and more in which none do, by their first member."""
        for about, rows in groupby(self._workspace.rows(_OTHERS), key=itemgetter(0)):
            claims, more = first(together(row[1:] for row in rows))
            yield Finding(CLUSTER, about, claims, more=more)


def _cluster(workspace: Workspace, root: int, about: str) -> Finding:
    within = f"{_EQUIVALENT} AND subject IN (SELECT id FROM member WHERE root = {root})"
    strongest = (
        "SELECT s.id, s.text, s.kind, t.id, t.text, t.kind, r.text FROM link JOIN term s ON s.id = subject JOIN term t ON t.id = target"
        f" JOIN term r ON r.id = relation WHERE {within} GROUP BY subject, relation, target"
        " ORDER BY MAX(IFNULL(confidence, 1)) DESC, COUNT(DISTINCT side || ' ' || IFNULL(by, IFNULL(author, ''))) DESC, s.text, t.text, r.text"
    )
    links = ((End(*row[:3]), End(*row[3:6]), row[6]) for row in workspace.rows(strongest))
    weak = deque(weakest(links), maxlen=MOST)
    found = []
    for one, relation, other, pairs, joins in reversed(weak):
        condition = f"subject = {one.id} AND target = {other.id} AND r.text = ?"
        found += [Weakest(claim, pairs, joins) for claim in workspace.claims(condition, (relation,))]
    claims, more = first(workspace.claims(within))
    return Finding(JOINED, about, claims, weakest=tuple(found), more=more)


Joint = tuple[End, str, End, tuple[tuple[str, str], ...], int]
"""A link, the first pairs that it joins, and how many it joins."""


def weakest(links: Iterable[tuple[End, End, str]]) -> Iterator[Joint]:
    """The links that bring identifiers of one namespace together, when links are laid in the order given: the strongest first."""
    forest = Forest()
    kinds: dict[int, dict[int, Few]] = {}
    for one, other, relation in links:
        roots = [forest.root(end.id) for end in (one, other)]
        if roots[0] == roots[1]:
            continue
        small, large = sorted((_kinds(kinds, root, end) for root, end in zip(roots, (one, other), strict=True)), key=len)
        shared = small.keys() & large.keys()
        if shared:
            pairs = (pair for kind in shared for pair in product(small[kind].first, large[kind].first))
            least = nsmallest(PAIRS, ((min(pair), max(pair)) for pair in pairs))
            yield one, relation, other, tuple(least), sum(small[kind].many * large[kind].many for kind in shared)
        for kind, few in small.items():
            large[kind] = large[kind] + few if kind in large else few
        kinds[forest.unite(*roots)] = large


def _kinds(kinds: dict[int, dict[int, Few]], root: int, end: End) -> dict[int, Few]:
    """The kinds in a set, taken out; a set that was never seen is this end alone."""
    return kinds.pop(root, None) or ({end.kind: Few(1, (end.text,))} if end.kind != end.id else {})
