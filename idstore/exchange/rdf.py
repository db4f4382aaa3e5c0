"""Turtle, TriG, N-Triples, N-Quads and JSON-LD: a registry written out, and read back without loss.

What is written holds the log, and what is read back is the log: records, bindings and visibility follow from the events. Triples beside
the events must be what the log says, else the file is refused.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from idstore.errors import ExchangeError, IdstoreError, InvalidData, StoreUnavailable
from idstore.exchange import jsonld, patch, turtle
from idstore.exchange.merging import LeftOut, divergences, leave_out, sound
from idstore.exchange.sorting import Sorted
from idstore.exchange.sources import PACKED, ending
from idstore.model import times
from idstore.model.event import Event
from idstore.model.history import History
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.terms import triples
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.exporting import Extract, read
from idstore.registry.merging import Divergence
from idstore.registry.replaying import BEGINNINGS, check_time, homeless, taken
from idstore.stores import Staging, scratch
from idstore.stores.engine import canonical
from idstore.stores.scans import Scanning
from idstore.stores.sqlite import sorting_in
from idstore.vocabulary import CLAIMS, IDS

FORMATS = {
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "jsonld": RdfFormat.JSON_LD,
}
"""RDF formats by the name that users type."""
_CENTURY = 36_525 * times.DAY

SUFFIXES: Mapping[str, str] = {".ttl": "turtle", ".trig": "trig", ".nt": "ntriples", ".nq": "nquads", ".jsonld": "jsonld"}
"""Formats by the ending of a file's name."""


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    format: str = "turtle",
    extract: Extract = Extract(),
    *,
    progress: Progress = unwatched,
) -> None:
    """Write what the party may see; the same state gives the same bytes.

    Raises InvalidData (format), UnknownNamespace, OSError. Memory: flat.
    """
    chosen = rdf_format(format)
    with registry.spelled(party, extract, progress) as spelled:
        match chosen:
            case RdfFormat.TURTLE | RdfFormat.TRIG:
                texts = turtle.lines(spelled, graphs=chosen.supports_datasets)
            case RdfFormat.JSON_LD:
                texts = jsonld.lines(read(spelled))
            case RdfFormat.N_TRIPLES:
                texts = (f"{text.rpartition(' ')[0]} .\n" for text in spelled)
            case _:
                texts = (f"{text} .\n" for text in spelled)
        target.writelines(map(str.encode, texts))


