"""Import of identifiers that another registry publishes, such as PRONOM's: fixated, with their labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import Literal, NamedNode

from idstore.errors import ImportConflict, InvalidData
from idstore.model import terms
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry.allocation import Allocations
from idstore.registry.imports.replay import is_imported
from idstore.registry.lookup import label_node
from idstore.remedies import Remedy
from idstore.stores.contract import Bulk, Transaction, View
from idstore.vocabulary import DCTERMS, IDS, OWL, PUBLIC_LOG, SKOS


@dataclass(frozen=True, slots=True)
class Published:
    """An identifier as its registry publishes it; ``version`` is the version of the identified thing."""

    label: str
    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Renaming:
    """An identifier whose name or version changed.

    old_name, old_version  as registered before.
    name, version          as published now.
    """

    iri: str
    old_name: str
    old_version: str | None
    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Adoption:
    """The result of an import, real or predicted.

    Identifiers by IRI, in the publisher's order, ``vanished`` sorted.
    namespace  base of the namespace.
    new        registered by the import.
    renamed    registered before, with another name or version.
    vanished   registered before, but no longer published: reported, never deleted.
    unchanged  registered before, with the same name and version.
    kept       a tombstone here, or a local identifier of another thing: left as it is.
    withdrawn  the tombstones of ``kept``.
    """

    namespace: str
    new: tuple[str, ...] = ()
    renamed: tuple[Renaming, ...] = ()
    vanished: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the import changes anything."""
        return bool(self.new or self.renamed)


@dataclass(slots=True)
class _AdoptionPlan:
    """The published entries, sorted by the change they need.

    contested  for each entry whose label belongs to a local identifier, a phrase that names both.
    """

    new: dict[str, Published] = field(default_factory=dict)
    renamed: list[tuple[Record, Published]] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    contested: list[str] = field(default_factory=list)

    def report(self, namespace: Namespace) -> Adoption:
        renamed = (
            Renaming(record.iri, _name(record), record.version, entry.name, entry.version)
            for record, entry in self.renamed
        )
        return Adoption(
            namespace.base,
            tuple(self.new),
            tuple(renamed),
            tuple(self.vanished),
            tuple(self.unchanged),
            tuple(self.kept),
            tuple(self.withdrawn),
        )


