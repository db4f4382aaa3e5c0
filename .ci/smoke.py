"""Check an installed wheel: load all files that it ships, and run the main commands.

Run it by the interpreter of an environment that holds only the wheel and its dependencies:
``python -I smoke.py CHECKOUT``.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from rdflib import Graph

import idstore
from idstore.schemes import installed

SCHEMES = {"handle", "pilin", "puid", "rdswip", "scholars-portal"}
COMMAND = Path(sys.executable).parent / "idstore"


def check_files(checkout: Path) -> None:
    """Check that the wheel has all files, and that every Turtle file can be parsed."""
    package = Path(idstore.__file__).parent
    assert package.is_relative_to(sys.prefix), f"{package} is not the wheel"
    assert (package / "py.typed").is_file()
    for folder in ("shapes", "ontology"):
        packed = files("idstore") / "_data" / folder
        names = {path.name for path in (checkout / folder).glob("*.ttl")}
        assert names, f"{folder} is empty"
        assert {path.name for path in packed.iterdir()} >= names, f"{folder} is incomplete"
        for name in sorted(names):
            text = (packed / name).read_text(encoding="utf-8")
            print(f"{folder}/{name}: {len(Graph().parse(data=text, format='turtle'))} triples")


def check_schemes() -> None:
    """Check that the entry points announce the five schemes."""
    assert set(installed()) >= SCHEMES, sorted(installed())


def command(folder: Path) -> Callable[..., str]:
    """Return a function that runs ``idstore`` on a store in the folder and returns the output."""

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [COMMAND, *words, "--store", folder / "store", "--user", "alice"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (
            f"idstore {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout.strip()

    return run


def check_commands(folder: Path) -> None:
    """Follow one identifier through the main commands."""
    run = command(folder)
    assert "mint" in run("--help")
    assert run("check", "info:pronom/fmt/18", "--scheme", "puid") == "fmt/18"
    run("check", "R37322", "--scheme", "rdswip", code=3)
    run("nonesuch", code=2)
    run("init", "--administrator", "alice")
    run("namespace", "add", "rdl", "http://rdl.example.org/data#", "--scheme", "rdswip")
    minted = run("mint", "rdl", "--name", "valve")
    assert minted.startswith("http://rdl.example.org/data#R")
    run("bind", minted, "http://www.wikidata.org/entity/Q178803")
    run("fixate", minted)
    assert run("resolve", minted) == "http://www.wikidata.org/entity/Q178803"
    assert minted in run("list")
    run("show", "http://rdl.example.org/data#R1029384756", code=4)
    assert minted in run(
        "query", "SELECT ?s WHERE { ?s <http://www.w3.org/2004/02/skos/core#exactMatch> ?o }"
    )
    assert "valve" in run("export", "--format", "turtle")
    run("validate")
    run("verify")


if __name__ == "__main__":
    check_files(Path(sys.argv[1]).resolve())
    check_schemes()
    with tempfile.TemporaryDirectory() as temporary:
        check_commands(Path(temporary))
    print("The wheel works.")
