"""Visibility: random histories of several parties on a store on disk, compared with the reference model.

The test compares after each step. No access path may show a party anything that the model hides from it:
records, lists, trails, counts, the public feed, resolution, exports, queries, errors. Private acts of others
change nothing that the party sees.
"""

import csv
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from pyoxigraph import Literal, NamedNode
from reference_model import HIDDEN, Deed, Line, Model, Refusal, Shown, Thing, line

import idstore
from idstore import Filter, Party, Record, Registry, Request, Statement
from idstore.errors import IdstoreError, NoTarget
from idstore.exchange import mapping_rows, mappings, rdf, table_export
from idstore.exchange.digest import digest
from idstore.model import times
from idstore.registry.handle_values import Draft
from idstore.registry.log import LogEntry
from idstore.testing import SimulatedAllocation
from idstore.vocabulary import IDS, RDF, SKOS, party_name

ADMIN = "root"
PARTIES = ("ann", "ben", "gil", "sus", ADMIN)
OUTSIDER = "out"
GROUP = "staff"
RDL, NAMES = "http://rdl.example.org/data#", "https://hdl.handle.net/20.500.1/"
SPACES = {"rdl": RDL, "names": NAMES}
URIS = tuple(f"http://example.org/{letter}" for letter in "abc")
RELATIONS = (SKOS.exactMatch.value, "http://example.org/relation")
_SAID = (IDS.name, SKOS.note, IDS.reason, IDS.data)

actors = st.sampled_from(PARTIES)
owners = st.one_of(st.none(), st.none(), st.none(), actors)  # None: the owner, so that most acts succeed
admins = st.one_of(st.just(ADMIN), st.just(ADMIN), actors)
grantees = st.sampled_from((*PARTIES, GROUP))
things = st.integers(0, 5)
uris, relations, spaces = st.sampled_from(URIS), st.sampled_from(RELATIONS), st.sampled_from(sorted(SPACES))


