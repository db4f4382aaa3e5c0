"""Sources of validation, and the content of reports."""

from pathlib import Path

import pytest
import rdflib
from pyoxigraph import Literal, NamedNode, Quad, Store
from small_registry import STORE, changed, sound

from idstore.errors import ExchangeError, InvalidData, StoreUnavailable
from idstore.validation import (
    QuadSource,
    Shapes,
    StoreSource,
    ValidationReport,
    ValidationResult,
    shapes,
    validate,
    validate_file,
    validate_registry,
)
from idstore.validation.report import compact
from idstore.validation.shapes import load, names, read
from idstore.validation.source import in_memory
from idstore.vocabulary import IDS, PUBLIC_LOG, RDFS, REGISTRY_GRAPH, access_graph

SHAPES = load("registry")
R1 = NamedNode("http://rdl.example.org/data#R1")
R2 = NamedNode("http://rdl.example.org/data#R2")
BASE = NamedNode("http://rdl.example.org/data#")
PRIVATE = access_graph(frozenset({"ada", "bob"}))
VALUE = NamedNode("https://hdl.handle.net/10.5555/x#300")
SETTING = NamedNode(f"{STORE}0000000000000024")
CONFINED = (
    "a value that not everyone may read, or an event about one, is in a graph that others than its owner see"
)
OWNERS = access_graph(frozenset({"bob"}))
HEAD = "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."


def in_graphs(quads: list[Quad]) -> list[Quad]:
    """Return the valid registry in graphs, as a store holds it."""
    events = {quad.subject for quad in quads if quad.predicate == IDS.about}
    private = {quad.subject for quad in quads if quad.object == IDS.Created}
    confined = {
        quad.subject
        for quad in quads
        if quad.predicate in (IDS.permissions, IDS.withPermissions) and quad.object == Literal("1100")
    }
    public = {
        quad.subject
        for quad in quads
        if quad.object in (IDS.Fixated, IDS.Tombstone) or quad.predicate == IDS.valueOf
    } - events
    made = []
    for quad in quads:
        graph = (
            OWNERS
            if quad.subject in confined
            else PRIVATE
            if quad.subject in private
            else BASE
            if quad.subject in public
            else PUBLIC_LOG
        )
        made.append(Quad(quad.subject, quad.predicate, quad.object, graph))
    return made


OWNERLESS = "DELETE WHERE { :R1 ids:owner ?x }"


@pytest.mark.parametrize("update", ["", OWNERLESS])
def test_every_form_of_data_gives_the_same_report(update: str) -> None:
    quads = changed(update)
    store = Store()
    store.extend(in_graphs(quads))
    graph = rdflib.Graph()
    graph.parse(data="\n".join(f"{quad.triple} ." for quad in quads), format="nt")
    reports = [
        validate(form, SHAPES)
        for form in (
            quads,
            iter(quads),
            [quad.triple for quad in quads],
            in_graphs(quads),
            graph,
            StoreSource(store, 2),
        )
    ]
    assert {report.conforms for report in reports} == {not update}
    assert len({str(report) for report in reports}) == 1


def test_a_finding_has_focus_path_and_rule() -> None:
    report = validate(changed(OWNERLESS), SHAPES)
    assert report.results == (
        ValidationResult(
            focus=R1,
            path=str(IDS.owner),
            value=None,
            shape="https://w3id.org/idstore/shapes#Record-owner",
            name="owner",
            component="minCount",
            message="An identifier has one owner, a party.",
            severity="Violation",
        ),
    )
    assert str(report) == (
        "1 finding\nViolation: <http://rdl.example.org/data#R1> ids:owner: "
        "An identifier has one owner, a party. [owner]"
    )


def test_a_finding_shows_the_offending_value() -> None:
    (finding,) = validate(changed("INSERT DATA { :R2 rdfs:label 5 }"), SHAPES).results
    assert str(finding).endswith('(found "5"^^xsd:integer) [name]')


def test_a_node_that_violates_a_constraint_itself_is_the_value() -> None:
    (finding,) = validate(changed("DELETE WHERE { :R3 ids:reason ?x }"), SHAPES).results
    assert (finding.path, finding.value) == (None, finding.focus)
    assert (
        str(finding)
        == "Violation: <http://rdl.example.org/data#R3>: A tombstone has a reason. [reason of a tombstone]"
    )


