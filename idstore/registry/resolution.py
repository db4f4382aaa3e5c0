"""Resolution of identifiers, and derivation of identifiers from metadata."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import SystemRandom
from typing import Final

from pyoxigraph import NamedNode, Quad

from idstore import arguments
from idstore.errors import AmbiguousIdentifier, InvalidData, InvalidIdentifier, NoTarget, NotRegistered
from idstore.model.listing import Selection
from idstore.model.names import Names
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, Stage, written
from idstore.model.terms import iri_of
from idstore.model.value import Value, first_url, matching
from idstore.registry.core import read_event
from idstore.registry.handle_values import alias_of
from idstore.registry.lookup import Lookup, label_node
from idstore.registry.requests import check_metadata, check_regular
from idstore.registry.visibility import EVERYONE, Sight
from idstore.remedies import Remedy
from idstore.schemes import Deriving, handle_values, locations, value_types
from idstore.stores.contract import View
from idstore.vocabulary import DCTERMS, EVENTS, IDS, PUBLIC_LOG

_NUMBER = re.compile(r"[Vv]?(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Superseded:
    """An identifier and its successors.

    by  the identifiers that replace it.
    """

    iri: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of resolving an identifier.

    asked   the record of the identifier itself.
    answer  the record with the answer: the same, or a successor's if the identifier has no target of its own.
    path    the IRIs from the identifier to the answer.
    target  the URI; None for a tombstone, which has a reason instead, and for a superseded identifier without
            target.
    ended   when the answer became a tombstone.
    values  the requested values of the answer's handle, by type or index.
    succession  the identifier with its successors, then theirs, each once, up to a hundred.
    copies  of a replaced article whose new copy has no target yet: its own record, and that of its latest old
            copy.
    """

    asked: Record
    answer: Record
    path: tuple[str, ...]
    target: str | None
    ended: datetime | None = None
    values: tuple[Value, ...] = ()
    succession: tuple[Superseded, ...] = ()
    copies: tuple[Record, ...] = ()

    @property
    def buried(self) -> bool:
        """Whether the answer is a tombstone."""
        return self.answer.stage is Stage.TOMBSTONE

    @property
    def current(self) -> tuple[str, ...]:
        """The last identifiers of the succession, which have no successors; empty for a cycle."""
        replaced = {step.iri for step in self.succession}
        named = (successor for step in self.succession for successor in step.by)
        return tuple(dict.fromkeys(iri for iri in named if iri not in replaced))


@dataclass(frozen=True, slots=True)
class ResolutionOptions:
    """The options of a resolution.

    types, indexes  only the values of these types or indexes.
    aliases         whether to follow aliases.
    location        properties of the requester, for handles with several locations.
    draw            random source for the choice among them: returns a number from 0 up to, but not including,
                    1.
    """

    types: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()
    aliases: bool = True
    location: locations.Client = field(default_factory=locations.Client)
    draw: Callable[[], float] = SystemRandom().random

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)


@dataclass(frozen=True, slots=True)
class Lead:
    """Where a record leads to.

    target  the URI; None: nowhere.
    value   the value of the handle that says so.
    place   the attributes of the chosen location, if it has several.
    """

    target: str | None = None
    value: Value | None = None
    place: Mapping[str, str] = field(default_factory=dict)


ALIASES: Final = 20
"""Longest chain of aliases that is followed."""
SUCCESSIONS: Final = 100
"""Most successors that are read for a resolution: any party that allocates could make a longer chain."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The identifier derived from metadata.

    iri         without regard to collisions.
    collides    whether its label is taken.
    extensions  deviations from the letter of the scheme's policy, a sentence each.
    doubts      points in the metadata that need a review.
    """

    iri: str
    label: str
    collides: bool
    extensions: tuple[str, ...]
    doubts: tuple[str, ...]


