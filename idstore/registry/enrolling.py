"""Taking in identifiers that exist already, issued elsewhere: by a list of them, with what they are called, lead to and are bound to."""

from collections.abc import Iterable, Iterator

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, IdstoreError, InvalidIdentifier
from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.terms import UNDETERMINED, Term
from idstore.registry.adopting import Adopting
from idstore.registry.bindings import Statement
from idstore.registry.naming import label_node, target_index
from idstore.registry.stating import Outcome, Proposal, Rehearsed, Stating, Verdict, refused
from idstore.stores import View
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


class Enrolling(Stating, Adopting):
    """Registering by the list."""

    def enrol(self, namespace: str, listed: Iterable[Listed], party: Party, note: str, *, dry_run: bool = False) -> list[Outcome]:
        """Register what is listed and not here yet, and say of each what the list says: all of it, or nothing where a line is refused.

        namespace  where they belong, by name or base; its scheme reads them, and says which are none of its own.
        note       where the list comes from, for the log.
        dry_run    only say what would come of it.

        Only administrators may; what is new is theirs. A line that contradicts what is said here changes nothing of it; a binding is added all
        the same. Doing the same again changes nothing. One outcome for each line, in their order.
        Raises UnknownNamespace, NotPermitted, StoreUnavailable. Cost: as a registration and a binding for each, and one commit.
        Memory: the outcomes.
        """
        self.only_administrators(party, acting=True)
        with self.store.reading() as view:
            home = self._namespace(view, namespace)
        outcomes: list[Outcome] = []
        try:
            with self.store.staging() as staged:
                inner = Enrolling(staged)
                batch = inner.begin_batch(home, party, note)
                outcomes.extend(inner.outcome(home, one, party, batch) for one in listed)
                if dry_run or refused(outcomes) or all(outcome.verdict == "known" for outcome in outcomes):
                    raise Rehearsed  # noqa: TRY301 the staged generation is to be given up
        except Rehearsed:
            pass
        return outcomes

    def begin_batch(self, namespace: Namespace, party: Party, note: str) -> Event:
        """Log that a list is taken in; the registrations are its parts."""
        with self._acting(party) as turn:
            batch = self._event(turn, IDS.Import, namespace.iri, party, (SKOS.note, Literal(terms.plain(note, "note"))))
            self._log(turn, batch, PUBLIC_LOG, [], [])
            return batch

    def outcome(self, namespace: Namespace, one: Listed, party: Party, batch: Event) -> Outcome:
        """Carry out one line, and say what became of it."""
        try:
            label = namespace.scheme.label(one.id, namespace.context)
            iri = namespace.scheme.iri(label, namespace.context)
            found = list(self._carry_out_line(namespace, label, one, party, batch))
        except InvalidIdentifier as error:
            return Outcome(one.line, "malformed", one.id, error.message)
        except IdstoreError as error:
            return Outcome(one.line, "refused", one.id, error.message)
        verdicts = {verdict for verdict, _ in found}
        verdict: Verdict = "contradictory" if "contradictory" in verdicts else "new" if "new" in verdicts else "known"
        return Outcome(one.line, verdict, iri, "; ".join(reason for _, reason in found if reason))

    def _carry_out_line(self, namespace: Namespace, label: str, one: Listed, party: Party, batch: Event) -> Iterator[tuple[Verdict, str]]:
        claimed = label_node(namespace, label)
        with self._acting(party) as turn:
            holder = turn.holder(claimed)
            if holder is None:
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


def _arguments(one: Listed, namespace: Namespace, batch: Event) -> list[tuple[NamedNode, Term]]:
    made: list[tuple[NamedNode, Term]] = []
    if one.stage in (None, Stage.FIXATED):
        made.append((IDS.stage, IDS.Fixated))
    if one.name is not None:
        lang = one.lang if one.lang == UNDETERMINED else terms.language(one.lang)
        made.append((IDS.name, terms.tagged(terms.plain(one.name, "name"), lang)))
    if one.leads_to is not None:
        made += [(IDS.target, terms.iri(one.leads_to)), *target_index(namespace)]
    if one.version is not None:
        made.append((OWL.versionInfo, Literal(terms.plain(one.version, "version"))))
    return [*made, (DCTERMS.isPartOf, batch.iri)]