def test_a_shape_without_message_and_name_names_its_constraint() -> None:
    wanted = read(
        f"{HEAD} <urn:s> sh:targetSubjectsOf rdfs:label ; sh:property [ sh:path "
        f"rdfs:label ; sh:maxLength 3 ; sh:severity sh:Warning ] ."
    )
    (finding,) = validate([Quad(R1, RDFS.label, Literal("long"))], wanted).results
    assert finding.severity == "Warning"
    assert finding.message == "breaks sh:maxLength 3"
    assert finding.shape.startswith("_:")


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 100])
def test_a_report_ends_at_the_limit_and_says_so(limit: int) -> None:
    data = changed("DELETE { ?s ids:owner ?o } WHERE { ?s ids:owner ?o . ?s ids:stage ?x }")
    report = validate(data, SHAPES, limit=limit)
    assert len(report.results) == min(5, limit)
    assert report.complete == (limit >= 5)
    assert str(report).startswith(
        f"{min(5, limit)} finding{'s' if limit > 1 else ''}"
        + (", and more that are not listed" if limit < 5 else "")
    )


def test_findings_are_sorted_and_unique() -> None:
    report = validate(in_graphs(changed("DELETE { ?s ids:owner ?o } WHERE { ?s ids:owner ?o }")), SHAPES)
    assert list(report.results) == sorted(set(report.results), key=lambda found: found.order)
    assert len(report.results) == 7


def test_a_report_without_findings() -> None:
    assert ValidationReport().conforms
    assert str(ValidationReport()) == "conforms"


def test_triples_in_several_graphs_count_once() -> None:
    doubled = [
        *in_graphs(sound()),
        *(Quad(quad.subject, quad.predicate, quad.object, REGISTRY_GRAPH) for quad in sound()),
    ]
    assert validate(doubled, SHAPES).conforms


# whole registries


def test_a_registry_with_each_record_in_its_place_conforms() -> None:
    assert str(validate_registry(in_graphs(sound()), SHAPES)) == "conforms"


@pytest.mark.parametrize(
    ("node", "graph", "message"),
    [
        (R1, BASE, "a created identifier is in a graph that others than its grant list see"),
        (R1, PUBLIC_LOG, "a created identifier is in a graph that others than its grant list see"),
        (VALUE, PRIVATE, CONFINED),
        (VALUE, BASE, CONFINED),
        (SETTING, PUBLIC_LOG, CONFINED),
        (R2, PRIVATE, "the record of a fixated identifier or tombstone is in the graph of an access list"),
    ],
)
def test_a_record_in_the_wrong_graph_is_found(node: NamedNode, graph: NamedNode, message: str) -> None:
    moved = [
        Quad(quad.subject, quad.predicate, quad.object, graph if quad.subject == node else quad.graph_name)
        for quad in in_graphs(sound())
    ]
    assert validate(moved, SHAPES).conforms
    (finding,) = validate_registry(moved, SHAPES).results
    assert (finding.focus, finding.value, finding.message) == (node, graph, message)


def test_the_initial_stage_of_an_identifier_may_be_in_any_graph() -> None:
    private = [
        Quad(quad.subject, quad.predicate, quad.object, PRIVATE)
        for quad in in_graphs(sound())
        if quad.graph_name == PUBLIC_LOG
    ]
    assert {quad.object for quad in private} >= {IDS.Fixated}
    assert validate_registry(private, Shapes()).conforms


def test_misplaced_records_count_towards_the_limit() -> None:
    moved = [Quad(quad.subject, quad.predicate, quad.object, PRIVATE) for quad in sound()]
    assert len(validate_registry(moved, SHAPES).results) == 5
    report = validate_registry(moved, SHAPES, limit=2)
    assert (len(report.results), report.complete) == (2, False)


def test_a_store_on_disk_is_checked_in_place(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "engine"))
    store.extend(in_graphs(changed(OWNERLESS)))
    for threads in (1, 3):
        assert len(validate_registry(StoreSource(store, threads), SHAPES).results) == 1


