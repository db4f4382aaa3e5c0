"""What is wrong with a store, in words; and telling so whatever is damaged."""

from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode, Quad

from idstore.errors import IdstoreError, StoreDamaged, StoreUnavailable
from idstore.frozen import dataclass
from idstore.model.record import reserved
from idstore.vocabulary import CLAIMS, access_list, closed_party

DAMAGED = (AssertionError, AttributeError, LookupError, TypeError, ValueError, IdstoreError)
"""What reading damaged data can raise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction.

    kind     a stable slug, one of `KINDS`.
    node     what it concerns.
    message  what is wrong.
    """

    kind: str
    node: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.node}: {self.message}"


KINDS = {
    "sequence-gap": "an event is missing in the order of the log",
    "publication-gap": "the public feed has a gap, or leaves a public event out",
    "event-missing": "the log lists an event that is nowhere",
    "event-changed": "an event is not what it was, or not where it belongs",
    "event-unlisted": "an event that the order of the log does not have",
    "private-in-public": "something private can be seen by everyone",
    "missing-triple": "the log says something that is not stored",
    "unexplained-triple": "something is stored that the log does not say",
    "dangling-binding": "a binding is stored by half, or of an identifier that is not there, or nobody made it",
    "dangling-value": "a value is stored by half, or of an identifier that is not there, or nobody set it",
    "issued-twice": "two identifiers have the same label under their namespace's comparison rule",
    "claim-missing": "a label, or a request key, is not marked as taken",
    "claim-unexplained": "a label, or a request key, is marked as taken by what never had it",
    "listing": "lists show an identifier, or an event, otherwise than it is",
    "counter": "a counter is wrong",
    "unreadable": "something is damaged so that it cannot be compared",
}
"""Every kind of contradiction."""


def guarded(kind: str, node: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, and one more of that kind when the data cannot be read. Raises StoreUnavailable, but for damaged files."""
    try:
        yield from found
    except DAMAGED as error:
        if isinstance(error, StoreUnavailable) and not isinstance(error, StoreDamaged):
            raise
        yield Finding(kind, node, f"it cannot be read ({type(error).__name__}: {error})")


def is_public(graph: object) -> bool:
    """Whether everyone sees what is kept in a graph."""
    return isinstance(graph, NamedNode) and graph != CLAIMS and access_list(graph) is None and closed_party(graph) is None


def misplaced(graph: object, kind: str = "unexplained-triple") -> str:
    """The kind of finding for what should not be in that graph, but may be elsewhere."""
    return "private-in-public" if is_public(graph) else kind


def differences(stored: set[Quad], wanted: set[Quad], node: str) -> Iterator[Finding]:
    """What is stored of ``node`` and its bindings and not wanted, or wanted and not stored."""
    for quad in sorted(wanted - stored, key=str):
        yield Finding(_binding_or("missing-triple", quad, node), node, f"the log says {quad}, which is not stored")
    private = {quad.triple for quad in wanted if not is_public(quad.graph_name)}
    for quad in sorted(stored - wanted, key=str):
        kind = _binding_or("unexplained-triple", quad, node)
        yield Finding(misplaced(quad.graph_name, kind) if quad.triple in private else kind, node, f"nothing in the log says {quad}")


def _binding_or(kind: str, quad: Quad, node: str) -> str:
    """Another kind for a binding (its statement, or the plain triple) and for a value."""
    subject = quad.subject.value if isinstance(quad.subject, NamedNode) else ""
    if subject.startswith(f"{node}#"):
        return "dangling-value"
    return kind if subject == node and reserved(quad.predicate) else "dangling-binding"
