"""Where identifiers lead, how they are cited, and which ones metadata would give."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, NotRegistered
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.registry.bindings import Binding
from idstore.registry.core import Sight
from idstore.registry.naming import label_node
from idstore.schemes import Deriving, WrittenForm
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import IDS


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
    succession  what replaces what: the identifier first, then those that replace it, each once, however the successions run.
    """

    asked: Record
    answer: Record
    path: tuple[str, ...]
    target: str | None
    ended: int | None = None
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

        What is superseded and leads nowhere by any of them has no target; the answer tells what replaces it, to the end.
        Raises as `show`, and NotRegistered where it leads nowhere yet.
        Cost: a record is read for each successor of a successor, each once.
        """
        with self.store.reading() as view:
            sight = self.sight(view, party)
            asked = answer = self._load(view, self._identify(view, text, party), sight)
            path = [asked.iri]
            while (following := self._successor(view, answer, sight)) is not None and following.iri not in path:
                answer = following
                path.append(answer.iri)
            target = None if answer.stage is Stage.TOMBSTONE else answer.resolves_to()
            found = Resolution(
                asked,
                answer,
                tuple(iri.value for iri in path),
                target and target.value,
                self._ended(view, answer.iri, sight) if answer.stage is Stage.TOMBSTONE else None,
                tuple(self._succession(view, asked, sight)),
            )
        if target is None and not found.buried and not found.current:
            raise NotRegistered(text, _nowhere(found))
        return found

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

    def cite(self, text: str, party: Party) -> Sequence[WrittenForm]:
        """Every form in which to write an identifier. Raises as `show`."""
        with self.store.reading() as view:
            record = self._load(view, self._identify(view, text, party), self.sight(view, party))
            namespace = self._namespace(view, record.namespace)
        return namespace.scheme.written_forms(record.label, namespace.context)

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
