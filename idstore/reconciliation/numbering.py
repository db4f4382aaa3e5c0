"""Numbers for texts, by which everything refers to them, and what each text is one of."""

import sqlite3
from typing import Final

from idstore.model.kinds import kind_of
from idstore.model.terms import hashed

SCHEMA: Final = "CREATE TABLE told (id INTEGER, text TEXT, hint TEXT); CREATE TABLE base (id INTEGER PRIMARY KEY);"
_ONCE: Final = "CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL, kind INTEGER NOT NULL)"
_FILL: Final = (
    "INSERT INTO term SELECT id, text, kind_number(id, text, hint)"
    " FROM (SELECT id, MIN(text) AS text, MAX(hint) AS hint FROM told GROUP BY id)"
)
_SEEN: Final = 4_000_000
"""Numbers that are remembered, at most, so that their texts need not be written again: 400 MB."""


class Numbering:
    """Numbers texts as they come, and keeps each once in the end, in the order of the numbers: a disk likes no other.

    bases  bases of the namespaces that registries among the sides have; an identifier's kind is the longest of them that it begins with.
    """

    def __init__(self) -> None:
        self.bases: set[str] = set()
        self._lengths: list[int] = []
        self._told: dict[int, tuple[int, str, str]] = {}
        self._seen: set[int] = set()
        self._words: dict[str, int] = {}
        self._kinds: dict[str, int] = {}

    def add_base(self, base: str) -> None:
        """Note the base of a namespace."""
        self.bases.add(base)
        self._lengths = sorted({len(one) for one in self.bases}, reverse=True)

    def number(self, text: str, hint: str = "", within: str = "") -> int:
        """The number of a text; ``hint`` tells what it is one of, where it is no IRI.

        within  the list that such a text is said to stand in: the same text in another list is something else.
        """
        bare = hint and ":" not in text
        number = hashed(f"{within}\n{text}" if bare and within else text)
        if bare:
            self._told[number] = max(self._told.get(number, (number, text, hint)), (number, text, hint))
        elif number not in self._seen:
            self._told.setdefault(number, (number, text, ""))
            if len(self._seen) < _SEEN:
                self._seen.add(number)
        return number

    def knows(self, text: str) -> bool:
        """Whether a text is known to have a number; where there are very many, not all are known."""
        return hashed(text) in self._seen

    def word(self, text: str) -> int:
        """The number of a text of which there are few, such as a relation."""
        found = self._words.get(text)
        if found is None:
            found = self._words[text] = self.number(text)
        return found

    def write(self, db: sqlite3.Connection) -> None:
        """Put aside what came since the last time."""
        db.executemany("INSERT INTO told VALUES (?, ?, ?)", self._told.values())
        self._told.clear()

    def complete(self, db: sqlite3.Connection) -> None:
        """Make the table of terms. Memory: the kinds."""
        self.write(db)
        self._seen.clear()
        db.create_function("kind_number", 3, self._kind_number)
        db.execute(_ONCE)
        db.execute(_FILL)
        db.execute("DROP TABLE told")
        db.executemany("INSERT OR IGNORE INTO term VALUES (?, ?, ?)", ((number, kind, number) for kind, number in self._kinds.items()))
        db.executemany("INSERT INTO base VALUES (?)", ((hashed(base),) for base in self.bases))

    def _kind_of(self, text: str) -> str:
        """What an identifier is one of: its registry's namespace, or else what its IRI tells; of a bare text nothing."""
        for length in self._lengths:
            if text[:length] in self.bases:
                return text[:length]
        return kind_of(text)

    def _kind_number(self, number: int, text: str, hint: str) -> int:
        """The number of what a text is one of; its own where nothing is known."""
        kind = self._kind_of(text) or hint
        if not kind or kind == text:
            return number
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = hashed(kind)
        return found
