"""Bulk import equals import event by event, for any order of a file.

A file with an error is refused whole.
"""

import random
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, RdfFormat

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import ExchangeError, InvalidData, NotPermitted
from idstore.exchange import rdf
from idstore.exchange.sorted_import import SortedImport
from idstore.model import times
from idstore.model.listing import Selection
from idstore.registry.core import Core
from idstore.registry.handle_values import Draft
from idstore.registry.imports.replay import Replay
from idstore.vocabulary import IDS, PROV, RDF, XSD

ROOT, ALICE, BOB = Party("root"), Party("alice"), Party("bob")
RDL = "http://rdl.example.org/data#"
NAMESPACE = IDS.NamespaceAddition.value
Make = Callable[[], Registry]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    numbers, opened = count(), []

    def one() -> Registry:
        opened.append(idstore.open(tmp_path / f"store-{next(numbers)}", administrator=ROOT))
        return opened[-1]

    yield one
    for registry in opened:
        registry.close()


@pytest.fixture
def full(make: Make) -> Registry:
    """Return a registry with a few of all kinds of acts."""
    registry, chance = make(), random.Random(20261121)
    registry.add_namespace("rdl", RDL, "rdswip", ROOT)
    registry.add_namespace("names", "10.5555", "handle", ROOT, {"case_sensitive": "false"})
    registry.add_party(Party("staff"), ROOT, "group")
    for number in range(40):
        work(registry, number, chance)
    elsewhere(registry)
    registry.allow("names", [ALICE.name, BOB.name], ROOT)
    registry.suspend(Party("eve"), "did harm", ROOT)
    return registry


def elsewhere(registry: Registry) -> None:
    """Add data that only some schemes have.

    Values, some of them private, of a handle that is transferred; versions; types; storage.
    """
    for label in ("kept", "published"):
        iri = registry.register("names", label, ALICE, Request(target="http://example.org/t")).iri
        for draft in (Draft("DESC", "a text"), Draft("HS_PUBKEY", b"\x07", permissions="1100")):
            registry.set_value(iri, draft, ALICE)
        registry.unset_values(iri, [2], ALICE)
        registry.transfer(iri, BOB, ALICE)
        registry.transfer(iri, BOB, BOB)
    registry.fixate([iri], BOB)
    registry.add_version(iri, "1.0", BOB)
    registry.vet(iri, Party("dan"), "right")
    registry.add_namespace("formats", "info:pronom/", "puid", ROOT, {"authority": "own"})
    registry.add_type("formats", "lan", "programming language", ROOT)
    registry.add_storage("ejournals", "/mnt/pillar/", ROOT)
    registry.place("ejournals", "wiley", 5, ROOT)


def work(registry: Registry, number: int, chance: random.Random) -> None:
    owner = chance.choice((ALICE, BOB))
    request = Request(
        name=f'a "valve" {number}\n',
        lang="en",
        comment="draft",
        request_key=f"k{number}" if number % 3 else None,
    )
    iri = (
        registry.mint("rdl", owner, request)
        if number % 2
        else registry.register("names", f"Thing-{number}", owner, request)
    ).iri
    if chance.random() < 0.5:
        registry.grant(iri, Party("carol"), owner, bind=True)
        registry.comment(iri, "between us", owner, internal=True)
    if chance.random() < 0.5:
        registry.bind(iri, Statement(f"http://example.org/{number}", note="the same"), owner)
    fate = chance.randrange(4)
    if fate == 0:
        registry.release(iri, owner)
    if fate > 1:
        registry.fixate([iri], owner)
        registry.bind(iri, Statement(f"http://example.org/other/{number}"), Party("dan"))
    if fate == 3:
        registry.revoke(iri, "abuse", ROOT)


def exported(registry: Registry, path: Path) -> Path:
    with path.open("wb") as file:
        rdf.export(registry, file, ROOT, rdf.SUFFIXES[path.suffix])
    return path


def text(registry: Registry, path: Path) -> str:
    return exported(registry, path).read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", rdf.SUFFIXES)
