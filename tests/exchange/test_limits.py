"""Hostile and odd files end with an error, a line and bounded memory."""

import io
import json
import re
from pathlib import Path

import pytest
import rdflib
from command_lines import Run
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat

from idstore.errors import ExchangeError
from idstore.exchange import limits, rdf_input

LONG = "A" * (limits.RDF_TERM + 4096)


def nested(depth: int, opening: str = '{"http://example.org/p":', closing: str = "}") -> str:
    return opening * depth + '"x"' + closing * depth


FILES = {
    "nested.jsonld": nested(20_000),
    "arrays.jsonld": nested(20_000, "[", "]"),
    "long.nt": f'<http://example.org/a> <http://example.org/p> "{LONG}" .\n',
    "long.nq": f'<http://example.org/a> <http://example.org/p> "{LONG}" .\n',
    "long.ttl": f'<http://example.org/a> <http://example.org/p> "{LONG}" .\n',
    "long.trig": f"<http://example.org/a> <http://example.org/p> <http://example.org/{LONG}> .\n",
    "long.jsonld": json.dumps({"@id": "http://example.org/a", "http://example.org/p": LONG}),
}


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("command", ["import", "validate", "reconcile"])
@pytest.mark.parametrize("name", FILES)
def test_an_rdf_file_beyond_the_limits_is_malformed(
    run: Run, store: Path, tmp_path: Path, name: str, command: str
) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    told = run(command, tmp_path / name, *([store] if command == "reconcile" else []), code=3).err
    assert ("nested more than 100 deep" in told) or ("a term has more than 16777216 bytes" in told)
    assert "Traceback" not in told


