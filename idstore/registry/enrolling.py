"""Taking in identifiers that exist already, issued elsewhere: by a list of them, with what they are called, lead to and are bound to."""

from collections.abc import Iterable, Iterator

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, IdstoreError, InvalidIdentifier
from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry import targets
from idstore.registry.adopting import Adopting
from idstore.registry.bindings import Statement
from idstore.registry.naming import label_node, target_index
from idstore.registry.replaying import home_of
from idstore.registry.stating import Outcome, Proposal, Rehearsed, Stating, Verdict, refused
from idstore.stores import Staging, Turn, View
from idstore.vocabulary import DCTERMS, IDS, OWL, PUBLIC_LOG, SKOS


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of such a list; several may tell of one identifier.

    line       where it was read, from 1.
    id         the identifier, in any form that the scheme of its namespace reads.
    stage      fixated, as what is published elsewhere is, or created; None where the list does not say: fixated.
    leads_to   its target.
    version    which version of the thing it identifies.
    statement  what it is bound to.
    """

    line: int
    id: str
    name: str | None = None
    lang: str = UNDETERMINED
    stage: Stage | None = None
    leads_to: str | None = None
    version: str | None = None
    statement: Statement | None = None


class _Batches:
    """What the parts of one list refer to.

    staged  where they are made.
    note    where the list comes from.
    logged  the event for what everyone sees (True), and the one for what the importer alone sees, as far as there is something of the kind.
    """

    def __init__(self, staged: Staging, note: str) -> None:
        self.staged = staged
        self.note = note
        self.logged: dict[bool, Event] = {}


class Enrolling(Stating, Adopting):
    """Registering by the list."""

    def enrol(self, namespace: str, listed: Iterable[Listed], party: Party, note: str, *, dry_run: bool = False) -> list[Outcome]:
        """Register what is listed and not here yet, and say of each what the list says: all of it, or nothing where a line is refused.

        namespace  where they belong, by name or base; its scheme reads them, and says which are none of its own.
        note       where the list comes from, for the log.
        dry_run    only say what would come of it.

        Only administrators may; what is new is theirs. A line that contradicts what is said here changes nothing of it; a binding is added all
        the same. Doing the same again changes nothing. One outcome for each line, in their order. What is published, or public already, tells
        everyone of the import; one of drafts alone is logged as privately as they are.
        Raises UnknownNamespace, NotPermitted, StoreUnavailable. Cost: as a registration and a binding for each, and one commit.
        Memory: the outcomes.
        """
        self.only_administrators(party, acting=True)
        with self.store.reading() as view:
            home = self._namespace(view, namespace)
        outcomes: list[Outcome] = []
        try:
            with self.store.staging() as staged:
                inner, batches, before = Enrolling(staged), _Batches(staged, note), staged.sequence
                outcomes.extend(inner.outcome(home, one, party, batches) for one in listed)
                if dry_run or refused(outcomes) or staged.sequence == before:
                    raise Rehearsed  # noqa: TRY301 the staged generation is to be given up
        except Rehearsed:
            pass
        return outcomes

    def batch(self, turn: Turn, namespace: Namespace, party: Party, batches: _Batches, *, public: bool) -> Event:
        """The event by which everyone, or the importer alone, reads that the list was taken in: logged when first there is something of the kind.

        Where the list tells of drafts alone, nobody else is to learn of it; where it tells of both, there are two.
        """
        event = batches.logged.get(public)
        if event is None:
            secrecy: list[tuple[NamedNode, Term]] = [] if public else [(IDS.internal, TRUE)]
            note = Literal(terms.plain(batches.note, "note"))
            event = batches.logged[public] = self._event(turn, IDS.Import, namespace.iri, party, (SKOS.note, note), *secrecy)
            self._log(turn, event, home_of(event, ()) or PUBLIC_LOG, [], [])
        return event

    def outcome(self, namespace: Namespace, one: Listed, party: Party, batches: _Batches) -> Outcome:
        """Carry out one line, and say what became of it."""
        try:
            label = namespace.scheme.label(one.id, namespace.context)
            iri = namespace.scheme.iri(label, namespace.context)
            found = list(self._carry_out_line(namespace, label, one, party, batches))
        except InvalidIdentifier as error:
            return Outcome(one.line, "malformed", one.id, error.message)
        except IdstoreError as error:
            return Outcome(one.line, "refused", one.id, error.message)
        verdicts = {verdict for verdict, _ in found}
        verdict: Verdict = "contradictory" if "contradictory" in verdicts else "new" if "new" in verdicts else "known"
        return Outcome(one.line, verdict, iri, "; ".join(reason for _, reason in found if reason))

    def _carry_out_line(
        self, namespace: Namespace, label: str, one: Listed, party: Party, batches: _Batches
    ) -> Iterator[tuple[Verdict, str]]:
        claimed, before = label_node(namespace, label), batches.staged.sequence
        with self._acting(party) as turn:
            holder = turn.holder(claimed)
            if holder is None:
                if one.leads_to is not None:
                    targets.check(one.leads_to, self._facts(turn).by_name)
                batch = self.batch(turn, namespace, party, batches, public=_published(one))
                self._begin(turn, namespace, (label, claimed), IDS.Registration, party, _arguments(one, namespace, batch), None)
                record = None
            else:
                record = self._held(turn, holder)
        yield "known" if record else "new", ""
        if record is not None:
            yield from self._compare_line(record, one, party)
        if one.statement is not None:
            iri = namespace.scheme.iri(label, namespace.context) if record is None else record.iri.value
            _, verdict, reason = self.carry_out(Proposal(one.line, "bind", iri, one.statement), party)
            yield verdict, reason
        if record is not None and batches.staged.sequence != before:
            with self._acting(party) as turn:
                self.batch(turn, namespace, party, batches, public=record.public)

    def _held(self, view: View, holder: NamedNode) -> Record:
        """The record of a label that is taken. Raises AlreadyRegistered: it was given up."""
        if next(view.quads(holder, IDS.stage), None) is None:
            raise AlreadyRegistered(f"{holder.value} was issued here and released, and is never issued again", id=holder.value)
        return self._load(view, holder)

    def _compare_line(self, record: Record, one: Listed, party: Party) -> Iterator[tuple[Verdict, str]]:
        """Say what is not said yet, and what is said otherwise here."""
        iri, names = record.iri.value, dict(record.names)
        if one.stage is not None and one.stage is not record.stage:
            yield "contradictory", f"it is {record.stage} here"
        if one.version is not None and one.version != record.version:
            yield "contradictory", f"its version is {record.version!r} here" if record.version else "it has no version here"
        if one.name is not None and one.lang not in names:
            self.name(iri, one.name, party, one.lang)
            yield "new", ""
        elif one.name is not None and names[one.lang] != one.name:
            yield "contradictory", f"it is called {names[one.lang]!r} here"
        if one.leads_to is not None and record.target is None:
            self.target(iri, one.leads_to, party)
            yield "new", ""
        elif one.leads_to is not None and record.target is not None and record.target.value != one.leads_to:
            yield "contradictory", f"it leads to {record.target.value} here"


def _published(one: Listed) -> bool:
    """Whether a line that is new is for everyone."""
    return one.stage in (None, Stage.FIXATED)


def _arguments(one: Listed, namespace: Namespace, batch: Event) -> list[tuple[NamedNode, Term]]:
    made: list[tuple[NamedNode, Term]] = []
    if _published(one):
        made.append((IDS.stage, IDS.Fixated))
    if one.name is not None:
        lang = one.lang if one.lang == UNDETERMINED else terms.language(one.lang)
        made.append((IDS.name, terms.tagged(terms.plain(one.name, "name"), lang)))
    if one.leads_to is not None:
        made += [(IDS.target, terms.iri(one.leads_to)), *target_index(namespace)]
    if one.version is not None:
        made.append((OWL.versionInfo, Literal(terms.plain(one.version, "version"))))
    return [*made, (DCTERMS.isPartOf, batch.iri)]