class Resolver(Lookup):
    """Resolution and derivation of identifiers."""

    def resolve(
        self, id: Identifier, party: Party, options: ResolutionOptions = ResolutionOptions()
    ) -> Resolution:
        """Resolve an identifier: to its target, else to that of its only successor, else as it is bound.

        Only the owner's bindings by skos:exactMatch or owl:sameAs count, the oldest first.
        A tombstone to its reason. An article that was replaced and has no target since resolves to no target,
        but to both copies.
        An alias resolves as the handle that it names; a handle with several locations to one of them. With
        types or indexes the result is these values, as far as the party may read them. A work resolves as its
        newest published version that has a target, for all parties alike. A superseded identifier without any
        target resolves to None; the result tells the whole succession.
        Raises as `show`; also NoTarget; NotRegistered: no such value, or a cycle of aliases; InvalidData
        (an address).
        Cost: one read for each transitive successor, up to `SUCCESSIONS`.
        """

        def question(view: View) -> tuple[Resolution, Names]:
            sight = self.core.sight(view, party)
            first = self._named(view, id, sight)
            return self._followed(view, first, sight, options), self.core.facts(view).names

        result, names = self.store.read(question)
        if result.buried or result.target is not None or result.copies:
            return result
        if options.types or options.indexes:
            return replace(result, values=chosen_values(result.answer, options))
        target = leads_to(result.answer, options, names).target
        if target is None and not result.current:
            raise NoTarget(written(id), _no_target(result), remedy=Remedy.SET_TARGET)
        return replace(result, target=target)

    def _followed(self, view: View, first: Record, sight: Sight, options: ResolutionOptions) -> Resolution:
        """Resolve from a record to the one with the answer; a target only if that is elsewhere."""
        answer, path = first, [first.iri]
        succession = tuple(self._succession(view, first, sight))
        while (step := self._next(view, answer, sight, options, path)) is not None:
            if isinstance(step, str):
                proxied = self._at_proxy(first, answer, path, step, options)
                return replace(proxied, succession=succession)
            answer = step
            path.append(answer.iri)
        ended = self._ended(view, answer.node) if answer.stage is Stage.TOMBSTONE else None
        return Resolution(
            first,
            answer,
            tuple(path),
            None,
            ended,
            succession=succession,
            copies=self._copies(view, answer, sight),
        )

    def _next(
        self, view: View, record: Record, sight: Sight, options: ResolutionOptions, path: Sequence[str]
    ) -> Record | str | None:
        """Return the next record: by alias, by newest version, or by only successor.

        Returns text, the aliased handle, if it is not registered here.
        """
        alias = None if record.stage is Stage.TOMBSTONE else _alias(record, options)
        if alias is None:
            successor = self._newest(view, record) or self._successor(view, record, sight, options)
            ends = successor is None or successor.iri in path or len(path) > SUCCESSIONS
            return None if ends else successor
        try:
            holder = self._identify_for(view, f"hdl:{alias}", sight)
            successor = self.core.load(view, holder, sight)
        except (NotRegistered, AmbiguousIdentifier, InvalidIdentifier):
            return alias
        path_text = " → ".join([*path, successor.iri])
        if successor.iri in path:
            raise NotRegistered(
                path[0],
                f"the aliases form a cycle: {path_text}; ask the owner to unset one of them",
                remedy=Remedy.UNSET_VALUE,
            )
        if len(path) > ALIASES:
            raise NotRegistered(path[0], f"the chain of aliases is longer than {ALIASES}: {path_text}")
        return successor

    def _at_proxy(
        self, first: Record, answer: Record, path: Sequence[str], alias: str, options: ResolutionOptions
    ) -> Resolution:
        """Return the resolution of an alias of a hidden or foreign handle: to the proxy."""
        proxy = handle_values.proxy(alias)
        if options.types or options.indexes:
            raise NotRegistered(
                first.iri,
                f"{answer.iri} is an alias of {alias}, which is not registered here; ask {proxy}",
            )
        return Resolution(first, answer, (*(iri for iri in path), proxy), proxy)

    def _succession(self, view: View, asked: Record, sight: Sight) -> Iterator[Superseded]:
        """Yield the successors of a record and theirs, nearest first, up to `SUCCESSIONS` of them."""
        queue, seen = [asked], {asked.iri}
        while queue and len(seen) <= SUCCESSIONS:
            record = queue.pop(0)
            if record.successors:
                yield Superseded(record.iri, tuple(iri for iri in record.successors))
            for successor in record.successors:
                if successor not in seen:
                    seen.add(successor)
                    with suppress(NotRegistered):  # of another registry, or hidden
                        queue.append(self.core.load(view, NamedNode(successor), sight))

    def _records_of(self, view: View, quads: Iterable[Quad], sight: Sight) -> list[Record]:
        """Return the visible records of the subjects of quads."""
        found = []
        for quad in quads:
            if (
                isinstance(quad.subject, NamedNode)
                and not quad.subject.value.startswith(EVENTS)
                and isinstance(quad.graph_name, NamedNode)
                and sight.sees(quad.graph_name)
            ):
                with suppress(NotRegistered):
                    found.append(self.core.load(view, quad.subject, sight))
        return found

    def _versions_in(self, view: View, quads: Iterable[Quad], sight: Sight) -> list[Record]:
        """Return the visible versions of a work that the quads name, newest first."""
        return sorted(self._records_of(view, quads, sight), key=_newest_first)

    def _newest(self, view: View, work: Record) -> Record | None:
        """Return the version that a work resolves to: the newest with a target, if possible not deprecated.

        Only published versions are read, which the public log names, so that the time does not depend on
        drafts.
        """
        if work.stage is Stage.TOMBSTONE:
            return None
        events = [iri_of(quad.subject) for quad in view.quads(None, IDS.withWork, work.node, PUBLIC_LOG)]
        published = [iri_of(quad.object) for event in events for quad in view.quads(event, IDS.about)]
        quads = [
            quad for version in published for quad in view.quads(version, DCTERMS.isVersionOf, work.node)
        ]
        names = self.core.facts(view).names
        leading = [
            version
            for version in self._versions_in(view, quads, EVERYONE)
            if version.stage is Stage.FIXATED and version.resolves_to(names) is not None
        ]
        return min(leading, key=lambda version: version.deprecated, default=None)

    def _successor(
        self, view: View, record: Record, sight: Sight, options: ResolutionOptions
    ) -> Record | None:
        """Return the only successor of a record without a target of its own, if visible."""
        if record.stage is Stage.TOMBSTONE or len(record.successors) != 1:
            return None
        if record.target is not None or lead_of(record, record.values, options).target is not None:
            return None
        try:
            return self.core.load(view, NamedNode(record.successors[0]), sight)
        except NotRegistered:
            return None

    def _copies(self, view: View, record: Record, sight: Sight) -> tuple[Record, ...]:
        """Return a record and its latest old copy, if the record was replaced and has no target since.

        The label of a copy tells what it is a copy of, so no other record is read.
        """
        namespace = self.core.namespace(view, record.namespace)
        scheme = namespace.scheme
        if record.target is not None or record.stage is Stage.TOMBSTONE or not isinstance(scheme, Deriving):
            return ()
        replaced = self.core.visible_quads(
            view, sight, None, DCTERMS.isReplacedBy, record.node, of_records=True
        )
        named = [
            quad
            for quad in replaced
            if isinstance(quad.subject, NamedNode)
            and quad.subject.value.startswith(namespace.base)
            and scheme.relations(scheme.label(quad.subject.value, namespace.context)).replaced_by
            == record.label
        ]
        copies = self._records_of(view, named, sight)
        latest = max(copies, key=lambda copy: (copy.created, len(copy.label), copy.label), default=None)
        return () if latest is None else (record, latest)

    def _ended(self, view: View, iri: NamedNode) -> datetime | None:
        """Return the time of the identifier's revocation."""
        rows = view.catalogue.events(Selection(), about=iri.value, kinds=["Revocation"])
        events = (read_event(view, NamedNode(row.iri), PUBLIC_LOG) for row in rows)
        return max((event.at for event in events), default=None)

    def check_deriving(self, name: str) -> None:
        """Raise the errors of `derive` that do not depend on metadata: UnknownNamespace, InvalidData."""

        def question(view: View) -> None:
            _deriving(self.core.namespace(view, name))

        self.store.read(question)

    def derive(self, name: str, metadata: Mapping[str, str], *, strict: bool = False) -> Derivation:
        """Return the identifier that follows from metadata in a namespace, without allocating it.

        strict  whether metadata with a field that has no known form are refused.
        Raises UnknownNamespace, InvalidData (metadata or a scheme that yield no identifier).
        """
        check_metadata(metadata)

        def question(view: View) -> Derivation:
            namespace = self.core.namespace(view, name)
            if strict:
                check_regular(namespace, metadata)
            derived = _deriving(namespace).derive(metadata, namespace.context)
            iri = namespace.scheme.iri(derived.label, namespace.context)
            collides = view.claim(label_node(namespace, derived.label)) is not None
            return Derivation(iri, derived.label, collides, derived.extensions, derived.doubts)

        return self.store.read(question)


