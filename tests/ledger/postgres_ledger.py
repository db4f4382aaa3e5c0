"""A ledger in PostgreSQL, for tests.

Several processes may append, one after the other. Each appends after the committed rows of the others.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pyoxigraph import NamedNode

from idstore.errors import AlreadyRegistered, OutcomeUnknown, StoreBusy, StoreUnavailable
from idstore.model.change import Claim
from idstore.stores.ledger.contract import EMPTY_HEAD, Head, NumberedClaim, Row
from idstore.stores.ledger.integrity import checked, checksum, damaged, faults, in_order

Connection = psycopg.Connection[tuple[Any, ...]]

PATIENCE = "60s"
"""Maximal wait for the transaction of another process."""
PAGE = 500
"""Number of rows or claims that are sent at once."""
COLUMNS = "number, sequence, at, token, checksum, body"

# The index holds hashes of keys: PostgreSQL indexes no text of more than some 2,700 bytes.
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE row (
    number BIGINT PRIMARY KEY, sequence BIGINT NOT NULL, at BIGINT NOT NULL, token BIGINT NOT NULL,
    checksum BIGINT NOT NULL, body TEXT);
CREATE TABLE claim (
    hash BYTEA PRIMARY KEY, key TEXT COLLATE "C" NOT NULL, holder TEXT, digest TEXT, number BIGINT NOT NULL);
"""


def _hash(key: str) -> bytes:
    return sha256(key.encode()).digest()


def _line(error: psycopg.Error) -> str:
    """Return the message of an error in one line."""
    return " ".join(f"{error}".split())


