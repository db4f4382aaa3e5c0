"""The command ``idstore reconcile``: kinds of findings, formats, kinds of sides, decisions, and privacy."""

import gzip
from pathlib import Path

import pytest
from command_lines import NEVER, RDL, Minting, Run, tree
from pyoxigraph import RdfFormat, Triple, parse
from rdflib import Graph, URIRef
from rdflib.namespace import DCTERMS, RDF

from idstore import validation
from idstore.errors import NotRegistered
from idstore.validation import shapes
from idstore.vocabulary import IDS, SKOS

WD = "http://www.wikidata.org/entity/"
HEAD = "subject_id\tpredicate_id\tobject_id\tconfidence\tauthor_id\tpredicate_modifier"


def table(place: Path, *rows: str, head: str = HEAD) -> Path:
    place.write_text("".join(f"{row}\n" for row in (head, *rows)), encoding="utf-8")
    return place


def kinds(run: Run, *sides: Path | str) -> dict[str, list[str]]:
    """Return the findings: kind → subject."""
    found: dict[str, list[str]] = {}
    for finding in run("reconcile", *sides, "--clusters", "--json").objects:
        found.setdefault(finding["kind"], []).append(finding["about"])
    return found


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return tmp_path / "a.tsv"


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return tmp_path / "b.tsv"


# kinds of findings


def test_agreement_gives_no_finding(run: Run, a: Path, b: Path) -> None:
    for place in (a, b):
        table(place, f"{RDL}R1\tskos:exactMatch\t{WD}Q1", f"{RDL}R2\tskos:closeMatch\t{WD}Q2")
    outcome = run("reconcile", a, b, "--strict")
    assert (outcome.out, outcome.err) == ("nothing to reconcile\n", "")


@pytest.mark.parametrize(
    ("rows", "kind", "about"),
    [
        (
            [f"{RDL}R1\tskos:exactMatch\t{WD}Q1", f"{RDL}R1\tskos:closeMatch\t{WD}Q2"],
            "several-targets",
            f"{RDL}R1",
        ),
        (
            [f"{RDL}R1\tskos:closeMatch\t{WD}Q1", f"{RDL}R2\tskos:closeMatch\t{WD}Q1"],
            "claimed-twice",
            f"{WD}Q1",
        ),
        ([f"{RDL}R1\tskos:closeMatch\turn:x:1", "urn:x:1\tskos:closeMatch\turn:y:1"], "chain", f"{RDL}R1"),
        (
            [
                "urn:x:1\tskos:closeMatch\turn:y:1",
                "urn:y:1\towl:sameAs\turn:z:1",
                "urn:z:1\tskos:closeMatch\turn:x:1",
            ],
            "circle",
            "urn:x:1",
        ),
        ([f"{RDL}R1\towl:sameAs\turn:x:1", f"urn:x:1\tskos:exactMatch\t{RDL}R2"], "joined", f"{RDL}R1"),
        ([f"{RDL}R1\towl:sameAs\turn:x:1", "urn:x:1\tskos:exactMatch\turn:y:1"], "cluster", f"{RDL}R1"),
        ([f"{RDL}R1\tskos:closeMatch"], "malformed", "a.tsv, line 2"),
        (
            [f"{RDL}R1\tskos:closeMatch\t{WD}Q1\t0.5\t\tNot", f"{RDL}R1\tskos:closeMatch\t{WD}Q1"],
            "denied",
            f"{RDL}R1",
        ),
    ],
)
def test_contradictions_within_one_side_are_found(
    run: Run, a: Path, rows: list[str], kind: str, about: str
) -> None:
    found = kinds(run, table(a, *rows))
    assert [text.rpartition("/")[2] if kind == "malformed" else text for text in found[kind]] == [about]


def test_two_identifiers_bound_to_each_other_are_no_circle(run: Run, a: Path) -> None:
    assert (
        kinds(run, table(a, "urn:x:1\tskos:exactMatch\turn:y:1", "urn:y:1\tskos:exactMatch\turn:x:1")) == {}
    )


def test_a_row_without_a_match_links_nothing(run: Run, a: Path) -> None:
    table(a, f"{RDL}R1\tskos:exactMatch\tsssom:NoTermFound", f"{RDL}R2\tskos:exactMatch\tsssom:NoTermFound")
    assert kinds(run, a) == {}


def test_other_relations_may_have_many_targets(run: Run, a: Path) -> None:
    relations = (
        "skos:broadMatch",
        "skos:relatedMatch",
        "rdfs:seeAlso",
        "foaf:isPrimaryTopicOf",
        "http://example.org/partOf",
    )
    assert (
        kinds(
            run,
            table(a, *(f"{RDL}R1\t{relation}\t{WD}Q{number}" for relation in relations for number in (1, 2))),
        )
        == {}
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (f"{WD}Q1", f"{WD}Q2", True),
        (f"{WD}Q1", f"{WD}P1", False),
        (f"{WD}L1", f"{WD}L1-F1", False),
        (f"{WD}L1-S1", f"{WD}L2-S7", True),
        (f"{WD}Q1", f"{WD}nothing", False),
        ("https://www.wikidata.org/wiki/Q7", "https://www.wikidata.org/wiki/Property:P7", False),
        ("https://database.factgrid.de/entity/Q1", "https://database.factgrid.de/entity/P1", False),
        ("http://purl.obolibrary.org/obo/GO_0008150", "http://purl.obolibrary.org/obo/CHEBI_24867", False),
        ("http://purl.obolibrary.org/obo/GO_0008150", "http://purl.obolibrary.org/obo/GO_0003674", True),
        ("https://identifiers.org/chebi:24867", "https://identifiers.org/go:0008150", False),
        ("https://identifiers.org/chebi:24867", "https://identifiers.org/chebi:15377", True),
        ("http://example.org/Q1", "http://example.org/P1", True),
    ],
)
def test_targets_conflict_only_within_one_kind(
    run: Run, mint: Minting, a: Path, one: str, other: str, same: bool
) -> None:
    """Reconciliation and binding agree on the kind of each target."""
    id = mint()
    table(a, *(f"{id}\tskos:exactMatch\t{target}" for target in (one, other)))
    found = kinds(run, a)
    assert (found.get("several-targets", []), "joined" in found) == (([id], True) if same else ([], False))
    assert [line["verdict"] for line in run("import", a, "--dry-run", "--json").objects] == [
        "new",
        "contradictory" if same else "new",
    ]


def test_a_text_in_two_lists_stands_for_two_things(run: Run, a: Path) -> None:
    rows = (
        "R1\tskos:closeMatch\t10522\tSTEPLIB",
        "R2\tskos:closeMatch\t10522\tISO 15926",
        "R3\tskos:closeMatch\t10522\tSTEPLIB",
    )
    table(a, *rows, head="subject_id\tpredicate_id\tobject_id\tobject_source")
    [twice] = run("reconcile", a, "--json").objects
    assert (twice["kind"], twice["about"], [claim["id"] for claim in twice["claims"]]) == (
        "claimed-twice",
        "10522",
        ["R1", "R3"],
    )


