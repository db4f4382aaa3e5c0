"""Tables of requests: ``mint --from`` and ``register --from``."""

import csv
import difflib
import gzip
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from zipfile import ZipFile

import pytest
from command_lines import Run

import idstore

HEADER = ("name_en", "name@de", "comment", "target", "exactMatch", "notes of ours")
ROWS = (
    ("valve", "Ventil", "first", "https://repo.example.org/{label}", "http://x.example.org/1|wd:Q2", "-1"),
    ("pump", "", "", "", "", "=1+1"),
    ("pump", "", "", "", "", "=1+1"),
)


def written(path: Path, header: Sequence[str], *rows: Sequence[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            csv.writer(file).writerows([header, *rows])
        else:
            file.writelines("\t".join(row) + "\n" for row in (header, *rows))
    return path


def cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(text.splitlines(), delimiter=delimiter))


@pytest.mark.usefixtures("rdl")
def test_a_table_comes_back_with_its_identifiers(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", HEADER, *ROWS)
    outcome = run("mint", "h", "--from", table)
    assert "name@en ← name_en, name@de ← name@de" in outcome.err
    assert "passed over: notes of ours" in outcome.err
    assert outcome.err.endswith("idstore: 3 new\n")
    header, *rows = cells(outcome.out)
    assert header == ["identifier", *HEADER]
    assert [row[1] for row in rows] == ["valve", "pump", "pump"]
    assert rows[0][-1] == "'-1"  # no spreadsheet runs it
    record = run("show", rows[0][0], "--json").object
    assert record["names"] == {"en": "valve", "de": "Ventil"}
    assert record["target"] == f"https://repo.example.org/{record['label']}"
    assert [one["target"] for one in record["bindings"]] == [
        "http://x.example.org/1",
        "http://www.wikidata.org/entity/Q2",
    ]
    assert len({row[0] for row in rows}) == 3


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx"])
def test_a_second_run_changes_nothing(run: Run, tmp_path: Path, suffix: str) -> None:
    table = written(tmp_path / "t.csv", HEADER, *ROWS)
    out = tmp_path / f"out.{suffix}"
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
    run("mint", "h", "--from", table, "-o", out)
    count = len(run("list").lines)
    first = run("mint", "h", "--from", table)
    assert first.err.endswith("idstore: 3 known\n")
    again = run("mint", "h", "--from", out)  # rows with an identifier are left alone
    assert again.err.endswith("idstore: 3 left alone\n")
    found = cells(again.out, "\t" if suffix == "tsv" else ",")
    assert [row[0] for row in found] == [row[0] for row in cells(first.out)]
    assert len(run("list").lines) == count == 3
    more = written(tmp_path / "more.csv", HEADER, *ROWS, ROWS[1])
    assert run("mint", "h", "--from", more).err.endswith("idstore: 3 known, 1 new\n")
    moved = written(
        tmp_path / "moved.csv", HEADER[::-1], *(row[::-1] for row in (ROWS[2], ROWS[0]))
    )  # neither the order of columns nor that of rows matters
    assert run("mint", "h", "--from", moved).err.endswith("idstore: 2 known\n")


@pytest.mark.usefixtures("rdl")
def test_a_column_that_is_not_read_makes_no_other_request(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ("name", "shelf"), ("valve", "1"), ("pump", "2"), ("pump", "3"))
    made = [row[0] for row in cells(run("mint", "h", "--from", table).out)[1:]]
    written(table, ("shelf", "name", "more"), ("8", "valve", "x"), ("", "pump", ""), ("9", "pump", "y"))
    again = run("mint", "h", "--from", table)
    assert [row[0] for row in cells(again.out)[1:]] == made
    assert again.err.endswith("idstore: 3 known\n")


@pytest.mark.usefixtures("rdl")
def test_two_requests_with_one_key_are_told(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ("name", "key"), ("A", "1"), ("A", "1"), ("B", "1"))
    told = run("mint", "h", "--from", table, code=3)
    assert "line 4" in told.out + told.err
    assert "its key is that of line 2, which says something else" in told.out + told.err
    assert run("list").out == ""


@pytest.mark.usefixtures("rdl")
def test_a_table_that_is_divided_by_another_sign_is_named(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("name;target\nvalve;https://a.example/1\n", encoding="utf-8")
    assert "the header looks divided by semicolons" in run("mint", "h", "--from", table, code=3).err


@pytest.mark.usefixtures("rdl")
def test_csv_with_semicolons_comes_back_with_semicolons(run: Run, tmp_path: Path) -> None:
    """As spreadsheets write it where the comma is the decimal sign."""
    table, done = tmp_path / "t.csv", tmp_path / "done.csv"
    table.write_text('\ufeffname;size;target\n"valve; big";1,5;https://a.example/1,2\n', encoding="utf-8")
    run("mint", "h", "--from", table, "-o", done)
    header, row = cells(done.read_text(encoding="utf-8"), ";")
    assert header == ["identifier", "name", "size", "target"]
    assert row[1:] == ["valve; big", "1,5", "https://a.example/1,2"]
    assert run("mint", "h", "--from", "-", stdin=table.read_text(encoding="utf-8")).err.endswith("1 known\n")
    bindings = tmp_path / "b.csv"
    bindings.write_text(f"identifier;exactMatch\n{row[0]};http://b.example/\n", encoding="utf-8")
    run("import", bindings, "--column", "target=exactMatch")
    [bound] = run("show", row[0], "--json").object["bindings"]
    assert bound["target"] == "http://b.example/"


@pytest.mark.near_and_far
def test_workbooks_are_read_wherever_tables_are(run: Run, rdl: str, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    assert rdl

    def workbook(name: str, *rows: tuple[str, ...]) -> Path:
        made = openpyxl.Workbook()
        for row in rows:
            made.active.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    listed = workbook("list.xlsx", ("id", "name"), ("a", "valve"), ("b", "pump"))
    assert run("import", listed, "--namespace", "h").err.endswith("2 new; done\n")
    iri = run("list", "--json").objects[0]["id"]
    bindings = workbook("bindings.xlsx", ("subject_id", "object_id"), (iri, "http://x.example/1"))
    run("import", bindings)
    assert run("list", "--bound-to", "http://x.example/1", "--json").objects[0]["id"] == iri
    other = workbook("other.xlsx", ("subject_id", "object_id"), (iri, "http://x.example/2"))
    report = run("reconcile", bindings, other, "--format", "json").objects
    assert report
    decisions = workbook(
        "decisions.xlsx",
        ("action", "subject_id", "predicate_id", "object_id"),
        ("unbind", iri, "skos:exactMatch", "http://x.example/1"),
    )
    run("reconcile", "--accept", decisions)
    assert run("show", iri, "--json").object["bindings"] == []
    twice = workbook("twice.xlsx", ("subject_id", "subject_id"), ("a", "b"))
    assert "the column 'subject_id' occurs twice" in run("import", twice, code=3).err


@pytest.mark.usefixtures("rdl")
def test_a_key_of_a_row_is_its_request_key(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.tsv", ("key", "name"), ("a", "valve"), ("b", "pump"))
    first = cells(run("mint", "h", "--from", table).out, "\t")
    assert run("mint", "h", "--request-key", "a", "--name", "valve").line == first[1][0]
    other = written(tmp_path / "u.tsv", ("key", "name"), ("c", "tank"), ("b", "other"))
    outcome = run("mint", "h", "--from", other, code=3)
    assert [line.split("\t")[:2] for line in outcome.lines] == [["line 2", "new"], ["line 3", "refused"]]
    assert outcome.err.endswith("1 new, 1 refused; nothing was changed\n")
    assert len(run("list").lines) == 2


BAD = {
    "a relative target": (("name", "target"), ("x", "a/b"), "not an absolute IRI"),
    "an unknown relation": (("name", "skos:exactmatch"), ("x", "http://x.example.org/"), "did you mean"),
    "a binding that is none": (
        ("name", "sameAs"),
        ("x", "http://x.example.org/ | nope"),
        "not an absolute IRI",
    ),
    "a language that is none": (("name", "lang"), ("x", "french"), "not a language tag"),
    "too many cells": (("name",), ("x", "y"), "it has 2 cells"),
}


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("kind", BAD)
def test_all_rows_or_none(run: Run, tmp_path: Path, kind: str) -> None:
    header, row, reason = BAD[kind]
    table = written(tmp_path / "t.csv", header, ("good", *[""] * (len(header) - 1)), row)
    out = tmp_path / "out.csv"
    out.write_text("before")
    outcome = run("mint", "h", "--from", table, "-o", out, code=3)
    assert [line.split("\t")[0] for line in outcome.lines] == ["line 2", "line 3"]
    assert reason in outcome.lines[1]
    assert outcome.err.endswith("nothing was changed\n")
    assert out.read_text() == "before"
    assert run("list").lines == []


@pytest.mark.usefixtures("rdl")
def test_a_dry_run_tells_of_each_line(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ("label", "name"), ("a b", "x"), ("c", "y"))
    outcome = run("register", "h", "--from", table, "--dry-run")
    assert outcome.lines == [
        "line 2\tnew\thttps://hdl.handle.net/10.1000/a%20b",
        "line 3\tnew\thttps://hdl.handle.net/10.1000/c",
    ]
    assert run("list").lines == []
    drawn = written(tmp_path / "u.csv", ("name",), ("x",))
    assert run("mint", "h", "--from", drawn, "--dry-run").lines == ["line 2\tnew"]  # it is drawn later
    assert run("register", "h", "--from", table, "--json").objects == [
        {"line": 2, "verdict": "new", "id": "https://hdl.handle.net/10.1000/a%20b", "reason": ""},
        {"line": 3, "verdict": "new", "id": "https://hdl.handle.net/10.1000/c", "reason": ""},
    ]
    assert len(run("list").lines) == 2


@pytest.mark.usefixtures("rdl")
def test_labels_of_a_table(run: Run, tmp_path: Path) -> None:
    twice = written(tmp_path / "t.csv", ("label", "name"), ("c", "x"), ("C", "y"))
    outcome = run("register", "h", "--from", twice, code=3)
    assert "'C' is taken in h" in outcome.lines[1]
    unnamed = written(tmp_path / "u.csv", ("name",), ("x",))
    assert "no column is named label" in run("register", "h", "--from", unnamed, code=3).err
    assert "register the table instead" in run("mint", "h", "--from", twice, code=3).lines[0]
    unread = written(tmp_path / "v.csv", ("thing",), ("x",))
    assert "no column of it is read; there are thing" in run("mint", "h", "--from", unread, code=3).err
    assert "--from" in run("register", "h", "--help").out
    run("register", "h", code=2)
    run("register", "h", "x", "--from", twice, code=2)
    run("mint", "h", "-o", tmp_path / "o.csv", code=2)
    run("mint", "h", "--from", twice, "--request-key", "x", code=2)


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    ("column", "usual"),
    [
        ("Name", "name"), ("NAME_DE", "name_de"), ("Identifier", "identifier"), ("Key", "key"),
        ("exactmatch", "exactMatch"),
    ],
)  # fmt: skip
def test_a_column_that_differs_by_capitals_is_refused(
    run: Run, tmp_path: Path, column: str, usual: str
) -> None:
    table = written(tmp_path / "t.csv", (column, "comment"), ("x", "y"))
    told = run("mint", "h", "--from", table, code=3).err
    assert f"the column '{column}' is not known; name it '{usual}'" in told
    assert run("list").lines == []


@pytest.mark.usefixtures("rdl")
def test_where_identifiers_are_given_one_by_one_a_table_is_refused(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ("name",), ("x",))
    assert "mint an identifier for each thing" in run("mint", "rdl", "--from", table, code=7).err


@pytest.mark.usefixtures("rdl")
def test_articles_of_a_table(run: Run, tmp_path: Path) -> None:
    header = ("issn", "volume", "issue", "page", "title", "doi")
    table = written(
        tmp_path / "t.csv",
        header,
        ("0305-4179", "31", "4", "530", "A burn", "10.5072/a"),
        ("0305-4179", "31", "4", "540", "A burn", "10.5072/b"),
    )
    outcome = run("mint", "sp", "--from", table)
    assert [row[0].rpartition("/")[2] for row in cells(outcome.out)[1:]] == ["530_ab", "540_ab"]
    assert run("mint", "sp", "--from", table).err.endswith("idstore: 2 known\n")
    wrong = written(tmp_path / "u.csv", ("issn", "vol"), ("0305-4179", "31"))
    refused = run("mint", "sp", "--from", wrong, "--dry-run", code=3).err
    assert "the column 'vol' is not known; name it 'volume'" in refused
    capitals = written(tmp_path / "c.csv", ("ISSN", "Volume"), ("0305-4179", "31"))
    assert (
        "the column 'ISSN' is not known; name it 'issn'" in run("mint", "sp", "--from", capitals, code=3).err
    )
    both = written(tmp_path / "b.csv", (*header, "supplement"), ("0305-4179", "31", "4", "1", "A", "", "2"))
    assert "passed over: supplement" in run("mint", "sp", "--from", both, "--dry-run").err
    strict = run("mint", "sp", "--from", both, "--dry-run", "--strict", code=3).err
    assert "the column 'supplement' is not used" in strict


@pytest.mark.usefixtures("rdl")
def test_columns_of_articles_are_passed_over_in_other_schemes(run: Run, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", ("title", "name", "type"), ("On valves", "x", "y"))
    outcome = run("mint", "h", "--from", table)
    assert "name ← name; passed over: title, type" in outcome.err
    typed = written(tmp_path / "u.csv", ("title", "type", "name"), ("a", "fmt", "x"))
    assert cells(run("mint", "own", "--from", typed).out)[1][0] == "http://formats.example.org/fmt/1"
    assert "no namespace 'none'" in run("mint", "none", "--from", table, code=4).err


@pytest.mark.usefixtures("rdl")
def test_cells_of_a_workbook(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for row in (["label", "name", None], [7, 12.0], [None, None], ["=1", "x"]):
        workbook.active.append(row)
    workbook.active["A4"].data_type = "s"
    workbook.save(tmp_path / "t.xlsx")
    outcome = run("register", "h", "--from", tmp_path / "t.xlsx", "-o", tmp_path / "out.xlsx")
    assert outcome.err.endswith("idstore: 2 new\n")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert rows == [
        ["label", "name", "identifier"],
        [7, 12, "https://hdl.handle.net/10.1000/7"],
        [None, None, None],
        ["=1", "x", "https://hdl.handle.net/10.1000/=1"],
    ]
    (tmp_path / "no.xlsx").write_text("no")
    assert "it is no XLSX workbook" in run("register", "h", "--from", tmp_path / "no.xlsx", code=3).err


@pytest.mark.usefixtures("rdl")
def test_a_workbook_comes_back_whole(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for row in (["name", "identifier", "size"], ["a", None, 1.5], [None], ["b", None, date(2026, 1, 2)]):
        workbook.active.append(row)
    workbook.active["D4"], workbook.active["C2"].number_format = None, "0.00"
    workbook.create_sheet("Notes")["A1"] = "=SUM(1,2)"
    file = tmp_path / "t.xlsx"
    workbook.save(file)
    run("mint", "h", "--from", file, "-o", file)
    after = openpyxl.load_workbook(file)
    rows = [[cell.value for cell in row][:3] for row in after.worksheets[0].iter_rows()]
    assert [(row[0], str(row[2])) for row in rows] == [
        ("name", "size"), ("a", "1.5"), (None, "None"), ("b", "2026-01-02 00:00:00"),
    ]  # fmt: skip
    made = {one["id"]: one["names"]["und"] for one in run("list", "--json").objects}
    assert {row[1]: row[0] for row in rows if row[0] in ("a", "b")} == made
    assert (after["Notes"]["A1"].value, after.active["C2"].number_format) == ("=SUM(1,2)", "0.00")
    packed = tmp_path / "t.xlsx.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for source in (file, packed):
        assert "2 left alone" in run("mint", "h", "--from", source, "-o", tmp_path / "again.xlsx").err
        assert openpyxl.load_workbook(tmp_path / "again.xlsx")["Notes"]["A1"].value == "=SUM(1,2)"
    with ZipFile(file, "a") as archive:
        archive.writestr("xl/media/image1.png", b"")
    before = file.read_bytes()
    told = run("mint", "h", "--from", file, "-o", file, code=3).err
    assert "has pictures, charts or the like" in told and file.read_bytes() == before
    assert len(run("list").lines) == 2


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_a_wide_export_has_a_row_for_each_identifier(run: Run, tmp_path: Path, format: str) -> None:
    table = written(tmp_path / "t.csv", HEADER, *ROWS[:2])
    iri = cells(run("mint", "h", "--from", table).out)[1][0]
    successor = run("mint", "h", "--name", "new", "--lang", "pt-br").line
    run("fixate", iri, successor)
    run("deprecate", iri, "--reason", "worn\nout", "--by", successor)
    run("bind", iri, "http://y.example.org/", "--relation", "http://z.example.org/like")
    out = tmp_path / f"wide.{format}"
    run("export", "--format", format, "--wide", "-o", out)
    if format == "xlsx":
        sheet = pytest.importorskip("openpyxl").load_workbook(out).active
        found = [[cell or "" for cell in row] for row in sheet.iter_rows(values_only=True)]
    else:
        with out.open(newline="", encoding="utf-8") as file:
            found = list(csv.reader(file))
    by_iri = {row[0]: dict(zip(found[0], row, strict=True)) for row in found[1:]}
    assert len(by_iri) == len(found) - 1 == 3
    row = by_iri[iri]
    assert [row[name] for name in ("namespace", "stage", "owner")] == ["h", "fixated", "alice"]
    assert row["deprecated"] == "yes"
    assert (row["replaced_by"], row["reason"]) == (successor, "worn\nout")
    assert (row["name_en"], row["name_de"], by_iri[successor]["name@pt-br"]) == ("valve", "Ventil", "new")
    assert row["exactMatch"] == "http://www.wikidata.org/entity/Q2|http://x.example.org/1"
    assert row["http://z.example.org/like"] == "http://y.example.org/"
    # it is a table of requests: rows with an identifier are left alone
    assert run("mint", "h", "--from", out).err.endswith("idstore: 3 left alone\n")
    shown = run("export", "--format", "csv", "--wide", by="bob").out
    assert (iri in shown, "pump" in shown) == (True, False)  # the draft is hidden
    run("export", "--format", "nquads", "--wide", code=3)
    run("export", "--digest", "--wide", code=2)


@pytest.mark.usefixtures("rdl")
def test_changes_of_a_table(run: Run, tmp_path: Path) -> None:
    old, new, third = (run("register", "h", label).line for label in ("old", "new", "third"))
    run("fixate", old, new)
    table = written(
        tmp_path / "t.csv",
        ("identifier", "reason", "replaced_by", "target"),
        ("h:old", "worn", f"{new}", "https://x.example.org/old"),
        (new, "", "", "https://x.example.org/new"),
        (third, "", "", ""),
    )
    dry = run("deprecate", "--from", table, "--dry-run")
    assert dry.lines == [f"line 2\tnew\t{old}"]
    assert dry.err.endswith("idstore: 2 left alone, 1 new; nothing is changed yet\n")
    assert run("show", old, "--json").object["deprecated"] is False
    for act, first, again in (
        ("deprecate", "2 left alone, 1 new", "1 known, 2 left alone"),
        ("target", "1 left alone, 2 new", "2 known, 1 left alone"),
    ):
        assert run(act, "--from", table).err.endswith(f"idstore: {first}; done\n")
        assert run(act, "--from", table).err.endswith(f"idstore: {again}; done\n")
    record = run("show", old, "--json").object
    assert (record["deprecated"], record["reason"], record["supersededBy"]) == (True, "worn", [new])
    assert record["target"] == "https://x.example.org/old"
    assert run("supersede", "--from", table).err.endswith("idstore: 1 known, 2 left alone; done\n")
    kinds = [one["kind"] for one in run("log", "--id", old, "--json").objects]
    assert kinds == ["Registration", "Fixation", "Deprecation", "Targeting"]
    dry = run("undeprecate", "--from", table, "--dry-run")
    assert dry.lines == [f"line 2\tnew\t{old}", f"line 3\tknown\t{new}", f"line 4\tknown\t{third}"]
    assert run("undeprecate", "--from", table).err.endswith("idstore: 2 known, 1 new; done\n")
    record = run("show", old, "--json").object
    assert (record["deprecated"], record["supersededBy"]) == (False, [])
    run("undeprecate", "--from", table, "--by", new, code=2)


@pytest.mark.usefixtures("rdl")
def test_names_are_corrected_by_a_table(run: Run, tmp_path: Path) -> None:
    first, second = (run("register", "h", label, "--name", "vavle").line for label in "ab")
    table = written(
        tmp_path / "t.csv",
        ("identifier", "name", "name_de", "name@pt-BR", "size"),
        (first, "valve", "Ventil", "", "7"),
        (second, "", "", "", "8"),
    )
    dry = run("name", "--from", table, "--dry-run")
    assert dry.lines == [f"line 2\tnew\t{first}"] and "passed over: size" in dry.err
    assert run("name", "--from", table).err.endswith("idstore: 1 left alone, 1 new; done\n")
    assert run("name", "--from", table).err.endswith("idstore: 1 known, 1 left alone; done\n")
    assert run("show", first, "--json").object["names"] == {"de": "Ventil", "und": "valve"}
    assert run("show", second, "--json").object["names"] == {"und": "vavle"}
    english = written(tmp_path / "u.csv", ("id", "name"), ("h:b", "valve"))
    run("name", "--from", english, "--lang", "en")
    assert run("show", second, "--json").object["names"] == {"en": "valve", "und": "vavle"}
    wrong = written(tmp_path / "v.csv", ("id", "name_de"), ("h:a", "Klappe"), ("h:none", "x"))
    assert run("name", "--from", wrong, code=3).lines[-1].startswith("line 3\trefused\th:none")
    assert run("show", first, "--json").object["names"]["de"] == "Ventil"
    unread = written(tmp_path / "w.csv", ("id", "title"), ("h:a", "Klappe"))
    assert "no column is named name, which name needs" in run("name", "--from", unread, code=3).err
    run("name", first, "x", "--dry-run", code=2)
    run("name", first, "x", "--force", code=2)
    run("name", first, "--from", table, code=2)


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("name", ['"Hamlet"', " padded ", "=1+1", "'tis"])
@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_names_come_back_from_a_wide_export_unchanged(
    run: Run, tmp_path: Path, name: str, suffix: str
) -> None:
    pytest.importorskip("openpyxl")
    iri = run("register", "h", "a").line
    run("name", iri, name, "--lang", "en")
    wide = tmp_path / f"wide.{suffix}"
    run("export", "--format", suffix, "--wide", "-o", wide)
    assert run("name", "--from", wide).err.endswith("idstore: 1 known; done\n")
    table = written(tmp_path / "t.csv", ("identifier", "name_de"), (iri, '"Hamlet"'))
    assert "in quotes that would be part of it" in run("name", "--from", table, code=3).lines[0]
    run("name", "--from", table, "--force")
    assert run("show", iri, "--json").object["names"] == {"de": '"Hamlet"', "en": name}


@pytest.mark.usefixtures("rdl")
def test_grants_of_a_table(run: Run, tmp_path: Path) -> None:
    one, two = (run("register", "h", label).line for label in ("one", "two"))
    table = written(tmp_path / "t.tsv", ("id", "party", "bind"), (one, "bob", "yes"), (two, "carol", ""))
    outcome = run("grant", "--from", table)
    assert "no party 'carol'" in outcome.err
    assert run("show", one, "--json", by="bob").object["id"] == one
    run("bind", one, "http://x.example.org/", by="bob")
    run("bind", two, "http://x.example.org/", by="carol", code=7)
    assert run("grant", "--from", table).err.endswith("idstore: 2 known; done\n")


@pytest.mark.local("another process would open the folder of the store")
@pytest.mark.usefixtures("rdl")
def test_the_store_is_free_while_names_of_unknown_parties_are_compared(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("party", "add", "carol")
    iri = run("register", "h", "one").line
    table = written(tmp_path / "t.tsv", ("id", "party"), (iri, "carl"), (iri, "karol"))
    compared, compare = [], difflib.get_close_matches

    def compare_beside(name: str, known: Iterable[str], number: int) -> list[str]:
        with idstore.open(store, wait=0) as registry:  # refused while a command holds the store
            compared.append(registry.show(iri, idstore.Party("alice")).iri)
        return compare(name, known, number)

    monkeypatch.setattr(difflib, "get_close_matches", compare_beside)
    told = run("grant", "--from", table).err
    assert compared == [iri, iri] and told.count("(perhaps carol?)") == 2


@pytest.mark.usefixtures("rdl")
def test_changes_of_a_table_are_made_all_or_none(run: Run, tmp_path: Path) -> None:
    mine = run("register", "h", "mine").line
    theirs = run("register", "h", "theirs", by="bob").line
    hidden = written(
        tmp_path / "t.csv",
        ("identifier", "target"),
        (mine, "http://x.example.org/"),
        (theirs, "http://y.example.org/"),
    )
    outcome = run("target", "--from", hidden, code=3, by="carol")
    absent = written(
        tmp_path / "u.csv",
        ("identifier", "target"),
        ("h:absent", "http://x.example.org/"),
        ("h:absent2", "http://y.example.org/"),
    )
    other = run("target", "--from", absent, code=3, by="carol")
    assert [line.split("\t")[1] for line in outcome.lines + other.lines] == ["refused"] * 4
    assert outcome.lines[0].replace(mine, "X") == other.lines[0].replace(
        "h:absent", "X"
    )  # as if it were absent
    half = run("target", "--from", hidden, "--json", code=3, by="bob")
    assert [one["verdict"] for one in half.objects] == ["refused", "new"]
    assert run("show", theirs, "--json", by="bob").object["target"] is None
    for words in (
        ("grant", mine),
        ("grant", "--from", hidden),
        ("deprecate", mine),
        ("deprecate",),
        ("target", mine, "--from", hidden),
        ("supersede", mine, "--dry-run"),
    ):
        assert run(*words, code=3 if words == ("grant", "--from", hidden) else 2).err


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_a_second_identifier_for_a_target_is_told(run: Run, tmp_path: Path, dry_run: Sequence[str]) -> None:
    run("namespace", "add", "k", "777", "--scheme", "handle")
    first = run("register", "k", "a", "--target", "http://x.example.org/1").line
    run("register", "k", "b")
    hidden = "http://x.example.org/hidden"
    run("register", "k", "c", "--target", hidden, by="bob")
    told = f"line 2: http://x.example.org/1: {first} already leads there"
    one, two = "http://x.example.org/1", "http://x.example.org/2"
    minted = written(
        tmp_path / "m.csv", ("name", "target"), ("q", one), ("r", two), ("s", two), ("t", hidden)
    )
    warned = run("mint", "k", "--from", minted, *dry_run).err
    assert told in warned and "line 4: http://x.example.org/2: line 3 already leads there" in warned
    assert "line 5" not in run("mint", "k", "--from", minted, *dry_run, by="dave").err
    registered = written(tmp_path / "r.csv", ("label", "target"), ("rr", one))
    warned = run("register", "k", "--from", registered, *dry_run).err
    assert "line 2: http://x.example.org/1: " in warned and first in warned
    changed = written(tmp_path / "c.csv", ("identifier", "target"), ("k:b", one))
    warned = run("target", "--from", changed, *dry_run).err
    assert "line 2: http://x.example.org/1: " in warned and first in warned
    if not dry_run:  # what is so already tells only of others
        assert first in run("target", "--from", changed).err


@pytest.mark.parametrize("cell", ['="c2"', '"c2"', "\u201cc2\u201d"])
def test_marks_of_a_spreadsheet_are_no_part_of_a_cell(run: Run, tmp_path: Path, cell: str) -> None:
    run("namespace", "add", "k", "777", "--scheme", "handle")
    for header in (("label", "name"), ("name", "label")):
        row = (cell, "x") if header[0] == "label" else (cell, "y")
        table = written(tmp_path / "t.csv", header, row)
        told = run("register", "k", "--from", table, code=3).out
        assert told.startswith("line 2\tmalformed\tthe ") and "write c2, or insist" in told
    assert run("list").out == ""
    assert run("register", "k", "--from", table, "--force").out
    assert cell in run("show", "k:y", "--json").object["names"].values()
    changed = written(tmp_path / "c.csv", ("identifier", "reason"), ("k:y", cell))
    assert "write c2" in run("deprecate", "--from", changed, code=3).out


def test_an_ambiguous_cell_says_how_to_say_which(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("namespace", "add", name, f"http://{name}.example.org/", "--scheme", "puid")
        run("register", name, "fmt/1")
    told = run("show", "fmt/1", code=2).err
    assert "write one:fmt/1 or two:fmt/1" in told and "--base" not in told
    file = written(tmp_path / "m.csv", ("subject", "target"), ("fmt/1", "http://x.example.org/"))
    refused = run("import", file, code=3).line
    assert "write one:fmt/1 or two:fmt/1" in refused and refused.endswith("(--base subject=IRI)")
    run("import", file, "--base", "subject=http://one.example.org/")
    assert run("show", "one:fmt/1", "--json").object["bindings"]
    changed = written(tmp_path / "c.csv", ("identifier", "target"), ("fmt/1", "http://x.example.org/"))
    assert run("target", "--from", changed, code=3).line.endswith("write one:fmt/1 or two:fmt/1")


@pytest.mark.usefixtures("rdl")
def test_a_wide_export_is_no_table_of_bindings(run: Run, tmp_path: Path) -> None:
    iri = run("register", "h", "one", "--name", "Vase", "--target", "https://m.example.org/1").line
    run("bind", iri, "http://x.example.org/1")
    out = tmp_path / "wide.csv"
    run("export", "--format", "csv", "--wide", "-o", out)
    before = run("export").out
    for command in (("import", out), ("import", out, "--namespace", "h")):
        refused = run(*command, code=3).err
        assert 'Say --column target="exactMatch"' in refused
    assert run("export").out == before
    told = run("import", out, "--column", "target=exactMatch", "--json")
    assert {one["verdict"] for one in told.objects} == {"known"}
    assert run("export").out == before


def test_a_formula_without_its_value_is_refused(run: Run, tmp_path: Path) -> None:
    run("namespace", "add", "h", "10.5072", "--scheme", "handle")
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in (["name", "target", "sum"], ["valve", "http://x.example.org/1", "=1+1"], ["=A1", None, None]):
        workbook.active.append(row)
    workbook.save(tmp_path / "t.xlsx")
    refused = run("mint", "h", "--from", tmp_path / "t.xlsx", code=3)
    assert refused.lines[0] == "line 2\tnew"
    assert "the name is =A1, a formula of a spreadsheet; write its value" in refused.lines[1]
    assert run("list").out == ""
