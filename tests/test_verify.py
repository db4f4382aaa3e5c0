"""Planted faults: each kind, made behind the store's back, is reported with its object.

A sound store has no finding.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import NotPermitted
from idstore.registry.findings import KINDS, VerificationFinding
from idstore.registry.handle_values import Draft
from idstore.vocabulary import (
    IDS,
    OWL,
    PROV,
    PUBLIC_LOG,
    RDF,
    RDFS,
    REGISTRY_GRAPH,
    SKOS,
    XSD,
    access_graph,
    closed_graph,
    party_iri,
    setting_term,
)

MARK = NamedNode("https://w3id.org/idstore/graph/mark")
"""The engine's own graph: the last row of the ledger that it contains."""
ROOT, ALICE, BOB, MALLORY = (Party(name) for name in ("root", "alice", "bob", "mallory"))
RDL, NAMES, FORMATS = (
    NamedNode("http://rdl.example.org/data#"),
    NamedNode("https://hdl.handle.net/20.500.1/"),
    NamedNode("http://f.example.org/"),
)
THING, OTHER, NOWHERE = (NamedNode(f"http://example.org/{word}") for word in ("thing", "other", "nowhere"))


@dataclass(frozen=True, slots=True)
class Sound:
    """A store without faults, and its identifiers."""

    folder: Path
    draft: NamedNode
    handle: NamedNode
    published: NamedNode
    tombstone: NamedNode
    keyed: NamedNode
    format: NamedNode


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    folder = tmp_path_factory.mktemp("verify") / "store"
    with idstore.open(folder, administrator=ROOT) as registry:
        govern(registry)
        draft = mint(registry, Request("valve", comment="a draft", target=THING.value))
        registry.grant(draft, Party("staff"), ALICE)
        registry.bind(draft, Statement(THING.value), ALICE)
        handle = registry.register("names", "abc", ALICE).iri
        registry.set_value(handle, Draft("URL", OTHER.value), ALICE)
        registry.set_value(handle, Draft("NOTE", "mine", 7, permissions="1100"), ALICE)
        published = mint(registry, Request("pump"))
        registry.name(published, "better pump", ALICE)
        registry.grant(published, BOB, ALICE, bind=True)
        registry.comment(published, "between us", BOB, internal=True)
        registry.comment(published, "for all", ALICE)
        registry.fixate([published], ALICE)
        registry.bind(published, Statement(OTHER.value, note="same"), BOB)
        tombstone = mint(registry, Request())
        registry.fixate([tombstone], ALICE)
        registry.revoke(tombstone, "abuse", ROOT)
        registry.release(mint(registry, Request()), ALICE)
        keyed = mint(registry, Request(request_key="k"))
        registry.mint("rdl", Party("ida"))
        formats = [registry.mint("formats", ALICE).iri for _ in range(3)]
        registry.comment_namespace("rdl", "the last act", ROOT)
        assert list(registry.verify(ROOT)) == []
    named = [NamedNode(iri) for iri in (draft, handle, published, tombstone, keyed)]
    return Sound(folder, named[0], named[1], named[2], named[3], named[4], NamedNode(formats[-1]))


def govern(registry: Registry) -> None:
    registry.add_namespace("rdl", RDL.value, "rdswip", ROOT)
    registry.add_namespace("names", NAMES.value, "handle", ROOT, {"case_sensitive": "false"})
    registry.add_namespace("formats", FORMATS.value, "puid", ROOT)
    registry.add_party(Party("staff"), ROOT, "group")
    for party in (ALICE, BOB):
        registry.add_party(party, ROOT)
    registry.join(BOB, Party("staff"), ROOT)
    registry.suspend(MALLORY, "spam", ROOT)


def mint(registry: Registry, request: Request) -> str:
    return registry.mint("rdl", ALICE, request).iri


@pytest.fixture
def sound(template: Sound, tmp_path: Path) -> Sound:
    """Return a copy to damage."""
    folder = tmp_path / "store"
    shutil.copytree(template.folder, folder)
    return Sound(
        folder,
        template.draft,
        template.handle,
        template.published,
        template.tombstone,
        template.keyed,
        template.format,
    )