def rdf_format(name: str) -> RdfFormat:
    """The format of that name. Raises InvalidData."""
    try:
        return FORMATS[name]
    except KeyError:
        raise InvalidData(f"no RDF format {name!r}; there are {', '.join(FORMATS)}", format=name) from None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was, or would be, taken in.

    events   events that were new.
    known        events that were there already.
    created      identifiers that were new.
    left         what of another registry stays out.
    differences  of a rehearsal: which identifiers are not the same here and there.
    namesakes    namespaces of the same name, of which one was new: the one that is not called by it, and the one that is.
    """

    events: int
    known: int
    created: int
    left: LeftOut = field(default_factory=LeftOut)
    differences: Sequence[Divergence] = ()
    namesakes: Sequence[tuple[Namespace, Namespace]] = ()


class _DryRun(Exception):
    """Ends a rehearsal."""


def import_registry(
    registry: Registry,
    paths: Sequence[Path],
    party: Party,
    format: str | None = None,
    *,
    dry_run: bool = False,
    progress: Progress = unwatched,
) -> ImportReport:
    """Take in what `export` wrote: all or nothing. Only administrators may. Reading the same again changes nothing.

    Into a registry in which nothing has happened yet, all of the files comes as it was: of the whole of another registry it becomes a copy,
    and the two export the same then. Otherwise the two are merged: what the other published comes in, with its authors, times and origin;
    its drafts, internal remarks, parties and storage stay out.

    Raises ExchangeError (malformed, or not the log of a registry), NotPermitted, StoreUnavailable.
    Cost: identifiers of which the registry knows nothing are taken in in bulk, what happened to others event by event. Memory: flat, but for
    a rehearsal: what differs; on disk 1 kB for each identifier, while it runs, and beside the new state 0.4 GB at most.
    """
    files = [(path, *_format(path, format)) for path in paths]
    source = ", ".join(str(path) for path in paths)
    with (
        scratch.folder() as place,
        sorting_in("the import", place),
        Scanning(),
        Sorted(files, place, progress) as found,
    ):
        return _take_in(registry, found, party, source, progress, dry_run=dry_run)


def _format(path: Path, format: str | None) -> tuple[RdfFormat | None, str]:
    packed = path.suffix.lower() == PACKED
    name = format or (None if packed else {**SUFFIXES, patch.SUFFIX: patch.FORMAT}.get(ending(path.name)))
    if name is None:
        if not path.exists():
            reason = "there is no such file; look for a misspelling"
        elif packed:
            reason = "it is compressed; unpack it first, or give `gunzip -c FILE` to `idstore import - --format …`"
        else:
            reason = f"the ending {path.suffix!r} tells no format; name one with --format, as `idstore import --help` lists them"
        raise ExchangeError(str(path), None, reason)
    return None if name == patch.FORMAT else rdf_format(name), name


def _take_in(registry: Registry, found: Sorted, party: Party, source: str, progress: Progress, *, dry_run: bool) -> ImportReport:
    registry.only_administrators(party)  # before everything is copied
    report = ImportReport(0, 0, 0)
    try:
        with registry.store.staging(anew=found.whole) as staged:
            registry.only_administrators(party, acting=True)
            there = Registry(staged)
            pristine, fresh = there.pristine(), found.whole and not staged.sequence  # only now, when nobody else acts any more
            left, differences = (LeftOut(), []) if pristine else _compared(there, staged, found, source, progress, dry_run=dry_run)
            before = {namespace.base for namespace in there.namespaces()}
            report = _Intake(there, staged, found, source, progress).all(compare=fresh)
            report = replace(report, left=left, differences=differences, namesakes=_namesakes(there, before))
            if dry_run or not report.events:
                raise _DryRun  # noqa: TRY301 the staged generation is to be given up
    except _DryRun:
        pass
    return report


def _namesakes(registry: Registry, before: Container[str]) -> list[tuple[Namespace, Namespace]]:
    pairs = [(namespace, registry.namespace(namespace.name)) for namespace in registry.namespaces()]
    return [(one, called) for one, called in pairs if one != called and not (one.base in before and called.base in before)]


def _compared(
    registry: Registry, staged: Staging, found: Sorted, source: str, progress: Progress, *, dry_run: bool
) -> tuple[LeftOut, list[Divergence]]:
    """What stays out, and, in a rehearsal, what differs. Raises ExchangeError."""
    try:
        bases = found.added()
        return leave_out(found, registry, staged, progress), [*divergences(found, registry, staged, bases)] if dry_run else []
    except InvalidData as error:
        raise ExchangeError(source, None, error.message) from error


class _Intake:
    """Files on their way into a staged registry. Raises ExchangeError."""

    def __init__(self, registry: Registry, staged: Staging, found: Sorted, source: str, progress: Progress) -> None:
        self._registry, self._staged, self._found, self._source, self._progress = registry, staged, found, source, progress
        self._empty = not staged.sequence
        self._bases = {namespace.base for namespace in registry.namespaces()}
        self._added = {base: order for base, order in found.added().items() if base not in self._bases}
        self._lost: AbstractSet[tuple[str, str]] = frozenset()
        self._created = 0

    def all(self, *, compare: bool) -> ImportReport:
        """Take in all that is new; with ``compare`` the files may say nothing that does not follow from the events."""
        staged, found = self._staged, self._found
        new, known = found.number(staged.sequence, self._is_known, self._is_single, self._check_same, self._progress)
        if found.whole and not len(found):
            raise self._refused("holds no event of a registry; read mappings and lists of identifiers with --format sssom, tsv or csv")
        self._lost = found.lost_requests()
        try:
            for number, event in found.singles():
                staged.number(number)
                with sound(event):
                    self._check_time(event)
                    self._registry.replay(staged, event, self._added)
            staged.load(self._histories(new, compare=compare))
        except (ExchangeError, StoreUnavailable):
            raise
        except IdstoreError as error:
            raise self._refused(error.message) from error
        contested = found.contested()
        if contested is not None:
            raise self._refused(taken(*map(NamedNode, contested)).message)
        return ImportReport(new, known, self._created)

    def _is_known(self, event: str) -> bool:
        return not self._empty and self._staged.catalogue.knows(event)

    def _check_same(self, event: Event) -> None:
        try:
            self._registry.check_same(self._staged, event)
        except InvalidData as error:
            raise self._refused(error.message) from error

    def _check_time(self, event: Event) -> None:
        """Raise InvalidData if it is yet to come; what a registry's own clock once said is taken back as it was, unless no clock says so."""
        check_time(self._staged, event, _CENTURY if self._empty else times.DAY)

    def _is_single(self, about: str) -> bool:
        """Whether events about this are taken in one by one: it is a namespace, or something has happened to it here."""
        return about in self._bases or about in self._added or not (self._empty or not self._staged.catalogue.tells_of(about))

    def _histories(self, new: int, *, compare: bool) -> Iterator[History]:
        done = 0
        for group in self._found.groups(state=compare):
            history = self._history(group.events) if group.events else None
            state = triples(history.state) if history and group.state else set()
            for line in group.state:
                if line not in state and not self._follows(line, state):
                    raise self._refused(
                        f"the triple {line} does not follow from the events in it; change a registry by its commands, not in its export"
                    )
            if history is not None:
                yield history
                self._created += 1
                done += len(history.events)
                self._progress("taking in", done, new)
        self._progress("finishing", 0, new)  # the rest of it is one step of the engine's, and one of the catalogue's

    def _history(self, events: Sequence[tuple[int, Event]]) -> History:
        number, first = events[0]
        base = first.text(IDS.inNamespace) or ""
        added = self._added.get(base, first.order)
        if first.kind in BEGINNINGS and added > first.order and added[1] == first.origin:  # another registry may have had it before
            raise homeless(first, base)
        with sound(first):
            for _, event in events:
                self._check_time(event)
            history = self._registry.history(self._staged, events, self._lost)
        for claimed, holder in history.claims:
            self._found.claim(claimed.value, number, holder.value)
        other = None if self._empty else self._staged.holder(history.claims[0][0])
        if other is not None:
            raise taken(first.about, other)
        return history

    def _follows(self, line: str, state: set[str]) -> bool:
        """Whether a triple is among those that the log gives: of an identifier in another form, or of what was taken in before."""
        try:
            (quad,) = parse(canonical(line), format=RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError):
            return False
        subject, value = quad.subject, quad.object
        if not isinstance(subject, NamedNode) or not isinstance(value, NamedNode | Literal):
            return False
        return str(quad.triple) in state or any(match.graph_name != CLAIMS for match in self._staged.quads(subject, quad.predicate, value))

    def _refused(self, reason: str) -> ExchangeError:
        return ExchangeError(self._source, None, reason)
