"""Acts that cannot be undone, acts that can, and times."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import Minting, Run

UNICORN = '{"issn": "0392-1921", "volume": "30", "issue": "119", "page": "1", "title": "The Unicorn"}'
END_OF_INPUT = b"\x04"
"""Ctrl-D. Python asks a terminal for more after a first one that follows some text."""


def test_a_dry_run_of_fixate_shows_every_text_that_becomes_public(run: Run, mint: Minting) -> None:
    iri = mint()
    run("comment", iri, "for everybody")
    run("comment", iri, "for us", "--internal")
    run("bind", iri, "urn:x:a", "--note", "a doubtful one")
    run("name", iri, "vavle")
    run("name", iri, "valve")
    told = run("fixate", iri, "--dry-run")
    assert told.lines == [
        f"{iri}\tbecomes visible to everybody, for ever",
        f"{iri}\tcomment\tfor everybody",
        f"{iri}\tnote\ta doubtful one",
        f"{iri}\tname\tvavle",  # the log keeps it
        f"{iri}\tname\tvalve",
    ]
    assert "nothing was changed" in told.err
    first, *_ = run("fixate", iri, "--dry-run", "--json").objects
    assert (first["id"], first["dryRun"]) == (iri, True)
    assert run("show", iri, "--json").object["stage"] == "created"
    run("fixate", iri)
    run("fixate", iri, "--dry-run", code=8)


def test_a_dry_run_of_release_and_replace_changes_nothing(run: Run, mint: Minting, tmp_path: Path) -> None:
    iri = mint()
    assert run("release", iri, "--dry-run").line.startswith(f"{iri}\tis given up")
    assert run("show", iri, "--json").object["stage"] == "created"
    (tmp_path / "a.json").write_text(UNICORN)
    article = run("mint", "sp", "--metadata", tmp_path / "a.json").line
    lines = run("replace", article, "--metadata", tmp_path / "a.json", "--dry-run").lines
    assert [line.split("\t")[0] for line in lines] == [article, f"{article}_old1"]
    run("show", f"{article}_old1", code=4)


def answered(
    store: Path, answer: bytes, *words: str, data: bool = False, typed: bytes = b""
) -> tuple[int, str]:
    """Run a command on a terminal and answer its question; return its exit code and what it shows.

    data   whether standard output is the terminal, too.
    typed  what the person types before the question.
    """
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "idstore", *words],
        stdin=side,
        stdout=side if data else subprocess.DEVNULL,
        stderr=side,
        env=os.environ | {"IDSTORE_STORE": str(store), "IDSTORE_USER": "alice"},
    )
    os.close(side)
    os.write(terminal, typed)
    shown = b""
    while b"[y/N] " not in shown and (part := _read(terminal)):
        shown += part
    if b"[y/N] " in shown:
        os.write(terminal, answer)
    while part := _read(terminal):
        shown += part
    os.close(terminal)
    return process.wait(), shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the process has ended
        return b""


@pytest.mark.local("a terminal is on this machine")
@pytest.mark.parametrize("command", ["fixate", "release", "revoke"])
def test_a_command_on_a_terminal_asks(run: Run, mint: Minting, store: Path, command: str) -> None:
    iri = mint()
    words = (command, iri, *(["--reason", "spam"] if command == "revoke" else []))
    for answer in (b"\n", b"n\n", b"what\n"):
        code, shown = answered(store, answer, *words)
        assert (code, "This cannot be undone." in shown, iri in shown) == (1, True, True)
        assert "nothing was changed" in shown
        assert run("show", iri, "--json").object["stage"] == "created"
    assert answered(store, b"y\n", *words)[0] == 0
    if command == "fixate":
        assert run("show", iri, "--json").object["stage"] == "fixated"
    else:
        run("show", iri, code=4)


@pytest.mark.local("a terminal is on this machine")
@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (("list",), "IDENTIFIER\tSTAGE\tOWNER\tCREATED\tNAME"),
        (("log",), "TIME\tPARTY\tEVENT\tSUBJECT\tDETAILS"),
        (("namespace", "list"), "NAME\tBASE\tSCHEME\tOWNER\tALLOCATION"),
        (("stats",), "NAMESPACE\tSTAGE\tOWNER\tCOUNT"),
    ],
)
def test_lists_have_headings_on_a_terminal_alone(
    run: Run, mint: Minting, store: Path, words: tuple[str, ...], heading: str
) -> None:
    mint()
    _, shown = answered(store, b"", *words, data=True)
    assert shown.splitlines()[0].expandtabs() == heading.expandtabs()
    for option in ("--json", "--quiet"):
        assert heading.split("\t", maxsplit=1)[0] not in answered(store, b"", *words, option, data=True)[1]
    assert heading.split("\t", maxsplit=1)[0] not in run(*words).out


@pytest.mark.local("a terminal is on this machine")
def test_yes_answers_before_the_question(run: Run, mint: Minting, store: Path) -> None:
    iri = mint()
    code, shown = answered(store, b"", "fixate", iri, "--yes")
    assert (code, "[y/N]" in shown) == (0, False)
    assert run("show", iri, "--json").object["stage"] == "fixated"


@pytest.mark.local("a terminal is on this machine")
def test_an_import_on_a_terminal_shows_its_dry_run_and_asks(
    run: Run, rdl: str, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text("R3732211754\n")
    words = ("import", str(tmp_path / "list.txt"), "--namespace", rdl)
    code, shown = answered(store, b"n\n", *words)
    assert (code, "becomes visible to everybody" in shown) == (1, True)
    run("show", "rdl:R3732211754", code=4)
    assert answered(store, b"y\n", *words)[0] == 0
    assert run("show", "rdl:R3732211754", "--json").object["stage"] == "fixated"


@pytest.mark.local("a terminal is on this machine")
def test_an_import_of_what_is_typed_is_carried_out_after_its_dry_run(run: Run, rdl: str, store: Path) -> None:
    words = ("import", "-", "--format", "list", "--namespace", rdl)
    code, shown = answered(store, b"y\n" + END_OF_INPUT, *words, typed=b"R3732211754\n" + END_OF_INPUT * 2)
    assert (code, shown.count("1 new")) == (0, 2)
    assert run("show", "rdl:R3732211754", "--json").object["stage"] == "fixated"


def test_a_language_has_two_or_three_letters(run: Run, mint: Minting) -> None:
    iri = mint()
    for tag in ("fr", "deu", "pt-BR", "x-ours", "und"):
        run("name", iri, "n", "--lang", tag)
    for tag in ("french", "f", "x", "english-GB"):
        assert "is not a language tag" in run("name", iri, "n", "--lang", tag, code=3).err


def test_a_deprecation_is_taken_back_whole_or_in_part(run: Run, mint: Minting) -> None:
    iri, one, other = (mint() for _ in range(3))
    run("fixate", iri, one, other)
    run("undeprecate", iri, code=8)
    run("deprecate", iri, "--reason", "outdated", "--by", one, other)
    run("undeprecate", iri, by="bob", code=7)
    run("undeprecate", iri, "--by", "urn:x:none", code=3)
    run("undeprecate", iri, "--by", one)
    shown = run("show", iri, "--json").object
    assert (shown["deprecated"], shown["supersededBy"], shown["reason"]) == (True, [other], "outdated")
    run("undeprecate", iri)
    shown = run("show", iri, "--json").object
    assert (shown["deprecated"], shown.get("supersededBy") or [], shown.get("reason")) == (False, [], None)
    assert run("verify").line == "sound"
    assert [one["kind"] for one in run("log", "--id", iri, "--json").objects][-2:] == ["Undeprecation"] * 2
    run("supersede", iri, "--by", one)
    run("undeprecate", iri, "--by", one)
    assert run("show", iri, "--json").object["deprecated"] is False


def test_times_may_be_relative(run: Run, mint: Minting) -> None:
    iri = mint()
    for since in ("today", "yesterday", "1d", "30d"):
        assert run("list", "--since", since).lines[0].startswith(iri)
        assert iri in run("log", "--since", since).out
        assert run("list", "--until", since).out == run("list", "--older-than", since).out == ""
        run("diff", since)
    run("list", "--until", "1d", "--older-than", "1d", code=2)
    run("list", "--since", "d", code=3)
    run("history", iri, "--at", "today", code=4)
