"""The catalogue: a SQLite file beside the engine, part of the ledger's projection.

It answers lists and counts without a scan. A power cut may remove the last transactions, but never breaks the
file's structure: SQLite syncs the log before copying it into the file. The mark is the number of the last
journal row applied, written in the transaction of that row. Later rows are in the ledger.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Final

from idstore.errors import StoreUnavailable
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.listing import EventDetails, Series
from idstore.stores.files import sync
from idstore.stores.projection import catalogue_audit, catalogue_redaction
from idstore.stores.projection.catalogue_intake import Intake
from idstore.stores.projection.catalogue_opening import cannot_be_opened, open_to_write
from idstore.stores.projection.catalogue_questions import Questions
from idstore.stores.projection.catalogue_rows import Terms
from idstore.stores.sqlite_files import connect, transaction, undo, vacuum

_LOG_ROWS: Final = 1000
"""Number of changed rows after which the log is copied into the file.

About 2000 pages if each act is committed alone.
"""


class PinnedCatalogue:
    """An immutable state of the catalogue, on a separate connection. Its ``questions`` are thread-safe.

    Raises StoreUnavailable, StoreDamaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with ExitStack() as opened:
                self._db = opened.enter_context(closing(connect(path, read_only=True)))
                self._db.execute("BEGIN")
                self.questions = Questions(self._db, path)
                self.questions.meta()  # the first statement that reads fixes the state
                opened.pop_all()
        except StoreUnavailable:
            raise
        except (OSError, sqlite3.Error) as error:
            raise cannot_be_opened(path, error) from error

    def copy(self, path: Path) -> None:
        """Copy the state into a new file that needs no other file beside it.

        Raises OSError, sqlite3.Error.
        """
        with closing(connect(path, create=True)) as copy:
            self._db.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Release the state."""
        self._db.close()


class Catalogue:
    """The catalogue at ``path``.

    create     create the file, which must not exist.
    read_only  change nothing: the changing methods cannot be called.
    questions  on the last committed state, from any thread.
    own        questions from acts, which see the open transaction.
    One thread at a time changes the catalogue; the changing methods raise sqlite3.Error.
    Raises StoreUnavailable, StoreDamaged.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self.path = path
        with ExitStack() as opened:
            try:
                if not read_only:
                    self._db = opened.enter_context(closing(open_to_write(path, create=create)))
                self._reading = opened.enter_context(closing(connect(path, read_only=True)))
                self.questions = (Questions if read_only else _FinishedQuestions)(self._reading, path)
                meta = self.questions.meta()
            except StoreUnavailable:
                raise
            except (OSError, sqlite3.Error) as error:
                raise cannot_be_opened(path, error) from error
            opened.pop_all()
        self.own = self.questions
        self._checkpoint_error: sqlite3.Error | None = None
        if not read_only:
            self._terms = Terms(self._db)
            self._intake = Intake(self._db, self._terms, meta["publication"])
            self._sequence = meta["sequence"]
            self._committed_numbers = self._saved_numbers = self._numbers
            self._rows = self._db.total_changes
            self.own = _OwnQuestions(self)

    @property
    def mark(self) -> int:
        """Number of the last journal row in the committed state."""
        return self.questions.mark

    # changing

    @property
    def _numbers(self) -> tuple[int, int]:
        return self._sequence, self._intake.publication

    @_numbers.setter
    def _numbers(self, numbers: tuple[int, int]) -> None:
        self._sequence, self._intake.publication = numbers

    def begin(self) -> None:
        """Begin a transaction."""
        self._db.execute("BEGIN IMMEDIATE")

    def savepoint(self) -> None:
        """Begin an act: `release` keeps its changes, `rollback_to` reverts them."""
        self._db.execute("SAVEPOINT act")
        self._terms.savepoint()
        self._saved_numbers = self._numbers

    def release(self) -> None:
        """Keep the changes since the savepoint."""
        self._db.execute("RELEASE act")

    def rollback_to(self) -> None:
        """Revert the changes since the savepoint, and end it."""
        self._terms.rollback_to()
        self._numbers = self._saved_numbers
        self._db.execute("ROLLBACK TO act")
        self._db.execute("RELEASE act")

    def take(self, change: Change, first: int) -> None:
        """Apply a change; ``first`` is the sequence number of its first event."""
        self._intake.take(change, first)
        self._sequence = first + len(change.events) - 1

    def publish(self, count: int) -> None:
        """Count events to which a bulk load has assigned the next publication numbers."""
        self._intake.publication += count

    def note(self, name: str, text: str) -> None:
        """Store a text under a name, replacing an earlier text."""
        self._db.execute(
            "INSERT INTO note VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text", (name, text)
        )

    def recount(self, issued: Mapping[Series, int], highest: Mapping[Series, int]) -> None:
        """Recount the listings, and adopt the numbers of issued labels by namespace and series.

        All or nothing.
        """
        with nullcontext() if self._db.in_transaction else transaction(self._db):
            catalogue_audit.recount(self._db, issued, highest)

    def finish(self, mark: int, sequence: int) -> None:
        """Record the catalogue's progress in this transaction: last journal row and last sequence number."""
        self._sequence = sequence
        self._db.execute(
            "INSERT INTO meta VALUES ('mark', ?), ('publication', ?), ('sequence', ?)"
            " ON CONFLICT DO UPDATE SET value = excluded.value",
            (mark, self._intake.publication, sequence),
        )

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def commit(self) -> None:
        """Commit the transaction."""
        self._db.execute("COMMIT")
        self._terms.settle()
        self._committed_numbers = self._numbers
        if self._db.total_changes - self._rows >= _LOG_ROWS:
            self.checkpoint()

    def rollback(self) -> None:
        """Revert everything since `begin`."""
        self._terms.rollback()
        self._numbers = self._committed_numbers
        undo(self._db)

    def checkpoint(self) -> None:
        """Copy the log into the file, as far as no reader needs it, so that the log can be reused.

        `sync` reports an error: the state is complete without the copy. After an error nothing is copied
        until the file is reopened, since unsynced data may be lost even if a second attempt succeeds. Opening
        rewrites the log.
        """
        self._rows = self._db.total_changes
        if self._checkpoint_error is None:
            try:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            except sqlite3.Error as error:
                self._checkpoint_error = error

    def redact(self, events: Iterable[Event], renamed: tuple[str, str] | None) -> None:
        """Adopt changed events, and rename a party; no former text remains in the file.

        events   as they are now.
        renamed  the former and the new name.
        """
        with transaction(self._db):
            catalogue_redaction.redact(self._db, events, renamed)
        self._terms.forget()
        vacuum(self._db)

    # loading

    def loading(self) -> tuple[sqlite3.Connection, Terms]:
        """Return the writer's connection and the terms, for a bulk load."""
        return self._db, self._terms

    # the whole file

    def sync(self) -> None:
        """Sync every committed transaction to disk. Any thread may call it, and no transaction waits.

        Raises OSError, sqlite3.Error.
        Syncing the log is enough: data copied into the file is synced there before the log is reused.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists():
            sync(log)
        sync(self.path.parent)
        if self._checkpoint_error is not None:
            raise self._checkpoint_error

    def pinned(self) -> PinnedCatalogue:
        """Return the last committed state for reading during later writes.

        Close it soon, since the log grows.
        Raises StoreUnavailable.
        """
        return PinnedCatalogue(self.path)

    def copy(self, path: Path) -> None:
        """Copy the last committed state into a new file. Raises StoreUnavailable, OSError, sqlite3.Error."""
        with closing(self.pinned()) as state:
            state.copy(path)

    def faults(self) -> Iterator[str]:
        """Yield faults of the file in its last committed state. Cost: one read of the whole file."""
        # a separate connection, since all questions would wait otherwise
        with closing(self.pinned()) as state:
            yield from state.questions.faults()

    def close(self) -> None:
        """Close the file."""
        self._reading.close()
        if self.own is not self.questions:
            self._db.close()


class _FinishedQuestions(Questions):
    """Questions on a changing state.

    Answers are complete lists: an unfinished one would keep the connection at its state.
    """

    def sorted_identifiers(
        self, *, namespace: str | None = None, audience: str | None = None
    ) -> Iterator[str]:
        """Yield IRIs of identifiers in ascending order."""
        return iter([*super().sorted_identifiers(namespace=namespace, audience=audience)])

    def ordered_events(self, graph: str) -> Iterator[str]:
        """Yield IRIs of the events of a log graph, in the same order in every store."""
        return iter([*super().ordered_events(graph)])

    def details(self) -> Iterator[EventDetails]:
        """Yield every event, in order."""
        return iter([*super().details()])

    def listings(self) -> Iterator[tuple[str, int]]:
        """Yield every listed identifier and the number of its listings."""
        return iter([*super().listings()])

    def miscounts(
        self, issued: Mapping[Series, int], highest: Mapping[Series, int]
    ) -> Iterator[tuple[str, str]]:
        """Yield wrong counters, each with the reason."""
        return iter([*super().miscounts(issued, highest)])


class _OwnQuestions(Questions):
    """Questions on the writer's connection, including numbers that `Catalogue.finish` has yet to write."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue._db, catalogue.path)
        self._catalogue = catalogue

    @property
    def sequence(self) -> int:
        """Number of the last event."""
        return self._catalogue._sequence

    @property
    def publication(self) -> int:
        """Last number in the public feed."""
        return self._catalogue._intake.publication
