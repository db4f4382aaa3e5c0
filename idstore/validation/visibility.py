"""Check that each record and each value of a handle is in a graph with the right visibility.

Shapes cannot check this, because they apply to triples, not to graphs.
"""

from collections.abc import Collection, Iterator

from pyoxigraph import NamedNode

from idstore.progress import Meter, Progress, unwatched
from idstore.validation.checks import values_clause
from idstore.validation.graph import Term
from idstore.validation.report import ValidationResult
from idstore.validation.source import QuadSource
from idstore.vocabulary import IDS, access_list, closed_party

_SHAPE = "https://w3id.org/idstore/shapes#RecordGraph"
_PRIVATE = "a created identifier is in a graph that others than its grant list see"
_VALUE = "https://w3id.org/idstore/shapes#ValueGraph"
_CONFINED = (
    "a value that not everyone may read, or an event about one, is in a graph that others than its owner see"
)
_PUBLIC = "the record of a fixated identifier or tombstone is in the graph of an access list"


def misplaced(
    source: QuadSource, among: Collection[Term] | None = None, progress: Progress = unwatched
) -> Iterator[ValidationResult]:
    """Yield findings on records, values and events in wrong graphs; the value of a finding is the graph.

    A record's graph must fit its stage; the graph of a value, and of an event about one, must fit its
    permissions.

    among  check only these records; None for all.
    """
    graphs = _graphs(source)
    for graph in Meter(progress, "looking at graphs", len(graphs)).over(graphs):
        listed = access_list(graph)
        private = listed is not None
        if closed_party(graph) is None and (listed is None or len(listed) > 1):
            for row in source.rows(_confined(graph)):
                assert row[0] is not None
                yield ValidationResult(row[0], None, graph, _VALUE, "graph of the value", "graph", _CONFINED)
        for row in source.rows(_query(graph, among, private=private)):
            assert row[0] is not None
            yield ValidationResult(
                row[0], None, graph, _SHAPE, "graph of the record", "graph", _PUBLIC if private else _PRIVATE
            )


def _graphs(source: QuadSource) -> list[NamedNode]:
    graphs = (row[0] for row in source.rows("SELECT DISTINCT ?graph { GRAPH ?graph { } }"))
    return sorted((graph for graph in graphs if isinstance(graph, NamedNode)), key=str)


def _confined(graph: Term) -> str:
    test = '!STRSTARTS(SUBSTR(?given, 3), "1")'
    given = f"{IDS.permissions}|{IDS.withPermissions}"  # of a value, or of an event about one
    return f"SELECT ?this {{ GRAPH {graph} {{ ?this {given} ?given }} FILTER({test}) }}"


def _query(graph: Term, among: Collection[Term] | None, *, private: bool) -> str:
    stages = f"{IDS.Fixated} {IDS.Tombstone}" if private else str(IDS.Created)
    pattern = f"VALUES ?stage {{ {stages} }} GRAPH {graph} {{ ?this {IDS.stage} ?stage }}"
    if among is not None:
        pattern = f"{values_clause(among)} {pattern}"
    return f"SELECT ?this {{ {pattern} }}"
