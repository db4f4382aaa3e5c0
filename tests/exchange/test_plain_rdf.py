"""RDF from elsewhere describes identifiers: their names, versions and relations are taken in."""

import json
from pathlib import Path

import pytest
from command_lines import RDL, WIKIDATA, Run

from idstore.errors import ExchangeError
from idstore.exchange import limits, plain_rdf
from idstore.model import times
from idstore.model.namespace import Namespace
from idstore.schemes import installed
from idstore.vocabulary import PREFIXES as VOCABULARIES

FIRST, SECOND, THIRD = (f"{RDL}R{number}" for number in (3732211754, 6569332477, 1234567890))
PREFIXES = f"""
@prefix rdl: <{RDL}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix e: <http://example.org/> .
"""
VALVES = f"""{PREFIXES}
<{RDL[:-1]}> a owl:Ontology ; rdfs:label "the document" .
rdl:R3732211754 a owl:Class, skos:Concept ;
    rdfs:label "VALVE", "valve, other"@en ; skos:prefLabel "valve"@en, "Ventil"@de ; skos:altLabel "tap"@en ;
    owl:versionInfo "2.1" ; skos:exactMatch <{WIKIDATA}> ; e:equivalent e:9, [ a e:Thing ] ;
    rdfs:seeAlso "http://example.org/valve"^^xsd:anyURI ; owl:sameAs rdl:R3732211754 .
e:other owl:sameAs rdl:R6569332477 ; rdfs:label "not of the namespace" .
rdl:R6569332477 rdfs:isDefinedBy <{RDL}> .
"""


@pytest.fixture
def namespace() -> Namespace:
    settings = tuple(installed()["rdswip"].defaults.items())
    return Namespace(RDL, "rdl", "rdswip", settings, "alice", times.of(0))


def imported(run: Run, file: Path, *words: str, code: int = 0) -> list[str]:
    return run("import", file, "--namespace", "rdl", *words, code=code).lines


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.usefixtures("rdl")
def test_subjects_become_identifiers_with_names_and_bindings(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, "valves.ttl", VALVES)
    outcome = run("import", file, "--namespace", "rdl")
    assert "reading valves.ttl as turtle; passed over: 2 rdf:type, " in outcome.err.replace(
        str(file), file.name
    )
    assert "statements about other subjects" in outcome.err
    valve = run("show", FIRST, "--json").object
    assert valve["stage"] == "fixated"
    assert valve["names"] == {"und": "VALVE", "en": "valve", "de": "Ventil"}
    assert {
        (one["relation"].rpartition("/")[2].rpartition("#")[2], one["target"]) for one in valve["bindings"]
    } == {
        ("exactMatch", WIKIDATA),
        ("equivalent", "http://example.org/9"),
        ("seeAlso", "http://example.org/valve"),
    }
    [inverse] = run("show", SECOND, "--json").object["bindings"]
    assert (inverse["relation"], inverse["target"]) == (
        "http://www.w3.org/2002/07/owl#sameAs",
        "http://example.org/other",
    )
    assert "known" in run("import", file, "--namespace", "rdl").err
    assert run("verify").line == "sound"


@pytest.mark.usefixtures("rdl")
@pytest.mark.parametrize("length", [4_095, 4_096, 4_097, 100_000, 1_000_000])
@pytest.mark.parametrize("ending", [".ttl", ".nt", ".jsonld"])
def test_lines_may_be_long(run: Run, tmp_path: Path, ending: str, length: int) -> None:
    """The lines of minified files are longer than the buffers of parsers."""
    name, about = "x" * length, "https://hdl.handle.net/10.1000/j"
    label = "http://www.w3.org/2004/02/skos/core#prefLabel"
    more = " ".join(f'<{about}{number}> <{label}> "name {number}" .' for number in range(100))
    lines = {
        ".ttl": f'<{about}> <{label}> "{name[:1000]}" . {more}',
        ".nt": f'<{about}> <{label}> "{name[:1000]}" .\n<{about}> <http://example.org/note> "{name}" .\n',
        ".jsonld": json.dumps([{"@id": about, label: name[:1000], "http://example.org/note": name}]),
    }
    file = tmp_path / f"long{ending}"
    file.write_text(lines[ending])
    run("import", str(file), "--namespace", "h")
    assert name[:1000] in run("show", "h:j").out


