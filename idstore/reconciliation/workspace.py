"""Everything that the sides of a reconciliation say, in one scratch database: memory stays flat, and each question is one query."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from idstore.model.terms import hashed, stem

_SCHEMA: Final = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-200000;
PRAGMA temp_store=FILE;
CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL, kind INTEGER NOT NULL);
CREATE TABLE record (id INTEGER, side INTEGER, stage TEXT, PRIMARY KEY (id, side)) WITHOUT ROWID;
CREATE TABLE fact (id INTEGER, property TEXT, side INTEGER, value TEXT, PRIMARY KEY (id, property, side, value)) WITHOUT ROWID;
CREATE TABLE link (
    subject INTEGER NOT NULL, relation INTEGER NOT NULL, target INTEGER NOT NULL, side INTEGER NOT NULL,
    by TEXT, at TEXT, note TEXT, confidence REAL, justification TEXT, author TEXT, line INTEGER);
CREATE TABLE refused (side INTEGER, line INTEGER, reason TEXT);
"""
_INDEXES: Final = """
CREATE INDEX by_subject ON link (subject, relation, target, side);
CREATE INDEX by_target ON link (target, subject);
ANALYZE;
"""
_BATCH: Final = 20_000
"""Rows that are written at once."""
STATED: Final = "stated"
"""The stage of an identifier that a mapping file alone speaks of."""


@dataclass(frozen=True, slots=True)
class Link:
    """One statement that an identifier stands in a relation to something, as one side makes it.

    line  where in its file, None in a registry.
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


class Workspace:
    """The scratch database, in a folder that its owner removes.

    bases  bases of the namespaces that registries among the sides have; an identifier's kind is the longest of them that it begins with.
    """

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "reconciliation.sqlite", isolation_level=None, check_same_thread=False)
        self.db.executescript(_SCHEMA)
        self.bases: list[str] = []
        self._terms: dict[int, tuple[int, str, int]] = {}
        self._links: list[tuple[object, ...]] = []
        self._records: list[tuple[int, int, str]] = []
        self._facts: list[tuple[int, str, int, str]] = []
        self.db.execute("BEGIN")

    # writing

    def add_base(self, base: str) -> None:
        """Note the base of a namespace; before what is in it."""
        if base not in self.bases:
            self.bases = sorted([*self.bases, base], key=len, reverse=True)

    def add_record(self, side: int, iri: str, stage: str) -> None:
        """An identifier that a side holds, or speaks of."""
        self._records.append((self._term(iri), side, stage))

    def add_fact(self, side: int, iri: str, name: str, value: str) -> None:
        """What a side says of an identifier: a name, a target, a successor."""
        self._facts.append((self._term(iri), name, side, value))

    def add_link(self, side: int, link: Link, kinds: tuple[str, str] = ("", "")) -> None:
        """A statement; ``kinds`` tells what its two ends are one of, where they are no IRIs."""
        self._links.append(
            (
                self._term(link.subject, kinds[0]),
                self._term(link.relation),
                self._term(link.target, kinds[1]),
                side,
                link.by,
                link.at,
                link.note or None,
                link.confidence,
                link.justification or None,
                link.author or None,
                link.line,
            )
        )
        if len(self._links) >= _BATCH:
            self._write()

    def refuse(self, side: int, line: int, reason: str) -> None:
        """A row that could not be understood."""
        self.db.execute("INSERT INTO refused VALUES (?, ?, ?)", (side, line, reason))

    def complete(self) -> None:
        """Everything has been added."""
        self._write()
        self.db.execute("COMMIT")
        self.db.executescript(_INDEXES)

    def close(self) -> None:
        """Give the file up."""
        self.db.close()

    def _term(self, text: str, kind: str = "") -> int:
        number = hashed(text)
        if number not in self._terms:
            of = self.kind_of(text) or kind
            self._terms[number] = (number, text, self._term(of) if of and of != text else number)
        return number

    def kind_of(self, text: str) -> str:
        """What an identifier is one of: its registry's namespace, or else the stem of its IRI; of a bare text nothing."""
        for base in self.bases:
            if text.startswith(base):
                return base
        return stem(text)

    def _write(self) -> None:
        self.db.executemany("INSERT OR IGNORE INTO term VALUES (?, ?, ?)", self._terms.values())
        self.db.executemany("INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._links)
        self.db.executemany(
            "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET stage = excluded.stage WHERE stage = 'stated'", self._records
        )
        self.db.executemany("INSERT OR IGNORE INTO fact VALUES (?, ?, ?, ?)", self._facts)
        for written in (self._terms, self._links, self._records, self._facts):
            written.clear()

    # reading

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        found: Iterator[tuple[Any, ...]] = self.db.execute(query, values)
        return found

    def name_of(self, iri: str) -> str:
        """A name that a side gives it, empty if none does."""
        found = self.db.execute(
            "SELECT value FROM fact WHERE id = ? AND property GLOB 'name*' ORDER BY property, side, value LIMIT 1", (hashed(iri),)
        ).fetchone()
        return "" if found is None else str(found[0])

    def claims(self, condition: str, values: Sequence[object] = ()) -> "Iterator[Claim]":
        """The statements that match, those that say the same together, in an order that only they decide.

        condition  SQL about ``link`` and the terms ``s``, ``r`` and ``t`` of its subject, relation and target.
        """
        found = self.rows(
            "SELECT s.text, r.text, t.text, side, by, at, note, confidence, justification, author, line FROM link"
            " JOIN term s ON s.id = subject JOIN term r ON r.id = relation JOIN term t ON t.id = target"
            f" WHERE {condition} ORDER BY s.text, r.text, t.text, side, at, by, line",
            values,
        )
        for key, rows in groupby(found, key=itemgetter(0, 1, 2)):
            subject, relation, target = key
            yield Claim(subject, relation, target, tuple((row[3], Link(*key, *row[4:])) for row in rows))


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

    @property
    def confidence(self) -> float:
        """The highest that anybody states; 1 where nobody does."""
        return max((link.confidence for _, link in self.said if link.confidence is not None), default=1.0)

    @property
    def strength(self) -> tuple[float, int]:
        """Confidence, and how often it is said."""
        return self.confidence, len(self.said)
