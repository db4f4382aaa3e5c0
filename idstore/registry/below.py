"""What tells of another identifier: files and events of an article, for its label is in theirs, and old copies, which name what replaces them.

Who sees them must be somebody who sees the other.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotRegistered, StageConflict
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts, node
from idstore.model.record import Record
from idstore.model.terms import Term
from idstore.registry.core import living
from idstore.registry.naming import Naming
from idstore.schemes import Deriving
from idstore.stores import Turn, View
from idstore.vocabulary import IDS


class Descending(Naming):
    """The ties between an identifier and what its own name tells of others."""

    def _below(self, turn: Turn, namespace: Namespace, party: Party, metadata: Mapping[str, str]) -> list[tuple[NamedNode, Term]]:
        """The arguments for what is minted below the identifier ``parent``: it begins with that one's grant list.

        Raises NotRegistered, InvalidData, StageConflict (a tombstone).
        """
        parent, kind = self._seen(turn, self._identify(turn, metadata["parent"], party), party), metadata.get("kind", "")
        if not isinstance(namespace.scheme, Deriving) or parent.namespace != namespace.base:
            raise InvalidData(
                f"nothing in {namespace.name} is below {parent.iri.value}; files and events are minted in the namespace of their article",
                field="parent",
                value=parent.iri.value,
            )
        living(parent)
        return [(IDS.below, parent.iri), (IDS.kind, Literal(kind)), *inherited(parent, party)]

    def _may_publish(self, view: View, record: Record, beside: Collection[NamedNode]) -> None:
        """Raise StageConflict if everyone would learn from the identifier of another that is not public, nor to be with it (``beside``)."""
        for iri in _named(record):
            if iri not in beside and not any(quad.object in (IDS.Fixated, IDS.Tombstone) for quad in view.quads(iri, IDS.stage)):
                raise StageConflict(
                    f"{record.iri.value} names {iri.value}, which is not published; fixate that first, or both at once",
                    id=record.iri.value,
                    stage=record.stage.value,
                )

    def _may_show(self, turn: Turn, record: Record, to: Party, by: Party) -> None:
        """Raise StageConflict if a party would learn from the identifier of another that it does not see.

        Who shows it has to see that one: of one that is hidden nothing is told, neither who sees it nor whether it was released.
        """
        for iri in () if record.public else _named(record):
            named = None
            with suppress(NotRegistered):
                named = self._seen(turn, iri, by)
            if named is None:
                raise StageConflict(
                    f"{record.iri.value} names {iri.value}, which {by.name} may not see; whoever shows the one must see the other",
                    id=record.iri.value,
                    party=by.name,
                )
            if not (named.public or _listed(self.facts(turn, to), named)):
                raise StageConflict(
                    f"{record.iri.value} names {iri.value}, which {to.name} may not see; grant that first",
                    id=record.iri.value,
                    party=to.name,
                )


def _listed(facts: PartyFacts, record: Record) -> bool:
    """Whether a party sees what the grant list of a record sees."""
    return facts.administrator or not facts.names.isdisjoint(record.audience)


def _named(record: Record) -> list[NamedNode]:
    """The identifiers that one tells of, to whoever sees it: the article that it is below, what replaces it."""
    return [*([record.below] if record.below else []), *record.successors]


def inherited(record: Record, owner: Party) -> list[tuple[NamedNode, Term]]:
    """The grant list of a created identifier, as it is passed on to one of another owner; nothing for a public one."""
    listed = {} if record.public else {**dict(record.grants), record.owner: True}
    return [(IDS.bindGrantee if binds else IDS.grantee, node(name)) for name, binds in sorted(listed.items()) if name != owner.name]
