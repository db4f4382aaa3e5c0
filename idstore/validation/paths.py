"""SHACL property paths: the ways from a focus node to the values that a shape checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyoxigraph import BlankNode, NamedNode

from idstore.validation.graph import SH, Graph, Term


@dataclass(frozen=True, slots=True)
class Path:
    """A property path.

    text    the path in SPARQL syntax with full IRIs. Equal paths have equal texts.
    steps   the parts of a sequence; empty for another path.
    plain   whether the path is a single predicate in forward direction.
    idle    whether the path can have length zero, and lead to its start.
    """

    text: str
    steps: tuple["Path", ...] = ()
    plain: bool = False
    idle: bool = False

    def __str__(self) -> str:
        return self.text


def read(graph: Graph, node: Term) -> Path:
    """Return the path that ``node`` describes. Raises MalformedShapes if it describes none."""
    if isinstance(node, NamedNode):
        return Path(str(node), plain=True)
    if not isinstance(node, BlankNode):
        raise graph.malformed(node, "is not a property path")
    members = graph.members(node)
    if members is not None:
        return sequence([read(graph, member) for member in members])
    for predicate, make in _FORMS.items():
        value = graph.value(node, predicate)
        if value is not None:
            return make(graph, value)
    raise graph.malformed(node, "is not a property path")


def sequence(steps: list[Path]) -> Path:
    """Return the sequence of paths."""
    flat = tuple(part for step in steps for part in (step.steps or (step,)))
    return (
        flat[0]
        if len(flat) == 1
        else Path("/".join(map(_grouped, flat)), flat, idle=any(step.idle for step in flat))
    )


def _grouped(path: Path) -> str:
    simple = path.plain or (path.text.startswith("^<") and "(" not in path.text and "|" not in path.text)
    return path.text if simple else f"({path.text})"


def _inverse(graph: Graph, node: Term) -> Path:
    path = read(graph, node)
    return Path("^" + (path.text if path.plain else f"({path.text})"), idle=path.idle)


def _alternative(graph: Graph, node: Term) -> Path:
    paths = [read(graph, member) for member in graph.members(node) or []]
    return Path("|".join(map(_grouped, paths)), idle=any(path.idle for path in paths))


def _repeated(mark: str) -> Callable[[Graph, Term], Path]:
    return lambda graph, node: Path(_grouped(read(graph, node)) + mark, idle=mark != "+")


_FORMS: Mapping[NamedNode, Callable[[Graph, Term], Path]] = {
    SH.inversePath: _inverse,
    SH.alternativePath: _alternative,
    SH.zeroOrMorePath: _repeated("*"),
    SH.oneOrMorePath: _repeated("+"),
    SH.zeroOrOnePath: _repeated("?"),
}
