"""What the rows of a catalogue mean."""

from dataclasses import dataclass

EVERYONE = 0
STAGES = ("created", "fixated", "tombstone")


@dataclass(frozen=True, slots=True, order=True)
class EventRow:
    """Where an event stands: its place in this store, where it comes from, who may see it, its place in the public feed."""

    sequence: int
    origin: str
    token: int
    graph: str | None
    publication: int | None

    @property
    def iri(self) -> str:
        """The event's name."""
        return f"urn:uuid:{self.origin}#{self.token:016x}"
