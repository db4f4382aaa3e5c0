"""Where identifiers lead, how they are cited, and which ones metadata would give."""

from collections.abc import Collection, Mapping, Sequence
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
    doubts      what in the metadata somebody should look at.
    """

    iri: str
    label: str
    collides: bool
    extensions: tuple[str, ...]
    doubts: tuple[str, ...]


class Resolving(Binding):
    """Following identifiers, and deriving them."""

    def resolve(self, text: str, party: Party) -> Resolution:
        """Where an identifier leads: to its target, without one where its only successor leads. A tombstone leads to its reason.

        Raises as `show`, and NotRegistered where it leads nowhere yet.
        """
        with self.store.reading() as view:
            sight = self.sight(view, party)
            asked = answer = self._load(view, self._identify(view, text, party), sight)
            path = [asked.iri]
            while (following := self._successor(view, answer, sight)) is not None and following.iri not in path:
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


def _chosen(record: Record, chosen: Selection, base: str | None) -> bool:
    """Whether a selection, whose namespace is ``base``, includes a record."""
    wanted = ((base, record.namespace), (chosen.owner, record.owner), (chosen.stage, record.stage.value))
    return (
        all(one is None or one == found for one, found in wanted)
        and (chosen.since is None or record.created >= chosen.since)
        and (chosen.until is None or record.created < chosen.until)
    )
