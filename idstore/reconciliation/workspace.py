"""The scratch database with all statements of the sides: memory stays flat, and each search is one query."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from idstore.errors import StoreUnavailable
from idstore.model.names import Names
from idstore.model.terms import hashed
from idstore.reconciliation import term_dictionary
from idstore.reconciliation.claims import Link, SharedStatement
from idstore.reconciliation.relations import IDENTITY, TARGET, among
from idstore.schemes import well_known

_SCHEMA: Final = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-800000;
PRAGMA temp_store=FILE;
CREATE TABLE record (id INTEGER, side INTEGER, stage TEXT, PRIMARY KEY (id, side)) WITHOUT ROWID;
CREATE TABLE fact (id INTEGER, property TEXT, side INTEGER, value TEXT,
    PRIMARY KEY (id, property, side, value)) WITHOUT ROWID;
CREATE TABLE link (
    subject INTEGER NOT NULL, relation INTEGER NOT NULL, target INTEGER NOT NULL, side INTEGER NOT NULL,
    by TEXT, at TEXT, note TEXT, confidence REAL, justification TEXT, author TEXT, line INTEGER,
    written INTEGER);
CREATE TABLE plain (subject INTEGER, relation INTEGER, target INTEGER, side INTEGER, written INTEGER,
    PRIMARY KEY (subject, relation, target, side)) WITHOUT ROWID;
CREATE TABLE goal (subject INTEGER, target INTEGER, side INTEGER, line INTEGER, written INTEGER,
    PRIMARY KEY (target, subject, side, line)) WITHOUT ROWID;
CREATE TABLE piece (node INTEGER, side INTEGER, subject INTEGER, relation INTEGER, target INTEGER,
    by TEXT, at TEXT, note TEXT, confidence REAL, justification TEXT, author TEXT, status TEXT,
    written INTEGER, PRIMARY KEY (node, side)) WITHOUT ROWID;
CREATE TABLE denial (subject INTEGER, relation INTEGER, target INTEGER, side INTEGER, line INTEGER);
CREATE TABLE refused (side INTEGER, line INTEGER, reason TEXT);
"""
_IDENTITY: Final = among(IDENTITY)
_PIECES: Final = (
    "subject",
    "relation",
    "target",
    "by",
    "at",
    "note",
    "confidence",
    "justification",
    "author",
    "status",
)
_INSERTS: Final = {
    "record": "INSERT INTO record VALUES (?, ?, ?)"
    " ON CONFLICT DO UPDATE SET stage = excluded.stage WHERE stage = 'released'",
    "fact": "INSERT OR IGNORE INTO fact VALUES (?, ?, ?, ?)",
    "link": "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
    "plain": "INSERT OR IGNORE INTO plain VALUES (?, ?, ?, ?, NULL)",
    "goal": "INSERT OR IGNORE INTO goal VALUES (?, ?, ?, ?, NULL)",
    "piece": "INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name} = COALESCE(piece.{name}, excluded.{name})" for name in _PIECES),
    "denial": "INSERT INTO denial VALUES (?, ?, ?, ?, ?)",
    "refused": "INSERT INTO refused VALUES (?, ?, ?)",
}
_UNITE: Final = """
UPDATE OR IGNORE record SET id = (SELECT main FROM form WHERE form.id = record.id)
    WHERE id IN (SELECT id FROM form);
DELETE FROM record WHERE id IN (SELECT id FROM form);
UPDATE OR REPLACE fact SET id = (SELECT main FROM form WHERE form.id = fact.id)
    WHERE id IN (SELECT id FROM form);
UPDATE OR REPLACE fact SET value = (SELECT MIN(o.value) FROM fact o
        WHERE o.id = fact.id AND o.property = fact.property AND name_key(o.value) = name_key(fact.value))
    WHERE property IN ('target', 'replaced by') AND EXISTS (SELECT 1 FROM fact o
        WHERE o.id = fact.id AND o.property = fact.property AND o.value <> fact.value);
""" + "".join(
    f"""
UPDATE OR IGNORE {table} SET subject = (SELECT main FROM form WHERE form.id = subject)
    WHERE subject IN (SELECT id FROM form);
UPDATE OR IGNORE {table} SET {written} target = (SELECT main FROM form WHERE form.id = target)
    WHERE target IN (SELECT id FROM form);
DELETE FROM {table} WHERE subject IN (SELECT id FROM form) OR target IN (SELECT id FROM form);
"""
    for table, written in (
        ("link", "written = target,"),
        ("plain", "written = target,"),
        ("goal", "written = target,"),
        ("piece", "written = target,"),
        ("denial", ""),
    )
)
"""Puts the main form of each name in the place of the others; ``written`` keeps the form of a target."""
_COMPLETE: Final = f"""
INSERT INTO link SELECT subject, relation, target, side, by, at, note, confidence, justification, author,
    NULL, written FROM piece
    WHERE subject IS NOT NULL AND relation IS NOT NULL AND target IS NOT NULL AND status IS NULL;
INSERT INTO denial SELECT subject, relation, target, side, NULL
    FROM piece WHERE subject IS NOT NULL AND relation IS NOT NULL AND target IS NOT NULL
    AND status = 'denied';
DELETE FROM plain WHERE (subject, relation, target, side) IN
    (SELECT subject, relation, target, side FROM piece WHERE status IS NOT NULL);
CREATE INDEX by_subject ON link (subject, relation, target, side);
INSERT INTO link (subject, relation, target, side, written) SELECT * FROM plain p WHERE NOT EXISTS
    (SELECT 1 FROM link l WHERE l.subject = p.subject AND l.relation = p.relation AND l.target = p.target
        AND l.side = p.side);
CREATE INDEX by_target ON link (target, subject, relation, side);
CREATE TABLE turning (id INTEGER PRIMARY KEY);
INSERT INTO turning SELECT DISTINCT target FROM link l WHERE {_IDENTITY}
    AND EXISTS (SELECT 1 FROM link n WHERE n.subject = l.target AND n.{_IDENTITY});
CREATE VIEW identity AS SELECT * FROM link WHERE {_IDENTITY};
CREATE VIEW kind_of_target AS SELECT subject, target, kind FROM identity JOIN kind ON id = target;
CREATE VIEW claim AS SELECT * FROM identity UNION ALL SELECT subject, {hashed(TARGET)}, target, side,
    NULL, NULL, NULL, NULL, NULL, NULL, NULLIF(line, 0), written FROM goal;
CREATE VIEW kind_of_subject AS SELECT subject, target, kind FROM identity JOIN kind ON id = subject;
CREATE VIEW kind_of_identifier AS SELECT subject, target, kind FROM goal JOIN kind ON id = subject;
CREATE VIEW kind_of_all_identifiers AS SELECT subject, target, {hashed(TARGET)} AS kind FROM goal;
PRAGMA analysis_limit=1000;
ANALYZE;
"""
"""Orders the links, and defines who claims a target: by a link of identity, or as what it identifies.

All identifiers of one thing are alike, also identifiers of different kinds.
"""
_BATCH: Final = 50_000
"""Rows in one batch of inserts."""
_STEPS: Final = 1_000_000
"""Steps of SQLite's virtual machine between two calls of the progress handler."""
RELEASED: Final = "released"
"""The stage of an identifier that was released before it was published."""
DENIED: Final = "denied"
"""The status of a statement in RDF that denies a link."""
NO_LINK: Final = "no link"
"""The status of a statement in RDF that links nothing."""
CAPTION: Final = "caption"
"""The property of a name that a table gives to a target: it is shown, and not compared."""
Progress = Callable[[str], None]
"""Called from time to time with the current activity."""
Ends = tuple[int, int, int]
"""Numbers of a statement's subject, relation and target."""