@pytest.mark.parametrize(
    ("sources", "kinds_found"),
    [
        (("STEPLIB", "STEPLIB"), {"several-targets", "joined"}),
        (("STEPLIB", "ISO 15926"), set()),
        (("STEPLIB", ""), set()),
        (("", ""), set()),
    ],
)
def test_a_source_tells_the_kind_of_a_target_that_is_an_iri(
    run: Run, a: Path, sources: tuple[str, str], kinds_found: set[str]
) -> None:
    rows = (
        f"{RDL}R1\tskos:exactMatch\thttp://{host}.example.org/1\t{source}"
        for host, source in zip("ab", sources, strict=True)
    )
    table(a, *rows, head="subject_id\tpredicate_id\tobject_id\tobject_source")
    assert kinds(run, a).keys() - {"cluster"} == kinds_found


@pytest.mark.parametrize(
    ("sources", "claimed"), [(("STEPLIB", "STEPLIB"), True), (("STEPLIB", "ISO 15926"), False)]
)
def test_a_source_tells_the_kind_of_a_subject_that_is_an_iri(
    run: Run, a: Path, sources: tuple[str, str], claimed: bool
) -> None:
    rows = (
        f"http://{host}.example.org/1\tskos:exactMatch\t{RDL}R1\t{source}"
        for host, source in zip("ab", sources, strict=True)
    )
    table(a, *rows, head="subject_id\tpredicate_id\tobject_id\tsubject_source")
    assert bool(kinds(run, a).keys() - {"cluster"}) is claimed


def test_an_import_warns_of_two_targets_of_one_source(run: Run, mint: Minting, a: Path) -> None:
    iri = mint()
    rows = [f"{iri}\tskos:exactMatch\thttp://{host}.example.org/1\t{host < 'c'}" for host in "abc"]
    table(a, *rows, head="subject_id\tpredicate_id\tobject_id\tobject_source")
    verdicts = [row["verdict"] for row in run("import", a, "--dry-run", "--json").objects]
    assert verdicts == ["new", "contradictory", "new"]


def test_targets_of_one_kind_in_two_ways_are_one_contradiction(run: Run, a: Path) -> None:
    targets = ("http://a.example.org/1", "http://a.example.org/2", "http://b.example.org/1")
    table(
        a,
        *(f"{RDL}R1\tskos:closeMatch\t{target}\tSTEPLIB" for target in targets[1:]),
        f"{RDL}R1\tskos:closeMatch\t{targets[0]}\t",
        head="subject_id\tpredicate_id\tobject_id\tobject_source",
    )
    [several] = run("reconcile", a, "--json").objects
    assert (several["kind"], [claim["target"] for claim in several["claims"]]) == (
        "several-targets",
        list(targets),
    )


@pytest.mark.parametrize("format", ["table", "json", "turtle", "html"])
def test_clusters_without_contradiction_are_listed_on_request(run: Run, a: Path, format: str) -> None:
    table(a, f"{RDL}R1\towl:sameAs\turn:x:1", f"{RDL}R1\towl:sameAs\turn:y:1")
    counted = run("reconcile", a, "--format", format)
    assert "1 cluster" in counted.err
    assert "urn:y:1" not in counted.out
    assert "urn:y:1" in run("reconcile", a, "--format", format, "--clusters").out


def test_one_sided_and_different_statements_are_found(run: Run, a: Path, b: Path) -> None:
    table(a, f"{RDL}R1\tskos:closeMatch\t{WD}Q1", f"{RDL}R2\tskos:exactMatch\t{WD}Q2")
    table(b, f"{RDL}R2\tskos:broadMatch\t{WD}Q2")
    found = kinds(run, a, b)
    assert found["different-relations"] == [f"{RDL}R2"]
    assert sorted(found["lacking"]) == [f"{RDL}R1", f"{RDL}R2", f"{RDL}R2"]


def test_the_weakest_link_has_the_lowest_confidence(run: Run, a: Path) -> None:
    rows = [
        f"{RDL}R1\tskos:exactMatch\turn:x:1\t0.9",
        "urn:x:1\tskos:exactMatch\turn:y:1\t0.3",
        f"urn:y:1\tskos:exactMatch\t{RDL}R2\t0.8",
    ]
    [joined] = [one for one in run("reconcile", table(a, *rows), "--json").objects if one["kind"] == "joined"]
    [weakest] = joined["weakest"]
    assert (weakest["id"], weakest["target"], weakest["joins"]) == (
        "urn:x:1",
        "urn:y:1",
        [[f"{RDL}R1", f"{RDL}R2"]],
    )


def test_bindings_to_revoked_replaced_or_unknown_identifiers_are_found(
    run: Run, mint: Minting, store: Path, a: Path
) -> None:
    old, new, given_up = mint(), mint(), mint()
    run("fixate", old, new)
    run("supersede", old, "--by", new)
    run("release", given_up)
    table(
        a, *(f"{id}\tskos:closeMatch\t{WD}Q{number}" for number, id in enumerate([old, new, given_up, NEVER]))
    )
    found = kinds(run, store, a)
    assert {kind: found.get(kind) for kind in ("superseded", "released", "unknown")} == {
        "superseded": [old],
        "released": [given_up],
        "unknown": [NEVER],
    }


def test_differences_of_two_registries_are_found(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    id = mint("--name", "ball valve")
    export = tmp_path / "before.nq"
    run("export", "--format", "nquads", "-o", export)
    run("name", id, "globe valve")
    other = mint()
    found = run("reconcile", store, export, "--json").objects
    [different] = [one for one in found if one["kind"] == "different-statements"]
    assert different["values"]["name"] == {str(store): ["globe valve"], str(export): ["ball valve"]}
    [lacking] = [one for one in found if one["kind"] == "lacking"]
    assert (lacking["about"], lacking["missing"]) == (other, [str(export)])


@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "nquads", "jsonld"])
def test_a_store_and_its_export_agree(
    run: Run, mint: Minting, store: Path, tmp_path: Path, format: str
) -> None:
    id = mint("--name", "ball valve", "--target", "http://example.org/")
    run("bind", id, f"{WD}Q1", "--note", "seen", "--confidence", "0.7")
    export = tmp_path / "export"
    run("export", "--format", format, "-o", export)
    assert run("reconcile", store, export, "--input", format, "--strict").line == "nothing to reconcile"


def test_texts_of_tables_match_their_form_in_the_registry(
    run: Run, mint: Minting, store: Path, a: Path
) -> None:
    id = mint()
    run("bind", id, f"{WD}Q1")
    table(a, f"{id.removeprefix(RDL)}\tskos:exactMatch\t{WD}Q1")
    assert kinds(run, store, a) == {}