def _newest_first(version: Record) -> tuple[tuple[int, ...], datetime, str]:
    """Sort key of versions: the highest number first, among equal numbers the earliest creation."""
    numbers = version_number(version.version or "")
    return tuple(-number for number in numbers or (0, 0)), version.created, version.iri


def version_number(text: str) -> tuple[int, int] | None:
    """Return the two parts of a version number such as ``V1.0``; None for any other text.

    >>> version_number("V0.10"), version_number("1.0"), version_number("V1")
    ((0, 10), (1, 0), None)
    """
    match = _NUMBER.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]))


def _alias(record: Record, options: ResolutionOptions) -> str | None:
    """Return the handle that replaces a record, unless the alias itself is requested."""
    match = alias_of(record)
    if (
        match is None
        or not options.aliases
        or match.index in options.indexes
        or any(match.is_type(name) for name in options.types)
    ):
        return None
    return match.text


def leads_to(record: Record, options: ResolutionOptions, names: Names) -> Lead:
    """Return where a record leads to, which may be nowhere."""
    lead = lead_of(record, record.values, options)
    if lead.target is not None:
        return lead
    if record.successors and record.target is None:  # a successor precedes a binding
        return lead
    target = record.resolves_to(names)
    return Lead(target)


def lead_of(record: Record, values: Iterable[Value], options: ResolutionOptions) -> Lead:
    """Return where values of a record lead to: those with locations precede URLs."""
    public = [value for value in values if value.public]
    places = next((value for value in public if value.is_type(value_types.LOCATIONS)), None)
    if places is not None:
        place = locations.choose(locations.parse(places.text), options.location, options.draw)
        handle = handle_values.handle_of(record.namespace, record.label)
        return Lead(locations.address_of(place, handle), places, place)
    url = first_url(public)
    return Lead() if url is None else Lead(url.text, url)


