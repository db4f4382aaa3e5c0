"""Namespaces: concrete contexts in which labels are unique."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData, UnknownScheme
from idstore.frozen import dataclass, replace
from idstore.model import times
from idstore.model.event import Event
from idstore.model.party import node
from idstore.schemes import Aliasing, Context, LabelType, Scheme, Typed, Valued, scheme
from idstore.vocabulary import DCTERMS, IDS, ONTOLOGY, RDF, RDFS, REGISTRY_GRAPH, SKOS, XSD, party_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FORMS: Final = frozenset({"doi", "hdl", "http", "https", "info", "urn"})
TRUE = Literal("true", datatype=XSD.boolean)
LARGEST: Final = 2**63 - 1
"""The largest whole number that the engine's xsd:integer holds; what is larger is no number to it, and breaks the shapes."""


def number(value: int) -> Literal:
    """The literal of a whole number."""
    return Literal(str(value), datatype=XSD.integer)


def is_name(text: str) -> bool:
    """Whether a namespace can be called so."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> str:
    """The name of a namespace, as given. Raises InvalidData."""
    if not is_name(name):
        raise InvalidData(
            f"{name!r} is not a namespace's name; use letters, digits and . _ -, at most 64, a letter or digit first", text=name
        )
    return name


def begins_a_form(name: str) -> bool:
    """Whether identifiers are written with this word before a colon, so that as a namespace's name it leaves in doubt what is meant."""
    return name.lower() in _FORMS


@dataclass(frozen=True, slots=True)
class Namespace:
    """A base IRI, a scheme and its settings, with an owner.

    settings    every setting of the scheme, sorted by name.
    created     milliseconds since 1970.
    allocators  parties and groups that may allocate; empty: everyone.
    per_minute  how many identifiers a party may allocate in a minute; None: any number.
    frozen      nothing is allocated here any more.
    offered     who may take it over by accepting.
    """

    base: str
    name: str
    scheme_name: str
    settings: tuple[tuple[str, str], ...]
    owner: str
    created: int
    allocators: frozenset[str] = frozenset()
    per_minute: int | None = None
    frozen: bool = False
    offered: str | None = None

    @property
    def iri(self) -> NamedNode:
        """Its name: the base."""
        return NamedNode(self.base)

    @property
    def bases(self) -> tuple[str, ...]:
        """Its base, and those that are aliases of it, under which no other namespace can have names."""
        try:
            code = self.scheme
        except UnknownScheme:
            return (self.base,)
        return (self.base, *(code.aliases(self.context) if isinstance(code, Aliasing) else ()))

    @property
    def scheme(self) -> Scheme:
        """The scheme's code. Raises UnknownScheme if its package is not installed."""
        return scheme(self.scheme_name)

    @property
    def context(self) -> Context:
        """What the scheme needs to know."""
        return _context(self.base, self.settings)

    @property
    def identifier_class(self) -> NamedNode:
        """The class of its identifiers: the scheme's when every setting is the default, so that the scheme's shape file holds, else the namespace."""
        return _identifier_class(self.base, self.scheme_name, self.settings)

    @property
    def valued(self) -> bool:
        """Whether its identifiers can have typed values. Raises UnknownScheme."""
        return _valued(self.scheme_name)

    @property
    def types(self) -> Sequence[LabelType]:
        """The types that its labels name; none in most schemes."""
        return self.scheme.types(self.context) if isinstance(self.scheme, Typed) else ()

    def quads(self) -> list[Quad]:
        """Its triples, those of its types, and what the class of its identifiers is if it is a plug-in's; in the registry graph."""
        iri = self.iri
        pairs: list[tuple[NamedNode, NamedNode | Literal]] = [
            (RDF.type, IDS.Namespace),
            (IDS.name, Literal(self.name)),
            (IDS.scheme, Literal(self.scheme_name)),
            (IDS.owner, node(self.owner)),
            (DCTERMS.created, times.literal(self.created)),
        ]
        pairs += [(IDS.setting, Literal(f"{key}={value}")) for key, value in self.settings]
        pairs += [(IDS.allocator, node(name)) for name in sorted(self.allocators)]
        if self.identifier_class == iri:
            pairs.append((RDFS.subClassOf, IDS.Identifier))
        if self.per_minute is not None:
            pairs.append((IDS.perMinute, number(self.per_minute)))
        if self.frozen:
            pairs.append((IDS.frozen, TRUE))
        if self.offered:
            pairs.append((IDS.offeredTo, node(self.offered)))
        own = [Quad(iri, predicate, value, REGISTRY_GRAPH) for predicate, value in pairs]
        if self.identifier_class != iri and not self.identifier_class.value.startswith(ONTOLOGY):
            own.append(Quad(self.identifier_class, RDFS.subClassOf, IDS.Identifier, REGISTRY_GRAPH))
        return own + [quad for one in self.types for quad in _type_quads(iri, one)]