class Histories(RuleBasedStateMachine):
    """Permitted and forbidden acts of all parties. A number chooses one of the newest identifiers."""

    queries: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="idstore-"))
        admin = Party(ADMIN)
        self.registry = idstore.open(self.folder / "store", administrator=admin)
        for group in (GROUP, "crew"):
            self.registry.add_party(Party(group), admin, "group")
        for name in PARTIES[:-1]:
            self.registry.add_party(Party(name), admin)
        self.registry.join(Party("gil"), Party(GROUP), admin)
        self.registry.add_namespace("rdl", RDL, "rdswip", admin)
        self.registry.add_namespace("names", NAMES, "handle", admin, {"case_sensitive": "false"})
        self.model = Model({ADMIN}, {GROUP: {"gil"}, "crew": set()})
        for entry in self.registry.published():
            self.model.log(Deed(entry.event.act, _about(entry), entry.event.by, _said(entry)))
        self.before: dict[str, tuple[object, object]] = {}
        self.steps = self.checked = 0

    def teardown(self) -> None:
        try:
            assert [str(found) for found in self.registry.verify(Party(ADMIN))] == []
            if self.queries:
                with self.registry.store.snapshot():
                    for party in ("ben", OUTSIDER):
                        self.ask(party)
        finally:
            self.registry.close()
            shutil.rmtree(self.folder)

    # acting

    def word(self) -> str:
        """Return a text that occurs nowhere else."""
        self.steps += 1
        return f"w{self.steps:05d}x"

    def thing(self, number: int) -> Thing:
        return self.model.things[-1 - number % len(self.model.things)]

    def answered(self, refused: Refusal, act: Callable[[], Any]) -> Any:
        """Run an act after the model ran or refused it, and compare the outcomes."""
        try:
            done = act()
        except IdstoreError as error:
            assert error.code == refused, f"{error.message} (the model says {refused})"
            return None
        assert refused is None, f"the act succeeded, but the model says {refused}"
        return done

    # what can be done

    @initialize(one=actors, other=actors, grantee=grantees, bind=st.booleans())
    def begin(self, one: str, other: str, grantee: str, bind: bool) -> None:
        """Begin with a shared draft, a published identifier with an internal remark, and a private draft."""
        self.mint(one, "rdl", named=True, remarked=True)
        self.grant(None, 0, grantee, bind)
        self.mint(other, "names", named=True, remarked=True)
        self.comment(other, 0, internal=True)
        self.bind(other, 0, URIS[0], RELATIONS[0])
        self.put(other, 0, 50, public=False)
        self.put(other, 0, 51, public=True)
        self.fixate(None, 0)
        self.put(other, 0, 51, public=False)
        self.mint("sus", "rdl", named=False, remarked=False)

    @rule(by=actors, space=spaces, named=st.booleans(), remarked=st.booleans())
    def mint(self, by: str, space: str, named: bool, remarked: bool) -> None:
        self.allocate(by, space, self.word() if named else None, self.word() if remarked else None, None)

    @rule(by=actors, space=spaces, key=st.sampled_from("kl"), said=st.sampled_from("mn"))
    def request(self, by: str, space: str, key: str, said: str) -> None:
        self.allocate(by, space, f"w{by}{space}{key}{said}x", None, key)

    def allocate(self, by: str, space: str, name: str | None, remark: str | None, key: str | None) -> None:
        refused, earlier = (None, None) if key is None else self.model.repeated(by, space, key, name or "")
        refused = (
            self.model.barred(by) or refused or (None if earlier else self.model.may_allocate(by, space))
        )
        made = self.answered(
            refused,
            lambda: self.registry.mint(space, Party(by), Request(name, comment=remark, request_key=key)),
        )
        if earlier is not None and made is not None:
            assert made.iri == earlier.iri
        elif made is not None:
            thing = Thing(made.iri, SPACES[space], by)
            self.model.begin("Mint", thing, name, remark)
            if key is not None:
                self.model.keys[by, space, key] = thing, name or ""

    @rule(by=actors, number=things, again=st.booleans())
    def register(self, by: str, number: int, again: bool) -> None:
        taken = [thing for thing in self.model.things if thing.namespace == NAMES]
        label = (
            taken[number % len(taken)].iri.removeprefix(NAMES).swapcase() if again and taken else self.word()
        )
        refused = self.model.may_allocate(by, "names") or ("taken" if again and taken else None)
        made = self.answered(refused, lambda: self.registry.register("names", label, Party(by)))
        if made is not None:
            self.model.begin("Registration", Thing(made.iri, NAMES, by), None, None)

    @rule(by=owners, number=things, lang=st.sampled_from(("und", "en")))
    def name(self, by: str | None, number: int, lang: str) -> None:
        thing, text = self.thing(number), self.word()
        by = by or thing.owner
        self.answered(
            self.model.name(by, thing, lang, text),
            lambda: self.registry.name(thing.iri, text, Party(by), lang),
        )

    @rule(by=owners, number=things, uri=st.one_of(st.none(), uris))
    def target(self, by: str | None, number: int, uri: str | None) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        self.answered(self.model.aim(by, thing, uri), lambda: self.registry.target(thing.iri, uri, Party(by)))

    @rule(by=owners, number=things, index=st.sampled_from((50, 51)), public=st.booleans())
    def put(self, by: str | None, number: int, index: int, public: bool) -> None:
        thing, text = self.thing(number), self.word()
        by, draft = by or thing.owner, Draft("NOTE", text, index, permissions="1110" if public else "1100")
        refused = self.model.put(by, thing, index, text, public=public, handles=NAMES)
        self.answered(refused, lambda: self.registry.set_value(thing.iri, draft, Party(by)))

    @rule(by=owners, number=things, index=st.sampled_from((50, 51)))
    def take(self, by: str | None, number: int, index: int) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        refused = self.model.take(by, thing, index, handles=NAMES)
        self.answered(refused, lambda: self.registry.unset_values(thing.iri, [index], Party(by)))

    @rule(by=owners, number=things, uri=uris, relation=relations)
    def bind(self, by: str | None, number: int, uri: str, relation: str) -> None:
        thing, note = self.thing(number), self.word()
        by = by or thing.owner
        refused = self.model.bind(by, thing, relation, uri, note)
        self.answered(
            refused, lambda: self.registry.bind(thing.iri, Statement(uri, relation, note), Party(by))
        )

    @rule(by=owners, number=things, uri=uris, relation=relations)
    def unbind(self, by: str | None, number: int, uri: str, relation: str) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        refused = self.model.unbind(by, thing, relation, uri)
        self.answered(refused, lambda: self.registry.unbind(thing.iri, Statement(uri, relation), Party(by)))

    @rule(by=actors, number=things, internal=st.booleans())
    def comment(self, by: str, number: int, internal: bool) -> None:
        thing, text = self.thing(number), self.word()
        refused = self.model.comment(by, thing, text, internal=internal)
        self.answered(refused, lambda: self.registry.comment(thing.iri, text, Party(by), internal=internal))

    @rule(by=actors, number=things)
    def vet(self, by: str, number: int) -> None:
        thing, note = self.thing(number), self.word()
        self.answered(self.model.vet(by, thing, note), lambda: self.registry.vet(thing.iri, Party(by), note))

    @rule(by=owners, number=things, other=things, major=st.integers(0, 2))
    def add_version(self, by: str | None, number: int, other: int, major: int) -> None:
        work, thing = self.thing(number), self.thing(other)
        by = by or work.owner
        version = f"V{major}.{len(self.model.deeds)}"
        refused = self.model.add_version(by, work, version, thing)
        self.answered(
            refused, lambda: self.registry.add_version(work.iri, version, Party(by), existing=thing.iri)
        )

    @rule(number=things, by=owners, grantee=grantees, bind=st.booleans())
    def grant(self, by: str | None, number: int, grantee: str, bind: bool) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        refused = self.model.grant(by, thing, grantee, bind=bind)
        self.answered(refused, lambda: self.registry.grant(thing.iri, Party(grantee), Party(by), bind=bind))

    @rule(number=things, by=owners, grantee=grantees)
    def ungrant(self, by: str | None, number: int, grantee: str) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        self.answered(
            self.model.ungrant(by, thing, grantee),
            lambda: self.registry.ungrant(thing.iri, Party(grantee), Party(by)),
        )

    @rule(number=things, by=owners)
    def fixate(self, by: str | None, number: int) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        self.answered(self.model.fixate(by, thing), lambda: self.registry.fixate([thing.iri], Party(by)))

    @rule(number=things, by=owners)
    def release(self, by: str | None, number: int) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        self.answered(self.model.release(by, thing), lambda: self.registry.release(thing.iri, Party(by)))

    @rule(number=things, by=admins)
    def revoke(self, by: str, number: int) -> None:
        thing, reason = self.thing(number), self.word()
        self.answered(
            self.model.revoke(by, thing, reason), lambda: self.registry.revoke(thing.iri, reason, Party(by))
        )

    @rule(number=things, by=owners, successors=st.lists(things, max_size=2), explained=st.booleans())
    def outdate(self, by: str | None, number: int, successors: list[int], explained: bool) -> None:
        thing, following = self.thing(number), [self.thing(one) for one in successors]
        by, texts = by or thing.owner, [one.iri for one in following]
        if explained or not following:
            reason = self.word()
            refused = self.model.outdate(by, thing, following, reason)
            self.answered(refused, lambda: self.registry.deprecate(thing.iri, reason, Party(by), texts))
        else:
            refused = self.model.outdate(by, thing, following, None)
            self.answered(refused, lambda: self.registry.supersede(thing.iri, texts, Party(by)))

    @rule(number=things, by=owners, receiver=grantees)
    def transfer(self, by: str | None, number: int, receiver: str) -> None:
        thing = self.thing(number)
        by = by or thing.owner
        self.answered(
            self.model.transfer(by, thing, receiver),
            lambda: self.registry.transfer(thing.iri, Party(receiver), Party(by)),
        )

    @rule(number=things)
    def accept(self, number: int) -> None:
        thing = self.thing(number)
        if thing.offered is not None:
            self.transfer(thing.offered, number, thing.offered)

    @rule(
        by=admins,
        member=st.sampled_from(PARTIES[:-1]),
        group=st.sampled_from((GROUP, "crew")),
        joins=st.booleans(),
    )
    def membership(self, by: str, member: str, group: str, joins: bool) -> None:
        refused = self.model.membership(by, member, group, joins=joins)
        change = self.registry.join if joins else self.registry.leave
        self.answered(refused, lambda: change(Party(member), Party(group), Party(by)))

    @rule(by=admins, other=st.sampled_from(("sus", "sus", ADMIN)), suspend=st.booleans())
    def suspend(self, by: str, other: str, suspend: bool) -> None:
        reason = self.word()
        if suspend:
            self.answered(
                self.model.suspend(by, other, reason),
                lambda: self.registry.suspend(Party(other), reason, Party(by)),
            )
        else:
            self.answered(
                self.model.reinstate(by, other), lambda: self.registry.reinstate(Party(other), Party(by))
            )

    @rule(by=admins, frozen=st.booleans())
    def freeze(self, by: str, frozen: bool) -> None:
        refused = self.model.freeze(by, "names", ADMIN, frozen=frozen)
        self.answered(refused, lambda: self.registry.freeze("names", Party(by), frozen=frozen))

    # comparisons

    @invariant()
    def parties_see_what_the_model_allows(self) -> None:
        if self.checked == len(self.model.deeds):  # refused: no change
            assert sum(1 for _ in self.registry.log(Party(ADMIN))) == len(self.model.deeds)
            return
        self.checked = len(self.model.deeds)
        with self.registry.store.snapshot():  # opened once: all exports of this state share it
            for party in (*PARTIES, OUTSIDER):
                self.compare(party)

    def compare(self, party: str) -> None:
        """Compare what a party sees by each access path with the model, and with what it saw before."""
        allowed, events = self.allowed(party), list(self.registry.log(Party(party)))
        for door, shown in self.seen(Party(party), events).items():
            assert shown == allowed[door], f"{party} sees otherwise by {door}"
        # gaps of the sequence would reveal the number of hidden events
        assert all(entry.sequence is None for entry in events) or party == ADMIN
        now = (allowed, (events, *self.numbers(Party(party))))
        earlier = self.before.get(party)
        assert earlier is None or earlier[0] != allowed or earlier[1] == now[1], (
            f"{party} sees traces of a private act"
        )
        self.before[party] = now
        self.absent_as_hidden(party)

    def absent_as_hidden(self, party: str) -> None:
        """Check that errors for hidden identifiers are those for absent ones."""
        hidden = [thing for thing in self.model.things if not self.model.sees(party, thing)]
        if hidden:
            number = len(self.model.deeds)
            self.compare_errors(Party(party), *self.in_one_form(hidden[number % len(hidden)], number))

    def allowed(self, party: str) -> dict[str, object]:
        """Return the content that each access path may show to a party."""
        model, visible = self.model, self.model.visible(party)
        newest = [thing.iri for thing in reversed(visible)]
        trail = model.trail(party)
        return {
            "records": {
                thing.iri: model.shown(party, thing) if model.sees(party, thing) else None
                for thing in model.things
            },
            "remarks": {thing.iri: model.remarks(party, thing) for thing in visible},
            "list": newest,
            "drafts": [thing.iri for thing in reversed(visible) if thing.stage == "created"],
            "ann's": [thing.iri for thing in reversed(visible) if thing.owner == "ann"],
            "log": trail,
            "log by ben": model.trail(party, lambda deed: deed.by == "ben"),
            "logs": {thing.iri: model.trail(party, partial(_concerns, thing)) for thing in model.things},
            "feed": [line(deed) for deed in model.feed],
            "targets": {thing.iri: model.leads_to(party, thing) for thing in visible},
            "bound to": {uri: sorted(thing.iri for thing in visible if uri in _bound(thing)) for uri in URIS},
            "counts": Counter((thing.namespace, thing.owner, thing.stage) for thing in visible),
            "days": Counter(thing.namespace for thing in visible),
            "exported": ({thing.iri for thing in visible}, Counter(entry[:-1] for entry in trail)),
            "tables": (
                newest,
                Counter((thing.iri, *binding[:2]) for thing in visible for binding in thing.bindings),
            ),
            "parties": {
                name: reason
                for name, reason in model.suspended.items()
                if party in (name, *model.administrators)
            },
        }

    def seen(self, party: Party, events: list[LogEntry]) -> dict[str, object]:
        """Return the content that each access path shows to a party."""
        registry, visible = self.registry, [thing.iri for thing in self.model.visible(party.name)]
        counts = registry.counts(party)
        days: Counter[str] = Counter()
        for _, namespace, count in counts.days:
            days[namespace] += count
        return {
            "records": {
                thing.iri: _unless_hidden(partial(_read_record, registry, thing.iri, party))
                for thing in self.model.things
            },
            "remarks": {
                iri: [(said.text, said.by, said.internal) for said in registry.remarks(iri, party)]
                for iri in visible
            },
            "list": [record.iri for record in registry.list(party)],
            "drafts": [record.iri for record in registry.list(party, Filter(stage="created"))],
            "ann's": [record.iri for record in registry.list(party, Filter(party="ann"))],
            "log": [_line(entry) for entry in events],
            "log by ben": [_line(entry) for entry in registry.log(party, Filter(party="ben"))],
            "logs": {
                thing.iri: _unless_hidden(partial(_read_log, registry, thing.iri, party)) or []
                for thing in self.model.things
            },
            "feed": [_line(entry) for entry in registry.published()],
            "targets": {iri: _unless_hidden(partial(_led, registry, iri, party)) for iri in visible},
            "bound to": {uri: list(registry.bound_to(uri, party)) for uri in URIS},
            "counts": Counter({(base, owner, stage): count for base, owner, stage, count in counts.tallies}),
            "days": days,
            "exported": self.exported(party, events),
            "tables": self.tables(party),
            "parties": {
                known.name: known.suspended
                for known in registry.parties(party)
                if known.suspended is not None
            },
        }

    def exported(
        self, party: Party, events: list[LogEntry]
    ) -> tuple[set[str], Counter[tuple[str, str, str, str | None, str | None]]]:
        """Return identifiers and events of an export, after a check for hidden texts."""
        with self.registry.quads(party) as quads:
            found = list(quads)
        self.reveals_nothing(party.name, "\n".join(map(str, found)))
        about = {quad.subject: quad.object for quad in found if quad.predicate == IDS.about}
        entries = (entry for entry in events if entry.event.node in about)
        return (
            {
                str(quad.subject)[1:-1]
                for quad in found
                if quad.predicate == IDS.stage and quad.subject not in about
            },
            Counter(_line(entry)[:-1] for entry in entries),
        )

    def tables(self, party: Party) -> tuple[list[str], Counter[tuple[str, str, str]]]:
        """Return identifiers of one table and bindings of another, after a check for hidden texts."""
        registry, listed, mapped = self.registry, BytesIO(), BytesIO()
        table_export.export_csv(registry, listed, party)
        table_export.export_sssom(registry, mapped, party)
        for file in (listed, mapped):
            self.reveals_nothing(party.name, file.getvalue().decode())
        iris = {row["identifier"] for row in csv.DictReader(listed.getvalue().decode().splitlines())}
        mapped.seek(0)
        with mappings.read(mapped, "sssom") as reading:
            found = [row for row in reading.rows if isinstance(row, mapping_rows.MappingRow)]
        order = [record.iri for record in registry.list(party)]
        return sorted(iris, key=order.index), Counter(
            (row.subject, row.relation, row.target) for row in found
        )

    def reveals_nothing(self, party: str, text: str) -> None:
        """Check that no text occurs that the party may not see."""
        allowed = str(
            (self.allowed(party), [thing.iri for thing in self.model.things if thing.owner == party])
        )
        revealed = [word for word in self.model.texts if word not in allowed and word in text]
        assert revealed == []

    def numbers(self, party: Party) -> tuple[object, ...]:
        """Return everything else that could change, times and numbers included."""
        return (
            self.registry.list(party),
            self.registry.counts(party),
            self.registry.pace(party, times.of(0)),
            self.registry.namespaces(),
            digest(self.registry, party),
        )

    def ask(self, party: str) -> None:
        """Query all quads by SPARQL, in each format."""
        with self.registry.query("SELECT * { GRAPH ?g { ?s ?p ?o } }", Party(party), "tsv") as answer:
            self.reveals_nothing(party, answer.read().decode())
        for format in rdf.FORMATS:
            written = BytesIO()
            rdf.export(self.registry, written, Party(party), format)
            self.reveals_nothing(party, written.getvalue().decode())

    def in_one_form(self, thing: Thing, number: int) -> tuple[str, str]:
        """Return a written form of an identifier, and the same form of an absent one."""
        if thing.namespace == RDL:
            space, free = "rdl", next(iter(_drawn()))
        else:
            space, free = "names", f"free{number:05d}"
        held = thing.iri.removeprefix(thing.namespace)
        return [(thing.iri, thing.namespace + free), (f"{space}:{held}", f"{space}:{free}"), (held, free)][
            number % 3
        ]

    def compare_errors(self, party: Party, hidden: str, free: str) -> None:
        visible = [thing.iri for thing in self.model.visible(party.name)]
        for door in _doors(self.registry, party, visible[-1] if visible else free):
            one, other = _failure(door, hidden), _failure(door, free)
            assert one == other
            assert one[0] == HIDDEN or party.name in self.model.suspended


