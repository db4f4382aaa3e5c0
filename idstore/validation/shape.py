"""Shapes and their constraints as frozen values."""

from dataclasses import dataclass

from idstore.validation.graph import Term
from idstore.validation.paths import Path


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint of a shape.

    kind     the parameter's local name: ``minCount``, ``or``.
    terms    its values: the class, the members of ``sh:in``, the properties that a closed shape allows.
    shapes   the shapes it speaks of.
    count    the number, for those that count.
    text     the pattern.
    flags    the pattern's flags.
    """

    kind: str
    terms: tuple[Term, ...] = ()
    shapes: tuple["Shape", ...] = ()
    count: int = 0
    text: str = ""
    flags: str = ""

    @property
    def words(self) -> str:
        """The constraint as a message, for shapes that have none."""
        value = self.text or " ".join(map(str, self.terms)) or (str(self.count) if "Count" in self.kind or "Length" in self.kind else "")
        return f"breaks sh:{self.kind} {value}".rstrip()


@dataclass(frozen=True, slots=True)
class Target:
    """Which nodes a shape is for: ``kind`` is ``node``, ``class``, ``subjectsOf`` or ``objectsOf``."""

    kind: str
    term: Term


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape, or with a path a property shape.

    iri          its name, ``_:…`` for a blank node.
    path         how to get to the values, None for a node shape.
    properties   property shapes that hold for each value (of a node shape: for the node).
    """

    iri: str
    path: Path | None = None
    targets: tuple[Target, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    properties: tuple["Shape", ...] = ()
    name: str = ""
    message: str = ""
    severity: str = "Violation"
    active: bool = True
