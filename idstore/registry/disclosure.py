"""Identifiers that reveal another one, and the rule that only parties who see the other may see them.

The files and events of an article reveal it, because their labels contain its label. A replaced identifier
names its successors.
"""

from collections.abc import Collection
from contextlib import suppress

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotRegistered, StageConflict
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts, node
from idstore.model.record import Record
from idstore.model.terms import Term
from idstore.registry.core import Core, check_living
from idstore.remedies import Remedy
from idstore.schemes import Deriving
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS


def arguments_below(
    parent: Record, namespace: Namespace, party: Party, kind: str
) -> list[tuple[NamedNode, Term]]:
    """Return the arguments for an identifier minted below another one, which passes on its grant list.

    kind  its relation to the parent.
    Raises InvalidData, StageConflict (a tombstone).
    """
    if not isinstance(namespace.scheme, Deriving) or parent.namespace != namespace.base:
        raise InvalidData(
            f"nothing in {namespace.name} is part of article {parent.iri}; mint files and events in the"
            " namespace of their article",
            field="parent",
            value=parent.iri,
        )
    check_living(parent)
    return [(IDS.below, parent.node), (IDS.kind, Literal(kind)), *inherited(parent, party)]


def check_publishable(view: View, record: Record, published_together: Collection[NamedNode]) -> None:
    """Raise StageConflict if publication of the identifier would reveal an unpublished one to everyone.

    published_together  identifiers that the same act publishes.
    """
    for iri in _named(record):
        if iri not in published_together and not any(
            quad.object in (IDS.Fixated, IDS.Tombstone) for quad in view.quads(iri, IDS.stage)
        ):
            raise StageConflict(
                f"{record.iri} names {iri.value}, which is not published; fixate that first, or both at once",
                id=record.iri,
                stage=record.stage.value,
            )


def check_showable(core: Core, transaction: Transaction, record: Record, to: Party, by: Party) -> None:
    """Raise StageConflict if the identifier would reveal another one that the receiving party may not see.

    The granting party must see that other one: of a hidden identifier the answer reveals neither its readers
    nor its release.
    """
    for iri in () if record.public else _named(record):
        named = None
        with suppress(NotRegistered):
            named = core.seen_record(transaction, iri, by)
        if named is None:
            raise StageConflict(
                f"{record.iri} names {iri.value}, which {by.name} may not see; only a party that sees"
                " both may show the first",
                id=record.iri,
                party=by.name,
            )
        if not (named.public or _listed(core.party_facts(transaction, to), named)):
            raise StageConflict(
                f"{record.iri} names {iri.value}, which {to.name} may not see; grant that first",
                id=record.iri,
                party=to.name,
                remedy=Remedy.GRANT,
            )


def _listed(facts: PartyFacts, record: Record) -> bool:
    """Return whether a party sees the private part of a record."""
    return facts.administrator or not facts.names.isdisjoint(record.audience)


def _named(record: Record) -> list[NamedNode]:
    """Return the identifiers that one reveals: the article that it is below, and its successors."""
    return [*map(NamedNode, [record.below] if record.below else []), *map(NamedNode, record.successors)]


def inherited(record: Record, owner: Party) -> list[tuple[NamedNode, Term]]:
    """Return the grant list that a created identifier passes on to one of another owner; empty if public."""
    listed = {} if record.public else {**dict(record.grants), record.owner: True}
    return [
        (IDS.bindGrantee if binds else IDS.grantee, node(name))
        for name, binds in sorted(listed.items())
        if name != owner.name
    ]