def test_a_whole_registry_survives_export_and_import(
    full: Registry, make: Make, tmp_path: Path, suffix: str
) -> None:
    file, other = exported(full, tmp_path / f"all{suffix}"), make()
    seen: list[tuple[str, int, int]] = []
    report = rdf.import_registry(other, [file], ROOT, progress=lambda *step: seen.append(step))
    assert report.identifiers == 43
    assert text(other, tmp_path / f"again{suffix}") == file.read_text(encoding="utf-8")
    assert list(other.verify(ROOT)) == []
    assert [one.event for one in other.log(ROOT)] == sorted(
        (one.event for one in full.log(ROOT)), key=lambda event: event.order
    )
    assert {step[0] for step in seen} == {"reading", "sorting", "taking in", "finishing"}
    assert all(0 <= done <= total for _, done, total in seen)
    seen.clear()
    again = rdf.import_registry(other, [file], ROOT, progress=lambda *step: seen.append(step))
    assert (again.events, again.known) == (0, report.events)
    assert [step for step in seen if step[0] == "comparing"][-1][1:] == (report.events, report.events)


def one_by_one(file: Path, registry: Registry, tmp_path: Path) -> None:
    """Take every event of a file in by itself: what the bulk must be equal to."""
    with SortedImport([(file, RdfFormat.N_QUADS, "nquads")], tmp_path, lambda *_: None) as found:
        found.number(0, lambda _: False, lambda _: True, lambda _: None, lambda *_: None)
        with registry.store.bulk(fresh=True) as staged:
            for number, event in found.singles():
                staged.set_next_sequence(number)
                Replay(Core(staged)).replay(staged, event)


def test_a_bulk_import_equals_an_import_event_by_event(full: Registry, make: Make, tmp_path: Path) -> None:
    file = exported(full, tmp_path / "all.nq")
    bulk, single = make(), make()
    rdf.import_registry(bulk, [file], ROOT)
    one_by_one(file, single, tmp_path)
    assert text(bulk, tmp_path / "bulk.nq") == text(single, tmp_path / "single.nq")
    with bulk.store.snapshot() as one, single.store.snapshot() as other:
        assert set(one.quads()) == set(other.quads())
        for view in (one, other):
            assert view.catalogue.counts() == one.catalogue.counts()
            assert view.catalogue.tallies(None) == one.catalogue.tallies(None)
            assert view.catalogue.series(RDL) == one.catalogue.series(RDL)
        rows = [
            [
                (row.sequence, row.iri, row.graph, row.publication is None)
                for row in view.catalogue.events(_ALL)
            ]
            for view in (one, other)
        ]
        assert rows[0] == rows[1]
    assert [record.iri for record in bulk.list(ROOT, limit=None)] == [
        record.iri for record in single.list(ROOT, limit=None)
    ]


_ALL = Selection(None)


def test_triples_may_stand_in_any_order_and_twice(full: Registry, make: Make, tmp_path: Path) -> None:
    file, other = exported(full, tmp_path / "all.nt"), make()
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    parts = [tmp_path / "one.nt", tmp_path / "two.nt"]
    for part, some in zip(parts, (lines[::2], lines), strict=True):
        part.write_text("".join(some), encoding="utf-8")
    rdf.import_registry(other, parts, ROOT)
    assert text(other, tmp_path / "again.nt") == file.read_text(encoding="utf-8")


def test_a_second_import_adds_the_missing_events(full: Registry, make: Make, tmp_path: Path) -> None:
    other = make()
    rdf.import_registry(other, [exported(full, tmp_path / "all.nq")], ROOT)
    own = other.mint("rdl", BOB).iri
    for number in range(40, 60):
        work(full, number, random.Random(number))
    for record in full.list(BOB, idstore.Filter(party="bob")):
        if record.stage is idstore.Stage.CREATED:
            full.fixate([record.iri], BOB)
    report = rdf.import_registry(other, [exported(full, tmp_path / "more.nq")], ROOT, own_history=True)
    assert (report.identifiers, bool(report.known)) == (20, True)
    assert list(other.verify(ROOT)) == []
    there = {record.iri: record for record in other.list(ROOT, limit=None)}
    assert there.pop(own).owner == "bob"
    assert there == {record.iri: record for record in full.list(ROOT, limit=None)}


