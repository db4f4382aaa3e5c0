"""Statements as single sides make them, and statements that several sides share."""

from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """One statement of one side: an identifier, its relation, and a target.

    by, at  the party that made it in a registry, and the time.
    author  the author of the mapping, None if unknown.
    line    its line in a file, None in a registry.
    written the target as the side writes it, if that is another form of the same name.
    """

    subject: str
    relation: str
    target: str
    by: str | None = None
    at: str | None = None
    note: str | None = None
    confidence: float | None = None
    justification: str | None = None
    author: str | None = None
    line: int | None = None
    written: str | None = None


@dataclass(frozen=True, slots=True)
class SharedStatement:
    """A statement with all its occurrences.

    occurrences  side and link, for each time that a side makes the statement.
    """

    subject: str
    relation: str
    target: str
    occurrences: tuple[tuple[int, Link], ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """Subject, relation and target."""
        return self.subject, self.relation, self.target

    @property
    def sides(self) -> list[int]:
        """The numbers of the sides that make the statement."""
        return sorted({side for side, _ in self.occurrences})
