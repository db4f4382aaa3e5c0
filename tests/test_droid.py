"""DROID signature files: read in any layout, refused with the line of what is wrong, imported without losing an identifier."""

import csv
import gzip
import io
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import idstore
from idstore import errors
from idstore.exchange import droid, pronom
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.adopting import Adoption

ALICE = Party("alice")
SPACE = "http://www.nationalarchives.gov.uk/pronom/SignatureFile"
HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<FFSignatureFile DateCreated="2026-01-19T10:53:18" Version="122" xmlns="{SPACE}">
 <InternalSignatureCollection><InternalSignature ID="9"><Extension>none</Extension></InternalSignature></InternalSignatureCollection>
 <FileFormatCollection>
"""
TAIL = " </FileFormatCollection>\n</FFSignatureFile>\n"
PNG = '<FileFormat ID="664" MIMEType="image/png" Name="Portable Network Graphics" PUID="fmt/11" Version="1.0"/>\n'
DRAW = """<FileFormat ID="80" MIMEType="application/dwf, image/x-dwf" Name="Étude &amp; &#x2116; 5" PUID="x-fmt/49">
<InternalSignatureID>1</InternalSignatureID><Extension>dwf</Extension><Extension> d&#119;f2 </Extension></FileFormat>
"""


def xml(*formats: str) -> bytes:
    return (HEAD + "".join(formats) + TAIL).encode()


def entry(puid: str, name: str = "Name", version: str | None = None) -> str:
    return f'<FileFormat ID="1" Name="{name}" PUID="{puid}"{f" Version={version!r}" if version is not None else ""}/>\n'


def read(content: bytes) -> list[droid.Format]:
    with droid.signatures(io.BytesIO(content)) as formats:
        return list(formats)


def test_formats_are_read_in_file_order() -> None:
    with droid.signatures(io.BytesIO(xml(PNG, DRAW))) as formats:
        assert formats.release == droid.Release("122", "2026-01-19T10:53:18")
        assert list(formats) == [
            droid.Format("fmt/11", "Portable Network Graphics", "1.0", (), ("image/png",), "664", 5),
            droid.Format("x-fmt/49", "Étude & № 5", None, ("dwf", "dwf2"), ("application/dwf", "image/x-dwf"), "80", 6),
        ]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + xml(PNG), id="byte order mark"),
        pytest.param(gzip.compress(xml(PNG)), id="gzip"),
        pytest.param(gzip.compress(xml(PNG)[:300]) + gzip.compress(xml(PNG)[300:]), id="gzip in two members"),
        pytest.param(b"<SignatureFile>" + xml(PNG).partition(b"\n")[2] + b"</SignatureFile>", id="as the web service answers"),
        pytest.param(xml(PNG).replace(f' xmlns="{SPACE}"'.encode(), b""), id="no namespace"),
        pytest.param(xml(PNG).replace(b"<FF", b"<s:FF").replace(b"</FF", b"</s:FF").replace(b"xmlns=", b"xmlns:s="), id="a prefix"),
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
        pytest.param(b"<!DOCTYPE FFSignatureFile>" + xml(PNG).partition(b"\n")[2], 1, "a document type", id="document type"),
        pytest.param(
            b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + xml(entry("fmt/1", "&b;")).partition(b"\n")[2],
            1, "a document type", id="entities that expand",
        ),
        pytest.param(
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + xml(entry("fmt/1", "&a;")).partition(b"\n")[2],
            1, "a document type", id="external entity",
        ),
        pytest.param(xml(entry("fmt/1", "&a;")), 5, "undefined entity", id="entity without a document type"),
        pytest.param(xml(entry("FMT/1")), 5, "'FMT/1' is no PUID: 'F' cannot stand in the type", id="upper case"),
        pytest.param(xml(PNG, entry("lan/1")), 6, "'lan/1' is no PUID: there is no type 'lan'", id="unknown type"),
        pytest.param(xml(entry("info:pronom/fmt/1")), 5, "write fmt/1", id="another written form"),
        pytest.param(xml(entry("")), 5, "'' is no PUID", id="empty PUID"),
        pytest.param(xml('<FileFormat ID="1" Name="N"/>'), 5, "a <FileFormat> has no PUID", id="no PUID"),
        pytest.param(xml(entry("fmt/1", "  ")), 5, "the format fmt/1 has no Name", id="no name"),
        pytest.param(xml(PNG, DRAW, PNG), 8, "fmt/11 stands there twice; the first is on line 5", id="twice"),
        pytest.param(xml((PNG + PNG).replace("\n", "")), 5, "fmt/11 stands there twice; the first is on line 5", id="twice on a line"),
        pytest.param(b"<FFSignatureFile/>", 1, "no <FileFormatCollection>", id="no collection"),
        pytest.param(xml(PNG).replace(b"FileFormatCollection", b"Formats"), 8, "no <FileFormatCollection>", id="another collection"),
        pytest.param(b"<ContainerSignatureMapping/>", 1, "a container signature file", id="container signatures"),
        pytest.param(b"<html>", 1, "it begins with <html>", id="something else"),
        pytest.param(b"<SignatureFile/>", 1, "it holds no <FFSignatureFile>", id="empty wrapper"),
        pytest.param(xml("<a>" * 100), 5, "more than 64 deep", id="deep"),
        pytest.param(xml(f"<!-- {'x' * (1 << 21)} -->"), 5, "longer than 1048576 bytes", id="huge comment"),
        pytest.param(xml(PNG[:-3] + ">" + "<Extension/>" * ((1 << 20) + 1)), 5, "more extensions", id="many extensions"),
        pytest.param(xml(PNG.replace("/>", "><Extension>") + "x" * (1 << 21)), 6, "more extensions", id="huge extension"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(content: bytes, line: int, reason: str) -> None:
    with pytest.raises(errors.ExchangeError) as caught:
        read(content)
    assert caught.value.fields["line"] == line
    assert reason in caught.value.message
    assert caught.value.fields["file"] == "the stream"


def test_formats_come_before_the_file_is_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        """A file with one format after the other."""

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
def test_what_cannot_be_opened_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.ExchangeError, match="it cannot be read") as caught, droid.signatures(f"{tmp_path}/{name}"):
        pass
    assert caught.value.fields["line"] is None


# Importing


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_namespace("pronom", "info:pronom/", "puid", ALICE)
        yield opened


def take_in(registry: Registry, *formats: str, dry_run: bool = False, namespace: str | None = None) -> Adoption:
    with droid.signatures(io.BytesIO(xml(*formats))) as read:
        return pronom.import_formats(registry, read, ALICE, namespace, dry_run=dry_run)


def events(registry: Registry) -> int:
    return len(list(registry.log(ALICE)))


def test_new_formats_are_registered_as_published(registry: Registry) -> None:
    report = take_in(registry, PNG, DRAW)
    assert report == Adoption("info:pronom/", new=("info:pronom/fmt/11", "info:pronom/x-fmt/49"))
    png, draw = registry.show("fmt/11", Party("bob")), registry.show("info:pronom/x-fmt/49", Party("bob"))
    assert (png.stage, png.names, png.version, png.provisional, png.owner) == (
        idstore.Stage.FIXATED, (("und", "Portable Network Graphics"),), "1.0", False, "alice",
    )  # fmt: skip
    assert (draw.stage, draw.names, draw.version, draw.provisional) == (idstore.Stage.FIXATED, (("und", "Étude & № 5"),), None, True)
    assert png.fixated == png.created
    assert registry.counts(Party("bob")).total == 2
    assert list(registry.verify(ALICE)) == []


def test_all_events_are_part_of_one_import(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    batch, *parts = [entry.event for entry in registry.log(Party("bob"))][2:]
    assert (batch.act, batch.about.value) == ("Import", "info:pronom/")
    assert [(part.act, part.parent) for part in parts] == [("Registration", batch.iri.value)] * 2
    assert batch.arguments[0][1].value == "DROID signature file version 122 of 2026-01-19T10:53:18"


def test_the_same_file_again_writes_nothing(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    before = events(registry)
    report = take_in(registry, PNG, DRAW)
    assert report == Adoption("info:pronom/", unchanged=("info:pronom/fmt/11", "info:pronom/x-fmt/49"))
    assert not report.changes
    assert events(registry) == before


def test_names_and_versions_follow_and_nothing_is_deleted(registry: Registry) -> None:
    take_in(registry, entry("fmt/1", "One", "1"), entry("fmt/2", "Two", "2"), entry("fmt/3", "Three"), entry("fmt/4", "Four"), PNG)
    formats = (entry("fmt/5"), entry("fmt/1", "Uno", "1"), entry("fmt/2", "Two"), entry("fmt/3", "Three", "3"), PNG)
    told = take_in(registry, *formats, dry_run=True)
    before = events(registry)
    assert registry.show("fmt/1", ALICE).names == (("und", "One"),)
    report = take_in(registry, *formats)
    assert report == told
    assert report.new == ("info:pronom/fmt/5",)
    assert [(one.iri[-5:], one.old_name, one.old_version, one.name, one.version) for one in report.renamed] == [
        ("fmt/1", "One", "1", "Uno", "1"),
        ("fmt/2", "Two", "2", "Two", None),
        ("fmt/3", "Three", None, "Three", "3"),
    ]
    assert (report.vanished, report.unchanged) == (("info:pronom/fmt/4",), ("info:pronom/fmt/11",))
    assert events(registry) == before + 1 + 1 + 3
    found = [registry.show(f"fmt/{number}", ALICE) for number in (1, 2, 3, 4)]
    assert [(dict(one.names)["und"], one.version) for one in found] == [("Uno", "1"), ("Two", None), ("Three", "3"), ("Four", None)]
    assert list(registry.verify(ALICE)) == []


def test_vanished_formats_alone_write_nothing(registry: Registry) -> None:
    take_in(registry, PNG, DRAW)
    before = events(registry)
    assert take_in(registry, PNG).vanished == ("info:pronom/x-fmt/49",)
    assert events(registry) == before


def test_what_is_held_here_otherwise_is_left_alone(registry: Registry) -> None:
    for number in (1, 2):
        assert registry.mint("pronom", ALICE, idstore.Request(name="ours", metadata={"type": "x-fmt"})).label == f"x-fmt/{number}"
    registry.release("x-fmt/2", ALICE)
    report = take_in(registry, PNG, entry("x-fmt/1"), entry("x-fmt/2"))
    assert report.kept == ("info:pronom/x-fmt/1", "info:pronom/x-fmt/2")
    assert report.new == ("info:pronom/fmt/11",)
    assert registry.show("x-fmt/1", ALICE).names == (("und", "ours"),)
    assert list(registry.verify(ALICE)) == []


def test_mints_go_on_behind_what_was_imported(registry: Registry) -> None:
    take_in(registry, entry("x-fmt/455"), entry("fmt/2091"))
    assert registry.mint("pronom", ALICE, idstore.Request(metadata={"type": "x-fmt"})).label == "x-fmt/456"


def test_one_bad_format_and_nothing_is_imported(registry: Registry) -> None:
    before = events(registry)
    with pytest.raises(errors.ExchangeError, match="line 7"):
        take_in(registry, PNG, entry("fmt/1"), entry("fmt/X"))
    assert events(registry) == before
    assert registry.counts(ALICE).total == 0


def test_all_bad_formats_are_told_at_once(registry: Registry) -> None:
    """In the order of their lines, whether the file is wrong or the namespace takes no such type; at most ten."""
    registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE, {"types": "fmt"})
    bad = (entry("sfw/1"), PNG, entry("fmt/X"), PNG, entry("fmt/7", " "))
    with pytest.raises(errors.ExchangeError) as caught:
        take_in(registry, *bad, namespace="formats")
    assert caught.value.fields["line"] == 5
    assert re.findall(r"; line (\d+): ", caught.value.message) == ["7", "8", "9"]
    assert [part in caught.value.message for part in ("sfw/1 cannot be", "'fmt/X' is no PUID", "stands there twice", "has no Name")] == [
        True
    ] * 4
    with pytest.raises(errors.ExchangeError) as caught:
        take_in(registry, *(entry(f"fmt/X{number}") for number in range(25)))
    assert caught.value.message.count("is no PUID") == 10
    assert "; and 15 more; nothing" in caught.value.message
    assert registry.counts(ALICE).total == 0


def released(version: str, name: str) -> io.BytesIO:
    return io.BytesIO(xml(entry("fmt/1", name)).replace(b'Version="122"', f'Version="{version}"'.encode()))


def test_an_older_file_over_a_newer_is_told(registry: Registry) -> None:
    """Measured by the last file that changed something; a file that tells no number is not judged."""
    told: list[str] = []
    for version, name, warned in [
        ("100", "One", False),
        ("99", "Old", True),
        ("99", "Old", False),
        ("100", "One", False),
        ("101", "One", False),
        ("9", "One", True),
        ("beta", "Two", False),
        ("98", "Uno", True),
        ("98", "Uno", False),
    ]:
        told.clear()
        with droid.signatures(released(version, name)) as read:
            pronom.import_formats(registry, read, ALICE, warn=told.append)
        assert bool(told) == warned, (version, name)
    with droid.signatures(released("97", "Ein")) as read:
        pronom.import_formats(registry, read, ALICE, dry_run=True, warn=told.append)
    [warning] = told
    assert warning.startswith("the stream is version 97, and version 98 was taken in last: ")
    assert "would get their former names again" in warning


def test_only_administrators_import(registry: Registry) -> None:
    with droid.signatures(io.BytesIO(xml(PNG))) as formats, pytest.raises(errors.NotPermitted):
        pronom.import_formats(registry, formats, Party("bob"))
    registry.add_party(Party("eve"), ALICE, "administrator")
    registry.suspend(Party("eve"), "left", ALICE)
    with droid.signatures(io.BytesIO(xml(PNG))) as formats, pytest.raises(errors.NotPermitted, match="suspended"):
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


def test_a_type_that_the_namespace_refuses_is_told_with_its_line(registry: Registry) -> None:
    registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE, {"types": "fmt"})
    with pytest.raises(errors.ExchangeError, match="line 6: sfw/1 cannot be in namespace formats"):
        take_in(registry, PNG, entry("sfw/1"), namespace="formats")


def test_without_a_namespace_the_remedy_is_told(tmp_path: Path) -> None:
    remedy = "idstore namespace add pronom info:pronom/ --scheme puid"
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened, pytest.raises(errors.InvalidData, match=remedy):
        take_in(opened, PNG)


# The real files, read independently by xml.etree


def independently(content: bytes) -> dict[str, tuple[str, str | None, list[str], str | None]]:
    formats = ET.fromstring(content).iter(f"{{{SPACE}}}FileFormat")
    return {
        one.attrib["PUID"]: (
            one.attrib["Name"], one.get("Version"), [part.text or "" for part in one.iter(f"{{{SPACE}}}Extension")], one.get("ID"),
        )
        for one in formats
    }  # fmt: skip


def carried() -> bytes:
    """The signature file that opf-fido carries."""
    return (files("fido") / "conf" / "DROID_SignatureFile-v109.xml").read_bytes()


def agrees(content: bytes) -> list[droid.Format]:
    found = read(content)
    assert {one.puid: (one.name, one.version, [*one.extensions], one.pronom_id) for one in found} == independently(content)
    return found


def test_the_carried_file_is_read_as_by_another_reader() -> None:
    assert len(agrees(carried())) == 2246


@pytest.mark.realdata
def test_the_newest_file_is_read_as_by_another_reader(real_data: Path) -> None:
    found = agrees(gzip.decompress((real_data / "DROID_SignatureFile_V122.xml.gz").read_bytes()))
    assert len(found) == 2544
    with (real_data / "puids.tsv").open(encoding="utf-8", newline="") as table:
        rows = {row["puid"]: row for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE) if row["in_droid_v122"] == "1"}
    assert rows
    formats = {one.puid: one for one in found}
    for puid, row in rows.items():
        assert (row["name"], row["version"], row["pronom_id"]) == (
            formats[puid].name, formats[puid].version or "", formats[puid].pronom_id,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.realdata
def test_a_newer_release_renames_and_keeps_every_identifier(registry: Registry, real_data: Path) -> None:
    with droid.signatures(io.BytesIO(carried())) as formats:
        first = pronom.import_formats(registry, formats, ALICE)
    with droid.signatures(real_data / "DROID_SignatureFile_V122.xml.gz") as formats:
        second = pronom.import_formats(registry, formats, ALICE)
    assert [len(part) for part in (first.new, second.new, second.renamed, second.unchanged, second.vanished)] == [2246, 298, 41, 2205, 0]
    assert {*second.unchanged, *(one.iri for one in second.renamed)} == set(first.new)
    aiff = registry.show("fmt/414", ALICE)
    assert (dict(aiff.names)["und"], aiff.version) == ("Audio Interchange File Format", None)
    assert registry.counts(ALICE).total == 2544
    assert list(registry.verify(ALICE)) == []
