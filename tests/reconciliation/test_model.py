"""Reconciliation finds the same as a plain model, for all sides and all their forms."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize
from reconciliation_model import IDENTITY, REPLACES, SKOS, WIKIDATA, Found, Side, compare

from idstore.model.party import Party
from idstore.reconciliation import report
from idstore.reconciliation.claims import SharedStatement
from idstore.reconciliation.kinds import ReconciliationFinding
from idstore.vocabulary import DCTERMS, IDS, OWL, RDF, RDFS

BASE = "http://rdl.example.org/data#"
ENDS = [f"{space}{number}" for space in (BASE, "http://c.example.org/x/") for number in range(4)]
ENDS += [f"{WIKIDATA}{letter}{number}" for letter in "QP" for number in (1, 2)]
RELATIONS = (*IDENTITY, SKOS + "relatedMatch", REPLACES)
STAGES = {"created": IDS.Created, "fixated": IDS.Fixated, "tombstone": IDS.Tombstone}
FACTS = {
    "name": RDFS.label,
    "version": OWL.versionInfo,
    "replaced by": DCTERMS.isReplacedBy,
    "target": IDS.target,
}

ends = st.sampled_from(ENDS)
links = st.lists(
    st.tuples(ends, st.sampled_from(RELATIONS), ends, st.sampled_from([0.25, 0.5, 1.0])), max_size=12
)
sources = st.dictionaries(st.sampled_from(ENDS[8:]), st.sampled_from(["S", "T"]))
tables = st.builds(Side, links, sources=sources)
identifiers = st.sampled_from(ENDS[:4])
facts = st.sets(
    st.one_of(
        st.tuples(identifiers, st.sampled_from(["name", "version"]), st.sampled_from(["a", "b"])),
        st.tuples(identifiers, st.just("replaced by"), identifiers),
        st.tuples(st.sampled_from(ENDS[:6]), st.just("target"), ends),
    ),
    max_size=5,
)
registries = st.builds(
    Side,
    links.map(lambda some: [(*link[:3], 1.0) for link in some]),
    st.dictionaries(identifiers, st.sampled_from([*STAGES, "released"])),
    facts,
    st.just({BASE}),
    st.just(value=True),
)


def write_table(side: Side, place: Path) -> None:
    rows = [
        "subject_id\tpredicate_id\tobject_id\tconfidence\tobject_source",
        *("\t".join((*map(str, link), side.sources.get(link[2], ""))) for link in side.links),
    ]
    place.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def write_registry(side: Side, place: Path) -> None:
    triples = [Triple(NamedNode(BASE), RDF.type, IDS.Namespace)]
    triples += [
        Triple(NamedNode(one), NamedNode(relation), NamedNode(other))
        for one, relation, other, _ in side.links
    ]
    for number, (one, stage) in enumerate(side.stages.items()):
        event = NamedNode(f"urn:example:event:{number}")
        if stage == "released":
            triples += [Triple(event, RDF.type, IDS.Release), Triple(event, IDS.about, NamedNode(one))]
        else:
            triples.append(Triple(NamedNode(one), IDS.stage, STAGES[stage]))
    for one, name, value in side.facts:
        text = Literal(value) if name in ("name", "version") else NamedNode(value)
        triples.append(Triple(NamedNode(one), FACTS[name], text))
    with place.open("wb") as file:
        serialize(triples, file, format=RdfFormat.N_TRIPLES)


def found(sides: list[Side]) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, side in enumerate(sides):
            place = Path(folder) / (f"{number}.nt" if side.registry else f"{number}.tsv")
            (write_registry if side.registry else write_table)(side, place)
            names.append(str(place))
        made: Found = {}
        with report.reconcile(names, Party("alice")) as compared:
            for finding in compared.findings():
                made.setdefault(finding.kind.slug, []).extend(told(finding))
    return {kind: sorted(some, key=repr) for kind, some in made.items()}


def told(finding: ReconciliationFinding) -> list[object]:  # noqa: PLR0911 one line for each kind
    """Return the finding in the model's form."""
    keys = [claim.key for claim in finding.claims]
    match finding.kind.slug:
        case "different-statements":
            return [(finding.about, name) for name in finding.values]
        case "different-relations":
            return [(keys[0][0], keys[0][2])]
        case "several-targets":
            return [(finding.about, tuple(sorted({key[2] for key in keys})))]
        case "claimed-twice":
            return [(finding.about, tuple(sorted({key[0] for key in keys})))]
        case "circle":
            return [tuple(sorted(_pairs(finding.claims)))]
        case "chain":
            return [(finding.about, tuple(sorted(_pairs(finding.claims))))]
        case "joined":
            assert all(link.joins == len(link.pairs) for link in finding.weakest)
            meetings = sorted((link.claim.key, pair) for link in finding.weakest for pair in link.pairs)
            return [(tuple(sorted({end for key in keys for end in (key[0], key[2])})), tuple(meetings))]
        case "cluster":
            return [tuple(sorted({end for key in keys for end in (key[0], key[2])}))]
        case "lacking":
            return [(keys[0] if keys else finding.about, finding.missing)]
        case _:
            return [(finding.about, tuple(sorted(keys)))]


def _pairs(claims: tuple[SharedStatement, ...]) -> set[tuple[str, str]]:
    return {(claim.subject, claim.target) for claim in claims}


@settings(max_examples=60, deadline=None)
@given(st.lists(tables, min_size=1, max_size=3))
def test_tables_give_the_findings_of_the_model(sides: list[Side]) -> None:
    assert found(sides) == compare(sides)


@settings(max_examples=60, deadline=None)
@given(registries, registries, tables)
def test_registries_and_a_table_give_the_findings_of_the_model(one: Side, other: Side, table: Side) -> None:
    assert found([one, other, table]) == compare([one, other, table])


@settings(max_examples=30, deadline=None)
@given(tables, tables)
def test_repetition_and_order_of_lines_change_nothing(one: Side, other: Side) -> None:
    again = Side([*reversed(one.links), *one.links[:3]], sources=one.sources)
    assert found([again, other]) == found([one, other])