def _doors(registry: Registry, party: Party, own: str) -> Iterator[Callable[[str], object]]:
    """Yield every operation that reads an identifier by a text."""
    yield lambda text: registry.show(text, party)
    yield lambda text: registry.identify(text, party)
    yield lambda text: registry.resolve(text, party)
    yield lambda text: registry.cite(text, party)
    yield lambda text: registry.remarks(text, party)
    yield lambda text: registry.bind(text, Statement(URIS[0]), party)
    yield lambda text: registry.unbind(text, Statement(URIS[0]), party)
    yield lambda text: registry.comment(text, "remark", party)
    yield lambda text: registry.vet(text, party)
    yield lambda text: registry.authority(text, party)
    yield lambda text: registry.versions(text, party)
    yield lambda text: registry.add_version(text, "1.0", party)
    yield lambda text: registry.name(text, "name", party)
    yield lambda text: registry.target(text, URIS[0], party)
    yield lambda text: registry.values(text, party)
    yield lambda text: registry.set_value(text, Draft("NOTE", "x"), party)
    yield lambda text: registry.unset_values(text, [1], party)
    yield lambda text: registry.grant(text, Party("out"), party)
    yield lambda text: registry.ungrant(text, Party("out"), party)
    yield lambda text: registry.fixate([text], party)
    yield lambda text: registry.release(text, party)
    yield lambda text: registry.revoke(text, "reason", party)
    yield lambda text: registry.transfer(text, party, party)
    yield lambda text: registry.deprecate(text, "reason", party)
    yield lambda text: registry.supersede(text, [own], party)
    yield lambda text: registry.undeprecate(text, party)


