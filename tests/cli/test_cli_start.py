"""The modules that a short command does not import keep its start short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import RDL, Minting, Run

pytestmark = pytest.mark.local("these tests list the modules that open a folder")

LIST = """
import sys
from idstore.__main__ import main

try:
    sys.exit(main())
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""
NEVER_AT_FIRST = {
    *(
        "rdflib",
        "pyshacl",
        "pydantic",
        "rich",
        "platformdirs",
        "xml",
        "asyncio",
        "multiprocessing",
        "urllib.request",
    ),
    *(
        "idstore.validation",
        "idstore.exchange",
        "idstore.reconciliation",
        "idstore.quickstart",
        "idstore.scratch",
    ),
    *("idstore.registry.registry", "idstore.queries", "concurrent.futures"),
    *("idstore.stores.bulk", "idstore.stores.bulk_load", "idstore.stores.backup", "idstore.stores.reader"),
}


def imported(store: Path, *words: str) -> set[str]:
    """Return the modules of a process that runs a command."""
    command = [sys.executable, "-c", LIST, "--store", str(store), "--user", "alice", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    "words", [("mint", "rdl"), ("mint", "rdl", "--name", "valve", "--json"), ("register", "h", "abc")]
)
def test_an_allocation_imports_no_other_part_of_the_package(store: Path, words: tuple[str, ...]) -> None:
    found = imported(store, *words)
    assert "idstore.registry.allocation" in found
    assert found & NEVER_AT_FIRST == set()


@pytest.mark.parametrize("command", ["list", "show {}", "namespace list"])
def test_a_read_command_imports_only_the_libraries_it_needs(store: Path, mint: Minting, command: str) -> None:
    found = imported(store, *command.format(mint()).split())
    assert "idstore.stores.reader" in found
    assert found & {"rdflib", "pyshacl", "pydantic", "rich", "idstore.validation"} == set()


def test_a_comment_is_shown_with_the_record(run: Run, rdl: str) -> None:
    made = run("mint", rdl, "--comment", "a try", "--json").object
    assert made["id"].startswith(RDL)
    assert [remark["text"] for remark in made["comments"]] == ["a try"]
