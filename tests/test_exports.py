"""Exports: read by rdflib, PyLD, curies and sssom-pydantic; their lines; their digest."""

import csv
import hashlib
import io
import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from difflib import ndiff
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import rdflib
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, RdfFormat, parse
from small_registry import sound

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import InvalidData
from idstore.exchange import jsonld, mapping_rows, mappings, rdf, table_export, turtle
from idstore.exchange.curies import Curies
from idstore.exchange.digest import canonical, digest
from idstore.model.filter import Filter
from idstore.resources import folder
from idstore.vocabulary import IDS, MAPPING_PREFIXES, PUBLIC_LOG, REGISTRY_GRAPH, XSD

ANN, BEN, ROOT = Party("ann"), Party("ben"), Party("root")
BASE = "https://hdl.handle.net/20.500.1/"
WIKIDATA = "http://www.wikidata.org/entity/Q1"
ODD = (
    "skos:note",
    "stage:x",
    "urn:isbn:1",
    "http://example.org/",
    "http://example.org",
    "http://example.org/a//b#c?d=é",
    "mailto:a@b.c",
    BASE + "//x",
)
"""Targets that look like short forms, and targets that cannot be shortened."""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("names", BASE, "handle", ROOT)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        for label in ("a", "b/c", "//d"):
            registry.register(
                "names", label, ANN, Request('valve, "open"\n| or\tnot', target="http://example.org/t")
            )
        registry.name("names:a", "Ventil", ANN, "de")
        for target in ODD:
            registry.bind("names:a", Statement(target, force=True), ANN)
        registry.bind(
            "names:b/c",
            Statement(
                WIKIDATA, MAPPING_PREFIXES["skos"] + "closeMatch", "a\nnote\\", Decimal("0.5"), author="A|B"
            ),
            ANN,
        )
        registry.bind(
            "names:b/c",
            Statement(
                WIKIDATA,
                justification=MAPPING_PREFIXES["semapv"] + "LexicalMatching",
                author="https://orcid.org/0000-0002-1825-0097",
            ),
            ANN,
        )
        registry.fixate(["names:b/c"], ANN)
        registry.bind("names:b/c", Statement(WIKIDATA, "http://example.org/relation"), BEN)
        registry.mint("rdl", BEN)
        yield registry


def exported(registry: Registry, party: Party, format: str) -> bytes:
    target = BytesIO()
    match format:
        case "csv":
            table_export.export_csv(registry, target, party)
        case "sssom":
            table_export.export_sssom(registry, target, party)
        case _:
            rdf.export(registry, target, party, format)
    return target.getvalue()


# lines


def difference(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    """Return removed and added lines."""
    found = list(ndiff(before.decode().splitlines(), after.decode().splitlines()))
    return [line[2:] for line in found if line.startswith("- ")], [
        line[2:] for line in found if line.startswith("+ ")
    ]


@pytest.mark.parametrize("format", ["turtle", "trig"])
@pytest.mark.parametrize("id", ["names:a", "names:b/c", "names://d"])
def test_a_binding_adds_one_line_beside_its_statement_and_its_event(
    registry: Registry, format: str, id: str
) -> None:
    before = exported(registry, ROOT, format)
    registry.bind(id, Statement("http://example.org/zzz"), ANN)
    gone, come = difference(before, exported(registry, ROOT, format))
    assert gone == []
    assert sorted(line.split()[2] if line.startswith("<") else line for line in come) == [
        "\tskos:exactMatch <http://example.org/zzz> ;",
        "ids:Bind",
        "ids:Binding",
    ]


@pytest.mark.parametrize("format", ["turtle", "trig"])
def test_another_target_changes_one_line(registry: Registry, format: str) -> None:
    before = exported(registry, ROOT, format)
    registry.unbind("names:b/c", Statement(WIKIDATA), ANN)
    registry.bind("names:b/c", Statement(WIKIDATA + "1"), ANN)
    gone, come = difference(before, exported(registry, ROOT, format))
    assert [line for line in gone if not line.startswith("<urn:")] == [f"\tskos:exactMatch <{WIKIDATA}> ;"]
    assert [line for line in come if not line.startswith("<urn:")] == [f"\tskos:exactMatch <{WIKIDATA}1> ;"]
    assert (len(gone), len(come)) == (2, 4)  # the statement; the statement and two events


# other readers


def by_rdflib(content: bytes, format: str) -> set[tuple[str, ...]]:
    dataset = rdflib.Dataset(default_union=False)
    dataset.parse(data=content, format={"ntriples": "nt", "jsonld": "json-ld"}.get(format, format))
    return {tuple("" if term is None else str(term.n3()) for term in _flat(quad)) for quad in dataset.quads()}


def _flat(quad: Any) -> list[Any]:
    subject, predicate, value, graph = quad
    return [subject, predicate, value, rdflib.URIRef(str(graph)) if graph is not None else None]


@pytest.mark.filterwarnings(
    "ignore:Dataset:DeprecationWarning", "ignore:ConjunctiveGraph:DeprecationWarning"
)  # deprecated calls inside rdflib
@pytest.mark.parametrize("party", [ROOT, ANN, Party("nobody")], ids=str)
@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "jsonld"])
def test_rdflib_reads_the_same_from_each_format(registry: Registry, party: Party, format: str) -> None:
    said = by_rdflib(exported(registry, party, "nquads"), "nquads")
    read = by_rdflib(exported(registry, party, format), format)
    if format in ("turtle", "ntriples"):
        said, read = {quad[:3] for quad in said}, {quad[:3] for quad in read}
    assert read == said
    assert len(said) > 10


