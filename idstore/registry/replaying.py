"""Taking in events that happened elsewhere, or before: the log's meaning, carried out."""

from collections.abc import Container, Sequence

from pyoxigraph import NamedNode, Quad

from idstore.errors import InvalidData
from idstore.frozen import replace
from idstore.model import namespace as namespaces
from idstore.model import storage as storages
from idstore.model import times
from idstore.model.change import Change
from idstore.model.event import Event, same
from idstore.model.history import History, Told
from idstore.model.namespace import Namespace
from idstore.model.party import PartyFacts, node
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.registry.core import Core, read_event
from idstore.registry.namespaces import check_bases
from idstore.registry.naming import label_node
from idstore.registry.parties import party_after, party_quads, suspension_quad
from idstore.stores import Turn, View
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, SKOS, SPACE, closed_graph, party_name

BEGINNINGS = frozenset({IDS.Mint, IDS.Registration})
_OF_NAMESPACES = frozenset({IDS.NamespaceAddition, IDS.NamespaceAllowance, IDS.NamespaceFreeze, IDS.TypeAddition})
OF_STORAGE = frozenset({IDS.StorageAddition, IDS.StorageAllowance, IDS.Placement})
_OF_PARTIES = frozenset({IDS.Initialization, IDS.PartyAddition, IDS.Joining, IDS.Leaving, IDS.Suspension, IDS.Reinstatement})
_GENERAL = _OF_NAMESPACES | _OF_PARTIES | OF_STORAGE | {IDS.Import}