class PostgresLedger:
    """See `idstore.stores.ledger.contract.Ledger`. The first opening makes the tables.

    dsn     connection string of the server.
    store   name of the schema that holds the tables.
    origin  UUID of a new store; by default a random one.
    Raises StoreUnavailable.
    """

    def __init__(self, dsn: str, store: str, origin: str | None = None) -> None:
        options = (
            f"-csearch_path={store} -csynchronous_commit=on"
            f" -clock_timeout={PATIENCE} -cclient_min_messages=warning"
        )
        self._dsn = make_conninfo(dsn, options=options, connect_timeout=10)
        self._place = f"the ledger {store}"
        self._lock = Lock()
        self._unknown = False
        self._reader: Connection | None = None
        self._writer: Connection | None = None
        self._warnings: list[str] = []
        with self._translating(), self._connection() as database, database.transaction():
            _make(database, store, origin or str(uuid4()))
            self._meta: dict[str, str] = dict(database.execute("SELECT key, value FROM meta").fetchall())

    # connections

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise StoreBusy(
                f"another process is writing {self._place}; nothing was changed, try again"
            ) from error
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"{self._place} cannot be reached: {_line(error)}; nothing was changed, try again"
            ) from error

    def _connect(self) -> Connection:
        return psycopg.connect(self._dsn, autocommit=True)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        database = self._connect()
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The connection for reading, for one thread at a time; a new one if the old one was lost."""
        with self._lock, self._translating():
            if self._reader is None or self._reader.closed:
                self._reader = self._connect()
            yield self._reader

    def _writing(self) -> Connection:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
            self._writer.add_notice_handler(
                lambda notice: self._warnings.append(f"{notice.severity}: {notice.message_primary}")
            )
        return self._writer

    # the contract

    @property
    def origin(self) -> str:
        return self._meta["store"]

    @property
    def generation(self) -> int:
        return int(self._meta["generation"])

    def head(self) -> Head:
        with self._reading() as database:
            return self._head(database)

    def _head(self, database: Connection) -> Head:
        found = database.execute(f"SELECT {COLUMNS} FROM row ORDER BY number DESC LIMIT 1").fetchone()
        return EMPTY_HEAD if found is None else self._row(found).head

    def _row(self, values: tuple[Any, ...]) -> Row:
        *numbers, kept, body = values
        return checked(self._place, Head._make(numbers), body, kept)

    def rows(self, after: int) -> Iterator[Row]:
        last = self.head().number
        yield from in_order(self._place, self._pages(after, last), after, last)

    def _pages(self, after: int, last: int) -> Iterator[Row]:
        query = f"SELECT {COLUMNS} FROM row WHERE number > %s AND number <= %s ORDER BY number LIMIT %s"
        while after < last:
            with self._reading() as database:
                page = database.execute(query, (after, last, PAGE)).fetchall()
            if not page:
                return
            yield from map(self._row, page)
            after = page[-1][0]

    def claim(self, key: NamedNode) -> NumberedClaim | None:
        with self._reading() as database:
            found = database.execute(
                "SELECT key, holder, digest, number FROM claim WHERE hash = %s", (_hash(key.value),)
            ).fetchone()
        if found is not None and found[0] != key.value:
            raise damaged(self._place, f"the claim of {key.value!r} differs from the data written")
        return None if found is None else self._numbered(found)

    def _numbered(self, values: tuple[Any, ...]) -> NumberedClaim:
        key, holder, digest, number = values
        try:
            return NumberedClaim(Claim(NamedNode(key), NamedNode(holder or key), digest or ""), number)
        except ValueError as error:
            raise damaged(self._place, f"the claim of {key!r} differs from the data written") from error

    def claims(self, until: int) -> Iterator[Claim]:
        query = "SELECT key, holder, digest, number FROM claim WHERE number <= %s ORDER BY key"
        with (
            self._translating(),
            self._connection() as database,
            database.transaction(),
            database.cursor("claims") as cursor,
        ):
            for values in cursor.execute(query, (until,)):
                yield self._numbered(values).claim

    def transaction(self) -> "PostgresTransaction":
        return PostgresTransaction(self)

    def faults(self) -> Iterator[str]:
        with self._translating(), self._connection() as database, database.transaction():
            database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            with database.cursor("rows") as cursor:
                cursor.execute(f"SELECT {COLUMNS} FROM row ORDER BY number")
                values = ((Head._make(numbers), body, kept) for *numbers, kept, body in cursor)

                def claims_after(number: int) -> int:
                    counted = database.execute(
                        "SELECT count(*) FROM claim WHERE number > %s", (number,)
                    ).fetchone()
                    assert counted is not None
                    return int(counted[0])

                yield from faults(self._place, values, claims_after)

    def close(self) -> None:
        for database in (self._reader, self._writer):
            if database is not None:
                database.close()

    # for the transaction

    def begin(self) -> tuple[Connection, Head]:
        """Begin a transaction, the only one among all processes."""
        if self._unknown:
            raise StoreUnavailable(
                f"{self._place} takes no changes after a commit whose outcome is unknown;"
                " open the store again"
            )
        with self._translating():
            database = self._writing()
            try:
                database.execute("BEGIN")
                database.execute("LOCK TABLE row IN EXCLUSIVE MODE")
                head = self._head(database)
            except BaseException:
                roll_back(database)
                raise
            return database, head

    def commit(self, database: Connection) -> None:
        """Commit the transaction.

        Raises StoreUnavailable if the server refuses it; OutcomeUnknown if the answer is lost or has a
        warning.
        """
        self._warnings.clear()
        try:
            status = database.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if error.diag.severity_nonlocalized == "ERROR" and not database.closed:
                roll_back(database)
                raise StoreUnavailable(
                    f"{self._place} cannot be written: {_line(error)}; nothing was changed, try again"
                ) from error
            raise self._lost(_line(error)) from error
        except BaseException as error:
            raise self._lost(f"{error!r}") from error
        if self._warnings:  # the server gave up its wait for other servers
            raise self._lost("; ".join(self._warnings))
        if status != "COMMIT":
            raise StoreUnavailable(
                f"{self._place} rolled the transaction back; nothing was changed, try again"
            )

    def _lost(self, why: str) -> OutcomeUnknown:
        self._unknown = True
        return OutcomeUnknown(
            f"{self._place} did not confirm a commit: {why}; whether the change was made shows when the store"
            " is open again: check the server, and open the store again"
        )

    def scrub(self) -> None:
        """Rewrite the journal's table without deleted rows."""
        with self._connection() as database:
            database.execute("VACUUM FULL row")

    def switched(self, generation: int) -> None:
        """Record another present generation."""
        self._meta["generation"] = str(generation)


