"""Command lines that are read without typer: they mean what typer makes of them, and come out alike."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import RDL, Run
from hypothesis import given
from hypothesis import strategies as st

from idstore.cli import app, giving, quick, session
from idstore.cli.giving import Said

WORDS = (
    *("mint", "register", "show", "version", "add"),
    *("rdl", "x", "", "a b", "é", "0", "3", "2.5", "-3", "1e3", "nan", "-", "--", "-h", "--help", "--version"),
    *("--store", "--user", "--wait", "--json", "--quiet", "--name", "--lang", "--comment"),
    *("--target", "--request-key", "--count", "--type", "--metadata", "--stor", "--name=x", "--json=1", "--wait=2", "-n"),
)
LINES = st.lists(st.sampled_from(WORDS), max_size=9)


@st.composite
def likely_lines(draw: st.DrawFn) -> list[str]:
    """Command lines most of which can be carried out."""
    flags = st.lists(st.sampled_from([("--json",), ("--quiet",)]), max_size=2)
    options = st.tuples(st.sampled_from(["--store", "--user", "--wait", "--name", "--lang", "--comment"]), st.sampled_from(WORDS))
    arguments = st.lists(st.sampled_from([("rdl",), ("x",), ("a b",)]), min_size=1, max_size=2)
    behind = draw(st.permutations([*draw(flags), *draw(st.lists(options, max_size=3)), *draw(arguments)]))
    return [word for part in [*draw(flags), (draw(st.sampled_from(["mint", "register"])),), *behind] for word in part]


def read_by_typer(words: list[str]) -> list[object]:
    """The allocations that come of a command line."""
    asked: list[object] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "write", lambda *given: asked.append("more than an allocation"))

        def take(call: object, said: Said, namespace: str, label: str | None = None, options: object = ()) -> int:
            asked.append((call, said, namespace, label))
            assert not options
            return 0

        patched.setattr(giving, "give", take)
        app.run(words)
    return asked


@given(LINES | likely_lines())
def test_what_is_read_is_what_typer_reads(words: list[str]) -> None:
    asked = quick.read(words)
    if asked is not None and asked.said.is_brief(asked.call):
        assert read_by_typer(words) == [tuple(asked)]


@pytest.mark.parametrize(
    "words",
    [
        "mint rdl",
        "--store /s --user bob --json mint rdl --wait 3 --quiet --name pump --lang en",
        "register h a --comment x",
        "mint --name pump rdl --store /s",
    ],
)
def test_what_people_ask_for_most_is_read(words: str) -> None:
    asked = quick.read(words.split())
    assert asked is not None
    assert read_by_typer(words.split()) == [tuple(asked)]


@pytest.mark.parametrize("command", quick.ARGUMENTS)
def test_its_options_are_the_commands_own(command: str) -> None:
    group = app.application()
    with group.make_context("idstore", [command, "x", "y"][: quick.ARGUMENTS[command] + 1]) as context:
        found = group.get_command(context, command)
    assert found is not None
    flags = {text: getattr(one, "is_flag", False) for one in found.params for text in one.opts if text.startswith("--")}
    assert {name for name in quick.FLAGS if flags[name]} == quick.FLAGS
    assert {name for name in quick.SHARED | quick.SAID if not flags[name]} == quick.SHARED | quick.SAID
    assert len([one for one in found.params if one.required]) == quick.ARGUMENTS[command]


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    "words",
    [
        ("mint", "rdl"),
        ("mint", "rdl", "--json", "--name", "pump"),
        ("mint", "nowhere"),
        ("mint", "nowhere", "--json"),
        ("mint", "rdl", "--user", "nobody"),
        ("register", "h", "taken"),
        ("register", "h", "taken", "--quiet"),
        ("register", "rdl", "R1"),
        ("register", "h", "a\nb", "--json"),
        ("mint", "rdl", "--store", "http://example.org/"),
        ("mint", "rdl", "--store", "/dev/null/store"),
        ("mint", "rdl", "--lang", "en"),
    ],
)
def test_it_comes_out_as_with_typer(store: Path, run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    run("register", "h", "taken")
    outcomes = []
    for way in (quick.run, app.run):
        copy = store.with_name(way.__module__)
        shutil.copytree(store, copy)
        code = way(words if "--store" in words else [*words, "--store", str(copy)])
        out, err = capsys.readouterr()
        outcomes.append((code, len(out), err))
    first, second = outcomes
    assert first == second or (first[0] is None and "--lang" in words)


def test_typer_is_not_imported(rdl: str, store: Path) -> None:
    words = ["--store", str(store), "--user", "alice", "mint", rdl, "--name", "pump"]
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "idstore", *words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(RDL)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "idstore.registry.allocation" in imported
    assert {"typer", "rich", "dataclasses", "inspect"}.isdisjoint(imported)
