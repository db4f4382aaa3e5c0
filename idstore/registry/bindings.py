"""Descriptions of identifiers: targets, names, bindings, comments, vettings."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from pyoxigraph import Literal, NamedNode

from idstore import arguments
from idstore.characters import trimmed
from idstore.errors import InvalidData, NotPermitted, NotRegistered
from idstore.model import orcid, particulars, terms
from idstore.model.binding import Binding
from idstore.model.closed_vocabularies import correction, is_no_relation
from idstore.model.event import Event
from idstore.model.names import ENOUGH, Names
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party, PartyFacts, node
from idstore.model.record import Identifier, Record, Stage, reserved, written
from idstore.model.terms import Term
from idstore.registry import iris
from idstore.registry.core import check_living
from idstore.registry.facts import Facts
from idstore.registry.lookup import Lookup, target_index
from idstore.registry.visibility import Sight, graph_of
from idstore.remedies import Remedy
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS, PAV, RDF, SKOS, SSSOM

T = TypeVar("T")
_PART: Final = 25
"""Identifiers that are read at once, while acts and other reads wait."""


@dataclass(frozen=True, slots=True)
class SharedTarget:
    """A target of an identifier that other identifiers have or are bound to.

    others  IRIs of the other identifiers, up to twelve.
    """

    iri: str
    target: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation to another URI, with its provenance.

    target         a URI, in full, as ``PREFIX:NAME``, or an identifier of this registry.
    relation       IRI of the relation, also as ``skos:closeMatch``.
    note           a note, for people.
    confidence     certainty from 0 to 1.
    justification  IRI of the method that found the relation, such as semapv:ManualMappingCuration.
    author         who found the relation, if not the binding party: an IRI (an ORCID) or a name.
    force          whether IRIs are taken that are refused otherwise: see `idstore.registry.iris`.
    """

    target: str
    relation: str = SKOS.exactMatch.value
    note: str | None = None
    confidence: Decimal | None = None
    justification: str | None = None
    author: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)

    def expanded(self, facts: Facts) -> "Statement":
        """Return the statement with whole IRIs. Raises InvalidData: see `iris.identified`."""

        def whole(text: str) -> str:
            return iris.expanded(text, facts.by_name, force=self.force)

        return replace(
            self,
            target=iris.identified(self.target, facts, force=self.force),
            relation=whole(self.relation),
            justification=None if self.justification is None else whole(self.justification),
            author=None if self.author is None else _author(whole(self.author)),
        )

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """Return the event's arguments.

        Raises InvalidData: not an absolute IRI, a relation that is reserved for records, or one that its
        vocabulary does not define.
        """
        relation = terms.iri(self.relation, "IRI of a relation")
        if reserved(relation):
            raise InvalidData(
                f"{self.relation} is reserved for records and cannot relate identifiers; use skos:exactMatch"
                " or another relation",
                field="relation",
                text=self.relation,
            )
        meant = correction(self.relation)
        if meant is not None:
            raise InvalidData(
                f"the vocabulary of {self.relation} has no such term; did you mean {meant}?",
                field="relation",
                text=self.relation,
                meant=meant,
            )
        if is_no_relation(self.relation):
            raise InvalidData(
                f"{self.relation} is a class, or a property of texts, and relates no identifiers; use"
                " skos:exactMatch or another relation",
                field="relation",
                text=self.relation,
            )
        arguments: list[tuple[NamedNode, Term]] = [
            (RDF.predicate, relation),
            (RDF.object, terms.iri(self.target)),
        ]
        if self.note is not None:
            arguments.append((SKOS.note, Literal(terms.check_text(self.note, "note"))))
        if self.confidence is not None:
            arguments.append((SSSOM.confidence, terms.share(self.confidence)))
        if self.justification is not None:
            arguments.append(
                (SSSOM.mapping_justification, terms.iri(self.justification, "IRI of a justification"))
            )
        if self.author is not None:
            arguments.append(
                (
                    PAV.authoredBy,
                    terms.iri(self.author)
                    if ":" in self.author
                    else Literal(terms.check_text(self.author, "author")),
                )
            )
        return arguments


