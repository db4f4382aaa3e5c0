"""Imports beside other acts and after other clocks: what was acknowledged stays, and what is done after an import comes after it."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from random_acts import exported, merge

import idstore
from idstore import Party, Registry, Request, Stage
from idstore.errors import NotPermitted
from idstore.exchange import rdf
from idstore.model import times

ROOT, ANN, BEN, DEPUTY = (Party(name) for name in ("root", "ann", "ben", "deputy"))
FORMATS = "http://formats.example.org/"
Make = Callable[..., Registry]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Registries; each is sound at the end."""
    numbers, opened = count(), []

    def one(*, begun: bool = True) -> Registry:
        registry = idstore.open(tmp_path / f"store-{next(numbers)}", administrator=ROOT, durability="process")
        opened.append(registry)
        if begun:
            registry.add_namespace("formats", FORMATS, "puid", ROOT)
        return registry

    yield one
    for registry in opened:
        assert list(registry.verify(ROOT)) == []
        registry.close()


def published(registry: Registry, label: str, request: Request = Request()) -> str:
    iri = registry.register("formats", label, ANN, request).iri.value
    registry.fixate([iri], ANN)
    return iri


def interrupted(registry: Registry, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something done in the last moment before an import has the registry to itself."""
    staging = registry.store.staging

    def late(**options: Any) -> object:
        act()
        return staging(**options)

    monkeypatch.setattr(registry.store, "staging", late)


def test_what_is_done_while_an_import_into_a_new_registry_begins_stays(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make(), make(begun=False)
    iri = published(source, "fmt/1")
    interrupted(target, lambda: target.add_namespace("own", "http://own.example.org/", "puid", ROOT), monkeypatch)
    merge(target, source, tmp_path)
    assert {namespace.name for namespace in target.namespaces()} == {"own", "formats"}
    assert target.show(iri, ANN).stage is Stage.FIXATED


def test_who_is_suspended_while_an_import_begins_imports_nothing(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make(), make()
    published(source, "fmt/1")
    target.add_party(DEPUTY, ROOT, "administrator")
    file = exported(source, ROOT, tmp_path / "all.nq")
    interrupted(target, lambda: target.suspend(DEPUTY, "leave", ROOT), monkeypatch)
    with pytest.raises(NotPermitted, match="suspended"):
        rdf.import_registry(target, [file], DEPUTY, "nquads")
    assert target.counts(ROOT).total == 0


def ahead(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    now = times.now
    monkeypatch.setattr(times, "now", lambda: now() + milliseconds)


@pytest.mark.parametrize("attempt", range(4))
def test_an_act_comes_after_what_a_clock_that_was_ahead_had_done(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    """Whichever of the two stores has the lower UUID, which decides among events of one millisecond."""
    here, there, new = make(), make(), make(begun=False)
    with monkeypatch.context() as patched:
        ahead(patched, 60_000)
        iri = published(there, f"fmt/{attempt + 1}")
    merge(here, there, tmp_path)
    here.revoke(iri, "abuse", ROOT)
    events = [entry.event for entry in here.log(ROOT) if entry.event.about.value == iri]
    assert events[-1].order == max(event.order for event in events)
    merge(there, here, tmp_path)
    merge(new, here, tmp_path)
    assert {registry.show(iri, ANN).stage for registry in (here, there, new)} == {Stage.TOMBSTONE}


def test_a_restored_backup_goes_on_after_all_that_is_in_it(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = make(), make()
    with monkeypatch.context() as patched:
        ahead(patched, 60_000)
        iri = published(there, "fmt/1")
    merge(here, there, tmp_path)
    here.backup(tmp_path / "copy", ROOT)
    with idstore.open(tmp_path / "copy", durability="process") as restored:
        restored.revoke(iri, "abuse", ROOT)
        events = [entry.event for entry in restored.log(ROOT)]
        assert events[-1].order == max(event.order for event in events)
        assert list(restored.verify(ROOT)) == []


def test_a_request_key_that_made_two_with_other_arguments_stays_with_the_first(make: Make, tmp_path: Path) -> None:
    here, there, copy = make(), make(), make(begun=False)
    first = published(here, "fmt/1", Request(name="one", request_key="order-1"))
    other = published(there, "fmt/2", Request(name="two", request_key="order-1"))
    merge(here, there, tmp_path)
    merge(copy, here, tmp_path)
    for registry in (here, copy):
        assert {record.iri.value for record in registry.list(ROOT)} == {first, other}
        again = registry.register("formats", "fmt/1", ANN, Request(name="one", request_key="order-1"))
        assert again.iri.value == first


def test_an_allocation_is_revoked_with_its_first_allocators_others_alone(make: Make, tmp_path: Path) -> None:
    here, there = make(), make()
    iri = published(here, "fmt/1")
    there.register("formats", "fmt/1", BEN)
    there.fixate([iri], BEN)
    merge(here, there, tmp_path)
    assert here.revocable(BEN, 0, ROOT) == []
    assert here.revocable(ANN, 0, ROOT) == [iri]
    assert here.revoke_all(BEN, 0, "spam", ROOT) == []
    assert len(here.revoke_all(ANN, 0, "spam", ROOT)) == 1