def chosen_values(record: Record, options: ResolutionOptions) -> tuple[Value, ...]:
    """Return the values that the options ask for. Raises NotRegistered: there is none."""
    match = matching(record.values, options.types, options.indexes)
    if not match:
        sort = " or ".join(
            [
                *(f"of type {name}" for name in options.types),
                *(f"with the index {index}" for index in options.indexes),
            ]
        )
        raise NotRegistered(
            record.iri,
            f"{record.iri} has no value {sort} that you may read; list its values",
            remedy=Remedy.LIST_VALUES,
        )
    return match


def _no_target(resolution: Resolution) -> str:
    """Return the reason why an identifier has no target, and what to do."""
    iri, remedy = resolution.asked.iri, f"ask its owner {resolution.asked.owner} to set one"
    if resolution.succession:
        cycle = "; ".join(f"{step.iri} by {', '.join(step.by)}" for step in resolution.succession)
        return f"{iri} has no target, and its successors form a cycle ({cycle}); {remedy}"
    if resolution.asked.deprecated:
        reason = resolution.asked.reason
        return f"{iri} is deprecated{f' ({reason})' if reason else ''} and has no target; {remedy}"
    return f"{iri} has no target yet and is only a citation; {remedy}"


def _deriving(namespace: Namespace) -> Deriving:
    """Return the scheme of a namespace. Raises InvalidData if it derives no identifiers."""
    code = namespace.scheme
    if isinstance(code, Deriving):
        return code
    raise InvalidData(
        f"the scheme of {namespace.name}, {code.name}, derives nothing from metadata; mint without metadata",
        namespace=namespace.name,
        scheme=code.name,
    )