class Bench:
    """The contents of a closed store."""

    def __init__(self, sound: Sound) -> None:
        [generation] = sound.folder.glob("generation-*")
        self.s = sound
        self.engine = Store(str(generation / "engine"))
        self.db = sqlite3.connect(generation / "catalogue.sqlite")
        self.ledger = sqlite3.connect(sound.folder / "ledger.sqlite")

    def event(self, act: NamedNode, about: NamedNode | None = None) -> NamedNode:
        """Return the last event of that kind."""
        found = [quad.subject for quad in self.engine.quads_for_pattern(None, RDF.type, act)]
        if about is not None:
            found = [event for event in found if any(self.engine.quads_for_pattern(event, IDS.about, about))]
        event = max(found, key=str)
        assert isinstance(event, NamedNode)
        return event

    def replace(self, subject: NamedNode, predicate: NamedNode, *values: NamedNode | Literal) -> None:
        """Replace the values of a subject's property, in the same graph."""
        old = list(self.engine.quads_for_pattern(subject, predicate, None))
        assert old
        for quad in old:
            self.engine.remove(quad)
        for value in values:
            self.engine.add(Quad(subject, predicate, value, old[0].graph_name))

    def claim(self, key: NamedNode, holder: NamedNode | None) -> None:
        """Assign a label or request key to another identifier, or to none."""
        if holder is None:
            changed = self.ledger.execute("DELETE FROM claim WHERE key = ?", (key.value,))
        else:
            changed = self.ledger.execute(
                "UPDATE claim SET holder = ? WHERE key = ?", (holder.value, key.value)
            )
        assert changed.rowcount == 1

    def copy(self, subject: NamedNode, graph: NamedNode) -> None:
        """Copy all quads of a subject into another graph."""
        for quad in list(self.engine.quads_for_pattern(subject, None, None)):
            self.engine.add(Quad(quad.subject, quad.predicate, quad.object, graph))

    def drop(self, subject: NamedNode) -> None:
        for quad in list(self.engine.quads_for_pattern(subject, None, None)):
            self.engine.remove(quad)

    def place(self, event: NamedNode) -> tuple[int]:
        """Return the event's row."""
        found: tuple[int] = self.db.execute(
            "SELECT sequence FROM event WHERE token = ?", (int(event.value.rpartition("#")[2], 16),)
        ).fetchone()
        return found

    def statement(self, about: NamedNode) -> NamedNode:
        """Return a binding of an identifier."""
        [quad, *_] = self.engine.quads_for_pattern(None, RDF.subject, about)
        assert isinstance(quad.subject, NamedNode)
        return quad.subject


@contextmanager
def opened(sound: Sound) -> Iterator[Bench]:
    bench = Bench(sound)
    yield bench
    for database in (bench.db, bench.ledger):
        database.commit()
        database.close()
    bench.engine.flush()
    del bench.engine  # the registry may use the folder again


def second_handle(bench: Bench) -> None:
    """Add another identifier whose label differs by case alone, with its event, as a lost race would."""
    other = NamedNode(NAMES.value + "ABC")
    began, again = (
        bench.event(IDS.Registration, bench.s.handle),
        NamedNode(bench.event(IDS.Registration).value[:-16] + "7" * 16),
    )
    for quad in list(bench.engine.quads_for_pattern(bench.s.handle, None, None)):
        bench.engine.add(
            Quad(
                other,
                quad.predicate,
                Literal("ABC") if quad.predicate == SKOS.notation else quad.object,
                quad.graph_name,
            )
        )
    for quad in list(bench.engine.quads_for_pattern(began, None, None)):
        changed: dict[NamedNode, NamedNode | Literal] = {SKOS.notation: Literal("ABC"), IDS.about: other}
        bench.engine.add(
            Quad(again, quad.predicate, changed.get(quad.predicate, quad.object), quad.graph_name)
        )


def forget_event(bench: Bench, event: NamedNode) -> None:
    bench.db.execute("DELETE FROM event WHERE sequence = ?", bench.place(event))


