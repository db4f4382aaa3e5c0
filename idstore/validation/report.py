"""Reports of validations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, parse

from idstore.vocabulary import PREFIXES

Node = NamedNode | BlankNode | Literal | Triple


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """A violation of a constraint.

    focus       the node that was checked.
    path        path from the node to the value, as a SPARQL property path with full IRIs; None for the node
                itself.
    value       the invalid value; None if the number of values is wrong or something is missing.
    shape       IRI of the shape with the constraint (``_:…`` for a shape without one).
    name        name of the shape for human readers, may be empty.
    component   the kind of constraint: ``minCount``, ``pattern``, ``or``.
    message     the message of the shape, or a description of the constraint.
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
        value = (
            "" if self.value is None or self.value == self.focus else f" (found {compact(str(self.value))})"
        )
        return f"{self.severity}: {place}: {self.message}{value} [{self.name or compact(self.shape)}]"

    @property
    def order(self) -> tuple[str, str, str, str, str]:
        """The sort key: node, path, shape, constraint, value."""
        return (str(self.focus), self.path or "", self.shape, self.component, str(self.value))


class FindingDocument(TypedDict):
    """A finding as JSON; nodes are written as in N-Triples.

    severity   ``Violation``, ``Warning`` or ``Info``.
    focus      the node that breaks the shape.
    path       the property; None: the node itself.
    value      the value that breaks the shape.
    shape      the shape.
    name       the name of the shape.
    component  the kind of constraint.
    message    what is wrong, in words.
    """

    severity: str
    focus: str
    path: str | None
    value: str | None
    shape: str
    name: str
    component: str
    message: str


def finding_json(finding: ValidationResult) -> FindingDocument:
    """Return the document of a finding."""
    return {
        "severity": finding.severity,
        "focus": _text(finding.focus),
        "path": finding.path,
        "value": None if finding.value is None else _text(finding.value),
        "shape": finding.shape,
        "name": finding.name,
        "component": finding.component,
        "message": finding.message,
    }


def finding_from(document: Mapping[str, Any]) -> ValidationResult:
    """Return the finding of a document. Raises ValueError, KeyError: it is none."""
    value = document["value"]
    return ValidationResult(
        _node(document["focus"]),
        document["path"],
        None if value is None else _node(value),
        document["shape"],
        document["name"],
        document["component"],
        document["message"],
        document["severity"],
    )


def _text(node: Node) -> str:
    """Return a node as N-Triples writes it in object position."""
    return f"<<( {node} )>>" if isinstance(node, Triple) else str(node)


def _node(text: str) -> Node:
    """Return the node that `_text` wrote. Raises ValueError."""
    (quad,) = parse(f"<x:> <x:> {text} .", format=RdfFormat.N_TRIPLES)
    node: Node = quad.object
    return node


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The outcome of a validation.

    results     the findings, sorted by node.
    complete    False if there are more findings than the limit.
    """

    results: tuple[ValidationResult, ...] = ()
    complete: bool = True

    @property
    def conforms(self) -> bool:
        """Whether there is no finding of any severity, as SHACL defines conformance."""
        return not self.results

    def __str__(self) -> str:
        """Return a line with the number of findings, and a line for each finding."""
        if self.conforms:
            return "conforms"
        more = "" if self.complete else ", and more that are not listed"
        count = "1 finding" if len(self.results) == 1 else f"{len(self.results)} findings"
        return "\n".join([f"{count}{more}", *map(str, self.results)])


def report(findings: Iterable[ValidationResult], *, complete: bool = True) -> ValidationReport:
    """Return the report on findings, without duplicates."""
    return ValidationReport(tuple(sorted(set(findings), key=lambda finding: finding.order)), complete)


def combined(found: Sequence[ValidationResult], other: ValidationReport, limit: int) -> ValidationReport:
    """Return the report on findings and those of another report, up to the limit."""
    return report(
        [*found, *other.results][:limit], complete=other.complete and len(found) + len(other.results) <= limit
    )


def compact(text: str) -> str:
    """Return a text for human readers, with IRIs of well-known vocabularies shortened to ``prefix:name``."""
    for prefix, space in PREFIXES.items():
        if f"<{space}" in text:
            text = _shorten(text, prefix, space)
    return text


def _shorten(text: str, prefix: str, space: str) -> str:
    first, *others = text.split(f"<{space}")
    return first + "".join(f"{prefix}:{other.replace('>', '', 1)}" for other in others)
