"""A large change is prepared beside the present state, and takes effect whole or not at all, also on disk."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from store_files import ALICE, create, generation, labels, register, run, sound

import idstore
from idstore import Party, Registry
from idstore.errors import StoreUnavailable
from idstore.exchange import rdf


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def generations(place: Path) -> int:
    return len(list(place.glob("generation-*")))


def broken_off(registry: Registry, label: str, error: BaseException) -> None:
    with registry.store.bulk() as bulk:
        register(Registry(bulk), [label])
        raise error


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize(
    "error",
    [OSError("no space"), RuntimeError("of the engine"), LookupError("of the caller"), KeyboardInterrupt()],
)
def test_after_a_failure_the_same_process_can_try_again(
    place: Path, attempts: int, error: BaseException
) -> None:
    with create(place) as registry:
        for attempt in range(attempts):
            with pytest.raises((StoreUnavailable, type(error))):
                broken_off(registry, f"lost{attempt}", error)
        assert labels(registry) == set()
        with registry.store.bulk() as bulk:
            register(Registry(bulk), ["kept"])
        register(registry, ["later"])
    assert sound(place) == {"kept", "later"}
    assert generations(place) == 1


KILLED = """
import os, signal, sys
import idstore
from idstore import Registry
alice, where = idstore.Party("alice"), sys.argv[2]
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
registry = idstore.open(sys.argv[1])
registry.register("names", "before", alice)
with registry.store.bulk() as bulk:
    inner = Registry(bulk)
    for number in range(600):
        inner.register("names", f"n{number}", alice)
        if where == "within" and number == 550:
            kill()
    if where == "at its end":
        kill()
registry.register("names", "after", alice)
kill()
"""


@pytest.mark.parametrize("where", ["within", "at its end", "after"])
def test_a_killed_large_change_is_whole_or_absent(place: Path, where: str) -> None:
    create(place).close()
    run(KILLED, place, where, status=-signal.SIGKILL)
    whole = {f"n{number}" for number in range(600)} | {"after"} if where == "after" else set()
    assert sound(place) == {"before"} | whole
    assert generations(place) == 1
    with idstore.open(place) as registry:
        register(registry, ["later"])
        if where != "after":
            assert register(registry, ["n0"]) == {"n0"}, "no label of it was issued"


def test_a_generation_of_a_killed_process_is_not_taken_for_the_present_one(place: Path) -> None:
    with create(place) as registry:
        register(registry, ["one"])
    (place / "generation-2").mkdir()
    (place / "generation-2" / "catalogue.sqlite").write_text("half of it")
    (place / "generation-old").mkdir()
    with idstore.open(place, mode="shared") as reader:
        assert labels(reader) == {"one"}
    with idstore.open(place) as registry:
        assert labels(registry) == {"one"}
        with registry.store.bulk() as bulk:
            register(Registry(bulk), ["two"])
    assert sound(place) == {"one", "two"}
    assert generation(place).name != "generation-1"


@pytest.mark.parametrize("kind", ["register", "mint", "name", "fixate", "release", "party", "namespace"])
def test_acts_after_a_large_change_go_on_from_it(place: Path, kind: str) -> None:
    acts: dict[str, Callable[[Registry], object]] = {
        "register": lambda registry: registry.register("names", "two", ALICE),
        "mint": lambda registry: registry.mint("numbers", ALICE),
        "name": lambda registry: registry.name("names:one", "called", ALICE),
        "fixate": lambda registry: registry.fixate([registry.show("names:one", ALICE).iri], ALICE),
        "release": lambda registry: registry.release("names:one", ALICE),
        "party": lambda registry: registry.add_party(Party("bob"), ALICE),
        "namespace": lambda registry: registry.add_namespace("more", "20.500.2", "handle", ALICE),
    }
    with create(place) as registry:
        with registry.store.bulk() as bulk:
            inner = Registry(bulk)
            register(inner, ["one"])
            inner.mint("numbers", ALICE)
        acts[kind](registry)
        before = [entry.event.iri for entry in registry.log(ALICE)]
        assert len(before) == len(set(before))
    sound(place)


@pytest.mark.slow
def test_an_import_of_many_portions_makes_the_same_registry(tmp_path: Path) -> None:
    """The import has so many quads that the engine gets them in several portions."""
    many, files = 8000, [tmp_path / "all.trig", tmp_path / "again.trig"]
    with create(tmp_path / "source") as source:
        iris = [
            source.register("names", f"n{number}", ALICE, idstore.Request(f"thing {number}", "en")).iri
            for number in range(many)
        ]
        for number in range(0, many, 100):
            source.fixate(iris[number : number + 50], ALICE)
        with files[0].open("wb") as file:
            rdf.export(source, file, ALICE, "trig")
    with idstore.open(tmp_path / "copy", administrator=ALICE) as copy:
        assert rdf.import_registry(copy, [files[0]], ALICE, "trig").identifiers == many
        with files[1].open("wb") as file:
            rdf.export(copy, file, ALICE, "trig")
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(sound(tmp_path / "copy")) == many
    assert list((tmp_path / "copy").rglob("*.nq")) == []
