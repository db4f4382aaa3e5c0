"""Messages about a disk that fills up while a command reads: what failed, where, and the remedy."""

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

pytestmark = pytest.mark.local("these tests fill the disk under the folder, or remove the working folder")

STATEMENTS = {
    ("export",): "SELECT iri FROM identifier",
    ("export", "--digest"): "SELECT DISTINCT text FROM line",
    ("verify",): "SELECT iri, COUNT(*)",
    ("reconcile", "STORE"): "SELECT iri FROM identifier",
    ("import", "FILE"): "SELECT 1 FROM subject",
    ("stats",): "FROM tally",
}
"""A command, and the statement of its store or scratch file that fails for lack of room to sort."""


def full_at(statement: str) -> type[sqlite3.Connection]:
    class Full(sqlite3.Connection):
        """A connection that fails as SQLite does without room for temporary files."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if statement in sql:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(sql, *values)

    return Full


@pytest.mark.parametrize("words", STATEMENTS, ids=" ".join)
def test_lack_of_room_to_sort_is_reported_with_a_remedy(
    run: Run,
    mint: Minting,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    mint("--name", "valve")
    run("export", "-o", tmp_path / "all.ttl")
    connect, full = sqlite3.connect, full_at(STATEMENTS[words])
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **named: connect(*given, **{**named, "factory": full})
    )
    named = {"STORE": str(store), "FILE": str(tmp_path / "all.ttl")}
    outcome = run(*(named.get(word, word) for word in words), code=6)
    [line] = outcome.err.splitlines()
    assert "database or disk is full" in line and "TMPDIR" in line
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the system"),
        (OSError(errno.ENOSPC, "No space left on device", "draft"), "draft"),
        (channels.StdoutError(errno.ENOSPC, "No space left on device"), "standard output"),
    ],
)
def test_errors_name_standard_output_only_for_standard_output(
    error: OSError, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert channels.report(error, Output()) == 1
    assert capsys.readouterr().err == f"idstore: {place}: No space left on device\n"


@pytest.mark.parametrize(
    ("write", "raised"),
    [(errno.ENOSPC, channels.StdoutError), (errno.EPIPE, BrokenPipeError)],
)
def test_a_failed_print_is_an_error_of_standard_output(write: int, raised: type[OSError]) -> None:
    def fail() -> None:
        with channels.stdout_errors():
            raise OSError(write, os.strerror(write))

    with pytest.raises(raised):
        fail()


@pytest.fixture
def in_a_folder_that_is_gone(store: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run_command(words: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "gone").mkdir()
        line = f"cd {tmp_path / 'gone'} && rmdir {tmp_path / 'gone'} && {sys.executable} -m idstore {words}"
        environment = {
            **os.environ,
            "IDSTORE_STORE": str(store),
            "IDSTORE_USER": "alice",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        return subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=False)

    return run_command


def test_a_deleted_working_directory_is_not_reported_as_standard_output(
    in_a_folder_that_is_gone: Callable[..., subprocess.CompletedProcess[str]], mint: Minting
) -> None:
    mint()
    assert in_a_folder_that_is_gone("export").returncode == 0
    outcome = in_a_folder_that_is_gone("export -o all.nq")
    assert (outcome.returncode, outcome.stdout) == (2, "") and outcome.stderr.startswith(
        "idstore: all.nq cannot be written: No such file or directory"
    )
    outcome = in_a_folder_that_is_gone("list --store nonesuch")
    assert outcome.returncode == 6 and "standard output" not in outcome.stderr
