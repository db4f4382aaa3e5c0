"""Term dictionary: a number for each text, by which all tables refer to it, and the kinds of each text."""

import sqlite3
from typing import Final

from idstore.model.names import Names
from idstore.model.terms import hashed

SCHEMA: Final = (
    "CREATE TABLE mention (id INTEGER, text TEXT, hint TEXT); CREATE TABLE base (id INTEGER PRIMARY KEY);"
)
_TABLES: Final = (
    "CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL, key INTEGER NOT NULL)",
    "CREATE TABLE kind (id INTEGER, kind INTEGER, PRIMARY KEY (id, kind)) WITHOUT ROWID",
    # the other written forms of names, each with the main form: that of a record, else the first
    "CREATE TABLE form (id INTEGER PRIMARY KEY, main INTEGER NOT NULL)",
)
_FORMS: Final = (
    "INSERT INTO form SELECT id, main FROM (SELECT id, FIRST_VALUE(id) OVER"
    " (PARTITION BY key ORDER BY id NOT IN (SELECT id FROM record), text) AS main"
    " FROM term WHERE key IN (SELECT key FROM term GROUP BY key HAVING COUNT(*) > 1)) WHERE id <> main"
)
_FILL: Final = (
    "INSERT INTO term SELECT id, MIN(text), key_number(id, MIN(text)) FROM mention GROUP BY id",
    "INSERT OR IGNORE INTO kind SELECT id, kind_number(text) FROM term",  # a NULL is ignored
    "INSERT OR IGNORE INTO kind SELECT id, hint_number(hint) FROM mention WHERE hint <> '' GROUP BY id, hint",
    "DROP TABLE mention",
    _FORMS,
    "INSERT OR IGNORE INTO kind SELECT main, kind FROM form JOIN kind USING (id)",
)
_SEEN: Final = 4_000_000
"""Most numbers in the cache that saves writing texts again: 400 MB."""


class TermDictionary:
    """The numbers of texts.

    In the end each text is stored once, in the order of the numbers, which suits a disk.

    A text may have several kinds: that of its IRI, and the list that a table names for it.

    bases  bases of the registries' namespaces; the kind of an identifier is the longest base that it begins
           with.
    """

    def __init__(self) -> None:
        self.bases: set[str] = set()
        self._lengths: list[int] = []
        self._mentions: set[tuple[int, str, str]] = set()
        self._seen: set[int] = set()
        self._words: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._names = Names(())

    def add_base(self, base: str) -> None:
        """Add the base of a namespace."""
        self.bases.add(base)
        self._lengths = sorted({len(known) for known in self.bases}, reverse=True)

    def number(self, text: str, column: str = "", source: str = "") -> int:
        """Return the number of a text.

        column  the name of its column, the kind of a text that is no IRI and has no source.
        source  the list that a table names for the text, a kind of it. The same text that is no IRI is in
                another list another term.
        """
        bare = column and ":" not in text
        number = hashed(f"{source}\n{text}" if bare and source else text)
        hint = source or (column if bare else "")
        mark = hash((number, hint)) if hint else number
        if mark not in self._seen:
            self._mentions.add((number, text, hint))
            if len(self._seen) < _SEEN:
                self._seen.add(mark)
        return number

    def knows(self, text: str) -> bool:
        """Return whether a text is known to have a number; the cache does not hold all texts."""
        return hashed(text) in self._seen

    def word(self, text: str) -> int:
        """Return the number of a frequent text, such as a relation, from a cache."""
        number = self._words.get(text)
        if number is None:
            number = self._words[text] = self.number(text)
        return number

    def write(self, db: sqlite3.Connection) -> None:
        """Write the texts since the last call."""
        db.executemany("INSERT INTO mention VALUES (?, ?, ?)", self._mentions)
        self._mentions.clear()

    def complete(self, db: sqlite3.Connection, names: Names) -> None:
        """Build the tables of terms, of their kinds and of their forms. Memory: the kinds."""
        self.write(db)
        self._seen.clear()
        self._names = names
        db.create_function("key_number", 2, self._key_number)
        db.create_function("kind_number", 1, self._kind_number)
        db.create_function("hint_number", 1, self._hint_number)
        for statement in (*_TABLES, *_FILL):
            db.execute(statement)
        db.executemany(
            "INSERT OR IGNORE INTO term VALUES (?, ?, ?)",
            ((number, kind, number) for kind, number in self._kinds.items()),
        )
        db.executemany("INSERT INTO base VALUES (?)", ((hashed(base),) for base in self.bases))

    def _kind_of(self, text: str) -> str:
        """Return the kind of a text: its registry's namespace, or the stem of an IRI; empty if it is bare."""
        for length in self._lengths:
            if text[:length] in self.bases:
                return text[:length]
        return self._names.kind(text)

    def _key_number(self, number: int, text: str) -> int:
        """Return the number of a name's key, the same for all its written forms."""
        key = self._names.key(text)
        return number if key == text else hashed(key)

    def _kind_number(self, text: str) -> int | None:
        """Return the number of the kind that a text itself tells; None if it tells none."""
        kind = self._kind_of(text)
        return self._hint_number(kind) if kind and kind != text else None

    def _hint_number(self, kind: str) -> int:
        """Return the number of a kind."""
        kind_number = self._kinds.get(kind)
        if kind_number is None:
            kind_number = self._kinds[kind] = hashed(kind)
        return kind_number