@pytest.mark.usefixtures("rdl")
def test_what_is_deprecated_elsewhere_is_deprecated_here(run: Run, tmp_path: Path) -> None:
    text = (
        f"{PREFIXES} @prefix dct: <http://purl.org/dc/terms/> .\n"
        "rdl:R3732211754 owl:deprecated true ; dct:isReplacedBy rdl:R6569332477, e:elsewhere .\n"
        'rdl:R6569332477 rdfs:label "valve" ; owl:deprecated false .\n'
    )
    file = write(tmp_path, "old.ttl", text)
    outcome = run("import", file, "--namespace", "rdl")
    assert "1 dcterms:isReplacedBy" in outcome.err and "1 owl:deprecated" in outcome.err
    record = run("show", FIRST, "--json").object
    assert (record["deprecated"], record["supersededBy"]) == (True, [SECOND])
    assert run("show", SECOND, "--json").object["deprecated"] is False
    assert "2 known" in run("import", file, "--namespace", "rdl").err
    assert run("verify").line == "sound"


@pytest.mark.usefixtures("rdl")
def test_a_dry_run_lists_new_known_and_contradictory_lines(run: Run, tmp_path: Path) -> None:
    imported(run, write(tmp_path, "a.ttl", f'{PREFIXES} rdl:R3732211754 rdfs:label "valve"@en .'))
    later = write(
        tmp_path,
        "b.ttl",
        f'{PREFIXES} rdl:R3732211754 rdfs:label "pump"@en .\nrdl:R6569332477 rdfs:label "vessel"@en .',
    )
    lines = imported(run, later, "--dry-run")
    assert [line.split("\t")[1:3] for line in lines] == [["contradictory", FIRST], ["new", SECOND]]
    run("show", SECOND, code=4)


@pytest.mark.usefixtures("rdl")
def test_a_line_that_says_several_things_has_one_verdict(run: Run, tmp_path: Path) -> None:
    text = (
        f'{PREFIXES}\nrdl:R3732211754 rdfs:label "valve"@en , "Ventil"@de ; rdfs:seeAlso e:1 , e:2 , e:3 .\n'
        'rdl:R6569332477 rdfs:label "vessel"@en .\nrdl:R6569332477 rdfs:label "Kessel"@de .\n'
    )
    file = write(tmp_path, "nodes.ttl", text)
    before = PREFIXES.count("\n")
    expected = [(before + 2, FIRST), (before + 3, SECOND), (before + 4, SECOND)]
    for words, verdict in (("--dry-run",), "new"), ((), "new"), (("--dry-run",), "known"):
        outcome = run("import", file, "--namespace", "rdl", *words)
        assert f"idstore: 2 {verdict}; " in outcome.err  # identifiers
        if words:
            assert [tuple(line.split("\t")) for line in outcome.lines] == [
                (f"line {line}", verdict, id) for line, id in expected
            ]


LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
BAD_LINES = f"""<{FIRST}> {LABEL} "one" .
<{SECOND}> {LABEL} two .
<{RDL}X1> {LABEL} "no identifier" .
<{THIRD}> {LABEL} "three" .
<{THIRD}> <http://example.org/ spaced> "no IRI" .
"""


@pytest.mark.usefixtures("rdl")
def test_bad_lines_are_reported_and_the_good_ones_come_in_on_request(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, "lines.nt", BAD_LINES)
    lines = imported(run, file, code=3)
    verdicts = [line.split("\t")[:2] for line in lines]
    assert verdicts == [
        ["line 1", "new"],
        ["line 2", "malformed"],
        ["line 3", "malformed"],
        ["line 4", "new"],
        ["line 5", "malformed"],
    ]
    run("show", FIRST, code=4)
    outcome = run("import", file, "--namespace", "rdl", "--keep-going", code=3)
    assert [line.split("\t")[0] for line in outcome.lines] == ["line 2", "line 3", "line 5"]
    assert "3 malformed, 2 new; done without the 3 lines that are wrong" in outcome.err
    assert run("show", THIRD, "--json").object["names"] == {"und": "three"}
    run("show", SECOND, code=4)


