"""The sides of a reconciliation: stores, exports and other RDF, tables of mappings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pyoxigraph import Quad, parse

from idstore.errors import ExchangeError, InvalidData
from idstore.exchange import mappings, rdf, tables
from idstore.exchange.sources import STDIN, Source, ending, opened
from idstore.model.party import Party
from idstore.reconciliation import rows
from idstore.reconciliation.triples import Triples
from idstore.reconciliation.workspace import Workspace
from idstore.registry import opening

_OUTCOME = "nothing was compared"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the registries that are compared.

    name      as the user wrote it.
    registry  whether it says which identifiers there are; a mapping file does not.
    partial   whether a registry says that it shows only a part of itself.
    behind    why some of a store's newest changes are not seen: see `idstore.stores.Store`.
    """

    name: str
    registry: bool
    partial: bool = False
    behind: str = ""


def read(
    workspace: Workspace, names: Sequence[str], party: Party, format: str | None, columns: mappings.Columns, wait: float
) -> list[Side]:
    """Read every side, tables last: registries tell how the texts of tables are to be read.

    Raises StoreUnavailable, ExchangeError, InvalidData: a side is not there, is malformed, or is standard input a second time.
    """
    if names.count(STDIN) > 1:
        raise InvalidData("standard input can be read once; name - for one side alone")
    formats = [_format(name, format) for name in names]
    found: list[Side | None] = [None] * len(names)
    reader = None
    for number, (name, kind) in enumerate(zip(names, formats, strict=True)):
        if kind not in tables.FORMATS:
            reader = Triples(workspace, number, {} if reader is None else reader.spaces)
            behind = ""
            if kind is None:
                behind = _read_store(name, party, wait, reader)
            else:
                _read_rdf(name, kind, reader)
            found[number] = Side(name, kind is None or reader.registry, reader.partial, behind)
    known = rows.Names(workspace, [] if reader is None else list(reader.spaces.values()))
    for number, (name, kind) in enumerate(zip(names, formats, strict=True)):
        if kind in tables.FORMATS:
            try:
                rows.read(workspace, number, name, kind, columns, known)
            except ExchangeError as error:  # it speaks of an import
                raise _failure(error.file, error.line, error.reason) from error
            found[number] = Side(name, registry=False)
    workspace.complete()
    return [side for side in found if side is not None]


def _format(name: str, given: str | None) -> str | None:
    """How a side is to be read; None is a store. Raises ExchangeError."""
    place = Path(name)
    try:
        if name != STDIN and place.is_dir():
            return None
    except OSError as error:  # it can be no name of a file
        raise ExchangeError(name, None, f"it cannot be read: {error.strerror}", _OUTCOME) from error
    known = ", ".join((*rdf.FORMATS, *tables.FORMATS))
    if given is not None:
        if given not in rdf.FORMATS and given not in tables.FORMATS:
            raise InvalidData(f"no format {given!r} to read; there are {known}", format=given)
        return given
    if name != STDIN and not place.exists():
        raise ExchangeError(name, None, "there is no such file or folder; look for a misspelling", _OUTCOME)
    found = tables.format_of(name) or rdf.SUFFIXES.get(ending(name))
    if found is None:
        raise ExchangeError(name, None, f"its name tells no format; say --input and one of {known}", _OUTCOME)
    return found


def _read_store(name: str, party: Party, wait: float, reader: Triples) -> str:
    with opening.open(name, wait=wait, read_only=True, detached=True) as registry, registry.quads(party) as quads:
        reader.take(quads)
        return registry.store.behind


def _read_rdf(name: str, kind: str, reader: Triples) -> None:
    with opened(name, _failure) as source:
        reader.take(_parsed(source, kind))


def _parsed(source: Source, kind: str) -> Iterator[Quad]:
    source.skip_mark()
    try:
        yield from parse(input=cast("IO[bytes]", source), format=rdf.rdf_format(kind))
    except SyntaxError as error:
        raise source.error(error.lineno, f"it is not valid {kind}: {error.msg}") from error


def _failure(name: str, line: int | None, reason: str) -> InvalidData:
    return ExchangeError(name, line, reason, _OUTCOME)
