"""Labels that make another IRI, or that two identifiers have, are findings; so is an import refused."""

from pathlib import Path

import pytest
from command_lines import Run

from idstore.vocabulary import IDS, SKOS

BASE = "https://hdl.handle.net/10.5072/"


@pytest.fixture
def export(run: Run, tmp_path: Path) -> Path:
    """The export of a namespace without regard to case, with the handles ``a`` and ``b%c``."""
    run("namespace", "add", "x", BASE, "--scheme", "handle", "--set", "case_sensitive=false")
    for label in ("a", "b%c"):
        run("register", "x", label)
    place = tmp_path / "all.nt"
    run("export", "-o", place)
    return place


def relabelled(export: Path, iri: str, label: str) -> Path:
    """Rename an identifier and its label, in its record and in its event."""
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace(f"<{BASE}a>", f"<{iri}>").replace('"a"', f'"{label}"'), encoding="utf-8")
    return export


def test_escaped_labels_fit(run: Run, export: Path) -> None:
    assert run("validate", export).line == "conforms"
    assert run("validate").line == "conforms"


@pytest.mark.parametrize(
    ("iri", "label", "findings"),
    [
        (f"{BASE}a", "z", {(f"{BASE}a", "The label makes the IRI")}),
        (f"{BASE}c%2Fd", "c/d", {(f"{BASE}c%2Fd", "The label makes the IRI")}),
        (f"{BASE}B%25C", "B%C", {(f"{BASE}b%25c", f"<{BASE}B%25C> has the same label.")}),
    ],
)
def test_what_an_import_refuses_is_found(
    run: Run, export: Path, tmp_path: Path, iri: str, label: str, findings: set[tuple[str, str]]
) -> None:
    relabelled(export, iri, label)
    found = run("validate", export, "--json", code=5).objects
    of_records = {(row["focus"], row["message"]) for row in found if "urn:uuid:" not in row["focus"]}
    assert {(f"<{node}>", text) for node, text in findings} == {
        (node, text.partition(" https://")[0]) for node, text in of_records
    }
    run("import", export, "--own-history", "--store", tmp_path / "copy", code=3)


def test_a_label_of_an_event_is_checked(run: Run, export: Path) -> None:
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = [line.replace('"a"', '"z"') if line.startswith("<urn:uuid:") else line for line in lines]
    export.write_text("".join(changed), encoding="utf-8")
    [finding] = run("validate", export, "--json", code=5).objects
    assert finding["message"] == f"The label makes the IRI {BASE}z."


def test_a_file_may_leave_out_the_namespaces_of_the_store(run: Run, export: Path) -> None:
    record = (
        f"<{BASE}z> a <{IDS.Handle.value}> ; <{IDS.inNamespace.value}> <{BASE}> ;"
        f' <{SKOS.notation.value}> "a" .'
    )
    place = export.with_suffix(".ttl")
    place.write_text(record, encoding="utf-8")
    assert f"The label makes the IRI {BASE}a" in run("validate", place, code=5).out


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<urn:a> <urn:b> <urn:c> .",
        "<urn:a> a <http://www.w3.org/2004/02/skos/core#Concept> .",
        "<urn:a> a <http://w3id.org/idstore/ontology#Handle> .",
    ],
    ids=["empty", "other properties", "other vocabulary", "misspelt vocabulary"],
)
def test_a_file_in_which_nothing_is_checked_is_no_success(run: Run, tmp_path: Path, content: str) -> None:
    place = tmp_path / "file.ttl"
    place.write_text(content, encoding="utf-8")
    outcome = run("validate", place, code=3)
    assert outcome.out == ""
    assert "nothing was checked" in outcome.err
