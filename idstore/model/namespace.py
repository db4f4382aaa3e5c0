"""Namespaces: concrete contexts in which labels are unique."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.characters import ascii_lower
from idstore.errors import InvalidData, UnknownScheme
from idstore.model import particulars, times
from idstore.model.event import Event
from idstore.model.party import PartyFacts, node
from idstore.model.terms import integer
from idstore.schemes import Aliasing, Context, LabelType, Scheme, Typed, Valued, scheme
from idstore.schemes.shapes import own_shape
from idstore.vocabulary import (
    DCTERMS,
    IDS,
    ONTOLOGY,
    RDF,
    RDFS,
    REGISTRY_GRAPH,
    SKOS,
    XSD,
    party_name,
    setting_key,
    setting_term,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FORMS: Final = frozenset({"doi", "hdl", "http", "https", "info", "urn"})
_FLAGS: Final = ("true", "false")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
TRUE = Literal("true", datatype=XSD.boolean)
LARGEST: Final = 2**63 - 1
"""The largest integer that the engine's xsd:integer holds. The engine does not treat a larger one as a
number, so that it would break the shapes."""


def is_name(text: str) -> bool:
    """Whether a text is a valid name of a namespace."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> str:
    """Return the name of a namespace unchanged. Raises InvalidData if it is not valid."""
    if not is_name(name):
        raise InvalidData(
            f"{name!r} is not a namespace's name; use letters, digits and . _ -, at most 64,"
            " and begin with a letter or digit",
            field="name",
            text=name,
        )
    return name


def is_form_prefix(name: str) -> bool:
    """Whether ``name:`` begins a written form of identifiers and is ambiguous as the name of a namespace."""
    return ascii_lower(name) in _FORMS


@dataclass(frozen=True, slots=True)
class Namespace:
    """A base IRI with a scheme, the scheme's settings and an owner.

    settings    all settings of the scheme, sorted by name.
    created     when it was added.
    allocators  parties and groups that may allocate identifiers; empty: every party.
    per_minute  how many identifiers a party may allocate in a minute; None: no limit.
    frozen      whether the namespace allocates no more identifiers.
    offered     the party that becomes the owner by accepting a transfer.
    particulars  what the owner says of the namespace: see `idstore.model.particulars`.
    """

    base: str
    name: str
    scheme_name: str
    settings: tuple[tuple[str, str], ...]
    owner: str
    created: datetime
    allocators: frozenset[str] = frozenset()
    per_minute: int | None = None
    frozen: bool = False
    offered: str | None = None
    particulars: tuple[tuple[str, str], ...] = ()

    @property
    def iri(self) -> NamedNode:
        """The IRI of the namespace: its base."""
        return NamedNode(self.base)

    @property
    def bases(self) -> tuple[str, ...]:
        """The base and its aliases. No other namespace can have names under them."""
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
        """The namespace as its scheme sees it."""
        return _context(self.base, self.settings, self.scheme_name)

    def key_iri(self, label: str) -> str:
        """Return the IRI of a label's comparison key: labels are one name exactly if it is the same."""
        return self.scheme.iri(self.scheme.key(label, self.context), self.context)

    @property
    def identifier_class(self) -> NamedNode:
        """The class of the identifiers, which the scheme names. Raises UnknownScheme."""
        return NamedNode(self.scheme.identifier_class)

    @property
    def binders(self) -> str:
        """Who may bind its published identifiers, besides their owners: see `particulars.BINDERS`."""
        return dict(self.particulars).get("bind", particulars.ANYONE)

    def is_allocator(self, facts: PartyFacts) -> bool:
        """Whether a party is the owner, or may allocate by its name or a group."""
        return not self.allocators or facts.name == self.owner or not facts.names.isdisjoint(self.allocators)

    @property
    def valued(self) -> bool:
        """Whether the identifiers can have typed values. Raises UnknownScheme."""
        return _valued(self.scheme_name)

    @property
    def types(self) -> Sequence[LabelType]:
        """The types that labels can name; none in most schemes."""
        return self.scheme.types(self.context) if isinstance(self.scheme, Typed) else ()

    @property
    def parent(self) -> NamedNode | None:
        """The namespace of the prefix that this one's prefix is derived from, if it is registered."""
        prefix = dict(self.settings).get("parent")
        return NamedNode(self.scheme.context(prefix, {}).base) if prefix else None

    def quads(self) -> list[Quad]:
        """Return the triples of the namespace and its types, as quads of the registry graph.

        A class of identifiers that comes from a plug-in is declared with them.
        """
        iri = self.iri
        pairs: list[tuple[NamedNode, NamedNode | Literal]] = [
            (RDF.type, IDS.Namespace),
            (IDS.name, Literal(self.name)),
            (IDS.scheme, Literal(self.scheme_name)),
            (IDS.owner, node(self.owner)),
            (DCTERMS.created, times.literal(self.created)),
        ]
        pairs += setting_pairs(self.scheme, self.settings)
        pairs += [
            (particulars.PREDICATES[key], particulars.term(key, text)) for key, text in self.particulars
        ]
        pairs += [(IDS.allocator, node(name)) for name in sorted(self.allocators)]
        shape = _own_shape(self.base, self.scheme_name, self.settings)
        if shape is not None:
            pairs.append((DCTERMS.conformsTo, shape))
        if self.per_minute is not None:
            pairs.append((IDS.perMinute, integer(self.per_minute)))
        if self.frozen:
            pairs.append((IDS.frozen, TRUE))
        if self.offered:
            pairs.append((IDS.offeredTo, node(self.offered)))
        if self.parent is not None:
            pairs.append((IDS.derivedFrom, self.parent))
        own = [Quad(iri, predicate, value, REGISTRY_GRAPH) for predicate, value in pairs]
        if not self.identifier_class.value.startswith(ONTOLOGY):
            own.append(Quad(self.identifier_class, RDFS.subClassOf, IDS.Identifier, REGISTRY_GRAPH))
        return own + [quad for label_type in self.types for quad in _type_quads(iri, label_type)]