class Workspace:
    """The scratch database, in a folder that the caller removes.

    terms  the numbers of texts.

    Its methods raise StoreUnavailable if the disk is full.
    """

    def __init__(self, folder: Path, progress: Progress = lambda _: None) -> None:
        self.db = sqlite3.connect(
            folder / "reconciliation.sqlite", isolation_level=None, check_same_thread=False
        )
        self.terms = term_dictionary.TermDictionary()
        self.progress = progress
        self._folder = folder
        self._stopped: BaseException | None = None
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _INSERTS}
        self._waiting = 0
        self.written = 0
        with self._translated():
            self.db.executescript(_SCHEMA + term_dictionary.SCHEMA)
            self.db.execute("BEGIN")
        self.db.set_progress_handler(self._go_on, _STEPS)

    def _go_on(self) -> int:
        """Let an interrupt stop a long query."""
        try:
            self.progress("")
        except BaseException as error:  # noqa: BLE001 SQLite cannot pass it on; `_translated` raises it
            self._stopped = error
        return int(self._stopped is not None)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._stopped is not None:
                raise self._stopped from None
            raise StoreUnavailable(
                f"the comparison needs more room than there is in {self._folder.parent}: {error};"
                " free some, or name another folder in TMPDIR"
            ) from error

    # writing

    def add_record(self, side: int, id: int, stage: str) -> None:
        """Add an identifier, by its number, that a side holds or has released."""
        self._put("record", (id, side, stage))

    def add_fact(self, side: int, id: int, name: str, value: str) -> None:
        """Add a fact about an identifier, by its number: a name, a target, a successor."""
        self._put("fact", (id, name, side, value))

    def add_target(self, side: int, ends: Ends, target: str, line: int = 0) -> None:
        """Add what an identifier identifies, by its number and its text; ``line`` is its line in a table."""
        subject, _, number = ends
        self.add_fact(side, subject, "target", target)
        self._put("goal", (subject, number, side, line))

    def add_link(self, side: int, ends: Ends, metadata: tuple[object, ...]) -> None:
        """Add a statement of a table; ``metadata`` are the fields of `Link` from ``by`` on."""
        self._put("link", (*ends, side, *metadata))

    def add_plain(self, side: int, subject: int, relation: str, target: str) -> None:
        """Add a plain triple about a subject, by its number.

        It counts only if the side has no such statement with metadata.
        """
        self._put("plain", (subject, self.terms.word(relation), self.terms.number(target), side))

    def add_piece(
        self,
        side: int,
        node: str,
        ends: Sequence[str | None],
        metadata: Sequence[object],
        status: str | None = None,
    ) -> None:
        """Add a part of a statement's node: subject, relation, target; metadata as in `Link`.

        None stands for unknown.

        status  `DENIED`, or `NO_LINK` for a statement that links nothing; None if it states a link.
        """
        self._put(
            "piece",
            (
                hashed(node),
                side,
                *(None if end is None else self.terms.number(end) for end in ends),
                *metadata,
                status,
            ),
        )

    def add_denial(self, side: int, ends: Ends, line: int) -> None:
        """Add a line of a table that denies a statement."""
        self._put("denial", (*ends, side, line))

    def refuse(self, side: int, line: int | None, reason: str) -> None:
        """Add a row, or a statement in RDF (without line), that could not be read."""
        self._put("refused", (side, line, reason))

    def _put(self, table: str, row: tuple[object, ...]) -> None:
        self._rows[table].append(row)
        self._waiting += 1
        if self._waiting >= _BATCH:
            self._write()

    def holds(self, iri: str) -> bool:
        """Return whether a side that was read holds an identifier, or has released it."""
        if self._rows["record"]:
            self._write()
        return any(self.rows("SELECT 1 FROM record WHERE id = ?", (hashed(iri),)))

    def complete(self, names: Names) -> None:
        """End the input: build the terms, the links and the indexes; ``names`` compares names."""
        self._write()
        self.progress("putting in order")
        self.db.create_function("name_key", 1, names.key)
        self.db.create_function("similar", 1, well_known.similar)
        with self._translated():
            self.terms.complete(self.db, names)
            self.db.execute("COMMIT")
            self.db.executescript(_UNITE + _COMPLETE)

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    def _write(self) -> None:
        with self._translated():
            self.terms.write(self.db)
            for table, rows in self._rows.items():
                self.db.executemany(_INSERTS[table], rows)
                rows.clear()
        self.written += self._waiting
        self._waiting = 0
        self.progress(f"{self.written:,} read")

    # reading

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        with self._translated():
            yield from self.db.execute(query, values)

    def execute(self, statement: str, rows: Iterable[Sequence[object]] = ((),)) -> None:
        """Execute a statement on temporary tables; an INSERT once for each row of values."""
        with self._translated():
            if statement.startswith("INSERT"):
                self.db.executemany(statement, rows)
            else:
                self.db.execute(statement)

    def name_of(self, iri: str, language: str = "") -> str:
        """Return a name of an identifier from any side, in the language if it has one; empty without one."""
        query = (
            f"SELECT value FROM fact WHERE id = ? AND (property GLOB 'name*' OR property = '{CAPTION}')"
            f" ORDER BY LOWER(property) <> ?, property = '{CAPTION}', property, side, value LIMIT 1"
        )
        values = (hashed(iri), f"name ({language.lower()})")
        return next((str(name) for (name,) in self.rows(query, values)), "")

    def claims(
        self, condition: str, values: Sequence[object] = (), links: str = "link"
    ) -> Iterator[SharedStatement]:
        """Yield the matching statements, equal ones grouped, in an order that depends only on their content.

        condition  SQL about ``link`` and the terms ``s``, ``r`` and ``t`` of its subject, relation and
                   target.
        links      ``link``, or the view of links to search instead.
        """
        query = f"SELECT {LINK_COLUMNS} FROM {links} {JOIN_TERMS} WHERE {condition} ORDER BY {LINK_ORDER}"
        return shared_statements(self.rows(query, values))


LINK_COLUMNS: Final = (
    "s.text, r.text, t.text, target, side, by, at, note, confidence, justification, author, line,"
    " (SELECT text FROM term w WHERE w.id = written)"
)
JOIN_TERMS: Final = (
    "CROSS JOIN term s ON s.id = subject CROSS JOIN term r ON r.id = relation"
    " CROSS JOIN term t ON t.id = target"
)
LINK_ORDER: Final = "s.text, r.text, t.text, target, side, at, by, line"
"""Columns, joins and order of a query for statements, as `shared_statements` reads them."""


def shared_statements(rows: Iterable[tuple[Any, ...]]) -> Iterator[SharedStatement]:
    """Yield the statements in rows of `LINK_COLUMNS`, equal ones grouped."""
    for (*key, _), occurrences in groupby(rows, key=itemgetter(0, 1, 2, 3)):
        subject, relation, target = key
        yield SharedStatement(
            subject, relation, target, tuple((row[4], Link(*key, *row[5:])) for row in occurrences)
        )
