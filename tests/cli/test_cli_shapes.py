"""``idstore shapes`` writes shapes that need nothing but an export, with the rules of each namespace."""

from pathlib import Path

import pytest
from command_lines import Run

from idstore.validation import validate_file
from idstore.validation.shapes import Shapes, read


@pytest.fixture
def export(run: Run, tmp_path: Path) -> Path:
    """The export of a namespace with rules of its own and of one without."""
    run("namespace", "add", "own", "http://own.example.org/id#", "--scheme", "rdswip", "--set", "digits=6")
    run("namespace", "add", "rdl", "http://rdl.example.org/data#", "--scheme", "rdswip")
    for name in ("own", "rdl"):
        run("mint", name)
    place = tmp_path / "all.ttl"
    run("export", "-o", place)
    return place


def written(run: Run, *words: str | Path) -> Shapes:
    return read(run("shapes", *words).out)


def test_the_shapes_of_a_store_need_no_ontology(run: Run, export: Path) -> None:
    shapes = written(run)
    assert str(validate_file(export, shapes)) == "conforms"
    export.write_text(export.read_text(encoding="utf-8").replace("ids:owner", "ids:ownr"), encoding="utf-8")
    broken = {result.shape.rpartition("#")[2] for result in validate_file(export, shapes).results}
    assert broken == {"Record-owner", "Namespace-owner"}


@pytest.mark.parametrize("name", ["own", "rdl"])
def test_each_namespace_keeps_its_rules(run: Run, export: Path, name: str) -> None:
    [record] = run("list", "--namespace", name, "--json").objects
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace(f'"{record["label"]}"', '"LAN one!"'), encoding="utf-8")
    findings = validate_file(export, written(run)).results
    assert f"<{record['id']}>" in {str(finding.focus) for finding in findings}


def test_the_namespaces_may_come_from_an_export(run: Run, export: Path, tmp_path: Path) -> None:
    of_store = run("shapes").out
    assert "own.example.org" in of_store
    assert run("shapes", export, "--store", str(tmp_path / "none")).out == of_store
    assert "own.example.org" not in run("shapes", "--store", str(tmp_path / "none")).out


def test_the_shapes_go_to_a_file(run: Run, export: Path) -> None:
    place = export.with_name("shapes.ttl")
    run("shapes", "-o", place)
    assert place.read_text(encoding="utf-8") == run("shapes").out
