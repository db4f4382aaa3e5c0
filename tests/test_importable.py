"""What an import refuses, a validation of the file finds: both are tried on the same files."""

from collections.abc import Callable
from pathlib import Path

import pytest

import idstore
from idstore import Party, Request, Statement
from idstore.errors import ExchangeError
from idstore.exchange import rdf
from idstore.model.filter import Filter
from idstore.validation.registries import check_file
from idstore.vocabulary import IDS

ADA, EVE = Party("ada"), Party("eve")
BASE = "https://hdl.handle.net/10.5072/"
Lines = list[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the exports of an administrator, of the public, and of a stage, as N-Triples."""
    folder = tmp_path_factory.mktemp("importable")
    with idstore.open(folder / "store", administrator=ADA) as registry:
        registry.add_namespace("x", BASE, "handle", ADA)
        registry.add_namespace("y", "https://hdl.handle.net/10.50/", "handle", ADA)
        for label in ("a", "b"):
            registry.fixate([registry.register("x", label, EVE, Request(f"name {label}")).iri], EVE)
            registry.bind(f"{BASE}{label}", Statement("http://example.org/x"), EVE)
        registry.register("x", "draft", EVE)
        for name, party, filter in (
            ("all", ADA, Filter()),
            ("public", Party("anybody"), Filter()),
            ("drafts", EVE, Filter(stage="created")),
        ):
            with (folder / f"{name}.nt").open("wb") as file:
                rdf.export(registry, file, party, "ntriples", filter)
    return folder


@pytest.mark.parametrize("name", ["all", "public", "drafts"])
def test_an_export_conforms(folder: Path, name: str) -> None:
    assert str(check_file(folder / f"{name}.nt")) == "conforms"


def _without(*parts: str) -> Callable[[Lines], Lines]:
    """Return an edit that removes each subject with a line that has these parts."""

    def edit(lines: Lines) -> Lines:
        gone = {line.split(" ")[0] for line in lines if all(part in line for part in parts)}
        assert gone
        return [line for line in lines if line.split(" ")[0] not in gone]

    return edit


def _replaced(old: str, new: str, *, of: str = "<") -> Callable[[Lines], Lines]:
    def edit(lines: Lines) -> Lines:
        after = [line.replace(old, new) if line.startswith(of) else line for line in lines]
        assert after != lines
        return after

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            _without("urn:uuid", f"{IDS.about} <{BASE}a>"),
            f"<{BASE}a>: No event in the file mints or registers it",
        ),
        (_without(f"{IDS.NamespaceAddition}"), f"<{BASE}>: No event in the file adds it"),
        (_without("urn:uuid", f"{IDS.about}"), f"<{BASE}draft>: No event in the file mints or registers it"),
        (_replaced("https://hdl.handle.net/10.50/", BASE + "n/"), "overlaps with that of namespace x"),
        (_replaced('"name a"', '"another"', of=f"<{BASE}"), '"another" does not follow from the events'),
        (_replaced("party/eve>", "party/ada>", of=f"<{BASE}a"), "does not follow from the events"),
        (_without(f"{IDS.Bind}"), "does not follow from the events"),
        (_without(f"{IDS.Fixation}"), "does not follow from the events"),
    ],
    ids=["record", "namespaces", "any event", "bases", "name", "owner", "binding", "stage"],
)
def test_what_an_import_refuses_is_found(
    folder: Path, tmp_path: Path, edit: Callable[[Lines], Lines], said: str
) -> None:
    lines = (folder / "all.nt").read_text(encoding="utf-8").splitlines(keepends=True)
    file = tmp_path / "edited.nt"
    file.write_text("".join(edit(lines)), encoding="utf-8")
    assert said in str(check_file(file))
    with (
        idstore.open(tmp_path / "copy", administrator=ADA) as copy,
        pytest.raises(ExchangeError),
    ):
        rdf.import_registry(copy, [file], ADA)
