"""A damaged ledger or catalogue: every kind of opening raises one clear error, and no label is issued.

The tests damage closed stores by SQL and by flipping bits, and the files of killed processes.
"""

import json
import shutil
import signal
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_lines import Run
from store_files import ALICE, copy, create, flip, generation, labels, ledger, register, run, sound

import idstore
from idstore import Registry
from idstore.errors import AlreadyRegistered, StoreDamaged, StoreUnavailable

WAYS: dict[str, dict[str, Any]] = {"to write": {}, "to read": {"mode": "shared"}}
LAST = "WHERE number = (SELECT max(number) FROM row)"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def edit(file: Path, statement: str, *values: object) -> None:
    """Run a statement on a database of a closed store."""
    with closing(sqlite3.connect(file)) as database, database:
        done = database.execute(statement, values)
        assert done.rowcount != 0


def ask(file: Path, statement: str) -> Any:
    """Return the first value that a query on a database of a closed store gives."""
    with closing(sqlite3.connect(file)) as database:
        return database.execute(statement).fetchone()[0]


@pytest.fixture
def behind(place: Path, tmp_path: Path) -> Path:
    """A store whose engine and catalogue lack the last two rows of its ledger, as a power cut leaves them."""
    with create(place) as registry:
        register(registry, ["zero"])
    copy(generation(place), tmp_path / "earlier")
    with idstore.open(place) as registry:
        for label in ("one", "two"):
            registry.register("names", label, ALICE, idstore.Request(name="ball"))
    shutil.rmtree(generation(place))
    (tmp_path / "earlier").rename(place / "generation-1")
    return place


def test_rows_that_engine_and_catalogue_lack_are_projected(behind: Path) -> None:
    assert sound(behind) == {"zero", "one", "two"}


@pytest.mark.parametrize("part", ["engine", "catalogue.sqlite"])
def test_each_part_is_brought_up_from_its_own_mark(place: Path, tmp_path: Path, part: str) -> None:
    with create(place) as registry:
        register(registry, ["zero"])
    copy(generation(place) / part, tmp_path / part)
    with idstore.open(place) as registry:
        register(registry, ["one", "two"])
        registry.release("names:one", ALICE)
    present = generation(place) / part
    shutil.rmtree(present) if present.is_dir() else present.unlink()
    (tmp_path / part).rename(present)
    assert sound(place) == {"zero", "two"}
    with idstore.open(place) as registry, pytest.raises(AlreadyRegistered):
        registry.register("names", "one", ALICE)


# rows


def replaced(old: str, new: str) -> Callable[[Path], None]:
    return lambda place: edit(ledger(place), f"UPDATE row SET body = replace(body, ?, ?) {LAST}", old, new)


def set_to(column: str, value: object) -> Callable[[Path], None]:
    return lambda place: edit(ledger(place), f"UPDATE row SET {column} = ? {LAST}", value)


def not_utf8(place: Path) -> None:
    change = "body = CAST(replace(CAST(body AS BLOB), CAST('ball' AS BLOB), x'62e16c6c') AS TEXT)"
    edit(ledger(place), f"UPDATE row SET {change} {LAST}")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a changed letter": replaced('"ball', '"bell'),
    "no JSON": replaced('"ball', '"bal'),
    "another label": replaced("20.500.1/two", "20.500.1/twa"),
    "no body": set_to("body", None),
    "an empty body": set_to("body", ""),
    "a number as the body": set_to("body", 7),
    "no UTF-8": not_utf8,
    "another checksum": set_to("checksum", 12345),
    "another moment": lambda place: edit(ledger(place), f"UPDATE row SET at = at + 1 {LAST}"),
    "another token": lambda place: edit(ledger(place), f"UPDATE row SET token = token + 1 {LAST}"),
    "another sequence": lambda place: edit(ledger(place), f"UPDATE row SET sequence = sequence + 1 {LAST}"),
    "another number": lambda place: edit(ledger(place), f"UPDATE row SET number = number + 1 {LAST}"),
}


