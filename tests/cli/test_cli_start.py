"""What keeps a short command short: what it does not import, and does not open."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import RDL, Run

LIST = "import sys; from idstore.__main__ import main; code = main(); print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(code)"
NEVER_AT_FIRST = {
    *("rdflib", "pyshacl", "pydantic", "rich", "platformdirs", "importlib.metadata", "email", "zipfile", "tempfile", "socket", "xml"),
    *("idstore.validation", "idstore.exchange", "idstore.queries", "idstore.quickstart"),
    *("hashlib", "secrets", "random", "decimal"),
    *("idstore.registry.whole", "idstore.registry.verifying", "idstore.registry.exporting", "idstore.registry.resolving"),
    *("idstore.model.history", "idstore.stores.staging", "idstore.stores.backups", "idstore.stores.publishing"),
}


def imported(store: Path, *words: str) -> set[str]:
    """The modules of a process that carries out a command."""
    command = [sys.executable, "-c", LIST, "--store", str(store), "--user", "alice", *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("words", [("mint", "rdl"), ("mint", "rdl", "--name", "valve", "--json"), ("register", "h", "abc")])
def test_an_allocation_imports_nothing_of_the_rest(store: Path, words: tuple[str, ...]) -> None:
    assert imported(store, *words) & NEVER_AT_FIRST == set()


@pytest.mark.parametrize("words", [("list",), ("show", "rdl:R1"), ("namespace", "list")])
def test_a_look_imports_no_foreign_library_that_it_does_without(store: Path, rdl: str, words: tuple[str, ...]) -> None:
    if words[0] == "show":
        made = subprocess.run(
            [sys.executable, "-m", "idstore", "--store", str(store), "--user", "alice", "mint", rdl],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        words = ("show", made.stdout.strip())
    assert imported(store, *words) & {"rdflib", "pyshacl", "pydantic", "rich", "importlib.metadata", "idstore.validation"} == set()


def files(engine: Path) -> Iterator[tuple[str, int]]:
    return ((file.name, file.stat().st_mtime_ns) for file in sorted(engine.iterdir()) if file.name != "LOCK")


@pytest.mark.parametrize("options", [(), ("--name", "valve", "--comment", "a try"), ("--json",)])
def test_an_allocation_leaves_the_engine_alone(store: Path, run: Run, rdl: str, options: tuple[str, ...]) -> None:
    """It is in the journal; to open the engine for writing takes longer than all the rest, and is left to whoever comes next."""
    [engine] = store.glob("generation-*/engine")
    before = list(files(engine))
    made = [run("mint", rdl, *options).out for _ in range(3)]
    assert list(files(engine)) == before
    assert len(set(made)) == 3
    assert len(run("list", "--namespace", rdl).out.splitlines()) == 3


def test_a_comment_is_shown_with_the_record(run: Run, rdl: str) -> None:
    made = run("mint", rdl, "--comment", "a try", "--json").object
    assert made["id"].startswith(RDL)
    assert [remark["text"] for remark in made["comments"]] == ["a try"]
