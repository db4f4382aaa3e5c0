"""Behaviour of a command whose standard stream is full, closed or gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import RDL, Run

COMMAND = f"{sys.executable} -m idstore"
TARGET = "http://example.org/1"
MINT = ("mint", "rdl", "--target", TARGET)
UNTOLD = {"full": "2>/dev/full", "closed": "2>&-"}
"""Shell redirections that leave a command without an output."""


@pytest.fixture
def environment(rdl: str, store: Path) -> dict[str, str]:
    assert rdl
    return {**os.environ, "IDSTORE_STORE": str(store), "IDSTORE_USER": "alice"}


def shell(environment: dict[str, str], *words: str, streams: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that redirects its streams."""
    line = f"{COMMAND} {' '.join(words)} {streams}"
    return subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("streams", UNTOLD.values(), ids=UNTOLD)
def test_a_minted_identifier_is_printed_although_the_warning_cannot_be(
    environment: dict[str, str], streams: str
) -> None:
    first = shell(environment, *MINT)
    assert (first.returncode, first.stderr) == (0, "")
    second = shell(environment, *MINT, streams=streams)
    assert (second.returncode, second.stdout.count("\n")) == (0, 1)
    assert second.stdout.startswith(RDL) and second.stdout != first.stdout
    bound = shell(environment, "bind", first.stdout.strip(), TARGET, streams=streams)
    assert (bound.returncode, bound.stdout) == (0, "")


@pytest.mark.parametrize("streams", UNTOLD.values(), ids=UNTOLD)
def test_a_first_act_counts_although_the_notice_of_the_store_cannot_be_printed(
    environment: dict[str, str], tmp_path: Path, streams: str
) -> None:
    add = ("--store", str(tmp_path / "new"), "namespace", "add", "x", "10.5", "--scheme", "handle")
    done = shell(environment, *add, streams=streams)
    assert (done.returncode, done.stdout) == (0, "x\thttps://hdl.handle.net/10.5/\thandle\talice\topen\n")


@pytest.mark.parametrize("streams", UNTOLD.values(), ids=UNTOLD)
def test_errors_never_go_to_standard_output(environment: dict[str, str], streams: str) -> None:
    done = shell(environment, "show", "rdl:R1", streams=streams)
    assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.parametrize(
    "words",
    [
        ("export",),
        ("mint", "rdl"),
        ("list",),
        ("reconcile", "$IDSTORE_STORE"),
        ("query", "'ASK {}'"),
        ("--version",),
        ("mint", "--help"),
    ],
)
@pytest.mark.parametrize("also", ["", "<&-"])
def test_a_closed_standard_output_is_an_error(
    environment: dict[str, str], words: tuple[str, ...], also: str
) -> None:
    shell(environment, *MINT)
    done = shell(environment, *words, "--quiet" if words[0] == "reconcile" else "", streams=f">&- {also}")
    *made, said = done.stderr.splitlines()
    assert (done.returncode, said) == (1, "idstore: standard output: Bad file descriptor")
    assert ["was created but could not be printed" in line for line in made] == [True] * (
        words == ("mint", "rdl")
    )


def test_a_command_without_output_needs_no_standard_output(environment: dict[str, str]) -> None:
    minted = shell(environment, *MINT).stdout.strip()
    done = shell(environment, "fixate", minted, streams="<&- >&- 2>&-")
    assert done.returncode == 0
    assert "fixated" in shell(environment, "show", minted).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_what_was_made_is_told_where_it_cannot_be_printed(
    environment: dict[str, str], run: Run, tmp_path: Path
) -> None:
    article = tmp_path / "article.json"
    article.write_text('{"issn": "0016-0032", "title": "Book Review"}\n' * 2)
    for words, many in (
        (("mint", "own"), 1),
        (("register", "h", "x", "--target", TARGET), 1),
        (("mint", "own", "--count", "3"), 3),
        (("mint", "sp", "--metadata", str(article)), 1),
    ):
        there = len(run("list").lines)
        done = shell(environment, *words, streams=">/dev/full")
        said = [line for line in done.stderr.splitlines() if "was created but could not be printed" in line]
        assert (done.returncode, len(said)) == (1, many), done.stderr
        found = run("list").lines
        assert len(found) >= there + many
        assert {line.split()[1] for line in said} <= {line.split("\t")[0] for line in found}
        assert "idstore: standard output: No space left on device" in done.stderr


def test_what_was_made_is_told_where_nobody_reads_it(environment: dict[str, str], run: Run) -> None:
    for words, many in ((("mint", "own"), 1), (("mint", "own", "--count", "3"), 3)):
        there = {*run("list").lines}
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "idstore", *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
        )
        os.close(writing)
        assert done.returncode == 141
        made = {line.split("\t")[0] for line in {*run("list").lines} - there}
        assert len(made) == many
        assert {line.split()[1] for line in done.stderr.splitlines()} == made


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("streams", ["-o /dev/full", ">/dev/full", "--json >/dev/full"])
def test_what_a_table_allocated_is_told_where_it_cannot_be_written(
    environment: dict[str, str], run: Run, tmp_path: Path, streams: str
) -> None:
    environment["PYTHONUNBUFFERED"] = ""  # as users run it: what is printed fails when it is flushed
    table = tmp_path / "table.csv"
    table.write_text("name\nvalve\npump\n")
    done = shell(environment, "mint", "own", "--from", str(table), streams=streams)
    assert done.returncode == 1
    assert "the identifiers of 2 rows are allocated" in done.stderr
    assert "No space left on device" in done.stderr
    made = {line.split("\t")[0] for line in run("list").lines}
    again = shell(environment, "mint", "own", "--from", str(table))
    assert (again.returncode, "2 known" in again.stderr) == (0, True)
    assert made == {line.split(",")[0] for line in again.stdout.splitlines()[1:]}