def _type_quads(namespace: NamedNode, label_type: LabelType) -> Iterator[Quad]:
    """Yield the quads of a type, whose IRI is the base and its code."""
    node = NamedNode(namespace.value + label_type.code)
    yield Quad(namespace, IDS.labelType, node, REGISTRY_GRAPH)
    yield Quad(node, RDF.type, IDS.LabelType, REGISTRY_GRAPH)
    yield Quad(node, SKOS.notation, Literal(label_type.code), REGISTRY_GRAPH)
    if label_type.title:
        yield Quad(node, SKOS.prefLabel, Literal(label_type.title), REGISTRY_GRAPH)
    if label_type.provisional:
        yield Quad(node, IDS.quality, IDS.Provisional, REGISTRY_GRAPH)


@lru_cache
def _valued(scheme_name: str) -> bool:
    """Whether a scheme has typed values; cached, because every read and allocation asks for it."""
    return isinstance(scheme(scheme_name), Valued)


@lru_cache(maxsize=8192)
def _context(base: str, settings: tuple[tuple[str, str], ...], scheme_name: str) -> Context:
    """Return the context of a namespace; a setting that its scheme got later has its default."""
    try:
        defaults = scheme(scheme_name).defaults
    except UnknownScheme:  # its package is not installed
        defaults = {}
    return Context(base, {**defaults, **dict(settings)})


@lru_cache(maxsize=8192)
def _own_shape(base: str, scheme_name: str, settings: tuple[tuple[str, str], ...]) -> NamedNode | None:
    return own_shape(scheme(scheme_name), _context(base, settings, scheme_name))


def parse(iri: NamedNode, quads: Iterable[Quad]) -> Namespace:
    """Read a namespace from its quads. Raises KeyError if a property is missing."""
    values: dict[NamedNode, list[NamedNode | Literal]] = {}
    for quad in quads:
        assert isinstance(quad.object, NamedNode | Literal)
        values.setdefault(quad.predicate, []).append(quad.object)
    offered = values.get(IDS.offeredTo)
    return Namespace(
        base=iri.value,
        name=values[IDS.name][0].value,
        scheme_name=values[IDS.scheme][0].value,
        settings=_settings((predicate, found[0]) for predicate, found in values.items()),
        owner=_party(values[IDS.owner][0]),
        created=times.parse(values[DCTERMS.created][0].value),
        allocators=frozenset(_party(value) for value in values.get(IDS.allocator, ())),
        per_minute=int(values[IDS.perMinute][0].value) if IDS.perMinute in values else None,
        frozen=IDS.frozen in values,
        offered=_party(offered[0]) if offered else None,
        particulars=settings_of(
            {key: values[name][0].value for key, name in particulars.PREDICATES.items() if name in values}
        ),
    )


