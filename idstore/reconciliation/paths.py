"""Bindings whose target is bound on: chains, and circles."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

Edges = Mapping[int, frozenset[int]]
_LONGEST: Final = 50
"""Links of a chain that are told, at most."""


def directed(pairs: Iterable[tuple[int, int]]) -> Edges:
    """Who leads where."""
    out: dict[int, set[int]] = {}
    for one, other in pairs:
        out.setdefault(one, set()).add(other)
    return {one: frozenset(others) for one, others in out.items()}


def circles(edges: Edges) -> Iterator[frozenset[int]]:
    """Sets of which each leads to every other: of several, or of one that leads to itself (Tarjan's algorithm)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    waiting: list[int] = []
    there: set[int] = set()
    for start in edges:
        if start in order:
            continue
        way = [(start, iter(sorted(edges[start])))]
        order[start] = low[start] = len(order)
        waiting.append(start)
        there.add(start)
        while way:
            here, following = way[-1]
            onward = next(following, None)
            if onward is None:
                way.pop()
                if way:
                    low[way[-1][0]] = min(low[way[-1][0]], low[here])
                if low[here] == order[here]:
                    found = _popped(waiting, here)
                    there -= found
                    if len(found) > 1 or here in edges.get(here, ()):
                        yield found
            elif onward not in order:
                order[onward] = low[onward] = len(order)
                waiting.append(onward)
                there.add(onward)
                way.append((onward, iter(sorted(edges.get(onward, ())))))
            elif onward in there:
                low[here] = min(low[here], order[onward])


def _popped(waiting: list[int], last: int) -> frozenset[int]:
    place = len(waiting) - 1
    while waiting[place] != last:
        place -= 1
    found = frozenset(waiting[place:])
    del waiting[place:]
    return found


def chain(start: int, onward: Callable[[int], Sequence[int]]) -> list[tuple[int, int]]:
    """The links that are gone through from a beginning on ways of more than one, the nearest first; `_LONGEST` at most."""
    links: list[tuple[int, int]] = []
    seen, following = {start}, deque([start])
    while following and len(links) < _LONGEST:
        here = following.popleft()
        for other in onward(here):
            if here == start and not onward(other):
                continue
            links.append((here, other))
            if other not in seen:
                seen.add(other)
                following.append(other)
    return links[:_LONGEST]
