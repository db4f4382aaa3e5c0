"""Allocation of identifiers, minted or registered: each is issued once and never again."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import quote

from pyoxigraph import Literal, NamedNode

from idstore.errors import (
    AlreadyRegistered,
    InvalidData,
    NamespaceExhausted,
    NotPermitted,
    StageConflict,
    StoreDamaged,
)
from idstore.model import terms, times
from idstore.model.change import Change, Claim
from idstore.model.namespace import Namespace
from idstore.model.party import Party, PartyFacts
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.registry import iris
from idstore.registry.bindings import Bindings, named
from idstore.registry.disclosure import arguments_below
from idstore.registry.facts import Facts
from idstore.registry.lifecycle import Lifecycle
from idstore.registry.lookup import label_node, target_index
from idstore.registry.requests import (
    Key,
    Request,
    check_key_free,
    check_regular,
    earlier_record,
    key_of,
    with_own_key,
)
from idstore.remedies import Remedy
from idstore.schemes import Context, Deriving, Reserving, Restricting, Timestamped
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS, SKOS

_MINUTE = 60_000
LABEL: Final = "{label}"
"""Stands for the label in the target of a request."""
_SAFE: Final = "/:@!$&'()*+,;=~"
"""Characters of a label that a path of an address holds as they are."""


_Argument = tuple[NamedNode, Term]
"""An argument of an event: predicate and value."""
_Step = tuple[NamedNode, list[_Argument]]
"""The kind and the arguments of an event that follows an allocation in the same commit."""


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A request as its namespace understands it.

    request    with its target as an IRI, and with the key of its metadata.
    template   the target as it was given; empty without one.
    given      the target as it was given, with a word in place of the label.
    arguments  of the event.
    label      the chosen label; None: the scheme finds one.
    key        by which a repeated request is recognised.
    """

    request: Request
    template: str
    given: str | None
    arguments: list[_Argument]
    label: str | None
    key: Key | None


class LabelSearch:
    """The data that a scheme reads while it searches for a label: see `idstore.schemes.Allocation`."""

    def __init__(
        self, transaction: Transaction, namespace: Namespace, metadata: Mapping[str, str], asked: int
    ) -> None:
        self.context: Context = namespace.context
        self.metadata = metadata
        self.asked = asked
        self._transaction = transaction
        self._series = transaction.catalogue.series(namespace.base)

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return times.now()

    def wait_until(self, moment: int) -> None:
        """End this run of the act, so that only acts for a label of the same namespace wait for the clock."""
        self._transaction.not_before(moment, self.context.base)

    def issued(self, series: str) -> int:
        """Return how many labels of a series were issued."""
        return self._series.get(series, (0, 0))[0]

    def highest(self, series: str) -> int:
        """Return the highest number of a series."""
        return self._series.get(series, (0, 0))[1]


