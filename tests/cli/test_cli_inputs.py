"""Standard input, and files that never end, that are read twice, or that an error must name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import Minting, Run

from idstore.cli import inputs, stdin
from idstore.errors import ExchangeError
from idstore.exchange import limits, pronom_reports

ENDLESS = [
    ("fixate - </dev/zero", "standard input, line 1: longer than 1048576 bytes"),
    ("check - </dev/zero", "standard input, line 1: longer than 1048576 bytes"),
    ("query -f /dev/zero", "/dev/zero: longer than 67108864 bytes"),
    ("query - </dev/zero", "standard input: longer than 67108864 bytes"),
    ("import /dev/zero --format rdf-patch", "/dev/zero, line 1: the row is longer than 67108864 characters"),
    ("import - --format handle-batch </dev/zero", "standard input: longer than 67108864 bytes"),
    (
        "import - --format pronom --namespace own </dev/zero",
        "standard input: longer than 268435456 bytes",
    ),
]


@pytest.mark.parametrize(("words", "message"), ENDLESS)
def test_endless_input_is_refused(rdl: str, store: Path, words: str, message: str) -> None:
    assert rdl
    environment = {**os.environ, "IDSTORE_STORE": str(store), "IDSTORE_USER": "alice"}
    line = f"ulimit -v 2000000; exec {sys.executable} -m idstore {words}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"idstore: {message}") and done.stderr.count("\n") == 1


def test_a_line_may_be_as_long_as_documented(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_LINE", 12)
    run("check", "-", stdin="R3732211754\n\nR3732211754")
    refused = run("check", "-", stdin="R3732211754\n\n  R3732211754", code=3)
    assert "standard input, line 3: longer than 12 bytes" in refused.err


@pytest.mark.usefixtures("rdl")
def test_standard_input_above_the_size_limit_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin, "_LARGEST", 100_000)
    for words in (("import", "-", "--format", "turtle"), ("validate", "-")):
        refused = run(*words, stdin="#" * 100_001, code=3)
        assert refused.err == "idstore: standard input: longer than 100000 bytes; split the input\n"


def test_an_archive_is_read_as_far_as_it_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PRONOM_ARCHIVE", 10)
    (tmp_path / "reports.zip").write_bytes(b"x" * 11)
    with pytest.raises(ExchangeError, match="longer than 10 bytes"):
        pronom_reports.read(tmp_path / "reports.zip")


@pytest.mark.parametrize(
    "words",
    [("import", "-", "--format", "turtle"), ("validate", "-")],
)
def test_errors_name_standard_input(run: Run, mint: Minting, words: tuple[str, ...]) -> None:
    mint()
    names_standard_input(run, *words)


@pytest.mark.local("a server takes one file at a time")
def test_errors_name_standard_input_among_files(run: Run, mint: Minting) -> None:
    mint()
    names_standard_input(run, "import", "-", "all.nq", "--format", "turtle")


def names_standard_input(run: Run, *words: str) -> None:
    refused = run(*words, stdin="# one\nno turtle\n", code=3)
    assert refused.err.startswith("idstore: standard input, line 2: ")
    report = json.loads(run(*words, "--json", stdin="# one\nno turtle\n", code=3).err)
    assert report["file"] == "standard input" and report["message"] == refused.err.removeprefix(
        "idstore: "
    ).rstrip("\n")


def test_standard_input_needs_a_format(run: Run, mint: Minting) -> None:
    mint()
    assert run("import", "-", stdin="x", code=3).err.startswith("idstore: standard input: ")


@pytest.mark.parametrize("words", [("import", "-", "-", "--format", "turtle"), ("validate", "-", "-")])
def test_standard_input_is_read_once(run: Run, mint: Minting, words: tuple[str, ...]) -> None:
    mint()
    assert "standard input can be read once" in run(*words, stdin="", code=2).err


@pytest.mark.usefixtures("rdl")
def test_an_export_is_imported_through_standard_input(run: Run, mint: Minting, tmp_path: Path) -> None:
    mint()
    exported = run("export", "--format", "trig").out
    run("import", "-", "--format", "trig", "--store", tmp_path / "again", stdin=exported)
    assert run("export", "--format", "trig", "--store", tmp_path / "again").out == exported
    assert run("validate", "-", stdin=run("export").out).line == "conforms"


MARK = b"\xef\xbb\xbf"
"""A byte order mark, as some editors write at the start of UTF-8 files."""


@pytest.mark.parametrize("ending", [".ttl", ".trig", ".nt", ".nq", ".jsonld", ".rdfp"])
def test_a_byte_order_mark_is_ignored(
    run: Run, mint: Minting, store: Path, tmp_path: Path, ending: str
) -> None:
    run("fixate", mint("--name", "valve"))
    file = tmp_path / f"all{ending}"
    run("export", "-o", file, *(("--after", "0") if ending == ".rdfp" else ()))
    file.write_bytes(MARK + file.read_bytes())
    run("import", file, "--store", tmp_path / "again")
    assert (
        run("export", "--format", "nquads", "--store", tmp_path / "again").out
        == run("export", "--format", "nquads").out
    )
    if ending != ".rdfp":
        assert run("validate", file).line == "conforms"
        run("reconcile", file, store)


@pytest.mark.usefixtures("rdl")
def test_a_byte_order_mark_changes_no_line_number(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.ttl"
    file.write_bytes(MARK + b"# one\nno turtle\n")
    for words in (("import", file), ("validate", file), ("reconcile", file)):
        assert run(*words, code=3).err.startswith(f"idstore: {file}, line 2: ")


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("command", ["import", "validate"])
def test_a_missing_file_is_reported_as_missing(run: Run, tmp_path: Path, command: str) -> None:
    assert f"{tmp_path / 'nothere'}: there is no such file" in run(command, tmp_path / "nothere", code=3).err
    (tmp_path / "here").touch()
    assert "format" in run(command, tmp_path / "here", code=3).err
