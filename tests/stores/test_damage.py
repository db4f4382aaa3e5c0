"""Changed bytes in files of engine and catalogue: `verify` finds them, and every operation reports them."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from command_lines import Run
from store_files import ALICE, create, flip, generation, labels, register, run, sound

import idstore
from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.exchange import rdf
from idstore.registry import Registry

MANY = 150


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store whose engine has all quads in tables."""
    place = tmp_path_factory.mktemp("whole") / "store"
    with idstore.open(place, administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        for number in range(MANY):
            request = idstore.Request(name=f"thing {number}", target=f"http://example.org/{number}")
            iri = registry.mint("rdl", ALICE, request).iri
            if number % 10 == 0:
                registry.fixate([iri], ALICE)
    return place


def tables(store: Path) -> list[Path]:
    """The engine's tables, except the one that holds only the number of its format."""
    found = []
    for table in generation(store).glob("engine/*.sst"):
        with suppress(FileNotFoundError):  # merged meanwhile
            if b"oxversion" not in table.read_bytes():
                found.append(table)
    return sorted(found)


def damage(file: Path, part: float = 1 / 3) -> None:
    """Flip a few bits of a table's data, which fill about the first four fifths of a large table."""
    size = file.stat().st_size
    start = int(size * part) if size > 1 << 14 else 4
    flip(file, *range(start, start + 8))


def damaged(whole: Path, folder: Path, part: float = 1 / 3) -> Iterator[tuple[str, Path]]:
    """Yield copies of the store, each with another damaged table."""
    for number, table in enumerate(tables(whole)):
        copy = folder / str(number)
        shutil.copytree(whole, copy)
        damage(copy / table.relative_to(whole), part)
        yield table.name, copy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read_only", "part"), [(True, 0.05), (True, 0.3), (True, 0.5), (True, 0.7), (False, 0.3)]
)
def test_verify_finds_damage_in_every_table(
    whole: Path, tmp_path: Path, *, read_only: bool, part: float
) -> None:
    assert len(tables(whole)) > 6, "each index has at least one"
    with idstore.open(whole, mode="shared") as registry:
        assert not list(registry.verify(ALICE))
    for name, store in damaged(whole, tmp_path, part):
        damaged_data = (generation(store) / "engine" / name).read_bytes()
        try:
            with idstore.open(store, mode="shared" if read_only else "write") as registry:
                kinds = {finding.kind for finding in registry.verify(ALICE)}
        except StoreUnavailable:
            continue  # the store does not open, or its administrators cannot be read
        mended = not read_only and is_replaced(generation(store) / "engine" / name, store, damaged_data)
        assert mended or "unreadable" in kinds or "event-changed" in kinds, name


def is_replaced(table: Path, store: Path, damaged_data: bytes) -> bool:
    """Return whether the engine merged the table into another, or was made again from its base."""
    return is_obsolete(table, store) or table.read_bytes() != damaged_data


def is_obsolete(table: Path, store: Path) -> bool:
    """Return whether a closed store's table is none of the engine's any more: opening removes such files."""
    if table.exists():
        with suppress(StoreUnavailable):
            idstore.open(store).close()
    return not table.exists()


DOORS: dict[str, Callable[[Registry], object]] = {
    "list": lambda registry: [
        registry.show(record.iri, ALICE) for record in registry.list(ALICE, limit=MANY)
    ],
    "export": lambda registry: rdf.export(registry, BytesIO(), ALICE),
    "query": lambda registry: registry.query("SELECT * { ?s ?p ?o }", ALICE).close(),
    "quads": lambda registry: _all_quads(registry),
}


def _all_quads(registry: Registry) -> int:
    with registry.quads(ALICE) as quads:
        return sum(1 for _ in quads)


@pytest.mark.parametrize("door", DOORS)
def test_every_operation_reports_damaged_files(whole: Path, tmp_path: Path, door: str) -> None:
    messages = []
    for _, store in damaged(whole, tmp_path):
        try:
            with idstore.open(store, mode="shared") as registry:
                DOORS[door](registry)
        except StoreUnavailable as error:
            messages.append(str(error))
    assert messages
    assert all("damaged" in one and "restore a backup" in one for one in messages), messages


@pytest.mark.slow
def test_minting_into_a_damaged_store_says_so(whole: Path, tmp_path: Path) -> None:
    for _, store in damaged(whole, tmp_path):
        try:
            with idstore.open(store, administrator=ALICE) as registry:
                for _ in range(3):
                    assert registry.mint("rdl", ALICE).label
        except StoreUnavailable as error:
            assert "damaged" in str(error) or "cannot be" in str(error)


# files in use: their process continues with its memory


def findings(registry: Registry) -> list[str]:
    return [str(finding) for finding in registry.verify(ALICE)]


def test_verify_reads_the_engine_s_files_in_use(whole: Path, tmp_path: Path) -> None:
    """A snapshot is made of hard links or of memory, so it may be sound although the files in use are not.

    Meanwhile the engine merges tables in the background: a damaged one may vanish, or may still be written.
    """
    found = 0
    for number in range(len(tables(whole))):
        store = tmp_path / f"store{number}"
        shutil.copytree(whole, store)
        with idstore.open(store) as registry:
            assert findings(registry) == []
            try:
                table = tables(store)[number]
                damage(table)
                damaged_data = table.read_bytes()
            except (FileNotFoundError, IndexError):
                continue
            is_found = findings(registry) != []
        assert is_found or is_replaced(table, store, damaged_data), table.name
        found += is_found
    assert found > 1