class Allocations(Bindings, Lifecycle):
    """The acts that allocate identifiers."""

    def mint(self, namespace: str, party: Party, request: Request = Request()) -> Record:
        """Allocate an identifier that was never issued, and make it durable before returning.

        namespace   its name or base; its scheme decides the form of the identifier.

        Returns the record, in stage *created*, visible to its grant list and to administrators. With bindings
        and ``fixate`` in the request, a deposit is one commit: all of it, or nothing.
        Raises UnknownNamespace, NotPermitted, NamespaceExhausted, InvalidData (the request), RequestConflict,
        StoreUnavailable (nothing was allocated).
        Cost: one durable commit, shared with every other commit that waits at that moment.
        Source: RDS/WIP Identifier Generator, "Principles".
        """
        return self.mint_once(namespace, party, request)[0]

    def mint_once(self, namespace: str, party: Party, request: Request = Request()) -> tuple[Record, bool]:
        """As `mint`: return the record, and whether this call minted it and no earlier equal request did."""
        return self._allocate(namespace, party, request, None)

    def mint_several(
        self, namespace: str, count: int, party: Party, request: Request = Request()
    ) -> Iterator[Record]:
        """Allocate ``count`` identifiers, one durable commit each; a failure keeps the earlier ones.

        count  how many.
        Raises as `mint`; also NotPermitted if the scheme allows no bulk allocation, and InvalidData for a
        count below 1, or a request key, which stands for one identifier, with a larger count.
        """
        scheme = self.store.read(lambda view: self.core.namespace(view, namespace).scheme)
        if count < 1:
            raise InvalidData(f"{count} identifiers cannot be minted; ask for 1 or more", count=count)
        if count > 1 and request.request_key is not None:
            raise InvalidData("a request key stands for one identifier; mint one for each key", count=count)
        if count > 1 and not scheme.bulk:
            raise no_bulk(scheme.name, namespace)
        return (self.mint(namespace, party, request) for _ in range(count))

    def register(self, namespace: str, label: str, party: Party, request: Request = Request()) -> Record:
        """Allocate a label of the caller's choice, if the scheme allows that.

        label  in any written form of the namespace. A bare label that looks like an identifier of another
               namespace or registry must be written with the prefix of this one; one that has a prefix
               itself, or something around it, is refused unless the request insists.
        Raises as `mint`; also AlreadyRegistered, InvalidIdentifier.
        """
        return self._allocate(namespace, party, request, label)[0]

    def _allocate(
        self, where: str, party: Party, request: Request, chosen: str | None
    ) -> tuple[Record, bool]:
        def act(transaction: Transaction) -> tuple[Record, bool]:
            return self._allocate_in(
                transaction, self.core.namespace(transaction, where), party, request, chosen
            )

        return self.core.act(party, act)

    def _allocate_in(
        self,
        transaction: Transaction,
        namespace: Namespace,
        party: Party,
        request: Request,
        chosen: str | None,
        asked: int | None = None,
    ) -> tuple[Record, bool]:
        """Return the record, and whether it is new.

        asked  the moment of the request for this label; None: see `Transaction.asked`. An act that allocates
               several labels derived from the clock passes the moment of its own request for each of them:
               the milliseconds since then grow with each run of the act, so that one run has enough for all
               labels.
        """
        resolved = self._resolve(transaction, namespace, party, request, chosen)
        if resolved.key is not None:
            earlier = earlier_record(
                self.core, transaction, resolved.key, namespace, resolved.arguments, resolved.label, party
            )
            if earlier is not None:
                return earlier, False
        arguments = self._checked(transaction, namespace, party, resolved)
        name = self._free_name(transaction, namespace, resolved, asked)
        if resolved.key is not None:
            # only now: a party that may not allocate, or says too little, is answered as if the key were free
            check_key_free(transaction, resolved.key, namespace)
        iri = namespace.scheme.iri(name[0], namespace.context)
        facts = self.core.facts(transaction)
        if LABEL in resolved.template:
            target = resolved.template.replace(LABEL, quote(name[0], safe=_SAFE))
            arguments = _with_target(arguments, iris.target(target, facts, iri))
        further: list[_Step] = [
            (IDS.Naming, [(IDS.name, named(text, lang))]) for lang, text in request.names.items()
        ]
        further += [(IDS.Bind, self._arguments_of(facts, one, iri)) for one in request.bindings]
        kind = IDS.Mint if chosen is None else IDS.Registration
        record, beginning = self._beginning(
            transaction, namespace, name, kind, party, arguments, resolved.key
        )
        events = [
            self.core.event(transaction, kind, record.node, party, *arguments) for kind, arguments in further
        ]
        record = self.core.record_events(transaction, record, *events, beginning=beginning)
        if request.fixate:
            self._fixate(transaction, [record], party)
            record = self.core.load(transaction, record.node)
        return record, True

    def _resolve(
        self,
        transaction: Transaction,
        namespace: Namespace,
        party: Party,
        request: Request,
        chosen: str | None,
    ) -> "_Resolved":
        """Return a request as the namespace understands it. Raises the errors of a malformed request."""
        request = with_own_key(request)
        template, given = request.target or "", None
        if request.target is not None:
            given = template.replace(LABEL, "label")
            target = iris.target(given, self.core.facts(transaction), force=request.force).value
            if target != request.target:
                request = replace(request, target=target)
        arguments = request.arguments()
        if request.strict:
            check_regular(namespace, request.metadata)
        label = None if chosen is None else self._chosen(transaction, namespace, chosen)
        keyed = replace(request, target=template) if LABEL in template else request
        key = key_of(namespace, party, keyed, label)
        title = _title(request.metadata)
        if request.name is None and title and isinstance(namespace.scheme, Deriving):
            arguments.append((IDS.name, named(title, terms.UNDETERMINED)))
        return _Resolved(request, template, given, arguments, label, key)

    def _checked(
        self, transaction: Transaction, namespace: Namespace, party: Party, resolved: "_Resolved"
    ) -> "list[_Argument]":
        """Return the arguments of the event. Raises the errors of a request that is refused here."""
        request, facts, label = resolved.request, self.core.facts(transaction), resolved.label
        arguments = [*resolved.arguments]
        if resolved.key is not None:
            arguments.append((IDS.requestDigest, Literal(resolved.key.logged)))
        if request.target is not None:
            own = None if label is None else namespace.scheme.iri(label, namespace.context)
            iris.check_target(request.target, facts.names, own)
            arguments += target_index(namespace)
        given = resolved.given if request.force else None  # else it was checked as it was resolved
        check = partial(_check_plain, facts, namespace, given, label)
        arguments += iris.insisted(check, force=request.force)
        self._check_allocator(transaction, namespace, party)
        self._check_pace(transaction, namespace, party)
        if "parent" in request.metadata:
            parent = self.core.seen_record(
                transaction, self._identify(transaction, request.metadata["parent"], party), party
            )
            arguments += arguments_below(parent, namespace, party, request.metadata.get("kind", ""))
        return arguments

    def _free_name(
        self, transaction: Transaction, namespace: Namespace, resolved: "_Resolved", asked: int | None
    ) -> tuple[str, NamedNode]:
        """Return a label that was never issued, the chosen one if there is one, and its claim node."""
        if resolved.label is not None:
            return self._untaken(transaction, namespace, resolved.label)
        labels = self._candidates(transaction, namespace, resolved.request.metadata, asked)
        return self._first_free(transaction, namespace, labels)

    def _begin(
        self,
        transaction: Transaction,
        namespace: Namespace,
        name: tuple[str, NamedNode],
        kind: NamedNode,
        party: Party,
        arguments: list[_Argument],
    ) -> Record:
        """Make a new identifier without a request key, and return its record."""
        record, beginning = self._beginning(transaction, namespace, name, kind, party, arguments, None)
        self.core.enlist(transaction, beginning)
        return record

    def _beginning(
        self,
        transaction: Transaction,
        namespace: Namespace,
        name: tuple[str, NamedNode],
        kind: NamedNode,
        party: Party,
        arguments: list[_Argument],
        key: Key | None,
    ) -> tuple[Record, Change]:
        """Return the record of a new identifier, and the change that makes it."""
        scheme, context, (label, claim_node) = namespace.scheme, namespace.context, name
        iri = NamedNode(scheme.iri(terms.check_size(label, "label"), context))
        _check_never_issued(transaction, iri)
        head: list[_Argument] = [
            (IDS.inNamespace, namespace.iri),
            (SKOS.notation, Literal(label)),
            (IDS.type, namespace.identifier_class),
        ]
        if scheme.provisional(label, context):
            head.append((IDS.quality, IDS.Provisional))
        event = self.core.event(transaction, kind, iri, party, *head, *arguments)
        record = apply(None, event)
        assert record is not None
        claims = (Claim(claim_node, iri), *([Claim(key.node, iri, key.digest)] if key is not None else []))
        issued = (namespace.base, *scheme.series(label, context))
        beginning = Change(
            ((event, record.log),), begins=True, claims=claims, issued=(issued,), begun=(record,)
        )
        return record, beginning

    def _check_allocator(self, view: View, namespace: Namespace, party: Party) -> None:
        if namespace.frozen:
            raise StageConflict(
                f"namespace {namespace.name} is frozen: it takes no new identifiers",
                namespace=namespace.name,
            )
        if not namespace.is_allocator(self.core.party_facts(view, party)):
            raise NotPermitted(
                f"{party.name} may not allocate in {namespace.name}; ask its owner {namespace.owner} for"
                " permission",
                namespace=namespace.name,
                party=party.name,
                remedy=Remedy.ALLOW_ALLOCATION,
            )

    def _check_pace(self, transaction: Transaction, namespace: Namespace, party: Party) -> None:
        limit = namespace.per_minute
        if limit is None:
            return
        since = transaction.moment - _MINUTE
        listed, gone = transaction.catalogue.allocated(
            party.name, namespace.base, since, limit, transaction.origin
        )
        released = (  # released identifiers count as well
            any(transaction.quads(NamedNode(event), IDS.withNamespace, namespace.iri)) for event in gone
        )
        if listed + sum(released) >= limit:
            raise NotPermitted(
                f"{party.name} has allocated {limit} identifiers in {namespace.name} within a minute, which"
                " is the limit; wait a minute",
                namespace=namespace.name,
                limit=limit,
            )

    def _chosen(self, view: View, namespace: Namespace, text: str) -> str:
        scheme = namespace.scheme
        if not scheme.chosen:
            remedy = Remedy.MINT
            if isinstance(scheme, Deriving):
                remedy = Remedy.MINT_FROM_METADATA
                why = "derives them from an article's metadata; mint one from metadata instead"
            elif isinstance(scheme, Timestamped):
                why = "makes their suffixes from the clock; mint one instead"
            else:
                why = "makes them itself, so that no label carries a meaning; mint one instead"
            raise NotPermitted(
                f"identifiers in {namespace.name} cannot be chosen: the scheme {scheme.name} {why}",
                remedy=remedy,
                namespace=namespace.name,
                scheme=scheme.name,
            )
        label = self.core.facts(view).index.label(namespace, text)
        if isinstance(scheme, Restricting):
            scheme.check_new(label, namespace.context)
        refusal = scheme.reserved(label, namespace.context) if isinstance(scheme, Reserving) else None
        if refusal is not None:
            raise NotPermitted(refusal, namespace=namespace.name, label=label)
        return label

    def _untaken(self, transaction: Transaction, namespace: Namespace, label: str) -> tuple[str, NamedNode]:
        """Return a chosen label and its claim node. Raises AlreadyRegistered if the label is taken."""
        claim_node = label_node(namespace, label)
        if transaction.claim(claim_node) is not None:
            raise taken(namespace, label)
        return label, claim_node

    def _candidates(
        self, transaction: Transaction, namespace: Namespace, metadata: Mapping[str, str], asked: int | None
    ) -> Iterator[str]:
        """Return the labels that the scheme tries. Parameters: see `_allocate_in`."""
        moment = transaction.asked if asked is None else asked
        return namespace.scheme.candidates(LabelSearch(transaction, namespace, metadata, moment))

    def _first_free(
        self, transaction: Transaction, namespace: Namespace, labels: Iterable[str]
    ) -> tuple[str, NamedNode]:
        """Return the first label that was never issued, and its claim node.

        Raises NamespaceExhausted, and the errors of the scheme's search.
        """
        for label in labels:
            claim_node = label_node(namespace, label)
            if transaction.claim(claim_node) is None:
                return label, claim_node
        raise NamespaceExhausted(
            f"namespace {namespace.name} has no free identifier left", namespace=namespace.name
        )


