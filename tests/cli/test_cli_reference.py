"""The reference in docs/ matches the help texts."""

import re
from pathlib import Path

from idstore.cli import exits
from idstore.cli.app import COMMANDS
from idstore.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run `python -m idstore.cli.reference > docs/cli.md`"
    )


def test_every_exit_code_is_in_the_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert [code for code in sorted(codes) if f"\n| {code} | " not in text] == []


def test_every_command_is_in_the_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = [name for commands in COMMANDS.values() for name in commands]
    assert [name for name in names if f"\n## idstore {name}" not in text] == []


def test_each_help_says_what_since_is_compared_with() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    meanings = re.findall(r" --since T (.{60})", text)
    assert len(meanings) == 5
    assert all(re.search("created|events|allocat", meaning) for meaning in meanings), meanings
