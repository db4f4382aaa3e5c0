"""What an owner says of an identifier, and what it is bound to."""

from collections.abc import Sequence
from decimal import Decimal

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotPermitted, NotRegistered
from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.party import Party, node
from idstore.model.record import Record, Stage, reserved
from idstore.model.terms import Term
from idstore.registry import targets
from idstore.registry.core import living
from idstore.registry.naming import Naming, target_index
from idstore.stores import Turn
from idstore.vocabulary import EVENTS, IDS, PAV, RDF, SKOS, SSSOM


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation to another URI, and what is said with it.

    relation       skos:exactMatch unless said otherwise.
    confidence     from 0 to 1, how sure it is.
    justification  IRI of the way in which it was found, such as semapv:ManualMappingCuration.
    author         who found it, where that is somebody other than the party that binds: an IRI (an ORCID) or a name.
    """

    target: str
    relation: str = SKOS.exactMatch.value
    note: str | None = None
    confidence: Decimal | None = None
    justification: str | None = None
    author: str | None = None

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """The event's arguments. Raises InvalidData: no absolute IRI, or a relation that carries the record itself."""
        relation = terms.iri(self.relation, "IRI of a relation")
        if reserved(relation):
            raise InvalidData(
                f"{self.relation} is what the record itself is written with, no relation to bind by; use skos:exactMatch or one of your own",
                text=self.relation,
            )
        made: list[tuple[NamedNode, Term]] = [(RDF.predicate, relation), (RDF.object, terms.iri(self.target))]
        if self.note is not None:
            made.append((SKOS.note, Literal(terms.plain(self.note, "note"))))
        if self.confidence is not None:
            made.append((SSSOM.confidence, terms.share(self.confidence)))
        if self.justification is not None:
            made.append((SSSOM.mapping_justification, terms.iri(self.justification, "IRI of a justification")))
        if self.author is not None:
            made.append((PAV.authoredBy, terms.iri(self.author) if ":" in self.author else Literal(terms.plain(self.author, "author"))))
        return made


