"""The examples in CONTRIBUTING.md work: each "How to add" section is followed on a copy of the checkout."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from document_sessions import Block, Shell, Values, steps, surroundings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("idstore", "ontology", "shapes", "docs", "tests", "pyproject.toml")
SECTION = re.compile(r"^## (?P<title>How to add .*)\n(?P<body>(?:(?!^## ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(
    r"""
    (?: ^\ *In\ `(?P<file>[^`]+)`:\n\n )?
    ^(?P<indent>\ *)```(?P<language>\w+)\n
    (?P<text>.*?)
    ^(?P=indent)```$
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
SECTIONS = {match["title"]: match for match in SECTION.finditer(PAGE) if "```" in match["body"]}
"""The sections with an example, by title."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A block of the page, and the file that the line before it names, if any."""

    file: str | None
    block: Block


def instructions(title: str) -> Iterator[Instruction]:
    section = SECTIONS[title]
    for match in BLOCK.finditer(PAGE, section.start(), section.end()):
        block = Block(match["language"], dedent(match["text"]), PAGE.count("\n", 0, match.start("text")) + 1)
        yield Instruction(match["file"], block)


def write(file: Path, text: str) -> None:
    assert not file.exists(), f"{file} is no new file"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def edit(file: Path, diff: str) -> None:
    """Add the lines of a diff. Its other lines must stand together, once, in the file."""
    lines = diff.splitlines(keepends=True)
    assert all(line[0] in " +" for line in lines), diff
    before = "".join(line[1:] for line in lines if line[0] == " ")
    text = file.read_text(encoding="utf-8")
    assert f"\n{text}".count(f"\n{before}") == 1, f"{file.name} has these lines not exactly once:\n{before}"
    after = "".join(line[1:] for line in lines)
    file.write_text(f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:], encoding="utf-8")


def run(shell: Shell, block: Block, values: Values) -> None:
    for step in steps(block):
        output = shell.run(values.command(step.command))
        assert values.match(step.shown, output), f"line {step.line}: $ {step.command}\n{output}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The part of the checkout that the sections use."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".*"))
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def test_each_section_is_found() -> None:
    assert [*SECTIONS] == [
        "How to add a scheme",
        "How to add a command",
        "How to add an operation of the registry",
    ]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_block_belongs_to_a_file_or_is_run(title: str) -> None:
    section = SECTIONS[title]
    found = [*instructions(title)]
    assert 2 * len(found) == section["body"].count("```")
    assert [one.block.line for one in found if (one.file is None) != (one.block.language == "console")] == []


@pytest.mark.slow
@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_can_be_followed(title: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(checkout))
    values = Values()
    with Shell(checkout, surroundings(checkout)) as shell:
        for instruction in instructions(title):
            if instruction.file is None:
                run(shell, instruction.block, values)
            elif instruction.block.language == "diff":
                edit(checkout / instruction.file, instruction.block.text)
            else:
                write(checkout / instruction.file, instruction.block.text)
