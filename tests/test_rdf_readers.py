"""Readers of RDF on bad files: the negative syntax tests of the W3C, and truncated or damaged files.

The texts in ``vectors/rdf.bad.tsv`` are those of https://github.com/w3c/rdf-tests, which is under the W3C
3-clause BSD licence for test suites; each is one JSON string, named after its test.
"""

import json
import re
from pathlib import Path

import pytest
from command_lines import Minting, Run
from tables import VECTORS, rows

from idstore.cli import exits
from idstore.exchange.rdf import SUFFIXES

BAD = rows(VECTORS / "rdf.bad.tsv")
ENDINGS = {format: ending for ending, format in SUFFIXES.items()}
PLACE = re.compile(r"^idstore: (.*), line (\d+): not valid (\w+): .+\n\Z")


@pytest.mark.slow
@pytest.mark.parametrize("format", sorted(ENDINGS.keys() - {"jsonld"}))
def test_every_bad_file_of_the_w3c_is_refused_with_its_line(
    run: Run, mint: Minting, tmp_path: Path, format: str
) -> None:
    mint("--name", "valve")
    before = run("export", "--format", "nquads").out
    texts = [(row["source"], json.loads(row["text"])) for row in BAD if row["format"] == format]
    assert len(texts) > 25
    for name, text in texts:
        file = tmp_path / f"bad{ENDINGS[format]}"
        file.write_text(text, encoding="utf-8", newline="")
        message = run("import", file, code=exits.INVALID).err
        found = PLACE.match(message)
        assert found, f"{name}: {message}"
        assert (found[1], found[3]) == (str(file), format)
        assert 1 <= int(found[2]) <= text.count("\n") + 1, f"{name}: {message}"
    assert run("export", "--format", "nquads").out == before


@pytest.mark.parametrize("format", ENDINGS)
def test_a_truncated_file_changes_nothing(run: Run, mint: Minting, tmp_path: Path, format: str) -> None:
    run("fixate", mint("--name", "valve"))
    whole = run("export", "--format", format).out.encode()
    file, other = tmp_path / f"cut{ENDINGS[format]}", tmp_path / "other"
    run("init", "--store", other)
    before = run("export", "--format", "nquads", "--store", other).out
    for size in range(7, len(whole) - 8, len(whole) // 16):
        file.write_bytes(whole[:size])
        run("import", file, "--store", other, code=exits.INVALID)
    assert run("export", "--format", "nquads", "--store", other).out == before
