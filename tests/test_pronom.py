"""PUIDs in a registry: types, authorities, relations, successors."""

import io
import json
import zipfile
from collections.abc import Iterator
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path

import pytest
from command_lines import Run
from pyoxigraph import NamedNode

import idstore
from idstore import errors
from idstore.exchange import droid, pronom, pronom_reports, rdf
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.bindings import Statement
from idstore.registry.imports.enroll import Listed
from idstore.registry.imports.relate import Related, Stated
from idstore.registry.imports.replay import Replay
from idstore.registry.requests import Request
from idstore.registry.resolution import SUCCESSIONS, Superseded
from idstore.validation.registries import check
from idstore.vocabulary import ADMS, DCTERMS, IDS, SKOS

ALICE, BOB = Party("alice"), Party("bob")
RESERVED = "x-fmt/9000-9001 x-fmt/500-501 x-sfw/1-9"
OWN = "http://formats.example.org/"
FORMAL = Request(metadata={"type": "fmt"})


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_namespace("pronom", "info:pronom/", "puid", ALICE, {"reserved": RESERVED})
        opened.add_namespace("own", OWN, "puid", ALICE)
        yield opened


def is_sound(registry: Registry) -> bool:
    return not list(registry.verify(ALICE)) and not check(registry, ALICE).results


def published(registry: Registry, count: int) -> list[str]:
    made = [registry.mint("own", ALICE, FORMAL).iri for _ in range(count)]
    registry.fixate(made, ALICE)
    return made


# types


def test_types_are_data_that_administrators_add(registry: Registry) -> None:
    early = registry.mint("pronom", ALICE, Request(metadata={"type": "x-fmt"}))
    with pytest.raises(errors.InvalidIdentifier, match="no type 'lan'"):
        registry.identify("info:pronom/lan/1", ALICE)
    with pytest.raises(errors.NotPermitted, match="only administrators"):
        registry.add_type("pronom", "lan", "programming language", BOB)
    registry.add_type("pronom", "lan", "programming language", ALICE)
    assert registry.mint("own", BOB, Request(metadata={"type": "x-fmt"})).label == "x-fmt/1"
    assert registry.show("x-fmt/9000", ALICE).iri == early.iri
    types = {one.code: (one.title, one.provisional) for one in registry.namespace("pronom").types}
    assert len(types) == 12
    assert (types["lan"], types["x-lan"], types["fmt"]) == (
        ("programming language", False),
        ("programming language", True),
        ("file format", False),
    )
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


def test_types_are_exported_and_merged(registry: Registry, tmp_path: Path) -> None:
    """An export contains them, and registries that added different ones come to have both."""
    with idstore.open(tmp_path / "other", administrator=ALICE) as other:
        first = tmp_path / "first.nq"
        with first.open("wb") as target:
            rdf.export(registry, target, ALICE, "nquads")
        rdf.import_registry(other, [first], ALICE)
        registry.add_type("own", "lan", "programming language", ALICE)
        other.add_type("own", "scr", "script", ALICE)
        second = tmp_path / "second.nq"
        with second.open("wb") as target:
            rdf.export(registry, target, ALICE, "nquads")
        rdf.import_registry(other, [second], ALICE, own_history=True)
        assert {"lan", "scr", "x-scr"} < {one.code for one in other.namespace("own").types}
        assert is_sound(other)


def test_damage_to_a_type_is_found(registry: Registry) -> None:
    assert ("types", "chr|cmp|fmt|hdw|sfw") in registry.namespace("own").settings
    quads = registry.namespace("own").quads()
    node = NamedNode(f"{OWN}fmt")
    assert {quad.predicate for quad in quads if quad.subject == node} >= {SKOS.notation, SKOS.prefLabel}
    assert sum(quad.predicate == IDS.labelType for quad in quads) == 10


# authorities


@pytest.mark.parametrize("label", ["fmt/99999", "x-fmt/7", "x-fmt/9002", "x-fmt/a", "x-chr/1"])
def test_puids_of_another_authority_are_not_assigned_here(registry: Registry, label: str) -> None:
    with pytest.raises(errors.NotPermitted, match="assigned elsewhere and come by import; this registry"):
        registry.register("pronom", label, ALICE)
    assert registry.register("own", label, ALICE).label == label


