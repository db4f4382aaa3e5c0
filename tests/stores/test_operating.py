"""What the operator of a program learns of its stores: messages of the logger ``idstore``, and counters."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from store_files import ALICE, PATIENCE, Thread, create, generation, line, register, run, running, until
from store_ledgers import SlowLedger

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, NotPermitted, NotRegistered, OutcomeUnknown, StoreUnavailable
from idstore.stores import writer
from idstore.stores.contract import StoreCounters
from idstore.stores.ledger.contract import LedgerTransaction
from idstore.stores.store import DirectoryStore
from idstore.tokens import add_token

SECRET = "unpublished"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    create(tmp_path / "store").close()
    return tmp_path / "store"


@pytest.fixture
def disk(place: Path) -> Iterator[tuple[Registry, SlowLedger]]:
    """A registry, and the ledger whose commits can fail."""
    ledgers: list[SlowLedger] = []

    def opened(folder: Path) -> SlowLedger:
        ledgers.append(SlowLedger(folder))
        return ledgers[0]

    with closing(DirectoryStore(place, ledger=opened)) as store:
        yield Registry(store), ledgers[0]


def messages(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    """Return the messages of a level and above."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("idstore.") and record.levelno >= level
    ]


def refuse(_: LedgerTransaction) -> None:
    raise StoreUnavailable("the disk is full")


def fail(_: LedgerTransaction) -> None:
    raise OutcomeUnknown("the disk has failed")


# messages


def test_a_program_that_configures_no_logging_sees_none(place: Path) -> None:
    (generation(place) / "engine" / "CURRENT").unlink()
    code = "import sys, idstore; sys.stderr = sys.stdout; idstore.open(sys.argv[1]).close()"
    assert run(code, place) == ""


def test_opening_and_closing(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "idstore")
    idstore.open(place).close()
    opened, closed = messages(caplog)
    assert opened.startswith(f"{place}: opened for writing in ")
    assert closed == f"{place}: closed"


KILLED = """
import os, signal, sys, idstore
from idstore.stores.projection.oxigraph import Engine
Engine.apply = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
idstore.open(sys.argv[1]).register("names", sys.argv[2], idstore.Party("alice"))
"""


def test_recovery(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(KILLED, place, SECRET, status=-signal.SIGKILL)
    idstore.open(place).close()
    [message] = messages(caplog)
    assert "applied acknowledged changes" in message
    assert SECRET not in message


def test_a_rebuilt_engine(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    (generation(place) / "engine" / "CURRENT").unlink()
    idstore.open(place).close()
    assert "replaced by its base" in messages(caplog, logging.WARNING)[0]


@pytest.mark.parametrize("failure", [refuse, fail])
def test_a_failed_commit(
    disk: tuple[Registry, SlowLedger],
    caplog: pytest.LogCaptureFixture,
    failure: Callable[[LedgerTransaction], None],
) -> None:
    registry, ledger = disk
    ledger.fail_next(failure)
    with pytest.raises(StoreUnavailable):
        registry.register("names", SECRET, ALICE)
    [message] = messages(caplog, logging.ERROR)
    assert "a commit failed: the disk" in message
    assert SECRET not in caplog.text


def test_a_slow_commit(
    place: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SLOW", 0.0)
    with idstore.open(place) as registry:
        register(registry, "a")
    [message] = messages(caplog, logging.WARNING)
    assert message == f"{place}: a commit took 0.0 s on the disk"


STOPPED = """
import sys, idstore
with idstore.open(sys.argv[1]) as registry:
    registry.register("names", "later", idstore.Party("alice"))
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_reader_of_an_earlier_state(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    with idstore.open(place, mode="read"), running(STOPPED, place) as holder:
        assert line(holder) == "open"
        holder.send_signal(signal.SIGSTOP)
        idstore.open(place, mode="read", wait=0.1).close()
        holder.send_signal(signal.SIGCONT)
    [message] = messages(caplog)
    assert f"process {holder.pid}" in message
    assert "reads an earlier state" in message


def test_no_message_tells_of_what_is_not_public(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Labels, names, comments, notes, targets, queries, errors about them, and secrets of tokens."""
    caplog.set_level(logging.DEBUG, "idstore")
    party = Party(f"{SECRET}-party")
    with idstore.open(place) as registry:
        request = Request(
            name=SECRET,
            comment=SECRET,
            target=f"http://example.org/{SECRET}",
            request_key=SECRET,
            bindings=[Statement(f"http://example.org/{SECRET}", note=SECRET)],
        )
        iri = registry.register("names", SECRET, party, request).iri
        with pytest.raises(AlreadyRegistered):
            registry.register("names", SECRET, ALICE)
        with pytest.raises(NotRegistered):
            registry.show(iri, Party("bob"))
        registry.query(f'SELECT * {{ ?s ?p "{SECRET}" }}', party).close()
        secret = add_token(registry, ALICE).token
        registry.redact_text(SECRET, "asked for", ALICE)
        register(registry, (f"n{number}" for number in range(200)))
    idstore.open(place, mode="read").close()
    assert messages(caplog)
    for text in messages(caplog, logging.DEBUG):
        assert SECRET not in text
        assert secret not in text


# counters


def test_counters_tell_what_was_done(disk: tuple[Registry, SlowLedger]) -> None:
    registry, ledger = disk
    assert registry.counters(ALICE) == StoreCounters()
    register(registry, "ab")
    with pytest.raises(AlreadyRegistered):
        registry.register("names", "a", ALICE)
    registry.store.snapshot().close()
    ledger.fail_next(refuse)
    with pytest.raises(StoreUnavailable):
        register(registry, "c")
    counters = registry.counters(ALICE)
    assert (counters.acts, counters.refusals, counters.commits, counters.failures) == (2, 1, 2, 1)
    assert (counters.snapshots, counters.waiting) == (1, 0)
    assert 0 < counters.slowest_commit < counters.commit_seconds


def test_counters_tell_what_waits(disk: tuple[Registry, SlowLedger]) -> None:
    registry, ledger = disk
    ledger.hold()
    first = Thread(lambda: register(registry, "a"))
    assert ledger.begun.acquire(timeout=PATIENCE)
    others = [Thread(partial(register, registry, label)) for label in "bc"]
    until(lambda: registry.counters(ALICE).waiting == 2, "two acts that wait")
    ledger.let_go()
    for thread in (first, *others):
        thread.result()
    assert registry.counters(ALICE).waiting == 0


def test_counters_are_for_administrators(place: Path) -> None:
    with idstore.open(place) as registry, pytest.raises(NotPermitted):
        registry.counters(Party("bob"))
    with idstore.open(place, mode="read") as registry:
        assert registry.counters(ALICE) == StoreCounters()
