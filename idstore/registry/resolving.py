"""Where identifiers lead, how they are cited, and which ones metadata would give."""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, NotRegistered
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.registry.bindings import Binding
from idstore.registry.core import Sight
from idstore.registry.naming import label_node
from idstore.schemes import Deriving
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import DCTERMS, IDS

_NUMBER = re.compile(r"[Vv]?(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where an identifier leads.

    asked   the record of the identifier itself.
    answer  the record that the answer stands in: the same, or that of a successor, where the identifier has no target of its own.
    path    what was gone through, from the identifier to the answer.
    target  where it leads; None for a tombstone, which tells its reason instead.
    ended   when the answer became a tombstone, milliseconds since 1970.
    """

    asked: Record
    answer: Record
    path: tuple[str, ...]
    target: str | None
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Derivation:
    """The identifier that metadata give.

    iri         before collisions are looked at.
    collides    whether its label is taken.
    extensions  what of it goes beyond the letter of the scheme's policy, a sentence each.
    """

    iri: str
    label: str
    collides: bool
    extensions: tuple[str, ...]


class Resolving(Binding):
    """Following identifiers, and deriving them."""

    def resolve(self, text: str, party: Party) -> Resolution:
        """Where an identifier leads: to its target, without one where its only successor leads. A tombstone leads to its reason.

        A work leads where the newest of its published versions does that leads anywhere, for everyone alike.

        Raises as `show`, and NotRegistered where it leads nowhere yet.
        """
        with self.store.reading() as view:
            sight = self.sight(view, party)
            asked = answer = self._load(view, self._identify(view, text, party), sight)
            path = [asked.iri]
            while (following := self._newest(view, answer) or self._successor(view, answer, sight)) and following.iri not in path:
                answer = following
                path.append(answer.iri)
            target = answer.resolves_to()
            buried = answer.stage is Stage.TOMBSTONE
            if target is None and not buried:
                raise NotRegistered(
                    text,
                    f"{asked.iri.value} has no target yet; its owner {asked.owner} can set one with `idstore target`",
                )
            ended = self._ended(view, answer.iri, sight) if buried else None
        return Resolution(asked, answer, tuple(iri.value for iri in path), None if buried or target is None else target.value, ended)

    def _versions_in(self, view: View, work: NamedNode, sight: Sight) -> list[Record]:
        """The versions of a work that may be seen, the newest first."""
        found = []
        for quad in list(view.quads(None, DCTERMS.isVersionOf, work)):
            if isinstance(quad.subject, NamedNode):
                with suppress(NotRegistered):  # an event
                    found.append(self._load(view, quad.subject, sight))
        return sorted(found, key=_newest_first)

    def _newest(self, view: View, work: Record) -> Record | None:
        """The version that a work leads to: the newest that leads anywhere, and one that is not deprecated if there is any."""
        if work.stage is Stage.TOMBSTONE:
            return None
        everyone = Sight(frozenset(), "", everything=False)
        leading = [
            one for one in self._versions_in(view, work.iri, everyone) if one.stage is Stage.FIXATED and one.resolves_to() is not None
        ]
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

    def derive(self, name: str, metadata: Mapping[str, str], beside: Collection[str] = ()) -> Derivation:
        """The identifier that metadata give in a namespace; nothing is allocated.

        beside  IRIs that count as taken as well.
        Raises UnknownNamespace, InvalidData (metadata that give none, or a scheme that derives none).
        """
        with self.store.reading() as view:
            namespace = self._namespace(view, name)
            scheme, context = namespace.scheme, namespace.context
            if not isinstance(scheme, Deriving):
                raise InvalidData(
                    f"the scheme of {namespace.name}, {scheme.name}, derives nothing from metadata; use `idstore mint {namespace.name}`",
                    namespace=namespace.name,
                    scheme=scheme.name,
                )
            derived = scheme.derive(metadata, context)
            iri = scheme.iri(derived.label, context)
            collides = iri in beside or view.holder(label_node(namespace, derived.label)) is not None
        return Derivation(iri, derived.label, collides, derived.extensions)

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


def _chosen(record: Record, chosen: Selection, base: str | None) -> bool:
    """Whether a selection, whose namespace is ``base``, includes a record."""
    wanted = ((base, record.namespace), (chosen.owner, record.owner), (chosen.stage, record.stage.value))
    return (
        all(one is None or one == found for one, found in wanted)
        and (chosen.since is None or record.created >= chosen.since)
        and (chosen.until is None or record.created < chosen.until)
    )
