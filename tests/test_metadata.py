"""Metadata files: JSON objects, one a line or a single one, each malformed one told with its line."""

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idstore import errors
from idstore.exchange import metadata

UNICORN = {"issn": "0392-1921", "volume": "30", "issue": "119", "page": "1-23", "title": "The Myth of the Unicorn"}


def read(content: bytes) -> list[dict[str, str]]:
    return [dict(fields) for fields in metadata.read(io.BytesIO(content))]


def test_one_object_a_line() -> None:
    line = json.dumps(UNICORN).encode()
    content = b"\xef\xbb\xbf" + line + b"\r\n\n  \n" + b'{"title": "Book Review"}'
    assert read(content) == [UNICORN, {"title": "Book Review"}]
    assert [entry.line for entry in metadata.entries(io.BytesIO(content))] == [1, 4]
    assert read(gzip.compress(content)) == read(content)


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_single_object(indent: int | None) -> None:
    assert read(json.dumps(UNICORN, indent=indent).encode()) == [UNICORN]


def test_values_are_texts() -> None:
    content = b'{"issn": "x", "volume": 12345678901234567890, "issue": null, "page": 4.10, "title": " ", "issns": ["x"], "year": 2010}'
    assert read(content) == [{"issn": "x", "volume": "12345678901234567890", "page": "4.10"}]


def test_nothing_is_in_an_empty_file() -> None:
    assert read(b"") == read(b"\n \n") == []


@pytest.mark.parametrize(
    ("line", "reason", "field"),
    [
        (b"{", "not JSON", None),
        (b'{"issn": }', "not JSON: Expecting value (column 10)", None),
        (b"[1]", "no JSON object", None),
        (b'"text"', "no JSON object", None),
        (b"\xff", "not UTF-8 (byte 0xff)", None),
        (b'{"issn": NaN}', "NaN is no number", None),
        (b'{"issn": "1", "issn": "2"}', "the key 'issn' stands there twice", None),
        (b"[" * 100_000, "nested too deep", None),
        (b'{"ISSN": "1"}', "the key 'ISSN' is not known; write 'issn'", "ISSN"),
        (b'{"issn": ["1"]}', "issn is a list", "issn"),
        (b'{"volume": {}}', "volume is an object", "volume"),
        (b'{"page": false}', "page is true or false", "page"),
        (b'{"title": "a\\ud800"}', "half a surrogate pair (position 1)", "title"),
    ],
)
def test_a_malformed_line_does_not_hide_the_others(line: bytes, reason: str, field: str | None) -> None:
    good = b'{"issn": "1"}'
    first, second, third = metadata.entries(io.BytesIO(b"\n".join([good, line, good])))
    assert first.fields() == third.fields() == {"issn": "1"}
    with pytest.raises(errors.InvalidData) as caught:
        second.fields()
    assert caught.value.message.startswith("the stream, line 2: ")
    assert reason in caught.value.message
    assert (caught.value.fields["line"], caught.value.fields.get("field")) == (2, field)


def test_the_line_within_an_object_on_several_lines_is_told() -> None:
    with pytest.raises(errors.InvalidData, match="line 4: it is not JSON") as caught:
        read(b'{\n "issn": "1",\n "title": \n}')
    assert caught.value.fields["line"] == 4


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(errors.InvalidData, match="line 1: the line is longer than 1048576 bytes"):
        read(b'{"title": "' + b"x" * (1 << 21))


def test_what_was_read_ahead_and_the_rest_come_together() -> None:
    lines = [{"title": f"{number} {'x' * (number % 997)}"} for number in range(5000)]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert len(content) > 2 << 20
    assert read(content) == lines


@pytest.mark.parametrize("name", ["missing.json", ""])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.InvalidData, match="it cannot be read"):
        list(metadata.read(tmp_path / name))


@given(
    st.lists(st.dictionaries(st.sampled_from(metadata.FIELDS), st.text(min_size=1).filter(str.strip), min_size=1), min_size=1),
    st.booleans(),
)
def test_what_is_written_is_read(objects: list[dict[str, str]], escaped: bool) -> None:
    content = "\n".join(json.dumps(one, ensure_ascii=escaped) for one in objects)
    assert read(content.encode()) == objects


@pytest.mark.realdata
def test_real_records_are_read(real_data: Path) -> None:
    entries = [entry.fields() for entry in metadata.entries(real_data / "articles.jsonl.gz")]
    assert len(entries) > 9000
    assert all(entry["title"] and entry["issn"] for entry in entries if {"title", "issn"} <= entry.keys())
