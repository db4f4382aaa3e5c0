"""A large change (an import, a restore, a repair), prepared in the next generation of engine and catalogue.

Readers go on in the present generation; acts wait, those beside a dry run only for the copy. The change takes
effect in one ledger transaction, which holds its claims and the number of the generation. Until then, any
failure or power cut leaves the store as it was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike, getpid
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self, TypeVar

from pyoxigraph import NamedNode, Quad

from idstore.disk_errors import cause_and_remedy
from idstore.errors import AlreadyRegistered, IdstoreError, StoreDamaged, StoreUnavailable
from idstore.model import times
from idstore.model.change import Change, Claim
from idstore.model.event import Event
from idstore.model.history import History
from idstore.model.listing import Series
from idstore.stores import files, redaction
from idstore.stores.contract import StoreCounters
from idstore.stores.ledger.contract import EMPTY_HEAD, Head, LedgerTransaction, NumberedClaim, Row
from idstore.stores.lock import DirectoryLock
from idstore.stores.projection import bases
from idstore.stores.projection.generation import FAILURES, Generation
from idstore.stores.transaction import ActTransaction, Batch, RunLater
from idstore.stores.writer import Writer

T = TypeVar("T")

_PORTION: Final = 500
"""Number of changes applied to engine and catalogue at once."""
_CLAIMS: Final = "claims.sqlite"
_UNDER_WAY: Final = "a large change is in progress; finish it first"


class BulkChange(ActTransaction):
    """See `idstore.stores.contract.Bulk`."""

    behind = ""
    age = 0.0

    def __init__(self, writer: Writer, path: Path, store: object, *, fresh: bool, dry_run: bool) -> None:
        self._writer, self.path = writer, path
        self._store = store  # a collected store would end its writer
        self._fresh_requested = fresh
        self._dry_run = dry_run
        self._process = getpid()
        self._ended = False

    def __enter__(self) -> Self:
        self._hold = self._writer.hold()
        try:
            # keep the folder from other processes even if the store is closed meanwhile
            self._lock = self._writer.keep_lock()
            self._prepare()
            if self._dry_run:
                self._writer.release(self._hold)
        except BaseException as error:
            self._abort(error)
            translated = self._translated(error)
            if translated is error:
                raise
            raise translated from error
        return self

    def _prepare(self) -> None:
        writer = self._writer
        writer.check()
        present, before = writer.generation, writer.ledger.head()
        fresh = self._fresh_requested and present.catalogue.own.sequence <= 1
        self._head = EMPTY_HEAD._replace(number=before.number) if fresh else before
        self._number = next(writer.generations)
        folder = files.generation_folder(self.path, self._number)
        files.discard([folder])
        if not fresh:
            present.copy(folder)
        self._generation = Generation(folder, create=fresh)
        if not fresh and (self._generation.engine.mark, self._generation.catalogue.mark) != (
            before.number,
            before.number,
        ):
            raise StoreDamaged(
                f"the store at {self.path} cannot be copied: the copy lacks changes that the ledger has",
                path=str(self.path),
            )

        def earlier(key: NamedNode) -> NumberedClaim | None:
            """Return the claim of a key in the copied state: beside a dry run, acts make later ones."""
            claim = None if fresh else writer.ledger.claim(key)
            return None if claim is None or claim.number > before.number else claim

        self._claims = _Claims(folder / _CLAIMS, earlier)
        self._changed = self._redacts = False
        self._redacted: Sequence[Claim] = ()
        self._version = next(writer.versions)
        self._begin_batch(self._head)
        super().__init__(self._batch, times.now(), writer.ledger.origin)

    def _begin_batch(self, head: Head) -> None:
        self._batch = Batch(self._generation, self._claims.find, head, self._version, self._writer.versions)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if getpid() != self._process:
                return
            if error is None and not self._dry_run:
                self._finish()
        except BaseException as failure:
            self._abort(failure)
            translated = self._translated(failure)
            if translated is failure:
                raise
            raise translated from failure
        if error is not None or self._dry_run or not self._changed:
            self._abort(error)
        if isinstance(error, OSError | sqlite3.Error) and not isinstance(error, IdstoreError):
            raise self._translated(error) from error

    # taking effect

    def _finish(self) -> None:
        """Write the prepared generation to disk, and switch to it."""
        self._flush()
        if not self._changed:
            return
        self._claims.check()
        head = self._batch.head
        self.end()
        # later than all events: of two in one millisecond, in different stores, no one knows which came first
        last = Head(head.number + 1, head.sequence, head.at + 1, -1)
        generation = self._generation
        generation.catalogue.begin()
        generation.catalogue.finish(last.number, last.sequence)
        generation.catalogue.commit()
        generation.engine.apply([], last.number)
        bases.keep(generation.folder, self._copy_engine)
        generation.sync()

        def commit(ledger: LedgerTransaction) -> None:
            ledger.switch(self._number, Row(last, None), self._claims.by_key())
            ledger.replace_digests(self._redacted)

        old = self._writer.between(lambda: self._writer.switch(generation, commit, last), shielded=True)
        with suppress(*FAILURES):  # the change has taken effect; the next opening removes what remains
            self._claims.close()
            self._claims.remove()
            self._writer.wait_for_maintenance()
            old.close()
            files.discard([old.folder])
        if self._redacts:
            with suppress(*FAILURES, IdstoreError):  # the next opening does it
                self._writer.between(
                    lambda: redaction.finish(generation.folder, self._writer.ledger), shielded=True
                )
        self._end()

    def _copy_engine(self, target: Path) -> int:
        self._generation.engine.checkpoint(target)
        return self._generation.engine.mark

    def _abort(self, error: BaseException | None) -> None:
        """Discard the change, and let acts run again."""
        failed = isinstance(error, FAILURES) and not isinstance(error, IdstoreError)
        generation: Generation | None = vars(self).get("_generation")
        if generation is not None and self._writer.generation is generation:
            self._end()  # an interrupt came after it took effect
            return
        with suppress(*FAILURES, AttributeError):
            self._batch.give_up()
        with suppress(*FAILURES, AttributeError):
            self.end()
            self._claims.close()
        if generation is not None:
            with suppress(*FAILURES):
                (generation.close_after_failure if failed else generation.close)()
            # otherwise it may be the present generation; the next opening decides
            if not self._writer.failed and self._lock.is_in_place():
                files.discard([generation.folder])
        self._end()

    def _end(self) -> None:
        """Let acts run again."""
        lock: DirectoryLock | None = vars(self).get("_lock")
        if lock is not None:
            lock.release()
        self._writer.release(self._hold)
        self._ended = True

    def __del__(self) -> None:
        """Discard a change whose block an interrupt ended before `__exit__` began."""
        begun = "_hold" in vars(self) and not self._ended
        if begun and getpid() == self._process:
            self._abort(None)

    def _translated(self, error: BaseException) -> BaseException:
        if isinstance(error, IdstoreError) or not isinstance(error, FAILURES):
            return error
        why, remedy = cause_and_remedy(error, self.path)
        return StoreUnavailable(
            f"the store at {self.path} cannot be written: {why}; nothing was changed, {remedy}"
        )

    # the transaction

    def _begin(self) -> None:
        self._check_process()
        self._changed = self.touched = True
        self._batch.begin()

    def enlist(self, change: Change) -> None:
        """Add a change."""
        super().enlist(change)
        self._flush_if_large()

    def token(self) -> int:
        """Return the number of a new event."""
        head = self._batch.head
        if head.at >= self.moment:
            self._token = max(head.token, self._token) if head.at == self.moment else head.token
            self.moment = head.at
        return super().token()

    def not_before(self, moment: int, queue: str) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: a large change does not wait for the clock."""
        raise StoreUnavailable(
            "identifiers made from the clock cannot be minted within a large change; mint them one by one"
        )

    @property
    def sequence(self) -> int:
        """Sequence number of the last event."""
        return self._batch.head.sequence

    def set_next_sequence(self, sequence: int) -> None:
        """Set the sequence number of the next event."""
        self._batch.set_next_sequence(sequence)

    def load(self, histories: Iterable[History]) -> None:
        """Load identifiers unknown to the store."""
        from idstore.stores.bulk_load import HistoryLoading  # imported late: slow, and seldom needed

        self._flush()
        head = self._batch.head
        number, sequence, at, token = head.number + 1, head.sequence, head.at, head.token
        loading = HistoryLoading(self._generation)
        try:
            for history in histories:
                self._changed = True
                loading.take(history)
                self._claims.add(NumberedClaim(claim, number) for claim in history.claims)
                for numbered in history.events:
                    sequence = max(sequence, numbered.sequence)
                    if numbered.event.moment >= at:
                        at, token = numbered.event.moment, numbered.event.token
            loading.finish(number, sequence)
        finally:
            loading.stop()
        self._begin_batch(Head(number, sequence, at, token))

    def recount(self, issued: Mapping[Series, int], highest: Mapping[Series, int]) -> None:
        """Recount the listings, and adopt the numbers of issued labels."""
        self._flush()
        self._changed = True
        self._generation.catalogue.recount(issued, highest)

    def redact(
        self,
        replace: Callable[[Quad], Quad],
        events: Iterable[Event],
        claims: Sequence[Claim] = (),
        renamed: tuple[str, str] | None = None,
    ) -> None:
        """Replace quads, the log included, so that no file of the store keeps the former ones."""
        self._flush()
        self._changed = self._redacts = True
        self._redacted = claims
        self._generation.redact(replace, events, renamed)
        redaction.mark(self._generation.folder)
        self._version = next(self._writer.versions)
        self._begin_batch(self._batch.head)

    def _flush_if_large(self) -> None:
        if len(self._batch.overlay.changes) >= _PORTION:
            self._flush()

    def _flush(self) -> None:
        """Apply the enlisted changes to the generation."""
        if self._batch.is_empty:
            self._batch.give_up()  # a refused act may have begun the catalogue's transaction
            return
        self._claims.add(self._batch.claims())
        self._batch.project()
        self._version = self._batch.registry_version
        self._begin_batch(self._batch.head)

    # the store

    def read(self, question: Callable[[ActTransaction], T]) -> T:
        """Return the result of a question, including everything enlisted."""
        self._check_process()
        view = ActTransaction(self._batch, times.now(), self.origin)
        try:
            return question(view)
        finally:
            view.end()

    def write(self, act: Callable[[ActTransaction], T]) -> T:
        """Run an act as part of the change; an act that raises leaves no changes."""
        self._check_process()
        before = self._batch.head.number
        try:
            answer = self._batch.run(act, times.now(), self.origin)
        except RunLater as later:
            self.not_before(later.moment, later.queue)
        if self._batch.head.number != before:
            self._changed = self.touched = True
            self.registry_version = self._batch.registry_version
            self._flush_if_large()
        return answer

    def snapshot(self) -> NoReturn:
        """Raise StoreUnavailable: the change has not taken effect."""
        raise StoreUnavailable(_UNDER_WAY)

    def bulk(self, *, fresh: bool = False, dry_run: bool = False) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: this is a large change already."""
        raise StoreUnavailable(_UNDER_WAY)

    def backup(self, folder: str | PathLike[str]) -> NoReturn:  # noqa: ARG002
        """Raise StoreUnavailable: the change has not taken effect."""
        raise StoreUnavailable(_UNDER_WAY)

    def refresh(self, wait: float = 10.0) -> None:
        """Do nothing: every question sees what was enlisted so far."""

    def counters(self) -> StoreCounters:
        """Return zeros."""
        return StoreCounters()

    def close(self) -> None:
        """Do nothing: the enclosing block ends the change."""


class _Claims:
    """Claims on their way to the ledger, in a file of the generation: there may be millions."""

    def __init__(self, path: Path, find_earlier: Callable[[NamedNode], NumberedClaim | None]) -> None:
        self.path = path
        self._find_earlier = find_earlier
        self._contested = False
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute(
            "CREATE TABLE claim (key TEXT PRIMARY KEY, holder TEXT, digest TEXT, number INTEGER)"
            " WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def add(self, claims: Iterable[NumberedClaim]) -> None:
        """Add claims. A claim whose key is taken is skipped, and `check` then fails. Raises sqlite3.Error."""
        rows = [(claim.key.value, claim.holder.value, claim.digest, number) for claim, number in claims]
        self._contested |= self._database.executemany(
            "INSERT OR IGNORE INTO claim VALUES (?, ?, ?, ?)", rows
        ).rowcount < len(rows)

    def check(self) -> None:
        """Raise AlreadyRegistered if a key was claimed twice."""
        if self._contested:
            raise AlreadyRegistered(
                "two identifiers were loaded with the same label or request key; nothing was changed"
            )

    def find(self, key: NamedNode) -> NumberedClaim | None:
        """Return the claim of a key, from this change or from the store."""
        row = self._database.execute(
            "SELECT holder, digest, number FROM claim WHERE key = ?", (key.value,)
        ).fetchone()
        if row is None:
            return self._find_earlier(key)
        holder, digest, number = row
        return NumberedClaim(Claim(key, NamedNode(holder), digest), number)

    def by_key(self) -> Iterator[NumberedClaim]:
        """Yield all claims, by key."""
        for key, holder, digest, number in self._database.execute(
            "SELECT key, holder, digest, number FROM claim ORDER BY key"
        ):
            yield NumberedClaim(Claim(NamedNode(key), NamedNode(holder), digest), number)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
