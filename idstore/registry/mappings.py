"""Bulk binding and unbinding: imported mappings and the decisions of a curator."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from idstore import wrapped
from idstore.errors import (
    AmbiguousIdentifier,
    IdstoreError,
    InvalidData,
    InvalidIdentifier,
    NotRegistered,
    StoreUnavailable,
)
from idstore.model import orcid
from idstore.model.binding import Binding
from idstore.model.names import NAMED, Names
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.uri_schemes import begins_uri
from idstore.registry import iris
from idstore.registry.bindings import Bindings, Statement
from idstore.registry.core import Core, DryRunEnded
from idstore.remedies import Remedy
from idstore.stores.contract import View
from idstore.vocabulary import IDS, MAPPING_PREFIXES, RDF, SKOS

Act = Literal["bind", "unbind"]
Verdict = Literal["new", "known", "contradictory", "absent", "foreign", "refused", "malformed"]
IDENTITY: Final = frozenset(
    {SKOS.exactMatch.value, MAPPING_PREFIXES["skos"] + "closeMatch", MAPPING_PREFIXES["owl"] + "sameAs"},
)
"""Relations of identity: two targets of one kind contradict each other."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An act to carry out: bind an identifier, or remove a binding.

    line    line number of the source, from 1.
    id      the identifier, in any written form.
    source  the list that the target is of, if the table names one.
    doubt   what to warn of, besides the statement; empty: nothing.
    """

    line: int
    act: Act
    id: str
    statement: Statement
    source: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """The outcome of a proposal, real or predicted.

    verdict  ``new``: done, or would be, where a line is refused and nothing is done; ``known``: it was so
             before, or of a list, its identifier was registered before, and `reason` names what the line
             adds; ``contradictory``: done, and `reason` names the contradiction; ``absent``: no such binding
             exists or ever was visible to the party; ``foreign``: a decision about an identifier that is not
             registered here; ``refused``: not possible, for `reason`; ``malformed``: the subject is not an
             identifier of the namespace.
    warning  other identifiers of a target that the line sets, and what is odd about label and target.
    remedy   what a person can do about a refusal.
    """

    line: int
    verdict: Verdict
    id: str
    reason: str = ""
    warning: str = ""
    remedy: Remedy | None = None


def refusal(line: int, id: str, error: IdstoreError, remedy: Remedy | None = None) -> LineOutcome:
    """Return the outcome of a line that is refused.

    Raises the error itself if it is no fault of the line: the store cannot be read or written.
    """
    if isinstance(error, StoreUnavailable):
        raise error
    return LineOutcome(line, "refused", id, error.message, remedy=error.remedy or remedy)


def mark_undone(outcomes: Sequence[LineOutcome]) -> list[LineOutcome]:
    """Return the outcomes of lines of which none is done, because at least one is refused.

    A line that asks for the same as a new one, and is known by that alone, is not done either.
    """
    line = next(one.line for one in outcomes if one.verdict == "refused")
    new = {one.id for one in outcomes if one.verdict == "new"}
    reason = f"not done, because line {line} is refused"
    return [
        replace(one, reason=reason) if one.verdict in ("new", "known") and one.id in new else one
        for one in outcomes
    ]


def unobserved(outcome: LineOutcome) -> None:
    """Ignore an outcome."""


class Mappings(Bindings):
    """Bulk binding and unbinding."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._sources: dict[str, set[str]] = {}
        """key of a target → the lists that the proposals so far named for it."""

    def state(
        self,
        proposals: Iterable[Proposal],
        party: Party,
        *,
        decided: bool = False,
        dry_run: bool = False,
        on_outcome: Callable[[LineOutcome], object] = unobserved,
    ) -> list[LineOutcome]:
        """Carry out the proposals: all, or none if any is refused. Returns one outcome for each, in order.

        decided     whether they are the decisions of a curator about several registries. One about an
                    identifier that is not registered here is ``foreign``, and a statement that any party
                    made here is ``known``; so each registry takes what it lacks from the same decisions.
        dry_run     only predict the outcomes.
        on_outcome  called with each outcome in turn; if it raises, nothing is changed.

        The rights are those of `bind` and `unbind`; an administrator also removes bindings of others, and
        the log names both. A repeated call changes nothing.
        Raises NotPermitted (the party does not act), StoreUnavailable. Cost: as `bind` for each, and one
        commit. Memory: the outcomes.
        """
        self.core.only_acting(party)
        outcomes: list[LineOutcome] = []
        try:
            with self.store.bulk(dry_run=dry_run) as bulk:
                mappings = Mappings(Core(bulk))
                for proposal in proposals:
                    outcomes.append(_outcome(mappings, proposal, party, decided=decided))
                    on_outcome(outcomes[-1])
                if not changed(outcomes) or refused(outcomes):
                    raise DryRunEnded  # noqa: TRY301 the bulk has no effect
        except DryRunEnded:
            pass
        return outcomes

    def carry_out(
        self, proposal: Proposal, party: Party, *, decided: bool = False
    ) -> tuple[str, Verdict, str]:
        """Carry out one proposal; return the identifier, the verdict, and the contradiction if any.

        decided  see `state`.
        Raises as `bind` and `unbind`.
        """
        foreign = self._foreign(proposal.id, party) if decided else ""
        if foreign:
            return proposal.id, "foreign", foreign
        if proposal.act == "unbind":
            try:
                event = self._unbind(proposal.id, proposal.statement, party, by_administrator=True)
            except NotRegistered as error:
                return proposal.id, *self._unbound(proposal, error.message, party)
            return event.about, "new", ""
        record, statement = self.show(proposal.id, party), proposal.statement
        iri = record.iri
        stored = {binding.key for binding in record.bindings}
        if (statement.relation, statement.target, party.name) in stored:
            statement = replace(statement, force=True)  # it was insisted on before
        else:
            statement = statement.expanded(self.store.read(self.core.facts))
        if proposal.source:
            self._sources.setdefault(self._names().key(statement.target), set()).add(proposal.source)
        if decided:
            makers = {binding.by for binding in record.bindings if self._states(binding, statement)}
            if makers and party.name not in makers:
                return iri, "known", f"bound by {', '.join(sorted(makers))}"
        if self._bind(iri, statement, party) is None:
            return iri, "known", ""
        contradiction = "; ".join(self._contradictions(record, statement, party))
        return iri, "contradictory" if contradiction else "new", contradiction

    def _foreign(self, id: str, party: Party) -> str:
        """Return why an identifier is none of this registry, as far as the party sees; empty if it is one."""
        try:
            self.store.read(lambda view: self._identify(view, id, party))
        except NotRegistered as error:
            return error.message
        except InvalidIdentifier:
            if begins_uri(id) and self.store.read(self.core.facts).index.home(id) is None:
                return NotRegistered(id).message
        except IdstoreError:
            pass  # the act raises it
        return ""

    def _states(self, binding: Binding, statement: Statement) -> bool:
        """Return whether a binding states the same, in any written form of the target."""
        same = self._names().same(binding.target, statement.target)
        return binding.relation == statement.relation and same

    def _unbound(self, proposal: Proposal, reason: str, party: Party) -> tuple[Verdict, str]:
        """Return the outcome for a missing binding: removed before, or never there."""
        statement = proposal.statement

        def question(view: View) -> bool:
            try:
                about = self._identify(view, proposal.id, party)
            except NotRegistered:
                return False
            events = [
                event
                for event, _ in self.core.history(view, about, self.core.sight(view, party))
                if event.kind == IDS.Unbind
            ]
            facts = self.core.facts(view)
            relations = iris.readings(statement.relation, facts)
            targets = iris.readings(statement.target, facts)
            return any(
                event.text(RDF.predicate) in relations
                and any(facts.names.same(event.text(RDF.object) or "", target) for target in targets)
                for event in events
            )

        return ("known", "it was taken back before") if self.store.read(question) else ("absent", reason)

    def _contradictions(self, record: Record, statement: Statement, party: Party) -> Iterator[str]:
        """Yield the visible statements that contradict a statement of identity."""
        if statement.relation not in IDENTITY:
            return
        names = self._names()
        kinds = self._kinds(names, statement.target)
        for binding in record.bindings if kinds else ():
            if (
                binding.relation in IDENTITY
                and not kinds.isdisjoint(self._kinds(names, binding.target))
                and not names.same(binding.target, statement.target)
            ):
                yield f"{record.iri} is bound to {binding.target}"
        yield from self._claimed(record, statement.target, party)

    def _claimed(self, record: Record, target: str, party: Party) -> list[str]:
        """Return in words which other identifiers of the namespace have a target or are bound to it.

        `NAMED` of them, if there are more.
        """
        bound = self._bound_to(target, party, without=record.iri)
        others = islice((one for one in bound if one.startswith(record.namespace)), NAMED + 1)
        said = [f"{target} is claimed by {other}" for other in others]
        return [*said[:NAMED], *(f"{target} is claimed by others too" for _ in said[NAMED:])]

    def _kinds(self, names: Names, target: str) -> set[str]:
        """Return the kinds of a target: that of its IRI, and the lists that the proposals name for it."""
        return {names.kind(target), *self._sources.get(names.key(target), ())} - {""}

    def _names(self) -> Names:
        return self.store.read(lambda view: self.core.facts(view).names)


