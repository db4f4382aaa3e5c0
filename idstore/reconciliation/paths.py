"""Graph algorithms: circles (strongly connected sets) and chains."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

Edges = Mapping[int, frozenset[int]]
_LONGEST: Final = 50
"""Most links of a chain that are returned."""


def directed(pairs: Iterable[tuple[int, int]]) -> Edges:
    """Return the targets of each node."""
    out: dict[int, set[int]] = {}
    for start, end in pairs:
        out.setdefault(start, set()).add(end)
    return {start: frozenset(ends) for start, ends in out.items()}


def circles(edges: Edges) -> Iterator[frozenset[int]]:
    """Yield the strongly connected sets of two or more nodes, and nodes with a loop (Tarjan's algorithm)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for start in edges:
        if start in order:
            continue
        path = [(start, iter(sorted(edges[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while path:
            node, successors = path[-1]
            successor = next(successors, None)
            if successor is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    component = _popped(stack, node)
                    on_stack -= component
                    if len(component) > 1 or node in edges.get(node, ()):
                        yield component
            elif successor not in order:
                order[successor] = low[successor] = len(order)
                stack.append(successor)
                on_stack.add(successor)
                path.append((successor, iter(sorted(edges.get(successor, ())))))
            elif successor in on_stack:
                low[node] = min(low[node], order[successor])


def _popped(stack: list[int], last: int) -> frozenset[int]:
    """Pop the nodes down to ``last`` off the stack."""
    position = len(stack) - 1
    while stack[position] != last:
        position -= 1
    component = frozenset(stack[position:])
    del stack[position:]
    return component


def chain(start: int, successors: Callable[[int], Sequence[int]]) -> list[tuple[int, int]]:
    """Return the links on paths of two or more links from a start, the nearest first; `_LONGEST` at most."""
    links: list[tuple[int, int]] = []
    seen, queue = {start}, deque([start])
    while queue and len(links) < _LONGEST:
        node = queue.popleft()
        for successor in successors(node):
            if node == start and not successors(successor):
                continue
            links.append((node, successor))
            if successor not in seen:
                seen.add(successor)
                queue.append(successor)
    return links[:_LONGEST]
