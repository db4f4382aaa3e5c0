"""From created to fixated, released or revoked; deprecation, succession and hand-over."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotPermitted, NotRegistered, StageConflict
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.party import Party, node
from idstore.model.record import Record, Stage
from idstore.model.terms import Term
from idstore.registry.below import Descending
from idstore.registry.core import living
from idstore.stores import Turn
from idstore.vocabulary import DCTERMS, IDS, hides


class Living(Descending):
    """The stages of identifiers."""

    def fixate(self, texts: Sequence[str], party: Party) -> list[Event]:
        """Publish identifiers for ever; only their owner may, and that of the work whose versions they are. All of them or none.

        Raises NotRegistered, NotPermitted, StageConflict (fixated already, or provisional).
        """
        with self._acting(party) as turn:
            found = [self._own(turn, self._identify(turn, text, party), party, "fixate") for text in texts]
            for record in found:
                _may_fixate(record)
                self._may_lead(turn, record, party)
                self._may_publish(turn, record, {one.iri for one in found} if record.below or record.successors else ())
            made = []
            for record in {record.iri: record for record in found}.values():
                event = self._event(turn, IDS.Fixation, record.iri, party)
                self._record_event(turn, record, event)
                made.append(event)
            return made

    def _may_lead(self, turn: Turn, version: Record, party: Party) -> None:
        """Raise NotPermitted for a version of a published work that is somebody else's by now: the work would lead there."""
        with suppress(NotRegistered):  # a work that is not told of here, or not published, leads nowhere
            work = None if version.work is None else self._seen(turn, version.work, party)
            if work is not None and work.public and work.owner != party.name:
                raise NotPermitted(
                    f"{version.iri.value} is a version of {work.iri.value}, which would lead there, and belongs to {work.owner}; offer the version"
                    f" to {work.owner} with `idstore transfer`, or release it",
                    id=version.iri.value,
                    work=work.iri.value,
                    owner=work.owner,
                )

    def release(self, text: str, party: Party) -> Event:
        """Give a created identifier up; only its owner may. Its label is never issued again.

        Raises NotRegistered, NotPermitted, StageConflict (fixated: permanent).
        """
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "release")
            if record.stage is not Stage.CREATED:
                remedy = "; `idstore deprecate` marks it as outdated" if record.stage is Stage.FIXATED else ", and so is its end"
                raise StageConflict(
                    f"{record.iri.value} is {record.stage.value}, and what is published is permanent{remedy}",
                    id=record.iri.value,
                    stage=record.stage.value,
                )
            event = self._event(turn, IDS.Release, record.iri, party)
            self._record_event(turn, record, event)
            return event

    def deprecate(self, text: str, reason: str, party: Party, successors: Sequence[str] = ()) -> Event:
        """Mark a fixated identifier as outdated; only its owner may. Raises NotRegistered, NotPermitted, StageConflict, InvalidData."""
        return self._outdate(text, party, IDS.Deprecation, successors, (IDS.reason, Literal(terms.plain(reason, "reason"))))

    def supersede(self, text: str, successors: Sequence[str], party: Party) -> Event:
        """Name what replaces an identifier; only its owner may. Raises NotRegistered, NotPermitted, StageConflict, InvalidData."""
        if not successors:
            raise InvalidData("name at least one successor with --by")
        return self._outdate(text, party, IDS.Supersession, successors)

    def _outdate(self, text: str, party: Party, kind: NamedNode, successors: Sequence[str], *arguments: tuple[NamedNode, Term]) -> Event:
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "deprecate")
            if record.stage is Stage.CREATED and kind == IDS.Deprecation:
                raise StageConflict(
                    f"{record.iri.value} is not published yet; release it, or fixate it first",
                    id=record.iri.value,
                    stage=record.stage.value,
                )
            following = [(DCTERMS.isReplacedBy, self._successor_named(turn, one, party)) for one in successors]
            for _, iri in following:
                self._no_circle(turn, record.iri, iri)
            event = self._event(turn, kind, record.iri, party, *arguments, *following)
            self._record_event(turn, record, event)
            return event

    def _no_circle(self, turn: Turn, replaced: NamedNode, successor: NamedNode) -> None:
        """Raise InvalidData if an identifier replaces its would-be successor already, at any distance, as far as everyone sees."""
        if successor == replaced:
            raise InvalidData(f"{replaced.value} cannot replace itself", id=replaced.value)
        waiting, came_from = [successor], {successor: replaced}
        while waiting:
            one = waiting.pop(0)
            for quad in (said for said in turn.quads(one, DCTERMS.isReplacedBy) if not hides(said.graph_name)):
                if quad.object == replaced:
                    way = " by ".join(node.value for node in _way(came_from, one, replaced))
                    reason = f"{successor.value} cannot replace {replaced.value}, which replaces it"
                    raise InvalidData(f"{reason} ({way} by {replaced.value})", id=replaced.value)
                if isinstance(quad.object, NamedNode) and quad.object not in came_from:
                    came_from[quad.object] = one
                    waiting.append(quad.object)

    def _successor_named(self, turn: Turn, text: str, party: Party) -> NamedNode:
        """What is to replace an identifier: public, for whoever reads that it replaces one knows that it is registered."""
        successor = self._seen(turn, self._identify(turn, text, party), party)
        if not successor.public:
            raise StageConflict(
                f"{successor.iri.value} is {successor.stage.value}, and only a published identifier can replace another; fixate it first",
                id=successor.iri.value,
                stage=successor.stage.value,
            )
        return successor.iri

    def transfer(self, text: str, receiver: Party, party: Party) -> Event:
        """Offer an identifier to another party; it changes hands when the receiver calls this in turn.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData (a group).
        """
        with self._acting(party) as turn:
            iri = self._identify(turn, text, party)
            record = self._seen(turn, iri, party)
            if not (record.offered == receiver.name == party.name):
                record = self._own(turn, iri, party, "transfer")
            self._may_own(turn, receiver)
            if receiver.name == record.owner:
                raise StageConflict(f"{iri.value} belongs to {receiver.name} already", id=iri.value, owner=record.owner)
            self._may_show(turn, record, receiver, party)
            event = self._event(turn, IDS.Transfer, iri, party, (IDS.party, node(receiver.name)))
            self._record_event(turn, self._load(turn, iri), event)
            return event

    def grant(self, text: str, grantee: Party, party: Party, *, bind: bool = False) -> Event:
        """Put a party or group on the grant list: to see and comment, and with ``bind`` to bind. Only the owner may.

        Raises NotRegistered, NotPermitted, InvalidData.
        """
        right: list[tuple[NamedNode, Term]] = [(IDS.right, IDS.MayBind)] if bind else []
        return self._list(text, grantee, party, IDS.Grant, *right)

    def ungrant(self, text: str, grantee: Party, party: Party) -> Event:
        """Take a party or group off the grant list; only the owner may. Raises NotRegistered (also who is not on it), NotPermitted, InvalidData."""
        return self._list(text, grantee, party, IDS.Ungrant)

    def _list(self, text: str, grantee: Party, party: Party, kind: NamedNode, *right: tuple[NamedNode, Term]) -> Event:
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "change the grant list of")
            if grantee.name == record.owner:
                raise InvalidData(f"{grantee.name} owns {record.iri.value} and is on its grant list always", party=grantee.name)
            living(record)
            if kind == IDS.Grant:
                self._may_show(turn, record, grantee, party)
            else:
                self._is_listed(turn, record, grantee)
            event = self._event(turn, kind, record.iri, party, (IDS.party, node(grantee.name)), *right)
            self._record_event(turn, record, event)
            return event

    def _is_listed(self, turn: Turn, record: Record, grantee: Party) -> None:
        """Raise NotRegistered unless a party or group is on the grant list: whoever is mistyped would go on seeing it."""
        listed = record.audience - {record.owner}
        if grantee.name in listed:
            return
        through = sorted(self.facts(turn, grantee).names & listed)
        but = f", but as a member of {', '.join(through)}" if through else ""
        there = f"on it are {', '.join(sorted(listed))}" if listed else "only its owner is"
        raise NotRegistered(grantee.name, f"{grantee.name} is not on the grant list of {record.iri.value}{but}; {there}")


def _way(came_from: Mapping[NamedNode, NamedNode], end: NamedNode, start: NamedNode) -> list[NamedNode]:
    """From what was found first, behind ``start``, to ``end``."""
    way = [end]
    while (before := came_from[way[-1]]) != start:
        way.append(before)
    return way[::-1]


def _may_fixate(record: Record) -> None:
    if record.stage is not Stage.CREATED:
        raise StageConflict(f"{record.iri.value} is {record.stage.value} already", id=record.iri.value, stage=record.stage.value)
    if record.provisional:
        raise StageConflict(
            f"{record.iri.value} is provisional, which its scheme does not publish; mint the formal identifier, fixate that, and `idstore supersede` this one by it",
            id=record.iri.value,
            stage=record.stage.value,
        )