def _failure(door: Callable[[str], object], text: str) -> tuple[str, type[BaseException], str, str]:
    """Return the error of a question, without the text that it names."""
    try:
        door(text)
    except IdstoreError as error:
        return (
            error.code,
            type(error),
            error.message.replace(text, "ID"),
            str(error.fields).replace(text, "ID"),
        )
    raise AssertionError(f"{text} was found")


def _unless_hidden(show: Callable[[], Any]) -> Any:
    try:
        return show()
    except IdstoreError as error:
        assert error.code == HIDDEN
        return None


def _shown(record: Record) -> Shown:
    return Shown(
        record.iri,
        record.stage.value,
        record.owner,
        record.grants,
        record.offered,
        record.names,
        record.target and record.target,
        tuple(sorted((binding.relation, binding.target, binding.by) for binding in record.bindings)),
        tuple((value.index, value.text) for value in record.values if value.type == "NOTE"),
        record.deprecated,
        record.reason,
        tuple(sorted(one for one in record.successors)),
        record.work and record.work,
        record.version,
    )


def _read_record(registry: Registry, iri: str, party: Party) -> Shown:
    return _shown(registry.show(iri, party))


def _read_log(registry: Registry, iri: str, party: Party) -> list[Line]:
    return [_line(entry) for entry in registry.log(party, Filter(id=iri))]