def check_refused(place: Path, match: str = "damaged") -> None:
    """Fail unless every kind of opening refuses the store as damaged and leaves its ledger as it is."""
    before = ledger(place).read_bytes()
    for options in WAYS.values():
        for _ in range(2):
            with pytest.raises(StoreDamaged, match=match) as caught:
                idstore.open(place, **options)
            assert "restore a backup" in str(caught.value)
    assert ledger(place).read_bytes() == before


@pytest.mark.parametrize("what", DAMAGE)
def test_a_changed_row_is_refused(behind: Path, what: str) -> None:
    DAMAGE[what](behind)
    check_refused(behind)


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_last_row_is_refused_even_if_projected(place: Path, what: str) -> None:
    """Its numbers decide the next labels and event numbers."""
    with create(place) as registry:
        registry.register("names", "two", ALICE, idstore.Request(name="ball"))
    DAMAGE[what](place)
    check_refused(place)


@pytest.mark.parametrize(
    "body",
    ["7", "[]", "{}", '{"note": "x"}', '[[],false,"","",[],[],[],[]]', "[" * 100_000],
    ids=["a number", "too short", "no note", "half a note", "no event", "nested"],
)
def test_a_body_that_is_no_row_is_refused_even_with_its_checksum(behind: Path, body: str) -> None:
    numbers = [
        ask(ledger(behind), f"SELECT {column} FROM row {LAST}")
        for column in ("number", "sequence", "at", "token")
    ]
    edit(ledger(behind), f"UPDATE row SET body = ? {LAST}", body)
    edit(
        ledger(behind),
        f"UPDATE row SET checksum = ? {LAST}",
        zlib.crc32(f"{' '.join(map(str, numbers))}\n{body}".encode()),
    )
    check_refused(behind)


def test_a_missing_row_is_refused(behind: Path) -> None:
    number = ask(ledger(behind), "SELECT max(number) FROM row")
    edit(ledger(behind), "DELETE FROM row WHERE number = ?", number - 1)
    check_refused(behind, f"row {number - 1} is missing")


@pytest.mark.parametrize("many", [1, 2, 1000])
def test_a_ledger_that_lost_its_last_rows_is_refused(place: Path, many: int) -> None:
    """Otherwise new events would get numbers that engine and catalogue have for other events."""
    with create(place) as registry:
        register(registry, ["one", "two"])
    edit(ledger(place), "DELETE FROM row WHERE number > (SELECT max(number) FROM row) - ?", many)
    check_refused(place)


@pytest.mark.parametrize("part", ["engine", "catalogue.sqlite"])
def test_a_ledger_that_lost_everything_is_refused_by_either_part(
    place: Path, tmp_path: Path, part: str
) -> None:
    """The other part lost everything as well, so the store looks like a new one."""
    with create(place) as registry:
        register(registry, ["one"])
    with create(tmp_path / "empty"):
        pass
    idstore.open(tmp_path / "new", administrator=ALICE).close()
    edit(ledger(place), "DELETE FROM row")
    edit(ledger(place), "DELETE FROM claim")
    present = generation(place) / part
    shutil.rmtree(present) if present.is_dir() else present.unlink()
    empty(tmp_path / "blank")
    copy(generation(tmp_path / "blank") / part, present)
    check_refused(place)
    with pytest.raises(StoreDamaged):
        idstore.open(place, administrator=ALICE)


def empty(place: Path) -> None:
    """Make a store without events."""
    from idstore.stores.store import DirectoryStore

    DirectoryStore(place, create=True).close()


def test_the_ledger_of_an_older_backup_beside_a_newer_projection_is_refused(
    place: Path, tmp_path: Path
) -> None:
    with create(place) as registry:
        register(registry, ["one"])
        registry.backup(tmp_path / "backup", ALICE)
        register(registry, ["two"])
    shutil.copyfile(ledger(tmp_path / "backup"), ledger(place))
    check_refused(place)