def test_other_lexical_forms_of_a_value_are_the_same_value(
    full: Registry, make: Make, tmp_path: Path
) -> None:
    file, other = exported(full, tmp_path / "all.nq"), make()
    changed = re.sub(r'(\.\d+)Z"\^\^', r'\g<1>000Z"^^', file.read_text(encoding="utf-8")).replace(
        '"true"^^', '"1"^^'
    )
    assert '"1"^^' in changed
    file.write_text(changed, encoding="utf-8")
    rdf.import_registry(other, [file], ROOT)
    assert text(other, tmp_path / "again.nq") == text(full, tmp_path / "first.nq")


def renamed(lines: list[str], old: str, new: str) -> str:
    return "".join(line.replace(old, new) for line in lines)


def test_of_two_spellings_of_one_label_the_local_one_stays(
    full: Registry, make: Make, tmp_path: Path
) -> None:
    iri = full.register("names", "Valve", ALICE).iri
    made = exported(full, tmp_path / "all.nt").read_text(encoding="utf-8").splitlines(keepends=True)
    (event,) = {line.split()[0] for line in made if f"<{iri}>" in line and IDS.about.value in line}
    copied = [line for line in made if line.startswith((event, f"<{iri}>"))]
    twin = renamed(copied, "Valve", "VALVE").replace(event, event[:-5] + "0000>")
    file, other, copy = tmp_path / "twice.nt", make(), make()
    file.write_text("".join(made) + twin, encoding="utf-8")
    before = [entry.event for entry in other.log(ROOT)]
    with pytest.raises(ExchangeError, match="is the same name as"):
        rdf.import_registry(other, [file], ROOT)
    assert [entry.event for entry in other.log(ROOT)] == before
    rdf.import_registry(copy, [tmp_path / "all.nt"], ROOT)
    report = rdf.import_registry(copy, [file], ROOT)
    assert (report.events, report.left.held) == (0, [iri.replace("Valve", "VALVE")])


DAMAGES: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a beginning is missing": (
        lambda lines: without(lines, IDS.Mint.value),
        "which nothing has created|does not follow",
    ),
    "a namespace is missing": (
        lambda lines: without(lines, IDS.NamespaceAddition.value),
        "nothing has added",
    ),
    "a party is missing": (
        lambda lines: [line for line in lines if PROV.wasAssociatedWith.value not in line],
        "is not a whole event",
    ),
    "a time that no date can say": (
        lambda lines: [
            re.sub('"[^"]+"', '"9999-12-31T23:59:59.999-14:00"', line)
            if f"<{PROV.endedAtTime.value}>" in line
            else line
            for line in lines
        ],
        "is not a whole event|holds no event|years 1 to 9999",
    ),
    "no event": (
        lambda lines: [line for line in lines if "urn:uuid:" not in line],
        "holds no event of a registry",
    ),
    "an event of two kinds": (
        lambda lines: (
            lines
            + [
                line.replace("ontology#Mint>", "ontology#Release>")
                for line in lines
                if "ontology#Mint>" in line
            ][:1]
        ),
        "does not follow from the events|which nothing has created",
    ),
    "a name without an event": (
        lambda lines: [
            line.replace('2000/01/rdf-schema#label> "a', '2000/01/rdf-schema#label> "b') for line in lines
        ],
        "does not follow",
    ),
}


@pytest.mark.parametrize("lost", [PROV.wasAttributedTo, IDS.Binding, PROV.generatedAtTime, RDF.predicate])
def test_a_binding_that_lacks_a_triple_is_refused(
    full: Registry, make: Make, tmp_path: Path, lost: NamedNode
) -> None:
    iri = full.mint("names", ALICE).iri
    full.bind(iri, Statement("https://example.org/bound"), ALICE)
    for empty in (True, False):
        other = make()
        if not empty:
            other.add_namespace("own", "20.500.7", "handle", ROOT)
        file = exported(full, tmp_path / "all.nt")
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if f"<{lost.value}>" not in line]
        file.write_text("".join(kept), encoding="utf-8")
        with pytest.raises(ExchangeError, match="follows from the events in it, and is missing"):
            rdf.import_registry(other, [file], ROOT)
        assert other.list(ROOT) == []


