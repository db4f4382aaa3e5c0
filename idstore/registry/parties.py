"""Parties: administrators, groups, suspensions; and revocation by administrators."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, StageConflict, UnknownParty
from idstore.model import terms, times
from idstore.model.event import Event
from idstore.model.listing import Selection
from idstore.model.party import Party, PartyFacts, description, node
from idstore.model.record import Identifier, Stage
from idstore.model.terms import Term
from idstore.registry.core import read_event
from idstore.registry.lookup import Lookup
from idstore.registry.namespaces import Namespaces
from idstore.remedies import Remedy
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import (
    DCTERMS,
    IDS,
    PUBLIC_LOG,
    RDF,
    REGISTRY_GRAPH,
    closed_graph,
    party_name,
    store_name,
)

_ALLOCATING = ("Mint", "Registration")
"""Local names of the events that allocate."""
KINDS: Final = {"user": IDS.User, "group": IDS.Group, "administrator": IDS.Administrator}
"""Kind of party → its class."""
_WORDS: dict[object, str] = {iri: word for word, iri in KINDS.items()}


class Parties(Namespaces, Lookup):
    """Acts on parties, and revocation."""

    def initialize(self, administrator: Party) -> Event:
        """Start the log with the first administrator.

        Raises AlreadyRegistered if the registry is initialised.
        """

        def act(transaction: Transaction) -> Event:
            if next(transaction.quads(None, RDF.type, IDS.Initialization), None) is not None:
                raise AlreadyRegistered(
                    "the store is already initialised; ask an administrator to add other administrators",
                    remedy=Remedy.ADD_ADMINISTRATOR,
                )
            about = NamedNode(store_name(transaction.origin))
            event = self.core.event(
                transaction, IDS.Initialization, about, administrator, (IDS.party, node(administrator.name))
            )
            self.core.log_event(
                transaction,
                event,
                PUBLIC_LOG,
                party_quads(party_after(PartyFacts(administrator.name), event)),
                [],
            )
            return event

        return self.store.write(act)

    def add_party(self, name: Party, party: Party, kind: str = "user") -> PartyFacts:
        """Add a user, group or administrator; only administrators may.

        kind  ``user``, ``group`` or ``administrator``.
        Raises NotPermitted, AlreadyRegistered, InvalidData.
        """
        if kind not in KINDS:
            raise InvalidData(f"{kind!r} is not a kind of party; use one of {', '.join(KINDS)}", kind=kind)

        def act(transaction: Transaction) -> PartyFacts:
            self.core.require_administrator(transaction, party, "add parties")
            facts = self.core.facts(transaction).parties.get(name.name)
            if facts is not None and facts.added and (facts.kind != "user" or kind != "administrator"):
                raise AlreadyRegistered(
                    f"{name.name!r} is already a party here, of the kind {facts.kind}", party=name.name
                )
            if kind == "group" and transaction.catalogue.has_acted(name.name):
                raise AlreadyRegistered(
                    f"{name.name!r} has acted here as a user; choose another name for the group",
                    party=name.name,
                )
            return self._add(transaction, facts or PartyFacts(name.name), kind, party)

        return self.core.act(party, act)

    def _add(self, transaction: Transaction, facts: PartyFacts, kind: str, party: Party) -> PartyFacts:
        event = self.core.event(
            transaction, IDS.PartyAddition, node(facts.name), party, (IDS.type, KINDS[kind])
        )
        after = party_after(facts, event)
        self.core.log_event(
            transaction, event, PUBLIC_LOG, party_quads(after), party_quads(facts) if facts.added else []
        )
        return after

    def join(self, name: Party, group: Party, party: Party) -> None:
        """Add a party to a group; only administrators may.

        A party that has acted here, but was never added, is added as a user.
        Raises NotPermitted, UnknownParty, StageConflict.
        """
        self._membership(name, group, party, IDS.Joining)

    def leave(self, name: Party, group: Party, party: Party) -> None:
        """Remove a party from a group, which loses the group's rights at once; only administrators may.

        Raises NotPermitted, UnknownParty, StageConflict.
        """
        self._membership(name, group, party, IDS.Leaving)

    def _membership(self, name: Party, group: Party, party: Party, kind: NamedNode) -> None:
        joining = kind == IDS.Joining

        def act(transaction: Transaction) -> None:
            self.core.require_administrator(transaction, party, "change groups")
            team = self._added(transaction, group)
            if joining and transaction.catalogue.has_acted(name.name):
                known = self.core.party_facts(transaction, name)
                facts = known if known.added else self._add(transaction, known, "user", party)
            else:
                facts = self._added(transaction, name)
            if team.kind != "group":
                raise InvalidData(
                    f"{group.name} is a {team.kind}, not a group; use a group",
                    party=group.name,
                    remedy=Remedy.ADD_GROUP,
                )
            if facts.kind == "group":
                raise InvalidData(
                    f"{name.name} is a group, and a group cannot be a member; add its members one by one",
                    party=name.name,
                )
            if (group.name in facts.groups) == joining:
                raise StageConflict(
                    f"{name.name} is {'already a' if joining else 'not a'} member of {group.name}",
                    party=name.name,
                    group=group.name,
                )
            event = self.core.event(transaction, kind, node(name.name), party, (IDS.party, node(group.name)))
            self.core.log_event(
                transaction, event, PUBLIC_LOG, party_quads(party_after(facts, event)), party_quads(facts)
            )

        self.core.act(party, act)

    def _added(self, transaction: Transaction, name: Party) -> PartyFacts:
        facts = self.core.facts(transaction).parties.get(name.name)
        if facts is None or not facts.added:
            raise UnknownParty(name.name)
        return facts

    def parties(self, party: Party) -> Sequence[PartyFacts]:
        """Return every party that was added, by name.

        Only administrators and the party itself see its suspension.
        """

        def question(view: View) -> Sequence[PartyFacts]:
            sight = self.core.sight(view, party)
            parties = self.core.facts(view).parties.values()
            return sorted(
                (
                    _shown(facts, whole=sight.everything or facts.name == party.name)
                    for facts in parties
                    if facts.added or sight.everything or facts.name == party.name
                ),
                key=lambda facts: facts.name,
            )

        return self.store.read(question)

    def is_stranger(self, name: Party, party: Party) -> bool:
        """Return whether a party was never added and never acted, so that its name may be misspelt.

        Only administrators may ask. Raises NotPermitted.
        """
        self.core.only_administrators(party)

        def question(view: View) -> bool:
            facts = self.core.facts(view).parties.get(name.name)
            return not (facts and facts.added) and not view.catalogue.events(
                Selection(None, owner=name.name), limit=1
            )

        return self.store.read(question)

    def suspend(self, name: Party, reason: str, party: Party) -> Event:
        """Refuse every further act of a party; only administrators may.

        Raises NotPermitted, StageConflict, InvalidData.
        """
        return self._suspension(name, party, IDS.Suspension, terms.check_text(reason, "reason"))

    def reinstate(self, name: Party, party: Party) -> Event:
        """Allow a suspended party to act again; only administrators may.

        Raises NotPermitted, StageConflict.
        """
        return self._suspension(name, party, IDS.Reinstatement, None)

    def _suspension(self, name: Party, party: Party, kind: NamedNode, reason: str | None) -> Event:

        def act(transaction: Transaction) -> Event:
            self.core.require_administrator(transaction, party, "suspend and reinstate")
            facts = self.core.party_facts(transaction, name)
            if (facts.suspended is None) == (reason is None):
                raise StageConflict(
                    f"{name.name} is {'not suspended' if reason is None else 'already suspended'}",
                    party=name.name,
                )
            if facts.kind == "group":
                raise InvalidData(
                    f"{name.name} is a group, and groups do not act; suspend its members one by one",
                    party=name.name,
                )
            if name == party:
                raise NotPermitted(
                    "an administrator cannot suspend itself; ask another administrator", party=name.name
                )
            arguments: list[tuple[NamedNode, Term]] = (
                [(IDS.reason, Literal(reason))] if reason is not None else []
            )
            event = self.core.event(transaction, kind, node(name.name), party, *arguments)
            before = [] if facts.suspended is None else [suspension_quad(name.name, facts.suspended)]
            self.core.log_event(
                transaction,
                event,
                closed_graph(name.name),
                [] if reason is None else [suspension_quad(name.name, reason)],
                before,
            )
            return event

        return self.core.act(party, act)

    def revoke(self, id: Identifier, reason: str, party: Party, *, dry_run: bool = False) -> Event:
        """Revoke an abusive identifier: a created one is released, a fixated one becomes a tombstone.

        dry_run  return the event, and change nothing.
        Only administrators may. Raises NotRegistered, NotPermitted, StageConflict, InvalidData.
        """

        def act(transaction: Transaction) -> Event:
            iri = self._identify(transaction, id, party)
            self.core.require_administrator(transaction, party, "revoke")
            return self._revoke(transaction, iri, terms.check_text(reason, "reason"), party)

        return self.core.act(party, act, dry_run=dry_run)

    def revoke_all(
        self, of: Party, since: datetime, reason: str, party: Party, *, dry_run: bool = False
    ) -> Sequence[Event]:
        """Revoke all that a party allocated since a moment, all or none.

        dry_run  return the events, and change nothing.
        Raises as `revoke`.
        """

        def act(transaction: Transaction) -> Sequence[Event]:
            self.core.require_administrator(transaction, party, "revoke")
            text = terms.check_text(reason, "reason")
            chosen = self._allocations(transaction, of, since)
            if not chosen:
                return []
            batch = self.core.event(
                transaction, IDS.Revocation, node(of.name), party, (IDS.reason, Literal(text))
            )
            self.core.log_event(transaction, batch, closed_graph(of.name), [], [])
            return [
                self._revoke(transaction, NamedNode(iri), text, party, (DCTERMS.isPartOf, batch.node))
                for iri in chosen
            ]

        return self.core.act(party, act, dry_run=dry_run)

    def _allocations(self, transaction: Transaction, of: Party, since: datetime) -> Sequence[str]:
        """Return the party's allocations that still exist, including those that other parties own now."""
        selection = Selection(None, owner=of.name, since=times.milliseconds(times.checked(since, "since")))
        rows = transaction.catalogue.events(selection, kinds=_ALLOCATING)
        allocated = {
            read_event(transaction, NamedNode(row.iri), NamedNode(row.graph)).about: None
            for row in rows
            if row.graph is not None
        }
        existing = [
            iri for iri in allocated if next(transaction.quads(NamedNode(iri), IDS.stage), None) is not None
        ]
        return [
            iri
            for iri in existing
            if self.core.load(transaction, NamedNode(iri)).stage is not Stage.TOMBSTONE
            and self._allocator(transaction, NamedNode(iri)) == of.name
        ]

    def _allocator(self, transaction: Transaction, iri: NamedNode) -> str:
        """Return the first allocator of an identifier.

        After a merge of registries there can be later ones.
        """
        return self.core.history(transaction, iri)[0][0].by

    def _revoke(
        self,
        transaction: Transaction,
        iri: NamedNode,
        reason: str,
        party: Party,
        *extra: tuple[NamedNode, Term],
    ) -> Event:
        record = self.core.load(transaction, iri)
        if record.stage is Stage.TOMBSTONE:
            raise StageConflict(
                f"{iri.value} is withdrawn already (a tombstone)", id=iri.value, stage=record.stage.value
            )
        event = self.core.event(
            transaction, IDS.Revocation, iri, party, (IDS.reason, Literal(reason)), *extra
        )
        self.core.record_events(transaction, record, event)
        return event


