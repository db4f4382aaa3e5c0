"""The documents show the real behaviour."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest
from document_sessions import Block, Shell, Values, blocks, repeat, steps, surroundings

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {
    "sh",
    "console",
    "python",
    "json",
    "sparql",
    "mermaid",
    "text",
    "toml",
    "turtle",
    "ini",
    "apache",
    "nginx",
    "yaml",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the working folder of a document's commands, with its examples."""
    for name in ("examples", "ontology", "shapes"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.parametrize(
    "document",
    [pytest.param(path, marks=[pytest.mark.slow] if path.parent != ROOT else []) for path in DOCUMENTS],
    ids=lambda path: path.name,
)
def test_sessions_print_what_they_show(document: Path, folder: Path) -> None:
    repeat(document.read_text(encoding="utf-8"), folder)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(document: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for block in blocks(document.read_text(encoding="utf-8"), "python"):
        if ">>> " not in block.text:
            subprocess.run(
                [sys.executable, "-W", "error", "-c", block.text], check=True, env=surroundings(folder)
            )
            continue
        test = doctest.DocTestParser().get_doctest(
            block.text, {}, document.name, str(document), block.line - 1
        )
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert runner.run(test).failed == 0, f"{document.name}, line {block.line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_block_has_a_language(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert text.count("\n```") == 2 * len(blocks(text)), "a fence is not closed"
    assert {block.language for block in blocks(text)} <= LANGUAGES


@pytest.mark.parametrize("last", [".venv/bin/idstore quickstart", ".venv/bin/pytest -n auto --dist loadfile"])
def test_each_command_of_the_set_up_is_one_line(last: str) -> None:
    """The two commands of the README need only Python, and run twice."""
    lines = [
        line
        for block in blocks(DOCUMENTS[0].read_text(encoding="utf-8"), "sh")
        for line in block.text.splitlines()
    ]
    [line] = [line for line in lines if line.endswith(last)]
    assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")


# the harness itself


def test_a_session_is_parsed() -> None:
    session = Block("console", "$ one \\\n> two\nout  \n\n$ three\n", 10)
    assert [(step.command, step.shown, step.line) for step in steps(session)] == [
        ("one \\\ntwo", ("out", ""), 10),
        ("three", (), 14),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a…c", "abbbc\n", True),
        ("a…c", "ab\nc\n", False),
        ("first\n…\nlast", "first\nx\ny\nlast\n", True),
        ("first\n…\nlast", "first\nlast\n", True),
        ("<http://x.org/data#R3732211754> a", "<http://x.org/data#R1000000001> a\n", True),
        ("<http://x.org/data#R3732211754> a", "<http://x.org/data#R100000001> a\n", False),
        ("R3732211754 R3732211754", "R1000000001 R1000000002\n", False),
        ("102.100.272/Y35XYS0QH", "102.100.272/Z35XYS0QB\n", True),
        ("done in 12.3 s", "done in 9 s\n", True),
        ("12 done", "13 done\n", False),
        ("made 1999-01-01T00:00:00Z", "made 1999-01-02T00:00:00Z\n", False),
        ("(*)", "(*)\n", True),
    ],
)
def test_output_is_compared(shown: str, printed: str, *, same: bool) -> None:
    assert Values().match(tuple(shown.splitlines()), printed) is same


def test_values_go_from_outputs_to_commands() -> None:
    values = Values()
    assert values.match(("R3732211754",), "R1000000001\n")
    assert values.command("idstore show R3732211754 R2222222222") == "idstore show R1000000001 R2222222222"
    assert values.match(("R3732211754 R2222222222",), "R1000000001 R2222222222\n")
    assert not values.match(("R3732211754",), "R1000000002\n")
    assert not values.match(("R2222222222",), "R1000000002\n"), "a command named it: it is meant as it stands"


def test_folder_and_variables_persist(tmp_path: Path) -> None:
    document = """
```console
$ mkdir sub && cd sub && export GREETING=hello
$ pwd
…/sub
$ echo "$GREETING" >&2; cat; printf 'no newline'
hello
no newline
$ nonesuch 2> /dev/null; echo $?
127
```

```console
$ echo "R$((RANDOM + 1000000000))" > id; cat id
R1234567890
$ test "$(cat id)" = R1234567890 && date -u +%Y-%m-%dT%H:%M:%SZ
2020-01-01T00:00:00Z
```
"""
    repeat(document, tmp_path)


def test_a_difference_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        pytest.fail.Exception, match="line 3: \\$ echo b\nThe document shows:\na\nIt printed:\nb"
    ):
        repeat("\n```console\n$ echo b\na\n```\n", tmp_path)


def test_a_shell_that_ends_is_reported(tmp_path: Path) -> None:
    with (
        Shell(tmp_path, surroundings(tmp_path)) as shell,
        pytest.raises(AssertionError, match="the shell ended"),
    ):
        shell.run("exit 3")