@pytest.mark.parametrize(
    "how",
    [
        "flipped",
        "removed",
        *(pytest.param(how, marks=pytest.mark.slow) for how in ("cut short", "emptied", "replaced")),
    ],
)
def test_verify_finds_a_damaged_list_of_the_engine_s_files(whole: Path, tmp_path: Path, how: str) -> None:
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    with idstore.open(store) as registry:
        assert findings(registry) == []
        [listed] = generation(store).glob("engine/MANIFEST-*")
        damage_manifest(listed, how)
        assert findings(registry) != []
        with suppress(StoreUnavailable):
            registry.mint("rdl", ALICE)


def damage_manifest(listed: Path, how: str) -> None:
    data = listed.read_bytes()
    if how == "removed":
        listed.unlink()
    elif how == "flipped":
        flip(listed, len(data) // 2)
    else:
        listed.write_bytes({"cut short": data[: len(data) // 2], "emptied": b"", "replaced": data[::-1]}[how])


def test_verify_reads_the_catalogue_in_use(whole: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    with idstore.open(store) as registry:
        assert findings(registry) == []
        catalogue = generation(store) / "catalogue.sqlite"
        flip(catalogue, *(range(4096 * 3 + 8, catalogue.stat().st_size, 4096)))
        assert findings(registry) != []


def test_verify_reads_the_ledger_in_use(whole: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    with idstore.open(store) as registry:
        assert findings(registry) == []
        ledger = store / "ledger.sqlite"
        flip(ledger, *(range(4096 + 8, ledger.stat().st_size, 4096)))
        assert findings(registry) != []


# a damaged list of the engine's files at the next opening

LATER = """
import os, signal, sys, idstore
alice = idstore.Party("alice")
registry = idstore.open(sys.argv[1])
for number in range(int(sys.argv[2])):
    registry.register("names", f"n{number}", alice)
    registry.bind(f"names:n{number}", idstore.Statement(f"http://example.org/{number}"), alice)
if sys.argv[3] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
registry.close()
"""


@pytest.mark.parametrize(
    "many",
    [pytest.param(5, id="rows kept"), pytest.param(150, id="rows pruned", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("end", ["kill", pytest.param("close", marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["flipped", "cut short", "cut at its last entry", "emptied", "removed"])
def test_a_damaged_list_of_files_loses_nothing_unnoticed(
    tmp_path: Path, how: str, end: str, many: int
) -> None:
    """The store is repaired or refused; it never opens without an acknowledged binding."""
    store = tmp_path / "store"
    create(store).close()
    run(LATER, store, many, end, status=-signal.SIGKILL if end == "kill" else 0)
    listed = max(generation(store).glob("engine/MANIFEST-*"))
    if how == "cut at its last entry":
        with listed.open("r+b") as file:
            file.truncate(listed.stat().st_size - 7)
    else:
        damage_manifest(listed, how)
    whole = {f"n{number}" for number in range(many)}
    for _ in range(2):
        try:
            with idstore.open(store) as registry:
                assert labels(registry) == whole
                assert sum(len(record.bindings) for record in registry.list(ALICE, limit=None)) == many
                assert findings(registry) == []
        except StoreDamaged as error:
            assert "restore a backup" in str(error)


@pytest.mark.parametrize("how", ["an older one", "an empty one"])
def test_an_exchanged_engine_is_noticed(tmp_path: Path, how: str) -> None:
    """A restored file system leaves such a state. Rows of the ledger are projected again.

    Rows that the ledger has pruned are damage.
    """
    for many, kept in ((5, True), (150, False)):
        store = tmp_path / f"store{many}"
        create(store).close()
        if how == "an older one":
            shutil.copytree(generation(store) / "engine", tmp_path / f"older{many}")
        else:
            empty(tmp_path / f"older{many}")
        run(LATER, store, many, "close")
        shutil.rmtree(generation(store) / "engine")
        (tmp_path / f"older{many}").rename(generation(store) / "engine")
        if kept:
            assert sound(store) == {f"n{number}" for number in range(many)}
        else:
            with pytest.raises(StoreDamaged, match="restore a backup"):
                idstore.open(store)


def empty(engine: Path) -> None:
    import pyoxigraph

    pyoxigraph.Store(str(engine)).flush()


def test_a_damaged_store_gives_exit_code_6(whole: Path, tmp_path: Path, run: Run) -> None:
    store = tmp_path / "damaged"
    shutil.copytree(whole, store)
    (store / "ledger.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4096 * 8))
    for words in (
        ("list",),
        ("mint", "rdl"),
        ("verify",),
        ("query", "ASK {}"),
        ("backup", tmp_path / "backup"),
    ):
        assert "idstore: " in run(*words, "--store", store, code=6).err
    assert not (tmp_path / "backup" / "ledger.sqlite").exists()


def test_an_unreadable_file_is_not_reported_as_damage(tmp_path: Path) -> None:
    """For example if too many files are open. Advice to restore a backup would lose later changes."""
    store = tmp_path / "store"
    with create(store) as registry:
        register(registry, "ab")
    output = run(FEW_FILES, store)
    assert "StoreDamaged" not in output
    assert "StoreUnavailable" in output
    assert sound(store) == {"a", "b"}


FEW_FILES = """
import resource, sys, idstore, idstore.opening, idstore.stores.store
from idstore.registry import Registry
with idstore.open(sys.argv[1]) as registry:  # everything is imported
    pass
for files in range(8, 60):
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, 4096))
    try:
        idstore.open(sys.argv[1]).close()
    except idstore.IdstoreError as error:
        print(type(error).__name__, error)
"""
