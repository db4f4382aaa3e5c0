"""Everything that the sides of a reconciliation say, in one scratch database: memory stays flat, and each question is one query."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from idstore.errors import StoreUnavailable
from idstore.model.terms import hashed
from idstore.reconciliation import numbering
from idstore.reconciliation.claims import Claim, Link
from idstore.reconciliation.relations import IDENTITY, among

_SCHEMA: Final = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-800000;
PRAGMA temp_store=FILE;
CREATE TABLE record (id INTEGER, side INTEGER, stage TEXT, PRIMARY KEY (id, side)) WITHOUT ROWID;
CREATE TABLE fact (id INTEGER, property TEXT, side INTEGER, value TEXT, PRIMARY KEY (id, property, side, value)) WITHOUT ROWID;
CREATE TABLE link (
    subject INTEGER NOT NULL, relation INTEGER NOT NULL, target INTEGER NOT NULL, side INTEGER NOT NULL,
    by TEXT, at TEXT, note TEXT, confidence REAL, justification TEXT, author TEXT, line INTEGER);
CREATE TABLE plain (subject INTEGER, relation INTEGER, target INTEGER, side INTEGER,
    PRIMARY KEY (subject, relation, target, side)) WITHOUT ROWID;
CREATE TABLE piece (node INTEGER, side INTEGER, subject INTEGER, relation INTEGER, target INTEGER,
    by TEXT, at TEXT, note TEXT, confidence REAL, justification TEXT, author TEXT, PRIMARY KEY (node, side)) WITHOUT ROWID;
CREATE TABLE denial (subject INTEGER, relation INTEGER, target INTEGER, side INTEGER, line INTEGER);
CREATE TABLE refused (side INTEGER, line INTEGER, reason TEXT);
"""
_IDENTITY: Final = among(IDENTITY)
_PIECES: Final = ("subject", "relation", "target", "by", "at", "note", "confidence", "justification", "author")
_INSERTS: Final = {
    "record": "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET stage = excluded.stage WHERE stage = 'released'",
    "fact": "INSERT OR IGNORE INTO fact VALUES (?, ?, ?, ?)",
    "link": "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "plain": "INSERT OR IGNORE INTO plain VALUES (?, ?, ?, ?)",
    "piece": "INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name} = COALESCE(piece.{name}, excluded.{name})" for name in _PIECES),
    "denial": "INSERT INTO denial VALUES (?, ?, ?, ?, ?)",
    "refused": "INSERT INTO refused VALUES (?, ?, ?)",
}
_COMPLETE: Final = f"""
INSERT INTO link SELECT subject, relation, target, side, by, at, note, confidence, justification, author, NULL FROM piece
    WHERE subject IS NOT NULL AND relation IS NOT NULL AND target IS NOT NULL;
CREATE INDEX by_subject ON link (subject, relation, target, side);
INSERT INTO link (subject, relation, target, side) SELECT * FROM plain p WHERE NOT EXISTS (SELECT 1 FROM link l
    WHERE l.subject = p.subject AND l.relation = p.relation AND l.target = p.target AND l.side = p.side);
CREATE INDEX by_target ON link (target, subject, relation, side);
CREATE TABLE turning (id INTEGER PRIMARY KEY);
INSERT INTO turning SELECT DISTINCT target FROM link l WHERE {_IDENTITY}
    AND EXISTS (SELECT 1 FROM link n WHERE n.subject = l.target AND n.{_IDENTITY});
PRAGMA analysis_limit=1000;
ANALYZE;
"""
_BATCH: Final = 50_000
"""Rows that are written at once."""
_STEPS: Final = 1_000_000
"""Steps of the database's machine after which it is asked whether to go on."""
RELEASED: Final = "released"
"""The stage of an identifier that was given up before it was published."""
Progress = Callable[[str], None]
"""Told now and then what is being done."""
Ends = tuple[int, int, int]
"""Numbers of a statement's subject, relation and target."""