@pytest.mark.usefixtures("rdl")
def test_a_list_and_a_table_can_keep_going_too(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, "ids.txt", f"{FIRST}\n{RDL}X1\n")
    imported(run, file, code=3)
    run("show", FIRST, code=4)
    outcome = run("import", file, "--namespace", "rdl", "--keep-going", code=3)
    assert "done without the line that is wrong" in outcome.err
    run("show", FIRST)


XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY owl "http://www.w3.org/2002/07/owl#"> <!ENTITY same "&owl;sameAs"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="&owl;"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="{base}"><!-- of valves -->
  <owl:Class rdf:about="#R3732211754"><rdfs:label xml:lang="en">valve &amp; tap</rdfs:label></owl:Class>
  <owl:Class rdf:about="not an IRI{{}}">
    <rdfs:label>lost</rdfs:label>
  </owl:Class>
  <rdf:Description rdf:about="#R6569332477">
    <owl:sameAs rdf:resource="http://example.org/9"/></rdf:Description>
</rdf:RDF>
"""


@pytest.mark.parametrize("name", ["classes.rdf", "classes.owl", "classes.owl.gz"])
def test_rdf_xml_is_read_description_by_description(tmp_path: Path, namespace: Namespace, name: str) -> None:
    import gzip

    text = XML.format(base=RDL[:-1]).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    reading = plain_rdf.read(tmp_path / name, namespace)
    assert [(row.line, row.id, row.name) for row in reading.rows] == [
        (5, FIRST, "valve & tap"),
        (9, SECOND, None),
    ]
    assert reading.rows[1].statement is not None
    assert [flaw.line for flaw in reading.malformed] == [6]


def test_the_root_can_be_the_only_description(tmp_path: Path, namespace: Namespace) -> None:
    text = f'<owl:Class xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdf="{VOCABULARIES["rdf"]}"'
    file = write(tmp_path, "one.rdf", f'{text} rdf:about="{FIRST}"/>\n')
    assert [row.id for row in plain_rdf.read(file, namespace).rows] == [FIRST]


def test_an_owl_file_can_be_turtle(tmp_path: Path, namespace: Namespace) -> None:
    for number, start in enumerate(("", f"<{RDL[:-1]}> a <http://www.w3.org/2002/07/owl#Ontology> .\n")):
        file = write(tmp_path, f"{number}.owl", f'{start}<{FIRST}> {LABEL} "valve" .')
        reading = plain_rdf.read(file, namespace)
        assert (reading.format, len(reading.rows)) == ("turtle", 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (XML.format(base="")[:-20], "not well-formed XML"),
        (
            XML.format(base="").replace("&owl;sameAs", "x" * (limits.RDFXML_HEAD + 1)),
            "entity same stands for",
        ),
        (
            XML.format(base="").replace(
                '<!ENTITY same "&owl;sameAs">',
                "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9)).replace("&e0;", "lol"),
            ),
            "entity e4 stands for more than",
        ),
        ('<?xml version="1.0"?>' + "<a>" * 100, "nested more than 64 deep"),
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, namespace: Namespace, text: str, reason: str) -> None:
    with pytest.raises(ExchangeError, match=reason):
        plain_rdf.read(write(tmp_path, "hostile.rdf", text), namespace)


def test_a_file_about_something_else_says_what_it_is_about(tmp_path: Path, namespace: Namespace) -> None:
    file = write(tmp_path, "other.ttl", VALVES.replace(RDL, "http://elsewhere.example.org/data#"))
    with pytest.raises(
        ExchangeError, match=r"no identifier of the namespace rdl.*begin with http://elsewhere"
    ):
        plain_rdf.read(file, namespace)


@pytest.mark.usefixtures("rdl")
def test_what_each_kind_of_file_needs(run: Run, tmp_path: Path) -> None:
    run("mint", "rdl")
    export = tmp_path / "all.ttl"
    run("export", "-o", export)
    assert "import it without a namespace" in run("import", export, "--namespace", "rdl", code=3).err
    plain = write(tmp_path, "plain.ttl", VALVES)
    assert run("import", plain, code=3).err.endswith("(--namespace)\n")
    assert "--namespace" in run("import", write(tmp_path, "plain.owl", VALVES), code=2).err
    assert "--namespace" in run("import", plain, "--keep-going", code=2).err
    assert "only administrators" in run("import", plain, "--namespace", "rdl", by="bob", code=7).err
    run("import", plain, "--namespace", "nowhere", code=4)
