"""The tables of the catalogue, and the conversion of values to rows."""

import sqlite3
from typing import Final

from idstore.model.event import Event, digest
from idstore.model.listing import STAGES, Listing
from idstore.model.names import target_number
from idstore.vocabulary import PUBLIC_LOG

SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE identifier (
    n INTEGER PRIMARY KEY, hash INTEGER NOT NULL, iri TEXT NOT NULL, namespace INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    stage INTEGER NOT NULL, audience INTEGER NOT NULL, created INTEGER NOT NULL, fixated INTEGER);
CREATE INDEX identifier_hash ON identifier (hash);
CREATE INDEX identifier_created ON identifier (audience, created);
CREATE INDEX identifier_owner ON identifier (audience, owner, created);
CREATE INDEX identifier_namespace ON identifier (audience, namespace, created);
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY, origin INTEGER NOT NULL, token INTEGER NOT NULL, act INTEGER NOT NULL,
    about INTEGER NOT NULL,
    actor INTEGER NOT NULL, at INTEGER NOT NULL, audience INTEGER NOT NULL, publication INTEGER,
    digest INTEGER NOT NULL, target INTEGER);
CREATE UNIQUE INDEX event_name ON event (token, origin);
CREATE INDEX event_about ON event (about);
CREATE INDEX event_actor ON event (actor, sequence);
CREATE INDEX event_audience ON event (audience, sequence);
CREATE INDEX event_target ON event (target, audience) WHERE target IS NOT NULL;
CREATE UNIQUE INDEX event_publication ON event (publication) WHERE publication IS NOT NULL;
CREATE TABLE tally (
    audience INTEGER, namespace INTEGER, owner INTEGER, stage INTEGER, count INTEGER NOT NULL,
    PRIMARY KEY (audience, namespace, owner, stage)) WITHOUT ROWID;
CREATE TABLE daily (
    audience INTEGER, day INTEGER, namespace INTEGER, count INTEGER NOT NULL, PRIMARY KEY (audience, day,
    namespace)) WITHOUT ROWID;
CREATE TABLE series (
    namespace INTEGER, series TEXT, issued INTEGER NOT NULL, highest INTEGER NOT NULL,
    PRIMARY KEY (namespace, series)) WITHOUT ROWID;
INSERT INTO meta VALUES ('mark', 0), ('publication', 0), ('sequence', 0);
"""
META: Final = ("mark", "publication", "sequence")
"""Keys of the table ``meta``: last journal row, last publication number, last sequence number."""
EVERYONE: Final = 0
"""The audience of public rows. Every other audience is the number of an access-list or closed-log graph."""
_CACHE_SIZE: Final = 50_000
"""Maximum number of terms cached in memory."""


class Terms:
    """Numbers that represent texts in the rows.

    `rollback_to` and `rollback` discard the numbers that the database discards, those assigned since
    `savepoint` or `settle`.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database
        self._numbers: dict[str, int] = {}
        self._new: list[str] = []
        self._kept = 0

    def number(self, text: str) -> int:
        """Return the number of a text, assigned at first use. Raises sqlite3.Error."""
        number = self._numbers.get(text)
        if number is None:
            row = self._db.execute("SELECT id FROM term WHERE text = ?", (text,)).fetchone()
            self._new.append(text)  # first, so that an interrupt does not leave the number in the cache
            row = (
                row or self._db.execute("INSERT INTO term (text) VALUES (?) RETURNING id", (text,)).fetchone()
            )
            number = self._numbers[text] = int(row[0])
        return number

    def audience(self, graph: str | None) -> int:
        """Return the audience number of a graph of log events or private records.

        None and the public log mean everyone.
        """
        return EVERYONE if graph is None or graph == PUBLIC_LOG.value else self.number(graph)

    def savepoint(self) -> None:
        """Mark the state to which `rollback_to` returns."""
        self._kept = len(self._new)

    def rollback_to(self) -> None:
        """Discard numbers assigned since the savepoint."""
        for text in self._new[self._kept :]:
            self._numbers.pop(text, None)
        del self._new[self._kept :]

    def rollback(self) -> None:
        """Discard numbers assigned since the last commit."""
        self._kept = 0
        self.rollback_to()

    def settle(self) -> None:
        """Confirm the numbers after a commit."""
        self._new.clear()
        self._kept = 0
        if len(self._numbers) > _CACHE_SIZE:
            self._numbers.clear()

    def forget(self) -> None:
        """Forget all numbers, because texts were replaced."""
        self._numbers.clear()
        self.settle()

    # rows

    def event(
        self, sequence: int, event: Event, audience: int, publication: int | None, about: int
    ) -> tuple[int | None, ...]:
        """Return the row of an event; ``about`` is the hash of the event's subject.

        A bulk load passes as ``publication`` the event that makes this one public.
        """
        number = self.number
        return (
            sequence,
            number(event.origin),
            event.token,
            number(event.act),
            about,
            number(event.by),
            event.moment,
            audience,
            publication,
            digest(event),
            target_number(event),
        )

    def listing(self, listing: Listing) -> tuple[int, int, int, int, int, int | None]:
        """Return namespace, owner, stage, audience, created and fixated of a listing.

        Raises ValueError: identifiers of that stage are not listed.
        """
        return (
            self.number(listing.namespace),
            self.number(listing.owner),
            STAGES.index(listing.stage),
            self.audience(listing.audience),
            listing.created,
            listing.fixated,
        )
