"""PUIDs in a registry: types, who assigns them, how they are related, what replaces what."""

import io
import zipfile
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from command_lines import Run
from pyoxigraph import NamedNode

import idstore
from idstore import errors
from idstore.exchange import droid, pronom, rdf, reports
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.bindings import Statement
from idstore.registry.relating import Related, Stated
from idstore.registry.requests import Request
from idstore.registry.resolving import Superseded
from idstore.validation.registries import check
from idstore.vocabulary import ADMS, DCTERMS, IDS, SKOS

ALICE, BOB = Party("alice"), Party("bob")
OWN = "http://formats.example.org/"
FORMAL = Request(metadata={"type": "fmt"})


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as opened:
        opened.add_namespace("pronom", "info:pronom/", "puid", ALICE)
        opened.add_namespace("own", OWN, "puid", ALICE)
        yield opened


def is_sound(registry: Registry) -> bool:
    return not list(registry.verify(ALICE)) and not check(registry, ALICE).results


def published(registry: Registry, count: int) -> list[str]:
    made = [registry.mint("own", ALICE, FORMAL).iri.value for _ in range(count)]
    registry.fixate(made, ALICE)
    return made


# Types


def test_types_are_data_that_administrators_add(registry: Registry) -> None:
    early = registry.mint("pronom", ALICE, Request(metadata={"type": "x-fmt"}))
    with pytest.raises(errors.InvalidIdentifier, match="no type 'lan'"):
        registry.identify("info:pronom/lan/1", ALICE)
    with pytest.raises(errors.NotPermitted, match="only administrators"):
        registry.add_type("pronom", "lan", "programming language", BOB)
    registry.add_type("pronom", "lan", "programming language", ALICE)
    assert registry.mint("pronom", BOB, Request(metadata={"type": "x-lan"})).label == "x-lan/1"
    assert registry.show("x-fmt/1", ALICE).iri == early.iri
    types = {one.code: (one.title, one.provisional) for one in registry.namespace("pronom").types}
    assert len(types) == 12
    assert (types["lan"], types["x-lan"], types["fmt"]) == (
        ("programming language", False), ("programming language", True), ("file format", False),
    )  # fmt: skip
    assert {one.code for one in registry.namespace("own").types} == set(types) - {"lan", "x-lan"}
    assert is_sound(registry)


@pytest.mark.parametrize(
    ("code", "title", "error"),
    [
        ("fmt", "again", errors.AlreadyRegistered),
        ("x-lan", "with x-", errors.InvalidData),
        ("LAN", "capitals", errors.InvalidData),
        ("lan|sfx", "two", errors.InvalidData),
        ("", "none", errors.InvalidData),
        ("lan", " ", errors.InvalidData),
        ("lan", "a|fmt", errors.InvalidData),
        ("lan", "a\nb", errors.InvalidData),
    ],
)
def test_types_that_are_refused(registry: Registry, code: str, title: str, error: type[Exception]) -> None:
    before = registry.namespace("pronom")
    with pytest.raises(error):
        registry.add_type("pronom", code, title, ALICE)
    assert registry.namespace("pronom") == before


def test_only_labels_with_types_get_more(registry: Registry) -> None:
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
    with pytest.raises(errors.InvalidData, match="its scheme is rdswip"):
        registry.add_type("rdl", "lan", "programming language", ALICE)


def test_types_travel(registry: Registry, tmp_path: Path) -> None:
    """An export carries them, and registries that added different ones come to have both."""
    with idstore.open(tmp_path / "other", administrator=ALICE, durability="process") as other:
        first = tmp_path / "first.nq"
        with first.open("wb") as target:
            rdf.export(registry, target, ALICE, "nquads")
        rdf.import_registry(other, [first], ALICE)
        registry.add_type("own", "lan", "programming language", ALICE)
        other.add_type("own", "scr", "script", ALICE)
        second = tmp_path / "second.nq"
        with second.open("wb") as target:
            rdf.export(registry, target, ALICE, "nquads")
        rdf.import_registry(other, [second], ALICE)
        assert {"lan", "scr", "x-scr"} < {one.code for one in other.namespace("own").types}
        assert is_sound(other)


