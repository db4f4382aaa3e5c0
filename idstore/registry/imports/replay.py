"""Replay of events that happened elsewhere or before; it defines the meaning of the log."""

from collections.abc import Collection, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from pyoxigraph import NamedNode, Quad

from idstore.errors import InvalidData, NotPermitted, StageConflict, UnknownScheme
from idstore.model import namespace as namespaces
from idstore.model import storage as storages
from idstore.model import times
from idstore.model.change import Change, Claim
from idstore.model.closed_vocabularies import correction
from idstore.model.event import PSEUDONYM, Event, same
from idstore.model.history import History, LoggedEvent
from idstore.model.namespace import Namespace
from idstore.model.party import OF_PARTIES, PartyFacts, node
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.registry.core import Part, check_sizes, read_event
from idstore.registry.lookup import label_node
from idstore.registry.namespace_bases import check_bases, check_derived
from idstore.registry.namespaces import check_stored, is_used
from idstore.registry.parties import party_after, party_quads, suspension_quad
from idstore.registry.request_keys import REQUESTS
from idstore.registry.requests import request_claim
from idstore.remedies import Remedy
from idstore.schemes import Adjustable, Reserving, Timestamped
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import DCTERMS, IDS, PUBLIC_LOG, RDF, SKOS, closed_graph, party_name

BEGINNINGS = frozenset({IDS.Mint, IDS.Registration})
_CLAIMING = BEGINNINGS | {IDS.Replacement}
"""Kinds of events that can claim a request key."""
_OF_NAMESPACES = frozenset(
    {
        IDS.NamespaceAddition,
        IDS.NamespaceAllowance,
        IDS.NamespaceFreeze,
        IDS.NamespaceChange,
        IDS.TypeAddition,
    }
)
OF_STORAGE = frozenset({IDS.StorageAddition, IDS.StorageAllowance, IDS.Placement})
_OF_PARTIES = OF_PARTIES | {IDS.Initialization}
_GENERAL = _OF_NAMESPACES | _OF_PARTIES | OF_STORAGE | {IDS.Import, IDS.Redaction}


