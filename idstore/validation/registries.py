"""Which shapes a registry has to keep, and checking it against them."""

from collections.abc import Iterable
from itertools import chain

from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.schemes.shapes import shape
from idstore.stores.generation import engine_to_read
from idstore.validation import Report, Shapes, validate_registry
from idstore.validation.shapes import load, names, of
from idstore.validation.source import StoreSource, in_memory


def shapes(namespaces: Iterable[Namespace] = ()) -> Shapes:
    """Every shape that comes with idstore, and those of namespaces with settings or schemes of their own."""
    shipped = names()
    own = (
        shape(namespace.scheme, namespace.context)
        for namespace in namespaces
        if namespace.identifier_class == namespace.iri or namespace.scheme_name not in shipped
    )
    return load(*shipped) + of(dict.fromkeys(chain.from_iterable(own)))  # namespaces of one plug-in may have the same shape


def check(registry: Registry, party: Party) -> Report:
    """Check all that the party sees of a registry. Raises StoreUnavailable.

    Memory: for administrators, who see everything, in proportion to the largest predicate; for others 0.3 kB for each triple that they see.
    """
    if registry.administers(party):
        with registry.store.snapshot() as engine:
            return validate_registry(StoreSource(engine_to_read(engine)), shapes(registry.namespaces()))
    with registry.quads(party) as quads:
        source = in_memory(quads)
    return validate_registry(source, shapes(registry.namespaces()))