def test_puids_of_a_reserved_range_are_assigned_here(registry: Registry) -> None:
    request = Request(metadata={"type": "x-fmt"})
    with pytest.raises(
        errors.NotPermitted, match="this registry assigns only x-fmt/9000-9001, x-fmt/500-501"
    ):
        registry.mint("pronom", ALICE, FORMAL)
    assert registry.register("pronom", "x-fmt/9000", ALICE).provisional
    labels = [registry.mint("pronom", BOB, request).label for _ in range(3)]
    assert labels == ["x-fmt/9001", "x-fmt/500", "x-fmt/501"]
    with pytest.raises(errors.NamespaceExhausted):
        registry.mint("pronom", BOB, request)
    assert is_sound(registry)


def test_an_import_does_not_replace_a_local_puid(registry: Registry, tmp_path: Path) -> None:
    """Neither a list nor another registry's export changes it, and both are named."""
    draft = registry.register("pronom", "x-fmt/500", BOB, Request(name="ours")).iri
    with pytest.raises(
        errors.ImportConflict, match="line 2 lists x-fmt/500 as 'theirs', which is the created"
    ):
        registry.enrol("pronom", [Listed(1, "fmt/1"), Listed(2, "x-fmt/500", "theirs")], ALICE, "a list")
    with idstore.open(tmp_path / "other", administrator=ALICE) as other:
        other.add_namespace("pronom", "info:pronom/", "puid", ALICE, {"reserved": RESERVED})
        other.enrol("pronom", [Listed(1, "fmt/1"), Listed(2, "x-fmt/500", "theirs")], ALICE, "a list")
        file = tmp_path / "other.nq"
        with file.open("wb") as target:
            rdf.export(other, target, ALICE, "nquads")
    with pytest.raises(errors.ImportConflict, match="x-fmt/500 is registered there as 'theirs'"):
        rdf.import_registry(registry, [file], ALICE)
    assert registry.show(draft, BOB).names == (("und", "ours"),)
    assert registry.counts(ALICE).total == 1


def test_the_mark_never_goes_down(registry: Registry, tmp_path: Path) -> None:
    assert [registry.mint("own", ALICE, FORMAL).label for _ in range(3)] == ["fmt/1", "fmt/2", "fmt/3"]
    registry.release("own:fmt/3", ALICE)
    registry.release("own:fmt/2", ALICE)
    registry.close()
    with idstore.open(tmp_path / "store") as again:
        assert again.mint("own", ALICE, FORMAL).label == "fmt/4"
        assert again.mint("own", ALICE, Request(metadata={"type": "sfw"})).label == "sfw/1"


def test_a_chosen_number_does_not_spoil_all_later_ones(registry: Registry) -> None:
    for label in ("fmt/1000000000", "fmt/999999999999999999"):
        with pytest.raises(errors.InvalidIdentifier, match="choose a shorter one") as caught:
            registry.register("own", label, BOB)
        assert caught.value.position == 4
    registry.register("own", "fmt/999999999", BOB)
    assert registry.register("own", "fmt/1000000000a", BOB).label == "fmt/1000000000a"
    assert [registry.mint("own", BOB, FORMAL).label for _ in range(2)] == ["fmt/1000000000", "fmt/1000000001"]
    assert registry.show("own:fmt/1000000000", BOB).label == "fmt/1000000000"


def test_a_provisional_puid_of_ours_is_superseded_and_not_fixated(registry: Registry) -> None:
    draft = registry.mint("own", ALICE, Request(metadata={"type": "x-fmt"})).iri
    with pytest.raises(
        errors.StageConflict, match="mint the formal identifier, fixate it, and supersede this one by it"
    ):
        registry.fixate([draft], ALICE)
    [formal] = published(registry, 1)
    registry.supersede(draft, [formal], ALICE)
    assert registry.resolve(draft, ALICE).current == (formal,)


# successors


def test_a_chain_of_successors_is_shown_to_its_end(registry: Registry) -> None:
    a, b, c, d = published(registry, 4)
    registry.supersede(a, [b], ALICE)
    registry.supersede(b, [c, d], ALICE)
    found = registry.resolve(a, BOB)
    assert found.succession == (Superseded(a, (b,)), Superseded(b, (c, d)))
    assert (found.target, found.current, found.path, found.buried) == (None, (c, d), (a, b), False)
    registry.target(b, "http://example.org/b", ALICE)
    assert registry.resolve(a, BOB).target == "http://example.org/b"