Plant = Callable[[Bench], object]
Where = str | Callable[[Bench], str]
FAULTS: dict[str, tuple[Plant, str, Where]] = {
    # records
    "owner's triple missing": (
        lambda b: b.replace(b.s.draft, IDS.owner),
        "missing-triple",
        lambda b: b.s.draft.value,
    ),
    "stage missing": (
        lambda b: b.replace(b.s.published, IDS.stage),
        "missing-triple",
        lambda b: b.s.published.value,
    ),
    "name changed": (
        lambda b: b.replace(b.s.published, RDFS.label, Literal("worse")),
        "unexplained-triple",
        lambda b: b.s.published.value,
    ),
    "owner changed": (
        lambda b: b.replace(b.s.published, IDS.owner, party_iri("eve")),
        "unexplained-triple",
        lambda b: b.s.published.value,
    ),
    "target changed": (
        lambda b: b.replace(b.s.draft, IDS.target, NOWHERE),
        "missing-triple",
        lambda b: b.s.draft.value,
    ),
    "grant added": (
        lambda b: b.engine.add(Quad(b.s.draft, IDS.grantee, party_iri("eve"), graph_of(b, b.s.draft))),
        "unexplained-triple",
        lambda b: b.s.draft.value,
    ),
    "triple added": (
        lambda b: b.engine.add(
            Quad(b.s.published, OWL.deprecated, Literal("true", datatype=XSD.boolean), RDL)
        ),
        "unexplained-triple",
        lambda b: b.s.published.value,
    ),
    "triple added to a tombstone": (
        lambda b: b.replace(b.s.tombstone, IDS.reason, Literal("none")),
        "missing-triple",
        lambda b: b.s.tombstone.value,
    ),
    "triple about nothing": (
        lambda b: b.engine.add(Quad(NOWHERE, RDFS.label, Literal("x"), RDL)),
        "unexplained-triple",
        NOWHERE.value,
    ),
    "triple in no graph": (
        lambda b: b.engine.add(Quad(NOWHERE, RDFS.label, Literal("x"), DefaultGraph())),
        "unexplained-triple",
        NOWHERE.value,
    ),
    "blank node": (
        lambda b: b.engine.add(Quad(BlankNode("b"), RDF.subject, b.s.draft, RDL)),
        "unexplained-triple",
        "_:b",
    ),
    "whole record missing": (
        lambda b: b.drop(b.s.tombstone),
        "missing-triple",
        lambda b: b.s.tombstone.value,
    ),
    # visibility
    "draft in the public graph": (
        lambda b: b.copy(b.s.draft, RDL),
        "private-in-public",
        lambda b: b.s.draft.value,
    ),
    "draft in the registry's graph": (
        lambda b: b.copy(b.s.draft, REGISTRY_GRAPH),
        "private-in-public",
        lambda b: b.s.draft.value,
    ),
    "grants of a published one in the public graph": (
        lambda b: b.engine.add(Quad(b.s.published, IDS.bindGrantee, party_iri("bob"), RDL)),
        "private-in-public",
        lambda b: b.s.published.value,
    ),
    "a draft's binding in the public graph": (
        lambda b: b.copy(b.statement(b.s.draft), RDL),
        "private-in-public",
        lambda b: b.s.draft.value,
    ),
    "a draft's event in the public log": (
        lambda b: b.copy(b.event(IDS.Mint, b.s.draft), PUBLIC_LOG),
        "private-in-public",
        lambda b: b.event(IDS.Mint, b.s.draft).value,
    ),
    "a draft's event moved to the public log": (
        lambda b: move_event(b, b.event(IDS.Grant, b.s.draft), PUBLIC_LOG),
        "private-in-public",
        lambda b: b.event(IDS.Grant, b.s.draft).value,
    ),
    "an internal remark in the public log": (
        lambda b: b.copy(internal_remark(b), PUBLIC_LOG),
        "private-in-public",
        lambda b: internal_remark(b).value,
    ),
    "a suspension in the public log": (
        lambda b: move_event(b, b.event(IDS.Suspension), PUBLIC_LOG),
        "private-in-public",
        lambda b: b.event(IDS.Suspension).value,
    ),
    "a public event hidden": (
        lambda b: move_event(b, b.event(IDS.Fixation, b.s.published), closed_graph("alice")),
        "event-changed",
        lambda b: b.event(IDS.Fixation, b.s.published).value,
    ),
    # parties that only act
    "description lost": (
        lambda b: b.replace(party_iri("ida"), IDS.name),
        "missing-triple",
        party_iri("ida").value,
    ),
    "description of a hidden party in public": (
        lambda b: b.copy(party_iri("ida"), REGISTRY_GRAPH),
        "private-in-public",
        party_iri("ida").value,
    ),
    "description of a party in another graph": (
        lambda b: b.copy(party_iri("root"), RDL),
        "unexplained-triple",
        party_iri("root").value,
    ),
    "description of a party that never acted": (
        lambda b: b.engine.add(
            Quad(party_iri("nobody"), IDS.name, Literal("nobody"), access_graph(frozenset({"ida"})))
        ),
        "unexplained-triple",
        party_iri("nobody").value,
    ),
    # events
    "event removed": (lambda b: b.drop(b.event(IDS.Comment, b.s.published)), "event-missing", "urn:uuid:"),
    "first event removed": (
        lambda b: b.drop(b.event(IDS.Mint, b.s.draft)),
        "unexplained-triple",
        lambda b: b.s.draft.value,
    ),
    "event's kind changed": (
        lambda b: b.replace(b.event(IDS.Fixation, b.s.published), RDF.type, IDS.Comment),
        "event-changed",
        lambda b: event_about(b, b.s.published, 6),
    ),
    "event's party changed": (
        lambda b: b.replace(b.event(IDS.Fixation, b.s.published), PROV.wasAssociatedWith, party_iri("bob")),
        "event-changed",
        lambda b: b.event(IDS.Fixation, b.s.published).value,
    ),
    "event's time changed": (
        lambda b: b.replace(
            b.event(IDS.Comment, b.s.published),
            PROV.endedAtTime,
            Literal("2020-01-01T00:00:00Z", datatype=XSD.dateTime),
        ),
        "event-changed",
        lambda b: b.event(IDS.Comment, b.s.published).value,
    ),
    "event's time is none": (
        lambda b: b.replace(b.event(IDS.Comment, b.s.published), PROV.endedAtTime, Literal("yesterday")),
        "event-changed",
        lambda b: b.event(IDS.Comment, b.s.published).value,
    ),
    "event's text changed": (
        lambda b: b.replace(b.event(IDS.Comment, b.s.published), IDS.withComment, Literal("for nobody")),
        "event-changed",
        lambda b: b.event(IDS.Comment, b.s.published).value,
    ),
    "an earlier name changed": (
        lambda b: b.replace(b.event(IDS.Mint, b.s.published), IDS.withName, Literal("pomp")),
        "event-changed",
        lambda b: b.event(IDS.Mint, b.s.published).value,
    ),
    "event about another": (
        lambda b: b.replace(b.event(IDS.Fixation, b.s.published), IDS.about, b.s.draft),
        "event-changed",
        lambda b: b.event(IDS.Fixation, b.s.draft).value,
    ),
    "event given an argument": (
        lambda b: b.engine.add(
            Quad(b.event(IDS.Fixation, b.s.published), IDS.withNote, Literal("x"), PUBLIC_LOG)
        ),
        "event-changed",
        lambda b: b.event(IDS.Fixation, b.s.published).value,
    ),
    "event added": (
        lambda b: add_event(b, b.s.published),
        "event-unlisted",
        "urn:uuid:00000000-0000-4000-8000-000000000000#",
    ),
    "strange event added": (
        lambda b: b.engine.add(Quad(NOWHERE, IDS.about, b.s.published, PUBLIC_LOG)),
        "event-unlisted",
        NOWHERE.value,
    ),
    "event not listed": (
        lambda b: forget_event(b, b.event(IDS.Comment, b.s.published)),
        "event-unlisted",
        lambda b: b.event(IDS.Comment, b.s.published).value,
    ),
    "gap in the order": (
        lambda b: b.db.execute("DELETE FROM event WHERE sequence = 5"),
        "sequence-gap",
        "#5",
    ),
    "end of the order missing": (
        lambda b: b.db.execute("DELETE FROM event WHERE sequence = (SELECT max(sequence) FROM event)"),
        "sequence-gap",
        "#",
    ),
    "gap in the public feed": (
        lambda b: b.db.execute("UPDATE event SET publication = publication + 1000 WHERE publication > 6"),
        "publication-gap",
        "urn:uuid:",
    ),
    "public event left out of the feed": (
        lambda b: b.db.execute(
            "UPDATE event SET publication = NULL WHERE publication = (SELECT max(publication) FROM event)"
        ),
        "publication-gap",
        "urn:uuid:",
    ),
    "private event in the feed": (
        lambda b: b.db.execute(
            "UPDATE event SET publication = 9999 WHERE sequence = ?", b.place(b.event(IDS.Mint, b.s.draft))
        ),
        "private-in-public",
        lambda b: b.event(IDS.Mint, b.s.draft).value,
    ),
    "event listed for another party": (
        lambda b: b.db.execute(
            "UPDATE event SET actor = (SELECT id FROM term WHERE text = 'bob') WHERE sequence = ?",
            b.place(b.event(IDS.Mint, b.s.draft)),
        ),
        "listing",
        lambda b: b.event(IDS.Mint, b.s.draft).value,
    ),
    "event listed for everyone": (
        lambda b: b.db.execute(
            "UPDATE event SET audience = 0 WHERE sequence = ?", b.place(b.event(IDS.Mint, b.s.draft))
        ),
        "publication-gap",
        lambda b: b.event(IDS.Mint, b.s.draft).value,
    ),
    # labels
    "label issued twice": (second_handle, "issued-twice", NAMES.value + "ABC"),
    "claim removed": (
        lambda b: b.claim(NamedNode(NAMES.value + "ABC"), None),
        "claim-missing",
        lambda b: b.s.handle.value,
    ),
    "claim of another": (
        lambda b: b.claim(b.s.draft, b.s.published),
        "claim-unexplained",
        lambda b: b.s.draft.value,
    ),
    "stray claim": (
        lambda b: b.ledger.execute("INSERT INTO claim VALUES (?, ?, NULL, 1)", (NOWHERE.value, OTHER.value)),
        "claim-unexplained",
        NOWHERE.value,
    ),
    "request key forgotten": (
        lambda b: b.claim(request_key(b), None),
        "claim-missing",
        lambda b: b.s.keyed.value,
    ),
    "request key of another": (
        lambda b: b.claim(request_key(b), b.s.draft),
        "claim-unexplained",
        "/request/",
    ),
    "request key with other arguments": (
        lambda b: b.ledger.execute(
            "UPDATE claim SET digest = 'another' WHERE key = ?", (request_key(b).value,)
        ),
        "claim-unexplained",
        "/request/",
    ),
    # bindings
    "binding without its plain triple": (
        lambda b: b.replace(b.s.published, SKOS.exactMatch),
        "dangling-binding",
        lambda b: b.s.published.value,
    ),
    "plain triple without a binding": (
        lambda b: b.engine.add(Quad(b.s.published, SKOS.exactMatch, NOWHERE, RDL)),
        "dangling-binding",
        lambda b: b.s.published.value,
    ),
    "binding without an event": (
        lambda b: bind(b, b.s.published),
        "dangling-binding",
        lambda b: b.s.published.value,
    ),
    "binding of an identifier that is not there": (lambda b: bind(b, NOWHERE), "dangling-binding", "#bound"),
    "binding by another": (
        lambda b: b.replace(b.statement(b.s.published), PROV.wasAttributedTo, party_iri("eve")),
        "dangling-binding",
        lambda b: b.s.published.value,
    ),
    # values
    "value with other data": (
        lambda b: b.replace(value(b), IDS.data, Literal(NOWHERE.value)),
        "dangling-value",
        lambda b: b.s.handle.value,
    ),
    "value missing": (lambda b: b.drop(value(b)), "dangling-value", lambda b: b.s.handle.value),
    "value without an event": (
        lambda b: add_value(b, b.s.handle),
        "dangling-value",
        lambda b: b.s.handle.value,
    ),
    "value of an identifier that is not there": (
        lambda b: add_value(b, NOWHERE),
        "dangling-value",
        NOWHERE.value,
    ),
    "target that is not the first URL": (
        lambda b: b.replace(b.s.handle, IDS.target, NOWHERE),
        "missing-triple",
        lambda b: b.s.handle.value,
    ),
    "private value in the public graph": (
        lambda b: b.copy(value(b, 7), NAMES),
        "private-in-public",
        lambda b: b.s.handle.value,
    ),
    "private value's event in the public log": (
        lambda b: move_event(b, b.event(IDS.ValueSetting, b.s.handle), PUBLIC_LOG),
        "private-in-public",
        lambda b: b.event(IDS.ValueSetting, b.s.handle).value,
    ),
    # lists and counters
    "listed in another stage": (
        lambda b: relist(b, b.s.draft, "stage = 1"),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "listed for another owner": (
        lambda b: relist(b, b.s.draft, "owner = (SELECT id FROM term WHERE text = 'bob')"),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "listed for everyone": (
        lambda b: relist(b, b.s.draft, "audience = 0"),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "listed at another time": (
        lambda b: relist(b, b.s.draft, "created = 0"),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "not listed": (
        lambda b: b.db.execute("DELETE FROM identifier WHERE iri = ?", (b.s.draft.value,)),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "listed twice": (
        lambda b: b.db.execute(
            "INSERT INTO identifier SELECT n + 1000, hash, iri, namespace, owner, stage, "
            "audience, created, fixated FROM identifier WHERE iri = ?",
            (b.s.draft.value,),
        ),
        "listing",
        lambda b: b.s.draft.value,
    ),
    "listed and not there": (
        lambda b: b.db.execute(
            "INSERT INTO identifier SELECT n + 1000, 1, ?, namespace, owner, stage, audience,"
            " created, fixated FROM identifier WHERE iri = ?",
            (NOWHERE.value, b.s.draft.value),
        ),
        "listing",
        NOWHERE.value,
    ),
    "tally wrong": (
        lambda b: b.db.execute("UPDATE tally SET count = count + 1 WHERE audience = 0 AND stage = 1"),
        "counter",
        "tally of everyone, ",
    ),
    "daily count wrong": (
        lambda b: b.db.execute("UPDATE daily SET count = count + 1 WHERE audience = 0"),
        "counter",
        "daily of everyone, ",
    ),
    "tally missing": (lambda b: b.db.execute("DELETE FROM tally"), "counter", RDL.value),
    "series wrong": (
        lambda b: b.db.execute("UPDATE series SET issued = issued - 1"),
        "counter",
        f"series '10' of {RDL.value}",
    ),
    "highest number wrong": (
        lambda b: b.db.execute("UPDATE series SET highest = 1 WHERE series = 'fmt'"),
        "counter",
        f"series 'fmt' of {FORMATS.value}",
    ),
    # namespaces and parties
    "suspension removed": (
        lambda b: b.replace(party_iri("mallory"), IDS.suspended),
        "missing-triple",
        party_iri("mallory").value,
    ),
    "suspension added": (
        lambda b: b.engine.add(Quad(party_iri("alice"), IDS.suspended, Literal("x"), closed_graph("alice"))),
        "unexplained-triple",
        party_iri("alice").value,
    ),
    "setting changed": (
        lambda b: b.replace(NAMES, setting_term("case_sensitive"), Literal("true", datatype=XSD.boolean)),
        "unexplained-triple",
        NAMES.value,
    ),
    "namespace broken": (lambda b: b.replace(FORMATS, IDS.scheme), "missing-triple", FORMATS.value),
    "namespace of an unknown scheme": (
        lambda b: b.replace(NAMES, IDS.scheme, Literal("none")),
        "unexplained-triple",
        NAMES.value,
    ),
    "namespace added": (
        lambda b: b.engine.add(Quad(NOWHERE, RDF.type, IDS.Namespace, REGISTRY_GRAPH)),
        "unexplained-triple",
        NOWHERE.value,
    ),
    "membership added": (
        lambda b: b.engine.add(Quad(party_iri("alice"), IDS.memberOf, party_iri("staff"), REGISTRY_GRAPH)),
        "unexplained-triple",
        party_iri("alice").value,
    ),
    "membership removed": (
        lambda b: b.replace(party_iri("bob"), IDS.memberOf),
        "missing-triple",
        party_iri("bob").value,
    ),
    "administrator added": (
        lambda b: b.engine.add(Quad(party_iri("eve"), RDF.type, IDS.Administrator, REGISTRY_GRAPH)),
        "unexplained-triple",
        party_iri("eve").value,
    ),
    "administrator removed": (
        lambda b: b.replace(party_iri("root"), RDF.type),
        "missing-triple",
        lambda b: party_iri("root").value,
    ),
}


def value(bench: Bench, index: int = 1) -> NamedNode:
    return NamedNode(f"{bench.s.handle.value}#{index}")


def add_value(bench: Bench, subject: NamedNode) -> None:
    node = NamedNode(f"{subject.value}#9")
    for quad in list(bench.engine.quads_for_pattern(value(bench), None, None)):
        bench.engine.add(
            Quad(node, quad.predicate, subject if quad.predicate == IDS.valueOf else quad.object, NAMES)
        )


def graph_of(bench: Bench, iri: NamedNode) -> NamedNode:
    [stage] = bench.engine.quads_for_pattern(iri, IDS.stage, None)
    assert isinstance(stage.graph_name, NamedNode)
    return stage.graph_name


def move_event(bench: Bench, event: NamedNode, graph: NamedNode) -> None:
    """Move an event in the engine and in the order of the log: the two agree, and both are wrong."""
    quads = list(bench.engine.quads_for_pattern(event, None, None))
    bench.drop(event)
    for quad in quads:
        bench.engine.add(Quad(quad.subject, quad.predicate, quad.object, graph))
    bench.db.execute("INSERT OR IGNORE INTO term (text) VALUES (?)", (graph.value,))
    (number,) = bench.db.execute("SELECT id FROM term WHERE text = ?", (graph.value,)).fetchone()
    audience = 0 if graph == PUBLIC_LOG else number
    bench.db.execute("UPDATE event SET audience = ? WHERE sequence = ?", (audience, *bench.place(event)))


def internal_remark(bench: Bench) -> NamedNode:
    [event] = {quad.subject for quad in bench.engine.quads_for_pattern(None, IDS.internal, None, None)}
    assert isinstance(event, NamedNode)
    return event


def event_about(bench: Bench, about: NamedNode, place: int) -> str:
    """Return the event about an identifier at that place of its trail."""
    events = [quad.subject for quad in bench.engine.quads_for_pattern(None, IDS.about, about)]
    return sorted((bench.place(event), event.value) for event in events if isinstance(event, NamedNode))[
        place - 1
    ][1]


def add_event(bench: Bench, about: NamedNode) -> None:
    event = NamedNode("urn:uuid:00000000-0000-4000-8000-000000000000#0000000000000001")
    for quad in list(bench.engine.quads_for_pattern(bench.event(IDS.Comment, about), None, None)):
        bench.engine.add(Quad(event, quad.predicate, quad.object, PUBLIC_LOG))


def request_key(bench: Bench) -> NamedNode:
    [(key,)] = bench.ledger.execute("SELECT key FROM claim WHERE key LIKE '%/request/%'")
    return NamedNode(key)


def bind(bench: Bench, subject: NamedNode) -> None:
    statement = NamedNode("urn:uuid:00000000-0000-4000-8000-000000000000#bound")
    for predicate, value in (
        (RDF.type, IDS.Binding),
        (RDF.subject, subject),
        (RDF.predicate, SKOS.exactMatch),
        (RDF.object, OTHER),
    ):
        bench.engine.add(Quad(statement, predicate, value, RDL))


def relist(bench: Bench, iri: NamedNode, change: str) -> None:
    bench.db.execute(f"UPDATE identifier SET {change} WHERE iri = ?", (iri.value,))


def found(sound: Sound, *, repair: bool = False) -> list[VerificationFinding]:
    with idstore.open(sound.folder) as registry:
        if repair:
            registry.repair_counters(ROOT)
        return list(registry.verify(ROOT))


def dump(sound: Sound) -> tuple[set[str], list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Return everything but the counters."""
    with opened(sound) as bench:
        quads = {str(quad) for quad in bench.engine if quad.graph_name != MARK}
        return (
            quads,
            bench.db.execute("SELECT * FROM event").fetchall(),
            bench.db.execute("SELECT * FROM identifier").fetchall(),
        )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_with_its_object(sound: Sound, fault: str) -> None:
    plant, kind, where = FAULTS[fault]
    with opened(sound) as bench:
        plant(bench)
        node = where if isinstance(where, str) else where(bench)
    findings = found(sound)
    assert {finding.kind for finding in findings} <= set(KINDS)
    assert any(finding.kind == kind and node in finding.node for finding in findings), [
        str(finding) for finding in findings
    ]


@pytest.mark.parametrize(
    "fault", ["tally wrong", "daily count wrong", "tally missing", "series wrong", "highest number wrong"]
)
def test_counters_can_be_repaired(sound: Sound, fault: str) -> None:
    with opened(sound) as bench:
        FAULTS[fault][0](bench)
    before = dump(sound)
    assert {finding.kind for finding in found(sound)} == {"counter"}
    assert found(sound, repair=True) == []
    assert dump(sound) == before


def test_impossible_counters_do_not_prevent_an_export(sound: Sound) -> None:
    with idstore.open(sound.folder) as registry, registry.quads(ALICE) as quads:
        before = [str(quad) for quad in quads]
    with opened(sound) as bench:
        bench.db.execute("UPDATE tally SET stage = 9 WHERE stage = 1")
    with idstore.open(sound.folder) as registry:
        with registry.quads(ALICE) as quads:
            assert [str(quad) for quad in quads] == before
        with registry.records(ALICE) as records:
            assert sound.draft in {record.node for record in records}


@pytest.mark.parametrize(
    "fault",
    [
        "name changed",
        "event's text changed",
        "gap in the order",
        "claim removed",
        "listed for everyone",
        "setting changed",
    ],
)
def test_only_counters_are_repaired(sound: Sound, fault: str) -> None:
    with opened(sound) as bench:
        FAULTS[fault][0](bench)
    before = dump(sound)
    findings = [finding for finding in found(sound) if finding.kind != "counter"]
    assert findings
    assert [finding for finding in found(sound, repair=True) if finding.kind != "counter"] == findings
    assert dump(sound) == before


@pytest.mark.parametrize("step", [80, pytest.param(3, marks=pytest.mark.slow)])
def test_the_loss_of_any_triple_is_found(sound: Sound, step: int) -> None:
    with opened(sound) as bench:
        quads = sorted((quad for quad in bench.engine if quad.graph_name != MARK), key=str)[::step]
    unnoticed = []
    for quad in quads:
        with opened(sound) as bench:
            bench.engine.remove(quad)
        if not [finding for finding in found(sound) if finding.kind != "counter"]:
            unnoticed.append(quad)
        with opened(sound) as bench:
            bench.engine.add(quad)
    assert unnoticed == []
    assert found(sound) == []


COLUMNS = {
    "event": ["token", "act", "about", "actor", "at", "audience", "digest"],
    "identifier": ["hash", "namespace", "owner", "stage", "audience", "created"],
    "tally": ["count"],
    "daily": ["count"],
    "series": ["issued", "highest"],
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in COLUMNS.items() for column in columns]
)
def test_a_change_of_any_row_is_found(sound: Sound, table: str, column: str) -> None:
    with opened(sound) as bench:
        bench.db.execute(f"UPDATE {table} SET {column} = {column} + 1")
    assert found(sound)
    with opened(sound) as bench:
        bench.db.execute(f"UPDATE {table} SET {column} = {column} - 1")
    assert found(sound) == []


def test_verifying_changes_nothing(sound: Sound) -> None:
    with opened(sound) as bench:
        for plant, _, _ in list(FAULTS.values())[:5]:
            plant(bench)
    before = dump(sound)
    assert found(sound)
    assert dump(sound) == before


@pytest.mark.parametrize("seed", range(5))
def test_all_faults_at_once_are_reported_without_an_exception(sound: Sound, seed: int) -> None:
    with opened(sound) as bench:
        for quad in Random(seed).sample(sorted(bench.engine, key=str), len(bench.engine) // 3):
            bench.engine.remove(quad)
        bench.db.execute("DELETE FROM term WHERE id % 4 = 0")
        bench.db.execute("UPDATE identifier SET stage = 7")
        bench.engine.add(Quad(party_iri("root"), RDF.type, IDS.Administrator, REGISTRY_GRAPH))
    assert {finding.kind for finding in found(sound)} >= {"event-changed", "listing", "unexplained-triple"}


def test_only_administrators_verify(sound: Sound) -> None:
    with idstore.open(sound.folder) as registry, pytest.raises(NotPermitted):
        list(registry.verify(ALICE))


def test_every_kind_of_finding_has_a_fault() -> None:
    assert {kind for _, kind, _ in FAULTS.values()} | {"unreadable"} == set(KINDS)


def test_a_repeated_statement_in_one_act_is_stored_once(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        govern(registry)
        old, older, new = (mint(registry, Request()) for _ in range(3))
        registry.fixate([old, older, new], ALICE)
        registry.supersede(old, [new, new], ALICE)
        registry.deprecate(older, "worn", ALICE, [new, old, new])
        registry.add_storage("loads", "/srv/loads", ROOT)
        registry.allow_storage("loads", ["alice", "bob", "alice"], ROOT)
        assert registry.show(old, ALICE).successors == (new,)
        assert list(registry.verify(ROOT)) == []
