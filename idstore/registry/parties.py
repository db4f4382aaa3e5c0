"""Parties as data: who administers, who belongs to which group, who is suspended; and what administrators revoke."""

from collections.abc import Sequence

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, StageConflict, UnknownParty
from idstore.frozen import replace
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.party import Party, PartyFacts, node
from idstore.model.record import Record, Stage
from idstore.model.terms import Term
from idstore.registry.core import read_event
from idstore.registry.namespaces import Namespacing
from idstore.registry.naming import Naming
from idstore.stores import Turn
from idstore.stores.catalogue import Selection
from idstore.vocabulary import DCTERMS, IDS, PUBLIC_LOG, RDF, REGISTRY_GRAPH, closed_graph, party_name, store_name

_ALLOCATING = ("Mint", "Registration")
"""Local names of the events that allocate."""
_CLASSES = {"user": IDS.User, "group": IDS.Group, "administrator": IDS.Administrator}
_WORDS: dict[object, str] = {iri: word for word, iri in _CLASSES.items()}


class Governing(Namespacing, Naming):
    """Parties, suspension, revocation."""

    def initialize(self, administrator: Party) -> Event:
        """Begin the log with the first administrator. Raises AlreadyRegistered if the registry has begun."""
        with self.store.turn() as turn:
            if next(turn.quads(None, RDF.type, IDS.Initialization), None) is not None:
                raise AlreadyRegistered(
                    "the store is initialised already; an administrator can add others with `idstore party add NAME --administrator`"
                )
            about = NamedNode(store_name(self.store.origin))
            event = self._event(turn, IDS.Initialization, about, administrator, (IDS.party, node(administrator.name)))
            self._log(turn, event, PUBLIC_LOG, party_quads(party_after(PartyFacts(administrator.name), event)), [])
            return event

    def add_party(self, name: Party, party: Party, kind: str = "user") -> PartyFacts:
        """Make a user, group or administrator known; an administrator's act. Raises NotPermitted, AlreadyRegistered, InvalidData."""
        if kind not in _CLASSES:
            raise InvalidData(f"{kind!r} is no kind of party; there are {', '.join(_CLASSES)}", kind=kind)
        with self._acting(party) as turn:
            self._administers(turn, party, "add parties")
            known = self._facts(turn).parties.get(name.name)
            if known is not None and known.added and (known.kind != "user" or kind != "administrator"):
                raise AlreadyRegistered(f"{name.name!r} is a party here already, of the kind {known.kind}", party=name.name)
            if kind == "group" and turn.catalogue.has_acted(name.name):
                raise AlreadyRegistered(f"{name.name!r} has acted here as a user; choose another name for the group", party=name.name)
            event = self._event(turn, IDS.PartyAddition, node(name.name), party, (IDS.type, _CLASSES[kind]))
            after = party_after(known or PartyFacts(name.name), event)
            self._log(turn, event, PUBLIC_LOG, party_quads(after), party_quads(known) if known and known.added else [])
            return after

    def join(self, name: Party, group: Party, party: Party) -> None:
        """Make a party a member of a group; an administrator's act. Raises NotPermitted, UnknownParty, StageConflict."""
        self._membership(name, group, party, IDS.Joining)

    def leave(self, name: Party, group: Party, party: Party) -> None:
        """End a membership; what the group alone may see is lost at once. Raises NotPermitted, UnknownParty, StageConflict."""
        self._membership(name, group, party, IDS.Leaving)

    def _membership(self, name: Party, group: Party, party: Party, kind: NamedNode) -> None:
        joining = kind == IDS.Joining
        with self._acting(party) as turn:
            self._administers(turn, party, "change groups")
            known, team = self._known(turn, name), self._known(turn, group)
            if team.kind != "group":
                raise InvalidData(
                    f"{group.name} is a {team.kind}, not a group; add one with `idstore party add {group.name} --group`", party=group.name
                )
            if known.kind == "group":
                raise InvalidData(f"{name.name} is a group, and groups have no groups; add its members one by one", party=name.name)
            if (group.name in known.groups) == joining:
                raise StageConflict(
                    f"{name.name} is {'a member' if joining else 'no member'} of {group.name} already", party=name.name, group=group.name
                )
            event = self._event(turn, kind, node(name.name), party, (IDS.party, node(group.name)))
            self._log(turn, event, PUBLIC_LOG, party_quads(party_after(known, event)), party_quads(known))

    def _known(self, turn: Turn, name: Party) -> PartyFacts:
        known = self._facts(turn).parties.get(name.name)
        if known is None or not known.added:
            raise UnknownParty(name.name)
        return known

    def parties(self, party: Party) -> Sequence[PartyFacts]:
        """Every party that was added, by name; suspensions are shown to administrators and to whom they concern."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            known = self._facts(view).parties.values()
            return sorted(
                (
                    _shown(one, whole=sight.everything or one.name == party.name)
                    for one in known
                    if one.added or sight.everything or one.name == party.name
                ),
                key=lambda one: one.name,
            )

    def is_stranger(self, name: Party, party: Party) -> bool:
        """Whether a party was not added and has done nothing here, so that its name may be misspelt. Only administrators may ask. Raises NotPermitted."""
        self.only_administrators(party)
        with self.store.reading() as view:
            known = self._facts(view).parties.get(name.name)
            return not (known and known.added) and not view.catalogue.events(Selection(None, owner=name.name), limit=1)

    def suspend(self, name: Party, reason: str, party: Party) -> Event:
        """Refuse every further act of a party; an administrator's act. Raises NotPermitted, StageConflict, InvalidData."""
        return self._suspension(name, party, IDS.Suspension, terms.plain(reason, "reason"))

    def reinstate(self, name: Party, party: Party) -> Event:
        """Let a suspended party act again; an administrator's act. Raises NotPermitted, StageConflict."""
        return self._suspension(name, party, IDS.Reinstatement, None)

    def _suspension(self, name: Party, party: Party, kind: NamedNode, reason: str | None) -> Event:
        with self._acting(party) as turn:
            self._administers(turn, party, "suspend and reinstate")
            known = self.facts(turn, name)
            if (known.suspended is None) == (reason is None):
                raise StageConflict(f"{name.name} is {'not suspended' if reason is None else 'suspended already'}", party=name.name)
            if known.kind == "group":
                raise InvalidData(f"{name.name} is a group, and groups do not act; suspend its members one by one", party=name.name)
            if name == party:
                raise NotPermitted("nobody suspends himself; another administrator can", party=name.name)
            arguments: list[tuple[NamedNode, Term]] = [(IDS.reason, Literal(reason))] if reason is not None else []
            event = self._event(turn, kind, node(name.name), party, *arguments)
            before = [] if known.suspended is None else [suspension_quad(name.name, known.suspended)]
            self._log(turn, event, closed_graph(name.name), [] if reason is None else [suspension_quad(name.name, reason)], before)
            return event

    def revoke(self, text: str, reason: str, party: Party) -> Event:
        """Take back an abusive identifier: a created one is released, a fixated one becomes a tombstone. An administrator's act.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData.
        """
        with self._acting(party) as turn:
            iri = self._identify(turn, text, party)
            self._administers(turn, party, "revoke")
            return self._revoke(turn, iri, terms.plain(reason, "reason"), party)

    def may_revoke(self, text: str, party: Party) -> str:
        """The IRI of what `revoke` would revoke; nothing is changed. Raises as `revoke`."""
        with self._acting(party) as turn:
            iri = self._identify(turn, text, party)
            self._administers(turn, party, "revoke")
            self._revocable(turn, iri)
            return iri.value

    def revocable(self, of: Party, since: int, party: Party) -> Sequence[str]:
        """What `revoke_all` would revoke. Raises NotPermitted."""
        with self._acting(party) as turn:
            self._administers(turn, party, "revoke")
            return self._allocations(turn, of, since)

    def revoke_all(self, of: Party, since: int, reason: str, party: Party) -> Sequence[Event]:
        """Revoke everything that a party allocated since a moment (milliseconds since 1970), in one piece. Raises as `revoke`."""
        with self._acting(party) as turn:
            self._administers(turn, party, "revoke")
            said = terms.plain(reason, "reason")
            chosen = self._allocations(turn, of, since)
            if not chosen:
                return []
            batch = self._event(turn, IDS.Revocation, node(of.name), party, (IDS.reason, Literal(said)))
            self._log(turn, batch, closed_graph(of.name), [], [])
            return [self._revoke(turn, NamedNode(iri), said, party, (DCTERMS.isPartOf, batch.iri)) for iri in chosen]

    def _allocations(self, turn: Turn, of: Party, since: int) -> Sequence[str]:
        """What a party allocated and what is not gone since, whoever owns it now."""
        rows = turn.catalogue.events(Selection(None, owner=of.name, since=since), kinds=_ALLOCATING)
        made = {read_event(turn, NamedNode(row.iri), NamedNode(row.graph)).about: None for row in rows if row.graph is not None}
        standing = [iri for iri in made if next(turn.quads(iri, IDS.stage), None) is not None]
        return [iri.value for iri in standing if self._load(turn, iri).stage is not Stage.TOMBSTONE and self._began(turn, iri) == of.name]

    def _began(self, turn: Turn, iri: NamedNode) -> str:
        """Who allocated an identifier; where registries were merged others may have done so later."""
        return self._history(turn, iri)[0][0].by

    def _revoke(self, turn: Turn, iri: NamedNode, reason: str, party: Party, *extra: tuple[NamedNode, Term]) -> Event:
        record = self._revocable(turn, iri)
        event = self._event(turn, IDS.Revocation, iri, party, (IDS.reason, Literal(reason)), *extra)
        self._record_event(turn, record, event)
        return event

    def _revocable(self, turn: Turn, iri: NamedNode) -> Record:
        """The record of what can be revoked. Raises StageConflict."""
        record = self._load(turn, iri)
        if record.stage is Stage.TOMBSTONE:
            raise StageConflict(f"{iri.value} is a tombstone already", id=iri.value, stage=record.stage.value)
        return record