class Replaying(Core):
    """Applying events that are given rather than made."""

    def replay(self, turn: Turn, event: Event, coming: Container[str] = ()) -> None:
        """Take in an event that is not known, whatever the order in which events come.

        coming  the namespaces that are added by events to come, perhaps after others about them: another registry may have told of one before.
        Raises InvalidData when the event makes no sense here: about a namespace or an identifier that nothing created.
        """
        if event.kind in BEGINNINGS:
            self._replay_beginning(turn, event)
        elif event.kind in _OF_NAMESPACES or event.about.value in coming or event.about.value in self._facts(turn).by_base:
            self._replay_namespace(turn, event, coming)
        elif event.kind in _OF_PARTIES:
            self._replay_party(turn, event)
        elif event.kind in OF_STORAGE:
            self._replay_storage(turn, event)
        else:
            self._replay_record(turn, event)

    def check_same(self, view: View, event: Event) -> None:
        """Raise InvalidData if a known event is not what it is here: events never change.

        event  as the engine writes its terms.
        """
        known = next(view.quads(event.iri, IDS.about), None)
        assert known is not None and isinstance(known.graph_name, NamedNode)
        if not same(read_event(view, event.iri, known.graph_name), event):
            raise InvalidData(
                f"the event {event.iri.value} is another here than there, and events never change: one of the two is damaged or forged",
                id=event.iri.value,
            )

    def history(self, turn: Turn, events: Sequence[tuple[int, Event]], lost: Container[tuple[str, str]] = ()) -> History:
        """What the events about an identifier give of which nothing is known here: the same as `replay` of each, without reading.

        events  all about it, in order, each with its number.
        lost    request keys that others have, each as `request_node` names it, with the identifier that does not get it.
        Raises InvalidData as `replay` does. That no other identifier has the claims is for the caller to see to.
        """
        claims: dict[NamedNode, NamedNode] = {}
        issued: tuple[str, str, int] | None = None
        record: Record | None = None
        public: int | None = None
        for number, event in events:
            if event.kind in BEGINNINGS:
                label, place = self._beginning(turn, event)
                issued = issued or place
                said = event.text(IDS.requestDigest)
                claims[label] = event.about
                if said is not None and (request_node(said).value, event.about.value) not in lost:
                    claims |= dict(_request(turn, event))
            record = apply(record, event)
            if record is None:
                raise _unfounded(event)
            if public is None and record.public:
                public = number
        assert record is not None and issued is not None
        self._check_values(turn, record)
        told = []
        for number, event in events:
            graph = record.home(event)
            told.append(Told(number, event, graph, max(number, public or 0) if graph == PUBLIC_LOG else None))
        return History(tuple(told), record, record.lines(), tuple(claims.items()), issued)

    def _check_values(self, view: View, record: Record) -> None:
        """Raise InvalidData if an identifier has typed values whose scheme knows none."""
        namespace = self._facts(view).by_base.get(record.namespace) if record.values else None
        if namespace is not None and not namespace.valued:
            raise InvalidData(
                f"{record.iri.value} has typed values, which identifiers of the scheme {namespace.scheme_name} do not have",
                id=record.iri.value,
                scheme=namespace.scheme_name,
            )

    def _beginning(self, view: View, event: Event) -> tuple[NamedNode, tuple[str, str, int]]:
        """What stands for the label of an identifier that begins so, and where it is counted. Raises InvalidData."""
        namespace = self._home_of(view, event)
        label = event.text(SKOS.notation)
        assert label is not None
        scheme, context = namespace.scheme, namespace.context
        if scheme.iri(label, context) != event.about.value:
            raise InvalidData(f"{event.about.value} is not the identifier {label!r} of {namespace.name}", id=event.about.value, label=label)
        return label_node(namespace, label), (namespace.base, *scheme.series(label, context))

    def _replay_beginning(self, turn: Turn, event: Event) -> None:
        claimed, issued = self._beginning(turn, event)
        holder = turn.holder(claimed)
        if holder is not None:
            if holder != event.about:
                raise taken(event.about, holder)
            self._replay_record(turn, event)
            return
        record = apply(None, event)
        assert record is not None
        claims = ((claimed, event.about), *_request(turn, event))
        turn.enlist(Change(((event, record.log),), begins=True, claims=claims, issued=(issued,)))

    def _home_of(self, view: View, event: Event) -> Namespace:
        base = event.text(IDS.inNamespace) or ""
        namespace = self._facts(view).by_base.get(base)
        if namespace is None:
            raise homeless(event, base)
        return namespace

    def _replay_record(self, turn: Turn, event: Event) -> None:
        before, past = self._folded(turn, event.about)
        if not past and event.kind != IDS.Import and not _about_batch(event):
            raise _unfounded(event)
        if before is None:  # the parent event of a batch
            self._log(turn, event, home_of(event, ()) or PUBLIC_LOG, [], [])
            return
        later = bool(past) and past[-1].order > event.order
        after = fold([*past, event]) if later else apply(before, event)
        assert after is not None
        self._check_values(turn, after)
        turn.enlist(replace(self.transition(turn, before, after, event), claims=_request(turn, event)))

    def _folded(self, view: View, about: NamedNode) -> tuple[Record | None, list[Event]]:
        past = [event for event, _ in self._history(view, about)]
        return fold(past), past

    def _replay_namespace(self, turn: Turn, event: Event, coming: Container[str]) -> None:
        before = self._facts(turn).by_base.get(event.about.value)
        home = home_of(event, (event.about.value,)) or PUBLIC_LOG
        if before is None and event.kind != IDS.NamespaceAddition:
            if event.about.value not in coming:
                raise InvalidData(
                    f"the event {event.iri.value} is about the namespace {event.about.value}, which nothing has added", id=event.about.value
                )
            self._log(turn, event, home, [], [])
            return
        past = [known for known, _ in self._history(turn, event.about)]
        after = fold_namespace([*past, event])
        if before is None:
            check_bases(after, self._facts(turn).by_base.values())
        elif event.kind == IDS.NamespaceAddition:
            first = min((known for known in past if known.kind == IDS.NamespaceAddition), key=lambda known: known.order)
            check_rules(first, event)
        self._log(turn, event, home, after.quads(), before.quads() if before else [])

    def _replay_party(self, turn: Turn, event: Event) -> None:
        name = event.by if event.kind == IDS.Initialization else party_name(event.about)
        past = self._party_events(turn, name)
        graph = closed_graph(name) if event.kind in (IDS.Suspension, IDS.Reinstatement) else PUBLIC_LOG
        self._log(turn, event, graph, party_state(fold_party(name, [*past, event])), party_state(fold_party(name, past)))

    def _party_events(self, view: View, name: str) -> list[Event]:
        """Everything that the log says of a party: also that the registry began with it."""
        begun = (quad.subject for quad in view.quads(None, RDF.type, IDS.Initialization))
        first = [read_event(view, event, PUBLIC_LOG) for event in begun if isinstance(event, NamedNode)]
        return [event for event in first if event.by == name] + [event for event, _ in self._history(view, node(name))]

    def _replay_storage(self, turn: Turn, event: Event) -> None:
        past = [known for known, _ in self._history(turn, event.about)]
        try:
            before = storages.fold(past).quads() if past else []
            after = storages.fold([*past, event])
        except ValueError as error:
            raise InvalidData(
                f"the event {event.iri.value} about {event.about.value} does not say what such an event says", id=event.about.value
            ) from error
        if after.iri != event.about:
            raise InvalidData(
                f"the event {event.iri.value} is about the storage {event.about.value}, which nothing has added", id=event.about.value
            )
        self._log(turn, event, PUBLIC_LOG, after.quads(), before)