class Replay(Part):
    """Application of existing events."""

    def replay(self, transaction: Transaction, event: Event, later_namespaces: Container[str] = ()) -> None:
        """Apply an event that is not known here; events may arrive in any order.

        later_namespaces  the namespaces whose additions follow later, perhaps after other events about them,
                          because another registry may have logged those before.
        Raises InvalidData if the event is too large, or if nothing created its subject.
        """
        check_sizes(NamedNode(event.about), event.arguments)
        _check_relation(event)
        if event.kind in BEGINNINGS:
            self._replay_beginning(transaction, event)
        elif (
            event.kind in _OF_NAMESPACES
            or event.about in later_namespaces
            or event.about in self.core.facts(transaction).by_base
        ):
            self._replay_namespace(transaction, event, later_namespaces)
        elif event.kind in _OF_PARTIES:
            self._replay_party(transaction, event)
        elif event.kind in OF_STORAGE:
            self._replay_storage(transaction, event)
        elif event.kind == IDS.Redaction:
            self.core.log_event(transaction, event, home_of(event, ()) or PUBLIC_LOG, [], [])
        else:
            self._replay_record(transaction, event)

    def check_same(self, view: View, event: Event) -> None:
        """Raise InvalidData if a known event differs from the one here: only a redaction changes events.

        event  with its terms as the engine writes them.
        """
        about = next(view.quads(event.node, IDS.about), None)
        assert about is not None and isinstance(about.graph_name, NamedNode)
        here = read_event(view, event.node, about.graph_name)
        if not (same(here, event) or is_redacted(here) or is_redacted(event)):
            raise InvalidData(
                f"the event {event.iri} differs between here and there, but events never change;"
                " one of the two is damaged or forged",
                id=event.iri,
            )

    def build_history(
        self,
        transaction: Transaction,
        events: Sequence[tuple[int, Event]],
        lost: Container[tuple[str, str]] = (),
    ) -> History:
        """Return what `replay` of each event would store for a new identifier, without reading.

        events  all events about it, in order, each with its number.
        lost    request keys that others hold, as `request_node` names them, each with the identifier that
                loses it.
        Raises InvalidData as `replay`. The caller ensures that no other identifier holds the claims.
        """
        claims: dict[NamedNode, Claim] = {}
        issued: tuple[str, str, int] | None = None
        record: Record | None = None
        public: int | None = None
        for number, event in events:
            check_sizes(NamedNode(event.about), event.arguments)
            _check_relation(event)
            if event.kind in BEGINNINGS:
                label, place = self._beginning(transaction, event)
                issued = issued or place
                claims[label] = Claim(label, NamedNode(event.about))
            logged_key = event.text(IDS.requestDigest)
            if logged_key is not None and (request_node(logged_key).value, event.about) not in lost:
                claims |= {claim.key: claim for claim in _request(transaction, event)}
            record = apply(record, event)
            if record is None:
                raise _unfounded(event)
            if public is None and record.public:
                public = number
        assert record is not None and issued is not None
        self._check_values(transaction, record)
        logged = []
        for number, event in events:
            graph = record.home(event)
            logged.append(
                LoggedEvent(number, event, graph, max(number, public or 0) if graph == PUBLIC_LOG else None)
            )
        return History(tuple(logged), record, record.lines(), tuple(claims.values()), issued)

    def check_label(self, transaction: Transaction, event: Event, tolerance: int) -> None:
        """Raise InvalidData if an event registers a label that tells a time in the future.

        tolerance  milliseconds by which the clock that made the label may be ahead.
        """
        if event.kind in BEGINNINGS:
            label = event.text(SKOS.notation) or ""
            check_made(self._home_of(transaction, event), label, transaction.moment + tolerance)

    def _check_values(self, view: View, record: Record) -> None:
        """Raise InvalidData if an identifier has typed values, but its scheme has none."""
        namespace = self.core.facts(view).by_base.get(record.namespace) if record.values else None
        if namespace is not None and not namespace.valued:
            raise InvalidData(
                f"{record.iri} has typed values, but identifiers of the scheme {namespace.scheme_name}"
                " have none",
                id=record.iri,
                scheme=namespace.scheme_name,
            )

    def _beginning(self, view: View, event: Event) -> tuple[NamedNode, tuple[str, str, int]]:
        """Return the claim node of a new identifier's label, and its counter. Raises InvalidData."""
        namespace = self._home_of(view, event)
        label = event.text(SKOS.notation)
        assert label is not None
        scheme, context = namespace.scheme, namespace.context
        if scheme.iri(label, context) != event.about:
            raise InvalidData(
                f"{event.about} is not the identifier {label!r} of {namespace.name}",
                id=event.about,
                label=label,
            )
        return label_node(namespace, label), (namespace.base, *scheme.series(label, context))

    def _replay_beginning(self, transaction: Transaction, event: Event) -> None:
        claimed, issued = self._beginning(transaction, event)
        claim = transaction.claim(claimed)
        if claim is not None:
            if claim.holder.value != event.about:
                raise taken(NamedNode(event.about), claim.holder)
            self._replay_record(transaction, event)
            return
        record = apply(None, event)
        assert record is not None
        claims = (Claim(claimed, NamedNode(event.about)), *_request(transaction, event))
        self.core.enlist(
            transaction, Change(((event, record.log),), begins=True, claims=claims, issued=(issued,))
        )

    def _home_of(self, view: View, event: Event) -> Namespace:
        base = event.text(IDS.inNamespace) or ""
        namespace = self.core.facts(view).by_base.get(base)
        if namespace is None:
            raise unknown_namespace(event, base)
        return namespace

    def _replay_record(self, transaction: Transaction, event: Event) -> None:
        before, past = self._folded(transaction, NamedNode(event.about))
        if not past and event.kind != IDS.Import and not _about_batch(event):
            raise _unfounded(event)
        if before is None:  # the parent event of a batch
            self.core.log_event(transaction, event, home_of(event, ()) or PUBLIC_LOG, [], [])
            return
        later = bool(past) and past[-1].order > event.order
        after = fold([*past, event]) if later else apply(before, event)
        assert after is not None
        self._check_values(transaction, after)
        self.core.enlist(
            transaction,
            replace(
                self.core.transition(transaction, before, after, event), claims=_request(transaction, event)
            ),
        )

    def _folded(self, view: View, about: NamedNode) -> tuple[Record | None, list[Event]]:
        past = [event for event, _ in self.core.history(view, about)]
        return fold(past), past

    def _replay_namespace(
        self, transaction: Transaction, event: Event, later_namespaces: Container[str]
    ) -> None:
        before = self.core.facts(transaction).by_base.get(event.about)
        home = home_of(event, (event.about,)) or PUBLIC_LOG
        if before is None and event.kind != IDS.NamespaceAddition:
            if event.about not in later_namespaces:
                raise InvalidData(
                    f"the event {event.iri} is about the namespace {event.about}, which nothing has added",
                    id=event.about,
                )
            self.core.log_event(transaction, event, home, [], [])
            return
        past = [past_event for past_event, _ in self.core.history(transaction, NamedNode(event.about))]
        after = fold_namespace([*past, event])
        if before is None or (after.name, after.settings) != (before.name, before.settings):
            _check_stored(after)
        if (
            before is not None
            and event.kind == IDS.NamespaceChange
            and _rules(after) != _rules(before)
            and is_used(transaction, before)
        ):
            raise InvalidData(
                f"the event {event.iri} changes settings of {before.name} that decide about labels, and"
                " labels were issued here; import a list of its identifiers instead",
                namespace=before.name,
            )
        if before is None or after.bases != before.bases:
            others = [
                other for other in self.core.facts(transaction).by_base.values() if other.base != after.base
            ]
            check_bases(after, others)
            if event.origin not in self.core.homes(transaction):
                _check_derived(before, after, others)
        if before is not None and event.kind == IDS.NamespaceAddition:
            first = min(
                (past_event for past_event in past if past_event.kind == IDS.NamespaceAddition),
                key=lambda past_event: past_event.order,
            )
            check_rules(namespaces.apply(None, first), namespaces.apply(None, event))
        self.core.log_event(transaction, event, home, after.quads(), before.quads() if before else [])

    def _replay_party(self, transaction: Transaction, event: Event) -> None:
        name = event.by if event.kind == IDS.Initialization else party_name(NamedNode(event.about))
        past = self._party_events(transaction, name)
        graph = closed_graph(name) if event.kind in (IDS.Suspension, IDS.Reinstatement) else PUBLIC_LOG
        self.core.log_event(
            transaction,
            event,
            graph,
            party_state(fold_party(name, [*past, event])),
            party_state(fold_party(name, past)),
        )

    def _party_events(self, view: View, name: str) -> list[Event]:
        """Return every event about a party, including the registry's initialisation by it."""
        begun = (quad.subject for quad in view.quads(None, RDF.type, IDS.Initialization))
        first = [read_event(view, event, PUBLIC_LOG) for event in begun if isinstance(event, NamedNode)]
        return [event for event in first if event.by == name] + [
            event for event, _ in self.core.history(view, node(name))
        ]

    def _replay_storage(self, transaction: Transaction, event: Event) -> None:
        past = [past_event for past_event, _ in self.core.history(transaction, NamedNode(event.about))]
        try:
            before = storages.fold(past).quads() if past else []
            after = storages.fold([*past, event])
        except ValueError as error:
            raise InvalidData(
                f"the event {event.iri} about {event.about} lacks arguments that its kind requires",
                id=event.about,
            ) from error
        if after.iri.value != event.about:
            raise InvalidData(
                f"the event {event.iri} is about the storage {event.about}, which nothing has added",
                id=event.about,
            )
        self.core.log_event(transaction, event, PUBLIC_LOG, after.quads(), before)


