"""The settings file of a server: what it may say, and what is refused with input, place and remedy."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("starlette", reason="the extra server is not installed")

from command_lines import Run

from idstore.errors import InvalidData
from idstore.server.settings import Settings, read_settings

SECRET: Final = "0123456789abcdef" * 4
GOOD: Final = """
[trusted_header]
header = "X-Remote-User"
proxies = ["127.0.0.1", "10.0.0.0/8"]
secret_file = "secret"
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a settings file, beside the file ``secret``."""
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)

    def write(text: str) -> Path:
        path = tmp_path / "settings.toml"
        path.write_text(text)
        return path

    return write


def refusal(path: Path) -> str:
    with pytest.raises(InvalidData) as raised:
        read_settings(path)
    assert SECRET not in str(raised.value)
    return str(raised.value)


def test_an_empty_file_changes_nothing(write: Write) -> None:
    assert read_settings(write("")) == Settings()


def test_a_secret_comes_from_its_file_and_shows_nowhere(write: Write) -> None:
    header = read_settings(write(GOOD)).trusted_header
    assert header is not None
    assert (header.header, header.proxies) == ("X-Remote-User", ("127.0.0.1", "10.0.0.0/8"))
    assert header.secret.value == SECRET
    assert SECRET not in repr(header)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[trusted_header]",
            "[trusted-header]",
            "no table 'trusted-header' here; did you mean trusted_header?",
        ),
        ("[trusted_header]", "[x]", "no table 'x' here; use one of"),
        ("[trusted_header]", "[[trusted_header]]", r"[trusted_header]: a value instead of a table"),
        ("[trusted_header]", "[trusted_header", "not TOML: "),
        ("proxies", "proxy", "[trusted_header]: no key 'proxy' here; did you mean proxies?"),
        ("proxies =", "# proxies =", "[trusted_header]: proxies is missing; add it"),
        ('"X-Remote-User"', "7", "[trusted_header] header: 7 is not a text"),
        ('"X-Remote-User"', '"A B"', "[trusted_header] header: 'A B' cannot name a party"),
        ('"X-Remote-User"', '"X-Forwarded-For"', "cannot name a party"),
        ('"X-Remote-User"', '"cookie"', "cannot name a party"),
        ('["127.0.0.1", "10.0.0.0/8"]', '"127.0.0.1"', "proxies: '127.0.0.1' is not a list of texts"),
        ('["127.0.0.1", "10.0.0.0/8"]', "[1]", "proxies: [1] is not a list of texts"),
        ('["127.0.0.1", "10.0.0.0/8"]', "[]", "proxies: no address"),
        ('"10.0.0.0/8"', '"localhost"', "proxies: 'localhost' does not appear to be"),
        ("secret_file", "secret", "secret: a secret does not stand in this file"),
        ('"secret"', '"missing"', "missing: No such file or directory; name a file"),
        ('"secret"', '"."', "is no file"),
    ],
)
def test_a_mistake_is_refused_with_its_place(write: Write, old: str, new: str, message: str) -> None:
    path = write(GOOD.replace(old, new, 1))
    text = refusal(path)
    assert text.startswith(f"{path}") and message in text.replace("Is a directory", "is no file")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o602])
def test_a_secret_that_others_can_read_is_refused(write: Write, mode: int, tmp_path: Path) -> None:
    (tmp_path / "secret").chmod(mode)
    assert re.search(r"secret_file: \S+: other accounts can read it; chmod 600", refusal(write(GOOD)))


@pytest.mark.parametrize("content", ["", "\n", f"{SECRET}\n{SECRET}\n", "a\0b" * 40, "short"])
def test_a_secret_is_one_line_that_is_hard_to_guess(write: Write, content: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(content)
    assert re.search("has not exactly one line|shorter than 32 characters", refusal(write(GOOD)))


def test_settings_that_others_can_write_are_refused(write: Write) -> None:
    path = write(GOOD)
    path.chmod(0o666)
    assert "others can write it" in refusal(path)


@pytest.mark.parametrize("content", [b"\xff", b"#" * (2 << 20)])
def test_files_that_are_no_settings_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    assert re.search("not UTF-8|longer than", refusal(path))


def test_a_pipe_that_never_ends_is_no_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keeper = os.open(path, os.O_RDWR)
    try:
        assert "is no file" in refusal(path)
    finally:
        os.close(keeper)


@pytest.mark.local("the server runs on the store's folder")
def test_the_command_names_the_mistake(run: Run, write: Write) -> None:
    error = run("serve", "--settings", str(write("[ldpa]")), code=3).err
    assert "no table 'ldpa' here" in error
    error = run("serve", "--settings", str(write("").with_name("none.toml")), code=3).err
    assert "none.toml: No such file or directory" in error


def offered(write: Write, text: str) -> set[str]:
    """Return the names that the refusal of an unknown one offers."""
    with pytest.raises(InvalidData) as refusal:
        read_settings(write(text))
    return set(str(refusal.value).rpartition("use one of ")[2].split(", "))


def test_the_documented_tables_and_keys_are_those_that_there_are(write: Write) -> None:
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `\[(\w+)\]` \| (.*?) \|", page.partition("### All settings")[2], re.MULTILINE)
    assert {table for table, _ in rows} == offered(write, "[zzz]")
    for table, keys in rows:
        names = set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", keys)))
        assert names == offered(write, f"[{table}]\nzzz = 1"), table