class PublisherImport(Allocations):
    """Import of a publisher's list."""

    def adopt(
        self,
        name: str,
        published: Iterable[Published],
        party: Party,
        note: str,
        *,
        dry_run: bool = False,
        force: bool = False,
    ) -> Adoption:
        """Bring a namespace up to date with its publisher's list: register new entries, update names.

        All or none.
        name       the namespace, by name or base.
        published  the complete list, with canonical labels of the namespace's scheme.
        note       source of the list, for the log.
        dry_run    only report.
        force      leave local identifiers as they are, and import the other entries.

        Only administrators may. Without differences nothing is written.
        Raises UnknownNamespace, NotPermitted, InvalidData (a label twice, a name that cannot be stored),
        ImportConflict (a label belongs to a local identifier, which no import registered), StoreUnavailable.
        Cost: one read for each entry; the changes are one large change. Memory: the list.
        """
        self.core.only_administrators(party)
        listed = list(published)
        with self.store.snapshot() as snapshot:
            self.core.check_acting(snapshot, party)
            namespace = self.core.namespace(snapshot, name)
            adoption = self._plan(snapshot, namespace, listed, force=force).report(namespace)
        if dry_run or not adoption.changes:
            return adoption
        with self.store.bulk() as bulk:
            return self.adopt_within(bulk, name, listed, party, note, force=force)

    def adopt_within(
        self,
        bulk: Bulk,
        name: str,
        published: Iterable[Published],
        party: Party,
        note: str,
        *,
        force: bool = False,
    ) -> Adoption:
        """Do what `adopt` does as a part of a large change."""
        self.core.check_acting(bulk, party)
        namespace = self.core.namespace(bulk, name)
        plan = self._plan(bulk, namespace, published, force=force)
        adoption = plan.report(namespace)
        if adoption.changes:
            self._carry_out(bulk, namespace, plan, party, terms.check_text(note, "note"))
        return adoption

    def _plan(
        self, view: View, namespace: Namespace, listed: Iterable[Published], *, force: bool
    ) -> _AdoptionPlan:
        plan = _AdoptionPlan()
        seen: set[NamedNode] = set()
        for entry in listed:
            claim_node = label_node(namespace, entry.label)
            if claim_node in seen:
                raise InvalidData(f"{entry.label} is listed twice", label=entry.label)
            seen.add(claim_node)
            claim = view.claim(claim_node)
            if claim is None:
                plan.new[namespace.scheme.iri(entry.label, namespace.context)] = entry
            else:
                self._compare(view, claim.holder, entry, plan)
        if plan.contested and not force:
            raise _conflict(namespace, plan.contested)
        here = view.catalogue.sorted_identifiers(namespace=namespace.base)
        present = {*plan.unchanged, *plan.kept, *(record.iri for record, _ in plan.renamed)}
        plan.vanished = [iri for iri in here if iri not in present]
        return plan

    def _compare(self, view: View, holder: NamedNode, entry: Published, plan: _AdoptionPlan) -> None:
        """Add an entry to the plan whose label is already taken here."""
        if next(view.quads(holder, IDS.stage), None) is None:
            plan.kept.append(holder.value)
            plan.contested.append(f"{entry.label} ({_titled(entry)}) was issued here and released")
            return
        record = self.core.load(view, holder)
        if record.stage is Stage.TOMBSTONE:
            plan.withdrawn.append(holder.value)
        if record.stage is Stage.FIXATED and (_name(record), record.version) == (entry.name, entry.version):
            plan.unchanged.append(holder.value)
        elif not is_imported(event for event, _ in self.core.history(view, holder)):
            plan.kept.append(holder.value)
            plan.contested.append(f"{entry.label} ({_titled(entry)}) is {local(record)} here")
        elif record.stage is Stage.FIXATED:
            plan.renamed.append((record, entry))
        else:
            plan.kept.append(holder.value)

    def _carry_out(
        self, transaction: Transaction, namespace: Namespace, plan: _AdoptionPlan, party: Party, note: str
    ) -> None:
        batch = self.core.event(transaction, IDS.Import, namespace.iri, party, (SKOS.note, Literal(note)))
        self.core.log_event(transaction, batch, PUBLIC_LOG, [], [])
        part: tuple[NamedNode, Term] = (DCTERMS.isPartOf, batch.node)
        for entry in plan.new.values():
            arguments: list[tuple[NamedNode, Term]] = [
                (IDS.stage, IDS.Fixated),
                (IDS.name, _text(entry.name)),
            ]
            if entry.version is not None:
                arguments.append((OWL.versionInfo, _text(entry.version)))
            name = (entry.label, label_node(namespace, entry.label))
            self._begin(transaction, namespace, name, IDS.Registration, party, [*arguments, part])
        for record, entry in plan.renamed:
            event = self.core.event(
                transaction, IDS.Naming, record.node, party, *_renaming(record, entry), part
            )
            self.core.record_events(transaction, record, event)


_NAMED: Final = 5
"""Number of contested labels that an error names."""


def _conflict(namespace: Namespace, contested: Sequence[str]) -> ImportConflict:
    more = f"; and {len(contested) - _NAMED} more" if len(contested) > _NAMED else ""
    return ImportConflict(
        f"in {namespace.name}, {'; '.join(contested[:_NAMED])}{more}; nothing was imported; decide which of"
        " the two has the name, or insist, to leave these as they are and import the others",
        namespace=namespace.name,
        contested=[*contested],
        remedy=Remedy.INSIST,
    )


def local(record: Record) -> str:
    """Describe a local identifier."""
    name = f", {_name(record)!r}" if _name(record) else ""
    return f"the {record.stage.value} {record.iri} of {record.owner}{name}"


def _titled(entry: Published) -> str:
    return repr(entry.name if entry.version is None else f"{entry.name} {entry.version}")


def _renaming(record: Record, entry: Published) -> Iterable[tuple[NamedNode, Term]]:
    if entry.name != _name(record):
        yield IDS.name, _text(entry.name)
    if entry.version != record.version:
        yield OWL.versionInfo, Literal("") if entry.version is None else _text(entry.version)


def _name(record: Record) -> str:
    """Return the name without a language, or an empty text."""
    names: Mapping[str, str] = dict(record.names)
    return names.get(UNDETERMINED, "")


def _text(text: str) -> Literal:
    return Literal(terms.check_text(text, "name"))
