"""Whether each record, and each value of a handle, is in a graph that allows it: what a registry's graphs, not its triples, obey or break."""

from collections.abc import Collection, Iterator

from pyoxigraph import NamedNode

from idstore.validation.checks import these
from idstore.validation.graph import Term
from idstore.validation.report import Finding
from idstore.validation.source import Source
from idstore.vocabulary import IDS, access_list, closed_party

_SHAPE = "https://w3id.org/idstore/shapes#RecordGraph"
_PRIVATE = "a created identifier is in a graph that others than its grant list see"
_VALUE = "https://w3id.org/idstore/shapes#ValueGraph"
_CONFINED = "a value that not everyone may read, or an event about one, is in a graph that others than its owner see"
_PUBLIC = "the record of a fixated identifier or tombstone is in the graph of an access list"


def misplaced(source: Source, among: Collection[Term] | None = None) -> Iterator[Finding]:
    """Every record (of those ``among`` which to look, if given) whose graph does not fit its stage, every value (and event about one) whose graph does not fit its permissions; the graph is the finding's value."""
    for graph in _graphs(source):
        listed = access_list(graph)
        private = listed is not None
        if closed_party(graph) is None and (listed is None or len(listed) > 1):
            for row in source.rows(_confined(graph)):
                assert row[0] is not None
                yield Finding(row[0], None, graph, _VALUE, "graph of the value", "graph", _CONFINED)
        for row in source.rows(_query(graph, among, private=private)):
            assert row[0] is not None
            yield Finding(row[0], None, graph, _SHAPE, "graph of the record", "graph", _PUBLIC if private else _PRIVATE)


def _graphs(source: Source) -> list[NamedNode]:
    found = (row[0] for row in source.rows("SELECT DISTINCT ?graph { GRAPH ?graph { } }"))
    return sorted((graph for graph in found if isinstance(graph, NamedNode)), key=str)


def _confined(graph: Term) -> str:
    return f'SELECT ?this {{ GRAPH {graph} {{ ?this {IDS.permissions} ?given }} FILTER(!STRSTARTS(SUBSTR(?given, 3), "1")) }}'


def _query(graph: Term, among: Collection[Term] | None, *, private: bool) -> str:
    stages = f"{IDS.Fixated} {IDS.Tombstone}" if private else str(IDS.Created)
    pattern = f"VALUES ?stage {{ {stages} }} GRAPH {graph} {{ ?this {IDS.stage} ?stage }}"
    if among is not None:
        pattern = f"{these(among)} {pattern}"
    return (
        f"SELECT ?this {{ {pattern} FILTER NOT EXISTS {{ ?this {IDS.about} ?of }} }}"  # an event says in which stage an identifier came in
    )
