"""DROID signature files: any layout, refusal with a line number, imports that lose no identifier."""

import csv
import gzip
import io
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import pytest

import idstore
from idstore import errors
from idstore.exchange import droid, pronom
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.imports.adopt import Adoption
from idstore.vocabulary import SKOS

ALICE = Party("alice")
SPACE = "http://www.nationalarchives.gov.uk/pronom/SignatureFile"
HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2026-01-19T10:53:18" Version="122" xmlns="{SPACE}">
 <InternalSignatureCollection>\
<InternalSignature ID="9"><Extension>none</Extension></InternalSignature></InternalSignatureCollection>
 <FileFormatCollection>
"""
TAIL = " </FileFormatCollection>\n</FFSignatureFile>\n"
PNG = (
    '<FileFormat ID="664" MIMEType="image/png" Name="Portable Network '
    'Graphics" PUID="fmt/11" Version="1.0"/>\n'
)
DRAW = """<FileFormat ID="80" MIMEType="application/dwf, image/x-dwf" \
Name="Étude &amp; &#x2116; 5" PUID="x-fmt/49">
<InternalSignatureID>1</InternalSignatureID><Extension>dwf</Extension>\
<Extension> d&#119;f2 </Extension></FileFormat>
"""


def xml(*formats: str) -> bytes:
    return (HEAD + "".join(formats) + TAIL).encode()


def entry(puid: str, name: str = "Name", version: str | None = None) -> str:
    return (
        f'<FileFormat ID="1" Name="{name}" PUID="{puid}'
        f'"{f" Version={version!r}" if version is not None else ""}/>\n'
    )


def read(content: bytes) -> list[droid.FileFormat]:
    with droid.signatures(io.BytesIO(content)) as formats:
        return list(formats)


def test_formats_are_read_in_file_order() -> None:
    with droid.signatures(io.BytesIO(xml(PNG, DRAW))) as formats:
        assert formats.release == droid.Release("122", "2026-01-19T10:53:18")
        assert list(formats) == [
            droid.FileFormat("fmt/11", "Portable Network Graphics", "1.0", (), ("image/png",), "664", 5),
            droid.FileFormat(
                "x-fmt/49", "Étude & № 5", None, ("dwf", "dwf2"), ("application/dwf", "image/x-dwf"), "80", 6
            ),
        ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + xml(PNG), id="byte order mark"),
        pytest.param(gzip.compress(xml(PNG)), id="gzip"),
        pytest.param(gzip.compress(xml(PNG)[:300]) + gzip.compress(xml(PNG)[300:]), id="gzip in two members"),
        pytest.param(
            b"<SignatureFile>" + xml(PNG).partition(b"\n")[2] + b"</SignatureFile>",
            id="as the web service answers",
        ),
        pytest.param(xml(PNG).replace(f' xmlns="{SPACE}"'.encode(), b""), id="no namespace"),
        pytest.param(
            xml(PNG).replace(b"<FF", b"<s:FF").replace(b"</FF", b"</s:FF").replace(b"xmlns=", b"xmlns:s="),
            id="a prefix",
        ),
        pytest.param(xml(PNG).replace(b"\n", b""), id="one line"),
    ],
)
def test_every_layout_is_read(content: bytes) -> None:
    assert [(one.puid, one.version) for one in read(content)] == [("fmt/11", "1.0")]


def test_a_file_without_formats_is_read() -> None:
    assert read(xml()) == []


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        pytest.param(b"", 1, "not well-formed XML: no element found", id="empty"),
        pytest.param(xml(PNG, "</Format>"), 6, "not well-formed XML: mismatched tag", id="mismatched tag"),
        pytest.param(xml(PNG)[:-20], 6, "not well-formed XML", id="cut off"),
        pytest.param(gzip.compress(xml(PNG))[:-12], 7, "the gzip data end too soon", id="gzip cut off"),
        pytest.param(gzip.compress(xml(PNG)) + b"junk", 8, "the gzip data are damaged", id="gzip damaged"),
        pytest.param(xml(PNG) + b"<!-- \xff -->", 8, "not UTF-8 (byte 0xff)", id="not UTF-8"),
        pytest.param(xml(PNG).decode().encode("utf-16"), 1, "not UTF-8", id="UTF-16"),
        pytest.param(xml(PNG)[:-30] + b"\xc3", 6, "not UTF-8 (byte 0xc3)", id="cut off in a character"),
        pytest.param(
            b"<!DOCTYPE FFSignatureFile>" + xml(PNG).partition(b"\n")[2],
            1,
            "a document type",
            id="document type",
        ),
        pytest.param(
            b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
            + xml(entry("fmt/1", "&b;")).partition(b"\n")[2],
            1,
            "a document type",
            id="entities that expand",
        ),
        pytest.param(
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
            + xml(entry("fmt/1", "&a;")).partition(b"\n")[2],
            1,
            "a document type",
            id="external entity",
        ),
        pytest.param(xml(entry("fmt/1", "&a;")), 5, "undefined entity", id="entity without a document type"),
        pytest.param(
            xml(entry("FMT/1")), 5, "'FMT/1' is no PUID: 'F' cannot stand in the type", id="upper case"
        ),
        pytest.param(
            xml(PNG, entry("lan/1")), 6, "'lan/1' is no PUID: there is no type 'lan'", id="unknown type"
        ),
        pytest.param(xml(entry("info:pronom/fmt/1")), 5, "write fmt/1", id="another written form"),
        pytest.param(xml(entry("")), 5, "'' is no PUID", id="empty PUID"),
        pytest.param(xml('<FileFormat ID="1" Name="N"/>'), 5, "a <FileFormat> has no PUID", id="no PUID"),
        pytest.param(xml(entry("fmt/1", "  ")), 5, "the format fmt/1 has no Name", id="no name"),
        pytest.param(xml(PNG, DRAW, PNG), 8, "fmt/11 occurs twice; the first is on line 5", id="twice"),
        pytest.param(
            xml((PNG + PNG).replace("\n", "")),
            5,
            "fmt/11 occurs twice; the first is on line 5",
            id="twice on a line",
        ),
        pytest.param(b"<FFSignatureFile/>", 1, "no <FileFormatCollection>", id="no collection"),
        pytest.param(
            xml(PNG).replace(b"FileFormatCollection", b"Formats"),
            8,
            "no <FileFormatCollection>",
            id="another collection",
        ),
        pytest.param(
            b"<ContainerSignatureMapping/>", 1, "a container signature file", id="container signatures"
        ),
        pytest.param(b"<html>", 1, "it begins with <html>", id="something else"),
        pytest.param(b"<SignatureFile/>", 1, "it holds no <FFSignatureFile>", id="empty wrapper"),
        pytest.param(xml("<a>" * 100), 5, "more than 64 deep", id="deep"),
        pytest.param(xml(f"<!-- {'x' * (1 << 21)} -->"), 5, "longer than 1048576 bytes", id="huge comment"),
        pytest.param(
            xml(PNG[:-3] + ">" + "<Extension/>" * ((1 << 20) + 1)),
            5,
            "more extensions",
            id="many extensions",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            xml(PNG.replace("/>", "><Extension>") + "x" * (1 << 21)),
            6,
            "more extensions",
            id="huge extension",
        ),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(content: bytes, line: int, reason: str) -> None:
    with pytest.raises(errors.ExchangeError) as caught:
        read(content)
    assert caught.value.fields["line"] == line
    assert reason in caught.value.message
    assert caught.value.fields["file"] == "the stream"


def test_formats_are_yielded_before_the_end_of_the_file() -> None:
    class Endless(io.RawIOBase):
        """An endless file of formats."""

        def __init__(self) -> None:
            self.number = 0
            self.rest = HEAD.encode()

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            while len(self.rest) < len(buffer):
                self.number += 1
                self.rest += entry(f"fmt/{self.number}").encode()
            buffer[:] = self.rest[: len(buffer)]
            self.rest = self.rest[len(buffer) :]
            return len(buffer)

    stream = Endless()
    with droid.signatures(stream) as formats:  # type: ignore[arg-type]
        numbers = [next(one).puid for one in [iter(formats)] for _ in range(5000)]
    assert numbers[-1] == "fmt/5000"
    assert stream.number < 20_000


def test_files_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "signatures.txt"
    path.write_bytes(gzip.compress(xml(PNG)))
    with droid.signatures(path) as formats:
        assert formats.name == str(path)
        assert [one.puid for one in formats] == ["fmt/11"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(xml(PNG))))
    with droid.signatures("-") as formats:
        assert formats.name == "standard input"
        assert [one.puid for one in formats] == ["fmt/11"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(errors.ExchangeError, match="standard input: it is closed"), droid.signatures("-"):
        pass


@pytest.mark.parametrize("name", ["missing.xml", "", "a\0b"])
def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(errors.ExchangeError, match="it cannot be read") as caught,
        droid.signatures(f"{tmp_path}/{name}"),
    ):
        pass
    assert caught.value.fields["line"] is None


# Importing


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_namespace("pronom", "info:pronom/", "puid", ALICE)
        yield opened


def take_in(
    registry: Registry,
    *formats: str,
    dry_run: bool = False,
    namespace: str | None = None,
    force: bool = False,
) -> Adoption:
    with droid.signatures(io.BytesIO(xml(*formats))) as read:
        return pronom.import_formats(registry, read, ALICE, namespace, dry_run=dry_run, force=force)


def events(registry: Registry) -> int:
    return len(list(registry.log(ALICE)))


def test_new_formats_are_registered_as_published(registry: Registry) -> None:
    report = take_in(registry, PNG, DRAW)
    assert report == Adoption("info:pronom/", new=("info:pronom/fmt/11", "info:pronom/x-fmt/49"))
    png, draw = registry.show("fmt/11", Party("bob")), registry.show("info:pronom/x-fmt/49", Party("bob"))
    assert (png.stage, png.names, png.version, png.provisional, png.owner) == (
        idstore.Stage.FIXATED,
        (("und", "Portable Network Graphics"),),
        "1.0",
        False,
        "alice",
    )
    assert (draw.stage, draw.names, draw.version, draw.provisional) == (
        idstore.Stage.FIXATED,
        (("und", "Étude & № 5"),),
        None,
        True,
    )
    assert png.fixated == png.created
    assert registry.counts(Party("bob")).total == 2
    assert list(registry.verify(ALICE)) == []


def test_all_events_are_part_of_one_import(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    batch, *parts = [entry.event for entry in registry.log(Party("bob"))][2:]
    assert (batch.act, batch.about) == ("Import", "info:pronom/")
    assert [(part.act, part.parent) for part in parts] == [("Registration", batch.iri)] * 2
    assert batch.arguments[0][1].value == "DROID signature file version 122 of 2026-01-19T10:53:18"


def test_the_same_file_again_writes_nothing(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    before = events(registry)
    report = take_in(registry, PNG, DRAW)
    assert report == Adoption("info:pronom/", unchanged=("info:pronom/fmt/11", "info:pronom/x-fmt/49"))
    assert not report.changes
    assert events(registry) == before


def test_names_and_versions_follow_and_nothing_is_deleted(registry: Registry) -> None:
    take_in(
        registry,
        entry("fmt/1", "One", "1"),
        entry("fmt/2", "Two", "2"),
        entry("fmt/3", "Three"),
        entry("fmt/4", "Four"),
        PNG,
    )
    formats = (
        entry("fmt/5"),
        entry("fmt/1", "Uno", "1"),
        entry("fmt/2", "Two"),
        entry("fmt/3", "Three", "3"),
        PNG,
    )
    rehearsed = take_in(registry, *formats, dry_run=True)
    before = events(registry)
    assert registry.show("fmt/1", ALICE).names == (("und", "One"),)
    report = take_in(registry, *formats)
    assert report == rehearsed
    assert report.new == ("info:pronom/fmt/5",)
    assert [
        (one.iri[-5:], one.old_name, one.old_version, one.name, one.version) for one in report.renamed
    ] == [
        ("fmt/1", "One", "1", "Uno", "1"),
        ("fmt/2", "Two", "2", "Two", None),
        ("fmt/3", "Three", None, "Three", "3"),
    ]
    assert (report.vanished, report.unchanged) == (("info:pronom/fmt/4",), ("info:pronom/fmt/11",))
    assert events(registry) == before + 1 + 1 + 3
    found = [registry.show(f"fmt/{number}", ALICE) for number in (1, 2, 3, 4)]
    assert [(dict(one.names)["und"], one.version) for one in found] == [
        ("Uno", "1"),
        ("Two", None),
        ("Three", "3"),
        ("Four", None),
    ]
    assert list(registry.verify(ALICE)) == []


def test_vanished_formats_alone_write_nothing(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    before = events(registry)
    assert take_in(registry, PNG).vanished == ("info:pronom/x-fmt/49",)
    assert events(registry) == before


@pytest.mark.parametrize("stage", ["created", "fixated", "released"])
def test_a_local_identifier_of_the_same_name_stops_the_import(registry: Registry, stage: str) -> None:
    registry.add_namespace("own", "http://formats.example.org/", "puid", ALICE)
    local = registry.mint("own", Party("bob"), idstore.Request(name="ours")).iri
    if stage == "fixated":
        registry.fixate([local], Party("bob"))
    elif stage == "released":
        registry.release(local, Party("bob"))
    before = events(registry)
    for dry_run in (True, False):
        with pytest.raises(errors.ImportConflict) as caught:
            take_in(registry, PNG, entry("fmt/1", "theirs"), namespace="own", dry_run=dry_run)
        assert "fmt/1 ('theirs') " in caught.value.message
        assert (f"{stage} {local} of bob, 'ours'" in caught.value.message) == (stage != "released")
        assert events(registry) == before
    report = take_in(registry, PNG, entry("fmt/1", "theirs"), namespace="own", force=True)
    assert (report.kept, report.renamed) == ((local,), ())
    assert report.new == ("http://formats.example.org/fmt/11",)
    assert list(registry.verify(ALICE)) == []


def test_a_revoked_format_stays_revoked(registry: Registry) -> None:
    take_in(registry, PNG)
    registry.revoke("fmt/11", "forged", ALICE)
    assert take_in(registry, PNG, DRAW).kept == ("info:pronom/fmt/11",)


def test_mints_continue_after_the_imported_numbers(registry: Registry) -> None:
    registry.add_namespace("own", "http://formats.example.org/", "puid", ALICE)
    take_in(registry, entry("x-fmt/455"), entry("fmt/2091"), namespace="own")
    assert registry.mint("own", ALICE, idstore.Request(metadata={"type": "x-fmt"})).label == "x-fmt/456"


def test_one_bad_format_refuses_the_whole_import(registry: Registry) -> None:
    before = events(registry)
    with pytest.raises(errors.ExchangeError, match="line 7"):
        take_in(registry, PNG, entry("fmt/1"), entry("fmt/X"))
    assert events(registry) == before
    assert registry.counts(ALICE).total == 0


def test_all_bad_formats_are_reported_at_once(registry: Registry) -> None:
    """The errors come in the order of lines, both of the file and of the namespace, ten at most."""
    registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE, {"types": "fmt"})
    bad = (entry("sfw/1"), PNG, entry("fmt/X"), PNG, entry("fmt/7", " "))
    with pytest.raises(errors.ExchangeError) as caught:
        take_in(registry, *bad, namespace="formats")
    assert caught.value.fields["line"] == 5
    assert re.findall(r"; line (\d+): ", caught.value.message) == ["7", "8", "9"]
    assert [
        part in caught.value.message
        for part in ("sfw/1 cannot be", "'fmt/X' is no PUID", "occurs twice", "has no Name")
    ] == [True] * 4
    with pytest.raises(errors.ExchangeError) as caught:
        take_in(registry, *(entry(f"fmt/X{number}") for number in range(25)))
    assert caught.value.message.count("is no PUID") == 10
    assert "; and 15 more; nothing" in caught.value.message
    assert registry.counts(ALICE).total == 0


def released(version: str, name: str) -> io.BytesIO:
    return io.BytesIO(xml(entry("fmt/1", name)).replace(b'Version="122"', f'Version="{version}"'.encode()))


def test_an_older_file_over_a_newer_one_is_refused_unless_forced(registry: Registry) -> None:
    """The last file that changed something decides."""
    for version, name, older in [
        ("100", "One", False),
        ("99", "Old", True),
        ("100", "One", False),
        ("101", "One", False),
        ("9", "One", True),
        ("0099", "Uno", True),
    ]:
        refusal = pytest.raises(errors.ImportConflict, match="and version 100 was imported last")
        with droid.signatures(released(version, name)) as read, refusal if older else nullcontext():
            pronom.import_formats(registry, read, ALICE)
    with droid.signatures(released("97", "Ein")) as read, pytest.raises(errors.ImportConflict):
        pronom.import_formats(registry, read, ALICE, dry_run=True)
    assert registry.show("fmt/1", ALICE).names == (("und", "One"),)
    with droid.signatures(released("97", "Ein")) as read:
        assert pronom.import_formats(registry, read, ALICE, force=True).renamed
    [*_, forced] = registry.log(ALICE, Filter(id="info:pronom/", kinds=("Import",)))
    assert (forced.event.text(SKOS.note) or "").endswith("(forced, over version 100)")
    with droid.signatures(released("98", "Uno")) as read:
        assert pronom.import_formats(registry, read, ALICE).renamed


@pytest.mark.parametrize("date", ["", ' DateCreated="2027-01-01T00:00:00"'])
@pytest.mark.parametrize(
    ("version", "stated"),
    [
        (None, "has no version"),
        ("", "has no version"),
        *(
            (text, f"is version {text!r}, which is no number")
            for text in ("9.5", "-1", "abc", "\uff11", " 101")
        ),
    ],
)
def test_a_file_without_a_number_over_a_numbered_one_is_refused_unless_forced(
    registry: Registry, version: str | None, stated: str, date: str
) -> None:
    def unnumbered(name: str) -> io.BytesIO:
        attribute = "" if version is None else f' Version="{version}"'
        head = f"<FFSignatureFile{date}{attribute}>"
        return io.BytesIO(head.encode() + xml(entry("fmt/1", name)).partition(b'SignatureFile">')[2])

    for first in ("Zero", "Nil"):  # no file has had a number yet
        with droid.signatures(unnumbered(first)) as read:
            assert pronom.import_formats(registry, read, ALICE).new or first == "Nil"
    with droid.signatures(released("9", "One")) as read:
        pronom.import_formats(registry, read, ALICE)
    with droid.signatures(unnumbered("Two")) as read, pytest.raises(errors.ImportConflict) as caught:
        pronom.import_formats(registry, read, ALICE)
    assert f"the stream {stated}, and version 9 was imported last" in caught.value.message
    with droid.signatures(unnumbered("Two")) as read:
        assert pronom.import_formats(registry, read, ALICE, force=True).renamed
    with (
        droid.signatures(released("8", "Three")) as read,
        pytest.raises(errors.ImportConflict, match="version 9 "),
    ):
        pronom.import_formats(registry, read, ALICE)


@pytest.mark.parametrize(
    ("date", "newer"),
    [
        ("2026-01-19T10:53:18", True),
        ("2026-01-19T10:53:18Z", True),
        ("2026-01-20", True),
        ("2026-01-19T11:00:00+01:00", False),
        ("2026-01-18T23:00:00", False),
        ("2025-12-31", False),
        ("yesterday", False),
        ("", False),
    ],
)
def test_an_older_file_of_the_same_version_is_refused_unless_forced(
    registry: Registry, date: str, newer: bool
) -> None:
    take_in(registry, entry("fmt/1", "One"))
    content = xml(entry("fmt/1", "Two")).replace(b"2026-01-19T10:53:18", date.encode())
    refusal = nullcontext() if newer else pytest.raises(errors.ImportConflict)
    with droid.signatures(io.BytesIO(content)) as read, refusal as caught:
        pronom.import_formats(registry, read, ALICE)
    if caught is not None:
        stated = f"is version 122 {f'of {date}' if date else 'without a date'}"
        known = "and version 122 of 2026-01-19T10:53:18 was imported last"
        assert f"the stream {stated}, {known}" in caught.value.message
        with droid.signatures(io.BytesIO(content)) as read:
            assert pronom.import_formats(registry, read, ALICE, force=True).renamed
    assert registry.show("fmt/1", ALICE).names == (("und", "Two"),)


def test_only_administrators_import(registry: Registry) -> None:
    with droid.signatures(io.BytesIO(xml(PNG))) as formats, pytest.raises(errors.NotPermitted):
        pronom.import_formats(registry, formats, Party("bob"))
    registry.add_party(Party("eve"), ALICE, "administrator")
    registry.suspend(Party("eve"), "left", ALICE)
    with (
        droid.signatures(io.BytesIO(xml(PNG))) as formats,
        pytest.raises(errors.NotPermitted, match="suspended"),
    ):
        pronom.import_formats(registry, formats, Party("eve"))
    assert registry.counts(ALICE).total == 0


def test_the_namespace_can_be_named(registry: Registry) -> None:
    registry.add_namespace("own", "http://formats.example.org/puid/", "puid", ALICE)
    assert take_in(registry, PNG, namespace="own").new == ("http://formats.example.org/puid/fmt/11",)
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
    with pytest.raises(errors.InvalidData, match="holds rdswip identifiers"):
        take_in(registry, PNG, namespace="rdl")
    with pytest.raises(errors.UnknownNamespace):
        take_in(registry, PNG, namespace="none")


def test_a_type_that_the_namespace_refuses_is_reported_with_its_line(registry: Registry) -> None:
    registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE, {"types": "fmt"})
    with pytest.raises(errors.ExchangeError, match="line 6: sfw/1 cannot be in namespace formats"):
        take_in(registry, PNG, entry("sfw/1"), namespace="formats")


def test_without_a_namespace_the_remedy_is_told(tmp_path: Path) -> None:
    remedy = "no namespace here has the base info:pronom/; add one of the scheme puid"
    with (
        idstore.open(tmp_path / "store", administrator=ALICE) as opened,
        pytest.raises(errors.InvalidData, match=remedy),
    ):
        take_in(opened, PNG)


# The real files, also read by xml.etree


def independently(content: bytes) -> dict[str, tuple[str, str | None, list[str], str | None]]:
    formats = ET.fromstring(content).iter(f"{{{SPACE}}}FileFormat")
    return {
        one.attrib["PUID"]: (
            one.attrib["Name"],
            one.get("Version"),
            [part.text or "" for part in one.iter(f"{{{SPACE}}}Extension")],
            one.get("ID"),
        )
        for one in formats
    }


def carried() -> bytes:
    """Return the signature file in the package opf-fido."""
    return (files("fido") / "conf" / "DROID_SignatureFile-v109.xml").read_bytes()


def agrees(content: bytes) -> list[droid.FileFormat]:
    found = read(content)
    assert {
        one.puid: (one.name, one.version, [*one.extensions], one.pronom_id) for one in found
    } == independently(content)
    return found


def test_the_shipped_file_is_read_as_by_an_independent_reader() -> None:
    assert len(agrees(carried())) == 2246


@pytest.mark.realdata
def test_the_newest_file_is_read_as_by_an_independent_reader(real_data: Path) -> None:
    found = agrees(gzip.decompress((real_data / "DROID_SignatureFile_V122.xml.gz").read_bytes()))
    assert len(found) == 2544
    with (real_data / "puids.tsv").open(encoding="utf-8", newline="") as table:
        rows = {
            row["puid"]: row
            for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["in_droid_v122"] == "1"
        }
    assert rows
    formats = {one.puid: one for one in found}
    for puid, row in rows.items():
        assert (row["name"], row["version"], row["pronom_id"]) == (
            formats[puid].name,
            formats[puid].version or "",
            formats[puid].pronom_id,
        )


@pytest.mark.slow
@pytest.mark.realdata
def test_a_newer_release_renames_and_keeps_every_identifier(registry: Registry, real_data: Path) -> None:
    with droid.signatures(io.BytesIO(carried())) as formats:
        first = pronom.import_formats(registry, formats, ALICE)
    with droid.signatures(real_data / "DROID_SignatureFile_V122.xml.gz") as formats:
        second = pronom.import_formats(registry, formats, ALICE)
    assert [
        len(part) for part in (first.new, second.new, second.renamed, second.unchanged, second.vanished)
    ] == [2246, 298, 41, 2205, 0]
    assert {*second.unchanged, *(one.iri for one in second.renamed)} == set(first.new)
    aiff = registry.show("fmt/414", ALICE)
    assert (dict(aiff.names)["und"], aiff.version) == ("Audio Interchange File Format", None)
    assert registry.counts(ALICE).total == 2544
    assert list(registry.verify(ALICE)) == []
