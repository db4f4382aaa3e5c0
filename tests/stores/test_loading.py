"""Whole histories come to the engine portion by portion: all of them, or nothing is changed."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from random_acts import ROOT, begun, exported

import idstore
from idstore import Registry, Request
from idstore.errors import StoreDamaged, StoreUnavailable
from idstore.exchange import rdf
from idstore.stores import loading
from idstore.stores.generation import Generation


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a registry of 40 identifiers exports; the engine is to get it in many portions."""
    monkeypatch.setattr(loading, "_FIRST", 20)
    monkeypatch.setattr(loading, "_PORTION", 100)
    with begun(tmp_path / "source") as registry:
        for number in range(40):
            made = registry.mint("rdl", ROOT, Request(f"thing {number}", "en"))
            if number % 3:
                registry.fixate([made.iri.value], ROOT)
        return exported(registry, ROOT, tmp_path / "all", "trig")


def taken_in(registry: Registry, export: Path) -> int:
    return rdf.import_registry(registry, [export], ROOT, "trig").created


def test_many_portions_make_one_registry(tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def load(self: Generation, nquads: Path) -> None:
        sizes.append(nquads.read_text(encoding="utf-8").count("\n"))
        real(self, nquads)

    real = Generation.load
    monkeypatch.setattr(Generation, "load", load)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        assert taken_in(copy, export) == 40
        assert exported(copy, ROOT, tmp_path / "again", "trig").read_bytes() == export.read_bytes()
        assert list(copy.verify(ROOT)) == []
    assert len(sizes) > 5 and sizes[0] < sizes[1] < sizes[2] and max(sizes) < 130
    assert list((tmp_path / "copy").rglob("*.nq")) == []


@pytest.mark.parametrize("good", [0, 3])
def test_a_portion_that_cannot_be_loaded_leaves_the_store_as_it_was(
    tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    loaded: list[Path] = []

    def load(self: Generation, nquads: Path) -> None:
        if len(loaded) == good:
            raise OSError("no space")
        loaded.append(nquads)
        real(self, nquads)

    real = Generation.load
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        before = exported(copy, ROOT, tmp_path / "before").read_bytes()
        with monkeypatch.context() as failing:
            failing.setattr(Generation, "load", load)
            with pytest.raises(StoreUnavailable, match="no space"):
                taken_in(copy, export)
        assert exported(copy, ROOT, tmp_path / "after").read_bytes() == before
        assert taken_in(copy, export) == 40
    assert list((tmp_path / "copy").rglob("*.nq")) == []


class Broken:
    """An engine that finds its files to be other than it wrote them, as it does by this kind of error."""

    def load(self, **_: object) -> None:
        raise RuntimeError("Corruption: block checksum mismatch")

    bulk_load = optimize = load


@pytest.mark.parametrize("method", ["load", "merge", "engrave"])
def test_damage_that_the_engine_meets_is_told_as_such(tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def meet(self: Generation, *given: object) -> None:
        engine, self.engine = self.engine, Broken()  # type: ignore[assignment]
        try:
            real(self, *given)
        finally:
            self.engine = engine

    real = getattr(Generation, method)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        assert copy.counts(ROOT).total == 0  # what its founding has to have applied is
        monkeypatch.setattr(loading, "_LARGE", 0)
        monkeypatch.setattr("idstore.stores.generation._FEW", 0)  # each portion in tables of its own
        monkeypatch.setattr(Generation, method, meet)
        with pytest.raises(StoreDamaged, match="Corruption: block checksum mismatch"):
            taken_in(copy, export)
        monkeypatch.undo()
        assert copy.counts(ROOT).total == 0 and list(copy.verify(ROOT)) == []


def test_the_tables_of_a_large_load_are_merged_where_most_are_new(tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[Path] = []

    def merge(self: Generation) -> None:
        merged.append(self.folder)
        real(self)

    real = Generation.merge
    monkeypatch.setattr(Generation, "merge", merge)
    monkeypatch.setattr("idstore.stores.generation._FEW", 0)
    with idstore.open(tmp_path / "few", administrator=ROOT) as few:
        taken_in(few, export)
        assert merged == []
    monkeypatch.setattr(loading, "_LARGE", 1)
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        taken_in(copy, export)
        assert len(merged) == 1
        assert exported(copy, ROOT, tmp_path / "again", "trig").read_bytes() == export.read_bytes()
        with begun(tmp_path / "other") as other:
            other.fixate([other.mint("rdl", ROOT).iri.value], ROOT)
            more = exported(other, ROOT, tmp_path / "more", "trig")
        assert taken_in(copy, more) == 1
        assert len(merged) == 1, "what was there is not merged once more for so little"
        assert list(copy.verify(ROOT)) == []


def impatient(pool: ThreadPoolExecutor) -> None:
    """Whoever waits for a pool's end is interrupted."""
    SHUT_DOWN(pool, wait=False)
    raise KeyboardInterrupt


SHUT_DOWN = ThreadPoolExecutor.shutdown


def test_who_is_interrupted_twice_while_tables_are_merged_can_import_again(
    tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    merging: list[Path] = []
    ended: list[threading.Thread] = []

    def merge(self: Generation) -> None:
        merging.append(self.folder)
        ended.append(threading.current_thread())
        os.kill(os.getpid(), signal.SIGINT)
        assert let_go.wait(60)
        real(self)

    real = Generation.merge
    try:
        with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
            with monkeypatch.context() as large:
                large.setattr(loading, "_LARGE", 0)
                large.setattr("idstore.stores.generation._FEW", 0)
                large.setattr(ThreadPoolExecutor, "shutdown", impatient)
                large.setattr(Generation, "merge", merge)
                with pytest.raises(KeyboardInterrupt):
                    taken_in(copy, export)
            assert copy.counts(ROOT).total == 0
            assert taken_in(copy, export) == 40
            [given_up] = merging
            [there] = [place for place in (tmp_path / "copy").glob("generation-*/engine") if place.parent != given_up]
            let_go.set()
            ended[0].join(60)
            assert not ended[0].is_alive()
            assert there.exists() and list(copy.verify(ROOT)) == []
            assert exported(copy, ROOT, tmp_path / "again", "trig").read_bytes() == export.read_bytes()
    finally:
        let_go.set()
