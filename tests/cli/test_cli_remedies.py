"""The command line completes the remedies of the library's messages with commands that exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Run

import idstore
from idstore.cli.remedies import COMMANDS

GROUPS = ("namespace", "party", "handle", "storage")
LIBRARY = Path(idstore.__file__).parent


def messages() -> Iterator[str]:
    """Yield every text of the library outside the command line, with X in the place of its fields."""
    for file in LIBRARY.rglob("*.py"):
        if "cli" not in file.relative_to(LIBRARY).parts:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def test_every_remedy_is_one_of_the_library_s() -> None:
    text = "\n".join(messages())
    assert [remedy for remedy in COMMANDS if not re.search(remedy, text)] == []


def test_every_command_and_option_exists(run: Run) -> None:
    reference = (LIBRARY.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    for remedy in COMMANDS.values():
        for command in remedy.split(", "):
            words = command.removeprefix("with ").split()
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
    assert "create one there (idstore init), or name another (with --store)" in outcome.err
