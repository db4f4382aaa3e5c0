"""What a file tells of another registry, sorted: what comes in, what stays out, and in what the two differ."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from idstore.errors import InvalidData
from idstore.model import event as events
from idstore.model.event import Event
from idstore.registry import Registry
from idstore.registry.merging import Divergence, hides
from idstore.stores import Turn
from idstore.stores.generation import Scratch
from idstore.vocabulary import IDS, RDF

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE event (at INTEGER, origin TEXT, token INTEGER, iri TEXT PRIMARY KEY, about TEXT, hidden INTEGER);
CREATE INDEX event_about ON event (about);
CREATE TABLE left_out (iri TEXT PRIMARY KEY);
"""
_FOREIGN = "SELECT DISTINCT about FROM event WHERE origin NOT IN (SELECT value FROM json_each(?)) ORDER BY about"


@dataclass(slots=True)
class LeftOut:
    """What of another registry did not come in.

    private  how many identifiers that are not published there.
    parties  how many parties there: each registry keeps its own.
    held     identifiers that are published there, and drafts or released here: they can come in once they are published here.
    """

    private: int = 0
    parties: int = 0
    held: list[str] = field(default_factory=list)


class Told:
    """The events of a file, in order; the order is kept in ``database``. Raises InvalidData: one is not whole."""

    def __init__(self, scratch: Scratch, database: sqlite3.Connection) -> None:
        self._scratch = scratch
        self._order = database
        database.executescript(_TABLES)
        database.executemany("INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?)", self._rows())

    @property
    def empty(self) -> bool:
        """Whether it tells nothing."""
        return self._order.execute("SELECT 1 FROM event LIMIT 1").fetchone() is None

    def _rows(self) -> Iterator[tuple[int, str, int, str, str, bool]]:
        for quad in self._scratch.quads(None, IDS.about):
            iri = quad.subject
            try:
                assert isinstance(iri, NamedNode)
                event = self._event(iri.value)
            except (AssertionError, KeyError, ValueError, InvalidData):
                raise InvalidData(f"{iri} is not a whole event: its kind, party or time is missing or malformed") from None
            yield event.at, event.origin, event.token, iri.value, event.about.value, hides(quad.graph_name)

    def _event(self, iri: str) -> Event:
        return events.parse(NamedNode(iri), self._scratch.quads(NamedNode(iri)))

    def events(self) -> Iterator[Event]:
        """Those that come in, by time, origin and token. Memory: flat."""
        found = self._order.execute("SELECT iri FROM event WHERE iri NOT IN (SELECT iri FROM left_out) ORDER BY at, origin, token")
        return (self._event(iri) for (iri,) in found)

    def leave_out(self, registry: Registry, staged: Turn) -> LeftOut:
        """Sort out what of another registry does not come in. Memory: one thing's events, and the names of those that are held back."""
        homes = registry.homes(staged)
        left = LeftOut()
        for (about,) in self._order.execute(_FOREIGN, [json.dumps([*homes])]):
            told = [(self._event(iri), bool(hidden)) for iri, hidden in self._about(about)]
            reception = registry.reception(staged, told)
            left.private += reception == "private"
            left.parties += reception == "parties"
            left.held += [about] if reception == "held" else []
            out = [event for event, _ in told if event.origin not in homes and (reception != "taken" or event.internal)]
            self._order.executemany("INSERT INTO left_out VALUES (?)", [(event.iri.value,) for event in out])
        return left

    def _about(self, about: str) -> list[tuple[str, int]]:
        return self._order.execute("SELECT iri, hidden FROM event WHERE about = ? ORDER BY at, origin, token", (about,)).fetchall()

    def differences(self, registry: Registry, staged: Turn) -> Iterator[Divergence]:
        """In what identifiers differ: those of the file by IRI, then those that are published here alone, of the namespaces that it tells.

        To be asked for before the events are taken in.
        """
        for (about,) in self._order.execute("SELECT DISTINCT about FROM event ORDER BY about"):
            told = [self._event(iri) for iri, _ in self._about(about) if not self._is_out(iri)]
            found = registry.divergence(staged, NamedNode(about), told) if told else None
            if found is not None:
                yield found
        for event in self._scratch.quads(None, RDF.type, IDS.NamespaceAddition):
            for base in self._scratch.quads(event.subject, IDS.about):  # type: ignore[arg-type]
                yield from self._alone(registry, staged, base.object)

    def _alone(self, registry: Registry, staged: Turn, base: object) -> Iterator[Divergence]:
        assert isinstance(base, NamedNode)
        for iri in staged.catalogue.sorted_identifiers(namespace=base.value):
            if self._order.execute("SELECT 1 FROM event WHERE about = ?", (iri,)).fetchone() is None:
                yield registry.here_alone(staged, NamedNode(iri))

    def _is_out(self, iri: str) -> bool:
        return self._order.execute("SELECT 1 FROM left_out WHERE iri = ?", (iri,)).fetchone() is not None
