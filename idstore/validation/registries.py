"""The shapes of a registry, and its validation."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike, fspath
from typing import Final

from pyoxigraph import CanonicalizationAlgorithm, Dataset, Quad

from idstore import arguments
from idstore.errors import ExchangeError
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.terms import hashed
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.checkpoint import Checkpoint, checked
from idstore.schemes.shapes import namespace_shape, scheme_shape
from idstore.validation import (
    LIMIT,
    Shapes,
    ValidationReport,
    compiler,
    files,
    importable,
    labels,
    validate,
    validate_registry,
)
from idstore.validation.report import combined
from idstore.validation.shapes import from_triples, load, names
from idstore.validation.source import SnapshotSource, in_memory
from idstore.vocabulary import ONTOLOGY

THREADS: Final = 2
"""Number of concurrent queries over a registry: each needs a processor and memory."""


def shapes(namespaces: Iterable[Namespace] = ()) -> Shapes:
    """Return all shipped shapes, and those of plug-in schemes and of namespaces with rules of their own."""
    shipped, registered = names(), list(namespaces)
    plug_ins = {
        namespace.scheme_name: namespace.scheme
        for namespace in registered
        if namespace.scheme_name not in shipped
    }
    rendered = (
        *map(scheme_shape, plug_ins.values()),
        *(namespace_shape(namespace.scheme, namespace.context) for namespace in registered),
    )
    return load(*shipped) + from_triples(chain.from_iterable(rendered))


def check_file(
    path: str | PathLike[str], namespaces: Iterable[Namespace] = (), limit: int = LIMIT
) -> ValidationReport:
    """Check an export of a registry, and whether an import accepts it, or findings of a reconciliation.

    namespaces  namespaces that the file need not describe.

    Raises ExchangeError as `validate_file`, and if the file holds nothing that the shapes are about.
    Memory: the file.
    """
    source = in_memory(files.quads(path))
    described = labels.described(source)
    known = {namespace.base: namespace for namespace in namespaces} | {
        base: namespace for base, namespace in described.items() if importable.fault_of(namespace) is None
    }
    wanted = shapes(known.values())
    if not compiler.applies(source, wanted):
        reason = f"it holds nothing that the shapes are about, as records or events in terms of {ONTOLOGY}"
        raise ExchangeError(fspath(path), None, reason, files.OUTCOME)
    faults = chain(labels.mislabelled(source, known), importable.faults(source, described.values()))
    report = combined(list(islice(faults, limit + 1)), validate(source, wanted, limit=limit), limit)
    if any(finding.severity == "Violation" for finding in report.results):
        return report
    refused = importable.contradiction(path, source, described)
    return report if refused is None else combined([refused], report, limit)


def namespaces_of(path: str | PathLike[str]) -> list[Namespace]:
    """Return the namespaces that a file describes, without those that cannot be added.

    Raises ExchangeError as `validate_file`. Memory: the file.
    """
    described = labels.described(in_memory(files.quads(path))).values()
    return [namespace for namespace in described if importable.fault_of(namespace) is None]


@arguments.checks
def check(registry: Registry, party: Party, progress: Progress = unwatched) -> ValidationReport:
    """Check the content of a registry that the party sees, in place.

    Raises StoreUnavailable.
    Memory: 0.1 kB for each node of the two largest predicates; 0.3 kB if there are suspects.
    """
    with registry.visible(party) as (snapshot, graphs):
        visible = None if registry.core.sight(snapshot, party).everything else graphs
        return validate_registry(
            SnapshotSource(snapshot, THREADS, visible), shapes(registry.namespaces()), progress=progress
        )


@dataclass(frozen=True, slots=True)
class IncrementalReport:
    """The outcome of `check_changed`.

    report    the findings.
    checked   number of nodes checked; None for the whole registry.
    sequence  the last event covered.
    shapes    hash of the shapes, for `Registry.keep_checked`.
    """

    report: ValidationReport
    checked: int | None
    sequence: int
    shapes: str


@arguments.checks
def check_changed(registry: Registry, party: Party, progress: Progress = unwatched) -> IncrementalReport:
    """Check the changes since the registry last conformed to the same shapes.

    It checks the whole registry if that state is unknown, after a change of a namespace or a party, and after
    a very large change. Only administrators may call it. Raises NotPermitted, StoreUnavailable. Cost: some
    milliseconds for each changed identifier, its events and bindings.
    """
    registry.only_administrators(party)
    with registry.store.snapshot() as snapshot:
        wanted = shapes(registry.namespaces())
        number, sequence = mark(wanted), snapshot.catalogue.sequence
        since = checked(snapshot, number) if compiler.covers(wanted) else None
        nodes = None if since is None else Checkpoint(registry.core).touched(snapshot, since)
        report = validate_registry(SnapshotSource(snapshot, THREADS), wanted, among=nodes, progress=progress)
    return IncrementalReport(report, None if nodes is None else len(nodes), sequence, number)


def mark(wanted: Shapes) -> str:
    """Return a hash of shapes that does not depend on the names of blank nodes."""
    triples = Dataset(Quad(triple.subject, triple.predicate, triple.object) for triple in wanted.triples)
    triples.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return format(hashed("\n".join(sorted(map(str, triples)))), "016x")
