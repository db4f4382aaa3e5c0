"""Merging registries: what comes in, what stays out, and that all sides end with the same."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, RdfFormat, parse
from random_acts import ANN, BEN, GIL, NAMES, OUT, RDL, ROOT, Act, acts, begun, clock, exported, perform, sound

import idstore
from idstore import Party, Record, Registry, Request, Stage, Statement
from idstore.errors import ExchangeError, IdstoreError
from idstore.exchange import rdf
from idstore.model import times
from idstore.model.party import Party as PartyName
from idstore.vocabulary import IDS, PROV, RDF, REGISTRY_GRAPH

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
_OF_PARTIES = {
    IDS.Initialization,
    IDS.PartyAddition,
    IDS.Joining,
    IDS.Leaving,
}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "here") as registry:
        yield registry


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "there") as registry:
        yield registry


def merge(target: Registry, source: Registry, folder: Path, by: Party = ROOT, format: str = "nquads") -> rdf.ImportReport:
    """Import what the source exports for a party."""
    return rdf.import_registry(target, [exported(source, by, folder / "merged", format)], ROOT, format)


def published(registry: Registry) -> set[str]:
    """What everybody is told, but for parties and the mark of an extract."""
    with registry.quads(OUT) as found:
        quads = [quad for quad in found if quad.graph_name != REGISTRY_GRAPH or quad.predicate not in (IDS.partial, IDS.memberOf)]
    of_parties = {quad.subject for quad in quads if quad.predicate == RDF.type and quad.object in _OF_PARTIES}
    parties = {quad.subject for quad in quads if quad.predicate == RDF.type and quad.object in (IDS.User, IDS.Group, IDS.Administrator)}
    return {str(quad) for quad in quads if quad.subject not in of_parties | parties}


def private_texts(registry: Registry) -> set[str]:
    """Names of everything that not everybody is told."""
    with registry.quads(ROOT) as all_quads, registry.quads(OUT) as open_quads:
        return {str(quad.subject) for quad in all_quads} - {str(quad.subject) for quad in open_quads}


# all sides end with the same


def converge(histories: list[list[Act]], imports: list[tuple[int, int, bool]]) -> None:
    with clock(), ExitStack() as opened:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="idstore-", dir=memory)))
        registries = [opened.enter_context(begun(folder / f"store{number}")) for number, _ in enumerate(histories)]
        for step in range(max(map(len, histories))):
            for registry, history in zip(registries, histories, strict=True):
                if step < len(history):
                    perform(registry, history[step])
        for one, other, anonymous in imports:
            if one != other:
                guarded_merge(registries[one], registries[other], folder, OUT if anonymous else ROOT)
        publish_all(registries)
        pairs = [(one, other) for one in registries for other in registries if one is not other]
        for one, other in pairs * (len(registries) - 1):  # by then everybody has heard of everything
            guarded_merge(one, other, folder, ROOT)
        ended = [published(registry) for registry in registries]
        again = [merge(one, other, folder) for one, other in pairs]
        assert [report.events for report in again] == [0] * len(again)
        held = {iri for report in again for iri in report.left.held}  # released on one side
        for registry, statements in zip(registries, ended, strict=True):
            sound(registry)
            assert without(statements, held) == without(ended[0], held)


def publish_all(registries: list[Registry]) -> None:
    """Drafts that were created on several sides would be held back."""
    for registry in registries:
        for record in registry.list(ROOT, limit=None):
            if record.stage is Stage.CREATED and record.namespace == NAMES:
                if registry.parties(ROOT) and any(known.suspended and known.name == record.owner for known in registry.parties(ROOT)):
                    registry.reinstate(Party(record.owner), ROOT)
                registry.fixate([record.iri.value], Party(record.owner))


def guarded_merge(target: Registry, source: Registry, folder: Path, by: Party) -> None:
    """Merge; nothing private changes hands, and doing it again changes nothing."""
    hidden, before = private_texts(source), private_texts(target)
    merge(target, source, folder, by)
    with target.quads(ROOT) as quads:
        assert hidden.isdisjoint({str(quad.subject) for quad in quads} - before)
    assert private_texts(target) == before
    assert merge(target, source, folder, by).events == 0


def without(statements: set[str], iris: set[str]) -> set[str]:
    """Statements of what is about none of these."""
    events = {text.split(" ", 1)[0] for text in statements for iri in iris if f"<{iri}>" in text}
    return {text for text in statements if text.split(" ", 1)[0] not in events}


imports = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.booleans()), max_size=4)
triple_imports = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=5)


@settings(_QUIET, max_examples=12, derandomize=True)
@given(st.lists(acts(5), min_size=2, max_size=2), imports)
def test_two_registries_that_import_each_other_end_with_the_same(histories: list[list[Act]], imports: list[tuple[int, int, bool]]) -> None:
    converge(histories, imports)


@settings(_QUIET, max_examples=4, derandomize=True)
@given(st.lists(acts(5, 20), min_size=3, max_size=3), triple_imports)
def test_three_registries_that_import_each_other_end_with_the_same(histories: list[list[Act]], imports: list[tuple[int, int, bool]]) -> None:
    converge(histories, imports)


@pytest.mark.slow
@settings(_QUIET, max_examples=150)
@given(st.integers(2, 3).flatmap(lambda many: st.tuples(st.lists(acts(5, 60), min_size=many, max_size=many), triple_imports)))
def test_many_registries_end_with_the_same(case: tuple[list[list[Act]], list[tuple[int, int, bool]]]) -> None:
    histories, imports = case
    converge(histories, [(one, other, anonymous) for one, other, anonymous in imports if max(one, other) < len(histories)])