def _outcome(registry: Mappings, proposal: Proposal, party: Party, *, decided: bool) -> LineOutcome:
    try:
        iri, verdict, reason = registry.carry_out(proposal, party, decided=decided)
    except AmbiguousIdentifier as error:
        refused_line = refusal(proposal.line, proposal.id, error, Remedy.GIVE_BASE)
        return replace(refused_line, reason=f"{error.message}; or give the base of the whole column")
    except IdstoreError as error:
        return refusal(proposal.line, proposal.id, error)
    warning = "; ".join(filter(None, (odd(proposal.statement), proposal.doubt)))
    return LineOutcome(proposal.line, verdict, iri, reason, warning)


def odd(statement: Statement) -> str:
    """Return what to warn of in a statement of a table, empty without it."""
    warnings = [wrapped.doubt_of_address(statement.target)]
    try:
        orcid.normal(statement.author or "")
    except InvalidData as error:
        warnings.append(error.message.partition(";")[0])
    return "; ".join(filter(None, warnings))


def refused(outcomes: Iterable[LineOutcome]) -> bool:
    """Return whether any outcome is a refusal."""
    return any(outcome.verdict in ("refused", "malformed") for outcome in outcomes)


def changed(outcomes: Iterable[LineOutcome]) -> bool:
    """Return whether any outcome is a change."""
    return any(outcome.verdict in ("new", "contradictory") for outcome in outcomes)


def proposal(line: int, action: str, id: str, statement: Statement, source: str = "") -> Proposal:
    """Return a proposal from the words of a table. Raises InvalidData: no such action."""
    match action or "bind":
        case "bind" | "unbind" as act:
            return Proposal(line, act, id, statement, source)
        case other:
            raise InvalidData(
                f"{other!r} is not an action; write bind, unbind or keep", field="action", text=other
            )