def test_damage_to_a_type_is_found(registry: Registry) -> None:
    assert ("types", "chr|cmp|fmt|hdw|sfw") in registry.namespace("own").settings
    quads = registry.namespace("own").quads()
    node = NamedNode(f"{OWN}fmt")
    assert {quad.predicate for quad in quads if quad.subject == node} >= {SKOS.notation, SKOS.prefLabel}
    assert sum(quad.predicate == IDS.labelType for quad in quads) == 10


# Who assigns them


def test_formal_puids_of_another_authority_are_not_registered(registry: Registry) -> None:
    with pytest.raises(errors.NotPermitted, match="come by import; mint a provisional one"):
        registry.register("pronom", "fmt/99999", ALICE)
    assert registry.register("pronom", "x-fmt/7", ALICE).provisional
    assert registry.register("own", "fmt/7", ALICE).label == "fmt/7"


def test_the_mark_never_goes_down(registry: Registry, tmp_path: Path) -> None:
    assert [registry.mint("own", ALICE, FORMAL).label for _ in range(3)] == ["fmt/1", "fmt/2", "fmt/3"]
    registry.release("own:fmt/3", ALICE)
    registry.release("own:fmt/2", ALICE)
    registry.close()
    with idstore.open(tmp_path / "store") as again:
        assert again.mint("own", ALICE, FORMAL).label == "fmt/4"
        assert again.mint("own", ALICE, Request(metadata={"type": "sfw"})).label == "sfw/1"


def test_a_provisional_puid_of_ours_is_superseded_and_not_fixated(registry: Registry) -> None:
    draft = registry.mint("own", ALICE, Request(metadata={"type": "x-fmt"})).iri.value
    with pytest.raises(errors.StageConflict, match="mint the formal identifier, fixate that, and `idstore supersede` this one by it"):
        registry.fixate([draft], ALICE)
    [formal] = published(registry, 1)
    registry.supersede(draft, [formal], ALICE)
    assert registry.resolve(draft, ALICE).current == (formal,)


# What replaces what


def test_a_chain_is_told_to_its_end(registry: Registry) -> None:
    a, b, c, d = published(registry, 4)
    registry.supersede(a, [b], ALICE)
    registry.supersede(b, [c, d], ALICE)
    found = registry.resolve(a, BOB)
    assert found.succession == (Superseded(a, (b,)), Superseded(b, (c, d)))
    assert (found.target, found.current, found.path, found.buried) == (None, (c, d), (a, b), False)
    registry.target(b, "http://example.org/b", ALICE)
    assert registry.resolve(a, BOB).target == "http://example.org/b"


