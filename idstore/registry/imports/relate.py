"""Import of published statements about identifiers: their relations to each other, and their successors."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from pyoxigraph import Literal, NamedNode

from idstore.model import terms
from idstore.model.names import Names
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.steps import apply_all
from idstore.model.terms import Term
from idstore.registry.bindings import Statement
from idstore.registry.lookup import Lookup, label_node
from idstore.stores.contract import Bulk, Transaction, View
from idstore.vocabulary import DCTERMS, IDS, PUBLIC_LOG, SKOS

Key = tuple[NamedNode, NamedNode]
"""A relation and its target."""
Find = Callable[[str], Record | None]
"""Returns the record of a label, if it is public."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Statements about an identifier; labels are canonical ones of the namespace.

    relations    the IRI of each relation, and the label of its target.
    deprecation  the reason of deprecation; None if it is not deprecated.
    successors   labels of its successors.
    elsewhere    the IRI of each relation to something outside the namespace, and its IRI.
    """

    label: str
    relations: tuple[tuple[str, str], ...] = ()
    deprecation: str | None = None
    successors: tuple[str, ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Related:
    """The result of an import, real or predicted; identifiers by IRI.

    bound       identifier, relation and target: bound by the import.
    deprecated  identifier, reason and successors: deprecated by the import.
    unchanged   number of relations that existed before.
    vanished    bound before by one of these relations within the namespace, but no longer stated: reported,
                never unbound.
    passed      what was skipped, and why, a sentence each.
    """

    bound: tuple[tuple[str, str, str], ...] = ()
    deprecated: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    unchanged: int = 0
    vanished: tuple[tuple[str, str, str], ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the import changes anything."""
        return bool(self.bound or self.deprecated)


@dataclass(slots=True)
class _Step:
    """The changes to one record."""

    record: Record
    bind: list[Key] = field(default_factory=list)
    reason: str | None = None
    successors: list[NamedNode] = field(default_factory=list)


