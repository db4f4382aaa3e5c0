"""Proofs by counts that a search has no result.

A query for nodes that lack something, or have it twice, makes the engine hold all nodes and their joins in
memory. Valid data have no such nodes, and counts of distinct nodes show that with less time and memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Count = tuple[int, int]
"""Number of rows of a pattern, and number of distinct nodes in them."""
Ask = Callable[[Sequence[str]], Mapping[str, Count]]
"""Function that returns the counts of queries."""


@dataclass(frozen=True, slots=True)
class Lack:
    """The suspicion that one pattern yields nodes that another pattern does not.

    node     variable of the nodes. All other variables are local to their pattern.
    having   the pattern that yields the nodes.
    wanted   the pattern that should yield all of them.
    """

    node: str
    having: str
    wanted: str

    @property
    def base(self) -> str:
        """The first query to count."""
        return _counting(self.node, [self.wanted])


@dataclass(frozen=True, slots=True)
class Repetition:
    """The suspicion that ``pattern`` yields a value of ``node`` more than once."""

    node: str
    pattern: str

    @property
    def base(self) -> str:
        """The first query to count."""
        return _counting(self.node, [self.pattern])


Doubt = Lack | Repetition


def refuted(doubts: Iterable[Doubt], ask: Ask) -> set[Doubt]:
    """Return the doubts that counts refute. Memory: in proportion to the nodes of the largest pattern."""
    distinct = list(dict.fromkeys(doubts))
    counts = ask(list(dict.fromkeys(doubt.base for doubt in distinct)))
    repeated = [doubt for doubt in distinct if isinstance(doubt, Repetition)]
    unique: set[Doubt] = {doubt for doubt in repeated if len(set(counts[doubt.base])) == 1}
    groups: dict[str, list[Lack]] = {}
    for doubt in distinct:
        if isinstance(doubt, Lack):
            groups.setdefault(doubt.base, []).append(doubt)
    complete = _complete(groups.values(), counts, ask)
    single = [
        [doubt]
        for group in groups.values()
        if len(group) > 1 and not complete.issuperset(group)
        for doubt in group
    ]
    return unique | complete | _complete(single, counts, ask)


def _complete(groups: Iterable[Sequence[Lack]], counts: Mapping[str, Count], ask: Ask) -> set[Lack]:
    """Return the doubts of the groups whose nodes all belong to the wanted nodes, which each group shares."""
    texts = {
        _counting(group[0].node, [*(doubt.having for doubt in group), group[0].wanted]): group
        for group in groups
    }
    joint = ask(list(texts))
    return {
        doubt
        for text, group in texts.items()
        if joint[text][1] == counts[group[0].base][1]
        for doubt in group
    }


def _counting(node: str, patterns: Sequence[str]) -> str:
    return f"SELECT (COUNT(*) AS ?rows) (COUNT(DISTINCT {node}) AS ?nodes) {{ {either(patterns)} }}"


def either(patterns: Iterable[str]) -> str:
    """Return the union of patterns."""
    parts = list(patterns)
    return parts[0] if len(parts) == 1 else " UNION ".join(f"{{ {pattern} }}" for pattern in parts)