XML = {
    "bomb.rdf": (
        "<!DOCTYPE r ["
        '<!ENTITY a0 "ha">'
        + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(10))
        + f"]><r xmlns='http://example.org/'>{'&a10;'}</r>",
        "stands for more than",
    ),
    "deep.owl": ("<r xmlns='http://example.org/'>" * 20_000 + "</r>" * 20_000, "nested more than 64 deep"),
}


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("command", [("import", "--namespace", "rdl"), ("validate",), ("shapes",)])
@pytest.mark.parametrize("name", XML)
def test_xml_beyond_the_limits_is_malformed(
    run: Run, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    text, reason = XML[name]
    file = (tmp_path / name).with_suffix(".rdf")
    file.write_text(text, encoding="utf-8")
    told = run(*command, file, code=3).err
    assert f"{file}, line 1: " in told and reason in told


@pytest.mark.usefixtures("rdl")
def test_rdf_xml_is_validated_as_a_whole(run: Run, tmp_path: Path) -> None:
    run("fixate", run("mint", "rdl").line)
    whole = tmp_path / "a.rdf"
    parsed = rdflib.Graph().parse(data=run("export").out, format="turtle")
    whole.write_text(parsed.serialize(format="xml"), encoding="utf-8")
    assert run("validate", whole).line.startswith("conforms")


@pytest.mark.parametrize("format", [RdfFormat.N_TRIPLES, RdfFormat.N_QUADS, RdfFormat.TURTLE, RdfFormat.TRIG])
@pytest.mark.parametrize("before", [0, 1, 500])
def test_a_term_beyond_the_limit_is_reported_with_its_line(format: RdfFormat, before: int) -> None:
    statement = b"<http://example.org/a> <http://example.org/p> <http://example.org/b> .\n"
    long = statement.replace(b"<http://example.org/b>", f'"{LONG}"'.encode())
    [(line, reason)] = failures(statement * before + long + statement, format)
    assert line == before + 1 and reason.startswith("a term has more than 16777216 bytes")


def test_the_line_of_a_long_term_of_many_lines_is_not_guessed() -> None:
    text = '\n<http://example.org/a> <http://example.org/p> """' + "A\n" * len(LONG) + '""" .\n'
    assert [line for line, _ in failures(text.encode(), RdfFormat.TURTLE)] == [None]


def failures(text: bytes, format: RdfFormat) -> list[tuple[int | None, str]]:
    """Return the line and the reason of each error."""
    told: list[tuple[int | None, str]] = []

    def fail(line: int | None, reason: str) -> ExchangeError:
        told.append((line, reason))
        return ExchangeError("file", line, reason)

    with pytest.raises(ExchangeError):
        list(rdf_input.quads(io.BytesIO(text), format, fail))
    return told


def parsed(text: bytes) -> int | str:
    """Return the number of quads, or the error."""

    def fail(line: int | None, reason: str) -> ExchangeError:
        return ExchangeError("file", line, reason)

    try:
        return sum(1 for _ in rdf_input.quads(io.BytesIO(text), RdfFormat.JSON_LD, fail))
    except ExchangeError as error:
        return error.reason


def test_json_ld_may_be_nested_as_deep_as_the_limit() -> None:
    assert parsed(nested(limits.JSON_DEPTH).encode()) == limits.JSON_DEPTH
    assert parsed(nested(limits.JSON_DEPTH + 1).encode()) == "it is nested more than 100 deep"


@given(st.text(alphabet='[]{}"\\ab', max_size=3000))
def test_brackets_in_strings_do_not_count(text: str) -> None:
    """The parser reads about a thousand bytes at once, so strings and escapes are cut anywhere."""
    document = json.dumps([{"@id": "http://example.org/a", "http://example.org/p": [text, "end"]}])
    assert parsed(document.encode()) == 2 - (text == "end")


@pytest.mark.parametrize("position", range(1020, 1030))
def test_a_string_may_be_cut_after_a_backslash(position: int) -> None:
    text = "x" * (position - 50) + '"[[' + "{" * 300
    document = json.dumps({"@id": "http://example.org/a", "http://example.org/p": text})
    assert parsed(document.encode()) == 1


def test_a_lone_carriage_return_in_a_list_is_a_malformed_line(run: Run, rdl: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_bytes(b"R1234567891\rR1234567892\nR1234567893\n")
    outcome = run("import", tmp_path / "list.txt", "--namespace", rdl, code=3)
    assert "a carriage return stands alone" in outcome.out


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("options", [(), ("--namespace", "rdl")])
def test_a_table_with_too_many_malformed_lines_is_refused_at_once(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    lines = "x\ty\tz\tw\n" * (limits.BAD_LINES + 5)
    (tmp_path / "bad.tsv").write_text(f"id\trelation\ttarget\n{lines}")
    told = run("import", tmp_path / "bad.tsv", "--dry-run", *options, code=3).err
    assert "bad.tsv, line 2: it has 4 cells" in told
    assert f"the last one read is line {limits.BAD_LINES + 2}" in told


@pytest.mark.parametrize("bad", ["PLANT 12345/{0}\n", "CREATE 12345/{0}\n1 URL 86400\n\n"])
@pytest.mark.parametrize("together", [True, False])
def test_the_rest_of_a_batch_file_with_too_many_bad_lines_is_not_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, together: bool
) -> None:
    monkeypatch.setattr(limits, "BAD_LINES", 20)
    run("namespace", "add", "h", "12345", "--scheme", "handle")
    lines = "CREATE 12345/a\n" + "1 URL\n" * 100 if together else "".join(map(bad.format, range(100)))
    (tmp_path / "bad.batch").write_text(lines)
    told = run("import", tmp_path / "bad.batch", "--format", "handle-batch", code=3)
    refused = (told.out + told.err).split("bad.batch", 1)[1]
    assert "more than 20 lines cannot be carried out" in refused
    assert max(map(int, re.findall(r"(?:line |, )([0-9]+)", refused))) < 86


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize(
    ("row", "options", "reason"),
    [
        ("hdl:12345/q{0}\thttp://x.org/{0}", ["--dry-run"], "'hdl:12345/q0' is not registered here"),
        ("nope:{0}\thttp://x.org/{0}", [], "'nope:0' is not registered here"),
        ("99999/{0}", ["--format", "list"], "'99999/0' belongs to no namespace here"),
        ("99999/{0}", ["--format", "list", "--keep-going"], "'99999/0' belongs to no namespace here"),
        ("word{0}", ["--format", "list"], "'word0'"),
        ("hdl:12345/q{0}\tx" + "\nnope:{0}\tx\ty" * 2, ["--dry-run"], "'hdl:12345/q0' is not registered"),
    ],
)
def test_a_table_or_list_with_too_many_refused_lines_is_refused_at_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, options: list[str], reason: str
) -> None:
    monkeypatch.setattr(limits, "BAD_LINES", 20)
    head = [] if "list" in options else ["id\ttarget"]
    lines = "\n".join(row.format(number) for number in range(21)).splitlines()
    for count in (21, 20):
        (tmp_path / "bad.tsv").write_text("\n".join([*head, *lines[:count]]))
        outcome = run("import", tmp_path / "bad.tsv", *options, code=3)
        if count == 20:
            assert outcome.out.count("\n") == 20
        else:
            assert outcome.out == ""
            assert f"bad.tsv, line {1 + len(head)}: {reason}" in outcome.err
            assert f"the last one read is line {21 + len(head)}: check the format" in outcome.err


@pytest.mark.parametrize("together", [True, False])
def test_strings_that_double_are_refused(run: Run, rdl: str, tmp_path: Path, *, together: bool) -> None:
    """Thirty doublings of ten characters would be ten gigabytes."""
    strings = [f"@string{{a{i + 1} = a{i} # a{i}}}" for i in range(30)]
    many = [f'@string{{b{i} = "{"y" * 60_000}"}}' for i in range(80)]
    text = "\n".join(['@string{a0 = "xxxxxxxxxx"}', *(many if together else strings)])
    (tmp_path / "a.bib").write_text(f'{text}\n@article{{k, title = a30, issn = "0016-0032"}}\n')
    told = run("mint", "sp", "--metadata", tmp_path / "a.bib", code=3).err
    assert f"more than {limits.BIBTEX_STRINGS if together else limits.BIBTEX_TEXT} characters" in told
    assert rdl


@pytest.mark.usefixtures("rdl")
def test_a_term_beyond_the_limit_in_a_patch_is_malformed(run: Run, tmp_path: Path) -> None:
    row = f'A <http://example.org/a> <http://example.org/p> "{LONG}" <http://example.org/g> .'
    (tmp_path / "long.patch").write_text(f"TX .\n{row}\nTC .\nH upto 1 .\n", encoding="utf-8")
    told = run("import", "--format", "rdf-patch", tmp_path / "long.patch", code=3).err
    assert "line 2" in told
    assert "a term has more than 16777216 bytes" in told
