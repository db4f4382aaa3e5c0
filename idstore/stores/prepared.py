"""A change as engine and catalogue take it."""

from typing import NamedTuple

from idstore.model.change import Change, Entry
from idstore.model.event import digest
from idstore.model.terms import hashed


class Prepared(NamedTuple):
    """A change and what follows from it.

    sequence  of its last event.
    lines     what it adds, as N-Quads in UTF-8; empty where it also removes something.
    listed    identifiers whose listing changes.
    marks     of each event: `hashed` IRI of what it is about, and its digest.
    """

    sequence: int
    change: Change
    lines: bytes
    listed: list[Entry]
    marks: list[tuple[int, int]]

    @classmethod
    def of(cls, sequence: int, change: Change) -> "Prepared":
        """Prepare a change; ``sequence`` is that of its last event."""
        return cls(
            sequence,
            change,
            b"" if change.remove else change.lines().encode(),
            change.listed(),
            [(hashed(event.about.value), digest(event)) for event, _ in change.events],
        )
