"""What is told of a disk that is full while a command reads: what failed, where, and what helps."""

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_lines import Minting, Run

from idstore.cli import output as channels
from idstore.cli.output import Output

STATEMENTS = {
    ("export",): "SELECT iri FROM identifier",
    ("export", "--digest"): "SELECT DISTINCT text FROM line",
    ("verify",): "SELECT iri, COUNT(*)",
    ("reconcile", "STORE"): "SELECT iri FROM identifier",
    ("import", "FILE"): "SELECT 1 FROM subject",
    ("stats",): "FROM tally",
}
"""A command, and what its store or its scratch file is asked when there is no room to sort."""


def full_at(statement: str) -> type[sqlite3.Connection]:
    class Full(sqlite3.Connection):
        """Fails as SQLite does without room for temporary files."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if statement in sql:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(sql, *values)

    return Full


@pytest.mark.parametrize("words", STATEMENTS, ids=" ".join)
def test_no_room_to_sort_is_told_with_what_helps(
    run: Run, mint: Minting, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    mint("--name", "valve")
    run("export", "-o", tmp_path / "all.ttl")
    connect, full = sqlite3.connect, full_at(STATEMENTS[words])
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **{**named, "factory": full}))
    named = {"STORE": str(store), "FILE": str(tmp_path / "all.ttl")}
    told = run(*(named.get(word, word) for word in words), code=6)
    [line] = told.err.splitlines()
    assert "database or disk is full" in line and "TMPDIR" in line
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the system"),
        (OSError(errno.ENOSPC, "No space left on device", "draft"), "draft"),
        (channels.Undelivered(errno.ENOSPC, "No space left on device"), "standard output"),
    ],
)
def test_only_standard_output_is_called_so(error: OSError, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert channels.report(error, Output()) == 1
    assert capsys.readouterr().err == f"idstore: {place}: No space left on device\n"


@pytest.mark.parametrize(
    ("write", "raised"),
    [(errno.ENOSPC, channels.Undelivered), (errno.EPIPE, BrokenPipeError)],
)
def test_what_prints_fails_as_standard_output(write: int, raised: type[OSError]) -> None:
    def fail() -> None:
        with channels.delivering():
            raise OSError(write, os.strerror(write))

    with pytest.raises(raised):
        fail()


@pytest.fixture
def in_a_folder_that_is_gone(store: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def carry_out(words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "gone").mkdir()
        line = f"cd {tmp_path / 'gone'} && rmdir {tmp_path / 'gone'} && {sys.executable} -m idstore {words}"
        environment = {
            **os.environ,
            "IDSTORE_STORE": str(store),
            "IDSTORE_USER": "alice",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        return subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)

    return carry_out


def test_a_working_directory_that_is_gone_is_no_matter_of_standard_output(
    in_a_folder_that_is_gone: Callable[..., subprocess.CompletedProcess[str]], mint: Minting
) -> None:
    mint()
    assert in_a_folder_that_is_gone("export").returncode == 0
    told = in_a_folder_that_is_gone("export -o all.nq")
    assert (told.returncode, told.stdout) == (2, "") and told.stderr.startswith(
        "idstore: all.nq cannot be written: No such file or directory"
    )
    told = in_a_folder_that_is_gone("list --store nonesuch")
    assert told.returncode == 6 and "standard output" not in told.stderr