def pyld() -> Any:
    return pytest.importorskip("pyld.jsonld", reason="install the extra named test")


def published() -> Any:
    return json.loads((folder("ontology") / "context.jsonld").read_text(encoding="utf-8"))


def test_pyld_reads_and_compacts_json_ld_to_the_same(registry: Registry) -> None:
    document = json.loads(exported(registry, ROOT, "jsonld"))
    assert document["@context"] == published()["@context"]
    read = pyld().to_rdf(document, {"format": "application/n-quads"})
    assert set(parse(read.encode(), RdfFormat.N_QUADS)) == set(
        parse(exported(registry, ROOT, "nquads"), RdfFormat.N_QUADS)
    )
    nodes = [node for graph in document["@graph"] for node in graph["@graph"]]
    for node in nodes:
        compacted = pyld().compact({"@context": document["@context"]} | node, published())
        assert {key: value for key, value in compacted.items() if key != "@context"} == node


def test_each_term_of_a_registry_is_in_the_context() -> None:
    quads = [Quad(quad.subject, quad.predicate, quad.object, REGISTRY_GRAPH) for quad in sound()]
    document = json.loads("".join(jsonld.lines(quads)))
    keys = {key for node in document["@graph"][0]["@graph"] for key in node}
    assert [key for key in keys if ":" in key] == []
    assert [
        term for term in published()["@context"] if ":" in term or term[0].isupper()
    ] == []  # neither prefixes nor classes


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
iris = st.one_of(
    st.sampled_from([NamedNode(iri) for iri in ODD]),
    st.text(
        st.characters(
            max_codepoint=0xFFEF,
            exclude_categories=("Cc", "Z", "Cn", "Co", "Cs"),
            exclude_characters='<>"{}|\\^`%[]#',
        ),
        max_size=6,
    ).map(lambda text: NamedNode("http://example.org/x" + text)),
    st.sampled_from(sorted({quad.predicate for quad in sound()}, key=str)),
)
literals = st.one_of(
    texts.map(Literal),
    st.builds(lambda text, lang: Literal(text, language=lang), texts, st.sampled_from(("en", "pt-br"))),
    st.builds(
        lambda text, kind: Literal(text, datatype=kind),
        st.sampled_from(("", "1", "-1.5", "true", "TRUE", "01", ".5", "2026-11-20T09:00:00.5Z", "1e3")),
        st.sampled_from(
            (XSD.integer, XSD.decimal, XSD.boolean, XSD.dateTime, NamedNode("http://example.org/type"))
        ),
    ),
)
quads = st.builds(
    Quad,
    iris,
    iris,
    st.one_of(iris, literals),
    st.sampled_from((REGISTRY_GRAPH, NamedNode("http://example.org/g"))),
)
together = st.lists(quads, max_size=8).map(
    lambda found: sorted(set(found), key=lambda quad: (str(quad.graph_name), str(quad)))
)


@given(together)
def test_all_quads_survive_a_round_trip(said: list[Quad]) -> None:
    for lines, format in (
        (turtle.lines(map(str, said), graphs=True), RdfFormat.TRIG),
        (jsonld.lines(said), RdfFormat.JSON_LD),
    ):
        assert set(parse("".join(lines).encode(), format)) == set(said)
    again = parse("".join(turtle.lines(map(str, said), graphs=False)).encode(), RdfFormat.TURTLE)
    assert {quad.triple for quad in again} == {quad.triple for quad in said}


