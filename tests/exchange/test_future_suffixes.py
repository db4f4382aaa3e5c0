"""A PILIN suffix tells when it was made: an import refuses one from the future, unless it is forced."""

from pathlib import Path

import pytest
from command_lines import Run

from idstore.model import times
from idstore.schemes import pilin

IRI = "https://hdl.handle.net/102.100.272/"
LATER = pilin.encode(times.now() + 400 * times.DAY)
PAST = "Y35XYS0QH"


@pytest.fixture(autouse=True)
def namespace(run: Run) -> None:
    run("--quiet", "namespace", "add", "p", "102.100.272", "--scheme", "pilin")


def test_a_list_is_refused_as_a_whole(run: Run) -> None:
    words = ("import", "-", "--format", "list", "--namespace", "p")
    refused = run(*words, stdin=f"{PAST}\n{LATER}\n", code=3)
    [line] = [line for line in refused.lines if line.startswith("line 2\trefused\t")]
    assert f"{IRI}{LATER} says that it was made at " in line
    assert "which is in the future" in line
    run("show", f"p:{PAST}", code=4)
    run(*words, "--force", stdin=f"{PAST}\n{LATER}\n")
    assert run("show", f"p:{LATER}", "--json").object["stage"] == "fixated"
    assert "standard input (forced)" in run("log").out
    assert run("verify").line == "sound"


def test_an_export_is_refused_as_a_whole(run: Run, tmp_path: Path) -> None:
    """Also one that is merged: the clock of the other registry, or its list, was wrong."""
    file, other = tmp_path / "all.nq", tmp_path / "other"
    run("import", "-", "--format", "list", "--namespace", "p", "--force", stdin=f"{PAST}\n{LATER}\n")
    run("export", "-o", file)
    run(
        "--quiet",
        "--store",
        other,
        "namespace",
        "add",
        "rdl",
        "http://rdl.example.org/data#",
        "--scheme",
        "rdswip",
    )
    assert f"{IRI}{LATER} says that it was made at" in run("--store", other, "import", file, code=3).err
    run("--store", other, "show", f"{IRI}{PAST}", code=4)
    run("--store", other, "import", file, "--force")
    assert run("--store", other, "show", f"{IRI}{LATER}", "--json").object["stage"] == "fixated"
    assert "export (forced: labels from the future)" in run("--store", other, "log").out
    assert run("--store", other, "verify").line == "sound"


def test_force_is_for_what_can_be_forced(run: Run) -> None:
    run("import", "-", "--format", "handle-batch", "--force", stdin="", code=2)