def test_an_older_copy_of_the_ledger_is_refused(place: Path, tmp_path: Path) -> None:
    with create(place) as registry:
        register(registry, ["one"])
    shutil.copyfile(ledger(place), tmp_path / "ledger")
    with idstore.open(place) as registry:
        register(registry, ["two"])
    shutil.copyfile(tmp_path / "ledger", ledger(place))
    check_refused(place)


def test_a_projection_older_than_the_pruned_ledger_is_refused(place: Path, tmp_path: Path) -> None:
    """The ledger no longer has the rows that the projection lacks."""
    with create(place) as registry:
        register(registry, ["first"])
    copy(generation(place), tmp_path / "earlier")
    with idstore.open(place) as registry:  # enough acts for closing to prune the ledger
        register(registry, (f"n{number}" for number in range(150)))
    assert ask(ledger(place), "SELECT count(*) FROM row") == 1
    assert len(sound(place)) == 151
    shutil.rmtree(generation(place))
    (tmp_path / "earlier").rename(place / "generation-1")
    check_refused(place)


@pytest.mark.parametrize("part", ["engine", "catalogue.sqlite"])
def test_a_part_older_than_the_pruned_ledger_is_refused(place: Path, tmp_path: Path, part: str) -> None:
    with create(place) as registry:
        register(registry, ["first"])
    copy(generation(place) / part, tmp_path / "earlier")
    with idstore.open(place) as registry:
        register(registry, (f"n{number}" for number in range(150)))
    present = generation(place) / part
    shutil.rmtree(present) if present.is_dir() else present.unlink()
    (tmp_path / "earlier").rename(present)
    check_refused(place)


def test_a_catalogue_that_counts_other_events_is_refused(place: Path) -> None:
    with create(place) as registry:
        register(registry, ["one"])
    edit(generation(place) / "catalogue.sqlite", "UPDATE meta SET value = value + 1 WHERE key = 'sequence'")
    check_refused(place)


META = {
    "no origin": "DELETE FROM meta WHERE key = 'store'",
    "no UUID": "UPDATE meta SET value = 'x' WHERE key = 'store'",
    "no generation": "DELETE FROM meta WHERE key = 'generation'",
    "no number": "UPDATE meta SET value = 'one' WHERE key = 'generation'",
}


@pytest.mark.parametrize("what", META)
def test_a_ledger_without_valid_metadata_is_refused(behind: Path, what: str) -> None:
    edit(ledger(behind), META[what])
    check_refused(behind, r"ledger\.sqlite: it lacks")


@pytest.mark.parametrize("generation", ["2", "999999999999999999999"])
def test_a_ledger_that_names_a_missing_generation_is_refused(behind: Path, generation: str) -> None:
    edit(ledger(behind), "UPDATE meta SET value = ? WHERE key = 'generation'", generation)
    for options in WAYS.values():
        with pytest.raises(StoreUnavailable):
            idstore.open(behind, **options)
    assert (behind / "generation-1" / "engine").is_dir()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM meta", "DROP TABLE event", "UPDATE meta SET value = 'one'"]
)
def test_a_file_that_is_no_catalogue_is_refused(place: Path, statement: str) -> None:
    with create(place) as registry:
        register(registry, ["one"])
    edit(generation(place) / "catalogue.sqlite", statement)
    for options in WAYS.values():
        with pytest.raises(StoreUnavailable):
            read_all(place, options)


def read_all(place: Path, options: dict[str, Any]) -> None:
    with idstore.open(place, **options) as registry:
        assert registry.counts(ALICE).total == 1
        list(registry.log(ALICE))


# claims