def without(lines: list[str], kind: str) -> list[str]:
    """Return the lines without the events of a kind, and without triples that only these events state."""
    gone = {line.split()[0] for line in lines if f"<{kind}>" in line}
    return [line for line in lines if line.split()[0] not in gone]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_whole(full: Registry, make: Make, tmp_path: Path, damage: str) -> None:
    change, reason = DAMAGES[damage]
    file, other = exported(full, tmp_path / "all.nt"), make()
    file.write_text(
        "".join(change(file.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8"
    )
    with pytest.raises(InvalidData, match=reason):
        rdf.import_registry(other, [file], ROOT)
    assert other.namespaces() == []
    assert len(list(other.log(ROOT))) == 1


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize(
    ("predicate", "other"),
    [
        (RDF.type, "<http://example.org/Type>"),
        (RDF.type, "_:q"),
        (PROV.wasAssociatedWith, "<https://w3id.org/idstore/party/eve>"),
        (PROV.endedAtTime, f'"1999-01-01T00:00:00Z"^^{XSD.dateTime}'),
    ],
    ids=["kind", "no kind", "party", "time"],
)
def test_an_event_with_two_values_of_a_property_is_refused(
    make: Make, tmp_path: Path, predicate: NamedNode, other: str, private: bool
) -> None:
    registry, file = make(), tmp_path / "two.nq"
    registry.add_namespace("rdl", RDL, "rdswip", ROOT)
    made = registry.mint("rdl", ROOT)
    if not private:
        registry.fixate([made.iri], ROOT)
    lines = exported(registry, file).read_text(encoding="utf-8").splitlines(keepends=True)
    event = next(line.split()[0] for line in lines if f"{RDF.type} {IDS.Mint} " in line)
    place = next(number for number, line in enumerate(lines) if line.startswith(f"{event} {predicate} "))
    graph = lines[place].split()[-2]
    for at in (place, place + 1):
        file.write_text(
            "".join([*lines[:at], f"{event} {predicate} {other} {graph} .\n", *lines[at:]]), encoding="utf-8"
        )
        with pytest.raises(
            InvalidData, match=r"does not follow|is not a whole event|nothing has (added|created)"
        ):
            rdf.import_registry(make(), [file], ROOT)
    file.write_text("".join(lines), encoding="utf-8")
    assert rdf.import_registry(make(), [file], ROOT).identifiers == 1


def test_an_identifier_cannot_be_older_than_its_namespace(full: Registry, make: Make, tmp_path: Path) -> None:
    lines = [
        line
        for line in exported(full, tmp_path / "all.nt").read_text(encoding="utf-8").splitlines(keepends=True)
        if line[:10] == "<urn:uuid:"
    ]
    (event,) = {line.split()[0] for line in lines if NAMESPACE in line} & {
        line.split()[0] for line in lines if f"{IDS.about} <{RDL}>" in line
    }
    later = times.literal(times.of(times.now() + 3_600_000))
    moved = [
        f"{event} {PROV.endedAtTime} {later} .\n" if line.startswith(f"{event} {PROV.endedAtTime}") else line
        for line in lines
    ]
    file = tmp_path / "late.nt"
    file.write_text("".join(line for line in moved if "#b" not in line.split()[0]), encoding="utf-8")
    with pytest.raises(ExchangeError, match=f"belongs to the namespace {RDL}, which nothing has added"):
        rdf.import_registry(make(), [file], ROOT)


def test_an_event_with_a_property_of_records_is_refused(full: Registry, make: Make, tmp_path: Path) -> None:
    """Exports of development versions had those."""
    file = tmp_path / "old.nt"
    with file.open("wb") as target:
        rdf.export(full, target, ROOT, "ntriples")
    text = file.read_text(encoding="utf-8")
    assert IDS.withNamespace.value in text
    file.write_text(text.replace(IDS.withNamespace.value, IDS.inNamespace.value), encoding="utf-8")
    with pytest.raises(ExchangeError, match="development versions"):
        rdf.import_registry(make(), [file], ROOT)


def test_who_may_not_import_a_registry_is_told_before_it_is_read(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "broken.nq"
    file.write_text("<http://example.org/a> <http://example.org/b> .\n", encoding="utf-8")
    registry = make()
    with pytest.raises(ExchangeError):
        idstore.import_file(registry, file, ROOT)
    with pytest.raises(NotPermitted):
        idstore.import_file(registry, file, ALICE)