def is_general(kind: NamedNode, about: str) -> bool:
    """Return whether an event of that kind is about a namespace, a party, a batch or the registry."""
    return kind in _GENERAL or _is_batch(kind, about)


def taken(about: NamedNode, holder: NamedNode) -> InvalidData:
    """Return the error for a label that another identifier holds."""
    return InvalidData(
        f"{about.value} is the same name as {holder.value}, which is registered here", id=about.value
    )


def unknown_namespace(event: Event, base: str) -> InvalidData:
    """Return the error for an identifier whose namespace was not added before it."""
    return InvalidData(
        f"{event.about} belongs to the namespace {base}, which nothing has added",
        id=event.about,
        namespace=base,
    )


def _unfounded(event: Event) -> InvalidData:
    return InvalidData(
        f"the event {event.iri} is about {event.about}, which nothing has created",
        id=event.about,
    )


def check_time(transaction: Transaction, event: Event, tolerance: int) -> None:
    """Raise InvalidData if an event is dated in the future: later events here would get such dates too.

    tolerance  milliseconds by which its clock may be ahead.
    """
    if event.moment > transaction.moment + tolerance:  # the dates of events never decrease
        raise InvalidData(
            f"the event {event.iri} is dated {times.iso(event.at)}, which is in the future",
            id=event.iri,
        )


