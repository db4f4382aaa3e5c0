"""Limits of the size of values: the act refuses a text that is too large, so the ledger never holds one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from store_files import ALICE, create, ledger, sound

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import InvalidData
from idstore.exchange import rdf
from idstore.registry.handle_values import Draft

TEXT = 1 << 16
"""Maximal bytes of a text."""
VALUE = 1 << 20
"""Maximal bytes of a handle value."""
ONE = "names:one"
TEXTS: dict[str, Callable[[Registry, str], object]] = {
    "comment": lambda registry, text: registry.comment(ONE, text, ALICE),
    "internal comment": lambda registry, text: registry.comment(ONE, text, ALICE, internal=True),
    "comment on a namespace": lambda registry, text: registry.comment_namespace("names", text, ALICE),
    "name": lambda registry, text: registry.name(ONE, text, ALICE),
    "note": lambda registry, text: registry.bind(ONE, Statement("http://example.org/", note=text), ALICE),
    "reason to deprecate": lambda registry, text: registry.deprecate("names:fixed", text, ALICE),
    "reason to revoke": lambda registry, text: registry.revoke("names:fixed", text, ALICE),
    "reason to suspend": lambda registry, text: registry.suspend(Party("bob"), text, ALICE),
    "request key": lambda registry, text: registry.mint("numbers", ALICE, Request(request_key=text)),
    "name of a new one": lambda registry, text: registry.mint("numbers", ALICE, Request(name=text)),
    "comment on a new one": lambda registry, text: registry.mint("numbers", ALICE, Request(comment=text)),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A closed store with an identifier of each stage, and a party."""
    with create(tmp_path / "store") as registry:
        registry.register("names", "one", ALICE)
        registry.fixate([registry.register("names", "fixed", ALICE).iri], ALICE)
        registry.add_party(Party("bob"), ALICE)
    return tmp_path / "store"


@pytest.mark.parametrize("letter", ["a", "é", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("what", TEXTS)
def test_a_text_that_is_too_large_is_refused(place: Path, what: str, letter: str) -> None:
    size = len(letter.encode())
    with idstore.open(place) as registry:
        events = len(list(registry.log(ALICE)))
        for text in (letter * (TEXT // size + 1), letter * (2 * TEXT), letter * (5 << 20)):
            with pytest.raises(InvalidData) as caught:
                TEXTS[what](registry, text)
            assert len(str(caught.value)) < 1000
        assert len(list(registry.log(ALICE))) == events
        TEXTS[what](registry, letter * (TEXT // size))
        assert len(list(registry.log(ALICE))) > events
    assert {"one", "fixed"} <= sound(place)


def set_value(registry: Registry, data: str) -> None:
    registry.set_value(ONE, Draft("DESC", data, index=7), ALICE)


def test_a_handle_value_may_have_one_mebibyte(place: Path) -> None:
    with idstore.open(place) as registry:
        set_value(registry, "x" * VALUE)
        with pytest.raises(InvalidData):
            set_value(registry, "y" * (VALUE + 1))
    assert sound(place) == {"one", "fixed"}
    with idstore.open(place) as registry:
        [value] = registry.values(ONE, ALICE)
        assert len(value.data) == VALUE


@pytest.mark.parametrize("kind", ["comment", "name", "reason"])
def test_a_text_that_is_too_large_is_refused_in_an_import(place: Path, tmp_path: Path, kind: str) -> None:
    """An import that is prepared beside the store leaves no unreadable row either."""
    marker = "mark of the text"
    export = tmp_path / "all.nq"
    with create(tmp_path / "source") as source:
        source.fixate([source.register("names", "x", ALICE).iri], ALICE)
        {
            "comment": lambda: source.comment("names:x", marker, ALICE),
            "name": lambda: source.name("names:x", marker, ALICE),
            "reason": lambda: source.deprecate("names:x", marker, ALICE),
        }[kind]()
        with export.open("wb") as file:
            rdf.export(source, file, ALICE, "nquads")
    text = export.read_text(encoding="utf-8")
    assert marker in text
    export.write_text(text.replace(marker, "a" * (TEXT + 1)), encoding="utf-8")
    with idstore.open(place) as registry:
        with pytest.raises(InvalidData):
            rdf.import_registry(registry, [export], ALICE, "nquads")
        assert "x" not in {record.label for record in registry.list(ALICE)}
    assert sound(place) == {"one", "fixed"}
    export.write_text(text.replace(marker, "a" * TEXT), encoding="utf-8")
    with idstore.open(place) as registry:
        assert rdf.import_registry(registry, [export], ALICE, "nquads").identifiers == 1
    assert "x" in sound(place)


def test_a_store_with_the_largest_values_opens_again_from_its_ledger(place: Path, tmp_path: Path) -> None:
    """Every row that can be written can be read."""
    shutil.copytree(place / "generation-1", tmp_path / "earlier")
    with idstore.open(place) as registry:
        for letter in "abc":
            registry.comment(ONE, letter * TEXT, ALICE)
            set_value(registry, letter * VALUE)
    shutil.rmtree(place / "generation-1")
    (tmp_path / "earlier").rename(place / "generation-1")
    assert sound(place) == {"one", "fixed"}
    assert ledger(place).stat().st_size > 3 * VALUE
