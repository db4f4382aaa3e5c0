"""Many bindings at once: mappings that were found elsewhere, and what a curator has decided."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from idstore.errors import IdstoreError, InvalidData, NotRegistered
from idstore.frozen import dataclass
from idstore.model.kinds import kind_of
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.bindings import Binding, Statement
from idstore.vocabulary import IDS, MAPPING_PREFIXES, RDF, SKOS

Act = Literal["bind", "unbind"]
Verdict = Literal["new", "known", "contradictory", "absent", "refused", "malformed"]
IDENTITY: Final = frozenset(
    {SKOS.exactMatch.value, MAPPING_PREFIXES["skos"] + "closeMatch", MAPPING_PREFIXES["owl"] + "sameAs"},
)
"""Relations by which two names are said to be names of one thing: more than one target of a kind is a contradiction."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing to do: bind an identifier, or take a binding back.

    line  where it was read, from 1.
    id    the identifier, in any written form.
    """

    line: int
    act: Act
    id: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became, or would become, of a proposal.

    verdict  ``new``: it is done; ``known``: it was so already; ``contradictory``: it is done, and `reason` says what speaks against it;
             ``absent``: there is no such binding to be taken back, and never was one that the party may see; ``refused``: it cannot be done,
             and `reason` says why; ``malformed``: what it is about is no identifier of the namespace.
    """

    line: int
    verdict: Verdict
    id: str
    reason: str = ""


class Rehearsed(Exception):
    """Ends a dry run."""


class Stating(Binding):
    """Binding and unbinding by the list."""

    def state(self, proposals: Iterable[Proposal], party: Party, *, dry_run: bool = False) -> list[Outcome]:
        """Do what is proposed: all of it, or nothing where anything is refused. One outcome for each proposal, in their order.

        dry_run  only say what would come of it.

        Each is allowed what `bind` and `unbind` allow it. Doing the same again changes nothing.
        Raises StoreUnavailable. Cost: as `bind` for each, and one commit. Memory: the outcomes.
        """
        outcomes: list[Outcome] = []
        try:
            with self.store.staging() as staged:
                inner = Stating(staged)
                outcomes.extend(_outcome(inner, proposal, party) for proposal in proposals)
                if dry_run or all(outcome.verdict in ("known", "absent", "refused") for outcome in outcomes) or refused(outcomes):
                    raise Rehearsed  # noqa: TRY301 the staged generation is to be given up
        except Rehearsed:
            pass
        return outcomes

    def carry_out(self, proposal: Proposal, party: Party) -> tuple[str, Verdict, str]:
        """Do one thing, by itself: the identifier, what became of it, and what speaks against it. Raises as `bind` and `unbind`."""
        statement = proposal.statement
        if proposal.act == "unbind":
            try:
                iri = self.unbind(proposal.id, statement, party).about.value
            except NotRegistered as absent:
                return proposal.id, *self._missed(proposal, absent.message, party)
            return iri, "new", ""
        record = self.show(proposal.id, party)
        iri = record.iri.value
        against = "; ".join(self._against(record, statement, party))
        if self.bind(iri, statement, party) is None:
            return iri, "known", ""
        return iri, "contradictory" if against else "new", against

    def _missed(self, proposal: Proposal, reason: str, party: Party) -> tuple[Verdict, str]:
        """What became of taking back what is not bound: it was taken back before, or was never there."""
        said = proposal.statement
        with self.store.reading() as view:
            try:
                about = self._identify(view, proposal.id, party)
            except NotRegistered:
                return "absent", reason
            events = [event for event, _ in self._history(view, about, self.sight(view, party)) if event.kind == IDS.Unbind]
        taken = any((event.text(RDF.predicate), event.text(RDF.object)) == (said.relation, said.target) for event in events)
        return ("known", "it was taken back before") if taken else ("absent", reason)

    def _against(self, record: Record, statement: Statement, party: Party) -> Iterator[str]:
        """What is said already and does not go together with a statement of identity, as far as the party may see."""
        if statement.relation not in IDENTITY:
            return
        kind = kind_of(statement.target)
        for known in record.bindings:
            if known.relation.value in IDENTITY and known.target.value != statement.target and kind and kind_of(known.target.value) == kind:
                yield f"{record.iri.value} is bound to {known.target.value}"
        for other in self.bound_to(statement.target, party):
            if other != record.iri.value and other.startswith(record.namespace):
                yield f"{statement.target} is claimed by {other}"


def _outcome(registry: Stating, proposal: Proposal, party: Party) -> Outcome:
    try:
        iri, verdict, reason = registry.carry_out(proposal, party)
    except IdstoreError as error:
        return Outcome(proposal.line, "refused", proposal.id, error.message)
    return Outcome(proposal.line, verdict, iri, reason)


def refused(outcomes: Iterable[Outcome]) -> bool:
    """Whether anything is refused."""
    return any(outcome.verdict in ("refused", "malformed") for outcome in outcomes)


def proposal(line: int, action: str, id: str, statement: Statement) -> Proposal:
    """A proposal from what was read. Raises InvalidData: no such action."""
    match action or "bind":
        case "bind" | "unbind" as act:
            return Proposal(line, act, id, statement)
        case other:
            raise InvalidData(f"{other!r} is nothing that could be done; write bind, unbind or keep", text=other)