def party_after(before: PartyFacts, event: Event) -> PartyFacts:
    """Return the facts about a party after an event: a pure function that defines the log's meaning."""
    other = event.get(IDS.party)
    group = party_name(other) if isinstance(other, NamedNode) else ""
    match event.kind:
        case IDS.Initialization:
            return replace(before, kind="administrator", added=True)
        case IDS.PartyAddition:
            return replace(before, kind=_WORDS[event.get(IDS.type)], added=True)
        case IDS.Joining:
            return replace(before, groups=before.groups | {group})
        case IDS.Leaving:
            return replace(before, groups=before.groups - {group})
        case IDS.Suspension:
            return replace(before, suspended=event.text(IDS.reason))
        case IDS.Reinstatement:
            return replace(before, suspended=None)
    return before


def party_quads(facts: PartyFacts) -> list[Quad]:
    """Return the public facts about a party that was added, in the registry graph."""
    iri = node(facts.name)
    quads = [
        *description(facts.name, REGISTRY_GRAPH),
        Quad(iri, RDF.type, KINDS[facts.kind], REGISTRY_GRAPH),
    ]
    return quads + [Quad(iri, IDS.memberOf, node(group), REGISTRY_GRAPH) for group in sorted(facts.groups)]


def suspension_quad(name: str, reason: str) -> Quad:
    """Return the quad of a suspension, visible to administrators and the party itself."""
    return Quad(node(name), IDS.suspended, Literal(reason), closed_graph(name))


def _shown(facts: PartyFacts, *, whole: bool) -> PartyFacts:
    return facts if whole else replace(facts, suspended=None)
