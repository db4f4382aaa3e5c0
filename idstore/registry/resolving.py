"""Where identifiers lead, how they are cited, and which ones metadata would give."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from pyoxigraph import NamedNode, Quad

from idstore import randomness
from idstore.errors import AmbiguousIdentifier, InvalidData, InvalidIdentifier, NotRegistered
from idstore.frozen import dataclass, field, replace
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.value import Value, matching
from idstore.registry.core import Sight
from idstore.registry.naming import label_node
from idstore.registry.valuing import Valuing, alias_of
from idstore.schemes import Deriving, handle_values, locations, value_types
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import DCTERMS, IDS

_NUMBER = re.compile(r"[Vv]?(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Superseded:
    """An identifier that others replace."""

    iri: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where an identifier leads.

    asked   the record of the identifier itself.
    answer  the record that the answer stands in: the same, or that of a successor, where the identifier has no target of its own.
    path    what was gone through, from the identifier to the answer.
    target  where it leads; None for a tombstone, which tells its reason instead, and for what is superseded and leads nowhere by itself.
    ended   when the answer became a tombstone, milliseconds since 1970.
    values  the values asked for by type or index, of the handle that the answer stands in.
    succession  what replaces what: the identifier first, then those that replace it, each once, however the successions run.
    """

    asked: Record
    answer: Record
    path: tuple[str, ...]
    target: str | None
    ended: int | None = None
    values: tuple[Value, ...] = ()
    succession: tuple[Superseded, ...] = ()

    @property
    def buried(self) -> bool:
        """Whether the answer is a tombstone."""
        return self.answer.stage is Stage.TOMBSTONE

    @property
    def current(self) -> tuple[str, ...]:
        """The identifiers at the ends of the succession, which nothing replaces; none where it leads back to its beginning."""
        replaced = {one.iri for one in self.succession}
        named = (successor for one in self.succession for successor in one.by)
        return tuple(dict.fromkeys(iri for iri in named if iri not in replaced))


