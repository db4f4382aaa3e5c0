"""The command line completes the remedies of the library's messages with commands that exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Run

import idstore
from idstore.cli.remedies import COMMANDS
from idstore.remedies import Remedy

GROUPS = ("namespace", "party", "handle", "storage")
LIBRARY = Path(idstore.__file__).parent
NAMES = (
    "mint",
    "import",
    "export",
    "namespace",
    "party",
    "show",
    "list",
    "init",
    "verify",
    "reconcile",
    "grant",
)


def raised() -> Iterator[tuple[str, str]]:
    """Yield the library's texts but docstrings, with their files; X stands for their fields."""
    for file in LIBRARY.rglob("*.py"):
        place = file.relative_to(LIBRARY)
        if place.parts[0] in ("cli", "quickstart", "reconciliation") or place.name == "reference.py":
            continue  # lines and pages for people
        tree = ast.parse(file.read_text(encoding="utf-8"))
        parts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts |= {id(part) for part in node.values}
                yield (
                    str(place),
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
                    ),
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                yield str(place), node.value


def test_every_remedy_has_a_command_and_an_error() -> None:
    assert set(COMMANDS) == set(Remedy)
    code = "\n".join(file.read_text(encoding="utf-8") for file in LIBRARY.rglob("*.py"))
    assert [remedy for remedy in Remedy if code.count(f"Remedy.{remedy.name}") < 2] == []


COMMAND = re.compile(
    r"(?<![\w/`-])--[a-z][a-z-]+|\bidstore (?!serves?\b)[a-z]+ --|exit code [0-9]|command line", re.ASCII
)


def test_messages_of_the_library_name_no_command() -> None:
    """Other programs raise and show them too."""
    spoken = {
        (file, message)
        for file, message in raised()
        if COMMAND.search(message) or any(f"idstore {name}" in message for name in NAMES)
    }
    assert spoken == set()


def test_every_command_and_option_exists(run: Run) -> None:
    reference = (LIBRARY.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    for remedy in COMMANDS.values():
        for command in remedy.split(", "):
            words = re.sub("^(with|without|or gunzip -c FILE [|]) ", "", command).split()
            if words[0] == "idstore":
                parts = 2 if words[1] in GROUPS else 1
                text = run(*words[1 : 1 + parts], "--help").out
            else:
                text = reference
            for option in filter(re.compile("--").match, words):
                assert re.search(rf"{option}\b", text), command


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    ("arguments", "code", "remedy"),
    [
        (("show", "rdl:R1234567890"), 4, "list the identifiers that you may see (idstore list)"),
        (("mint", "nonesuch"), 4, "list the namespaces for their names (idstore namespace list)"),
        (("party", "show", "nobody"), 4, "an administrator can add it (idstore party add)"),
        (("register", "rdl", "R1234567890"), 7, "mint one instead (idstore mint)"),
    ],
)
def test_the_remedies_of_common_mistakes_name_their_commands(
    run: Run, arguments: tuple[str, ...], code: int, remedy: str
) -> None:
    assert remedy in run(*arguments, code=code).err


def test_a_missing_store_names_the_command_that_makes_one(run: Run, tmp_path: Path) -> None:
    outcome = run("list", "--store", str(tmp_path / "none"), code=6)
    assert "create one there, or name another (idstore init, --store DIR)" in outcome.err
