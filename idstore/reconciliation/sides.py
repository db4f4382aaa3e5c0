"""The inputs of a reconciliation, called its sides: stores, exports and other RDF, tables of mappings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import Quad

from idstore import opening
from idstore.characters import file_name
from idstore.errors import ExchangeError, InvalidData
from idstore.exchange import rdf, rdf_input, tables
from idstore.exchange.columns import Columns
from idstore.exchange.sources import STDIN, Source, ending, opened
from idstore.model.names import Names
from idstore.model.party import Party
from idstore.reconciliation import table_reader
from idstore.reconciliation.rdf_reader import RdfReader
from idstore.reconciliation.workspace import Workspace
from idstore.remedies import Remedy

_OUTCOME = "nothing was compared"


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a reconciliation.

    name      the path as the user wrote it; bytes that are not UTF-8 are escaped.
    registry  whether it is a registry, which states the identifiers that exist; a mapping file does not.
    partial   whether a registry marks itself as partial.
    literals  rows of a table that map a text without identifier, and are passed over.
    behind    the reason why the newest changes of a store are not seen: see `idstore.stores.contract.Store`.
    """

    name: str
    registry: bool
    partial: bool = False
    behind: str = ""
    literals: int = 0


def read(
    workspace: Workspace,
    names: Sequence[str],
    party: Party,
    format: str | None,
    columns: Columns,
    wait: float,
    exports: Mapping[str, Path],
) -> list[Side]:
    """Read all sides, tables last: the registries' namespaces tell how to read the texts of tables.

    Raises StoreUnavailable, ExchangeError, InvalidData: a side is missing, is malformed, or is standard input
    a second time.
    """
    if names.count(STDIN) > 1:
        raise InvalidData(
            "standard input can be read once; name - for one side alone", field="side", value=STDIN
        )
    formats = [None if name in exports else _format(name, format) for name in names]
    sides: list[Side | None] = [None] * len(names)
    reader = None
    for number, (name, kind) in enumerate(zip(names, formats, strict=True)):
        if kind not in tables.FORMATS:
            reader = RdfReader(workspace, number, {} if reader is None else reader.spaces)
            behind = ""
            if name in exports:
                _read_rdf(str(exports[name]), "nquads", reader)
            elif kind is None:
                behind = _read_store(name, party, wait, reader)
            else:
                _read_rdf(name, kind, reader)
            sides[number] = Side(file_name(name), kind is None or reader.registry, reader.partial, behind)
    spaces = [] if reader is None else list(reader.spaces.values())
    comparison = Names(spaces)
    resolver = table_reader.NameResolver(workspace, spaces, comparison)
    for number, (name, kind) in enumerate(zip(names, formats, strict=True)):
        if kind in tables.FORMATS:
            try:
                literals = table_reader.read(workspace, number, name, kind, columns, resolver)
            except ExchangeError as error:  # its message is about an import
                remedy = Remedy.NAME_INPUT_FORMAT if error.remedy is Remedy.NAME_FORMAT else error.remedy
                raise ExchangeError(error.file, error.line, error.reason, _OUTCOME, remedy=remedy) from error
            sides[number] = Side(file_name(name), registry=False, literals=literals)
    workspace.complete(comparison)
    return [side for side in sides if side is not None]


def _format(name: str, chosen: str | None) -> str | None:
    """Return the format of a side; None for a store. Raises ExchangeError, InvalidData."""
    path = Path(name)
    try:
        if name != STDIN and path.is_dir():
            return None
    except OSError as error:  # no file can have this name
        raise ExchangeError(name, None, f"it cannot be read: {error.strerror}", _OUTCOME) from error
    formats = ", ".join((*rdf.FORMATS, *tables.FORMATS))
    if chosen is not None:
        if chosen not in rdf.FORMATS and chosen not in tables.FORMATS:
            raise InvalidData(f"no format {chosen!r} to read; there are {formats}", format=chosen)
        return chosen
    if name != STDIN and not path.exists():
        raise ExchangeError(name, None, "there is no such file or folder; look for a misspelling", _OUTCOME)
    implied = tables.format_of(name) or rdf.SUFFIXES.get(ending(name))
    if implied is None:
        raise ExchangeError(
            name,
            None,
            f"its name tells no format; name one of {formats}",
            _OUTCOME,
            remedy=Remedy.NAME_INPUT_FORMAT,
        )
    return implied


def _read_store(name: str, party: Party, wait: float, reader: RdfReader) -> str:
    with (
        opening.open(name, wait=wait, mode="read") as registry,
        registry.quads(party) as quads,
    ):
        reader.take(quads)
        return registry.store.behind


def _read_rdf(name: str, kind: str, reader: RdfReader) -> None:
    with opened(name, _failure) as source:
        reader.take(_parsed(source, kind))


def _parsed(source: Source, kind: str) -> Iterator[Quad]:
    source.skip_mark()
    return rdf_input.quads(
        source,
        rdf.rdf_format(kind),
        lambda line, reason: source.error(line, f"it is not valid {kind}: {reason}"),
    )


def _failure(name: str, line: int | None, reason: str) -> InvalidData:
    return ExchangeError(name, line, reason, _OUTCOME)
