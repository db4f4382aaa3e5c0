"""Import of identifiers issued elsewhere, from a table with their names, targets and bindings."""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from pyoxigraph import Literal, NamedNode

from idstore import wrapped
from idstore.characters import kind, unwanted
from idstore.errors import (
    AlreadyRegistered,
    AmbiguousIdentifier,
    IdstoreError,
    ImportConflict,
    InvalidIdentifier,
    NotRegistered,
    StageConflict,
)
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.names import ENOUGH, already_leading
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry import iris
from idstore.registry.allocation import Allocations
from idstore.registry.bindings import Statement
from idstore.registry.core import Core, DryRunEnded
from idstore.registry.imports.adopt import local
from idstore.registry.imports.replay import assigned_elsewhere, check_made, home_of, is_imported
from idstore.registry.lifecycle import Lifecycle
from idstore.registry.lookup import label_node, target_index
from idstore.registry.mappings import (
    LineOutcome,
    Mappings,
    Proposal,
    Verdict,
    odd,
    refusal,
    refused,
    unobserved,
)
from idstore.registry.namespace_settings import accepting
from idstore.remedies import Remedy
from idstore.schemes import Deriving
from idstore.stores.contract import Bulk, Transaction, View
from idstore.vocabulary import DCTERMS, IDS, OWL, PUBLIC_LOG, SKOS


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the table; several lines can describe one identifier.

    line       line number of the source, from 1.
    id         the identifier, in any form that the scheme of its namespace reads.
    stage      fixated, as published identifiers are, or created; None: fixated.
    leads_to   its target.
    version    version of the identified thing.
    statement  its binding.
    force      whether a target is taken that is refused otherwise: see `idstore.registry.iris`.
    outdated   why its publisher deprecated it, if so.
    successors identifiers that replace it.
    """

    line: int
    id: str
    name: str | None = None
    lang: str = UNDETERMINED
    stage: Stage | None = None
    leads_to: str | None = None
    version: str | None = None
    statement: Statement | None = None
    force: bool = False
    outdated: str | None = None
    successors: tuple[str, ...] = ()


class _Batches:
    """The batch events of one import.

    bulk    the bulk change that they belong to.
    note    source of the table.
    keep_going, force  see `ListImport.enrol`.
    logged  by base of the namespace: the event for public lines (True), and the one for private lines
            (False), if there are any.
    begun   IRIs of the identifiers that it registered.
    """

    def __init__(self, bulk: Bulk, note: str, *, keep_going: bool, force: bool) -> None:
        self.bulk = bulk
        self.note = note
        self.keep_going = keep_going
        self.force = force
        self.logged: dict[tuple[str, bool], Event] = {}
        self.begun: set[str] = set()


class ListImport(Mappings, Allocations):
    """Import of tables of identifiers."""

    def enrol(
        self,
        namespace: str | None,
        listed: Iterable[Listed],
        party: Party,
        note: str,
        *,
        keep_going: bool = False,
        dry_run: bool = False,
        force: bool = False,
        on_outcome: Callable[[LineOutcome], object] = unobserved,
    ) -> list[LineOutcome]:
        """Register the missing identifiers of a table, and add what it states; none if a line is refused.

        namespace   the namespace of all lines, by name or base; its scheme reads the identifiers. None: each
                    line has a whole identifier, and belongs to the namespace that this states.
        note        source of the table, for the log.
        keep_going  leave out refused lines, and carry out the others. A line whose identifier is fine and
                    whose binding is refused registers the identifier.
        dry_run     only predict the outcomes.
        force       also take labels that tell a time in the future, and lines about local identifiers where
                    another registry assigns the labels; the log says so.
        on_outcome  called with each outcome in turn; if it raises, nothing is changed.

        Only administrators may, and they own the new identifiers. A line that contradicts existing data
        changes none of it, but its binding is added. A repeated call changes nothing. Returns one outcome for
        each line, in order. An import with public lines is public; an import of drafts alone is logged as
        privately as they are.
        Raises UnknownNamespace, NotPermitted, ImportConflict, StoreUnavailable.
        Cost: as a registration and a binding for each line, and one commit. Memory: the outcomes.
        """
        self.core.only_administrators(party, acting=True)
        home = (
            None if namespace is None else self.store.read(lambda view: self.core.namespace(view, namespace))
        )
        outcomes: list[LineOutcome] = []
        try:
            with self.store.bulk(dry_run=dry_run) as bulk:
                batches = _Batches(
                    bulk, f"{note} (forced)" if force else note, keep_going=keep_going, force=force
                )
                importer, before = ListImport(Core(bulk)), bulk.sequence
                for line in listed:
                    outcomes.append(importer.outcome(home, line, party, batches))
                    on_outcome(outcomes[-1])
                failed = refused(outcomes) and not keep_going
                if failed or bulk.sequence == before:
                    raise DryRunEnded  # noqa: TRY301 the bulk has no effect
        except DryRunEnded:
            pass
        return outcomes

    def batch(
        self, transaction: Transaction, namespace: Namespace, party: Party, batches: _Batches, *, public: bool
    ) -> Event:
        """Return the event that tells everyone, or the importer alone, of the import.

        The event is logged with the first line of its kind. An import of drafts alone is known to the
        importer alone; an import of both kinds has two events.
        """
        logged = batches.logged.get((namespace.base, public))
        if logged is not None:
            return logged
        secrecy: list[tuple[NamedNode, Term]] = [] if public else [(IDS.internal, TRUE)]
        note = Literal(terms.check_text(batches.note, "note"))
        event = self.core.event(transaction, IDS.Import, namespace.iri, party, (SKOS.note, note), *secrecy)
        self.core.log_event(transaction, event, home_of(event, ()) or PUBLIC_LOG, [], [])
        return event

    def outcome(self, home: Namespace | None, line: Listed, party: Party, batches: _Batches) -> LineOutcome:
        """Carry out one line, and return its outcome."""
        try:
            namespace, label = self._place(batches.bulk, home, line.id)
            iri, results = self._carry_out_line(namespace, label, line, party, batches)
        except ImportConflict as error:
            if not batches.keep_going:
                raise
            return refusal(line.line, line.id, error)
        except InvalidIdentifier as error:
            meant = home or self.core.facts(batches.bulk).index.home(line.id)
            hint = None if meant is None else accepting(meant, line.id)
            reason = error.message if hint is None else f"{error.message}; with {hint} it would be one"
            return LineOutcome(line.line, "malformed", line.id, reason)
        except IdstoreError as error:
            return refusal(line.line, line.id, error)
        verdicts = {verdict for verdict, _ in results}
        begun = iri in batches.begun
        verdict: Verdict = "new" if begun and "new" in verdicts else "known"
        if "contradictory" in verdicts:
            verdict = "contradictory"
        return LineOutcome(
            line.line,
            verdict,
            iri,
            "; ".join(reason for told, reason in results if reason and not (begun and told == "new")),
            "; ".join(filter(None, self._warnings(line, (namespace, label, iri), party, verdicts, batches))),
        )

    def _place(self, view: View, home: Namespace | None, text: str) -> tuple[Namespace, str]:
        """Return the namespace and the label of an identifier in the table.

        Raises InvalidIdentifier, NotRegistered (no namespace has it), AmbiguousIdentifier.
        """
        if home is not None:
            return home, self.core.facts(view).index.label(home, text)
        readings = self._readings(view, text, whole=True)
        if not readings:
            raise self._unplaced(view, text)
        if len(readings) > 1:
            raise AmbiguousIdentifier(
                text, sorted(space.scheme.iri(label, space.context) for space, label in readings)
            )
        return readings[0]

    def _unplaced(self, view: View, text: str) -> IdstoreError:
        """Return the error for an identifier that no namespace has."""
        error = self._unreadable(view, text)
        if type(error) is not NotRegistered:  # also an unknown NAMESPACE:
            return error
        return NotRegistered(
            text,
            f"{text!r} belongs to no namespace here; add one, or remove the line",
            remedy=Remedy.ADD_NAMESPACE,
        )

    def _carry_out_line(
        self, namespace: Namespace, label: str, line: Listed, party: Party, batches: _Batches
    ) -> tuple[str, list[tuple[Verdict, str]]]:
        """Carry out a line. Return the IRI of its identifier, and verdicts with reasons."""
        claim_node, before = label_node(namespace, label), batches.bulk.sequence
        public = _published(line)

        def begin(transaction: Transaction) -> Record | Event:
            """Return the record of a taken label, else the batch that the new identifier is part of."""
            claim = transaction.claim(claim_node)
            if claim is not None:
                record = self._held(transaction, claim.holder)
                if public and not batches.force:
                    self._check_imported(transaction, namespace, record, line)
                return record
            if not batches.force:
                check_made(namespace, label, transaction.moment)
            related = self._relations(transaction, namespace, label, public=public)
            batch = self.batch(transaction, namespace, party, batches, public=public)
            self._begin(
                transaction,
                namespace,
                (label, claim_node),
                IDS.Registration,
                party,
                [*self._arguments(transaction, line, namespace, label, batch), *related],
            )
            return batch

        result = self.core.act(party, begin)
        if isinstance(result, Event):
            batches.logged[namespace.base, public] = result
            iri = namespace.scheme.iri(label, namespace.context)
            batches.begun.add(iri)
            results: list[tuple[Verdict, str]] = [("new", "")]
        else:
            iri = result.iri  # its spelling can be another one than that of the line
            results = [("known", ""), *self._compare_line(result, line, party)]
        if line.statement is not None:
            _, verdict, reason = self.carry_out(Proposal(line.line, "bind", iri, line.statement), party)
            results.append((verdict, "its binding is new" if verdict == "new" else reason))
        if line.outdated is not None and not self.show(iri, party).deprecated:
            Lifecycle(self.core).deprecate(iri, line.outdated, party, line.successors)
            results.append(("new", "its deprecation is new"))
        if isinstance(result, Record) and batches.bulk.sequence != before:
            changed = result.public
            batches.logged[namespace.base, changed] = self.core.act(
                party, lambda transaction: self.batch(transaction, namespace, party, batches, public=changed)
            )
        return iri, results

    def _warnings(
        self,
        line: Listed,
        identifier: tuple[Namespace, str, str],
        party: Party,
        verdicts: Container[str],
        batches: _Batches,
    ) -> Iterator[str]:
        """Yield what to warn of: empty texts, too."""
        namespace, label, iri = identifier
        if iri in batches.begun:
            yield self._odd(batches.bulk, namespace, label)
            yield wrapped.missing("name", line.name or "")
        yield wrapped.doubt_of_address(line.leads_to or "")
        yield odd(line.statement) if line.statement is not None else ""
        yield self._shared(line, iri, party, verdicts)

    def _odd(self, view: View, namespace: Namespace, label: str) -> str:
        """Return what to warn of: a label with a character that is not seen, or with something around it."""
        if (found := unwanted().search(label)) is not None:
            return f"U+{ord(found.group()):04X} in its label is {kind(found.group())}"
        try:
            self.core.facts(view).index.check_unwrapped(namespace, label)
        except InvalidIdentifier as error:
            return error.reason.partition(";")[0]
        return wrapped.doubt(label)

    def _shared(self, line: Listed, iri: str, party: Party, verdicts: Container[str]) -> str:
        """Return what to warn of: other identifiers that lead or are bound to a target that a line sets."""
        if line.leads_to is None or "new" not in verdicts:
            return ""
        others = [other for other in self.bound_to(line.leads_to, party, ENOUGH) if other != iri]
        return already_leading(str(line.leads_to), others) if others else ""

    def _relations(
        self, view: View, namespace: Namespace, label: str, *, public: bool
    ) -> list[tuple[NamedNode, Term]]:
        """Return the arguments that follow from the form of a label: what it is below, or an old copy of.

        Raises StageConflict if a public identifier would name a draft.
        """
        if not isinstance(namespace.scheme, Deriving):
            return []
        relations = namespace.scheme.relations(label)
        named = (
            (predicate, NamedNode(namespace.scheme.iri(other, namespace.context)))
            for predicate, other in (
                (IDS.below, relations.below),
                (DCTERMS.isReplacedBy, relations.replaced_by),
            )
            if other is not None
        )
        arguments: list[tuple[NamedNode, Term]] = []
        for predicate, iri in named:
            stages = [quad.object for quad in view.quads(iri, IDS.stage)]
            if public and IDS.Created in stages:
                raise StageConflict(
                    f"{label} names {iri.value}, which is not published; fixate that first", id=iri.value
                )
            arguments.append((predicate, iri))
        if relations.kind is not None:
            arguments.append((IDS.kind, Literal(relations.kind)))
        return arguments

    def _held(self, view: View, holder: NamedNode) -> Record:
        """Return the record of a taken label. Raises AlreadyRegistered if it was released."""
        if next(view.quads(holder, IDS.stage), None) is None:
            raise AlreadyRegistered(
                f"{holder.value} was issued here and released; it is never issued again", id=holder.value
            )
        return self.core.load(view, holder)

    def _check_imported(self, view: View, namespace: Namespace, record: Record, line: Listed) -> None:
        """Raise ImportConflict if another registry assigns the label, and no import registered the record."""
        if assigned_elsewhere(namespace) and not is_imported(
            event for event, _ in self.core.history(view, record.node)
        ):
            named = f" as {line.name!r}" if line.name is not None else ""
            raise ImportConflict(
                f"line {line.line} lists {record.label}{named}, which is {local(record)} here; nothing was"
                " imported; decide which of the two has the name, or insist",
                line=line.line,
                id=record.iri,
                remedy=Remedy.INSIST,
            )

    def _compare_line(self, record: Record, line: Listed, party: Party) -> Iterator[tuple[Verdict, str]]:
        """Add what is missing, and report what differs here."""
        iri, names = record.iri, dict(record.names)
        if line.stage is not None and line.stage is not record.stage:
            yield "contradictory", f"it is {record.stage} here"
        if line.version is not None and line.version != record.version:
            yield (
                "contradictory",
                f"its version is {record.version!r} here" if record.version else "it has no version here",
            )
        if line.name is not None and line.lang not in names:
            self.name(iri, line.name, party, line.lang)
            yield "new", f"its name {line.name!r} is new"
        elif line.name is not None and names[line.lang] != line.name:
            yield "contradictory", f"it is called {names[line.lang]!r} here"
        if line.leads_to is not None and record.target is None:
            self.target(iri, line.leads_to, party, force=line.force)
            yield "new", f"its target {line.leads_to} is new"
        elif line.leads_to is not None and record.target is not None:
            facts, target = self.store.read(self.core.facts), record.target
            readings = iris.readings(line.leads_to, facts)
            if not any(facts.names.same(target, reading) for reading in readings):
                yield "contradictory", f"it leads to {target} here"

    def _arguments(
        self, view: View, line: Listed, namespace: Namespace, label: str, batch: Event
    ) -> list[tuple[NamedNode, Term]]:
        """Return the arguments of a new identifier's event. Raises InvalidData."""
        arguments: list[tuple[NamedNode, Term]] = []
        if _published(line):
            arguments.append((IDS.stage, IDS.Fixated))
        if line.name is not None:
            lang = line.lang if line.lang == UNDETERMINED else terms.language(line.lang)
            arguments.append((IDS.name, terms.tagged(terms.check_text(line.name, "name"), lang)))
        if line.leads_to is not None:
            own, facts = namespace.scheme.iri(label, namespace.context), self.core.facts(view)
            target = iris.target(line.leads_to, facts, own, force=line.force)
            arguments += [(IDS.target, target), *target_index(namespace)]
            arguments += iris.insisted(partial(iris.target, line.leads_to, facts, own), force=line.force)
        if line.version is not None:
            arguments.append((OWL.versionInfo, Literal(terms.check_text(line.version, "version"))))
        return [*arguments, (DCTERMS.isPartOf, batch.node)]


def _published(line: Listed) -> bool:
    """Return whether a new identifier of this line is public."""
    return line.stage in (None, Stage.FIXATED)