def _concerns(thing: Thing, deed: Deed) -> bool:
    return deed.thing is thing


def _led(registry: Registry, iri: str, party: Party) -> str | None:
    try:
        found = registry.resolve(iri, party)
    except NoTarget:
        return None
    if found.buried:
        return f"tombstone: {found.answer.reason}"
    return found.target or f"replaced by {', '.join(sorted(found.current))}"


def _line(entry: LogEntry) -> Line:
    event = entry.event
    return (event.act, _about(entry), event.by, _said(entry), event.text(RDF.value), entry.publication)


def _about(entry: LogEntry) -> str:
    about = entry.event.about
    if entry.event.act == "NamespaceFreeze":
        return next(name for name, base in SPACES.items() if base == about)
    return party_name(NamedNode(about))


def _said(entry: LogEntry) -> str | None:
    found = [
        value.value
        for value in (entry.event.get(predicate) for predicate in _SAID)
        if isinstance(value, Literal)
    ]
    return found[0] if found else None


def _bound(thing: Thing) -> set[str | None]:
    return {thing.target, *(target for _, target, _ in thing.bindings)}


def _drawn() -> Iterator[str]:
    code = idstore.Namespace(RDL, "rdl", "rdswip", (), ADMIN, times.of(0)).scheme
    return code.candidates(SimulatedAllocation(code.context(RDL, {})))


_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)


def test_short_histories() -> None:
    run_state_machine_as_test(
        Histories, settings=settings(_QUIET, max_examples=2, stateful_step_count=20, derandomize=True)
    )


@pytest.mark.slow
def test_long_histories() -> None:
    run_state_machine_as_test(Histories, settings=settings(_QUIET, max_examples=8, stateful_step_count=50))
