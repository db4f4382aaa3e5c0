"""Check that an import accepts a registry's file.

Records and namespaces have events, namespaces could be added, bases are separate, and nothing contradicts.
"""

from collections.abc import Collection, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from idstore import opening, scratch
from idstore.errors import ExchangeError, IdstoreError, InvalidData
from idstore.exchange import rdf
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry.namespace_bases import check_bases
from idstore.registry.namespaces import check_stored
from idstore.validation.graph import Term
from idstore.validation.report import ValidationResult
from idstore.validation.source import QuadSource
from idstore.vocabulary import IDS, RDF, REGISTRY_GRAPH

_SHAPES: Final = "https://w3id.org/idstore/shapes#"
_RECORDS: Final = f"?this {IDS.inNamespace} ?space ; {IDS.stage} ?stage"
_NAMESPACES: Final = f"?this {RDF.type} {IDS.Namespace}"
_IMPORTER: Final = Party("importer")


def faults(source: QuadSource, namespaces: Collection[Namespace]) -> Iterator[ValidationResult]:
    """Yield findings on records and namespaces without events, and on namespaces that cannot be added.

    A publication has no events: see `Registry.publication`.
    namespaces  those that the data describe.
    """
    if not _is_publication(source):
        for node in _without(source, _RECORDS, f"{IDS.withLabel} ?label"):
            yield _finding(node, "RecordOfEvent", "events", "No event in the file mints or registers it.")
        for node in _without(source, _NAMESPACES, f"{RDF.type} {IDS.NamespaceAddition}"):
            yield _finding(node, "NamespaceOfEvent", "events", "No event in the file adds it.")
    before: list[Namespace] = []
    for namespace in sorted(namespaces, key=lambda namespace: (namespace.created, namespace.base)):
        fault = fault_of(namespace)
        if fault is not None:
            yield _finding(namespace.iri, "NamespaceAsAdded", "name, base and settings", f"{fault}.")
        try:
            check_bases(namespace, before)
        except IdstoreError as error:
            yield _finding(namespace.iri, "SeparateBases", "separate bases", f"{error.message}.")
        before.append(namespace)


def fault_of(namespace: Namespace) -> str | None:
    """Return why a namespace cannot be added with its name, base and settings; None if it can."""
    try:
        check_stored(namespace)
    except InvalidData as error:
        return error.message
    return None


def _is_publication(source: QuadSource) -> bool:
    """Return whether the data say that they are partial, and have no events at all."""
    marked = source.rows(f"SELECT ?graph {{ ?graph {IDS.partial} true }}")
    return any(marked) and not any(source.rows(f"SELECT ?event {{ ?event {IDS.about} ?thing }} LIMIT 1"))


def _without(source: QuadSource, subjects: str, event: str) -> Iterator[Term]:
    """Yield the subjects that no event of a kind is about."""
    pattern = f"{subjects} FILTER NOT EXISTS {{ ?event {IDS.about} ?this ; {event} }}"
    for (node,) in source.rows(f"SELECT DISTINCT ?this {{ {pattern} }}"):
        assert node is not None
        yield node


def contradiction(
    path: str | PathLike[str], source: QuadSource, namespaces: Collection[str]
) -> ValidationResult | None:
    """Return a finding if an import into an empty registry refuses the file.

    namespaces  bases of the namespaces that the file describes. A file of other namespaces is not checked,
                nor is one without events, or in a format that is not imported.
    Raises StoreUnavailable. Cost: as an import, into a temporary folder.
    """
    if Path(path).suffix.lower() not in rdf.SUFFIXES or not _events_within(source, namespaces):
        return None
    with (
        scratch.folder() as folder,
        opening.open(folder / "store", administrator=_IMPORTER) as registry,
    ):
        try:
            rdf.import_registry(registry, [Path(fspath(path))], _IMPORTER)
        except ExchangeError as error:
            message = f"An import refuses the file: {error.reason}."
            return _finding(REGISTRY_GRAPH, "Importable", "import", message)
    return None


def _events_within(source: QuadSource, namespaces: Collection[str]) -> bool:
    """Return whether there are events, and all about records are in these namespaces."""
    query = (
        f"SELECT DISTINCT ?space {{ ?event {IDS.about} ?thing"
        f" OPTIONAL {{ ?event {IDS.withNamespace} ?space }} }}"
    )
    spaces = [space for (space,) in source.rows(query)]
    return bool(spaces) and all(
        space is None or getattr(space, "value", "") in namespaces for space in spaces
    )


def _finding(node: Term, shape: str, name: str, message: str) -> ValidationResult:
    return ValidationResult(node, None, None, _SHAPES + shape, name, name, message)