def _draw() -> float:
    return randomness.bits(53) / 2**53


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a resolution.

    types, indexes  only the values of these types, or of these indexes.
    aliases         whether to follow aliases.
    location        what is known of who asks, for handles with several locations.
    draw            the source of chance among them: a number from 0 up to, but not including, 1.
    """

    types: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()
    aliases: bool = True
    location: locations.Asked = field(default_factory=locations.Asked)
    draw: Callable[[], float] = _draw


ALIASES: Final = 20
"""How many aliases are followed, one after the other."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The identifier that metadata give.

    iri         before collisions are looked at.
    collides    whether its label is taken.
    extensions  what of it goes beyond the letter of the scheme's policy, a sentence each.
    doubts      what in the metadata somebody should look at.
    """

    iri: str
    label: str
    collides: bool
    extensions: tuple[str, ...]
    doubts: tuple[str, ...]


class Resolving(Valuing):
    """Following identifiers, and deriving them."""

    def resolve(self, text: str, party: Party, asked: Asked = Asked()) -> Resolution:
        """Where an identifier leads: to its target, without one where its only successor leads. A tombstone leads to its reason.

        A handle with an alias leads where that handle leads; one with several locations to one of them. Where types or indexes are asked
        for, the answer is these values, as far as the party may read them. A work leads where the newest of its published versions does that
        leads anywhere, for everyone alike. What is superseded and leads nowhere by any of them has no target; the answer tells what replaces
        it, to the end.
        Raises as `show`, NotRegistered where it leads nowhere yet, has no such value, or by aliases into a circle; InvalidData (an address).
        Cost: a record is read for each successor of a successor, each once.
        """
        with self.store.reading() as view:
            sight = self.sight(view, party)
            first = answer = self._named(view, text, sight)
            succession = tuple(self._succession(view, first, sight))
            path = [first.iri]
            while (following := self._next(view, answer, sight, asked, path)) is not None:
                if isinstance(following, str):
                    return replace(self._abroad(first, answer, path, following, asked), succession=succession)
                answer = following
                path.append(answer.iri)
            buried = answer.stage is Stage.TOMBSTONE
            ended = self._ended(view, answer.iri, sight) if buried else None
        way = tuple(iri.value for iri in path)
        found = Resolution(first, answer, way, None, ended, succession=succession)
        if buried:
            return found
        if asked.types or asked.indexes:
            return replace(found, values=_chosen_values(answer, asked))
        target = _leads_to(answer, asked)
        if target is None and not found.current:
            raise NotRegistered(text, _nowhere(found))
        return replace(found, target=target)

    def _next(self, view: View, record: Record, sight: Sight, asked: Asked, path: Sequence[NamedNode]) -> Record | str | None:
        """What an identifier leads to by its alias, or without a target by its only successor; the handle of an alias that is not here."""
        alias = None if record.stage is Stage.TOMBSTONE else _alias(record, asked)
        if alias is None:
            following = self._newest(view, record) or self._successor(view, record, sight)
            return None if following is None or following.iri in path else following
        try:
            holder = self._identify_for(view, f"hdl:{alias}", sight)
            following = self._load(view, holder, sight)
        except (NotRegistered, AmbiguousIdentifier, InvalidIdentifier):
            return alias
        way = " → ".join([*(iri.value for iri in path), following.iri.value])
        if following.iri in path:
            raise NotRegistered(path[0].value, f"the aliases lead in a circle: {way}; its owner can unset one of them")
        if len(path) > ALIASES:
            raise NotRegistered(path[0].value, f"the chain of aliases is longer than {ALIASES}: {way}")
        return following

    def _abroad(self, first: Record, answer: Record, path: Sequence[NamedNode], alias: str, asked: Asked) -> Resolution:
        """Where an alias of a handle that is not registered here, or not to be seen, leads: to the proxy."""
        there = handle_values.proxy(alias)
        if asked.types or asked.indexes:
            raise NotRegistered(first.iri.value, f"{answer.iri.value} is an alias of {alias}, which is not registered here; ask {there}")
        return Resolution(first, answer, (*(iri.value for iri in path), there), there)

    def _succession(self, view: View, asked: Record, sight: Sight) -> Iterator[Superseded]:
        """What replaces a record, and what that is replaced by, nearest first."""
        waiting, known = [asked], {asked.iri}
        while waiting:
            record = waiting.pop(0)
            if record.successors:
                yield Superseded(record.iri.value, tuple(one.value for one in record.successors))
            for successor in record.successors:
                if successor not in known:
                    known.add(successor)
                    with suppress(NotRegistered):  # another registry's, or not to be seen
                        waiting.append(self._load(view, successor, sight))

    def _versions_in(self, view: View, told: Iterable[Quad], sight: Sight) -> list[Record]:
        """The versions of a work that quads tell of, as far as these may be seen; the newest first."""
        found = []
        for quad in told:
            if isinstance(quad.subject, NamedNode) and isinstance(quad.graph_name, NamedNode) and sight.sees(quad.graph_name):
                with suppress(NotRegistered):  # an event
                    found.append(self._load(view, quad.subject, sight))
        return sorted(found, key=_newest_first)

    def _newest(self, view: View, work: Record) -> Record | None:
        """The version that a work leads to: the newest that leads anywhere, and one that is not deprecated if there is any.

        What is published is asked for alone: it takes no longer where there are drafts.
        """
        if work.stage is Stage.TOMBSTONE:
            return None
        everyone = Sight(frozenset(), "", everything=False)
        told = (quad for base in self._facts(view).by_base for quad in view.quads(None, DCTERMS.isVersionOf, work.iri, NamedNode(base)))
        leading = [one for one in self._versions_in(view, told, everyone) if one.stage is Stage.FIXATED and one.resolves_to() is not None]
        return min(leading, key=lambda one: one.deprecated, default=None)

    def _successor(self, view: View, record: Record, sight: Sight) -> Record | None:
        """The only successor of a record that leads nowhere by itself, if it may be seen."""
        if record.stage is Stage.TOMBSTONE or record.resolves_to() is not None or len(record.successors) != 1:
            return None
        try:
            return self._load(view, record.successors[0], sight)
        except NotRegistered:
            return None

    def _ended(self, view: View, iri: NamedNode, sight: Sight) -> int | None:
        """When the identifier was revoked."""
        return next((event.at for event, _ in reversed(self._history(view, iri, sight)) if event.kind == IDS.Revocation), None)

    def check_deriving(self, name: str) -> None:
        """Raise what `derive` raises for any metadata: UnknownNamespace, InvalidData (a scheme that derives none)."""
        with self.store.reading() as view:
            _deriving(self._namespace(view, name))

    def derive(self, name: str, metadata: Mapping[str, str], beside: Collection[str] = ()) -> Derivation:
        """The identifier that metadata give in a namespace; nothing is allocated.

        beside  IRIs that count as taken as well.
        Raises UnknownNamespace, InvalidData (metadata that give none, or a scheme that derives none).
        """
        with self.store.reading() as view:
            namespace = self._namespace(view, name)
            derived = _deriving(namespace).derive(metadata, namespace.context)
            iri = namespace.scheme.iri(derived.label, namespace.context)
            collides = iri in beside or view.holder(label_node(namespace, derived.label)) is not None
        return Derivation(iri, derived.label, collides, derived.extensions, derived.doubts)

    def list_bound(self, uri: str, party: Party, chosen: Selection, *, limit: int | None = 100) -> list[Record]:
        """Records bound to a URI or with it as their target, as far as the party may see, newest first.

        Raises InvalidData, UnknownNamespace.
        """
        named = self.bound_to(uri, party)
        kept = []
        with self.store.reading() as view:
            base = None if chosen.namespace is None else self._namespace(view, chosen.namespace).base
            sight = self.sight(view, party)
            for iri in named:
                with suppress(NotRegistered):  # released in between
                    record = self._load(view, NamedNode(iri), sight)
                    if _chosen(record, chosen, base):
                        kept.append(record)
        return sorted(kept, key=lambda record: (record.created, record.iri.value), reverse=True)[:limit]


def _newest_first(version: Record) -> tuple[tuple[int, ...], int, str]:
    """Sorts versions: the highest number first, of equal ones the one that was created first."""
    numbers = version_number(version.version or "")
    return tuple(-number for number in numbers or (0, 0)), version.created, version.iri.value


def version_number(text: str) -> tuple[int, int] | None:
    """The two parts of a version's number, ``V1.0``; None for any other text.

    >>> version_number("V0.10"), version_number("1.0"), version_number("V1")
    ((0, 10), (1, 0), None)
    """
    found = _NUMBER.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


def _alias(record: Record, asked: Asked) -> str | None:
    """The handle that stands in for a record, unless the alias itself is asked for."""
    found = alias_of(record)
    if found is None or not asked.aliases or found.index in asked.indexes or any(found.is_type(one) for one in asked.types):
        return None
    return found.text


def _leads_to(record: Record, asked: Asked) -> str | None:
    places = next((value for value in record.values if value.public and value.is_type(value_types.LOCATIONS)), None)
    if places is not None:
        return locations.choose(locations.parse(places.text), asked.location, asked.draw)
    target = record.resolves_to()
    return target and target.value


def _chosen_values(record: Record, asked: Asked) -> tuple[Value, ...]:
    found = matching(record.values, asked.types, asked.indexes)
    if not found:
        sort = " or ".join([*(f"of type {one}" for one in asked.types), *(f"with the index {one}" for one in asked.indexes)])
        raise NotRegistered(
            record.iri.value, f"{record.iri.value} has no value {sort} that you may read; `idstore handle values` lists those"
        )
    return found


def _nowhere(found: Resolution) -> str:
    """Why an identifier leads nowhere, and what to do."""
    iri, remedy = found.asked.iri.value, f"its owner {found.asked.owner} can set one with `idstore target`"
    if found.succession:
        circle = "; ".join(f"{one.iri} by {', '.join(one.by)}" for one in found.succession)
        return f"{iri} has no target, and what replaces it leads in a circle ({circle}); {remedy}"
    return f"{iri} has no target yet; {remedy}"


def _chosen(record: Record, chosen: Selection, base: str | None) -> bool:
    """Whether a selection, whose namespace is ``base``, includes a record."""
    wanted = ((base, record.namespace), (chosen.owner, record.owner), (chosen.stage, record.stage.value))
    return (
        all(one is None or one == found for one, found in wanted)
        and (chosen.since is None or record.created >= chosen.since)
        and (chosen.until is None or record.created < chosen.until)
    )


def _deriving(namespace: Namespace) -> Deriving:
    """The scheme of a namespace. Raises InvalidData: it derives nothing."""
    code = namespace.scheme
    if isinstance(code, Deriving):
        return code
    raise InvalidData(
        f"the scheme of {namespace.name}, {code.name}, derives nothing from metadata; use `idstore mint {namespace.name}`",
        namespace=namespace.name,
        scheme=code.name,
    )