class Binding(Naming):
    """Targets, names, bindings, comments."""

    def target(self, text: str, uri: str | None, party: Party) -> Event:
        """Say what an identifier leads to (None: nothing any more); only its owner may. Raises as `name`.

        Of a handle this sets its first URL value; None takes away every URL value that everyone may read.
        """
        aim = None if uri is None else terms.iri(uri)
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "set the target of")
            if uri is not None:
                targets.check(uri, self._facts(turn).by_name)
            arguments: list[tuple[NamedNode, Term]] = []
            if aim is not None:
                arguments = [(IDS.target, aim), *target_index(self._namespace(turn, record.namespace), record)]
            event = self._event(turn, IDS.Targeting, record.iri, party, *arguments)
            self._record_event(turn, record, event)
            return event

    def name(self, text: str, name: str, party: Party, lang: str = terms.UNDETERMINED) -> Event:
        """Give an identifier a name in a language, in place of the one it had there; only its owner may.

        Raises NotRegistered, NotPermitted, StageConflict, InvalidData.
        """
        tag = lang if lang == terms.UNDETERMINED else terms.language(lang)
        said = (IDS.name, terms.tagged(terms.plain(name, "name"), tag))
        with self._acting(party) as turn:
            record = self._own(turn, self._identify(turn, text, party), party, "name")
            event = self._event(turn, IDS.Naming, record.iri, party, said)
            self._record_event(turn, record, event)
            return event

    def bind(self, text: str, statement: Statement, party: Party) -> Event | None:
        """Associate an identifier with another URI. Binding again changes nothing and gives None.

        While it is created: its owner, and grantees who may bind; once fixated: any party.
        Raises NotRegistered, NotPermitted, InvalidData.
        """
        arguments = statement.arguments()
        with self._acting(party) as turn:
            record = self._seen(turn, self._identify(turn, text, party), party)
            self._may_bind(turn, record, party)
            key = (arguments[0][1].value, arguments[1][1].value, party.name)
            if any(known.key == key for known in record.bindings):
                return None
            targets.check(statement.target, self._facts(turn).by_name, record.iri.value)
            event = self._event(turn, IDS.Bind, record.iri, party, *arguments)
            self._record_event(turn, record, event)
            return event

    def _may_bind(self, turn: Turn, record: Record, party: Party) -> None:
        living(record)
        if record.stage is Stage.FIXATED or record.owner == party.name:
            return
        binders = {name for name, binds in record.grants if binds}
        if record.stage is not Stage.CREATED or binders.isdisjoint(self.facts(turn, party).names):
            raise NotPermitted(
                f"{party.name} may not bind {record.iri.value}; its owner {record.owner} can allow it with `idstore grant --bind`",
                id=record.iri.value,
                owner=record.owner,
                party=party.name,
            )

    def unbind(self, text: str, statement: Statement, party: Party) -> Event:
        """Take a binding back: one's own; the owner of the identifier also anybody else's (all with that relation and target).

        The log says who found it wrong: the statement's author, where that is somebody other than the party.
        Raises NotRegistered (no such binding included), NotPermitted, InvalidData.
        """
        arguments = statement.arguments()
        authored = [said for said in arguments if said[0] == PAV.authoredBy]
        relation, target = arguments[0][1].value, arguments[1][1].value
        with self._acting(party) as turn:
            record = self._seen(turn, self._identify(turn, text, party), party)
            found = [known for known in record.bindings if known.key[:2] == (relation, target)]
            if not found:
                raise NotRegistered(text, f"{record.iri.value} is not bound to {target} by {relation}; `idstore show` lists its bindings")
            makers = [known.by for known in found]
            gone = [party.name] if party.name in makers else makers if record.owner == party.name else []
            if not gone:
                raise NotPermitted(
                    f"only {', '.join(sorted(makers))}, who bound it, and the owner {record.owner} may take this binding back",
                    id=record.iri.value,
                    party=party.name,
                )
            for maker in gone:
                extra = [] if maker == party.name else [(IDS.party, node(maker))]
                event = self._event(turn, IDS.Unbind, record.iri, party, *arguments[:2], *authored, *extra)
                record = self._record_event(turn, record, event)
            return event

    def comment(self, text: str, remark: str, party: Party, *, internal: bool = False) -> Event:
        """Remark on an identifier; only its grant list may. Internal remarks stay with the list also after fixation.

        Raises NotRegistered, NotPermitted, InvalidData.
        """
        arguments: list[tuple[NamedNode, Term]] = [(RDF.value, Literal(terms.plain(remark, "comment")))]
        if internal:
            arguments.append((IDS.internal, TRUE))
        with self._acting(party) as turn:
            record = self._seen(turn, self._identify(turn, text, party), party)
            if record.audience.isdisjoint(self.facts(turn, party).names):
                raise NotPermitted(f"only the grant list of {record.iri.value} may comment on it", id=record.iri.value, party=party.name)
            event = self._event(turn, IDS.Comment, record.iri, party, *arguments)
            self._record_event(turn, record, event)
            return event

    def bound_to(self, uri: str, party: Party) -> Sequence[str]:
        """The identifiers that are bound to a URI or have it as their target, as far as the party may see. Raises InvalidData."""
        value = terms.iri(uri)
        with self.store.reading() as view:
            sight = self.sight(view, party)
            found = set()
            for quad in self._seen_quads(view, sight, None, RDF.object, value, of_records=True):
                found |= {_iri(other.object).value for other in view.quads(_iri(quad.subject), RDF.subject)}
            led = {_iri(quad.subject).value for quad in self._seen_quads(view, sight, None, IDS.target, value, of_records=True)}
            return sorted(found | {iri for iri in led if not iri.startswith(EVENTS)})


def _iri(term: object) -> NamedNode:
    assert isinstance(term, NamedNode)
    return term
