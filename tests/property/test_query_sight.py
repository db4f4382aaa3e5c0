"""No query tells a party more than it would if the store held nothing else.

Two oracles: every text in a random history is a word of its own, and a plain model says who may read it; and each query must give
exactly what it gives on a store into which only the graphs that the party sees were copied.
"""

import gc
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.queries import worker
from idstore.queries.process import Job
from idstore.vocabulary import CLAIMS, PREFIXES, access_graph, closed_graph

ADMIN, GROUP, MEMBER = "root", "staff", "carol"
OWNERS = ("alice", "bob", MEMBER)
GRANTEES = (*OWNERS, GROUP)
READERS = (ADMIN, *OWNERS, "stranger")
ACTS = ("comment", "internal", "bind", "name", "grant", "ungrant", "fixate", "release")

ESCAPES = (
    "SELECT * { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "SELECT DISTINCT ?g { GRAPH ?g {} }",
    "SELECT * { GRAPH <$graph> { ?s ?p ?o } }",
    "SELECT * { GRAPH <$claims> { ?s ?p ?o } }",
    "SELECT * { VALUES ?g { <$graph> <$closed> <$claims> } GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } FILTER(?g = <$graph>) }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) (MAX(STR(?o)) AS ?last) { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?g (COUNT(DISTINCT ?s) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT (GROUP_CONCAT(?text) AS ?all) { { SELECT (STR(?o) AS ?text) { ?s ?p ?o } ORDER BY ?text } }",
    "SELECT * FROM <$graph> { ?s ?p ?o }",
    "SELECT * FROM NAMED <$graph> { GRAPH ?g { ?s ?p ?o } }",
    "SELECT * FROM <$graph> FROM NAMED <$closed> FROM NAMED <$claims> { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }",
    "SELECT * { { SELECT * { { SELECT * { GRAPH ?g { ?s ?p ?o } } } } } }",
    "SELECT * { <$thing> ?p ?o }",
    "SELECT * { <$thing> (!<urn:x>)* ?o }",
    "SELECT * { ?s (!<urn:x>|^(!<urn:x>))+ <$thing> }",
    "SELECT * { GRAPH ?g { <$thing> <urn:x>? ?o } }",
    "ASK { <$thing> ?p ?o }",
    "ASK { GRAPH <$graph> { ?s ?p ?o } }",
    "SELECT ?s { ?s ids:name ?o FILTER EXISTS { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?s { ?s ids:name ?o FILTER NOT EXISTS { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?s { ?s ids:name ?o MINUS { GRAPH <$graph> { ?s ?q ?r } } }",
    "SELECT * { ?s ids:name ?o OPTIONAL { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?x { BIND(EXISTS { GRAPH <$graph> { <$thing> ?p ?o } } AS ?x) }",
    "SELECT * { ?s ids:name ?o LATERAL { SELECT * { GRAPH ?g { ?s ?q ?r } } } }",
    "SELECT ?s { ?s ids:name ?o } ORDER BY (EXISTS { GRAPH <$graph> { ?s ?q ?r } }) ?s",
    "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { GRAPH <$graph> { ?s ?q ?r } })",
    "DESCRIBE <$thing>",
    "DESCRIBE <$thing> FROM <$graph>",
    "DESCRIBE ?s { GRAPH ?g { ?s ?p ?o } }",
    "DESCRIBE * { VALUES ?s { <$thing> } }",
    "CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }",
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "CONSTRUCT { ?g <urn:holds> ?s } FROM NAMED <$graph> { GRAPH ?g { ?s ?p ?o } }",
)
"""$graph, $closed, $claims, $thing: a graph of others, a closed log, the labels that were issued, an identifier."""


@dataclass
class Thing:
    """An identifier, and the words said about it: public when it is fixated, or not even then."""

    iri: str
    owner: str
    stage: str = "created"
    grants: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    internal: set[str] = field(default_factory=set)

    def read_by(self, party: str) -> set[str]:
        """The words that a party may read, as the rules of visibility say it."""
        names = {party, GROUP} if party == MEMBER else {party}
        audience = {self.owner} if self.stage == "released" else {self.owner, *self.grants}
        if party == ADMIN or names & audience:
            return self.words | self.internal
        return self.words if self.stage == "fixated" else set()


@dataclass(frozen=True)
class Act:
    """Something done to one of the identifiers, by its owner."""

    kind: str
    number: int
    grantee: str