def _check_relation(event: Event) -> None:
    """Raise InvalidData for a binding by a relation that its vocabulary does not define."""
    relation = event.get(RDF.predicate) if event.kind == IDS.Bind else None
    meant = correction(relation.value) if isinstance(relation, NamedNode) else None
    if relation is not None and meant is not None:
        raise InvalidData(
            f"the event {event.iri} binds {event.about} by {relation.value}, and the vocabulary"
            f" has no such term; {meant} is probably meant",
            id=event.about,
            relation=relation.value,
            meant=meant,
        )


def is_imported(events: Iterable[Event]) -> bool:
    """Return whether an import registered the identifier that the events are about, here or elsewhere."""
    return any(event.kind in BEGINNINGS and event.get(DCTERMS.isPartOf) is not None for event in events)


def assigned_elsewhere(namespace: Namespace) -> bool:
    """Return whether another registry assigns the labels of a namespace, except those of reserved ranges."""
    scheme = namespace.scheme
    return isinstance(scheme, Reserving) and scheme.assigned_elsewhere(namespace.context)


def check_made(namespace: Namespace, label: str, latest: int) -> None:
    """Raise InvalidData if a label tells a time after ``latest``, in milliseconds since 1970."""
    scheme = namespace.scheme
    if isinstance(scheme, Timestamped) and (made := scheme.made(label)) > latest:
        raise InvalidData(
            f"{scheme.iri(label, namespace.context)} says that it was made at {times.iso(times.of(made))},"
            " which is in the future; look for a misspelling, or insist",
            label=label,
            namespace=namespace.name,
            remedy=Remedy.INSIST,
        )


def check_rules(here: Namespace, there: Namespace) -> None:
    """Raise InvalidData if a namespace has different rules in two registries."""
    if _rules(here) != _rules(there):
        rules = (
            f"{namespace.scheme_name} ({', '.join(f'{key}={value}' for key, value in namespace.settings)})"
            for namespace in (here, there)
        )
        raise InvalidData(
            f"the namespace {here.base} is {' here, and there '.join(rules)}:"
            " a merge requires the same scheme, and the same settings as far as these decide about labels;"
            " import a list of its identifiers instead",
            base=here.base,
        )


def _rules(namespace: Namespace) -> tuple[str, dict[str, str]]:
    """Return the scheme of a namespace, and the settings that decide about its labels."""
    others = {"parent"}
    with suppress(UnknownScheme):
        code = namespace.scheme
        others |= {*code.adjustable} if isinstance(code, Adjustable) else set()
    return namespace.scheme_name, {key: text for key, text in namespace.settings if key not in others}


def _check_stored(namespace: Namespace) -> None:
    """Raise InvalidData, which names the namespace, unless it could be added here."""
    try:
        check_stored(namespace)
    except InvalidData as error:
        raise InvalidData(
            f"the namespace {namespace.name!r} ({namespace.base}) cannot come in: {error.message}",
            remedy=error.remedy,
            **error.fields,
        ) from error