def is_general(kind: NamedNode, about: str) -> bool:
    """Whether an event of that kind is about no identifier but a namespace, a party, a batch or the registry."""
    return kind in _GENERAL or _is_batch(kind, about)


def taken(about: NamedNode, holder: NamedNode) -> InvalidData:
    """The error when another identifier has the label."""
    return InvalidData(f"{about.value} is the same name as {holder.value}, which is registered here", id=about.value)


def homeless(event: Event, base: str) -> InvalidData:
    """The error when nothing has added the namespace of an identifier by the time it begins."""
    return InvalidData(
        f"{event.about.value} belongs to the namespace {base}, which nothing has added", id=event.about.value, namespace=base
    )


def _unfounded(event: Event) -> InvalidData:
    return InvalidData(f"the event {event.iri.value} is about {event.about.value}, which nothing has created", id=event.about.value)


def check_time(turn: Turn, event: Event, ahead: int) -> None:
    """Raise InvalidData if an event comes from a clock that is further ahead, in milliseconds: what happens here from now on would be dated so as well."""
    if event.at > turn.moment + ahead:  # later events must not be earlier
        raise InvalidData(f"the event {event.iri.value} is dated {times.iso(event.at)}, which is yet to come", id=event.iri.value)


def check_rules(first: Event, other: Event) -> None:
    """Raise InvalidData if two registries, which both added a namespace, read its labels differently; the first addition is that here."""
    here, there = namespaces.apply(None, first), namespaces.apply(None, other)
    if (here.scheme_name, here.settings) != (there.scheme_name, there.settings):
        told = (f"{one.scheme_name} ({', '.join(f'{key}={value}' for key, value in one.settings)})" for one in (here, there))
        raise InvalidData(
            f"the namespace {here.base} is {' here, and there '.join(told)}: they have to be the same before the two can be merged",
            base=here.base,
        )


def _request(turn: Turn, event: Event) -> tuple[tuple[NamedNode, NamedNode], ...]:
    """The request key that an identifier was made with, to be claimed; one that made another here already stays with that."""
    said = event.text(IDS.requestDigest) if event.kind in BEGINNINGS else None
    if said is None or turn.holder(request_node(said)) is not None:
        return ()
    return ((request_node(said), event.about),)


def request_node(said: str) -> NamedNode:
    """The node that stands for a request key among the claims, from the event's `ids:requestDigest`."""
    return NamedNode(f"{SPACE}request/{said.partition(':')[0]}")


def keeps_to_itself(event: Event) -> bool:
    """Whether it is about a party or about storage: each registry has its own."""
    return event.kind in _OF_PARTIES | OF_STORAGE or _about_batch(event)


def home_of(event: Event, bases: Container[str]) -> NamedNode | None:
    """Where an event about a namespace or a party is kept; None for one about an identifier, whose record tells."""
    if event.kind in (IDS.Suspension, IDS.Reinstatement) or _about_batch(event):
        return closed_graph(party_name(event.about))
    if event.kind == IDS.Import and event.internal:  # of drafts alone
        return closed_graph(event.by)
    if event.kind in _OF_NAMESPACES | _OF_PARTIES | OF_STORAGE or event.kind == IDS.Import or event.about.value in bases:
        return PUBLIC_LOG
    return None


def fold(events: list[Event]) -> Record | None:
    """The record that a log about one identifier gives, in whatever order it is told."""
    record: Record | None = None
    for event in sorted(events, key=lambda one: one.order):
        record = apply(record, event)
    return record


def fold_namespace(events: list[Event]) -> Namespace:
    """The namespace that a log about it gives: as it was first added, and changed by all else, though another registry may have told of it before."""
    ordered = sorted(events, key=lambda one: one.order)
    first = min((event for event in ordered if event.kind == IDS.NamespaceAddition), key=lambda one: one.order)
    namespace = namespaces.apply(None, first)
    for event in ordered:
        if event is not first:
            namespace = namespaces.apply(namespace, event)
    return namespace


def fold_party(name: str, events: list[Event]) -> PartyFacts:
    """What is known of a party by the log about it, in whatever order it is told."""
    facts = PartyFacts(name)
    for event in sorted(events, key=lambda one: one.order):
        facts = party_after(facts, event)
    return facts


def _about_batch(event: Event) -> bool:
    """Whether it is the parent of a party's revocations."""
    return _is_batch(event.kind, event.about.value)


def _is_batch(kind: NamedNode, about: str) -> bool:
    return kind == IDS.Revocation and about == node(party_name(NamedNode(about))).value


def party_state(facts: PartyFacts) -> list[Quad]:
    """Everything stored of a party."""
    made = party_quads(facts) if facts.added else []
    return made + ([suspension_quad(facts.name, facts.suspended)] if facts.suspended is not None else [])