def test_a_source_that_cannot_be_read_is_reported_as_unavailable() -> None:
    class Broken:
        def query(self, *_: object, **__: object) -> object:
            raise OSError("no such table file")

    with pytest.raises(StoreUnavailable, match="no such table file"):
        validate(StoreSource(Broken()), SHAPES)  # type: ignore[arg-type]


def test_sources_are_recognised_by_their_methods() -> None:
    assert isinstance(in_memory([]), QuadSource)
    assert not isinstance(sound(), QuadSource)


# files


def test_a_file_is_checked_in_the_format_that_its_extension_names(tmp_path: Path) -> None:
    for extension in ("nt", "ttl"):
        path = tmp_path / f"registry.{extension}"
        path.write_text("".join(f"{quad.triple} .\n" for quad in changed(OWNERLESS)), encoding="utf-8")
        assert len(validate_file(path, SHAPES).results) == 1
        assert validate_file(str(path), SHAPES) == validate_file(path, SHAPES)


def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.ttl"
    path.write_text("<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> .\n", encoding="utf-8")
    with pytest.raises(ExchangeError) as caught:
        validate_file(path, SHAPES)
    assert caught.value.fields["file"] == str(path)
    assert caught.value.fields["line"] == 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("registry.pdf", "not one of an RDF format"),
        ("registry", "not one of an RDF format"),
        ("absent.ttl", "No such file"),
        ("absent", "no such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    if name.startswith("registry"):
        (tmp_path / name).touch()
    with pytest.raises(ExchangeError, match=reason) as caught:
        validate_file(tmp_path / name, SHAPES)
    assert caught.value.fields["line"] is None


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.nt"
    path.write_bytes(b"\xff\xfe<urn:a>")
    with pytest.raises(ExchangeError):
        validate_file(path, SHAPES)


# shapes


def test_shipped_shapes_are_found_by_name() -> None:
    assert "registry" in names()
    assert len(load("registry").triples) < len(load(*names()).triples)
    assert load("registry") is load("registry")


def test_unknown_shapes_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidData, match=r"no shapes .nothing.; use .*registry"):
        load("nothing")


def test_malformed_turtle_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidData, match="mine, line 2"):
        read("<urn:a> <urn:b> <urn:c> .\n.", "mine")


def test_shapes_add_up() -> None:
    more = read(f"{HEAD} <urn:s> sh:targetSubjectsOf rdfs:label ; sh:nodeKind sh:Literal .")
    assert len(validate(sound(), SHAPES + more).results) == 1
    assert shapes.from_triples(more.triples) == more


def test_shapes_beyond_the_compiler_are_left_to_pyshacl() -> None:
    wanted = read(
        f"{HEAD} <urn:s> sh:targetSubjectsOf rdfs:label ; sh:property [ sh:path [ "
        f"sh:zeroOrOnePath rdfs:label ] ; sh:maxCount 3 ] ."
    )
    quads = sound()
    source = in_memory(quads)
    for report in (validate(quads, wanted), validate(source, wanted)):
        assert [(found.focus, found.component, found.path) for found in report.results] == [
            (R1, "maxCount", f"{RDFS.label}?")
        ]
    assert not validate(source, wanted, limit=0).complete


def test_shapes_that_no_engine_supports_are_refused() -> None:
    broken = read(f"{HEAD} <urn:s> sh:targetSubjectsOf rdfs:label ; sh:minLength 1, 2 .")
    with pytest.raises(InvalidData, match="2 values of sh:minLength"):
        validate([], broken)
    recursive = read(
        f"{HEAD} <urn:s> sh:targetSubjectsOf rdfs:label ; sh:node 5 ; sh:property "
        f"[ sh:path [ sh:zeroOrOnePath rdfs:label ] ] ."
    )
    with pytest.raises(InvalidData):
        validate([], recursive)


def test_iris_are_shortened_for_reading_only() -> None:
    assert compact("<https://w3id.org/idstore/ontology#about>/^<urn:x>") == "ids:about/^<urn:x>"
    assert compact("plain") == "plain"