def shared(spaces: Iterable[Namespace], particular: str) -> str | None:
    """Return a particular that all namespaces have in common; None if they differ, or one has none."""
    texts = {dict(space.particulars).get(particular) for space in spaces}
    return texts.pop() if len(texts) == 1 else None


def apply(before: Namespace | None, event: Event) -> Namespace:
    """Return the namespace after an event about it. A pure function: it defines the meaning of the log."""
    if before is None:
        return Namespace(
            event.about,
            event.text(IDS.name) or "",
            event.text(IDS.scheme) or "",
            _settings(event.arguments),
            event.by,
            event.at,
        )
    if event.kind == IDS.TypeAddition:
        return _with_type(before, event.text(SKOS.notation) or "", event.text(IDS.name) or "")
    parties = [_party(value) for value in event.all(IDS.party)]
    if event.kind == IDS.NamespaceAllowance:
        limit = event.text(IDS.perMinute)
        return replace(
            before, allocators=frozenset(parties), per_minute=None if limit is None else int(limit)
        )
    if event.kind == IDS.NamespaceFreeze:
        return replace(before, frozen=event.text(IDS.frozen) == "true")
    if event.kind == IDS.NamespaceChange:
        return _changed(before, dict(_settings(event.arguments)))
    if event.kind == IDS.Transfer and parties[0] == before.owner:
        return replace(before, offered=None)
    if event.kind == IDS.Transfer:
        accepted = event.by == parties[0] == before.offered
        return (
            replace(before, owner=parties[0], offered=None)
            if accepted
            else replace(before, offered=parties[0])
        )
    return before


def _with_type(before: Namespace, code: str, title: str) -> Namespace:
    """Return the namespace with one more type. Raises InvalidData."""
    if not isinstance(before.scheme, Typed):
        return before
    return replace(
        before, settings=settings_of(before.scheme.with_type(before.context, code, title).settings)
    )


def _changed(before: Namespace, changes: Mapping[str, str]) -> Namespace:
    """Return the namespace with other settings and particulars; an empty particular is removed."""
    said = {key: text for key, text in changes.items() if key in particulars.PREDICATES}
    kept = {key: text for key, text in {**dict(before.particulars), **said}.items() if text}
    settings = {key: text for key, text in changes.items() if key not in said}
    return replace(
        before,
        settings=settings_of({**dict(before.settings), **settings}),
        particulars=settings_of(kept),
    )


def settings_of(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return settings in their stored order."""
    return tuple(sorted(settings.items()))


def setting_pairs(
    scheme: Scheme, settings: Iterable[tuple[str, str]]
) -> list[tuple[NamedNode, NamedNode | Literal]]:
    """Return settings as predicates and objects: flags and numbers typed, all others as text."""
    return [(setting_term(key), _typed(value, scheme.defaults.get(key, ""))) for key, value in settings]


def _typed(value: str, default: str) -> Literal:
    """Return the literal of a setting, of the datatype of its default."""
    if default in _FLAGS and value in _FLAGS:
        return Literal(value, datatype=XSD.boolean)
    if _NUMBER.fullmatch(default) and _NUMBER.fullmatch(value):
        return Literal(value, datatype=XSD.integer)
    return Literal(value)


def _settings(pairs: Iterable[tuple[NamedNode, NamedNode | Literal]]) -> tuple[tuple[str, str], ...]:
    """Return the settings among predicates and objects."""
    keys = ((setting_key(predicate), value.value) for predicate, value in pairs)
    return settings_of({key: value for key, value in keys if key is not None})


def _party(value: NamedNode | Literal) -> str:
    assert isinstance(value, NamedNode)
    return party_name(value)
