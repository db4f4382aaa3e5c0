"""What the rows of a catalogue mean."""

import sqlite3

from idstore.frozen import dataclass
from idstore.vocabulary import PUBLIC_LOG, event_name

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
        return event_name(self.origin, self.token)


class Texts:
    """The numbers that stand for texts in the rows. Those given in a transaction that is undone have to be forgotten with it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, given at first use. Raises sqlite3.Error."""
        number = self._known.get(text)
        if number is None:
            row = self._db.execute("SELECT id FROM term WHERE text = ?", (text,)).fetchone()
            row = row or self._db.execute("INSERT INTO term (text) VALUES (?) RETURNING id", (text,)).fetchone()
            number = self._known[text] = int(row[0])
        return number

    def audience(self, graph: str) -> int:
        """The number of those who see a graph of events. Raises sqlite3.Error."""
        return EVERYONE if graph == PUBLIC_LOG.value else self.number(graph)

    def forget(self) -> None:
        """Ask for each again."""
        self._known.clear()