def _check_never_issued(transaction: Transaction, iri: NamedNode) -> None:
    """Raise StoreDamaged if there are events about an identifier whose label no claim holds."""
    if transaction.catalogue.mentions(iri.value) and any(transaction.quads(None, IDS.about, iri)):
        raise StoreDamaged(
            f"the store is damaged: its ledger lacks the claim of {iri.value}, which was issued before;"
            " keep its files, and restore a backup"
        )


def may_allocate(namespace: Namespace, facts: PartyFacts) -> bool:
    """Return whether a party may allocate in a namespace at all, whatever the pace."""
    return not namespace.frozen and facts.suspended is None and namespace.is_allocator(facts)


def _with_target(arguments: Iterable[_Argument], target: NamedNode) -> list[_Argument]:
    """Return arguments with another target."""
    return [(term, target if term == IDS.target else value) for term, value in arguments]


def _check_plain(facts: Facts, namespace: Namespace, target: str | None, label: str | None) -> None:
    """Raise InvalidData or InvalidIdentifier: a target or label is refused unless the party insists."""
    if target is not None:
        iris.target(target, facts)
    if label is not None:
        facts.index.check_unwrapped(namespace, label)


def _title(metadata: Mapping[str, str]) -> str:
    """Return the title of an article, with its subtitle; empty if it has none."""
    return ": ".join(filter(None, (metadata.get("title", "").strip(), metadata.get("subtitle", "").strip())))


def no_bulk(scheme: str, namespace: str) -> NotPermitted:
    """Return the error for several identifiers at once, where the scheme gives one at a time."""
    return NotPermitted(
        f"the scheme {scheme} allows no bulk allocation in {namespace}: a reserved block would be knowledge"
        " that is not written down; mint an identifier for each thing when the thing needs one",
        namespace=namespace,
        scheme=scheme,
        remedy=Remedy.MINT,
    )


def taken(namespace: Namespace, label: str) -> AlreadyRegistered:
    """Return the error for a label that was issued before, whether or not its identifier is visible."""
    return AlreadyRegistered(
        f"{label!r} is taken in {namespace.name}; choose another label", label=label, namespace=namespace.name
    )
