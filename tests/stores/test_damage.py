"""Files whose bytes are not what was written: `verify` finds each of them, and every other door says clearly what is wrong."""

import errno
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import pytest

import idstore
from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.exchange import rdf
from idstore.registry import Registry
from idstore.stores import bases, generation, snapshots
from idstore.stores.journal import Journal
from idstore.stores.telling import unnumbered

ALICE = idstore.Party("alice")
MANY = 150


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store, whose engine has everything in tables."""
    place = tmp_path_factory.mktemp("sound") / "store"
    with idstore.open(place, administrator=ALICE) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        for number in range(MANY):
            request = idstore.Request(name=f"thing {number}", target=f"http://example.org/{number}")
            iri = registry.mint("rdl", ALICE, request).iri.value
            if number % 10 == 0:
                registry.fixate([iri], ALICE)
    return place


def tables(store: Path) -> list[Path]:
    """The engine's tables, but the one with nothing but the number of its format."""
    found = next(store.glob("generation-*")).glob("engine/*.sst")
    return sorted(table for table in found if b"oxversion" not in table.read_bytes())


def damage(file: Path) -> None:
    """Turn a few bits over where a table has its data, which come first."""
    data = bytearray(file.read_bytes())
    start = len(data) // 3 if len(data) > 1 << 14 else 4
    for place in range(start, start + 8):
        data[place] ^= 0xFF
    file.write_bytes(data)


def damaged(sound: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """The store with each of its tables damaged."""
    for number, table in enumerate(tables(sound)):
        copy = folder / str(number)
        shutil.copytree(sound, copy)
        damage(copy / table.relative_to(sound))
        yield table.name, copy


def test_verify_finds_damage_in_every_table(sound: Path, tmp_path: Path) -> None:
    assert len(tables(sound)) > 6, "an index has one at least"
    with idstore.open(sound, read_only=True) as registry:
        assert not list(registry.verify(ALICE))
    for name, store in damaged(sound, tmp_path):
        try:
            with idstore.open(store, read_only=True) as registry:
                found = {finding.kind for finding in registry.verify(ALICE)}
        except StoreUnavailable:  # it does not even open, or not even who administers the registry can be told
            continue
        assert "unreadable" in found or "event-changed" in found, name


DOORS: dict[str, Callable[[Registry], object]] = {
    "list": lambda registry: [registry.show(record.iri.value, ALICE) for record in registry.list(ALICE, limit=MANY)],
    "export": lambda registry: rdf.export(registry, BytesIO(), ALICE),
    "query": lambda registry: registry.query("SELECT * { ?s ?p ?o }", ALICE).close(),
    "quads": lambda registry: _all_quads(registry),
}


def _all_quads(registry: Registry) -> int:
    with registry.quads(ALICE) as quads:
        return sum(1 for _ in quads)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_that_files_are_damaged(sound: Path, tmp_path: Path, door: str) -> None:
    told = []
    for _, store in damaged(sound, tmp_path):
        try:
            with idstore.open(store, read_only=True) as registry:
                DOORS[door](registry)
        except StoreUnavailable as error:
            told.append(str(error))
    assert told
    assert all("damaged" in one and "restore a backup" in one for one in told), told


def test_minting_into_a_damaged_store_says_so(sound: Path, tmp_path: Path) -> None:
    for _, store in damaged(sound, tmp_path):
        try:
            with idstore.open(store, administrator=ALICE) as registry:
                for _ in range(3):
                    assert registry.mint("rdl", ALICE).label
        except StoreUnavailable as error:
            assert "damaged" in str(error) or "cannot be" in str(error)


def test_a_damaged_journal_says_so(sound: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(sound, store)
    journal = Journal(store / "journal.sqlite")
    (store / "journal.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4096 * 8))
    with pytest.raises(StoreUnavailable):
        journal.last()
    journal.close()
    with pytest.raises(StoreUnavailable):
        idstore.open(store, administrator=ALICE)


def test_what_cannot_be_read_now_is_not_told_as_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there are too many open files: whoever restored a backup would lose what came after it."""
    base = tmp_path / "base-7-x"
    base.mkdir()
    (base / "event").write_text("http://example.org/event")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", _raising(OSError(errno.EMFILE, "Too many open files")))
        with pytest.raises(OSError, match="Too many open files") as caught:
            bases.mend(tmp_path)
    assert not isinstance(caught.value, StoreDamaged)


def test_a_catalogue_that_cannot_be_copied_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        monkeypatch.setattr(snapshots, "connect", _raising(sqlite3.OperationalError("disk I/O error")))
        with pytest.raises(StoreUnavailable, match=r"generation-….*cannot be read: disk I/O error; check the disk"):
            registry.backup(tmp_path / "backup", ALICE)
        assert not (tmp_path / "backup" / "journal.sqlite").exists()


def test_what_cannot_be_opened_is_told_without_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot's says how much was done out of sight, a generation's how often much at once."""
    store = tmp_path / "store"
    idstore.open(store, administrator=ALICE).close()
    error = OSError(f"IO error: No space left on device: While appending to file: {store}/generation-1/engine/MANIFEST-000005")
    monkeypatch.setattr(generation, "opened", _raising(error))
    with pytest.raises(StoreUnavailable) as caught:
        idstore.open(store)
    assert str(caught.value) == (
        f"the store's folder {store}/generation-… cannot be opened: IO error: No space left on device: While appending to file: "
        f"{store}/generation-…/engine/MANIFEST-000005; free some space, and try again"
    )
    assert caught.value.fields == {"path": f"{store}/generation-…"}
    assert unnumbered("z/snapshots/2-84 cannot be opened") == "z/snapshots/… cannot be opened"
    assert unnumbered("/snapshots/2024/s/snapshots/1-3/engine/CURRENT: no") == "/snapshots/2024/s/snapshots/…/engine/CURRENT: no"


def _raising(error: Exception) -> Callable[..., NoReturn]:
    def act(*_: object, **__: object) -> NoReturn:
        raise error

    return act