class History:
    """A registry, and what the model knows of it."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.things: list[Thing] = []
        self.graphs: set[str] = set()
        self._words = 0
        root = Party(ADMIN)
        registry.add_party(Party(GROUP), root, "group")
        registry.add_party(Party(MEMBER), root)
        registry.join(Party(MEMBER), Party(GROUP), root)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", root)

    def word(self) -> str:
        self._words += 1
        return f"word{self._words:04d}end"

    def mint(self, owner: str) -> None:
        word, remark = self.word(), self.word()
        record = self.registry.mint("rdl", Party(owner), Request(name=word, comment=remark, target=f"http://example.org/{word}"))
        self.things.append(Thing(record.iri.value, owner, words={word, remark}))
        self.note(self.things[-1])

    def note(self, thing: Thing) -> None:
        self.graphs.add(access_graph(frozenset({thing.owner, *thing.grants})).value)

    def do(self, act: Act) -> None:
        thing = self.things[act.number % len(self.things)]
        if thing.stage == "released" or (act.grantee == thing.owner and act.kind in {"grant", "ungrant"}):
            return
        owner = Party(thing.owner)
        match act.kind:
            case "comment" | "internal":
                word = self.word()
                self.registry.comment(thing.iri, word, owner, internal=act.kind == "internal")
                (thing.internal if act.kind == "internal" else thing.words).add(word)
            case "bind":
                word = self.word()
                self.registry.bind(thing.iri, Statement(f"http://example.org/{word}", note=word), owner)
                thing.words.add(word)
            case "name":
                word = self.word()
                self.registry.name(thing.iri, word, owner)
                thing.words.add(word)
            case "grant":
                self.registry.grant(thing.iri, Party(act.grantee), owner)
                thing.grants.add(act.grantee)
            case "ungrant" if act.grantee in thing.grants:
                self.registry.ungrant(thing.iri, Party(act.grantee), owner)
                thing.grants.discard(act.grantee)
            case "fixate" | "release" if thing.stage == "created":
                (self.registry.release if act.kind == "release" else self.fixate)(thing.iri, owner)
                thing.stage = "released" if act.kind == "release" else "fixated"
        self.note(thing)

    def fixate(self, iri: str, owner: Party) -> None:
        self.registry.fixate([iri], owner)

    def read_by(self, party: str) -> set[str]:
        return set().union(*(thing.read_by(party) for thing in self.things))

    def words(self) -> set[str]:
        return {f"word{number + 1:04d}end" for number in range(self._words)}


acts = st.builds(Act, st.sampled_from(ACTS), st.integers(0, 9), st.sampled_from(GRANTEES))
histories = st.tuples(st.lists(st.sampled_from(OWNERS), min_size=2, max_size=6), st.lists(acts, max_size=14))


@contextmanager
def told(owners: list[str], done: list[Act]) -> Iterator[History]:
    with (
        tempfile.TemporaryDirectory(prefix="idstore-") as folder,
        idstore.open(Path(folder) / "store", administrator=Party(ADMIN), durability="process") as registry,
    ):
        history = History(registry)
        for owner in owners:
            history.mint(owner)
        for act in done:
            history.do(act)
        yield history


def asked(engine: pyoxigraph.Store, text: str, graphs: list[str]) -> list[str]:
    """The lines of an answer, made in the process of the test."""
    form = "ntriples" if text.startswith(("CONSTRUCT", "DESCRIBE")) else "tsv"
    out = io.BytesIO()
    worker.answer(engine, {"query": text, "graphs": graphs, "prefixes": PREFIXES, "format": form, "rows": None}, out)
    return sorted(out.getvalue().decode().splitlines())


def reduced(engine: pyoxigraph.Store, graphs: list[str]) -> pyoxigraph.Store:
    """A store that holds these graphs and nothing else."""
    part = pyoxigraph.Store()
    for graph in graphs:
        part.extend(engine.quads_for_pattern(None, None, None, NamedNode(graph)))
    return part


@contextmanager
def collecting_here() -> Iterator[None]:
    """Collect garbage in this thread only: the engine's answers must be dropped where they were made, and rdflib leaves cycles behind."""
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.enable()


@collecting_here()
def escape(made: History, party: str, places: dict[str, str]) -> None:
    """Try everything as a party: it reads what it may read, and nothing else."""
    with made.registry.query_prepared("ASK {}", Party(party)) as run:
        job: Job = run.args[0]  # type: ignore[attr-defined]
        graphs = [*job.graphs]
        whole = pyoxigraph.Store.read_only(job.engine)
        alone, seen = reduced(whole, graphs), made.read_by(party)
        for attempt in ESCAPES:
            text = attempt
            for name, value in places.items():
                text = text.replace(f"${name}", value)
            found = asked(whole, text, graphs)
            assert found == asked(alone, text, graphs), f"{party}: {text}"
            assert not [word for word in made.words() - seen if word in "\n".join(found)], f"{party}: {text}"
        everything = "\n".join(asked(whole, ESCAPES[0], graphs))
        assert {word for word in made.words() if word in everything} == seen
        assert CLAIMS.value not in graphs


@pytest.mark.parametrize("examples", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_queries_escape_nowhere(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(histories, st.integers(0, 9), st.data())
    def attempt(history: tuple[list[str], list[Act]], number: int, data: st.DataObject) -> None:
        with told(*history) as made:
            places = {
                "graph": data.draw(st.sampled_from(sorted(made.graphs))),
                "closed": closed_graph(data.draw(st.sampled_from(OWNERS))).value,
                "claims": CLAIMS.value,
                "thing": made.things[number % len(made.things)].iri,
            }
            for party in READERS:
                escape(made, party, places)

    attempt()