def test_a_long_chain_of_successors_is_not_followed_to_its_end(registry: Registry) -> None:
    chain = published(registry, SUCCESSIONS + 3)
    for one, other in pairwise(chain):
        registry.supersede(one, [other], ALICE)
    registry.target(chain[-1], "http://example.org/last", ALICE)
    assert registry.resolve(chain[3], BOB).target == "http://example.org/last"
    found = registry.resolve(chain[0], BOB)
    assert (found.target, len(found.succession)) == (None, SUCCESSIONS)
    new, other = published(registry, 2)
    with pytest.raises(errors.InvalidData, match=f"more than {SUCCESSIONS} times .* name its latest"):
        registry.supersede(new, [chain[0]], ALICE)
    registry.supersede(other, [chain[4]], ALICE)


def test_cycles_of_successors_are_refused_with_their_path(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    registry.supersede(a, [b], ALICE)
    registry.supersede(b, [c], ALICE)
    for successors in ([a], [b], [c]):
        with pytest.raises(errors.InvalidData, match="cannot replace"):
            registry.supersede(c, successors, ALICE)
    with pytest.raises(errors.InvalidData, match=rf"\({a} by {b} by {c}\)"):
        registry.deprecate(c, "old", ALICE, [a])
    assert registry.show(c, ALICE).successors == ()


def test_imported_cycles_of_successors_terminate(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    with registry.store.bulk() as turn:
        for one, other in ((a, b), (b, a), (c, c)):
            event = registry.core.event(
                turn, IDS.Supersession, NamedNode(one), ALICE, (DCTERMS.isReplacedBy, NamedNode(other))
            )
            Replay(registry.core).replay(turn, event)
    with pytest.raises(errors.NotRegistered, match="form a cycle"):
        registry.resolve(a, BOB)
    with pytest.raises(errors.NotRegistered, match="form a cycle"):
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


# relations


def test_relations_are_bound_once_and_never_unbound(registry: Registry) -> None:
    a, b, c = published(registry, 3)
    proposals = [
        Stated(
            "fmt/1",
            ((ADMS.next.value, "fmt/2"), (IDS.canContain.value, "fmt/9")),
            "old",
            ("fmt/1", "fmt/3", "fmt/9"),
        ),
        Stated("fmt/8"),
    ]
    rehearsal = registry.relate("own", proposals, ALICE, "a list", dry_run=True)
    assert registry.show(a, ALICE).bindings == ()
    found = registry.relate("own", proposals, ALICE, "a list")
    assert (
        found
        == rehearsal
        == Related(
            ((a, ADMS.next.value, b),),
            ((a, "old", (c,)),),
            passed=(
                "fmt/1 is related to fmt/9, which is not registered here",
                "fmt/1 is said to be replaced by itself",
                "fmt/1 is replaced by fmt/9, which is not registered here",
                "fmt/8 is not registered here, or not as fixated",
            ),
        )
    )
    before = len(list(registry.log(ALICE)))
    again = registry.relate("own", proposals, ALICE, "a list")
    assert (again.changes, again.unchanged) == (False, 1)
    assert len(list(registry.log(ALICE))) == before
    gone = registry.relate(
        "own", [Stated("fmt/1"), Stated("fmt/2", ((ADMS.next.value, "fmt/3"),))], ALICE, "a newer list"
    )
    assert gone.bound == ((b, ADMS.next.value, c),)
    assert gone.vanished == ((a, ADMS.next.value, b),)
    assert len(registry.show(a, ALICE).bindings) == 1
    assert is_sound(registry)


def test_only_administrators_import_relations(registry: Registry) -> None:
    published(registry, 2)
    with pytest.raises(errors.NotPermitted):
        registry.relate("own", [Stated("fmt/1", deprecation="no")], BOB, "a list")
    with pytest.raises(errors.InvalidData, match="reserved for records"):
        registry.relate("own", [Stated("fmt/1", ((IDS.owner.value, "fmt/2"),))], ALICE, "a list")
    assert registry.show("own:fmt/1", ALICE).bindings == ()


SPACE = "http://pronom.nationalarchives.gov.uk"


def report(puid: str, number: int, description: str = "", *related: tuple[str, int]) -> str:
    relations = "".join(
        f"<RelatedFormat><RelationshipType>{kind}</RelationshipType><RelatedFormatID>"
        f"{other}</RelatedFormatID></RelatedFormat>"
        for kind, other in related
    )
    return (
        f'<PRONOM-Report xmlns="{SPACE}"><report_format_detail><FileFormat><FormatID>'
        f"{number}</FormatID><FormatName>N</FormatName>"
        f"<FormatDescription>{description}</FormatDescription>"
        f"<FileFormatIdentifier><Identifier>{puid}</Identifier>"
        f"<IdentifierType>PUID</IdentifierType></FileFormatIdentifier>{relations}"
        f"</FileFormat></report_format_detail></PRONOM-Report>"
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
        (
            "PUID deprecated. Please see x-fmt/248 and x-fmt/249 for",
            "PUID deprecated. Please see x-fmt/248 and x-fmt/249",
            ("x-fmt/248", "x-fmt/249"),
        ),
        (
            "A.\n This is currently deprecated\n in favour of fmt/414 in order",
            "deprecated in favour of fmt/414",
            ("fmt/414",),
        ),
        ("The PUID for OS/2 Bitmap 1.0 (x-fmt/25) has therefore been deprecated.", None, ()),
        ("Its use has been deprecated since the release of DNG format.", None, ()),
    ],
)
def test_deprecation_is_read_from_the_description(
    tmp_path: Path, description: str, deprecation: str | None, successors: tuple[str, ...]
) -> None:
    place = tmp_path / "one.xml"
    place.write_text(report("fmt/1", 1, description))
    [found] = pronom_reports.read(place)
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
def test_a_malformed_report_is_an_error(tmp_path: Path, content: bytes, reason: str) -> None:
    place = tmp_path / "file.zip"
    place.write_bytes(content)
    with pytest.raises(errors.ExchangeError, match=reason):
        pronom_reports.read(place)


def test_a_damaged_archive_and_a_repeated_puid_are_errors(tmp_path: Path) -> None:
    place = archive(tmp_path / "two.zip", report("fmt/1", 1), report("fmt/1", 2))
    with pytest.raises(errors.ExchangeError, match="has a report already"):
        pronom_reports.read(place)
    content = bytearray(archive(tmp_path / "one.zip", report("fmt/1", 1)).read_bytes())
    content[60] ^= 255
    place.write_bytes(content)
    with pytest.raises(errors.ExchangeError, match="cannot be read"):
        pronom_reports.read(place)
    with pytest.raises(errors.ExchangeError, match="cannot be read"):
        pronom_reports.read(tmp_path / "missing.zip")


def test_relations_without_a_term_or_a_report_are_ignored(registry: Registry, tmp_path: Path) -> None:
    formats = (
        b'<FFSignatureFile><FileFormatCollection><FileFormat PUID="fmt/1" '
        b'Name="N"/></FileFormatCollection></FFSignatureFile>'
    )
    with droid.signatures(io.BytesIO(formats)) as read:
        pronom.import_formats(registry, read, ALICE)
    found = pronom_reports.read(
        archive(tmp_path / "one.zip", report("fmt/1", 1, "", ("Looks like", 1), ("Can contain", 7)))
    )
    assert pronom.import_relations(registry, found, ALICE, "test").passed == (
        "fmt/1: PRONOM's relation 'Looks like' has no term here",
        "fmt/1: no report is about format 7 (), which it is related to",
    )


def test_a_relation_to_a_number_that_several_reports_have_is_skipped(
    registry: Registry, tmp_path: Path
) -> None:
    formats = b"".join(b'<FileFormat PUID="fmt/%d" Name="N"/>' % number for number in (1, 2, 3))
    file = b"<FFSignatureFile><FileFormatCollection>%b</FileFormatCollection></FFSignatureFile>" % formats
    with droid.signatures(io.BytesIO(file)) as read:
        pronom.import_formats(registry, read, ALICE)
    found = pronom_reports.read(
        archive(
            tmp_path / "three.zip",
            report("fmt/1", 1, "", ("Can contain", 7), ("Can contain", 1)),
            report("fmt/2", 7),
            report("fmt/3", 7),
        )
    )
    related = pronom.import_relations(registry, found, ALICE, "test")
    assert related.passed == (
        "fmt/1: it is related to format 7 (), and the reports of fmt/2, fmt/3 have that number",
    )
    (bound,) = registry.show("fmt/1", ALICE).bindings
    assert bound.target == "info:pronom/fmt/1"


# JSON records


def record(puid: str, number: int, name: str = "N", **more: object) -> str:
    return json.dumps(
        {
            "fileFormatID": number,
            "formatName": name,
            "version": None,
            "formatDescription": None,
            "identifiers": [
                {"identifierText": "a/b", "identifierType": "MIME"},
                {"identifierText": puid, "identifierType": "PUID"},
            ],
            **more,
        }
    )


def related(kind: str, number: int) -> dict[str, object]:
    return {
        "relationships": [{"relationshipType": kind, "relatedFormatID": number, "relatedFormatName": "N"}]
    }


RECORDS = {
    "signatures/fmt/1.json": record(
        "fmt/1", 11, "PDF", version="1.4", **related("Is previous version of", 12)
    ),
    "signatures/fmt/2.json": record("fmt/2", 12, "PDF", version="1.5"),
    "signatures/x-fmt/1.json": record(
        "x-fmt/1", 13, "Old", formatDescription="PUID deprecated. Please see fmt/2: PDF", withdrawnDate=None
    ),
    "actors/1.json": json.dumps({"actorId": 1, "name": "The National Archives"}),
    "format_schema.json": json.dumps({"title": "PRONOM signature JSON", "properties": {}}),
}


def publish(place: Path, records: dict[str, str], *, packed: bool) -> Path:
    """Write records as a folder or as an archive."""
    if packed:
        with zipfile.ZipFile(place.with_suffix(".zip"), "w") as made:
            for name, text in records.items():
                made.writestr(f"pronom-signatures-develop/{name}", text)
        return place.with_suffix(".zip")
    for name, text in records.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return place


@pytest.mark.usefixtures("rdl")
def test_json_records_bind_to_other_registries(run: Run, tmp_path: Path) -> None:
    """Several PUIDs may have one item of Wikidata, so the relation is no exact match."""
    kinds = "Wikidata QID Identifier", "Library of Congress Format Description Identifier"
    texts = [
        ("Q105856544", "fdd000470"),
        ("https://www.wikidata.org/wiki/Q105856544", "Geospatial Data Abstraction Library"),
    ]
    records = {
        f"signatures/fmt/{number}.json": record(
            f"fmt/{number}",
            number,
            identifiers=[
                {"identifierText": f"fmt/{number}", "identifierType": "PUID"},
                {"identifierText": "", "identifierType": "Other"},
                *(
                    {"identifierText": text, "identifierType": kind}
                    for kind, text in zip(kinds, pair, strict=True)
                ),
            ],
        )
        for number, pair in enumerate(texts, 1)
    }
    source = publish(tmp_path / "records", records, packed=False)
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    done = run("import", source).lines
    assert "bound 3 relations, deprecated 0 identifiers; 0 relations are as they were" in done
    assert done[-1] == f"passed over\tfmt/2: 'Geospatial Data Abstraction Library' is no {kinds[1]}"
    first, second = (run("show", f"fmt/{number}", "--json").object["bindings"] for number in (1, 2))
    item = (SKOS.closeMatch.value, "http://www.wikidata.org/entity/Q105856544")
    page = "https://www.loc.gov/preservation/digital/formats/fdd/fdd000470.shtml"
    assert {(one["relation"], one["target"]) for one in first} == {item, (SKOS.closeMatch.value, page)}
    assert [(one["relation"], one["target"]) for one in second] == [item]
    again = run("import", source).lines
    assert "bound 0 relations, deprecated 0 identifiers; 3 relations are as they were" in again


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("packed", [False, True])
def test_json_records_register_relate_and_deprecate(run: Run, tmp_path: Path, packed: bool) -> None:
    source = publish(tmp_path / "records", RECORDS, packed=packed)
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    dry = run("import", source, "--dry-run").lines
    assert dry[:2] == [
        "would register 3 identifiers, rename 0; 0 are as they were",
        "new\tinfo:pronom/fmt/1",
    ]
    assert "deprecated\tinfo:pronom/x-fmt/1: PUID deprecated. Please see fmt/2 → info:pronom/fmt/2" in dry
    run("show", "fmt/1", code=4)
    run("import", source)
    assert run("list", "--deprecated").lines[0].startswith("info:pronom/x-fmt/1\t")
    assert run("resolve", "x-fmt/1").line == "info:pronom/fmt/2"
    pdf = run("show", "fmt/1", "--json").object
    assert (pdf["names"], pdf["version"]) == ({"und": "PDF"}, "1.4")
    assert [(one["relation"], one["target"]) for one in pdf["bindings"]] == [
        (ADMS.next.value, "info:pronom/fmt/2")
    ]
    newer = dict(list(RECORDS.items())[1:], **{"signatures/fmt/2.json": record("fmt/2", 12, "Acrobat")})
    assert run("import", publish(tmp_path / "newer", newer, packed=packed)).lines[:2] == [
        "registered 0 identifiers, renamed 1; 1 are as they were; 1 no longer in PRONOM's records; kept here",
        "renamed\tinfo:pronom/fmt/2: PDF 1.5 → Acrobat",
    ]
    assert run("verify").line == "sound"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("{}", "it holds no report"),
        (record("fmt/1", 1, ""), "no name"),
        (record("fmt/1", 1, identifiers=[]), "it names 0 PUIDs"),
        (record("fmt/1", 1, identifiers="fmt/1"), "identifiers is no list"),
        (record("fmt/1", 1, relationships=["x"]), "'x' stands for an object"),
        (record("fmt/1", 1, version={"a": 1}), "version is neither a text nor a number"),
        (record("FMT/1", 1), "'F' cannot stand"),
    ],
)
def test_a_malformed_record_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    place = publish(tmp_path / "records", {"signatures/fmt/1.json": text}, packed=False)
    with pytest.raises(errors.ExchangeError, match=reason):
        pronom_reports.read(place)