def _make(database: Connection, store: str, origin: str) -> None:
    """Make the tables if they do not exist; one process at a time."""
    database.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (store,))
    if database.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (store,)).fetchone() is None:
        database.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(store)))
        database.execute(SCHEMA)
        database.execute("INSERT INTO meta VALUES ('store', %s), ('generation', '1')", (origin,))


def roll_back(database: Connection) -> None:
    """Roll the open transaction back. If that fails, the connection is lost, and the transaction with it."""
    try:
        if database.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            database.execute("ROLLBACK")
    except psycopg.Error:
        with suppress(psycopg.Error):
            database.close()


class PostgresTransaction:
    """See `idstore.stores.ledger.contract.LedgerTransaction`. An error of a method ends the transaction."""

    def __init__(self, ledger: PostgresLedger) -> None:
        self._ledger = ledger
        self._database: Connection | None = None
        self._head = EMPTY_HEAD
        self._generation: int | None = None

    def __enter__(self) -> Self:
        self._database, self._head = self._ledger.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._database is not None:
            roll_back(self._database)
            self._database = None

    @property
    def head(self) -> Head:
        return self._head

    @contextmanager
    def _step(self) -> Iterator[Connection]:
        if self._database is None:
            raise StoreUnavailable(
                "the transaction has ended since an earlier step failed; nothing was changed, try again"
            )
        try:
            with self._ledger._translating():
                yield self._database
        except BaseException:
            roll_back(self._database)
            self._database = None
            raise

    def append(self, rows: Sequence[Row], claims: Sequence[NumberedClaim]) -> None:
        with self._step() as database:
            for place, row in enumerate(rows, self._head.number + 1):
                assert row.head.number == place, f"row {row.head.number} does not follow row {place - 1}"
            self._add_rows(database, rows)
            self._add_claims(database, claims)

    def switch(self, generation: int, row: Row, claims: Iterable[NumberedClaim]) -> None:
        with self._step() as database:
            database.execute("DELETE FROM row")
            self._add_rows(database, [row])
            database.execute("UPDATE meta SET value = %s WHERE key = 'generation'", (str(generation),))
            self._add_claims(database, claims)
        self._generation = generation

    def replace_digests(self, claims: Sequence[Claim]) -> None:
        with self._step() as database:
            for key, _, digest in claims:
                database.execute("UPDATE claim SET digest = %s WHERE key = %s", (digest, key.value))

    def prune(self, number: int) -> None:
        with self._step() as database:
            database.execute(
                "DELETE FROM row WHERE number <= %s AND number < %s", (number, self._head.number)
            )

    def commit(self) -> None:
        if self._database is None:
            raise StoreUnavailable(
                "the transaction has ended since an earlier step failed; nothing was changed, try again"
            )
        database, self._database = self._database, None
        self._ledger.commit(database)
        if self._generation is not None:
            self._ledger.switched(self._generation)

    def _add_rows(self, database: Connection, rows: Sequence[Row]) -> None:
        with database.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO row VALUES (%s, %s, %s, %s, %s, %s)",
                [(*head, checksum(head, body), body) for head, body in rows],
            )
        if rows:
            self._head = rows[-1].head

    def _add_claims(self, database: Connection, claims: Iterable[NumberedClaim]) -> None:
        left = iter(claims)
        while page := list(islice(left, PAGE)):
            hashes = [_hash(claim.key.value) for claim, _ in page]
            self._refuse_taken(database, hashes, page)
            with database.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO claim VALUES (%s, %s, %s, %s, %s)",
                    [
                        (hashed, key.value, None if holder == key else holder.value, digest or None, number)
                        for hashed, ((key, holder, digest), number) in zip(hashes, page, strict=True)
                    ],
                )

    def _refuse_taken(self, database: Connection, hashes: list[bytes], page: list[NumberedClaim]) -> None:
        """Raise AlreadyRegistered for a key that the primary key would refuse, and name it.

        No other process adds claims during the transaction.
        """
        taken = database.execute(
            "SELECT key, coalesce(holder, key) FROM claim WHERE hash = ANY(%s)", (hashes,)
        ).fetchall()
        holders: dict[str, str] = dict(taken)
        for claim, _ in page:
            if claim.key.value in holders:
                raise AlreadyRegistered(
                    f"{claim.key.value} is taken by {holders[claim.key.value]}", id=claim.key.value
                )
            holders[claim.key.value] = claim.holder.value
