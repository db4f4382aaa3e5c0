"""Characters: the pinned table, folding of ASCII letters alone, and texts that are safe to print."""

import io
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from command_lines import Minting, Run

from idstore import characters
from idstore.cli.output import copy_to_stdout

UNSAFE = "\x1b]0;t\x07 \x9b2J \x7f \u202e\u2066\u200f\u061c \u2028"


def test_a_code_point_is_unassigned_as_in_unicode() -> None:
    """An older version of Unicode has fewer characters than the table, and a newer one has more."""
    older = tuple(map(int, unicodedata.unidata_version.split("."))) <= (18, 0, 0)
    refused = re.compile(f"[{characters.unassigned()}{characters.NONCHARACTERS}]")
    for code in range(0x110000):
        known = unicodedata.category(chr(code)) != "Cn"
        free = bool(refused.match(chr(code)))
        assert not (known and free) if older else known or free


def test_only_letters_of_ascii_are_folded() -> None:
    text = "aZé\u00c9ß\u017f\u0131\u212a\uff21"
    assert characters.ascii_upper(text) == "AZé\u00c9ß\u017f\u0131\u212a\uff21"
    assert characters.ascii_lower(text) == "azé\u00c9ß\u017f\u0131\u212a\uff21"


def test_a_safe_text_keeps_its_lines_and_letters() -> None:
    assert characters.safe("é\u3000\tb\nc\r\n") == "é\u3000\tb\nc\r\n"
    escaped = characters.safe(UNSAFE + "\r")
    assert escaped.isascii() and escaped.isprintable()


@pytest.mark.usefixtures("rdl")
def test_no_command_prints_a_control_or_a_change_of_direction(run: Run, mint: Minting) -> None:
    id = mint("--name", UNSAFE, "--comment", UNSAFE)
    run("bind", id, "http://example.org/b", "--note", UNSAFE, "--author", UNSAFE)
    query = "SELECT ?o { ?s ?p ?o FILTER isLiteral(?o) }"
    for words in (("show", id), ("list",), ("log",), ("resolve", id), ("query", query), ("cite", id)):
        for options in ((), ("--json",)):
            told = run(*words, *options)
            assert not re.search(f"[{characters.BIDI}\x00-\x08\x0b-\x1f\x7f-\x9f]", told.out + told.err)
    assert run("show", id, "--json").object["names"] == {"und": UNSAFE}
    values = [
        row["o"]["value"] for row in json.loads(run("query", query, "--json").out)["results"]["bindings"]
    ]
    assert UNSAFE in values


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
def test_what_goes_to_a_terminal_is_safe(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    text = f"a\r\nb\r{UNSAFE}é\u3000"
    monkeypatch.setattr("idstore.cli.output._CHUNK", size)
    for kind, shown in ((Terminal, characters.safe(text)), (io.TextIOWrapper, text)):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", kind(raw, encoding="utf-8", newline="\n"))
        copy_to_stdout(io.BytesIO(text.encode()))
        sys.stdout.flush()
        assert raw.getvalue().decode() == shown


@pytest.mark.parametrize(
    "text", ["http://example.org/\u202eb", "http://example.org/\u2066b", "urn:x:\u200fb"]
)
def test_an_iri_holds_no_change_of_direction(run: Run, mint: Minting, text: str) -> None:
    assert "must be percent-encoded" in run("target", mint(), text, code=3).err


def test_prefixes_that_differ_in_letters_beyond_ascii_are_different(run: Run) -> None:
    run("namespace", "add", "small", "20.é", "--scheme", "handle")
    run("namespace", "add", "capital", "20.É", "--scheme", "handle")
    run("namespace", "add", "same", "20.É", "--scheme", "handle", code=8)
    run("namespace", "add", "ascii", "20.aÉ", "--scheme", "handle")
    run("namespace", "add", "too", "20.AÉ", "--scheme", "handle", code=8)
    run("register", "small", "a")
    run("register", "capital", "a")
    run("show", "hdl:20.É/a")
    run("show", "hdl:20.aé/a", code=4)


def test_an_imported_handle_keeps_its_characters_with_a_warning(run: Run, tmp_path: Path) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle")
    for text in ("a\u200bb", "a\u202eb", "a\u0378b"):
        run("register", "h", text, code=3)
        run("check", f"12345/{text}", "--scheme", "handle", code=3)
        run("check", f"h:{text}", code=3)
    (tmp_path / "list.txt").write_text("12345/a\u200bb\n12345/a\u202eb\n12345/ab\n", encoding="utf-8")
    run("import", tmp_path / "list.txt", "--namespace", "h")
    assert run("show", "hdl:12345/a\u200bb", "--json").object["label"] == "a\u200bb"
    found = run("validate", "--json").objects
    assert [one["severity"] for one in found] == ["Warning"] * 2
    run("export", "-o", tmp_path / "all.nq")
    run("import", tmp_path / "all.nq", "--store", tmp_path / "copy")
    run("verify", "--store", tmp_path / "copy")
