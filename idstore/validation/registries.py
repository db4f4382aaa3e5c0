"""Which shapes a registry has to keep, and checking it against them."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Final

from pyoxigraph import CanonicalizationAlgorithm, Dataset, Quad

from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.terms import hashed
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.schemes.shapes import shape
from idstore.stores.engine import engine_to_read
from idstore.validation import Report, Shapes, compiler, files, validate_registry
from idstore.validation.shapes import load, names, of
from idstore.validation.source import StoreSource
from idstore.vocabulary import IDS, ONTOLOGY, RDF

THREADS: Final = 2
"""Queries at a time over a whole registry: each takes a processor, and memory."""


def shapes(namespaces: Iterable[Namespace] = ()) -> Shapes:
    """Every shape that comes with idstore, and those of namespaces with settings or schemes of their own."""
    shipped = names()
    own = (
        shape(namespace.scheme, namespace.context)
        for namespace in namespaces
        if namespace.identifier_class == namespace.iri or namespace.scheme_name not in shipped
    )
    return load(*shipped) + of(dict.fromkeys(chain.from_iterable(own)))  # namespaces of one plug-in may have the same shape


def shapes_for(path: str | PathLike[str], namespaces: Iterable[Namespace] = ()) -> Shapes:
    """The shapes for a file: those of findings where it tells of what a reconciliation found, else `shapes`. Raises as `files.quads`.

    Cost: the file is read up to the first class of the ontology.
    """
    classes = (quad.object for quad in files.quads(path) if quad.predicate == RDF.type and str(quad.object).startswith(f"<{ONTOLOGY}"))
    return load("findings") if next(classes, None) == IDS.Finding else shapes(namespaces)


def check(registry: Registry, party: Party, progress: Progress = unwatched) -> Report:
    """Check all that the party sees of a registry, where it is. Raises StoreUnavailable.

    Memory: 0.1 kB for each node of the two largest predicates; where not all is in order 0.3 kB.
    """
    with registry.seen(party) as (engine, graphs):
        seen = None if registry.administers(party) else graphs
        return validate_registry(StoreSource(engine_to_read(engine), THREADS, seen), shapes(registry.namespaces()), progress=progress)


@dataclass(frozen=True, slots=True)
class Renewed:
    """The outcome of `check_changed`.

    report    what is wrong.
    checked   how many nodes were looked at; None if it was the whole registry.
    sequence  up to which event; ``shapes`` stands for the shapes that were kept: see `Registry.keep_checked`.
    """

    report: Report
    checked: int | None
    sequence: int
    shapes: int


def check_changed(registry: Registry, party: Party, progress: Progress = unwatched) -> Renewed:
    """Check what changed since the registry was last found to keep the same shapes; where that is not known, all of it.

    The whole is checked also when a namespace or a party changed, and when very much did. Only administrators may.
    Raises NotPermitted, StoreUnavailable. Cost: some milliseconds for each identifier that changed, with its events and bindings.
    """
    registry.only_administrators(party)
    with ExitStack() as held:
        with registry.store.reading() as view:
            wanted = shapes(registry.namespaces())
            number, sequence = mark(wanted), view.catalogue.applied
            since = view.catalogue.checked(number) if compiler.covers(wanted) else None
            nodes = None if since is None else registry.touched(view, since)
            engine = held.enter_context(registry.store.snapshot())
        report = validate_registry(StoreSource(engine_to_read(engine), THREADS), wanted, among=nodes, progress=progress)
    return Renewed(report, None if nodes is None else len(nodes), sequence, number)


def mark(wanted: Shapes) -> int:
    """A number that tells shapes from others, however they name their blank nodes."""
    triples = Dataset(Quad(triple.subject, triple.predicate, triple.object) for triple in wanted.triples)
    triples.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return hashed("\n".join(sorted(map(str, triples))))
