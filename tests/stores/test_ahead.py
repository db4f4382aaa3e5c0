"""Opening a store for one allocation while the rest is imported: the lock first, and whatever was opened too early is not used."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore.errors import StoreBusy, StoreUnavailable
from idstore.model.party import Party
from idstore.registry import opening
from idstore.stores import embedded
from idstore.stores.ahead import Ahead
from idstore.stores.embedded import EmbeddedStore

ALICE = Party("alice")
BASE = "http://rdl.example.org/data#"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store with a namespace and an identifier in it."""
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("rdl", BASE, "rdswip", ALICE)
        registry.mint("rdl", ALICE)
    return tmp_path / "store"


def mint(ahead: Ahead) -> str:
    try:
        with opening.allocating(ahead, ALICE) as registry:
            return registry.mint("rdl", ALICE).iri.value
    finally:
        ahead.give_up()


def known(place: Path) -> set[str]:
    with idstore.open(place, read_only=True) as registry:
        return {record.iri.value for record in registry.list(ALICE)}


def test_nobody_else_opens_it_meanwhile(place: Path) -> None:
    ahead = Ahead(place, 0)
    with pytest.raises(StoreBusy):
        EmbeddedStore(place, wait=0)
    with pytest.raises(StoreBusy):
        Ahead(place, 0)
    made = mint(ahead)
    assert made in known(place)


def test_what_is_given_up_is_free_again(place: Path) -> None:
    ahead = Ahead(place, 0)
    ahead.give_up()
    assert mint(Ahead(place, 0)) in known(place)


def test_the_journal_says_which_generation_is_the_present_one(place: Path) -> None:
    [present] = place.glob("generation-*")
    (place / "generation-7").mkdir()  # as an import leaves it that was killed
    (place / "generation-old").mkdir()
    ahead = Ahead(place, 0)
    assert ahead.engine(present) is None
    made = mint(ahead)
    assert made in known(place)


def test_the_engine_is_given_once(place: Path) -> None:
    [present] = place.glob("generation-*")
    ahead = Ahead(place, 0)
    assert ahead.engine(present) is not None
    assert ahead.engine(present) is None
    assert mint(ahead) in known(place)


def test_an_engine_that_does_not_open_is_mended(place: Path) -> None:
    [engine] = place.glob("generation-*/engine")
    (engine / "CURRENT").write_text("MANIFEST-999999\n")
    before = mint(Ahead(place, 0))
    assert before in known(place)
    assert len(known(place)) == 2


def test_a_journal_that_lost_changes_is_refused(place: Path) -> None:
    """Else numbers would be given out again that the catalogue has given to other events."""
    with closing(sqlite3.connect(place / "journal.sqlite")) as journal, journal:
        journal.execute("DELETE FROM change WHERE sequence = (SELECT max(sequence) FROM change)")
    with pytest.raises(StoreUnavailable, match="lost changes"):
        mint(Ahead(place, 0))


@pytest.mark.parametrize("brief", [False, True])
def test_a_journal_that_lost_everything_is_refused(place: Path, brief: bool) -> None:
    """The catalogue lost it as well, so that only the engine tells that the store is no new one."""
    with closing(sqlite3.connect(place / "journal.sqlite")) as journal, journal:
        journal.execute("DELETE FROM change")
    [catalogue] = place.glob("generation-*/catalogue.sqlite")
    EmbeddedStore(place.with_name("empty"), create=True).close()
    shutil.copyfile(place.with_name("empty") / "generation-1" / catalogue.name, catalogue)
    for administrator in (ALICE, None):
        with pytest.raises(StoreUnavailable, match="lost changes"):
            idstore.open(place, administrator=administrator, brief=brief)


def test_who_opened_it_briefly_goes_on_with_namespaces_as_they_are(place: Path) -> None:
    with idstore.open(place, brief=True) as registry:
        registry.freeze("rdl", ALICE)
        assert registry.namespace("rdl").frozen
        registry.freeze("rdl", ALICE, frozen=False)
        assert not registry.namespace("rdl").frozen


def test_a_large_change_of_a_store_that_was_opened_briefly_keeps_what_the_log_of_its_engine_holds(place: Path) -> None:
    with idstore.open(place) as registry:
        before = [record.iri.value for record in registry.list(ALICE)] + [registry.mint("rdl", ALICE).iri.value]
    with idstore.open(place, brief=True) as registry, registry.store.staging() as staged:
        idstore.Registry(staged).name(before[0], "in bulk", ALICE)
    with idstore.open(place) as registry:
        assert {record.iri.value for record in registry.list(ALICE)} == set(before)
        assert dict(registry.show(before[0], ALICE).names) == {"und": "in bulk"}
        assert list(registry.verify(ALICE)) == []


@pytest.fixture
def iri(place: Path) -> str:
    """The identifier, which was given a name that the engine lacks."""
    [iri] = known(place)
    with idstore.open(place, brief=True) as registry:
        registry.name(iri, "first", ALICE)
    return iri


def test_who_is_interrupted_in_a_store_that_was_opened_briefly_does_nothing_twice(
    place: Path, iri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with idstore.open(place, brief=True) as registry:
        store: Any = registry.store
        append = store._journal.append

        def interrupted(written: Any) -> None:
            append(written)
            raise KeyboardInterrupt

        monkeypatch.setattr(store._journal, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            registry.name(iri, "second", ALICE)
        monkeypatch.undo()
        assert registry.show(iri, ALICE).names == (("und", "second"),)
        registry.name(iri, "third", ALICE)
    with idstore.open(place) as registry:
        assert registry.show(iri, ALICE).names == (("und", "third"),)
        assert list(registry.verify(ALICE)) == []


def test_a_store_that_cannot_be_opened_to_write_after_all_says_so(place: Path, iri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with idstore.open(place, brief=True) as registry:

        def full(*_: object, **__: object) -> None:
            raise StoreUnavailable("no space")

        monkeypatch.setattr(embedded, "Generation", full)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                registry.show(iri, ALICE)
        with pytest.raises(StoreUnavailable, match="open the store again"):
            registry.name(iri, "second", ALICE)
        monkeypatch.undo()
    with idstore.open(place) as registry:
        assert registry.show(iri, ALICE).names == (("und", "first"),)


def test_a_copy_that_lost_what_it_began_with_is_refused(place: Path, tmp_path: Path) -> None:
    """The journal of a backup names the last event before it, and does not say what that was."""
    copy = tmp_path / "copy"
    with idstore.open(place) as registry:
        registry.backup(copy, ALICE)
    with closing(sqlite3.connect(copy / "generation-1" / "catalogue.sqlite")) as catalogue, catalogue:
        catalogue.execute("UPDATE meta SET value = 0 WHERE key = 'applied'")
    for brief in (True, False):
        with pytest.raises(StoreUnavailable, match="lacks what happened after change 0; restore a backup"):
            idstore.open(copy, brief=brief)
