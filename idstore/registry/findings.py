"""The findings of a verification, and reading that survives damage."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import NamedNode, Quad

from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.model.record import reserved
from idstore.registry.visibility import is_private

DAMAGED = (AssertionError, AttributeError, LookupError, TypeError, ValueError, IdstoreError)
"""The exceptions that reading damaged data can raise."""


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """One contradiction.

    kind     a stable slug, one of `KINDS`.
    node     the IRI that it concerns.
    message  the contradiction in words.
    """

    kind: str
    node: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.node}: {self.message}"


KINDS = {
    "sequence-gap": "an event is missing in the order of the log",
    "publication-gap": "the public feed has a gap, or omits a public event",
    "event-missing": "the log lists an event that is not stored",
    "event-changed": "an event was altered, or is in the wrong graph",
    "event-unlisted": "the order of the log lacks a stored event",
    "private-in-public": "private data is visible to everyone",
    "missing-triple": "a triple that the log implies is not stored",
    "unexplained-triple": "a stored triple does not follow from the log",
    "dangling-binding": "a binding is incomplete, its identifier is missing, or no event made it",
    "dangling-value": "a value is incomplete, its identifier is missing, or no event set it",
    "issued-twice": "two identifiers have the same label under their namespace's comparison rule",
    "claim-missing": "a label or a request key is not marked as taken",
    "claim-unexplained": "a label or a request key is marked as taken by an identifier that never had it",
    "listing": "a list shows an identifier or an event differently from its record",
    "counter": "a counter is wrong",
    "unreadable": "damaged data cannot be compared",
}
"""Every kind of contradiction."""


def guarded(kind: str, node: str, findings: Iterable[VerificationFinding]) -> Iterator[VerificationFinding]:
    """Yield the findings, and one more of that kind if the data cannot be read.

    Raises StoreUnavailable, except for damaged files.
    """
    try:
        yield from findings
    except DAMAGED as error:
        if isinstance(error, StoreUnavailable) and not isinstance(error, StoreDamaged):
            raise
        yield VerificationFinding(kind, node, f"it cannot be read ({type(error).__name__}: {error})")


def is_public(graph: object) -> bool:
    """Return whether the quads of a graph are visible to everyone."""
    return isinstance(graph, NamedNode) and not is_private(graph)


def misplaced(graph: object, kind: str = "unexplained-triple") -> str:
    """Return the kind of finding for data that is in the wrong graph."""
    return "private-in-public" if is_public(graph) else kind


def differences(stored: set[Quad], expected: set[Quad], node: str) -> Iterator[VerificationFinding]:
    """Yield the differences between stored and expected quads of ``node``, its bindings and its values."""
    for quad in sorted(expected - stored, key=str):
        yield VerificationFinding(
            _binding_or("missing-triple", quad, node), node, f"{quad} follows from the log, but is not stored"
        )
    private = {quad.triple for quad in expected if not is_public(quad.graph_name)}
    for quad in sorted(stored - expected, key=str):
        kind = _binding_or("unexplained-triple", quad, node)
        yield VerificationFinding(
            misplaced(quad.graph_name, kind) if quad.triple in private else kind,
            node,
            f"{quad} is stored, but does not follow from the log",
        )


def _binding_or(kind: str, quad: Quad, node: str) -> str:
    """Return ``kind``, or the kind for a quad of a binding (its statement or the plain triple) or a value."""
    subject = quad.subject.value if isinstance(quad.subject, NamedNode) else ""
    if subject.startswith(f"{node}#"):
        return "dangling-value"
    return kind if subject == node and reserved(quad.predicate) else "dangling-binding"