# files


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (f"{HEAD}\nx\n", None, ""),
        ("name\n", 1, "no column is known to be the subject"),
        ("id\tid\n", 1, "the column 'id' occurs twice"),
        ("", 1, "it has no header"),
        ("id\ttarget\n\xff", 2, "it is not UTF-8"),
    ],
)
def test_malformed_tables_are_refused_with_their_line(
    run: Run, a: Path, content: str, line: int | None, reason: str
) -> None:
    a.write_bytes(content.encode("latin-1"))
    if line is not None:
        assert f"{a}, line {line}: {reason}" in run("reconcile", a, code=3).err


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"\tskos:closeMatch\t{WD}Q1", "the subject is empty"),
        (f"{RDL}R1\tskos:closeMatch\t", "the target is empty"),
        (f"{RDL}R1\tno relation\t{WD}Q1", "'no relation' is no relation"),
        (f"{RDL}R1\tskos:closeMatch\t{WD}Q1\t2", "the confidence '2' is no number from 0 to 1"),
        (f"{RDL}R1\tskos:closeMatch\t{WD}Q1\tsure", "the confidence 'sure' is no number from 0 to 1"),
        (f"{RDL}R1\tskos:closeMatch\t{WD}Q1\tnan", "the confidence 'nan' is no number from 0 to 1"),
        (
            f"{RDL}R1\tskos:closeMatch\t{WD}Q1\t1e-400000",
            "the confidence '1e-400000' is too small to be kept",
        ),
        ("\t" * 9 + "x", "it has 10 cells, and the header names 6 columns"),
    ],
)
def test_malformed_lines_are_reported_and_the_rest_is_compared(
    run: Run, a: Path, row: str, reason: str
) -> None:
    good = f"{RDL}R2\tskos:closeMatch\t{WD}Q"
    found = run("reconcile", table(a, f"{good}1", row, f"{good}2"), "--json").objects
    assert [one["about"] for one in found if one["kind"] == "several-targets"] == [f"{RDL}R2"]
    [malformed] = [one for one in found if one["kind"] == "malformed"]
    assert malformed["about"] == f"{a}, line 3"
    assert malformed["reason"].startswith(reason)


def test_prefixes_that_yaml_reads_as_other_types_are_strings(run: Run, a: Path) -> None:
    head = (
        "#curie_map:\n#  no: http://no.example.org/\n#  null: http://null.example.org/\n"
        "#  012: http://example.org/012/\nid\ttarget"
    )
    table(a, "no:1\tnull:1", "no:1\tnull:2", "012:1\tno:1", head=head)
    [several] = [
        one
        for one in run("reconcile", a, "--input", "sssom", "--json").objects
        if one["kind"] == "several-targets"
    ]
    assert several["about"] == "http://no.example.org/1"
    assert {claim["target"] for claim in several["claims"]} == {
        "http://null.example.org/1",
        "http://null.example.org/2",
    }


def test_a_header_that_is_nested_too_deeply_is_refused(run: Run, a: Path) -> None:
    table(a, "x\ty", head=f"#a: {'[' * 20_000}\nid\ttarget")
    assert f"{a}: the metadata are nested too deeply" in run("reconcile", a, "--input", "sssom", code=3).err


def test_malformed_rdf_is_refused_with_its_line(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "broken.ttl"
    place.write_text("<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> .\n", encoding="utf-8")
    assert f"{place}, line 2: it is not valid turtle" in run("reconcile", place, code=3).err


def test_compressed_files_and_standard_input(run: Run, a: Path, tmp_path: Path) -> None:
    table(a, f"{RDL}R1\tskos:closeMatch\t{WD}Q1")
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(a.read_bytes()))
    assert run("reconcile", a, packed, "--strict").line == "nothing to reconcile"
    assert (
        run("reconcile", a, "-", "--input", "tsv", "--strict", stdin=a.read_bytes()).line
        == "nothing to reconcile"
    )
    assert "standard input" in run("reconcile", "-", "-", "--input", "tsv", code=3).err


def test_a_missing_side_is_an_error(run: Run, tmp_path: Path) -> None:
    assert "there is no such file or folder" in run("reconcile", tmp_path / "nonesuch.ttl", code=3).err
    assert "no store" in run("reconcile", tmp_path, code=6).err
    run("reconcile", code=2)
    run("reconcile", tmp_path / "a.tsv", "--format", "pdf", code=2)


def test_texts_of_a_side_cannot_control_a_terminal(
    run: Run, mint: Minting, store: Path, tmp_path: Path
) -> None:
    iri = mint("--name", "val\x1b[31m\nve\u202e")
    for number in (1, 2):
        run("bind", iri, f"http://a.example/{number}")
    assert "val\\x1b[31m\\nve\\u202e" in run("reconcile", store).out
    table = tmp_path / "e\x1b[31m.tsv"
    table.write_text("identifier\tname\nz\x1b[31mz\tn\n", encoding="utf-8")
    told = run("import", table, "--namespace", RDL, "--dry-run", code=3)
    assert "z\\x1b[31mz" in told.out and "\x1b" not in told.out + told.err


def test_a_report_that_fails_leaves_no_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("x\n", encoding="utf-8")
    before = tree(tmp_path)
    run("reconcile", tmp_path / "bad.tsv", "-o", tmp_path / "page.html", code=3)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("label", "subject"),
    [
        ("d:aBc", "https://hdl.handle.net/10.1234/aBc"),
        ("d:aBc", "10.1234/abc"),
        ("d:aBc", "https://hdl.handle.net/10.1234/ABC"),
        ("d:ABC", "10.1234/abc"),
        ("d:aBc", "https://doi.org/10.1234/aBc"),
        ("d:aBc", "doi:10.1234/abc"),
        ("d:aBc", "d:AbC"),
        ("p:fmt/1", "http://www.nationalarchives.gov.uk/PRONOM/fmt/1"),
        ("p:fmt/1", "https://www.nationalarchives.gov.uk/PRONOM/fmt/1"),
        ("p:fmt/1", "fmt/1"),
        ("p:fmt/1", "p:fmt/1"),
    ],
)
def test_a_table_s_subjects_are_read_as_the_registry_reads_them(
    run: Run, store: Path, a: Path, label: str, subject: str
) -> None:
    run("namespace", "add", "d", "10.1234", "--scheme", "handle", "--set", "case_sensitive=false")
    run("namespace", "add", "p", "info:pronom/", "--scheme", "puid", "--set", "authority=own")
    run("register", *label.split(":"))
    run("bind", label, f"{WD}Q1")
    table(a, f"{subject}\tskos:exactMatch\t{WD}Q1", head="subject_id\tpredicate_id\tobject_id")
    assert [
        line["verdict"] for line in run("import", a, "--format", "tsv", "--dry-run", "--json").objects
    ] == ["known"]
    assert run("reconcile", store, a, "--input", "tsv", "--strict").line == "nothing to reconcile"


def test_a_subject_that_no_registry_holds_is_unknown(run: Run, store: Path, a: Path) -> None:
    run("namespace", "add", "d", "10.1234", "--scheme", "handle", "--set", "case_sensitive=false")
    run("namespace", "add", "p", "http://formats.example.org/", "--scheme", "puid")
    table(
        a,
        f"fmt/1\tskos:exactMatch\t{WD}Q1",
        f"d:xYz\tskos:exactMatch\t{WD}Q2",
        f"{WD}Q3\tskos:exactMatch\t{WD}Q4",
    )
    told = run("reconcile", store, a, "--input", "tsv", "--json").objects
    assert {one["about"] for one in told if one["kind"] == "unknown"} == {
        "http://formats.example.org/fmt/1",  # and not the handle 10.1234/fmt/1
        "https://hdl.handle.net/10.1234/xYz",
    }


# formats


