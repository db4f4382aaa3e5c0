"""Frozen values of shapes and constraints."""

from dataclasses import dataclass

from idstore.validation.graph import Term
from idstore.validation.paths import Path


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a shape.

    kind     local name of its parameter: ``minCount``, ``or``.
    terms    its terms: the class, the members of ``sh:in``, the properties that a closed shape allows.
    shapes   the shapes that it refers to.
    count    the number in a count or length.
    text     the pattern.
    flags    flags of the pattern.
    """

    kind: str
    terms: tuple[Term, ...] = ()
    shapes: tuple["Shape", ...] = ()
    count: int = 0
    text: str = ""
    flags: str = ""

    @property
    def words(self) -> str:
        """A description of the constraint, for shapes without a message."""
        value = (
            self.text
            or " ".join(map(str, self.terms))
            or (str(self.count) if "Count" in self.kind or "Length" in self.kind else "")
        )
        return f"breaks sh:{self.kind} {value}".rstrip()


@dataclass(frozen=True, slots=True)
class Target:
    """A target of a shape: ``kind`` is ``node``, ``class``, ``subjectsOf`` or ``objectsOf``."""

    kind: str
    term: Term


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape, or with a path a property shape.

    iri          IRI of the shape, ``_:…`` for a blank node.
    path         path to the values, None for a node shape.
    properties   property shapes for each value (of a node shape: for the node).
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