def _check_derived(before: Namespace | None, after: Namespace, others: Collection[Namespace]) -> None:
    """Raise InvalidData if a namespace of elsewhere is derived from a prefix that another party owns here."""
    try:
        check_derived(before, after, others, after.owner)
    except (NotPermitted, StageConflict) as error:
        raise InvalidData(
            f"the namespace {after.name} of {after.owner} there cannot come in: {error.message}; its"
            " identifiers can, once the namespace is added here with the same scheme and settings",
            remedy=error.remedy,
            **error.fields,
        ) from error


def _request(transaction: Transaction, event: Event) -> tuple[Claim, ...]:
    """Return the claim of an identifier's request key, unless another identifier already holds the key."""
    logged_key = event.text(IDS.requestDigest) if event.kind in _CLAIMING else None
    if logged_key is None or transaction.claim(request_node(logged_key)) is not None:
        return ()
    return (request_claim(logged_key, NamedNode(event.about)),)


def request_node(logged_key: str) -> NamedNode:
    """Return the claim node of a request key, from the event's `ids:requestDigest`."""
    return NamedNode(REQUESTS + logged_key.partition(":")[0])


def is_redacted(event: Event) -> bool:
    """Return whether an event contains the pseudonym of a redaction."""
    values = (event.by, event.about, *(value.value for _, value in event.arguments))
    return any(PSEUDONYM.search(value) for value in values)


def keeps_to_itself(event: Event) -> bool:
    """Return whether an event is about a party or storage, which each registry keeps to itself."""
    return event.kind in _OF_PARTIES | OF_STORAGE | {IDS.Redaction} or _about_batch(event)


def home_of(event: Event, bases: Container[str]) -> NamedNode | None:
    """Return the graph of an event about a namespace or a party.

    None if the record of an identifier decides.
    """
    if event.kind in (IDS.Suspension, IDS.Reinstatement) or _about_batch(event):
        return closed_graph(party_name(NamedNode(event.about)))
    if event.kind in (IDS.Import, IDS.Redaction) and event.internal:  # of drafts alone
        return closed_graph(event.by)
    if (
        event.kind in _OF_NAMESPACES | _OF_PARTIES | OF_STORAGE
        or event.kind in (IDS.Import, IDS.Redaction)
        or event.about in bases
    ):
        return PUBLIC_LOG
    return None


def fold(events: list[Event]) -> Record | None:
    """Return the record that results from the events about one identifier, in any order."""
    record: Record | None = None
    for event in sorted(events, key=lambda event: event.order):
        record = apply(record, event)
    return record


def fold_namespace(events: list[Event]) -> Namespace:
    """Return the namespace that results from the events about it, in any order.

    Its first addition counts; all other events change it, even those that another registry logged before.
    """
    ordered = sorted(events, key=lambda event: event.order)
    first = min(
        (event for event in ordered if event.kind == IDS.NamespaceAddition), key=lambda event: event.order
    )
    namespace = namespaces.apply(None, first)
    for event in ordered:
        if event is not first:
            namespace = namespaces.apply(namespace, event)
    return namespace


def fold_party(name: str, events: list[Event]) -> PartyFacts:
    """Return the facts about a party that result from the events about it, in any order."""
    facts = PartyFacts(name)
    for event in sorted(events, key=lambda event: event.order):
        facts = party_after(facts, event)
    return facts


def _about_batch(event: Event) -> bool:
    """Return whether an event is the parent of a party's revocations."""
    return _is_batch(event.kind, event.about)


def _is_batch(kind: NamedNode, about: str) -> bool:
    return kind == IDS.Revocation and about == node(party_name(NamedNode(about))).value


def party_state(facts: PartyFacts) -> list[Quad]:
    """Return every stored quad of a party."""
    quads = party_quads(facts) if facts.added else []
    return quads + ([suspension_quad(facts.name, facts.suspended)] if facts.suspended is not None else [])
