"""FROM and FROM NAMED: a query's selection from the graphs that its party sees."""

from collections.abc import Mapping, Sequence

from idstore.errors import QueryRefused
from idstore.queries.guard import error_in, lacking, malformed


def dataset(
    text: str, graphs: Sequence[str], prefixes: Mapping[str, str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the graphs of a query's default graph and its named graphs, all of them from ``graphs``.

    graphs  graphs that the party sees.

    Without FROM and FROM NAMED, both are all of ``graphs``; otherwise both are the visible graphs in these
    clauses. Raises QueryRefused for a malformed query, and for one with FROM that is not SPARQL 1.1. Cost:
    0.2 s with FROM, negligible without.
    """
    if lacking(text, "from", prefixes) is None:
        return graphs, graphs
    error = error_in(text, prefixes)
    if error is not None:
        raise malformed(text, error)
    clauses = _clauses(text, prefixes)
    default, named = (
        # rdflib keeps the backslashes of prefixed names such as ex:a\,b
        {str(clause[kind]).replace("\\", "") for clause in clauses if kind in clause}
        for kind in ("default", "named")
    )
    return [graph for graph in graphs if graph in default], [graph for graph in graphs if graph in named]


def _clauses(text: str, prefixes: Mapping[str, str]) -> Sequence[Mapping[str, object]]:
    import logging

    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    logging.getLogger("rdflib.term").disabled = True  # it prints a warning about those backslashes
    try:
        clauses: Sequence[Mapping[str, object]] | None = translateQuery(
            parseQuery(text), initNs=dict(prefixes)
        ).algebra.datasetClause
    except ParseBaseException as error:
        raise QueryRefused(
            "a query with FROM must be plain SPARQL 1.1, but this one cannot be parsed"
            f" near line {error.lineno}, column {error.column}",
            line=error.lineno,
            column=error.column,
        ) from error
    except Exception as error:  # rdflib raises undocumented errors of many types
        raise QueryRefused(f"a query with FROM must be plain SPARQL 1.1: {error}") from error
    if not clauses:
        raise QueryRefused("a query with FROM must be plain SPARQL 1.1, but this one is ambiguous")
    return clauses