@dataclass(slots=True)
class _RelationPlan:
    """The changes of an import."""

    steps: list[_Step] = field(default_factory=list)
    unchanged: int = 0
    vanished: list[tuple[str, str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def report(self) -> Related:
        """Return the plan as plain values."""
        bound = [
            (step.record.iri, relation.value, target.value)
            for step in self.steps
            for relation, target in step.bind
        ]
        outdated = [
            (step.record.iri, step.reason, tuple(iri.value for iri in step.successors))
            for step in self.steps
            if step.reason is not None
        ]
        return Related(
            tuple(bound), tuple(outdated), self.unchanged, tuple(self.vanished), tuple(self.passed)
        )


class RelationImport(Lookup):
    """Import of published relations."""

    def relate(
        self, name: str, stated: Iterable[Stated], party: Party, note: str, *, dry_run: bool = False
    ) -> Related:
        """Bind identifiers of a namespace to each other, and deprecate them, as published. All or none.

        name     the namespace, by name or base.
        stated   the publisher's statements.
        note     their source, for the log.
        dry_run  only report.

        Only administrators may. Only fixated identifiers are bound, and only to published ones; statements
        about others are skipped and reported. Without differences nothing is written. Nothing is unbound.
        Raises UnknownNamespace, NotPermitted, InvalidData (a relation that is reserved for records),
        StoreUnavailable.
        Cost: one read for each identifier; the changes are one large change.
        """
        self.core.only_administrators(party)
        listed = list(stated)
        with self.store.snapshot() as snapshot:
            self.core.check_acting(snapshot, party)
            report = self._plan_relations(snapshot, self.core.namespace(snapshot, name), listed).report()
        if dry_run or not report.changes:
            return report
        with self.store.bulk() as bulk:
            return self.relate_within(bulk, name, listed, party, note)

    def relate_within(
        self, bulk: Bulk, name: str, stated: Iterable[Stated], party: Party, note: str
    ) -> Related:
        """Do what `relate` does as a part of a large change."""
        self.core.check_acting(bulk, party)
        namespace = self.core.namespace(bulk, name)
        plan = self._plan_relations(bulk, namespace, stated)
        if plan.steps:
            self._log_relations(bulk, namespace, plan, party, terms.check_text(note, "note"))
        return plan.report()

    def _plan_relations(self, view: View, namespace: Namespace, stated: Iterable[Stated]) -> _RelationPlan:
        plan = _RelationPlan()
        listed = list(stated)
        relations = {relation for statement in listed for relation, _ in statement.relations}
        find, names = cache(partial(self._published, view, namespace)), self.core.facts(view).names
        for statement in listed:
            record = find(statement.label)
            if record is None or record.stage is not Stage.FIXATED:
                plan.passed.append(f"{statement.label} is not registered here, or not as fixated")
                continue
            step = _Step(record)
            _plan_bindings(find, names, statement, step, plan)
            _plan_deprecation(find, statement, step, plan)
            plan.vanished += _vanished(step.record, find, names, statement, relations)
            if step.bind or step.reason is not None:
                plan.steps.append(step)
        return plan

    def _published(self, view: View, namespace: Namespace, label: str) -> Record | None:
        """Return the record of a label, if it is public."""
        claim = view.claim(label_node(namespace, label))
        if claim is None or next(view.quads(claim.holder, IDS.stage), None) is None:
            return None
        record = self.core.load(view, claim.holder)
        return record if record.public else None

    def _log_relations(
        self, transaction: Transaction, namespace: Namespace, plan: _RelationPlan, party: Party, note: str
    ) -> None:
        batch = self.core.event(transaction, IDS.Import, namespace.iri, party, (SKOS.note, Literal(note)))
        self.core.log_event(transaction, batch, PUBLIC_LOG, [], [])
        for step in plan.steps:
            events = [
                self.core.event(
                    transaction, kind, step.record.node, party, *arguments, (DCTERMS.isPartOf, batch.node)
                )
                for kind, arguments in _acts(step)
            ]
            self.core.enlist(
                transaction,
                self.core.transition(transaction, step.record, apply_all(step.record, events), *events),
            )


def _plan_bindings(find: Find, names: Names, statement: Stated, step: _Step, plan: _RelationPlan) -> None:
    existing = {(binding.relation, names.key(binding.target)) for binding in step.record.bindings}
    requested: dict[Key, None] = {
        (terms.iri(relation, "IRI of a relation"), terms.iri(target, "IRI to bind to")): None
        for relation, target in statement.elsewhere
    }
    for relation, label in statement.relations:
        other = find(label)
        if other is None:
            plan.passed.append(f"{statement.label} is related to {label}, which is not registered here")
        else:
            requested[terms.iri(relation, "IRI of a relation"), other.node] = None
    step.bind += [
        (relation, target)
        for relation, target in requested
        if (relation.value, names.key(target.value)) not in existing
    ]
    plan.unchanged += len(requested) - len(step.bind)


def _vanished(
    record: Record, find: Find, names: Names, statement: Stated, relations: Container[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the bindings by these relations to identifiers of the namespace that are no longer stated."""
    stated = {
        (relation, names.key(other.iri))
        for relation, label in statement.relations
        if (other := find(label)) is not None
    }
    for binding in record.bindings:
        relation, target = binding.relation, binding.target
        if (
            relation in relations
            and names.kind(target) == record.namespace
            and (relation, names.key(target)) not in stated
        ):
            yield record.iri, relation, target


def _plan_deprecation(find: Find, statement: Stated, step: _Step, plan: _RelationPlan) -> None:
    if statement.deprecation is None:
        return
    for label in statement.successors:
        other = find(label)
        if other is None:
            plan.passed.append(f"{statement.label} is replaced by {label}, which is not registered here")
        elif other.iri == step.record.iri:
            plan.passed.append(f"{statement.label} is said to be replaced by itself")
        else:
            step.successors.append(other.node)
    before = step.record
    if (
        not before.deprecated
        or before.reason != statement.deprecation
        or not {one.value for one in step.successors} <= {*before.successors}
    ):
        step.reason = statement.deprecation


def _acts(step: _Step) -> Iterator[tuple[NamedNode, list[tuple[NamedNode, Term]]]]:
    """Yield the kind and the arguments of each event."""
    for relation, target in step.bind:
        yield IDS.Bind, Statement(target.value, relation.value).arguments()
    if step.reason is not None:
        arguments: list[tuple[NamedNode, Term]] = [
            (IDS.reason, Literal(terms.check_text(step.reason, "reason")))
        ]
        yield (
            IDS.Deprecation,
            arguments + [(DCTERMS.isReplacedBy, iri) for iri in step.successors],
        )
