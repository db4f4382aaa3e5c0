"""The parties and namespaces of a registry, read from its graph at once."""

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pyoxigraph import Literal, NamedNode, Quad

from idstore.model import event as events
from idstore.model import namespace as namespaces
from idstore.model.names import Names
from idstore.model.namespace import Namespace
from idstore.model.party import PartyFacts
from idstore.model.terms import iri_of
from idstore.registry.namespace_index import NamespaceIndex
from idstore.stores.contract import View
from idstore.vocabulary import IDS, RDF, REGISTRY_GRAPH, party_name

_KINDS = {IDS.User: "user", IDS.Group: "group", IDS.Administrator: "administrator"}


@dataclass(frozen=True, slots=True)
class Facts:
    """Parties and namespaces as of one version of the registry graph.

    parties  hidden in tracebacks that show variables: they contain suspensions and their reasons.
    described  names of the parties that the registry graph describes: the added ones, and those that public
               triples name.
    index    the namespaces, for lookups.
    names    the comparison of names, by the rules of all namespaces.
    """

    version: int
    parties: dict[str, PartyFacts] = field(repr=False)
    by_name: dict[str, Namespace]
    by_base: dict[str, Namespace]
    index: NamespaceIndex = field(repr=False)
    names: Names = field(compare=False, repr=False)
    described: frozenset[str] = field(repr=False)


def read_facts(view: View, version: int, homes: Callable[[View], Container[str]]) -> Facts:
    """Return the current parties and namespaces; damaged ones are left out.

    homes  gives the stores whose whole log is this registry's own.
    Cost: a read of the whole graph.
    """
    by_subject: dict[NamedNode, list[Quad]] = {}
    for quad in view.quads(None, None, None, REGISTRY_GRAPH):
        if isinstance(quad.subject, NamedNode):
            by_subject.setdefault(quad.subject, []).append(quad)
    parties: dict[str, PartyFacts] = {}
    namespaces_found: list[Namespace] = []
    described: set[str] = set()
    for subject, quads in by_subject.items():
        with suppress(AssertionError, LookupError, ValueError):  # verification reports damaged data
            kinds = {quad.object for quad in quads if quad.predicate == RDF.type}
            if IDS.Namespace in kinds:
                namespaces_found.append(namespaces.parse(subject, quads))
            else:
                described |= {party_name(subject)} if IDS.Party in kinds else set()
                parties |= {facts.name: facts for facts in _read_party(subject, quads, kinds)}
    for quad in view.quads(None, IDS.suspended):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
            name = party_name(quad.subject)
            facts = parties.get(name) or PartyFacts(name)
            parties[name] = replace(facts, suspended=quad.object.value)
    namespaces_found.sort(key=lambda namespace: (namespace.created, namespace.base), reverse=True)
    by_base = {namespace.base: namespace for namespace in namespaces_found}
    return Facts(
        version,
        parties,
        _by_name(view, namespaces_found, homes),
        by_base,
        NamespaceIndex(namespaces_found),
        Names(namespaces_found),
        frozenset(described),
    )


def _read_party(subject: NamedNode, quads: list[Quad], kinds: Collection[object]) -> Iterator[PartyFacts]:
    for kind, word in _KINDS.items():
        if kind in kinds:
            groups = frozenset(
                party_name(iri_of(quad.object)) for quad in quads if quad.predicate == IDS.memberOf
            )
            yield PartyFacts(party_name(subject), word, groups, added=True)


def _by_name(
    view: View, newest_first: Sequence[Namespace], homes: Callable[[View], Container[str]]
) -> dict[str, Namespace]:
    """Return the namespaces by name.

    Several namespaces have one name after a merge of registries: the name goes to the oldest that was added
    at home, else to the oldest.
    """
    named: dict[str, list[Namespace]] = {}
    for namespace in newest_first:
        named.setdefault(namespace.name, []).append(namespace)
    return {
        name: _keeper(view, rivals, homes(view)) if rivals[1:] else rivals[0]
        for name, rivals in named.items()
    }


def _keeper(view: View, rivals: Sequence[Namespace], homes: Container[str]) -> Namespace:
    own = [namespace for namespace in rivals if _is_own(view, namespace, homes)]
    return (own or rivals)[-1]


def _is_own(view: View, namespace: Namespace, homes: Container[str]) -> bool:
    about = [quad.subject for quad in view.quads(None, IDS.about, namespace.iri)]
    own = (
        event for event in about if isinstance(event, NamedNode) and events.origin_of(event.value) in homes
    )
    return any(next(view.quads(event, RDF.type, IDS.NamespaceAddition), None) is not None for event in own)
