"""Cells of CSV that a spreadsheet would run are guarded, and come back as they were."""

import csv
import re
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from command_lines import Minting, Run
from hypothesis import given
from hypothesis import strategies as st

import idstore
from idstore import Party, Statement, spreadsheets
from idstore.exchange import identifiers, table_export

ADA = Party("ada")
FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=1",
    "''-1",
    "＝1",
    "=cmd|' /C calc'!A0",
]
HARMLESS = ["it's", "'tis", "1-1", " =1", "a=b", "'"]


@given(st.text("'=+-@\t\r\n＝a1 ", max_size=8))
def test_every_cell_comes_back(text: str) -> None:
    guarded = spreadsheets.guarded(text)
    assert spreadsheets.plain(guarded) == text
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
    documented = re.sub(r"^'(?='*[=+@\t\r\n＝＋－＠-])", "", guarded)
    assert documented == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_cells_stay(text: str) -> None:
    assert spreadsheets.guarded(text) == spreadsheets.plain(text) == text


def test_an_export_in_csv_is_guarded_and_imported_as_it_was(tmp_path: Path) -> None:
    texts = [*FORMULAS, *HARMLESS]
    with idstore.open(tmp_path / "store", administrator=ADA) as registry:
        registry.add_namespace("h", "10.5", "handle", ADA)
        for number, text in enumerate(texts):
            registry.register("h", str(number), ADA, idstore.Request(name=text))
            registry.bind(f"h:{number}", Statement("http://example.org/", note=text, author=f"{text} A"), ADA)
        out = BytesIO()
        table_export.export_csv(registry, out, ADA)
    cells = [cell for row in csv.reader(StringIO(out.getvalue().decode(), newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))]
    out.seek(0)
    with identifiers.read(out, "csv") as reading:
        listed = list(identifiers.valid(reading.rows, []))
    by_id = {row.id: row for row in listed}
    for number, text in enumerate(texts):
        row = by_id[f"https://hdl.handle.net/10.5/{number}"]
        assert row.statement is not None
        assert (row.name, row.statement.note, row.statement.author) == (text, text, f"{text} A")


@pytest.mark.usefixtures("rdl")
def test_a_query_in_csv_is_guarded(run: Run, mint: Minting) -> None:
    mint("--name", "=1+1")
    query = "SELECT ?name ?number { ?id rdfs:label ?name BIND(-1 AS ?number) }"
    assert run("query", query, "--format", "csv").lines == ["name,number", "'=1+1,-1"]
    assert run("query", query, "--format", "tsv").lines[1].startswith('"=1+1"')