class Bindings(Lookup):
    """Acts that describe an identifier."""

    def target(self, id: Identifier, target: str | None, party: Party, *, force: bool = False) -> Event:
        """Set the target of an identifier (None: remove it); only its owner may. Raises as `name`.

        For a handle this sets the first URL value; None removes every URL value that everyone may read.

        force  whether a target is taken that is refused otherwise: see `iris.identified`.
        """

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(
                transaction, self._identify(transaction, id, party), party, "set the target of"
            )
            facts, own = self.core.facts(transaction), record.iri
            new = None if target is None else iris.target(target, facts, own, force=force)
            arguments: list[tuple[NamedNode, Term]] = []
            if target is not None and new is not None:
                arguments = [
                    (IDS.target, new),
                    *target_index(self.core.namespace(transaction, record.namespace), record),
                    *iris.insisted(lambda: iris.target(target, facts, own), force=force),
                ]
            event = self.core.event(transaction, IDS.Targeting, record.node, party, *arguments)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def name(self, id: Identifier, name: str | None, party: Party, lang: str = terms.UNDETERMINED) -> Event:
        """Set the name of an identifier in one language, replacing the earlier one; only its owner may.

        name  the name; None removes the one in that language.
        Raises NotRegistered, NotPermitted, StageConflict, InvalidData (also: there is no such name).
        """
        tag = terms.language_or_none(lang)
        argument = (IDS.name, terms.tagged("", tag) if name is None else named(name, tag))

        def act(transaction: Transaction) -> Event:
            record = self.core.own_record(transaction, self._identify(transaction, id, party), party, "name")
            if name is None and tag not in dict(record.names):
                has = ", ".join(language for language, _ in record.names) or "none"
                raise InvalidData(
                    f"{record.iri} has no name in {tag!r}; the languages of its names are {has}",
                    field="lang",
                    value=lang,
                )
            event = self.core.event(transaction, IDS.Naming, record.node, party, argument)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def bind(self, id: Identifier, statement: Statement, party: Party) -> Event | None:
        """Bind an identifier to another URI. A repeated binding changes nothing and returns None.

        A repeated one by another author, or found by another method, is one more source of the same binding.
        In stage *created* the owner and grantees with the right to bind may; once fixated, any party may.
        Raises NotRegistered, NotPermitted, StageConflict (a tombstone), InvalidData.
        """
        insisted = iris.insisted(lambda: orcid.normal(statement.author or ""), force=statement.force)
        return self._bind(id, statement, party, insisted)

    def _bind(
        self,
        id: Identifier,
        statement: Statement,
        party: Party,
        insisted: Sequence[tuple[NamedNode, Term]] = (),
    ) -> Event | None:
        """As `bind`, also with an author whose ORCID is wrong.

        insisted  the argument of the event if the party insisted on the author.
        """

        def act(transaction: Transaction) -> Event | None:
            facts = self.core.facts(transaction)
            whole = statement.expanded(facts)
            arguments = whole.arguments()
            record = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
            self._check_binder(transaction, record, party)
            same = _matching(record, facts.names, (whole.relation,), (whole.target,))
            own = [binding for binding in same if binding.by == party.name]
            if own:  # in the written form of the first one, so that all have one key
                arguments = replace(whole, target=own[0].target).arguments()
                again = replace(own[0], notes=tuple(arguments[2:]))
                if not again.adds_to(own):
                    return None
            iris.check_target(whole.target, facts.names, record.iri)
            arguments += insisted or _insisted(statement, facts)
            event = self.core.event(transaction, IDS.Bind, record.node, party, *arguments)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def _arguments_of(self, facts: Facts, statement: Statement, iri: str) -> list[tuple[NamedNode, Term]]:
        """Return the event's arguments for the first binding of a new identifier. Raises InvalidData."""
        insisted = iris.insisted(lambda: orcid.normal(statement.author or ""), force=statement.force)
        whole = statement.expanded(facts)
        iris.check_target(whole.target, facts.names, iri)
        return [*whole.arguments(), *(insisted or _insisted(statement, facts))]

    def _check_binder(self, transaction: Transaction, record: Record, party: Party) -> None:
        """Raise StageConflict for a tombstone, and NotPermitted unless the party may bind: see `bind`."""
        check_living(record)
        if record.owner == party.name:
            return
        facts = self.core.party_facts(transaction, party)
        if record.stage is Stage.FIXATED:
            self._check_policy(self.core.namespace(transaction, record.namespace), facts)
            return
        binders = {name for name, binds in record.grants if binds}
        if binders.isdisjoint(facts.names):
            raise NotPermitted(
                f"{party.name} may not bind {record.iri}; ask its owner {record.owner} for the right to bind",
                id=record.iri,
                owner=record.owner,
                party=party.name,
                remedy=Remedy.ALLOW_BINDING,
            )

    def _check_policy(self, namespace: Namespace, facts: PartyFacts) -> None:
        """Raise NotPermitted unless a party may bind published identifiers of a namespace."""
        if namespace.binders == particulars.KNOWN and not facts.added:
            raise NotPermitted(
                f"identifiers in {namespace.name} are bound by parties that were added here, and {facts.name}"
                " was not; an administrator can add it",
                namespace=namespace.name,
                party=facts.name,
                remedy=Remedy.ADD_PARTY,
            )
        if namespace.binders == particulars.ALLOCATORS and not namespace.is_allocator(facts):
            raise NotPermitted(
                f"identifiers in {namespace.name} are bound by those that may allocate there; ask its owner"
                f" {namespace.owner} for permission",
                namespace=namespace.name,
                party=facts.name,
                remedy=Remedy.ALLOW_ALLOCATION,
            )

    def unbind(self, id: Identifier, statement: Statement, party: Party) -> Event:
        """Remove a binding of the party; the owner of the identifier also removes those of others.

        The log has the statement's note, and the author of the refutation if it is not the acting party.
        Raises NotRegistered (also if there is no such binding), NotPermitted, InvalidData.
        """
        return self._unbind(id, statement, party)

    def _unbind(
        self, id: Identifier, statement: Statement, party: Party, *, by_administrator: bool = False
    ) -> Event:
        """Remove a binding: see `unbind`.

        by_administrator  whether an administrator also removes those of others.
        """

        def act(transaction: Transaction) -> Event:
            facts = self.core.facts(transaction)
            relations, targets = (
                iris.readings(part, facts) for part in (statement.relation, statement.target)
            )
            record = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
            matches = _matching(record, facts.names, relations, targets)
            relation, target = matches[0].key[:2] if matches else (relations[-1], targets[-1])
            arguments = replace(statement, relation=relation, target=target).arguments()
            kept = [argument for argument in arguments if argument[0] in (SKOS.note, PAV.authoredBy)]
            if not matches:
                raise NotRegistered(
                    written(id),
                    f"{record.iri} is not bound to {statement.target} by {statement.relation}; its"
                    " record lists its bindings",
                    remedy=Remedy.SHOW_RECORD,
                )
            own = [binding for binding in matches if binding.by == party.name]
            entitled = record.owner == party.name or (
                by_administrator and self.core.party_facts(transaction, party).administrator
            )
            undone = {binding.key: binding for binding in own or (matches if entitled else [])}.values()
            if not undone:
                makers = {binding.by for binding in matches}
                raise NotPermitted(
                    f"only {', '.join(sorted(makers))}, who bound it, and the owner {record.owner} may take"
                    " this binding back",
                    id=record.iri,
                    party=party.name,
                )
            events = []
            for binding in undone:
                ends = ((RDF.predicate, NamedNode(binding.relation)), (RDF.object, NamedNode(binding.target)))
                extra = [] if binding.by == party.name else [(IDS.party, node(binding.by))]
                events.append(
                    self.core.event(transaction, IDS.Unbind, record.node, party, *ends, *kept, *extra)
                )
            self.core.record_events(transaction, record, *events)
            return events[-1]

        return self.core.act(party, act)

    def comment(self, id: Identifier, remark: str, party: Party, *, internal: bool = False) -> Event:
        """Comment on an identifier; only its grant list may.

        Only the grant list and administrators see internal comments, also after fixation.
        Raises NotRegistered, NotPermitted, InvalidData.
        """
        arguments: list[tuple[NamedNode, Term]] = [(RDF.value, Literal(terms.check_text(remark, "comment")))]
        if internal:
            arguments.append((IDS.internal, TRUE))

        def act(transaction: Transaction) -> Event:
            record = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
            if record.audience.isdisjoint(self.core.party_facts(transaction, party).names):
                raise NotPermitted(
                    f"only those who may see {record.iri} (its grant list) may comment on it",
                    id=record.iri,
                    party=party.name,
                )
            event = self.core.event(transaction, IDS.Comment, record.node, party, *arguments)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def vet(self, id: Identifier, party: Party, note: str | None = None) -> Event:
        """Confirm that an identifier and its description are correct; any party that sees it may.

        The state does not change. Raises NotRegistered, StageConflict (a tombstone), InvalidData.
        """
        arguments: list[tuple[NamedNode, Term]] = (
            [] if note is None else [(SKOS.note, Literal(terms.check_text(note, "note")))]
        )

        def act(transaction: Transaction) -> Event:
            record = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
            check_living(record)
            event = self.core.event(transaction, IDS.Vetting, record.node, party, *arguments)
            self.core.record_events(transaction, record, event)
            return event

        return self.core.act(party, act)

    def bound_to(self, text: str, party: Party, limit: int | None = None) -> Sequence[str]:
        """Return the identifiers that are bound to a URI or have it as target, as far as the party may see.

        text   the URI, in any written form.
        limit  how many at most; None: all.

        An act meanwhile counts or not. Raises InvalidData, AmbiguousIdentifier. Cost: some 75 µs for each.
        """
        return [*islice(self._bound_to(text, party), limit)]

    def _bound_to(self, text: str, party: Party, without: str = "") -> Iterator[str]:
        uris = self.store.read(lambda view: self._uris(view, text, self.core.sight(view, party)))
        return self._targeting(uris, party, without)

    def _targeting(self, uris: Sequence[str], party: Party, without: str = "") -> Iterator[str]:
        """Yield the identifiers, but for ``without``, that have or are bound to one of the URIs."""

        def candidates(view: View) -> Sequence[str]:
            names = self.core.facts(view).names
            sketches = {sketch for uri in uris for sketch in names.sketches(uri)}
            found = view.catalogue.targeting(sketches, self.core.audiences(view, party))
            return [iri for iri in found if iri != without]

        def matches(view: View, iris: Sequence[str]) -> Iterator[str]:
            names, sight = self.core.facts(view).names, self.core.sight(view, party)
            for iri in iris:
                if any(names.same(uri, end) for end in _ends(view, iri, sight) for uri in uris):
                    yield iri

        return self._in_parts(self.store.read(candidates), matches)

    def _in_parts(
        self, items: Iterable[str], question: Callable[[View, Sequence[str]], Iterable[T]]
    ) -> Iterator[T]:
        """Yield the answers to a question about items, in several reads: others get their turn in between."""

        def answers(part: Sequence[str], view: View) -> list[T]:
            return [*question(view, part)]

        waiting = iter(items)
        while part := [*islice(waiting, _PART)]:
            yield from self.store.read(partial(answers, part))

    def shared_targets(self, ids: Iterable[Identifier], party: Party, most: int) -> list[SharedTarget]:
        """Return the first targets of some identifiers that are also other identifiers' targets or bindings.

        ids  their IRIs, or records.
        Only what the party may see counts. Raises InvalidData (no IRI, no number, one text).
        Cost: a look-up in the catalogue for each identifier.
        """
        return [*islice(self._shared_targets(map(written, ids), party), most)]

    def _shared_targets(self, ids: Iterable[str], party: Party) -> Iterator[SharedTarget]:
        def targets(iri: NamedNode, view: View) -> list[str]:
            sight, quads = self.core.sight(view, party), view.quads(iri, IDS.target)
            return [
                quad.object.value
                for quad in quads
                if isinstance(quad.object, NamedNode) and sight.sees(graph_of(quad))
            ]

        for iri in ids:
            for target in self.store.read(partial(targets, terms.iri(iri))):
                others = tuple(islice(self._targeting((target,), party, iri), ENOUGH))
                if others:
                    yield SharedTarget(iri, target, others)

    def _uris(self, view: View, text: str, sight: Sight) -> Sequence[str]:
        """Return the IRIs that a text in any written form may stand for in stored data.

        Raises InvalidData, AmbiguousIdentifier (several visible identifiers), NotRegistered (several
        namespaces read it, and none of them holds it).
        """
        facts, text = self.core.facts(view), trimmed(text)
        form = facts.names.form(text)
        if form is not None:
            return (form,)
        if ":" in text:
            return [terms.iri(reading).value for reading in iris.readings(text, facts)]
        readings = self._readings(view, text)
        if not readings:
            return (terms.iri(text).value,)
        if readings[1:]:
            return (self._identify_for(view, text, sight).value,)
        namespace, label = readings[0]
        return (namespace.scheme.iri(label, namespace.context),)


