"""Acts that take others back: docs/undoing.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Minting, Run

PAGE = Path(__file__).parents[2] / "docs" / "undoing.md"


def test_a_name_is_taken_back(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve", "--lang", "en")
    run("name", iri, "Ventil", "--lang", "de")
    run("name", iri, "no language")
    run("name", iri, "--unset", "DE")
    assert run("show", iri, "--json").object["names"] == {"en": "valve", "und": "no language"}
    run("name", iri, "--unset", "und")
    run("name", iri, "--unset", "en")
    assert run("show", iri, "--json").object["names"] == {}
    assert [one["kind"] for one in run("log", "--id", iri, "--json").objects][1:] == ["Naming"] * 5
    told = run("name", iri, "--unset", "de", code=3).err
    assert f"{iri} has no name in 'de'; the languages of its names are none" in told
    run("name", iri, code=2)
    run("name", iri, "x", "--unset", "de", code=2)
    run("name", iri, "--unset", "de", by="bob", code=4)
    run("fixate", iri)
    run("validate")
    run("verify")


def test_a_name_that_was_taken_back_is_in_no_copy(run: Run, mint: Minting, tmp_path: Path) -> None:
    iri = mint("--name", "valve", "--lang", "en")
    run("name", iri, "Ventil", "--lang", "de")
    run("fixate", iri)
    run("name", iri, "--unset", "de")
    file = f"{tmp_path}/export.nq"
    run("export", "--format", "nquads", "-o", file)
    run("validate", file)
    run("--store", f"{tmp_path}/copy", "import", file, "--own-history")
    found = run("--store", f"{tmp_path}/copy", "show", iri, "--json").object
    assert found["names"] == {"en": "valve"}


@pytest.mark.parametrize("kind", ["identifier", "namespace"])
def test_an_offer_is_withdrawn(run: Run, mint: Minting, rdl: str, kind: str) -> None:
    what = mint() if kind == "identifier" else rdl
    run("transfer", what, "alice", code=8)  # nothing is offered
    run("transfer", what, "bob")
    run("transfer", what, "alice")
    run("transfer", what, "bob", by="bob", code=4 if kind == "identifier" else 7)
    run("transfer", what, "bob")
    run("transfer", what, "bob", by="bob")
    run("transfer", what, "alice", by="bob")
    run("transfer", what, "bob", by="bob")  # the new owner withdraws, too
    run("transfer", what, "alice", code=4 if kind == "identifier" else 7, by="carol")
    run("verify")
    run("validate")


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the words of each command that changes a registry: those in the table of the page."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            yield from (tuple(text.split()) for text in re.findall(r"`([^`]*)`", line.split("|")[1]))


@pytest.mark.parametrize("words", [*commands()], ids=" ".join)
def test_the_help_of_each_act_says_what_undoes_it(run: Run, words: tuple[str, ...]) -> None:
    assert "Undone by: " in run(*words, "--help").out
