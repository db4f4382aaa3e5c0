"""The PostgreSQL ledger of the tests: the contract, and lost connections."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count

import pytest
from ledger_contract import LedgerTests, append, claim, head, numbers, row

from idstore.errors import OutcomeUnknown, StoreUnavailable

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed", exc_type=ImportError)
from postgres_ledger import PostgresLedger  # noqa: E402 it needs psycopg

STORES = count(1)


class PostgresPlace:
    """A separate schema on the server."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self.store = dsn, f"store{next(STORES)}"
        self.arguments = ["postgres", self.dsn, self.store]

    def open(self) -> PostgresLedger:
        return PostgresLedger(self.dsn, self.store)

    def damage(self, statement: str) -> None:
        with psycopg.connect(self.dsn, options=f"-csearch_path={self.store}") as database:
            database.execute(statement)


@pytest.fixture
def place(postgres_server: str) -> PostgresPlace:
    return PostgresPlace(postgres_server)


@pytest.fixture
def ledger(place: PostgresPlace) -> Iterator[PostgresLedger]:
    with closing(place.open()) as ledger:
        yield ledger


class TestPostgresLedger(LedgerTests):
    pass


def test_stores_on_one_server_are_apart(place: PostgresPlace, ledger: PostgresLedger) -> None:
    append(ledger, "a")
    with closing(PostgresPlace(place.dsn).open()) as other:
        assert other.origin != ledger.origin
        assert append(other, "a") == 1


def test_openers_that_come_together_make_one_store(place: PostgresPlace) -> None:
    with ThreadPoolExecutor(6) as threads:
        ledgers = [*threads.map(lambda _: place.open(), range(6))]
    assert len({ledger.origin for ledger in ledgers}) == 1
    for ledger in ledgers:
        ledger.close()


# lost connections


def end(dsn: str, ledger: PostgresLedger, function: str = "pg_terminate_backend") -> None:
    """Let the server end the connection that writes, or cancel its wait."""
    assert ledger._writer is not None
    with psycopg.connect(dsn) as database:
        database.execute(f"SELECT {function}(%s)", (ledger._writer.info.backend_pid,))


def test_a_connection_that_is_lost_before_the_commit_changes_nothing(
    place: PostgresPlace, ledger: PostgresLedger
) -> None:
    append(ledger)
    with ledger.transaction() as transaction:
        transaction.append([row(2)], [claim("a", 2)])
        end(place.dsn, ledger)
        with pytest.raises(StoreUnavailable, match="nothing was changed") as caught:
            transaction.append([row(3)], [])
        assert not isinstance(caught.value, OutcomeUnknown)
    assert numbers(ledger) == [1]
    assert append(ledger, "a") == 2, "the ledger continues with a new connection"


def test_a_connection_that_is_lost_in_the_commit_leaves_the_outcome_unknown(
    place: PostgresPlace, ledger: PostgresLedger
) -> None:
    append(ledger)
    with ledger.transaction() as transaction:
        transaction.append([row(2)], [])
        end(place.dsn, ledger)
        with pytest.raises(OutcomeUnknown, match="open the store again"):
            transaction.commit()
    with pytest.raises(StoreUnavailable, match=r"takes no changes .* open the store again"):
        append(ledger)
    with closing(place.open()) as again:
        assert append(again) == 2


@contextmanager
def standby_that_is_missing(dsn: str) -> Iterator[None]:
    """Let every commit wait for a missing server."""

    def change(statement: str, expected: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as database:
            database.execute(statement)
            database.execute("SELECT pg_reload_conf()")
            while database.execute("SHOW synchronous_standby_names").fetchone() != (expected,):
                time.sleep(0.01)

    change("ALTER SYSTEM SET synchronous_standby_names = 'missing'", "missing")
    try:
        yield
    finally:
        change("ALTER SYSTEM RESET synchronous_standby_names", "")


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_an_abandoned_wait_for_a_standby_leaves_the_outcome_unknown(
    place: PostgresPlace, ledger: PostgresLedger, function: str
) -> None:
    with standby_that_is_missing(place.dsn), ThreadPoolExecutor(1) as thread:
        waiting, made = thread.submit(append, ledger), 0
        with psycopg.connect(place.dsn, autocommit=True) as database:
            query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while database.execute(query).fetchone() != (1,):
                if waiting.done():  # the server's checkpointer did not know yet that commits wait
                    made = waiting.result()
                    waiting = thread.submit(append, ledger)
                time.sleep(0.01)
        end(place.dsn, ledger, function)
        with pytest.raises(OutcomeUnknown):
            waiting.result(30)
    with pytest.raises(StoreUnavailable, match="open the store again"):
        append(ledger)
    with closing(place.open()) as again:
        assert again.head() == head(made + 1), "here the commit was made"


def test_a_commit_that_the_server_refuses_is_refused(place: PostgresPlace, ledger: PostgresLedger) -> None:
    place.damage(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more rows'; END $$;"
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON row DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    with pytest.raises(StoreUnavailable, match=r"no more rows.*nothing was changed") as caught:
        append(ledger)
    assert not isinstance(caught.value, OutcomeUnknown)
    place.damage("DROP TRIGGER late ON row")
    assert append(ledger) == 1


def test_an_unreachable_server_is_named(tmp_path: str) -> None:
    with pytest.raises(StoreUnavailable, match="the ledger store1 cannot be reached"):
        PostgresLedger(f"host={tmp_path} user=postgres", "store1")
