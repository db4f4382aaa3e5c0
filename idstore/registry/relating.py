"""Taking over what another registry says of its identifiers: how they are related to each other, and which ones replace others."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from pyoxigraph import Literal, NamedNode

from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.registry.bindings import Statement
from idstore.registry.naming import Naming, label_node
from idstore.stores import Turn, View
from idstore.vocabulary import DCTERMS, IDS, PUBLIC_LOG, SKOS

Key = tuple[NamedNode, NamedNode]
"""A relation, and what it leads to."""
Find = Callable[[str], Record | None]
"""The record of a label, if everyone sees it."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What is said of an identifier; labels are canonical ones of the namespace.

    relations    the IRI of each relation, and the label of what it leads to.
    deprecation  why it is deprecated; None if it is not.
    successors   labels of what replaces it.
    """

    label: str
    relations: tuple[tuple[str, str], ...] = ()
    deprecation: str | None = None
    successors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Related:
    """What was, or would be, taken over; identifiers by IRI.

    bound       identifier, relation and what it leads to: bound now.
    deprecated  identifier, reason and successors: marked as outdated now.
    unchanged   how many relations were there before.
    vanished    bound before, by one of these relations within the namespace, and not stated any more: reported, never unbound.
    passed      what was not taken over, and why, a sentence each.
    """

    bound: tuple[tuple[str, str, str], ...] = ()
    deprecated: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    unchanged: int = 0
    vanished: tuple[tuple[str, str, str], ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return bool(self.bound or self.deprecated)


@dataclass(slots=True)
class _Step:
    """What is to be said of one record."""

    record: Record
    bind: list[Key] = field(default_factory=list)
    reason: str | None = None
    successors: list[NamedNode] = field(default_factory=list)


@dataclass(slots=True)
class _Plan:
    """What is to be done."""

    steps: list[_Step] = field(default_factory=list)
    unchanged: int = 0
    vanished: list[tuple[str, str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def report(self) -> Related:
        """In words that need no store."""
        bound = [(step.record.iri.value, relation.value, target.value) for step in self.steps for relation, target in step.bind]
        outdated = [
            (step.record.iri.value, step.reason, tuple(one.value for one in step.successors))
            for step in self.steps
            if step.reason is not None
        ]
        return Related(tuple(bound), tuple(outdated), self.unchanged, tuple(self.vanished), tuple(self.passed))


class Relating(Naming):
    """Keeping up with relations that are published elsewhere."""

    def relate(self, name: str, stated: Iterable[Stated], party: Party, note: str, *, dry_run: bool = False) -> Related:
        """Bind identifiers of a namespace to each other, and mark those that are deprecated, as their publisher says. All or nothing.

        name     the namespace, by name or base.
        stated   what the publisher says.
        note     where that comes from, for the log.
        dry_run  report only.

        Only administrators may. Only fixated identifiers are bound, and to published ones; what is said of others is passed over, and told.
        When nothing differs, nothing is written. Nothing is unbound.
        Raises UnknownNamespace, NotPermitted, InvalidData (a relation that carries the record itself), StoreUnavailable.
        Cost: each identifier is read; what changes is written as one large change.
        """
        self.only_administrators(party)
        listed = list(stated)
        with self.store.reading() as view:
            self._may_act(view, party)
            found = self._plan_relations(view, self._namespace(view, name), listed).report()
        if dry_run or not found.changes:
            return found
        with self.store.staging() as staged:
            self._may_act(staged, party)
            namespace = self._namespace(staged, name)
            plan = self._plan_relations(staged, namespace, listed)
            if plan.steps:
                self._say_relations(staged, namespace, plan, party, terms.plain(note, "note"))
        return plan.report()

    def _plan_relations(self, view: View, namespace: Namespace, stated: Iterable[Stated]) -> _Plan:
        plan = _Plan()
        listed = list(stated)
        relations = {relation for one in listed for relation, _ in one.relations}
        find = cache(partial(self._published, view, namespace))
        for one in listed:
            record = find(one.label)
            if record is None or record.stage is not Stage.FIXATED:
                plan.passed.append(f"{one.label} is not registered here, or not as fixated")
                continue
            step = _Step(record)
            _plan_bindings(find, one, step, plan)
            _plan_deprecation(find, one, step, plan)
            plan.vanished += _gone(step.record, find, one, relations, namespace.base)
            if step.bind or step.reason is not None:
                plan.steps.append(step)
        return plan

    def _published(self, view: View, namespace: Namespace, label: str) -> Record | None:
        """The record of a label, if everyone sees it."""
        holder = view.holder(label_node(namespace, label))
        if holder is None or next(view.quads(holder, IDS.stage), None) is None:
            return None
        record = self._load(view, holder)
        return record if record.public else None

    def _say_relations(self, turn: Turn, namespace: Namespace, plan: _Plan, party: Party, note: str) -> None:
        batch = self._event(turn, IDS.Import, namespace.iri, party, (SKOS.note, Literal(note)))
        self._log(turn, batch, PUBLIC_LOG, [], [])
        for step in plan.steps:
            made = [self._event(turn, kind, step.record.iri, party, *said, (DCTERMS.isPartOf, batch.iri)) for kind, said in _acts(step)]
            turn.enlist(self.transition(turn, step.record, _after(step.record, made), *made))


def _plan_bindings(find: Find, one: Stated, step: _Step, plan: _Plan) -> None:
    there = {(known.relation, known.target) for known in step.record.bindings}
    wanted: dict[Key, None] = {}
    for relation, label in one.relations:
        other = find(label)
        if other is None:
            plan.passed.append(f"{one.label} is related to {label}, which is not registered here")
        else:
            wanted[terms.iri(relation, "IRI of a relation"), other.iri] = None
    step.bind += [key for key in wanted if key not in there]
    plan.unchanged += len(wanted) - len(step.bind)


def _gone(record: Record, find: Find, one: Stated, relations: Container[str], base: str) -> Iterator[tuple[str, str, str]]:
    """The bindings by one of the relations to identifiers of the namespace that are not stated."""
    stated = {(relation, other.iri.value) for relation, label in one.relations if (other := find(label)) is not None}
    for known in record.bindings:
        relation, target = known.relation.value, known.target.value
        if relation in relations and target.startswith(base) and (relation, target) not in stated:
            yield record.iri.value, relation, target


def _plan_deprecation(find: Find, one: Stated, step: _Step, plan: _Plan) -> None:
    if one.deprecation is None:
        return
    for label in one.successors:
        other = find(label)
        if other is None:
            plan.passed.append(f"{one.label} is replaced by {label}, which is not registered here")
        elif other.iri == step.record.iri:
            plan.passed.append(f"{one.label} is said to be replaced by itself")
        else:
            step.successors.append(other.iri)
    before = step.record
    if not before.deprecated or before.reason != one.deprecation or not {*step.successors} <= {*before.successors}:
        step.reason = one.deprecation


def _acts(step: _Step) -> Iterator[tuple[NamedNode, list[tuple[NamedNode, Term]]]]:
    """Kind and arguments of each event."""
    for relation, target in step.bind:
        yield IDS.Bind, Statement(target.value, relation.value).arguments()
    if step.reason is not None:
        said: list[tuple[NamedNode, Term]] = [(IDS.reason, Literal(terms.plain(step.reason, "reason")))]
        yield IDS.Deprecation, said + [(DCTERMS.isReplacedBy, one) for one in step.successors]


def _after(record: Record, made: Iterable[Event]) -> Record:
    for event in made:
        after = apply(record, event)
        assert after is not None
        record = after
    return record
