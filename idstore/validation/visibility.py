"""Whether each record is in a graph that its stage allows: the one rule of a registry that its graphs, not its triples, obey or break."""

from collections.abc import Collection, Iterator

from pyoxigraph import NamedNode

from idstore.validation.checks import these
from idstore.validation.graph import Term
from idstore.validation.report import Finding
from idstore.validation.source import Source
from idstore.vocabulary import IDS, access_list

_SHAPE = "https://w3id.org/idstore/shapes#RecordGraph"
_PRIVATE = "a created identifier is in a graph that others than its grant list see"
_PUBLIC = "the record of a fixated identifier or tombstone is in the graph of an access list"


def misplaced(source: Source, among: Collection[Term] | None = None) -> Iterator[Finding]:
    """Every record (of those ``among`` which to look, if given) whose graph does not fit its stage; the graph is the finding's value."""
    for graph in _graphs(source):
        private = access_list(graph) is not None
        for row in source.rows(_query(graph, among, private=private)):
            assert row[0] is not None
            yield Finding(row[0], None, graph, _SHAPE, "graph of the record", "graph", _PUBLIC if private else _PRIVATE)


def _graphs(source: Source) -> list[NamedNode]:
    found = (row[0] for row in source.rows("SELECT DISTINCT ?graph { GRAPH ?graph { } }"))
    return sorted((graph for graph in found if isinstance(graph, NamedNode)), key=str)


def _query(graph: Term, among: Collection[Term] | None, *, private: bool) -> str:
    stages = f"{IDS.Fixated} {IDS.Tombstone}" if private else str(IDS.Created)
    pattern = f"VALUES ?stage {{ {stages} }} GRAPH {graph} {{ ?this {IDS.stage} ?stage }}"
    if among is not None:
        pattern = f"{these(among)} {pattern}"
    return f"SELECT ?this {{ {pattern} MINUS {{ ?this {IDS.about} ?of }} }}"  # an event says in which stage an identifier came in