def test_verify_finds_a_claim_that_is_missing_and_one_that_is_made_up(place: Path) -> None:
    with create(place) as registry:
        register(registry, ["one", "two"])
    edit(ledger(place), "DELETE FROM claim WHERE key LIKE '%/one'")
    edit(ledger(place), "UPDATE claim SET key = replace(key, '/two', '/twa') WHERE key LIKE '%/two'")
    with idstore.open(place) as registry:
        faults = [str(finding) for finding in registry.verify(ALICE)]
    assert any("20.500.1/one" in finding for finding in faults)
    assert any("20.500.1/two" in finding for finding in faults)


def test_verify_finds_a_row_that_is_projected_and_damaged(place: Path) -> None:
    with create(place) as registry:
        register(registry, ["one", "two"])
    edit(
        ledger(place), "UPDATE row SET body = replace(body, '/one', '/onf') WHERE body LIKE '%20.500.1/one%'"
    )
    with idstore.open(place) as registry:
        assert any("differs from the data written" in str(finding) for finding in registry.verify(ALICE))


# bits of the files of a killed process

KILLED = """
import os, signal, sys, idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
for number in range(int(sys.argv[2])):
    registry.register("names", f"n{number}", alice, idstore.Request(name=f"thing {number}"))
if len(sys.argv) > 3:
    registry.counts(alice)
    registry.store.snapshot().close()
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_after(place: Path, many: int) -> set[str]:
    """Kill a process after ``many`` acts, and return the labels that it acknowledged."""
    create(place).close()
    run(KILLED, place, many, status=-signal.SIGKILL)
    assert (place / "ledger.sqlite-wal").stat().st_size > 4096
    return {f"n{number}" for number in range(many)}


def issues_nothing(place: Path) -> bool:
    """Return whether every kind of opening refuses a store as damaged."""
    for options in WAYS.values():
        try:
            registry = idstore.open(place, **options)
        except StoreDamaged:
            continue
        registry.close()
        return False
    return True


def committed_bytes(place: Path) -> int:
    """Return how many bytes of the ledger's log hold committed pages. Uncommitted pages may follow them."""
    copy = place.with_name("copy")
    shutil.copytree(place, copy)
    with closing(sqlite3.connect(ledger(copy))) as database:
        _, frames, _ = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        (page,) = database.execute("PRAGMA page_size").fetchone()
    shutil.rmtree(copy)
    return 32 + int(frames) * (24 + int(page))


@pytest.mark.parametrize("many", [10, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "share", [0.0, 0.5, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.3, 0.7, 0.99))]
)
def test_a_flipped_bit_in_the_ledger_s_log_is_refused_as_damage(place: Path, share: float, many: int) -> None:
    """For SQLite the log ends before the damaged page, but engine and catalogue have later rows."""
    kill_after(place, many)
    flip(place / "ledger.sqlite-wal", int(committed_bytes(place) * share))
    assert issues_nothing(place)
    assert issues_nothing(place), "also once more"


@pytest.mark.parametrize("many", [4, pytest.param(80, marks=pytest.mark.slow)])
def test_a_flipped_bit_anywhere_in_the_ledger_s_log_is_refused(
    place: Path, tmp_path: Path, run: Run, many: int
) -> None:
    kill_after(place, 30)
    size = committed_bytes(place)
    for number in range(many):
        store = tmp_path / f"copy{number}"
        shutil.copytree(place, store)
        at = (size * number) // many + number % 97
        flip(store / "ledger.sqlite-wal", at)
        assert issues_nothing(store), f"byte {at} of {size}"
        assert run("mint", "numbers", "--store", store, code=6).out == ""
        shutil.rmtree(store)