@settings(max_examples=30)
@given(together)
def test_canonical_lines_are_those_of_another_implementation(said: list[Quad]) -> None:
    found = list(canonical([*said, *said]))
    dataset = Dataset(said)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    assert found == sorted({f"{quad} .\n".encode() for quad in dataset})
    plain = b"".join(found)
    if (
        all(text.isprintable() or text.isspace() for text in plain.decode())
        and b"\\b" not in plain
        and b"\\f" not in plain
        and b"\\u" not in plain
    ):
        options = {
            "algorithm": "URDNA2015",
            "inputFormat": "application/n-quads",
            "format": "application/n-quads",
        }
        assert pyld().normalize(plain.decode(), options) == plain.decode()


# the digest


def test_registries_with_the_same_statements_have_the_same_digest(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "all.nq"
    file.write_bytes(exported(registry, ROOT, "nquads"))
    found = digest(registry, ROOT)
    assert (
        found.sha256
        == hashlib.sha256(b"".join(sorted(file.read_bytes().splitlines(keepends=True)))).hexdigest()
    )
    with idstore.open(tmp_path / "other", administrator=ROOT) as other:
        rdf.import_registry(other, [file], ROOT)
        assert [digest(other, party) for party in (ROOT, ANN, BEN)] == [
            digest(registry, party) for party in (ROOT, ANN, BEN)
        ]
        other.comment("names:a", "draft", ANN)
        assert digest(other, BEN) == digest(registry, BEN)
        assert digest(other, ANN) != digest(registry, ANN)
    assert len({digest(registry, party).sha256 for party in (ROOT, ANN, BEN)}) == 3


def test_the_mark_of_a_partial_export_does_not_count_in_its_digest(registry: Registry) -> None:
    lines = exported(registry, BEN, "nquads").splitlines(keepends=True)
    rest = [line for line in lines if str(IDS.partial).encode() not in line]
    assert len(rest) == len(lines) - 1
    assert digest(registry, BEN).sha256 == hashlib.sha256(b"".join(sorted(rest))).hexdigest()


# tables


def bindings_of(registry: Registry, party: Party) -> set[tuple[str, str, str, str]]:
    with registry.records(party) as records:
        return {
            (record.iri, one.relation, one.target, one.by) for record in records for one in record.bindings
        }


@pytest.mark.parametrize("party", [ROOT, ANN, Party("nobody")], ids=str)
def test_sssom_is_read_by_independent_readers(registry: Registry, tmp_path: Path, party: Party) -> None:
    import sssom_pydantic

    file = tmp_path / "x.sssom.tsv"
    file.write_bytes(exported(registry, party, "sssom"))
    found, converter, metadata = sssom_pydantic.read(file)[:3]
    read = {
        tuple(
            converter.expand(one.curie, strict=True)
            for one in (mapping.subject, mapping.predicate, mapping.object)
        )
        for mapping in found
    }
    said = bindings_of(registry, party)
    assert read == {binding[:3] for binding in said}
    assert len(found) == len(said)
    assert str(metadata.id).endswith(registry.store.origin)


@pytest.mark.parametrize("word", ["no", "on", "null", "yes", "true"])
def test_prefixes_that_yaml_reads_as_other_types_survive_a_round_trip(
    registry: Registry, tmp_path: Path, word: str
) -> None:
    import sssom_pydantic

    target = f"http://{word}/1"
    registry.bind("names:a", Statement(target), ANN)
    file = tmp_path / "x.sssom.tsv"
    file.write_bytes(exported(registry, ANN, "sssom"))
    found, converter, _ = sssom_pydantic.read(file)[:3]
    assert target in {converter.expand(one.object.curie, strict=True) for one in found}
    with mappings.read(file, "sssom") as reading:
        assert target in {row.target for row in reading.rows if isinstance(row, mapping_rows.MappingRow)}


@pytest.mark.parametrize(
    ("publisher", "type_hint"),
    [
        ('The "Example" Press: Ltd.', "http://www.w3.org/2001/XMLSchema#string"),
        ("https://press.example.org/", "https://w3id.org/linkml/Uriorcurie"),
    ],
)
def test_the_publisher_of_the_namespaces_is_in_the_header(
    registry: Registry, tmp_path: Path, publisher: str, type_hint: str
) -> None:
    import sssom_pydantic

    file = tmp_path / "x.sssom.tsv"
    registry.set_namespace("names", {"publisher": publisher}, ROOT)
    assert b"publisher" not in exported(registry, ANN, "sssom"), "the namespaces differ"
    registry.set_namespace("rdl", {"publisher": publisher}, ROOT)
    file.write_bytes(exported(registry, ANN, "sssom"))
    found, converter, metadata = sssom_pydantic.read(file)[:3]
    assert metadata.extension_definitions is not None
    [slot] = metadata.extension_definitions
    assert converter.expand(slot.predicate.curie) == "http://purl.org/dc/terms/publisher"
    assert converter.expand(slot.datatype.curie) == type_hint
    lines = file.read_text(encoding="utf-8").splitlines()
    header = yaml.safe_load("\n".join(line[1:] for line in lines if line.startswith("#")))
    assert header[slot.name] == publisher
    with mappings.read(file, "sssom") as reading:
        assert len(list(reading.rows)) == len(found)


def test_a_licence_is_an_iri(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="IRI of a licence"):
        table_export.export_sssom(registry, BytesIO(), ANN, licence="none at all")


def test_the_details_of_a_binding_are_in_sssom(registry: Registry) -> None:
    content = exported(registry, BEN, "sssom").decode()
    rows = list(
        csv.DictReader(
            io.StringIO(
                "".join(line for line in content.splitlines(keepends=True) if not line.startswith("#"))
            ),
            delimiter="\t",
        )
    )
    close = next(row for row in rows if row["predicate_id"] == "skos:closeMatch")
    assert close == close | {
        "comment": "a\nnote\\",
        "confidence": "0.5",
        "author_label": "A\\|B",
        "creator_id": "party:ann",
    }
    exact = next(row for row in rows if row["predicate_id"] == "skos:exactMatch")
    assert (exact["mapping_justification"], exact["author_id"]) == (
        "semapv:LexicalMatching",
        "orcid:0000-0002-1825-0097",
    )


def test_mappings_survive_a_round_trip(registry: Registry) -> None:
    content = exported(registry, ANN, "sssom")
    with mappings.read(BytesIO(content), "sssom") as reading:
        proposed = list(mapping_rows.proposals(reading.rows, []))
    assert {outcome.verdict for outcome in registry.state(proposed, ANN)} <= {
        "known",
        "new",
    }  # new: ben's binding
    assert {(one[0], one[1], one[2]) for one in bindings_of(registry, ANN)} == {
        (one.id, one.statement.relation, one.statement.target) for one in proposed
    }


@given(st.lists(iris.map(lambda node: node.value), max_size=6))
def test_short_forms_are_expanded_to_their_iris(said: list[str]) -> None:
    import curies as others

    mine = Curies(MAPPING_PREFIXES.items())
    short = [mine.short(iri) for iri in said]
    converter = others.Converter.from_prefix_map(mine.used)
    assert [converter.expand(one) for one in short] == said
    assert [f"{mine.used[prefix]}{rest}" for prefix, _, rest in (one.partition(":") for one in short)] == said
    assert not any(one.partition(":")[2].startswith("//") for one in short)


def test_a_table_shows_only_data_visible_to_its_maker(registry: Registry) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(registry, BEN, "csv").decode(), newline="")))
    assert {row["identifier"] for row in rows} == {record.iri for record in registry.list(BEN)}
    assert {(row["relation"], row["by"]) for row in rows if row["target"] == WIKIDATA} == {
        (MAPPING_PREFIXES["skos"] + "closeMatch", "ann"),
        (MAPPING_PREFIXES["skos"] + "exactMatch", "ann"),
        ("http://example.org/relation", "ben"),
    }


