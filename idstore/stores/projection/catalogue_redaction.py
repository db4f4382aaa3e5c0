"""Redaction in the catalogue: changed events, and another name for a party."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from pyoxigraph import NamedNode

from idstore.model.event import Event, digest
from idstore.model.names import target_number
from idstore.model.terms import hashed
from idstore.vocabulary import hides, renamed_graph

_NUMBER: Final = "SELECT id FROM term WHERE text = ?"
_CHANGE: Final = (
    "UPDATE event SET about = ?, digest = ?, target = ?"
    " WHERE token = ? AND origin = (SELECT id FROM term WHERE text = ?)"
)
_RENAME: Final = (
    "UPDATE event SET actor = :new WHERE actor = :old",
    "UPDATE identifier SET owner = :new WHERE owner = :old",
    "UPDATE tally SET owner = :new WHERE owner = :old",
)
"""A party and a kind of event can have the same name, and then share a term."""
_REMOVE_UNUSED: Final = (
    "DELETE FROM term WHERE id = ? AND id NOT IN (SELECT act FROM event UNION SELECT origin FROM event"
    " UNION SELECT namespace FROM identifier UNION SELECT namespace FROM series)"
)


def redact(database: sqlite3.Connection, events: Iterable[Event], renamed: tuple[str, str] | None) -> None:
    """See `Catalogue.redact`. Raises sqlite3.Error."""
    database.executemany(
        _CHANGE,
        (
            (hashed(event.about), digest(event), target_number(event), event.token, event.origin)
            for event in events
        ),
    )
    if renamed is not None:
        _rename_graphs(database, *renamed)
        _rename_party(database, *renamed)


def _rename_graphs(database: sqlite3.Connection, old: str, new: str) -> None:
    for number, text in database.execute("SELECT id, text FROM term").fetchall():
        if ":" not in text or not hides(graph := NamedNode(text)):
            continue
        renamed = renamed_graph(graph, old, new)
        if renamed != graph:
            database.execute("UPDATE term SET text = ? WHERE id = ?", (renamed.value, number))


def _rename_party(database: sqlite3.Connection, old: str, new: str) -> None:
    former = database.execute(_NUMBER, (old,)).fetchone()
    if former is None:
        return
    [number] = database.execute("INSERT INTO term (text) VALUES (?) RETURNING id", (new,)).fetchone()
    for statement in _RENAME:
        database.execute(statement, {"old": former[0], "new": number})
    database.execute(_REMOVE_UNUSED, former)
