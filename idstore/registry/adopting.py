"""Taking over identifiers that another registry publishes: PRONOM's, for one. They come as fixated, and keep their labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData
from idstore.model import terms
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry.allocation import Allocating
from idstore.registry.naming import label_node
from idstore.stores import Turn, View
from idstore.vocabulary import DCTERMS, IDS, OWL, PUBLIC_LOG, SKOS


@dataclass(frozen=True, slots=True)
class Published:
    """An identifier as the registry that issued it publishes it; ``version`` is that of what it identifies."""

    label: str
    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Renaming:
    """An identifier whose name or version changed."""

    iri: str
    old_name: str
    old_version: str | None
    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was, or would be, taken over; identifiers by IRI, in the publisher's order, those that vanished sorted.

    namespace  base of the namespace.
    new        registered now.
    renamed    registered before, under another name or version.
    vanished   registered before, and not published any more: reported, never deleted.
    unchanged  registered before, just so.
    kept       held here otherwise (created by somebody here, released, a tombstone): left as they are.
    """

    namespace: str
    new: tuple[str, ...] = ()
    renamed: tuple[Renaming, ...] = ()
    vanished: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it changes anything."""
        return bool(self.new or self.renamed)


@dataclass(slots=True)
class _Plan:
    """What is published, sorted by what it asks for."""

    new: dict[str, Published] = field(default_factory=dict)
    renamed: list[tuple[Record, Published]] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def report(self, namespace: Namespace) -> Adoption:
        renamed = (
            Renaming(record.iri.value, _name(record), record.version, wanted.name, wanted.version) for record, wanted in self.renamed
        )
        return Adoption(
            namespace.base, tuple(self.new), tuple(renamed), tuple(self.vanished), tuple(self.unchanged), tuple(self.kept)
        )  # fmt: skip


class Adopting(Allocating):
    """Keeping up with what is published elsewhere."""

    def adopt(self, name: str, published: Iterable[Published], party: Party, note: str, *, dry_run: bool = False) -> Adoption:
        """Bring a namespace up to what its publisher lists: register what is new, rename what is named otherwise now. All or nothing.

        name       the namespace, by name or base.
        published  everything that the publisher lists, canonical labels of the namespace's scheme.
        note       where the list comes from, for the log.
        dry_run    report only.

        Only administrators may. When nothing differs, nothing is written.
        Raises UnknownNamespace, NotPermitted, InvalidData (a label twice, a name that cannot be stored), StoreUnavailable.
        Cost: each listed identifier is read; what changes is written as one large change. Memory: the list.
        """
        self.only_administrators(party)
        listed = list(published)
        with self.store.reading() as view:
            self._may_act(view, party)
            namespace = self._namespace(view, name)
            plan = self._plan(view, namespace, listed)
            found = plan.report(namespace)
        if dry_run or not found.changes:
            return found
        with self.store.staging() as staged:
            self._may_act(staged, party)
            plan = self._plan(staged, namespace, listed)
            found = plan.report(namespace)
            if found.changes:
                self._carry_out(staged, namespace, plan, party, terms.plain(note, "note"))
        return found

    def _plan(self, view: View, namespace: Namespace, listed: Iterable[Published]) -> _Plan:
        plan = _Plan()
        seen: set[NamedNode] = set()
        for wanted in listed:
            claimed = label_node(namespace, wanted.label)
            if claimed in seen:
                raise InvalidData(f"{wanted.label} is listed twice", label=wanted.label)
            seen.add(claimed)
            holder = view.holder(claimed)
            if holder is None:
                plan.new[namespace.scheme.iri(wanted.label, namespace.context)] = wanted
            else:
                self._compare(view, holder, wanted, plan)
        here = view.catalogue.sorted_identifiers(namespace=namespace.base)
        known = {*plan.unchanged, *plan.kept, *(record.iri.value for record, _ in plan.renamed)}
        plan.vanished = [iri for iri in here if iri not in known]
        return plan

    def _compare(self, view: View, holder: NamedNode, wanted: Published, plan: _Plan) -> None:
        """Sort in what is held here already."""
        if next(view.quads(holder, IDS.stage), None) is None:  # released
            plan.kept.append(holder.value)
            return
        record = self._load(view, holder)
        if record.stage is not Stage.FIXATED:
            plan.kept.append(holder.value)
        elif (_name(record), record.version) == (wanted.name, wanted.version):
            plan.unchanged.append(holder.value)
        else:
            plan.renamed.append((record, wanted))

    def _carry_out(self, turn: Turn, namespace: Namespace, plan: _Plan, party: Party, note: str) -> None:
        batch = self._event(turn, IDS.Import, namespace.iri, party, (SKOS.note, Literal(note)))
        self._log(turn, batch, PUBLIC_LOG, [], [])
        part: tuple[NamedNode, Term] = (DCTERMS.isPartOf, batch.iri)
        for wanted in plan.new.values():
            arguments: list[tuple[NamedNode, Term]] = [(IDS.stage, IDS.Fixated), (IDS.name, _text(wanted.name))]
            if wanted.version is not None:
                arguments.append((OWL.versionInfo, _text(wanted.version)))
            name = (wanted.label, label_node(namespace, wanted.label))
            self._begin(turn, namespace, name, IDS.Registration, party, [*arguments, part], None)
        for record, wanted in plan.renamed:
            said = self._event(turn, IDS.Naming, record.iri, party, *_renaming(record, wanted), part)
            self._record_event(turn, record, said)


def _renaming(record: Record, wanted: Published) -> Iterable[tuple[NamedNode, Term]]:
    if wanted.name != _name(record):
        yield IDS.name, _text(wanted.name)
    if wanted.version != record.version:
        yield OWL.versionInfo, Literal("") if wanted.version is None else _text(wanted.version)


def _name(record: Record) -> str:
    """The name without a language, empty if there is none."""
    names: Mapping[str, str] = dict(record.names)
    return names.get(UNDETERMINED, "")


def _text(text: str) -> Literal:
    return Literal(terms.plain(text, "name"))
