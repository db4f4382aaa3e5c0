"""Random histories of a registry, a model of who may read which text, and queries that try to read more."""

import gc
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from idstore import Party, Registry, Request, Statement
from idstore.queries import worker
from idstore.queries.process import ProcessAnswer
from idstore.stores.contract import Limits
from idstore.stores.store import DirectoryStore
from idstore.vocabulary import PREFIXES, SPACE, access_graph

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
    "SELECT * { GRAPH <$mark> { ?s ?p ?o } }",
    "SELECT * { VALUES ?g { <$graph> <$closed> <$mark> } GRAPH ?g { ?s ?p ?o } }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } FILTER(?g = <$graph>) }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "SELECT (COUNT(*) AS ?n) (MAX(STR(?o)) AS ?last) { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?g (COUNT(DISTINCT ?s) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
    "SELECT (GROUP_CONCAT(?text) AS ?all) { { SELECT (STR(?o) AS ?text) { ?s ?p ?o } ORDER BY ?text } }",
    "SELECT * FROM <$graph> { ?s ?p ?o }",
    "SELECT * FROM NAMED <$graph> { GRAPH ?g { ?s ?p ?o } }",
    (
        "SELECT * FROM <$graph> FROM NAMED <$closed> FROM NAMED <$mark>"
        " { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    ),
    "SELECT * { { SELECT * { { SELECT * { GRAPH ?g { ?s ?p ?o } } } } } }",
    "SELECT * { <$thing> ?p ?o }",
    "SELECT * { <$thing> (!<urn:x>)* ?o }",
    "SELECT * { ?s (!<urn:x>|^(!<urn:x>))+ <$thing> }",
    "SELECT * { GRAPH ?g { <$thing> <urn:x>? ?o } }",
    "ASK { <$thing> ?p ?o }",
    "ASK { GRAPH <$graph> { ?s ?p ?o } }",
    "SELECT ?s { ?s ids:withName ?o FILTER EXISTS { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?s { ?s ids:withName ?o FILTER NOT EXISTS { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?s { ?s ids:withName ?o MINUS { GRAPH <$graph> { ?s ?q ?r } } }",
    "SELECT * { ?s ids:withName ?o OPTIONAL { GRAPH <$graph> { ?a ?b ?c } } }",
    "SELECT ?x { BIND(EXISTS { GRAPH <$graph> { <$thing> ?p ?o } } AS ?x) }",
    "SELECT * { ?s ids:withName ?o LATERAL { SELECT * { GRAPH ?g { ?s ?q ?r } } } }",
    "SELECT ?s { ?s ids:withName ?o } ORDER BY (EXISTS { GRAPH <$graph> { ?s ?q ?r } }) ?s",
    "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { GRAPH <$graph> { ?s ?q ?r } })",
    "DESCRIBE <$thing>",
    "DESCRIBE <$thing> FROM <$graph>",
    "DESCRIBE ?s { GRAPH ?g { ?s ?p ?o } }",
    "DESCRIBE * { VALUES ?s { <$thing> } }",
    "CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }",
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "CONSTRUCT { ?g <urn:holds> ?s } FROM NAMED <$graph> { GRAPH ?g { ?s ?p ?o } }",
)
"""$graph, $closed, $mark, $thing: a graph of others, a closed log, the store's own graph, an identifier."""
MARK = f"{SPACE}graph/mark"


@dataclass
class Thing:
    """An identifier and its words: some become public with fixation, some stay private."""

    iri: str
    owner: str
    stage: str = "created"
    grants: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    internal: set[str] = field(default_factory=set)

    def read_by(self, party: str) -> set[str]:
        """Return the words that a party may read by the rules of visibility."""
        names = {party, GROUP} if party == MEMBER else {party}
        audience = {self.owner} if self.stage == "released" else {self.owner, *self.grants}
        if party == ADMIN or names & audience:
            return self.words | self.internal
        return self.words if self.stage == "fixated" else set()


@dataclass(frozen=True)
class Act:
    """An act on one of the identifiers by its owner."""

    kind: str
    number: int
    grantee: str


Look = Callable[[pyoxigraph.Store, list[str]], None]


class Runner:
    """A runner without queries: it keeps the engine and the graphs that a query would get."""

    def __init__(self) -> None:
        self.look: Look = lambda *_: None

    def __call__(
        self,
        folder: str,
        text: str,  # noqa: ARG002
        graphs: Sequence[NamedNode],
        limits: Limits,  # noqa: ARG002
    ) -> ProcessAnswer:
        self.look(pyoxigraph.Store.read_only(folder), [graph.value for graph in graphs])
        return ProcessAnswer("truth", "csv", 0, truncated=False, stream=io.BytesIO())


class History:
    """A registry and its model."""

    def __init__(self, registry: Registry, runner: Runner) -> None:
        self.registry = registry
        self.runner = runner
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
        record = self.registry.mint(
            "rdl", Party(owner), Request(name=word, comment=remark, target=f"http://example.org/{word}")
        )
        self.things.append(Thing(record.iri, owner, words={word, remark}))
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
def registry_of(owners: list[str], done: list[Act]) -> Iterator[History]:
    with (
        tempfile.TemporaryDirectory(prefix="idstore-") as folder,
        registry_in(Path(folder) / "store", owners, done) as history,
    ):
        yield history


@contextmanager
def registry_in(folder: Path, owners: list[str], done: list[Act]) -> Iterator[History]:
    """Make the registry of a history in a folder."""
    runner = Runner()
    with Registry(DirectoryStore(folder, create=True, runner=runner)) as registry:
        registry.initialize(Party(ADMIN))
        history = History(registry, runner)
        for owner in owners:
            history.mint(owner)
        for act in done:
            history.do(act)
        yield history


def answer_lines(
    engine: pyoxigraph.Store, text: str, graphs: list[str], dataset: tuple[list[str], list[str]] | None = None
) -> list[str]:
    """Run a query in the process of the test, and return the lines of the answer."""
    form = "ntriples" if text.startswith(("CONSTRUCT", "DESCRIBE")) else "tsv"
    out = io.BytesIO()
    job: dict[str, object] = {"query": text, "graphs": graphs, "dataset": dataset, "bindings": {}}
    job |= {"prefixes": PREFIXES, "formats": [form], "rows": None, "longest_cell": None}
    worker.write_answer(engine, job, out)
    return sorted(out.getvalue().decode().splitlines())


def reduced(engine: pyoxigraph.Store, graphs: list[str]) -> pyoxigraph.Store:
    """Return a store that holds only these graphs."""
    part = pyoxigraph.Store()
    for graph in graphs:
        part.extend(engine.quads_for_pattern(None, None, None, NamedNode(graph)))
    return part


@contextmanager
def collecting_here() -> Iterator[None]:
    """Collect garbage in this thread only.

    The engine's answers must be dropped in the thread that made them, and rdflib leaves reference cycles.
    What was there before, of other tests too, is not looked at: it may be large.
    """
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        gc.enable()