class Workspace:
    """The scratch database, in a folder that its owner removes.

    numbering  the numbers of texts.

    Its methods raise StoreUnavailable when the disk is full.
    """

    def __init__(self, folder: Path, progress: Progress = lambda _: None) -> None:
        self.db = sqlite3.connect(folder / "reconciliation.sqlite", isolation_level=None, check_same_thread=False)
        self.numbering = numbering.Numbering()
        self.progress = progress
        self._folder = folder
        self._stopped: BaseException | None = None
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _INSERTS}
        self._waiting = 0
        self.written = 0
        with self._translated():
            self.db.executescript(_SCHEMA + numbering.SCHEMA)
            self.db.execute("BEGIN")
        self.db.set_progress_handler(self._go_on, _STEPS)

    def _go_on(self) -> int:
        """Let an interrupt reach us in the middle of a long query."""
        try:
            self.progress("")
        except BaseException as error:  # noqa: BLE001 it cannot pass through the database; it is raised behind it
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
                f"the comparison needs more room than there is in {self._folder.parent}: {error}; free some, or name another folder in TMPDIR"
            ) from error

    # writing

    def add_record(self, side: int, id: int, stage: str) -> None:
        """An identifier, by its number, that a side holds or has given up."""
        self._put("record", (id, side, stage))

    def add_fact(self, side: int, id: int, name: str, value: str) -> None:
        """What a side says of an identifier, by its number: a name, a target, a successor."""
        self._put("fact", (id, name, side, value))

    def add_link(self, side: int, ends: Ends, said: tuple[object, ...]) -> None:
        """A statement of a table; ``said`` as in `Link`, from ``by`` on."""
        self._put("link", (*ends, side, *said))

    def add_plain(self, side: int, subject: int, relation: str, target: str) -> None:
        """A triple by itself, about the subject of a number; it counts where no statement says who makes it."""
        self._put("plain", (subject, self.numbering.word(relation), self.numbering.number(target), side))

    def add_piece(self, side: int, node: str, ends: Sequence[str | None], said: Sequence[object]) -> None:
        """What is said of a statement's node at one place of a file: subject, relation, target; by, at and the rest, as in `Link`."""
        self._put("piece", (hashed(node), side, *(None if end is None else self.numbering.number(end) for end in ends), *said))

    def add_denial(self, side: int, ends: Ends, line: int) -> None:
        """A line of a table that says that something is not so."""
        self._put("denial", (*ends, side, line))

    def refuse(self, side: int, line: int, reason: str) -> None:
        """A row that could not be understood."""
        self._put("refused", (side, line, reason))

    def _put(self, table: str, row: tuple[object, ...]) -> None:
        self._rows[table].append(row)
        self._waiting += 1
        if self._waiting >= _BATCH:
            self._write()

    def holds(self, iri: str) -> bool:
        """Whether a side that was taken in holds an identifier, or has given it up."""
        if self._rows["record"]:
            self._write()
        return any(self.rows("SELECT 1 FROM record WHERE id = ?", (hashed(iri),)))

    def held(self, base: str) -> Iterator[str]:
        """The identifiers that sides hold or have given up and whose IRIs begin with ``base``. Cost: all that is numbered is looked at."""
        self._write()
        found = self.rows("SELECT DISTINCT text FROM told JOIN record USING (id) WHERE substr(text, 1, ?) = ?", (len(base), base))
        yield from (text for (text,) in found)

    def complete(self) -> None:
        """Everything has been added."""
        self._write()
        self.progress("putting in order")
        with self._translated():
            self.numbering.complete(self.db)
            self.db.execute("COMMIT")
            self.db.executescript(_COMPLETE)

    def close(self) -> None:
        """Give the file up."""
        self.db.close()

    def _write(self) -> None:
        with self._translated():
            self.numbering.write(self.db)
            for table, rows in self._rows.items():
                self.db.executemany(_INSERTS[table], rows)
                rows.clear()
        self.written += self._waiting
        self._waiting = 0
        self.progress(f"{self.written:,} read")

    # reading

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        with self._translated():
            yield from self.db.execute(query, values)

    def put(self, statement: str, rows: Iterable[Sequence[object]] = ((),)) -> None:
        """Carry out a statement that keeps something aside, once for each row of values."""
        with self._translated():
            self.db.executemany(statement, rows) if statement.startswith("INSERT") else self.db.execute(statement)

    def name_of(self, iri: str) -> str:
        """A name that a side gives it, empty if none does."""
        query = "SELECT value FROM fact WHERE id = ? AND property GLOB 'name*' ORDER BY property, side, value LIMIT 1"
        return next((str(name) for (name,) in self.rows(query, (hashed(iri),))), "")

    def claims(self, condition: str, values: Sequence[object] = ()) -> Iterator[Claim]:
        """The statements that match, those that say the same together, in an order that only they decide.

        condition  SQL about ``link`` and the terms ``s``, ``r`` and ``t`` of its subject, relation and target.
        """
        return together(self.rows(f"SELECT {TOLD} FROM link {NAMED} WHERE {condition} ORDER BY {IN_ORDER}", values))


TOLD: Final = "s.text, r.text, t.text, target, side, by, at, note, confidence, justification, author, line"
NAMED: Final = "CROSS JOIN term s ON s.id = subject CROSS JOIN term r ON r.id = relation CROSS JOIN term t ON t.id = target"
IN_ORDER: Final = "s.text, r.text, t.text, target, side, at, by, line"
"""What a query for statements asks for, of what, and in what order, for `together`."""


def together(rows: Iterable[tuple[Any, ...]]) -> Iterator[Claim]:
    """The statements in rows as `TOLD` has them, those that say the same together."""
    for (*key, _), alike in groupby(rows, key=itemgetter(0, 1, 2, 3)):
        subject, relation, target = key
        yield Claim(subject, relation, target, tuple((row[4], Link(*key, *row[5:])) for row in alike))
