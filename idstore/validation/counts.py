"""Telling by counts that there is nothing to look for.

To find nodes that lack something, or have it twice, the engine has to keep all the nodes with what they are joined to. In sound data there are
none, and that shows by counting different nodes, which takes less time and memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Count = tuple[int, int]
"""How many rows a pattern has, and how many different nodes are in them."""
Ask = Callable[[Sequence[str]], Mapping[str, Count]]
"""What queries count."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Nodes that one pattern gives and another does not.

    node     the variable; the other variables of the patterns stand for themselves in each of them.
    having   a pattern that gives nodes.
    wanted   what they should be among.
    """

    node: str
    having: str
    wanted: str

    @property
    def base(self) -> str:
        """What is counted first."""
        return _counting(self.node, [self.wanted])


@dataclass(frozen=True, slots=True)
class Repetition:
    """Nodes that ``pattern`` gives more than once as ``node``."""

    node: str
    pattern: str

    @property
    def base(self) -> str:
        """What is counted first."""
        return _counting(self.node, [self.pattern])


Doubt = Lack | Repetition


def settled(doubts: Iterable[Doubt], ask: Ask) -> set[Doubt]:
    """Those of the doubts that counts show to be unfounded. Memory: in proportion to the nodes of the largest pattern."""
    all_of_them = list(dict.fromkeys(doubts))
    counts = ask(list(dict.fromkeys(doubt.base for doubt in all_of_them)))
    repeated = [doubt for doubt in all_of_them if isinstance(doubt, Repetition)]
    found: set[Doubt] = {doubt for doubt in repeated if len(set(counts[doubt.base])) == 1}
    together: dict[str, list[Lack]] = {}
    for doubt in all_of_them:
        if isinstance(doubt, Lack):
            together.setdefault(doubt.base, []).append(doubt)
    whole = _complete(together.values(), counts, ask)
    alone = [[doubt] for group in together.values() if len(group) > 1 and not whole.issuperset(group) for doubt in group]
    return found | whole | _complete(alone, counts, ask)


def _complete(groups: Iterable[Sequence[Lack]], counts: Mapping[str, Count], ask: Ask) -> set[Lack]:
    """The doubts of those groups, which want the same, whose nodes add none to what they should be among."""
    texts = {_counting(group[0].node, [*(doubt.having for doubt in group), group[0].wanted]): group for group in groups}
    more = ask(list(texts))
    return {doubt for text, group in texts.items() if more[text][1] == counts[group[0].base][1] for doubt in group}


def _counting(node: str, patterns: Sequence[str]) -> str:
    return f"SELECT (COUNT(*) AS ?rows) (COUNT(DISTINCT {node}) AS ?nodes) {{ {either(patterns)} }}"


def either(patterns: Iterable[str]) -> str:
    """What any of the patterns gives."""
    several = list(patterns)
    return several[0] if len(several) == 1 else " UNION ".join(f"{{ {pattern} }}" for pattern in several)