def party_after(before: PartyFacts, event: Event) -> PartyFacts:
    """What is known of a party after an event about it; a pure function, the meaning of the log."""
    other = event.one(IDS.party)
    group = party_name(other) if isinstance(other, NamedNode) else ""
    match event.kind:
        case IDS.Initialization:
            return replace(before, kind="administrator", added=True)
        case IDS.PartyAddition:
            return replace(before, kind=_WORDS[event.one(IDS.type)], added=True)
        case IDS.Joining:
            return replace(before, groups=before.groups | {group})
        case IDS.Leaving:
            return replace(before, groups=before.groups - {group})
        case IDS.Suspension:
            return replace(before, suspended=event.text(IDS.reason))
        case IDS.Reinstatement:
            return replace(before, suspended=None)
    return before


def party_quads(known: PartyFacts) -> list[Quad]:
    """The public facts of a party, in the registry graph."""
    iri = node(known.name)
    made = [Quad(iri, RDF.type, _CLASSES[known.kind], REGISTRY_GRAPH)]
    return made + [Quad(iri, IDS.memberOf, node(group), REGISTRY_GRAPH) for group in sorted(known.groups)]


def suspension_quad(name: str, reason: str) -> Quad:
    """That a party is suspended: for administrators and itself."""
    return Quad(node(name), IDS.suspended, Literal(reason), closed_graph(name))


def _shown(known: PartyFacts, *, whole: bool) -> PartyFacts:
    return known if whole else replace(known, suspended=None)