def named(name: str, lang: str) -> Literal:
    """Return the literal of a name. Raises InvalidData."""
    tag = lang if lang == terms.UNDETERMINED else terms.language(lang)
    return terms.tagged(terms.check_text(name, "name"), tag)


def _insisted(statement: Statement, facts: Facts) -> list[tuple[NamedNode, Term]]:
    """Return the argument of an event if the party insisted on an IRI. Raises InvalidData."""
    return iris.insisted(lambda: replace(statement, force=False).expanded(facts), force=statement.force)


def _author(text: str) -> str:
    """Return an author as it is stored: an ORCID iD in its https form."""
    try:
        return orcid.normal(text)
    except InvalidData:  # it was insisted on, or stands in a table
        return text


def _matching(
    record: Record, names: Names, relations: Collection[str], targets: Collection[str]
) -> list[Binding]:
    """Return the bindings of a record by any of the relations to any of the targets, in any written form."""
    return [
        binding
        for binding in record.bindings
        if binding.relation in relations and any(names.same(binding.target, target) for target in targets)
    ]


def _ends(view: View, iri: str, sight: Sight) -> Iterator[str]:
    """Yield the visible targets of an identifier: its own, and those of its bindings."""
    for quad in view.quads(NamedNode(iri)):
        stated = quad.predicate == IDS.target or not reserved(quad.predicate)
        if stated and isinstance(quad.object, NamedNode) and sight.sees(graph_of(quad)):
            yield quad.object.value