@pytest.mark.parametrize("party", [ROOT, ANN, BEN, Party("nobody")], ids=str)
@pytest.mark.parametrize("stage", [None, "created", "fixated"])
@pytest.mark.parametrize("namespace", [None, "names", "rdl"])
def test_an_extract_has_the_same_identifiers_in_every_format(
    registry: Registry, party: Party, stage: str | None, namespace: str | None
) -> None:
    every = registry.list(party)
    for since in (None, *(record.created for record in every)):
        filter = Filter(namespace=namespace, stage=stage, since=since)
        with registry.quads(party, filter) as quads, registry.records(party, filter) as records:
            listed = [record.iri for record in records]
            assert set(listed) == {
                str(quad.subject)[1:-1]
                for quad in quads
                if quad.predicate == IDS.stage and quad.graph_name != PUBLIC_LOG
            }
        assert listed == sorted(listed)


# memory


@pytest.mark.slow
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda said: turtle.lines(map(str, said), graphs=True), id="turtle"),
        pytest.param(jsonld.lines, id="jsonld"),
    ],
)
def test_an_export_needs_constant_memory(write: Callable[[Iterable[Quad]], Iterator[str]]) -> None:
    own = sound()[:5]

    def peak(many: int) -> int:
        said = (
            Quad(NamedNode(f"http://example.org/{number}"), quad.predicate, quad.object, REGISTRY_GRAPH)
            for number in range(many)
            for quad in own
        )
        tracemalloc.start()
        for _ in write(said):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2000)  # fills the caches
    assert peak(20_000) < 1.2 * peak(2000) + 100_000


def test_an_extract_has_a_stage_that_exists() -> None:
    with pytest.raises(InvalidData, match="'printed' is not a stage"):
        Filter(stage="printed")