def _type_quads(namespace: NamedNode, one: LabelType) -> Iterator[Quad]:
    """A type, named after the base, and that the namespace has it."""
    node = NamedNode(namespace.value + one.code)
    yield Quad(namespace, IDS.labelType, node, REGISTRY_GRAPH)
    yield Quad(node, RDF.type, IDS.LabelType, REGISTRY_GRAPH)
    yield Quad(node, SKOS.notation, Literal(one.code), REGISTRY_GRAPH)
    if one.title:
        yield Quad(node, SKOS.prefLabel, Literal(one.title), REGISTRY_GRAPH)
    if one.provisional:
        yield Quad(node, IDS.quality, IDS.Provisional, REGISTRY_GRAPH)


@lru_cache
def _valued(scheme_name: str) -> bool:
    """Remembered: it is asked for every identifier that is read or allocated, and asking is slow."""
    return isinstance(scheme(scheme_name), Valued)


@lru_cache(maxsize=8192)
def _context(base: str, settings: tuple[tuple[str, str], ...]) -> Context:
    return Context(base, dict(settings))


@lru_cache(maxsize=8192)
def _identifier_class(base: str, scheme_name: str, settings: tuple[tuple[str, str], ...]) -> NamedNode:
    code = scheme(scheme_name)
    full = {**code.defaults, **dict(settings)}  # a namespace is as old as the settings that it names
    return NamedNode(code.identifier_class) if full == dict(code.defaults) else NamedNode(base)


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Namespace:
    """Read a namespace from its quads. Raises KeyError if something is missing."""
    values: dict[NamedNode, list[NamedNode | Literal]] = {}
    for quad in quads:
        assert isinstance(quad.object, NamedNode | Literal)
        values.setdefault(quad.predicate, []).append(quad.object)
    offered = values.get(IDS.offeredTo)
    return Namespace(
        base=iri.value,
        name=values[IDS.name][0].value,
        scheme_name=values[IDS.scheme][0].value,
        settings=_settings(value.value for value in values.get(IDS.setting, ())),
        owner=_party(values[IDS.owner][0]),
        created=times.parse(values[DCTERMS.created][0].value),
        allocators=frozenset(_party(value) for value in values.get(IDS.allocator, ())),
        per_minute=int(values[IDS.perMinute][0].value) if IDS.perMinute in values else None,
        frozen=IDS.frozen in values,
        offered=_party(offered[0]) if offered else None,
    )


def apply(before: Namespace | None, event: Event) -> Namespace:
    """The namespace after an event about it; a pure function, the meaning of the log."""
    if before is None:
        return Namespace(
            event.about.value,
            event.text(IDS.name) or "",
            event.text(IDS.scheme) or "",
            _settings(value.value for value in event.all(IDS.setting)),
            event.by,
            event.at,
        )
    if event.kind == IDS.TypeAddition:
        return _with_type(before, event.text(SKOS.notation) or "", event.text(IDS.name) or "")
    given = [_party(value) for value in event.all(IDS.party)]
    if event.kind == IDS.NamespaceAllowance:
        limit = event.text(IDS.perMinute)
        return replace(before, allocators=frozenset(given), per_minute=None if limit is None else int(limit))
    if event.kind == IDS.NamespaceFreeze:
        return replace(before, frozen=event.text(IDS.frozen) == "true")
    if event.kind == IDS.Transfer:
        accepted = event.by == given[0] == before.offered
        return replace(before, owner=given[0], offered=None) if accepted else replace(before, offered=given[0])
    return before


def _with_type(before: Namespace, code: str, title: str) -> Namespace:
    """The namespace with a type more. Raises InvalidData."""
    if not isinstance(before.scheme, Typed):
        return before
    return replace(before, settings=settings_of(before.scheme.with_type(before.context, code, title).settings))


def settings_of(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Settings in their stored order."""
    return tuple(sorted(given.items()))


def _settings(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return settings_of(dict(text.split("=", 1) for text in texts))


def _party(value: NamedNode | Literal) -> str:
    assert isinstance(value, NamedNode)
    return party_name(value)