@pytest.fixture
def quarrel(a: Path, b: Path) -> list[Path]:
    """Return two sides with every kind of difference that tables can have."""
    rows = [
        f"{RDL}R1\tskos:exactMatch\t{WD}Q1\t0.5\tAda",
        f"{RDL}R1\tskos:exactMatch\t{WD}Q2",
        f"{RDL}R2\towl:sameAs\t{WD}Q2\t1e-7",
    ]
    table(
        a,
        *rows,
        "broken",
        "urn:x:1\tskos:closeMatch\turn:y:1",
        "urn:y:1\tskos:closeMatch\turn:z:1",
        "bare\tskos:closeMatch\ttext: bare",
    )
    return [
        a,
        table(
            b,
            f"{RDL}R1\tskos:broadMatch\t{WD}Q1",
            f"{RDL}R2\tskos:exactMatch\t{WD}Q2\t\t\tnot",
            f"{RDL}R2\towl:sameAs\t{WD}Q2\t\t\tNot",
        ),
    ]


def test_turtle_is_valid_and_conforms_to_the_shapes(run: Run, quarrel: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "findings.ttl"
    run("reconcile", *quarrel, "-o", place)
    graph = Graph().parse(place)
    listed = run("reconcile", *quarrel, "--json").objects
    findings = list(graph.subjects(RDF.type, URIRef(IDS.Finding.value)))
    assert sorted(str(graph.value(one, DCTERMS.type)) for one in findings) == sorted(
        one["kind"] for one in listed
    )
    weakest = {graph.value(one, RDF.object) for one in graph.objects(None, URIRef(IDS.weakestLink.value))}
    assert weakest == {URIRef(f"{WD}Q2"), URIRef(f"{WD}Q1")} & weakest != set()
    quads = list(parse(path=str(place), format=RdfFormat.TURTLE))
    assert validation.validate(quads, shapes.load("findings")).results == ()
    damaged = [quad for quad in quads if quad.predicate.value != str(RDF.object)]
    assert validation.validate(damaged, shapes.load("findings")).results
    assert all(isinstance(quad.triple, Triple) for quad in quads)
    assert run("validate", place).line == "conforms"
    broken = "\n".join(line for line in place.read_text().splitlines() if "dcterms:type" not in line)
    assert "A finding has one kind, a word." in run("validate", "-", stdin=broken, code=5).out


def test_every_format_has_the_same_findings(run: Run, quarrel: list[Path]) -> None:
    told = [
        run("reconcile", *quarrel, "--format", format).err for format in ("table", "json", "turtle", "html")
    ]
    assert len(set(told)) == 1
    assert run("reconcile", *quarrel, "--strict", code=5).out == run("reconcile", *quarrel).out


def test_the_same_sides_give_the_same_bytes(run: Run, quarrel: list[Path]) -> None:
    for format in ("table", "json", "turtle", "html"):
        assert (
            run("reconcile", *quarrel, "--format", format).out
            == run("reconcile", *quarrel, "--format", format).out
        )


# visibility


@pytest.mark.parametrize("format", ["table", "json", "turtle", "html"])
def test_private_data_of_others_are_not_reported(
    run: Run, mint: Minting, store: Path, a: Path, tmp_path: Path, format: str
) -> None:
    public, secret = mint("--name", "public thing"), mint("--name", "hush-hush")
    run("fixate", public)
    for id in (public, secret):
        run("bind", id, f"{WD}Q42", "--note", f"note of {id}")
    run("comment", secret, "do not tell")
    table(a, f"{public}\tskos:closeMatch\t{WD}Q77")
    for words in ((store, a), (store,)):
        seen = run("reconcile", *words, "--format", format, by="mallory")
        for text in (secret, secret.rpartition("#")[2], "hush-hush", "do not tell"):
            assert text not in seen.out + seen.err
    mine = run("reconcile", store, a, "--format", format)
    assert secret in mine.out
    # as if it did not exist, like an identifier that was never allocated
    guesses = [
        table(tmp_path / f"{number}.tsv", f"{id}\tskos:closeMatch\t{WD}Q1")
        for number, id in enumerate([secret, NEVER])
    ]
    answers = [run("reconcile", store, guess, "--format", "json", by="mallory").out for guess in guesses]
    assert sorted(answers[0].replace(secret, NEVER).replace("0.tsv", "1.tsv").splitlines()) == sorted(
        answers[1].splitlines()
    )


@pytest.mark.parametrize("format", ["table", "json", "html"])
def test_the_name_of_a_hidden_identifier_is_not_told(
    run: Run, mint: Minting, store: Path, a: Path, format: str
) -> None:
    secret = mint("--name", "hush-hush")
    table(a, f"urn:x:1\tskos:exactMatch\t{secret}", f"{secret}\tskos:closeMatch\turn:y:1")
    assert "hush-hush" in run("reconcile", store, a, "--format", format).out
    seen = run("reconcile", store, a, "--format", format, by="mallory")
    assert secret in seen.out and "hush-hush" not in seen.out


# words for people


def test_names_stand_beside_every_identifier(run: Run, mint: Minting, store: Path, a: Path) -> None:
    id = mint("--name", "ball valve", "--lang", "en")
    run("name", id, "Kugelhahn", "--lang", "de")
    head = "subject_id\tpredicate_id\tobject_id\tobject_label"
    table(a, f"{id}\tskos:exactMatch\t{WD}Q1\tvalve", f"urn:x:1\tskos:exactMatch\t{id}\t", head=head)
    told = run("reconcile", store, a).out
    assert f"{id} “Kugelhahn” → {WD}Q1 “valve”" in told
    assert f"{id} “Kugelhahn”" in told and "ball valve" not in told
    told = run("reconcile", store, a, "--lang", "EN").out
    assert f"{id} “ball valve” → {WD}Q1 “valve”" in told
    assert f"urn:x:1 → {id} “ball valve”" in told
    for finding in run("reconcile", store, a, "--json", "--lang", "en").objects:
        ends = {end for claim in finding["claims"] for end in (claim["id"], claim["target"])}
        assert finding["names"] == {
            iri: name for iri, name in ((id, "ball valve"), (f"{WD}Q1", "valve")) if iri in ends
        }


def test_names_that_tables_give_to_targets_are_not_compared(run: Run, a: Path, b: Path) -> None:
    head = "subject_id\tpredicate_id\tobject_id\tobject_label"
    for place, name in ((a, "one"), (b, "other")):
        table(place, f"urn:x:1\tskos:exactMatch\t{WD}Q1\t{name}", head=head)
    assert kinds(run, a, b) == {}


def test_every_finding_says_what_to_decide(run: Run, quarrel: list[Path]) -> None:
    findings = run("reconcile", *quarrel, "--clusters", "--json").objects
    assert len({finding["kind"] for finding in findings}) > 5
    assert all(finding["decide"] for finding in findings)
    told = run("reconcile", *quarrel, "--clusters").out
    assert all(finding["decide"] in told for finding in findings)


def test_a_line_has_at_most_200_characters_and_json_has_everything(run: Run, a: Path) -> None:
    name, note = "ball valve " * 30, "\u2028" * 90
    ends = [f"http://example.org/{'long/' * 30}{number}" for number in range(4)]
    rows = [f"{end}\tskos:exactMatch\t{WD}Q{number}\t{name}\t{note}" for end in ends for number in (1, 2)]
    table(
        a, *rows, "broken\t" + "x" * 300, head="subject_id\tpredicate_id\tobject_id\tsubject_label\tauthor_id"
    )
    lines = run("reconcile", a).lines
    assert max(map(len, lines)) <= 200
    assert any(line.endswith("…") for line in lines)
    statements = [line for line in lines if " → " in line and "skos:exactMatch" in line]
    assert all(f"long/{number} “ball" in "".join(statements) for number in range(4))
    assert all("→ http://www.wikidata.org/entity/Q" in line for line in statements)
    told = run("reconcile", a, "--json").out
    assert ends[0] in told and name.strip() in told


def test_joined_identifiers_are_ours_if_a_registry_holds_them(
    run: Run, mint: Minting, store: Path, a: Path
) -> None:
    ids = [mint(), mint()]
    table(a, *(f"{id}\tskos:exactMatch\t{WD}Q1" for id in ids))
    words = "end up meaning the same thing; this is the doubtful link"
    assert f"Two of our identifiers {words}: " in run("reconcile", store, a).out
    assert f"Two identifiers of one list {words}: " in run("reconcile", a).out


# decisions


def test_decisions_are_applied_with_their_author(run: Run, mint: Minting, a: Path) -> None:
    id = mint()
    run("bind", id, f"{WD}Q1")
    head = "action\tsubject_id\tpredicate_id\tobject_id\tauthor_id\tcomment"
    rows = [
        f"unbind\t{id}\tskos:exactMatch\t{WD}Q1\tAda Curator\t",
        f"bind\t{id}\tskos:closeMatch\t{WD}Q2\torcid:0000-0002-1825-0097\twhy not",
    ]
    table(a, *rows, f"keep\t{id}\tskos:exactMatch\t{WD}Q3\t\t", head=head)
    rehearsed = run("reconcile", "--accept", a, "--dry-run")
    assert rehearsed.lines == [f"line 2\tnew\t{id}", f"line 3\tnew\t{id}"]
    assert [one["target"] for one in run("show", id, "--json").object["bindings"]] == [f"{WD}Q1"]
    run("reconcile", "--accept", a)
    [binding] = run("show", id, "--json").object["bindings"]
    assert (binding["target"], binding["by"], binding["note"]) == (f"{WD}Q2", "alice", "why not")
    assert binding["author"].endswith("0000-0002-1825-0097")
    assert "author=Ada" in run("log", "--id", id).out, "the log tells who found it wrong"
    assert run("reconcile", "--accept", a, "--dry-run", "--json").objects[0]["verdict"] == "known"
    run("verify")
    run("validate")


@pytest.mark.parametrize(
    ("row", "verdict", "reason"),
    [
        (f"bind\t{RDL}nonsense\tskos:closeMatch\t{WD}Q1", "refused", "not a valid rdswip identifier"),
        ("erase\tID\tskos:closeMatch\turn:x:1", "malformed", "'erase' is not an action"),
        ("bind\tID\tskos:closeMatch\tno iri", "refused", "not an absolute IRI"),
        ("bind\tID\tskos:closeMatch", "malformed", "the target is empty"),
    ],
)
def test_decisions_are_applied_all_or_none(
    run: Run, mint: Minting, a: Path, row: str, verdict: str, reason: str
) -> None:
    id = mint()
    table(
        a, f"bind\t{id}\tskos:closeMatch\t{WD}Q9", row.replace("ID", id), head="action\tid\trelation\ttarget"
    )
    outcome = run("reconcile", "--accept", a, code=3)
    assert outcome.lines[1].startswith(f"line 3\t{verdict}")
    assert reason in outcome.lines[1]
    assert "nothing was changed" in outcome.err
    assert run("show", id, "--json").object["bindings"] == []


def test_only_the_owner_removes_another_party_s_binding(run: Run, mint: Minting, a: Path) -> None:
    id = mint()
    run("fixate", id)
    run("bind", id, f"{WD}Q1", by="bob")
    table(a, f"unbind\t{id}\tskos:exactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    assert "only bob" in run("reconcile", "--accept", a, by="mallory", code=3).out
    run("reconcile", "--accept", a, by="alice")
    assert run("show", id, "--json").object["bindings"] == []


def test_an_administrator_carries_out_decisions_on_bindings_of_others(
    run: Run, mint: Minting, a: Path
) -> None:
    id = mint()
    run("transfer", id, "carol")
    run("transfer", id, "carol", by="carol")
    run("fixate", id, by="carol")
    run("bind", id, f"{WD}Q1", by="bob")
    table(a, f"unbind\t{id}\tskos:exactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    assert "only bob" in run("unbind", id, f"{WD}Q1", code=7).err
    run("reconcile", "--accept", a)
    assert run("show", id, "--json").object["bindings"] == []
    last = run("log", "--id", id, "--json").objects[-1]
    assert (last["kind"], last["by"], last["party"]) == ("Unbind", "alice", "bob")


def test_removing_an_absent_binding_changes_nothing(run: Run, mint: Minting, a: Path, store: Path) -> None:
    id = mint()
    table(
        a,
        *(f"unbind\t{one}\tskos:exactMatch\t{WD}Q1" for one in (id, NEVER)),
        head="action\tid\trelation\ttarget",
    )
    before = run("export").out
    assert [one["verdict"] for one in run("reconcile", "--accept", a, "--dry-run", "--json").objects] == [
        "absent",
        "foreign",
    ]
    for _ in range(2):
        told = run("reconcile", "--accept", a)
        assert told.err.splitlines()[1:] == [
            (
                f"idstore: warning: {a}, line 2: there is no binding to remove: {id} is not bound to {WD}Q1"
                f" by {SKOS.exactMatch.value}; its record lists its bindings"
            ),
            "idstore: line 3 is left to another store: not registered here, or not yours to see",
            "idstore: 1 absent, 1 of another store; done",
        ]
        assert run("export").out == before
    assert "compare sources in a separate command" in run("reconcile", store, "--accept", a, code=2).err


def test_a_binding_removed_before_is_distinguished_from_an_absent_one(
    run: Run, mint: Minting, a: Path
) -> None:
    """The result is the same for every act that took the binding back.

    Another target or relation of the same identifier was never bound.
    """
    id = mint()
    for number in (1, 2):
        run("bind", id, f"{WD}Q{number}")
    run("unbind", id, f"{WD}Q1")
    rows = [
        f"unbind\t{id}\tskos:{relation}\t{WD}Q{number}"
        for number in (1, 2)
        for relation in ("exactMatch", "closeMatch")
    ]
    table(a, *rows, rows[2], head="action\tid\trelation\ttarget")
    first, second = (run("reconcile", "--accept", a, "--json").objects for _ in range(2))
    assert [one["verdict"] for one in first] == ["known", "absent", "new", "absent", "known"]
    assert [one["verdict"] for one in second] == ["known", "absent", "known", "absent", "known"]


@pytest.mark.parametrize("secret", [True, False])
def test_a_private_unbinding_is_not_revealed(run: Run, mint: Minting, a: Path, secret: bool) -> None:
    id = mint()
    run("bind", id, f"{WD}Q1")
    if not secret:
        run("fixate", id)
    run("unbind", id, f"{WD}Q1")
    table(a, f"unbind\t{id}\tskos:exactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    [told] = run("reconcile", "--accept", a, "--dry-run", "--json", by="mallory").objects
    never = {"line": 2, "verdict": "foreign", "id": id, "reason": NotRegistered(id).message}
    assert told == (
        never if secret else {"line": 2, "verdict": "known", "id": id, "reason": "it was taken back before"}
    )


@pytest.mark.parametrize("base", [RDL, "http://theirs.example.org/data#"])
def test_each_of_two_stores_takes_its_own_lines_of_the_same_decisions(
    run: Run, mint: Minting, a: Path, tmp_path: Path, base: str
) -> None:
    ours, other = mint("--name", "ball valve"), tmp_path / "other"
    run("namespace", "add", "theirs", base, "--scheme", "rdswip", "--store", other)
    theirs = run("mint", "theirs", "--name", "valve", "--store", other).line
    run("bind", ours, f"{WD}Q1")
    run("bind", theirs, f"{WD}Q2", "--store", other)
    relation = "skos:exactMatch"
    table(
        a,
        f"unbind\t{ours}\t{relation}\t{WD}Q1",
        f"bind\t{ours}\tskos:closeMatch\t{WD}Q1",
        f"keep\t{ours}\t{relation}\t{WD}Q3",
        f"unbind\t{theirs}\t{relation}\t{WD}Q2",
        f"bind\t{theirs}\t{relation}\t{ours}",
        head="action\tid\trelation\ttarget",
    )
    here = run("reconcile", "--accept", a, "--dry-run")
    assert [line.split("\t")[1] for line in here.lines] == ["new", "new", *["of another store"] * 2]
    done = run("reconcile", "--accept", a)
    assert "lines 5, 6 are left to another store" in done.err and done.out == ""
    assert done.err.endswith("idstore: 2 new, 2 of another store; done\n")
    done = run("reconcile", "--accept", a, "--store", other)
    assert "lines 2, 3 are left to another store" in done.err
    assert [one["target"] for one in run("show", ours, "--json").object["bindings"]] == [f"{WD}Q1"]
    [binding] = run("show", theirs, "--store", other, "--json").object["bindings"]
    assert binding["target"] == ours
    again = run("reconcile", "--accept", a, "--store", other, "--json").objects
    assert [one["verdict"] for one in again] == ["foreign", "foreign", "known", "known"]


def test_a_statement_to_take_over_is_known_where_another_party_made_it(
    run: Run, mint: Minting, a: Path
) -> None:
    id = mint()
    run("fixate", id)
    run("bind", id, f"{WD}Q1", by="bob")
    table(a, f"bind\t{id}\tskos:exactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    [told] = run("reconcile", "--accept", a, "--json").objects
    assert (told["verdict"], told["reason"]) == ("known", "bound by bob")
    assert [one["by"] for one in run("show", id, "--json").object["bindings"]] == ["bob"]
    table(a, f"{id}\tskos:exactMatch\t{WD}Q1", head="id\trelation\ttarget")
    run("import", a)
    assert len(run("show", id, "--json").object["bindings"]) == 2, "a table of mappings is no decision"


@pytest.mark.parametrize("actions", [("keep", "unbind"), ("unbind", "keep")])
def test_two_people_who_decide_otherwise_are_told(
    run: Run, mint: Minting, a: Path, actions: tuple[str, str]
) -> None:
    id = mint()
    run("bind", id, f"{WD}Q1")
    rows = [f"{action}\t{id}\texactMatch\t{WD}Q1" for action in actions]
    table(a, *rows, head="action\tid\trelation\ttarget")
    refused = run("reconcile", "--accept", a, code=3)
    assert f"line 2 says {actions[0]} of the same statement; decide" in refused.out + refused.err
    assert [one["target"] for one in run("show", id, "--json").object["bindings"]] == [f"{WD}Q1"]


def test_decisions_of_other_stores_alone_make_no_store(run: Run, a: Path, tmp_path: Path) -> None:
    table(a, f"bind\t{NEVER}\tskos:exactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    told = run("reconcile", "--accept", a, "--store", tmp_path / "none")
    assert told.err.endswith("idstore: 1 of another store; done\n")
    assert not (tmp_path / "none").exists()


@pytest.fixture
def decided(run: Run, mint: Minting, a: Path) -> tuple[list[str], Path]:
    """Return two identifiers, and a file of decisions about them that changes, removes, adds and keeps."""
    ids = [mint("--name", "ball <valve>", "--lang", "en"), mint("--name", "gate valve")]
    run("name", ids[0], "Kugelhahn", "--lang", "de")
    rows = [
        f"unbind\t{ids[0]}\texactMatch\t{WD}Q1\tAda\t",
        f"bind\t{ids[0]}\tcloseMatch\t{WD}Q1\tAda\tQ one",
        f"unbind\t{ids[0]}\texactMatch\t{ids[1]}\tAda\t",
        f"bind\t{ids[1]}\texactMatch\t{WD}Q2\t\t",
        f"keep\turn:x:1\texactMatch\t{WD}Q1\tBo\t",
    ]
    table(a, *rows, head="action\tid\trelation\ttarget\tauthor\tobject_label")
    return ids, a


def test_a_summary_says_what_was_decided(run: Run, decided: tuple[list[str], Path], tmp_path: Path) -> None:
    (first, second), file = decided
    before = run("export").out
    assert run("reconcile", "--accept", file, "--summary", "--lang", "DE").lines == [
        "What was decided by Ada, Bo: 1 removed, 1 changed, 1 added, 1 kept",
        "Links removed",
        f"  {first} “Kugelhahn” skos:exactMatch {second} “gate valve”",
        "Links changed",
        f"  {first} “Kugelhahn” skos:closeMatch {WD}Q1 “Q one”, instead of skos:exactMatch",
        "Links added",
        f"  {second} “gate valve” skos:exactMatch {WD}Q2",
        "Links kept",
        f"  urn:x:1 skos:exactMatch {WD}Q1 “Q one”",
    ]
    told = run("reconcile", "--accept", file, "--summary", "--json").objects
    assert [(one["decided"], one["id"]) for one in told] == [
        ("changed", first),
        ("removed", first),
        ("added", second),
        ("kept", "urn:x:1"),
    ]
    assert told[0]["before"] == SKOS.exactMatch.value and told[0]["authors"] == ["Ada", "Bo"]
    run("reconcile", "--accept", file, "--summary", "-o", tmp_path / "page.html", "--lang", "en")
    page = (tmp_path / "page.html").read_text()
    assert "ball &lt;valve&gt;" in page and "<script" not in page and f"{WD}Q1 “Q one”" in page
    assert run("export").out == before, "it changes nothing"


def test_a_summary_is_the_same_in_every_order_of_the_lines(
    run: Run, decided: tuple[list[str], Path], b: Path
) -> None:
    _, file = decided
    head, *rows = file.read_text().splitlines()
    table(b, *reversed(rows), head=head)
    both = [run("reconcile", "--accept", one, "--summary", "--json").objects for one in (file, b)]
    told = [sorted((one["decided"], one["id"], one.get("before", "")) for one in each) for each in both]
    assert told[0] == told[1]


def test_a_summary_needs_no_store_and_tells_no_hidden_name(
    run: Run, decided: tuple[list[str], Path], tmp_path: Path
) -> None:
    _, file = decided
    told = run("reconcile", "--accept", file, "--summary", by="mallory").out
    assert "Kugelhahn" not in told and "valve" not in told
    assert run("reconcile", "--accept", file, "--summary", "--store", tmp_path / "none").out == told
    assert not (tmp_path / "none").exists()


def test_a_summary_is_short(run: Run, a: Path) -> None:
    rows = [f"keep\t{RDL}{'long/' * 40}{number}\texactMatch\t{WD}Q1" for number in range(12)]
    table(a, *rows, head="action\tid\trelation\ttarget")
    lines = run("reconcile", "--accept", a, "--summary").lines
    assert len(lines) == 13 and lines[-1] == "  and 2 more; --json lists all"
    assert max(map(len, lines)) <= 200


def test_what_is_no_file_of_decisions_has_no_summary(run: Run, a: Path, b: Path) -> None:
    table(a, f"urn:x:1\texactMatch\t{WD}Q1", head="id\trelation\ttarget")
    assert "has no column action" in run("reconcile", "--accept", a, "--summary", code=3).err
    table(a, f"erase\turn:x:1\texactMatch\t{WD}Q1", head="action\tid\trelation\ttarget")
    assert "line 2: 'erase' is not an action" in run("reconcile", "--accept", a, "--summary", code=3).err
    assert "--summary goes with --accept" in run("reconcile", a, b, "--summary", code=2).err
    assert (
        "there are table, json, html"
        in run("reconcile", "--accept", a, "--summary", "--format", "turtle", code=2).err
    )


# bindings as a table


def test_mappings_are_imported_line_by_line(run: Run, mint: Minting, a: Path) -> None:
    one, two = mint(), mint()
    run("bind", one, f"{WD}Q1")
    rows = [f"{one}\t{WD}Q1", f"{one}\t{WD}Q2", f"{two}\t{WD}Q3", "\turn:x:1"]
    table(a, *rows, head="thing\twikidata")
    words = ("import", "--format", "tsv", a, "--column", "subject=thing", "--column", "target=wikidata")
    outcome = run(*words, "--dry-run", code=3)
    assert "subject ← thing, target ← wikidata" in outcome.err
    assert [line.split("\t")[:2] for line in outcome.lines] == [
        ["line 2", "known"],
        ["line 3", "contradictory"],
        ["line 4", "new"],
        ["line 5", "malformed"],
    ]
    table(a, *rows[:3], head="thing\twikidata")
    run(*words)
    assert [binding["target"] for binding in run("show", one, "--json").object["bindings"]] == [
        f"{WD}Q1",
        f"{WD}Q2",
    ]


# real data


@pytest.mark.realdata
def test_exactly_the_known_conflicts_of_formats_are_found(run: Run, real_data: Path) -> None:
    """64 PUIDs with several targets of a kind, 111 targets claimed by several PUIDs."""
    known: set[tuple[str, str, frozenset[str]]] = set()
    bindings = [
        line.split("\t") for line in (real_data / "bindings.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    uris = {(scheme, id): uri for _, _, scheme, id, uri, *_ in bindings}
    for line in (real_data / "binding_conflicts.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        kind, scheme, id, others, *_ = line.split("\t")
        if kind == "one_puid_many_targets":
            known.add(
                (
                    "several-targets",
                    f"info:pronom/{id}",
                    frozenset(uris[scheme, other] for other in others.split("|")),
                )
            )
        else:
            known.add(
                (
                    "claimed-twice",
                    uris[scheme, id],
                    frozenset(f"info:pronom/{other}" for other in others.split("|")),
                )
            )
    assert len(known) == 175
    words = (
        "--base",
        "subject=info:pronom/",
        "--relation",
        "hasMime=dcterms:format",
        "--relation",
        "hasUTI=dcterms:format",
    )
    found = run(
        "reconcile", real_data / "bindings.tsv", *words, "--relation", "none=skos:relatedMatch", "--json"
    ).objects
    assert {one["kind"] for one in found} == {"several-targets", "claimed-twice", "malformed"}
    assert all(one["reason"].endswith(" is empty") for one in found if one["kind"] == "malformed"), (
        "rows that name no PUID, or nothing else"
    )
    ends = {"several-targets": "target", "claimed-twice": "id"}
    conflicts = [one for one in found if one["kind"] in ends]
    assert len(conflicts) == 175
    assert {
        (one["kind"], one["about"], frozenset(claim[ends[one["kind"]]] for claim in one["claims"]))
        for one in conflicts
    } == known


def test_a_page_stays_small_and_executes_no_text_of_a_side(run: Run, a: Path, tmp_path: Path) -> None:
    rows = [f"{RDL}R1\tskos:exactMatch\t{WD}Q{number}" for number in range(1500)]
    rows += [
        "javascript:alert(1)\tskos:exactMatch\t<script>alert(2)</script>",
        f"{RDL}R2\tskos:exactMatch\t$sides",
    ]
    rows += [f'javascript:alert(1)\tskos:exactMatch\t{WD}"><script>{number}' for number in range(2)]
    page = tmp_path / "page.html"
    run("reconcile", table(a, *rows), "-o", page)
    text = page.read_text(encoding="utf-8")
    assert len(text) < 500_000
    assert "1400 more statements are not shown" in text
    assert text.count("<script>") == 1
    assert 'href="javascript:' not in text
    [several, *_] = run("reconcile", a, "--json").objects
    assert (len(several["claims"]), several["more"]) == (1000, 500)


AXIOM = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix sssom: <https://w3id.org/sssom/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<urn:a> skos:exactMatch <urn:b> .
[] a owl:Axiom ; owl:annotatedSource <urn:a> ; owl:annotatedProperty skos:exactMatch ;
    owl:annotatedTarget <urn:b> ; """


@pytest.mark.parametrize(
    ("property", "kinds", "stated"),
    [
        ("sssom:predicate_modifier sssom:NegatedPredicate", {"denied"}, False),
        ('sssom:predicate_modifier "Not"', {"denied"}, False),
        ("sssom:predicate_modifier sssom:Perhaps", {"malformed"}, False),
        ("sssom:object_type rdfs:Literal", set(), False),
        ("sssom:confidence 0.5", set(), True),
    ],
)
def test_a_mapping_in_rdf_is_stated_or_denied(
    run: Run, a: Path, tmp_path: Path, property: str, kinds: set[str], stated: bool
) -> None:
    side = tmp_path / "x.ttl"
    side.write_text(f"{AXIOM}{property} .\n", encoding="utf-8")
    found = run(
        "reconcile",
        side,
        table(a, "urn:a\tskos:exactMatch\turn:b", "urn:a\tskos:exactMatch\turn:c"),
        "--json",
    )
    assert {one["kind"] for one in found.objects if one["kind"] in ("denied", "malformed")} == kinds
    [several] = [one for one in found.objects if one["kind"] == "several-targets"]
    sayers = {said["in"] for claim in several["claims"] for said in claim["said"]}
    assert sayers == {str(a), *([str(side)] if stated else [])}


# names in several written forms

ABC = "https://hdl.handle.net/10.5072/ABC"
FORMS = (
    "doi:10.5072/abc",
    "http://dx.doi.org/10.5072/AbC",
    "https://doi.org/10.5072/%41BC",
    "hdl:10.9999/ABC",
    "info:hdl/10.5072/ABC",
)


@pytest.fixture
def handles(run: Run) -> None:
    """A store with articles, one of them registered, and identifiers that are bound to it in all forms."""
    run("namespace", "add", "h", "20.500.1", "--scheme", "handle")
    for number, form in enumerate(FORMS):
        run("register", "h", f"x{number}")
        run("bind", f"h:x{number}", form)
    run("namespace", "add", "d", "10.5072", "--scheme", "handle", "--set", "alias=10.9999")
    run("register", "d", "ABC")


@pytest.mark.usefixtures("handles")
def test_a_target_in_several_forms_is_one_target(run: Run, store: Path, tmp_path: Path) -> None:
    export = tmp_path / "export.ttl"
    run("export", "-o", export)
    for side in (store, export):
        found = [
            finding for finding in run("reconcile", side, "--json").objects if finding["kind"] != "joined"
        ]
        [claimed] = found
        assert (claimed["kind"], claimed["about"]) == ("claimed-twice", ABC)
        assert {claim["target"] for claim in claimed["claims"]} == {ABC}
        assert [claim["said"][0]["written"] for claim in claimed["claims"]] == [*FORMS]
    assert kinds(run, store, export).keys() == {"claimed-twice", "joined"}


@pytest.mark.usefixtures("handles")
def test_a_table_may_write_names_in_other_forms(run: Run, store: Path, a: Path) -> None:
    a.write_text(
        "subject_id\tpredicate_id\tobject_id\n"
        "hdl:20.500.1/x0\tskos:exactMatch\thttp://hdl.handle.net/10.5072/ABC\n"
        "h:x1\tskos:closeMatch\t10.5072/abc\n"
        "h:x2\tskos:exactMatch\tdoi:10.5072/none\n",
        encoding="utf-8",
    )
    found = kinds(run, store, a)
    assert found["different-relations"] == ["https://hdl.handle.net/20.500.1/x1"]
    assert found["unknown"] == ["doi:10.5072/none"]
    lacking = [
        finding for finding in run("reconcile", store, a, "--json").objects if finding["kind"] == "lacking"
    ]
    both = ("https://hdl.handle.net/20.500.1/x0", ABC)
    assert both not in [(claim["id"], claim["target"]) for one in lacking for claim in one.get("claims", ())]


@pytest.mark.usefixtures("handles")
def test_targets_in_other_forms_are_no_different_statements(run: Run, store: Path, a: Path) -> None:
    run("target", "d:ABC", "https://doi.org/10.1000/x")
    export = a.with_suffix(".nt")
    run("export", "-o", export)
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace("https://doi.org/10.1000/x", "doi:10.1000/X"), encoding="utf-8")
    assert "different-statements" not in kinds(run, store, export)
    export.write_text(text.replace("https://doi.org/10.1000/x", "doi:10.1000/Y"), encoding="utf-8")
    assert kinds(run, store, export)["different-statements"] == [ABC]


def test_tables_without_a_registry_compare_by_the_rules_of_well_known_schemes(run: Run, a: Path) -> None:
    one, other = "http://example.org/1", "http://example.org/2"
    table(
        a,
        f"{one}\tskos:exactMatch\tark:/12345/x-1",
        f"{other}\tskos:exactMatch\thttps://n2t.net/ark:12345/x1",
        f"{one}\tskos:closeMatch\tdoi:10.1000/a",
        f"{other}\tskos:closeMatch\thttps://doi.org/10.1000/A",
        f"{one}\tskos:exactMatch\t{WD}Q1",
        f"{other}\tskos:exactMatch\t{WD.replace('http', 'https')}Q1",
        f"{one}\tskos:exactMatch\thttp://example.org/b/1",
        f"{other}\tskos:exactMatch\thttps://example.org/b/1",
        head="subject_id\tpredicate_id\tobject_id",
    )
    assert kinds(run, a)["claimed-twice"] == ["ark:/12345/x-1", "doi:10.1000/a", f"{WD}Q1"]


# a second identifier of one thing

PUMP = "https://n2t.net/ark:12345/x-1"


def claimed(run: Run, *sides: Path, by: str = "alice") -> dict[str, set[tuple[str, str, str]]]:
    """Return the targets with several identifiers: their identifiers, relations and sides."""
    return {
        finding["about"]: {
            (claim["id"], claim["relation"], said["in"])
            for claim in finding["claims"]
            for said in claim["said"]
        }
        for finding in run("reconcile", *sides, "--json", by=by).objects
        if finding["kind"] == "claimed-twice"
    }


@pytest.fixture
def second(run: Run, mint: Minting) -> tuple[str, str]:
    """Return two identifiers, of two namespaces, of one thing."""
    run("register", "h", "pump")
    run("handle", "set", "h:pump", "URL", "ark:/12345/x1")
    return mint("--target", PUMP), "https://hdl.handle.net/10.1000/pump"


def test_a_second_identifier_for_one_target_is_found_in_stores_and_exports(
    run: Run, store: Path, tmp_path: Path, second: tuple[str, str]
) -> None:
    export = tmp_path / "export.nq"
    run("export", "-o", export)
    for side in (store, export):
        [found] = claimed(run, side).values()
        assert found == {(id, IDS.target.value, str(side)) for id in second}
        run("reconcile", side, "--strict", code=5)
    assert len(claimed(run, store, export)) == 1
    assert "different-statements" not in kinds(run, store, export)


def test_a_second_identifier_is_in_every_format(run: Run, store: Path, second: tuple[str, str]) -> None:
    text = run("reconcile", store).out
    assert "One target claimed by several identifiers: 1" in text
    assert all(f"ids:target {id} → " in text for id in second)
    findings = run("reconcile", store, "--format", "turtle").out.encode()
    assert validation.validate(parse(findings, RdfFormat.TURTLE), shapes.load("findings")).results == ()
    page = run("reconcile", store, "--format", "html").out
    assert all(id in page for id in second) and "<select" not in page


def test_a_draft_that_the_party_does_not_see_is_no_second_identifier(
    run: Run, store: Path, second: tuple[str, str]
) -> None:
    run("fixate", second[0])
    assert claimed(run, store) and not claimed(run, store, by="bob")


def test_a_table_may_claim_what_a_registry_identifies(
    run: Run, store: Path, a: Path, b: Path, mint: Minting
) -> None:
    one, other = mint("--target", f"{WD}Q1"), mint()
    head = "subject_id\tpredicate_id\tobject_id"
    table(a, f"{other}\tskos:exactMatch\t{WD}Q1", head=head)
    assert claimed(run, store, a) == {
        f"{WD}Q1": {(one, IDS.target.value, str(store)), (other, SKOS.exactMatch.value, str(a))}
    }
    table(a, f"{other}\tids:target\t{WD}Q1", head=head)
    assert claimed(run, store, a) == {
        f"{WD}Q1": {(one, IDS.target.value, str(store)), (other, IDS.target.value, str(a))}
    }
    table(b, f"{one}\tids:target\t{WD}Q1", f"{one}\tskos:exactMatch\t{WD}Q1", head=head)
    assert not claimed(run, store, b)
    assert [*claimed(run, a, b)] == [f"{WD}Q1"]
