"""Every script in ``examples`` runs in a store of its own and prints the expected text."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ARGUMENTS = {"prefixes.py": ["60"], "registries.py": ["walk"]}
SAYS = {
    "archive.sh": ["registered 3 identifiers", "conforms", "sound"],
    "articles.sh": [
        "http://journals.example.org/03054179/v31i0004/530_apcbttsfhh\n",
        (
            "http://journals.example.org/00160032/v238i0003/224_br\n"
            "http://journals.example.org/00160032/v238i0003/224_br_1\n"
        ),
        '"collides": true',
        "/pdf_fulltext/",
    ],
    "compact.py": ["pump is rdl:R…\nvalve is rdl:R…\n", "pronom:fmt/18 is info:pronom/fmt/18"],
    "formats.sh": [
        "would register 2246 identifiers",
        "registered 2246 identifiers, renamed 0; 0 are as they were",
        "registered 0 identifiers, renamed 0; 2246 are as they were",
        "http://www.wikidata.org/entity/Q27231633 (skos:closeMatch, alice",
    ],
    "graphs.py": [
        "a visitor sees of the draft: None\na visitor sees of the published identifier: ball valve\n",
        "by SPARQL: ball valve http://www.wikidata.org/entity/Q1413223\n",
        "refused: the graph of a registry is read-only",
    ],
    "handles.sh": [
        "102.100.272/Y35XYS0QH",
        "http://pilin.net.au/Project_Documents/Glossary.htm",
        "what is published is permanent",
    ],
    "media_types.py": ["registered 2246 formats of release 109", "application/pdf stands for 30 formats"],
    "prefixes.py": ["minted 60 identifiers; a visitor sees 0", "fixated; a visitor sees 60"],
    "registries.py": [
        " prefixes and ",
        "figure 1: wikidata.entity ",
        "http://www.wikidata.org/entity/Q50018 is claimed by icd10, icd9\n",
        " acts, 0 refused\nfound now: {'cluster': ",
        "~ icd10: relatedMatch http://www.wikidata.org/entity/Q50018, Ada Curator by alice\n",
        "the copy has the same digest: sha256:",
    ],
    "questions.sh": ["http://www.wikidata.org/entity/Q1413223  2", "ontology#Mint,2"],
}
LEAVES = {
    "registries.py": {
        "walk/figure-1.svg": ">wikidata.entity</text>",
        "walk/figure-2.html": "Cluster of ",
        "walk/mappings.sssom.tsv": "relatedMatch",
    }
}
"""Example → figure or table that it writes → content."""


def test_each_example_is_in_the_table() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == set(SAYS)


_LONG = {"archive.sh", "formats.sh", "registries.py"}
_LONGEST = 400
"""Seconds after which an example hangs. The longest takes 20 on an idle machine."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in _LONG else []) for name in sorted(SAYS)]
)
def test_an_example_prints_the_expected_output(name: str, tmp_path: Path) -> None:
    runner = [sys.executable, "-W", "error", "-X", "faulthandler"] if name.endswith(".py") else ["sh"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("IDSTORE_")}
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = kept | {
        "PATH": paths,
        "LOGNAME": "alice",
        "TMPDIR": str(tmp_path),
        "IDSTORE_STORE": str(tmp_path / "store"),
    }
    process = subprocess.Popen(
        [*runner, str(EXAMPLES / name), *ARGUMENTS.get(name, [])],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said, _ = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # Python prints the stacks of its threads
        said, _ = process.communicate()
    assert process.returncode == 0, said
    assert [line for line in SAYS[name] if line not in said] == []
    assert (tmp_path / "store" / "ledger.sqlite").is_file()
    assert [
        file
        for file, content in LEAVES.get(name, {}).items()
        if content not in (tmp_path / file).read_text(encoding="utf-8")
    ] == []
