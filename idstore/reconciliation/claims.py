"""Statements as the sides make them, and what several of them say together."""

from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """One statement that an identifier stands in a relation to something, as one side makes it.

    by, at  the party that says so in a registry, and since when.
    author  who found it, where that is told.
    line    where in its file, None in a registry.
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


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, with everybody who makes it.

    said  side and statement, each time that it is made.
    """

    subject: str
    relation: str
    target: str
    said: tuple[tuple[int, Link], ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What it says."""
        return self.subject, self.relation, self.target

    @property
    def sides(self) -> list[int]:
        """The sides that make it."""
        return sorted({side for side, _ in self.said})