def test_records_are_taken_in_whole_or_not_at_all(registry: Registry, tmp_path: Path) -> None:
    records = pronom_reports.read(
        publish(tmp_path / "records", {**RECORDS, "2.json": record("fmt/3", 14, "N" * 70_000)}, packed=False)
    )
    with pytest.raises(errors.ExchangeError, match="name of fmt/3 has 70000 bytes"):
        pronom.import_records(registry, records, ALICE, "records")
    with pytest.raises(errors.NotPermitted, match="only administrators"):
        pronom.import_records(registry, records[1:], BOB, "records")
    assert registry.list(ALICE) == []


@pytest.mark.slow
@pytest.mark.realdata
def test_a_release_is_imported_over_an_earlier_one(run: Run, real_data: Path) -> None:
    """V109 with its reports, then V122: names change; identifiers, relations and deprecations remain."""
    run("namespace", "add", "pronom", "info:pronom/", "--scheme", "puid")
    newer = real_data / "DROID_SignatureFile_V122.xml.gz"
    with as_file(files("fido") / "conf") as carried:
        older = carried / "DROID_SignatureFile-v109.xml"
        rehearsal = run("import", older, "--dry-run").lines
        assert rehearsal[0] == "would register 2246 identifiers, rename 0; 0 are as they were"
        assert (len(rehearsal), rehearsal[1]) == (2247, "new\tinfo:pronom/x-fmt/1")
        run("import", older)
        run("import", carried / "pronom-xml-v109.zip")
    rehearsal = run("import", newer, "--dry-run").lines
    assert rehearsal[0] == "would register 298 identifiers, rename 41; 2205 are as they were"
    assert sum(line.startswith("renamed\t") for line in rehearsal) == 41
    assert (
        "renamed\tinfo:pronom/fmt/61: Microsoft Excel 97 Workbook (xls) 8 → "
        "Microsoft Excel 97-2003 Workbook (xls) 8 & 8X" in rehearsal
    )
    assert run("import", newer, "--json").object["unchanged"] == 2205
    assert run("import", newer).line == "registered 0 identifiers, renamed 0; 2544 are as they were"
    assert len(run("import", real_data / "DROID_SignatureFile_V122.xml.gz", "--dry-run").lines) == 1
    assert run("resolve", "x-fmt/246", "--quiet").line == "info:pronom/fmt/166"
    assert "circle" not in run("resolve", "fmt/60", code=4).err
    with as_file(files("fido") / "conf") as carried:
        refused = run("import", carried / "DROID_SignatureFile-v109.xml", "--dry-run", code=8)
        back = run("import", carried / "DROID_SignatureFile-v109.xml", "--dry-run", "--force").lines
    assert "is version 109, and version 122 was imported last" in refused.err
    assert sum(line.startswith("no longer in PRONOM's file; kept here\t") for line in back) == 298
    assert run("verify").line == "sound"