def test_circles_are_refused_with_the_way(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    registry.supersede(a, [b], ALICE)
    registry.supersede(b, [c], ALICE)
    for successors in ([a], [b], [c]):
        with pytest.raises(errors.InvalidData, match="cannot replace"):
            registry.supersede(c, successors, ALICE)
    with pytest.raises(errors.InvalidData, match=rf"\({a} by {b} by {c}\)"):
        registry.deprecate(c, "old", ALICE, [a])
    assert registry.show(c, ALICE).successors == ()


def test_circles_from_elsewhere_end(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    with registry.store.staging() as turn:
        for one, other in ((a, b), (b, a), (c, c)):
            event = registry._event(turn, IDS.Supersession, NamedNode(one), ALICE, (DCTERMS.isReplacedBy, NamedNode(other)))
            registry.replay(turn, event)
    with pytest.raises(errors.NotRegistered, match="leads in a circle"):
        registry.resolve(a, BOB)
    with pytest.raises(errors.NotRegistered, match="leads in a circle"):
        registry.resolve(c, BOB)
    registry.target(b, "http://example.org/b", ALICE)
    found = registry.resolve(a, BOB)
    assert (found.target, found.path, found.current) == ("http://example.org/b", (a, b), ())
    assert list(registry.verify(ALICE)) == []


def test_a_binding_to_a_sibling_is_no_target(registry: Registry) -> None:
    a, b = published(registry, 2)
    registry.bind(a, Statement(b, IDS.hasPriorityOver.value), ALICE)
    with pytest.raises(errors.NotRegistered, match="no target"):
        registry.resolve(a, ALICE)
    registry.bind(a, Statement("http://example.org/a"), ALICE)
    assert registry.resolve(a, ALICE).target == "http://example.org/a"
    assert is_sound(registry)


# Relations


def test_relations_are_bound_once_and_never_unbound(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    said = [
        Stated("fmt/1", ((ADMS.next.value, "fmt/2"), (IDS.canContain.value, "fmt/9")), "old", ("fmt/1", "fmt/3", "fmt/9")),
        Stated("fmt/8"),
    ]
    told = registry.relate("own", said, ALICE, "a list", dry_run=True)
    assert registry.show(a, ALICE).bindings == ()
    found = registry.relate("own", said, ALICE, "a list")
    assert found == told == Related(
        ((a, ADMS.next.value, b),),
        ((a, "old", (c,)),),
        passed=(
            "fmt/1 is related to fmt/9, which is not registered here",
            "fmt/1 is said to be replaced by itself",
            "fmt/1 is replaced by fmt/9, which is not registered here",
            "fmt/8 is not registered here, or not as fixated",
        ),
    )  # fmt: skip
    before = len(list(registry.log(ALICE)))
    again = registry.relate("own", said, ALICE, "a list")
    assert (again.changes, again.unchanged) == (False, 1)
    assert len(list(registry.log(ALICE))) == before
    gone = registry.relate("own", [Stated("fmt/1"), Stated("fmt/2", ((ADMS.next.value, "fmt/3"),))], ALICE, "a newer list")
    assert gone.bound == ((b, ADMS.next.value, c),)
    assert gone.vanished == ((a, ADMS.next.value, b),)
    assert len(registry.show(a, ALICE).bindings) == 1
    assert is_sound(registry)


def test_only_administrators_take_relations_over(registry: Registry) -> None:
    published(registry, 2)
    with pytest.raises(errors.NotPermitted):
        registry.relate("own", [Stated("fmt/1", deprecation="no")], BOB, "a list")
    with pytest.raises(errors.InvalidData, match="record itself"):
        registry.relate("own", [Stated("fmt/1", ((IDS.owner.value, "fmt/2"),))], ALICE, "a list")
    assert registry.show("own:fmt/1", ALICE).bindings == ()


SPACE = "http://pronom.nationalarchives.gov.uk"


def report(puid: str, number: int, description: str = "", *related: tuple[str, int]) -> str:
    relations = "".join(
        f"<RelatedFormat><RelationshipType>{kind}</RelationshipType><RelatedFormatID>{other}</RelatedFormatID></RelatedFormat>"
        for kind, other in related
    )
    return (
        f'<PRONOM-Report xmlns="{SPACE}"><report_format_detail><FileFormat><FormatID>{number}</FormatID><FormatName>N</FormatName>'
        f"<FormatDescription>{description}</FormatDescription><FileFormatIdentifier><Identifier>{puid}</Identifier>"
        f"<IdentifierType>PUID</IdentifierType></FileFormatIdentifier>{relations}</FileFormat></report_format_detail></PRONOM-Report>"
    )


def archive(place: Path, *texts: str) -> Path:
    with zipfile.ZipFile(place, "w") as made:
        for number, text in enumerate(texts):
            made.writestr(f"{number}.xml", text)
        made.writestr("README.txt", "no report")
    return place


@pytest.mark.parametrize(
    ("description", "deprecation", "successors"),
    [
        ("PUID deprecated. Please see fmt/39: Word.", "PUID deprecated. Please see fmt/39", ("fmt/39",)),
        ("PUID deprecated. Please see x-fmt/248 and x-fmt/249 for", "PUID deprecated. Please see x-fmt/248 and x-fmt/249", ("x-fmt/248", "x-fmt/249")),
        ("A.\n This is currently deprecated\n in favour of fmt/414 in order", "deprecated in favour of fmt/414", ("fmt/414",)),
        ("The PUID for OS/2 Bitmap 1.0 (x-fmt/25) has therefore been deprecated.", None, ()),
        ("Its use has been deprecated since the release of DNG format.", None, ()),
    ],
)  # fmt: skip
def test_deprecation_is_read_from_the_description(
    tmp_path: Path, description: str, deprecation: str | None, successors: tuple[str, ...]
) -> None:
    place = tmp_path / "one.xml"
    place.write_text(report("fmt/1", 1, description))
    [found] = reports.read(place)
    assert (found.puid, found.deprecation, found.successors) == ("fmt/1", deprecation, successors)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"<", "not well-formed"),
        (b"<a/>", "begins with <a>"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "a document type"),
        (report("FMT/1", 1).encode(), "'F' cannot stand"),
        (report("fmt/1", 1).replace(">PUID<", ">MIME<").encode(), "it names 0 PUIDs"),
        (b"<a>" + b" " * (1 << 20), "longer than"),
        (b"PK\x05\x06" + b"\0" * 18, "it holds no report"),
    ],
)
def test_what_is_no_report_is_told(tmp_path: Path, content: bytes, reason: str) -> None:
    place = tmp_path / "file.zip"
    place.write_bytes(content)
    with pytest.raises(errors.ExchangeError, match=reason):
        reports.read(place)


