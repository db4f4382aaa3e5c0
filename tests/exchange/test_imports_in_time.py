"""Imports concurrent with other acts, and imports with clocks that differ.

Acknowledged acts remain, and acts after an import are later than those in it.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from random_histories import exported, merge

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
    """Yield a factory of registries; each is checked at the end."""
    numbers, opened = count(), []

    def one(*, begun: bool = True) -> Registry:
        registry = idstore.open(tmp_path / f"store-{next(numbers)}", administrator=ROOT)
        opened.append(registry)
        if begun:
            registry.add_namespace("formats", FORMATS, "puid", ROOT)
        return registry

    yield one
    for registry in opened:
        assert list(registry.verify(ROOT)) == []
        registry.close()


def published(registry: Registry, label: str, request: Request = Request()) -> str:
    iri = registry.register("formats", label, ANN, request).iri
    registry.fixate([iri], ANN)
    return iri


def interrupted(registry: Registry, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an act happen just before an import gets exclusive access."""
    bulk = registry.store.bulk

    def late(**options: Any) -> object:
        act()
        return bulk(**options)

    monkeypatch.setattr(registry.store, "bulk", late)


def test_an_act_at_the_start_of_an_import_into_a_new_registry_remains(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = make(), make(begun=False)
    iri = published(source, "fmt/1")
    interrupted(
        target, lambda: target.add_namespace("own", "http://own.example.org/", "puid", ROOT), monkeypatch
    )
    merge(target, source, tmp_path)
    assert {namespace.name for namespace in target.namespaces()} == {"own", "formats"}
    assert target.show(iri, ANN).stage is Stage.FIXATED


def test_an_administrator_suspended_at_the_start_of_an_import_imports_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_an_act_follows_imported_events_of_a_fast_clock(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    """This holds for either order of the stores' UUIDs, which order events of one millisecond."""
    here, there, new = make(), make(), make(begun=False)
    with monkeypatch.context() as patched:
        ahead(patched, 60_000)
        iri = published(there, f"fmt/{attempt + 1}")
    merge(here, there, tmp_path)
    here.revoke(iri, "abuse", ROOT)
    events = [entry.event for entry in here.log(ROOT) if entry.event.about == iri]
    assert events[-1].order == max(event.order for event in events)
    merge(there, here, tmp_path)
    merge(new, here, tmp_path)
    assert {registry.show(iri, ANN).stage for registry in (here, there, new)} == {Stage.TOMBSTONE}


def test_acts_on_a_restored_backup_follow_all_its_events(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = make(), make()
    with monkeypatch.context() as patched:
        ahead(patched, 60_000)
        iri = published(there, "fmt/1")
    merge(here, there, tmp_path)
    here.backup(tmp_path / "copy", ROOT)
    with idstore.open(tmp_path / "copy") as restored:
        restored.revoke(iri, "abuse", ROOT)
        events = [entry.event for entry in restored.log(ROOT)]
        assert events[-1].order == max(event.order for event in events)
        assert list(restored.verify(ROOT)) == []


def test_a_request_key_used_twice_with_different_arguments_stays_with_the_first(
    make: Make, tmp_path: Path
) -> None:
    here, there, copy = make(), make(), make(begun=False)
    first = published(here, "fmt/1", Request(name="one", request_key="order-1"))
    other = published(there, "fmt/2", Request(name="two", request_key="order-1"))
    merge(here, there, tmp_path)
    merge(copy, here, tmp_path)
    for registry in (here, copy):
        assert {record.iri for record in registry.list(ROOT)} == {first, other}
        again = registry.register("formats", "fmt/1", ANN, Request(name="one", request_key="order-1"))
        assert again.iri == first


def test_an_allocation_is_revoked_only_with_its_first_allocator(make: Make, tmp_path: Path) -> None:
    here, there = make(), make()
    iri = published(here, "fmt/1")
    there.register("formats", "fmt/1", BEN)
    there.fixate([iri], BEN)
    merge(here, there, tmp_path)
    for dry_run in (True, False):
        assert here.revoke_all(BEN, times.of(0), "spam", ROOT, dry_run=dry_run) == []
        [event] = here.revoke_all(ANN, times.of(0), "spam", ROOT, dry_run=dry_run)
        assert (event.about, here.show(iri, ANN).stage.value == "tombstone") == (iri, not dry_run)


def test_a_setting_that_a_scheme_got_later_has_its_default(tmp_path: Path) -> None:
    """The registry of an earlier release lacks it in the namespace and in the event."""
    whole, file = tmp_path / "whole.nq", tmp_path / "earlier.nq"
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("h", "12345", "handle", ROOT)
        registry.register("h", "Doc", ROOT)
        with whole.open("wb") as target:
            rdf.export(registry, target, ROOT, "nquads")
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "setting#" not in line]
    assert len(kept) < len(lines)
    file.write_text("".join(kept), encoding="utf-8")
    with idstore.open(tmp_path / "other", administrator=ROOT) as other:
        rdf.import_registry(other, [file], ROOT)
        assert other.show("h:Doc", ROOT).label == "Doc"
        assert other.register("h", "doc", ROOT).label == "doc"
        assert not list(other.verify(ROOT))
