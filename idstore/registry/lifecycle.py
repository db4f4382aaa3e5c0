"""The stages of identifiers: fixation, release, deprecation, succession; transfer and the grant list."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotPermitted, NotRegistered, StageConflict
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.party import Party, node
from idstore.model.record import Identifier, Record, Stage, written
from idstore.model.terms import Term
from idstore.registry import iris
from idstore.registry.core import check_living
from idstore.registry.disclosure import check_publishable, check_showable
from idstore.registry.lookup import Lookup
from idstore.registry.resolution import SUCCESSIONS
from idstore.remedies import Remedy
from idstore.stores.contract import Transaction
from idstore.vocabulary import DCTERMS, IDS, hides


class Lifecycle(Lookup):
    """Acts that change the stage, the owner or the grant list of an identifier."""

    def fixate(self, ids: Sequence[Identifier], party: Party, *, dry_run: bool = False) -> list[Event]:
        """Publish identifiers for ever, all or none.

        Only their owner may, who must own the works of published versions.
        dry_run  return the events, and change nothing.
        Raises NotRegistered, NotPermitted, StageConflict (already fixated, or provisional).
        """

        def act(transaction: Transaction) -> list[Event]:
            records = [
                self.core.own_record(transaction, self._identify(transaction, one, party), party, "fixate")
                for one in ids
            ]
            return self._fixate(transaction, records, party)

        return self.core.act(party, act, dry_run=dry_run)

    def _fixate(self, transaction: Transaction, records: Sequence[Record], party: Party) -> list[Event]:
        """Publish records of the party. Raises NotPermitted, StageConflict."""
        for record in records:
            _check_fixatable(record)
            self._check_work_owner(transaction, record, party)
            check_publishable(
                transaction,
                record,
                {other.node for other in records} if record.below or record.successors else (),
            )
        events = []
        for record in {record.iri: record for record in records}.values():
            event = self.core.event(transaction, IDS.Fixation, record.node, party)
            self.core.record_events(transaction, record, event)
            events.append(event)
        return events

    def _check_work_owner(self, transaction: Transaction, version: Record, party: Party) -> None:
        """Raise NotPermitted for a version of another party's published work, which would lead to it."""
        with suppress(NotRegistered):  # a hidden or unpublished work leads nowhere
            work = (
                None
                if version.work is None
                else self.core.seen_record(transaction, NamedNode(version.work), party)
            )
            if work is not None and work.public and work.owner != party.name:
                raise NotPermitted(
                    f"{version.iri} is a version of {work.iri}, which belongs to {work.owner}"
                    f" and would lead to the version; transfer the version to {work.owner}, or release it",
                    id=version.iri,
                    work=work.iri,
                    owner=work.owner,
                    remedy=Remedy.TRANSFER,
                )

    def release(self, id: Identifier, party: Party, *, dry_run: bool = False) -> Event:
        """Give up a created identifier; only its owner may. Its label is never issued again.

        dry_run  return the event, and change nothing.
        Raises NotRegistered, NotPermitted, StageConflict (fixated: permanent).
        """

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "release"
            )
            if record.stage is not Stage.CREATED:
                fixated = record.stage is Stage.FIXATED
                end = "; it can be deprecated instead" if fixated else ", and so is its end"
                raise StageConflict(
                    f"{record.iri} is {record.stage.value}, and what is published is permanent{end}",
                    remedy=Remedy.DEPRECATE if fixated else None,
                    id=record.iri,
                    stage=record.stage.value,
                )
            event = self.core.event(transaction, IDS.Release, record.node, party)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act, dry_run=dry_run)

    def deprecate(
        self, id: Identifier, reason: str, party: Party, successors: Sequence[Identifier] = ()
    ) -> Event:
        """Mark a fixated identifier as outdated; only its owner may.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData.
        """
        return self._outdate(
            id,
            party,
            IDS.Deprecation,
            successors,
            (IDS.reason, Literal(terms.check_text(reason, "reason"))),
        )

    def supersede(self, id: Identifier, successors: Sequence[Identifier], party: Party) -> Event:
        """Name the successors of an identifier; only its owner may.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData.
        """
        if not successors:
            raise InvalidData(
                "an identifier is superseded by at least one successor; name one",
                remedy=Remedy.NAME_SUCCESSOR,
                field="successors",
            )
        return self._outdate(id, party, IDS.Supersession, successors)

    def undeprecate(self, id: Identifier, party: Party, successors: Sequence[Identifier] = ()) -> Event:
        """Take a deprecation back, with its reason and successors; only the identifier's owner may.

        successors  take only these back; the others stay, and so does a reason.
        Raises NotRegistered, NotPermitted, StageConflict (a tombstone, or nothing to take back), InvalidData.
        """

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "undeprecate"
            )
            if not record.deprecated:
                raise StageConflict(f"{record.iri} is not deprecated", id=record.iri)
            facts = self.core.facts(transaction)
            taken_back: list[tuple[NamedNode, Term]] = []
            for successor in successors:
                text = written(successor)
                readings = iris.readings(text, facts)
                found = [one for one in record.successors if any(facts.names.same(one, r) for r in readings)]
                if not found:
                    raise InvalidData(
                        f"{text} is no successor of {record.iri}; its record lists them",
                        field="successors",
                        text=text,
                    )
                taken_back.append((DCTERMS.isReplacedBy, NamedNode(found[0])))
            event = self.core.event(transaction, IDS.Undeprecation, record.node, party, *taken_back)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def _outdate(
        self,
        id: Identifier,
        party: Party,
        kind: NamedNode,
        successors: Sequence[Identifier],
        *arguments: tuple[NamedNode, Term],
    ) -> Event:

        def act(transaction: Transaction) -> Event:
            verb = "deprecate" if kind == IDS.Deprecation else "supersede"
            record = self.core.own_record(transaction, self._identify(transaction, id, party), party, verb)
            if record.stage is Stage.CREATED and kind == IDS.Deprecation:
                raise StageConflict(
                    f"{record.iri} is not published yet; release it, or fixate it first",
                    id=record.iri,
                    stage=record.stage.value,
                )
            replacements = [
                (DCTERMS.isReplacedBy, self._successor_named(transaction, one, party)) for one in successors
            ]
            for _, iri in replacements:
                self._check_cycle(transaction, record.node, iri)
            event = self.core.event(transaction, kind, record.node, party, *arguments, *replacements)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def _check_cycle(self, transaction: Transaction, replaced: NamedNode, successor: NamedNode) -> None:
        """Raise InvalidData if a succession closes a cycle, as far as everyone sees, or is too long."""
        if successor == replaced:
            raise InvalidData(
                f"{replaced.value} cannot replace itself", field="successors", value=replaced.value
            )
        queue, came_from = [successor], {successor: replaced}
        while queue:
            current = queue.pop(0)
            if len(came_from) > SUCCESSIONS:
                raise InvalidData(
                    f"{successor.value} was replaced more than {SUCCESSIONS} times itself; name its latest"
                    " successor instead",
                    field="successors",
                    value=successor.value,
                )
            for quad in transaction.quads(current, DCTERMS.isReplacedBy):
                if hides(quad.graph_name):
                    continue
                if quad.object == replaced:
                    path = " by ".join(node.value for node in _path(came_from, current, replaced))
                    reason = f"{successor.value} cannot replace {replaced.value}, which replaces it"
                    raise InvalidData(f"{reason} ({path} by {replaced.value})", id=replaced.value)
                if isinstance(quad.object, NamedNode) and quad.object not in came_from:
                    came_from[quad.object] = current
                    queue.append(quad.object)

    def _successor_named(self, transaction: Transaction, id: Identifier, party: Party) -> NamedNode:
        """Return the successor.

        It must be public, because readers of the succession learn that it is registered.
        """
        successor = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
        if not successor.public:
            raise StageConflict(
                f"{successor.iri} is {successor.stage.value}, and only a published identifier can"
                " replace another; fixate it first",
                id=successor.iri,
                stage=successor.stage.value,
            )
        return successor.node

    def transfer(self, id: Identifier, receiver: Party, party: Party) -> Event:
        """Offer an identifier to another party; the transfer completes when the receiver makes the same call.

        receiver  the other party; the owner itself, to withdraw an offer.
        Raises NotRegistered, NotPermitted, StageConflict, InvalidData (a group).
        """

        def act(transaction: Transaction) -> Event:
            iri = self._identify(transaction, id, party)
            record = self.core.seen_record(transaction, iri, party)
            if not (record.offered == receiver.name == party.name):
                record = self.core.own_record(transaction, iri, party, "transfer")
            self.core.check_owner(transaction, receiver)
            if receiver.name == record.owner and record.offered is None:
                raise StageConflict(
                    f"{iri.value} already belongs to {receiver.name}", id=iri.value, owner=record.owner
                )
            check_showable(self.core, transaction, record, receiver, party)
            event = self.core.event(transaction, IDS.Transfer, iri, party, (IDS.party, node(receiver.name)))
            self.core.record_events(transaction, self.core.load(transaction, iri), event)
            return event

        return self.core.act(party, act)

    def grant(self, id: Identifier, grantee: Party, party: Party, *, bind: bool = False) -> Event:
        """Add a party or group to the grant list: it may see and comment, with ``bind`` also bind.

        Only the owner may.
        Raises NotRegistered, NotPermitted, InvalidData.
        """
        right: list[tuple[NamedNode, Term]] = [(IDS.right, IDS.MayBind)] if bind else []
        return self._list(id, grantee, party, IDS.Grant, *right)

    def ungrant(self, id: Identifier, grantee: Party, party: Party) -> Event:
        """Remove a party or group from the grant list; only the owner may.

        Raises NotRegistered (also if it is not on the list), NotPermitted, InvalidData.
        """
        return self._list(id, grantee, party, IDS.Ungrant)

    def _list(
        self, id: Identifier, grantee: Party, party: Party, kind: NamedNode, *right: tuple[NamedNode, Term]
    ) -> Event:

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "change who may see"
            )
            if grantee.name == record.owner:
                raise InvalidData(
                    f"{grantee.name} owns {record.iri} and always sees it (is on its grant list)",
                    party=grantee.name,
                )
            check_living(record)
            if kind == IDS.Grant:
                check_showable(self.core, transaction, record, grantee, party)
            else:
                self._check_listed(transaction, record, grantee)
            event = self.core.event(
                transaction, kind, record.node, party, (IDS.party, node(grantee.name)), *right
            )
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def _check_listed(self, transaction: Transaction, record: Record, grantee: Party) -> None:
        """Raise NotRegistered unless the party or group is on the grant list; it may be misspelt."""
        listed = record.audience - {record.owner}
        if grantee.name in listed:
            return
        through = sorted(self.core.party_facts(transaction, grantee).names & listed)
        but = f", but as a member of {', '.join(through)}" if through else ""
        members = f"on it are {', '.join(sorted(listed))}" if listed else "only its owner is"
        raise NotRegistered(
            grantee.name, f"{grantee.name} is not on the grant list of {record.iri}{but}; {members}"
        )


def _path(came_from: Mapping[NamedNode, NamedNode], end: NamedNode, start: NamedNode) -> list[NamedNode]:
    """Return the path from the first node after ``start`` to ``end``."""
    path = [end]
    while (before := came_from[path[-1]]) != start:
        path.append(before)
    return path[::-1]


def _check_fixatable(record: Record) -> None:
    if record.stage is not Stage.CREATED:
        raise StageConflict(
            f"{record.iri} is already {record.stage.value}",
            id=record.iri,
            stage=record.stage.value,
        )
    if record.provisional:
        raise StageConflict(
            f"{record.iri} is provisional, and its scheme does not publish provisional identifiers;"
            " mint the formal identifier, fixate it, and supersede this one by it",
            id=record.iri,
            stage=record.stage.value,
            remedy=Remedy.SUPERSEDE,
        )