def test_a_damaged_archive_and_a_repeated_puid_are_told(tmp_path: Path) -> None:
    place = archive(tmp_path / "two.zip", report("fmt/1", 1), report("fmt/1", 2))
    with pytest.raises(errors.ExchangeError, match="has a report already"):
        reports.read(place)
    content = bytearray(archive(tmp_path / "one.zip", report("fmt/1", 1)).read_bytes())
    content[60] ^= 255
    place.write_bytes(content)
    with pytest.raises(errors.ExchangeError, match="cannot be read"):
        reports.read(place)
    with pytest.raises(errors.ExchangeError, match="cannot be read"):
        reports.read(tmp_path / "missing.zip")


def test_relations_without_a_term_or_a_report_are_passed_over(registry: Registry, tmp_path: Path) -> None:
    formats = b'<FFSignatureFile><FileFormatCollection><FileFormat PUID="fmt/1" Name="N"/></FileFormatCollection></FFSignatureFile>'
    with droid.signatures(io.BytesIO(formats)) as read:
        pronom.import_formats(registry, read, ALICE)
    found = reports.read(archive(tmp_path / "one.zip", report("fmt/1", 1, "", ("Looks like", 1), ("Can contain", 7))))
    assert pronom.import_relations(registry, found, ALICE, "test").passed == (
        "fmt/1: PRONOM's relation 'Looks like' has no term here",
        "fmt/1: no report is about format 7 (), which it is related to",
    )


@pytest.mark.slow
@pytest.mark.realdata
def test_releases_one_over_the_other(run: Run, real_data: Path) -> None:
    """V109 with its reports, then V122: names change, identifiers, relations and what is deprecated stay."""
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    newer = real_data / "DROID_SignatureFile_V122.xml.gz"
    with as_file(files("fido") / "conf") as carried:
        older = carried / "DROID_SignatureFile-v109.xml"
        told = run("import", older, "--dry-run").lines
        assert told[0] == "would register 2246 identifiers, rename 0; 0 are as they were"
        assert (len(told), told[1]) == (2247, "new\tinfo:pronom/x-fmt/1")
        run("import", older)
        run("import", carried / "pronom-xml-v109.zip")
    told = run("import", newer, "--dry-run").lines
    assert told[0] == "would register 298 identifiers, rename 41; 2205 are as they were"
    assert sum(line.startswith("renamed\t") for line in told) == 41
    assert "renamed\tinfo:pronom/fmt/61: Microsoft Excel 97 Workbook (xls) 8 → Microsoft Excel 97-2003 Workbook (xls) 8 & 8X" in told
    assert run("import", newer, "--json").object["unchanged"] == 2205
    assert run("import", newer).line == "registered 0 identifiers, renamed 0; 2544 are as they were"
    assert len(run("import", real_data / "DROID_SignatureFile_V122.xml.gz", "--dry-run").lines) == 1
    assert run("resolve", "x-fmt/246", "--quiet").line == "info:pronom/fmt/166"
    assert "circle" not in run("resolve", "fmt/60", code=4).err
    with as_file(files("fido") / "conf") as carried:
        outcome = run("import", carried / "DROID_SignatureFile-v109.xml", "--dry-run")
    back = outcome.lines
    assert "is version 109, and version 122 was taken in last" in outcome.err
    assert sum(line.startswith("vanished\t") for line in back) == 298
    assert run("verify").line == "sound"
