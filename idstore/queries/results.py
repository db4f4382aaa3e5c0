"""Writing the answer to a query."""

import io
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import BinaryIO, Final, TypeVar

import pyoxigraph
from pyoxigraph import Literal, NamedNode, QueryBoolean, QueryResultsFormat, QuerySolutions, QueryTriples, RdfFormat, Triple

from idstore.queries import formats, table

_RESULTS: Final = {
    "csv": QueryResultsFormat.CSV,
    "tsv": QueryResultsFormat.TSV,
    "json": QueryResultsFormat.JSON,
    "xml": QueryResultsFormat.XML,
}
T = TypeVar("T")


def write(
    found: QuerySolutions | QueryBoolean | QueryTriples, asked: str | None, rows: int | None, prefixes: Mapping[str, str], out: BinaryIO
) -> dict[str, object]:
    """Write an answer, and say what it is: its ``kind``, the ``format``, how many ``rows``, and whether it was ``truncated``.

    asked  the format; None for the one that people read.
    rows   how many rows or triples to give at most; None for all. Memory: all that are given.
    Raises QueryRefused for a format that cannot hold the answer.
    """
    name = formats.chosen(asked, triples=isinstance(found, QueryTriples))
    said: dict[str, object] = {"format": name}
    if isinstance(found, QueryBoolean):
        _write_truth(found, name, out)
        said |= {"kind": "truth", "rows": 1, "truncated": False}
    elif isinstance(found, QueryTriples):
        triples, cut = _first(found, rows)
        _write_triples(triples, name, prefixes, out)
        said |= {"kind": "triples", "rows": len(triples), "truncated": cut}
    else:
        solutions, cut = _first((tuple(row) for row in found), rows)
        _write_rows([variable.value for variable in found.variables], solutions, name, prefixes, out)
        said |= {"kind": "rows", "rows": len(solutions), "truncated": cut}
    out.flush()
    return said


def _first(found: Iterable[T], most: int | None) -> tuple[list[T], bool]:
    """The first so many, and whether there are more."""
    if most is None:
        return list(found), False
    given = list(islice(found, most + 1))
    return given[:most], len(given) > most


def _write_truth(found: QueryBoolean, name: str, out: BinaryIO) -> None:
    if name == "table":
        out.write(b"true" if found else b"false")
    else:
        found.serialize(out, _RESULTS[name])
    out.write(b"\n")


def _write_triples(triples: list[Triple], name: str, prefixes: Mapping[str, str], out: BinaryIO) -> None:
    """Sorted, so that the same triples give the same text and stand together by subject; each once."""
    ordered = sorted(set(triples), key=lambda triple: (str(triple.subject), triple.predicate.value, str(triple.object)))
    if name == "turtle":
        text = io.BytesIO()
        pyoxigraph.serialize(ordered, text, RdfFormat.TURTLE, prefixes=dict(prefixes))
        lines = text.getvalue().splitlines(keepends=True)
        declared = sum(line.startswith(b"@prefix ") for line in lines[: len(prefixes)])
        out.writelines(sorted(lines[:declared]) + lines[declared:])  # the engine declares them in any order
    else:
        pyoxigraph.serialize(ordered, out, RdfFormat.N_TRIPLES)


def _write_rows(
    variables: list[str], rows: "list[tuple[table.Term | None, ...]]", name: str, prefixes: Mapping[str, str], out: BinaryIO
) -> None:
    if name == "table":
        table.write(variables, rows, prefixes, out)
        return
    if name == "csv":
        _write_csv(variables, rows, out)
        return
    # solutions cannot be made, but read
    text = io.StringIO()
    text.write("\t".join(f"?{variable}" for variable in variables) + "\n")
    text.writelines("\t".join("" if term is None else _tsv(term) for term in row) + "\n" for row in rows)
    again = pyoxigraph.parse_query_results(text.getvalue().encode(), QueryResultsFormat.TSV)
    assert isinstance(again, QuerySolutions)
    again.serialize(out, _RESULTS[name])
    if name in {"json", "xml"}:
        out.write(b"\n")


def _write_csv(variables: list[str], rows: "list[tuple[table.Term | None, ...]]", out: BinaryIO) -> None:
    """As the engine does, but for IRIs with a comma or a quotation mark, which it leaves without quotation marks round them."""
    import csv

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(variables)
    writer.writerows(["" if term is None else _plain(term) for term in row] for row in rows)
    out.write(text.getvalue().encode())


def _plain(term: "table.Term") -> str:
    if isinstance(term, Triple):
        return " ".join((_plain(term.subject), _plain(term.predicate), _plain(term.object)))
    return term.value if isinstance(term, NamedNode | Literal) else str(term)


def _tsv(term: "table.Term") -> str:
    if isinstance(term, Triple):
        return f"<<( {_tsv(term.subject)} {term.predicate} {_tsv(term.object)} )>>"
    return str(term).replace("\t", "\\t")
