"""docs/queries.md is up to date, and its tables and prefixes cover what the data use."""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, parse
from rich_registry import ROOT, fill
from small_registry import sound

import idstore
from idstore import Registry, vocabulary
from idstore.exchange import rdf
from idstore.queries.example_queries import example_queries
from idstore.queries.reference import event_properties, record_properties, reference
from idstore.vocabulary import IDS, MAPPING_PREFIXES, RDF

PAGE = Path(__file__).parents[2] / "docs" / "queries.md"
SETTINGS = (vocabulary.setting_term("").value, vocabulary.argument_term(vocabulary.setting_term("")).value)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("rich") / "store", administrator=ROOT) as registry:
        fill(registry)
        yield registry


def exported(registry: Registry, format: str) -> bytes:
    target = BytesIO()
    rdf.export(registry, target, ROOT, format)
    return target.getvalue()


def terms(quads: list[Quad]) -> set[NamedNode]:
    """Return all predicates and classes."""
    classes = {quad.object for quad in quads if quad.predicate == RDF.type}
    return {quad.predicate for quad in quads} | {term for term in classes if isinstance(term, NamedNode)}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run `python -m idstore.queries.reference > docs/queries.md`"
    )


def test_the_page_has_every_example_with_its_question() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for example in example_queries().values():
        assert f"\n### {example.title}\n\n`idstore query --example {example.name}`\n\n```sparql\n" in text
        assert example.text.partition("\n")[2] in text


def test_every_namespace_in_an_export_has_a_declared_prefix(registry: Registry) -> None:
    quads = list(parse(exported(registry, "trig"), RdfFormat.TRIG))
    used = terms(quads) | terms(sound())
    assert len({term for term in used if term.value.startswith(vocabulary.ONTOLOGY)}) > 60
    spaces = tuple(MAPPING_PREFIXES.values())
    assert [term for term in used if not term.value.startswith(spaces)] == []


@pytest.mark.parametrize("format", ["turtle", "trig"])
def test_an_export_declares_the_prefixes_of_its_terms(registry: Registry, format: str) -> None:
    text = exported(registry, format).decode()
    declared = re.findall(r"^@prefix \S+: <(.*)> \.$", text, re.MULTILINE)
    quads = list(parse(text, RdfFormat.TURTLE if format == "turtle" else RdfFormat.TRIG))
    assert [term for term in terms(quads) if not term.value.startswith(tuple(declared))] == []


def test_the_tables_have_every_property_of_the_data(registry: Registry) -> None:
    quads = [*parse(exported(registry, "nquads"), RdfFormat.N_QUADS), *sound()]
    events = {quad.subject for quad in quads if quad.predicate == IDS.about}
    relations = {quad.object for quad in quads if quad.predicate == RDF.predicate}
    for rows, wanted in ((record_properties(), False), (event_properties(), True)):
        used = {
            quad.predicate
            for quad in quads
            if (quad.subject in events) is wanted and not quad.predicate.value.startswith(SETTINGS)
        }
        listed = {row.term for row in rows}
        hierarchy = {vocabulary.RDFS.subClassOf}
        assert {term.value for term in used - listed - relations - hierarchy} == set()


def test_the_examples_of_the_tables_are_turtle() -> None:
    head = "".join(f"@prefix {prefix}: <{space}> .\n" for prefix, space in MAPPING_PREFIXES.items())
    for row in (*record_properties(), *event_properties()):
        text = f"{head}<urn:x> <{row.term.value}> {row.example.replace('…', 'x')} ."
        assert len(list(parse(text, RdfFormat.TURTLE))) == 1, row.term
