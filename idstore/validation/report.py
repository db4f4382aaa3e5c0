"""What a validation says."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from idstore.vocabulary import PREFIXES

Node = NamedNode | BlankNode | Literal | Triple


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one constraint.

    focus       the node that was checked.
    path        how the offending value is reached from it, as a SPARQL property path with whole IRIs; None when the node itself offends.
    value       the offending value; None when the number of values, or something missing, offends.
    shape       IRI of the shape that says the constraint (``_:…`` for a shape without one).
    name        the shape's name for people; empty when it has none.
    component   the kind of constraint, ``minCount``, ``pattern``, ``or``.
    message     the shape's message, or the constraint in words.
    severity    ``Violation``, ``Warning`` or ``Info``.
    """

    focus: Node
    path: str | None
    value: Node | None
    shape: str
    name: str
    component: str
    message: str
    severity: str = "Violation"

    def __str__(self) -> str:
        place = compact(str(self.focus)) + (f" {compact(self.path)}" if self.path else "")
        value = "" if self.value is None or self.value == self.focus else f" (found {compact(str(self.value))})"
        return f"{self.severity}: {place}: {self.message}{value} [{self.name or compact(self.shape)}]"

    @property
    def order(self) -> tuple[str, str, str, str, str]:
        """Sorts findings: by node, then place, then what is wrong."""
        return (str(self.focus), self.path or "", self.shape, self.component, str(self.value))


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a validation.

    results     the findings, sorted by node.
    complete    False when there were more findings than were asked for.
    """

    results: tuple[Finding, ...] = ()
    complete: bool = True

    @property
    def conforms(self) -> bool:
        """Whether nothing was found, as SHACL defines it: a finding of any severity counts."""
        return not self.results

    def __str__(self) -> str:
        """A line for each finding, a first one with their number."""
        if self.conforms:
            return "conforms"
        more = "" if self.complete else ", and more that are not listed"
        count = "1 finding" if len(self.results) == 1 else f"{len(self.results)} findings"
        return "\n".join([f"{count}{more}", *map(str, self.results)])


def report(findings: Iterable[Finding], *, complete: bool = True) -> Report:
    """The report on these findings; one that is there twice counts once."""
    return Report(tuple(sorted(set(findings), key=lambda found: found.order)), complete)


def compact(text: str) -> str:
    """The text with IRIs of well-known vocabularies shortened to ``prefix:name``, for reading only."""
    for prefix, space in PREFIXES.items():
        if f"<{space}" in text:
            text = _shorten(text, prefix, space)
    return text


def _shorten(text: str, prefix: str, space: str) -> str:
    first, *others = text.split(f"<{space}")
    return first + "".join(f"{prefix}:{other.replace('>', '', 1)}" for other in others)
