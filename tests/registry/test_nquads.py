"""Parallel reads of many subjects give the same quads in the same order as single reads."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pyoxigraph import Literal, NamedNode, Quad, Store

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import StoreUnavailable
from idstore.model.change import Change
from idstore.model.filter import Filter
from idstore.registry import export
from idstore.registry.handle_values import Draft
from idstore.stores.contract import View
from idstore.stores.projection.oxigraph import Engine
from idstore.stores.views import EngineView
from idstore.vocabulary import (
    IDS,
    PUBLIC_LOG,
    RDF,
    REGISTRY_GRAPH,
    STORAGE_GRAPH,
    XSD,
    access_list,
    closed_party,
)

ANN, BEN, ROOT = Party("ann"), Party("ben"), Party("root")
TEXTS = some.text(some.characters(codec="utf-8", exclude_characters="\x00"))


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("h", "10.5555", "handle", ROOT)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        for number in range(9):
            party = (ANN, BEN)[number % 2]
            handle = registry.register(
                "h", f"x{number}", party, Request(f"a thing\u2028\x85\n\r{number}")
            ).iri
            drawn = registry.mint("rdl", party).iri
            for iri in (handle, drawn):
                registry.bind(iri, Statement(f"http://example.org/{number}", note='"\\\t'), party)
                registry.bind(iri, Statement("http://example.org/all"), party)
                registry.comment(iri, "internal", party)
                if number % 3 == 0:
                    registry.fixate([iri], party)
                if number % 3 == 1:
                    registry.grant(iri, (BEN, ANN)[number % 2], party)
            registry.set_value(handle, Draft("DESC", "for me", 7, permissions="1100"), party)
            registry.set_value(handle, Draft("DESC", "for all", 8), party)
        registry.suspend(BEN, "away", ROOT)
        yield registry


def one_by_one(registry: Registry, view: View, party: Party) -> Iterator[Quad]:
    """Yield everything that a party sees in the order of an export, read quad by quad."""
    sight = registry.core.sight(view, party)
    if not sight.everything:
        yield Quad(REGISTRY_GRAPH, IDS.partial, Literal("true", datatype=XSD.boolean), REGISTRY_GRAPH)
    for graph in (REGISTRY_GRAPH, STORAGE_GRAPH):
        yield from ordered(view.quads(None, None, None, graph))
    for namespace in sorted(registry.namespaces(), key=lambda one: one.base):
        yield from records(
            view, NamedNode(namespace.base), view.catalogue.sorted_identifiers(namespace=namespace.base)
        )
    for graph in sorted(filter(sight.sees, view.graphs()), key=lambda one: one.value):
        if access_list(graph) is not None or closed_party(graph) is not None:
            listed = [*view.catalogue.sorted_identifiers(audience=graph.value)]
            yield from records(view, graph, listed)
            yield from ordered(left(view, graph, set(listed)))
            yield from events(view, graph)
    yield from events(view, PUBLIC_LOG)


def records(view: View, graph: NamedNode, iris: Iterable[str]) -> Iterator[Quad]:
    for iri in iris:
        yield from ordered(view.quads(NamedNode(iri), None, None, graph))
        for through in (RDF.subject, IDS.valueOf):
            for quad in sorted(view.quads(None, through, NamedNode(iri), graph), key=str):
                yield from ordered(view.quads(quad.subject, None, None, graph))  # type: ignore[arg-type]


def left(view: View, graph: NamedNode, listed: set[str]) -> Iterator[Quad]:
    for quad in view.quads(None, None, None, graph):
        if (
            quad.predicate in (IDS.grantee, IDS.bindGrantee, IDS.offeredTo, IDS.suspended)
            and quad.subject.value not in listed  # type: ignore[union-attr]
        ):
            yield quad
        elif quad.predicate == IDS.valueOf and quad.object.value not in listed:  # type: ignore[union-attr]
            yield from view.quads(quad.subject, None, None, graph)  # type: ignore[arg-type]


def events(view: View, graph: NamedNode) -> Iterator[Quad]:
    for iri in view.catalogue.ordered_events(graph.value):
        yield from ordered(view.quads(NamedNode(iri), None, None, graph))


def ordered(quads: Iterable[Quad]) -> list[Quad]:
    return sorted(quads, key=lambda quad: (str(quad.subject), quad.predicate != RDF.type, str(quad)))


@pytest.mark.parametrize("party", [ROOT, ANN, BEN, Party("nobody")], ids=str)
@pytest.mark.parametrize("portion", [1, 2, 5, 200])
def test_a_parallel_read_equals_a_read_quad_by_quad(
    registry: Registry, party: Party, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_FIRST", portion)
    monkeypatch.setattr(export, "_PORTION", portion)
    monkeypatch.setattr(export, "_LINES", portion)
    with registry.store.snapshot() as view:
        expected = list(one_by_one(registry, view, party))
        with registry.nquads(party) as lines:
            assert list(lines) == [str(quad) for quad in expected]
        with registry.quads(party) as quads:
            assert list(quads) == expected


@given(
    value=some.one_of(
        TEXTS.map(Literal),
        TEXTS.map(lambda text: Literal(text, language="de-AT")),
        some.one_of(some.integers(), some.booleans(), some.floats()).map(Literal),
        some.sampled_from(
            (XSD.decimal, XSD.dateTime, XSD.integer, NamedNode("http://example.org/é"))
        ).flatmap(lambda kind: TEXTS.map(lambda text: Literal(text, datatype=kind))),
    )
)
def test_a_value_is_written_as_the_engine_writes_its_quad(engine: Engine, value: Literal) -> None:
    subject, beside = NamedNode("http://example.org/é?x=%20#'"), NamedNode("http://example.org/beside")
    mark = engine.mark + 1
    graph = NamedNode(f"http://example.org/graph/{mark}")
    quads = [
        Quad(subject, RDF.value, value, graph),
        Quad(beside, RDF.subject, subject, graph),
        Quad(beside, RDF.value, value, graph),
    ]
    engine.apply([Change((), add=tuple(quads))], mark)
    for found, through in ((subject, None), (beside, RDF.subject)):
        expected = sorted(str(quad) for quad in engine.quads(found, None, None, graph))
        assert sorted(engine.nquads([subject], graph, through)) == expected
        assert len(expected) == (1 if through is None else 2)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("generation") / "engine", create=True)
    yield engine
    engine.close()


def test_a_reader_of_the_first_lines_alone_leaves_nothing_open(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_FIRST", 2)
    monkeypatch.setattr(export, "_PORTION", 2)
    folder = registry.store.path
    with registry.nquads(ROOT) as lines:
        for text in lines:
            if "/access/" in text:
                break
    with pytest.raises(KeyError), registry.quads(ROOT) as quads:
        raise KeyError(next(quads))
    registry.close()
    with idstore.open(folder) as again:
        assert list(again.verify(ROOT)) == []


@pytest.mark.parametrize("filter", [Filter(), Filter(namespace="h")], ids=["whole", "part"])
@pytest.mark.parametrize("portion", [1, 2])
def test_a_read_error_does_not_shorten_an_export(
    registry: Registry, filter: Filter, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nquads, quads = EngineView.nquads, EngineView.quads

    def check(subjects: Iterable[NamedNode | None]) -> None:
        if any(subject is not None and "x3" in subject.value for subject in subjects):
            raise StoreUnavailable("Input/output error")

    def refused(
        view: EngineView, subjects: Sequence[NamedNode], graph: NamedNode, through: NamedNode | None = None
    ) -> list[str]:
        check(subjects)
        return nquads(view, subjects, graph, through)

    def refused_too(view: EngineView, subject: NamedNode | None = None, *rest: Any) -> Iterator[Quad]:
        check([subject])
        return quads(view, subject, *rest)

    monkeypatch.setattr(export, "_FIRST", portion)
    monkeypatch.setattr(export, "_PORTION", portion)
    monkeypatch.setattr(EngineView, "nquads", refused)
    monkeypatch.setattr(EngineView, "quads", refused_too)
    with pytest.raises(StoreUnavailable, match="Input/output error"), registry.nquads(ROOT, filter) as found:
        list(found)


@pytest.mark.slow
def test_a_store_that_could_not_be_read_can_be_opened_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "store"
    with idstore.open(folder, administrator=ROOT) as registry:
        registry.add_namespace("h", "10.5555", "handle", ROOT)
        made = [
            registry.register("h", f"x{number}", ROOT, Request(f"thing {number}")).iri
            for number in range(300)
        ]
        registry.fixate(made, ROOT)
    engine = Store(str(folder / "generation-1" / "engine"))
    engine.flush()
    engine.optimize()
    del engine
    refused = 0
    tables = sorted(folder.glob("generation-1/engine/*.sst"))
    for whole, part in product(tables, (1, 3)):
        copy = tmp_path / f"{whole.stem}-{part}"
        shutil.copytree(folder, copy)
        table = copy / whole.relative_to(folder)
        data = bytearray(table.read_bytes())
        place = len(data) * part // 4
        data[place : place + 64] = bytes(byte ^ 0xFF for byte in data[place : place + 64])
        table.write_bytes(data)
        with suppress(StoreUnavailable), idstore.open(copy) as registry, registry.nquads(ROOT) as found:
            try:
                list(found)
            except StoreUnavailable:
                refused += 1
        try:
            Store(str(table.parent))
        except (OSError, RuntimeError) as error:
            assert "lock" not in str(error).lower()
    met = re.findall("opened anew|replaced by its base|maintenance failed", caplog.text)
    assert refused or met  # the reader met the damage, or the store, which repairs itself


LATE = """
import sys, threading, time
import idstore
from idstore.errors import StoreUnavailable
from idstore.registry import export
export._FIRST = export._PORTION = 2
registry = idstore.open(sys.argv[1], mode="shared")
def export():
    with registry.nquads(idstore.Party("root")) as found:
        said = [next(found)]
        threading.main_thread().join()
        print(1 + len(list(found)), flush=True)
    registry.close()
threading.Thread(target=export).start()
"""


def test_a_thread_that_outlives_the_main_thread_exports_everything(registry: Registry) -> None:
    with registry.nquads(ROOT) as found:
        expected = len(list(found))
    folder = registry.store.path
    registry.close()
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(folder)], capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == (str(expected), "")