@pytest.mark.parametrize("what", ["removed", "cut short", "emptied"])
def test_a_ledger_without_its_log_is_refused(place: Path, what: str) -> None:
    """A copy of only the files with known endings leaves such a store."""
    kill_after(place, 40)
    log = place / "ledger.sqlite-wal"
    if what == "removed":
        log.unlink()
    else:
        with log.open("r+b") as file:
            file.truncate(committed_bytes(place) // 2 if what == "cut short" else 0)
    assert issues_nothing(place)


@pytest.mark.parametrize("many", [6, pytest.param(120, marks=pytest.mark.slow)])
def test_a_flipped_bit_anywhere_in_the_ledger_is_noticed_or_harmless(
    place: Path, tmp_path: Path, many: int
) -> None:
    """If the store opens, it has its former content, or `verify` lists the fault."""
    with create(place) as registry:
        whole = register(registry, (f"n{number}" for number in range(60)))
    size = ledger(place).stat().st_size
    noticed = 0
    for number in range(many):
        store = tmp_path / f"copy{number}"
        shutil.copytree(place, store)
        flip(ledger(store), (size * number) // many + number % 89)
        try:
            with idstore.open(store, mode="shared") as registry:
                findings = list(registry.verify(ALICE))
                assert findings or labels(registry) == whole
                noticed += bool(findings)
        except StoreUnavailable:
            noticed += 1
        shutil.rmtree(store)
    assert noticed > many // 12


def test_damage_of_an_open_store_is_reported(place: Path) -> None:
    registry = create(place)
    register(registry, ["one"])
    ledger(place).write_bytes(b"SQLite format 3\0" + bytes(4096 * 8))
    (place / "ledger.sqlite-wal").write_bytes(b"")
    message = _outcome(registry)
    assert message == "acknowledged" or "damaged" in message or "cannot" in message
    registry.close()
    with pytest.raises(StoreUnavailable):
        idstore.open(place)


def _outcome(registry: Registry) -> str:
    try:
        register(registry, ["two"])
    except StoreUnavailable as error:
        return str(error)
    return "acknowledged"


def test_rows_have_the_form_that_these_tests_assume(place: Path) -> None:
    """A row has numbers without a gap, and a checksum of these numbers and the body."""
    with create(place) as registry:
        register(registry, ["one", "two"])
    with closing(sqlite3.connect(ledger(place))) as database:
        rows = database.execute(
            "SELECT number, sequence, at, token, checksum, body FROM row ORDER BY number"
        ).fetchall()
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    for *numbers, checksum, body in rows:
        assert checksum == zlib.crc32(f"{' '.join(map(str, numbers))}\n{body}".encode())
        assert isinstance(json.loads(body), list)


def test_a_label_without_its_claim_is_not_issued_again(place: Path) -> None:
    with create(place) as registry:
        register(registry, ["one", "two"])
        registry.release("names:two", ALICE)
    key = ask(ledger(place), "SELECT key FROM claim WHERE key LIKE '%two'")
    edit(ledger(place), "UPDATE claim SET key = ? WHERE key = ?", f"{key[:-1]}n", key)
    with idstore.open(place) as registry:
        with pytest.raises(StoreDamaged, match="which was issued before"):
            register(registry, ["two"])
        register(registry, ["three"])


@pytest.mark.parametrize("way", WAYS)
def test_another_uuid_of_the_store_is_damage(place: Path, way: str) -> None:
    create(place).close()
    origin = ask(ledger(place), "SELECT value FROM meta WHERE key = 'store'")
    other = origin[:-1] + ("0" if origin[-1] != "0" else "1")
    edit(ledger(place), "UPDATE meta SET value = ? WHERE key = 'store'", other)
    with pytest.raises(StoreDamaged, match="the store's UUID differs from the data written"):
        idstore.open(place, **WAYS[way])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE identifier SET iri = iri || CAST(X'FF' AS TEXT)",
        "ALTER TABLE identifier RENAME COLUMN iri TO irj",
    ],
    ids=["text", "column"],
)
def test_altered_texts_of_the_catalogue_are_damage(place: Path, statement: str) -> None:
    with create(place) as registry:
        register(registry, ["one"])
    with closing(sqlite3.connect(generation(place) / "catalogue.sqlite")) as database, database:
        database.execute(statement)
    with pytest.raises(StoreDamaged), idstore.open(place, mode="read") as registry:
        registry.list(ALICE)
