"""Turtle, TriG, N-Triples, N-Quads and JSON-LD: a registry written out, and read back without loss.

What is written holds the log, and what is read back is the log: records, bindings and visibility follow from the events. Triples beside
the events must be what the log says, else the file is refused.
"""

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, serialize

from idstore.errors import ExchangeError, IdstoreError, InvalidData
from idstore.exchange import patch
from idstore.exchange.merging import LeftOut, Told
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.exporting import Extract
from idstore.registry.merging import Divergence
from idstore.registry.replaying import BEGINNINGS
from idstore.stores import Turn
from idstore.stores.generation import Scratch
from idstore.vocabulary import CLAIMS, IDS, PREFIXES

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "jsonld": RdfFormat.JSON_LD,
}
"""RDF formats by the name that users type."""

SUFFIXES = {".ttl": "turtle", ".trig": "trig", ".nt": "ntriples", ".nq": "nquads", ".jsonld": "jsonld"}
"""Formats by the ending of a file's name."""


def export(registry: Registry, target: IO[bytes], party: Party, format: str = "turtle", extract: Extract = Extract()) -> None:
    """Write what the party may see; the same state gives the same bytes.

    Raises InvalidData (format), UnknownNamespace, OSError. Memory: flat.
    """
    chosen = rdf_format(format)
    with registry.quads(party, extract) as quads:
        prefixes = PREFIXES if format in ("turtle", "trig") else None
        if chosen.supports_datasets:
            serialize(quads, target, format=chosen, prefixes=prefixes)
        else:
            serialize((quad.triple for quad in quads), target, format=chosen, prefixes=prefixes)


def rdf_format(name: str) -> RdfFormat:
    """The format of that name. Raises InvalidData."""
    try:
        return FORMATS[name]
    except KeyError:
        raise InvalidData(f"no RDF format {name!r}; there are {', '.join(FORMATS)}", format=name) from None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was, or would be, taken in.

    events       events that were new.
    known        events that were there already.
    created      identifiers that were new.
    left         what of another registry stays out.
    differences  of a rehearsal: which identifiers are not the same here and there.
    """

    events: int
    known: int
    created: int
    left: LeftOut = field(default_factory=LeftOut)
    differences: Sequence[Divergence] = ()


class _DryRun(Exception):
    """Ends a rehearsal."""


def import_registry(
    registry: Registry, paths: Sequence[Path], party: Party, format: str | None = None, *, dry_run: bool = False
) -> ImportReport:
    """Take in what `export` wrote: all or nothing. Only administrators may. Reading the same again changes nothing.

    Into a registry in which nothing has happened yet, all of the files comes as it was: of the whole of another registry it becomes a copy,
    and the two export the same then. Otherwise the two are merged: what the other published comes in, with its authors, times and origin;
    its drafts, internal remarks and parties stay out.
    Raises ExchangeError (malformed, or not the log of a registry), NotPermitted, StoreUnavailable. Memory: flat; of a rehearsal, what differs.
    """
    with tempfile.TemporaryDirectory(prefix="idstore-import-") as folder:
        scratch = Scratch(Path(folder) / "engine")
        for path in paths:
            _load(scratch, path, format)
        source = ", ".join(str(path) for path in paths)
        with closing(sqlite3.connect(Path(folder) / "order.sqlite")) as order:
            return _take_in(registry, scratch, Told(scratch, order), party, source, dry_run=dry_run)


def _load(scratch: Scratch, path: Path, format: str | None) -> None:
    name = format or {**SUFFIXES, patch.SUFFIX: patch.FORMAT}.get(path.suffix)
    if name == patch.FORMAT:
        patch.load(scratch, path)
        return
    if name is None:
        raise ExchangeError(
            str(path), None, f"the ending {path.suffix!r} tells no format; name one with --format ({', '.join([*FORMATS, patch.FORMAT])})"
        )
    try:
        scratch.load(path, rdf_format(name))
    except SyntaxError as error:
        raise ExchangeError(str(path), error.lineno, f"not valid {name}: {error.msg}") from error
    except (OSError, ValueError) as error:
        raise ExchangeError(str(path), None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _take_in(registry: Registry, scratch: Scratch, told: Told, party: Party, source: str, *, dry_run: bool) -> ImportReport:
    whole = next(scratch.quads(None, IDS.partial), None) is None
    fresh = registry.pristine()
    registry.only_administrators(party, acting=True)
    report = ImportReport(0, 0, 0)
    try:
        with registry.store.staging(empty=fresh and whole) as staged:
            there = Registry(staged)
            left = LeftOut() if fresh else told.leave_out(there, staged)
            differences = [*told.differences(there, staged)] if dry_run and not fresh else []
            report = replace(_replay_all(there, staged, told, source), left=left, differences=differences)
            if whole and told.empty:
                raise ExchangeError(
                    source, None, "holds no event of a registry; read mappings and lists of identifiers with --format sssom, tsv or csv"
                )
            if fresh and whole:
                _compare(staged, scratch, source)
            if dry_run or not report.events:
                raise _DryRun  # noqa: TRY301 the staged generation is to be given up
    except _DryRun:
        pass
    return report


def _replay_all(registry: Registry, staged: Turn, told: Told, source: str) -> ImportReport:
    new = known = created = 0
    for event in told.events():
        begins = event.kind in BEGINNINGS and next(staged.quads(event.about, IDS.stage), None) is None
        try:
            if not registry.replay(staged, event):
                known += 1
                continue
        except IdstoreError as error:
            raise ExchangeError(source, None, error.message) from error
        new += 1
        created += begins
    return ImportReport(new, known, created)


def _compare(staged: Turn, scratch: Scratch, source: str) -> None:
    """Every triple of the file is what the log says. Raises ExchangeError."""
    for quad in scratch.quads():
        subject, value = quad.subject, quad.object
        if isinstance(subject, NamedNode) and not isinstance(value, BlankNode | Triple):
            found = staged.quads(subject, quad.predicate, value)
            if any(match.graph_name != CLAIMS for match in found):
                continue
        raise ExchangeError(
            source,
            None,
            f"the triple {quad.triple} does not follow from the events in it; change a registry by its commands, not in its export",
        )
