"""Minting and registering: giving out names that nobody else holds, for ever."""

import time
from collections.abc import Iterable, Iterator, Mapping

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, NamespaceExhausted, NotPermitted, StageConflict
from idstore.model import times
from idstore.model.change import Change
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.steps import apply
from idstore.model.terms import Term
from idstore.registry import targets
from idstore.registry.below import Descending
from idstore.registry.naming import label_node, target_index
from idstore.registry.requests import Request, Requesting, key_of
from idstore.schemes import Context, Deriving, Reserving
from idstore.stores import Store, Turn, View
from idstore.vocabulary import IDS, SKOS

_MINUTE = 60_000


_LOOK = 0.2
"""Milliseconds between two looks at a clock that is about to reach a moment."""


class _Allocation:
    """What a scheme asks for while it looks for a label: see `idstore.schemes.Allocation`."""

    def __init__(self, turn: Turn, namespace: Namespace, metadata: Mapping[str, str], clocked: set[str]) -> None:
        self.context: Context = namespace.context
        self._names, self._clocked = (namespace.name, namespace.base), clocked
        self.metadata = metadata
        self.asked = turn.asked
        self._series = turn.issued(namespace.base)
        self._told = 0

    def now(self) -> int:
        self._told = times.now()
        return self._told

    def wait_until(self, moment: int) -> None:
        while self._told <= (now := times.now()) < moment:
            self._clocked.update(self._names)
            time.sleep(max(moment - now - 1, _LOOK) / 1000)

    def issued(self, series: str) -> int:
        return self._series.get(series, (0, 0))[0]

    def highest(self, series: str) -> int:
        return self._series.get(series, (0, 0))[1]


class Allocating(Requesting, Descending):
    """Giving out identifiers.

    _clocked  namespaces, by name and by base, in which somebody waited for the clock: nobody does that for others.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._clocked: set[str] = set()

    def mint(self, namespace: str, party: Party, request: Request = Request()) -> Record:
        """Allocate an identifier nobody holds, and make it durable before returning.

        namespace   where to allocate: name or base; its scheme decides the form.

        Returns the record, in stage *created*, visible to its grant list alone.
        Raises UnknownNamespace, NotPermitted, NamespaceExhausted, InvalidData (the request), RequestConflict, StoreUnavailable (nothing was allocated).
        Cost: one durable commit, shared with every other commit that is waiting at that moment.
        Source: RDS/WIP Identifier Generator, "Principles".
        """
        return self.mint_once(namespace, party, request)[0]

    def mint_once(self, namespace: str, party: Party, request: Request) -> tuple[Record, bool]:
        """As `mint`: the record, and whether it was minted now and not by the same request before."""
        return self._allocate(namespace, party, request, None)

    def mint_several(self, namespace: str, count: int, party: Party, request: Request = Request()) -> Iterator[Record]:
        """Allocate so many identifiers, one durable commit after the other: what was given is there, whatever comes after it.

        Raises as `mint`; NotPermitted also where the scheme gives out no blocks; InvalidData (a count below 1, or a request key, which
        stands for one identifier).
        """
        with self.store.reading() as view:
            scheme = self._namespace(view, namespace).scheme
        if count < 1 or request.request_key is not None:
            few = f"{count} identifiers cannot be minted; ask for 1 or more"
            raise InvalidData(few if count < 1 else "a request key stands for one identifier; ask for one with each key", count=count)
        if count > 1 and not scheme.bulk:
            raise NotPermitted(
                f"nobody allocates in bulk in {namespace}: owning a block of {scheme.name} identifiers would be knowledge that nobody wrote down; use `idstore mint {namespace}` for each thing when it needs one",
                namespace=namespace,
                scheme=scheme.name,
            )
        return (self.mint(namespace, party, request) for _ in range(count))

    def register(self, namespace: str, label: str, party: Party, request: Request = Request()) -> Record:
        """Take a label of the caller's choice, where the scheme lets people name things.

        Raises as `mint`, and AlreadyRegistered, InvalidIdentifier.
        """
        return self._allocate(namespace, party, request, label)[0]

    def _allocate(self, where: str, party: Party, request: Request, chosen: str | None) -> tuple[Record, bool]:
        def allocate(turn: Turn) -> tuple[Record, bool]:
            self._may_act(turn, party)
            return self._allocate_in(turn, self._namespace(turn, where), party, request, chosen)

        if where not in self._clocked:
            return self.store.together(allocate)
        with self.store.turn() as turn:
            return allocate(turn)

    def _allocate_in(self, turn: Turn, namespace: Namespace, party: Party, request: Request, chosen: str | None) -> tuple[Record, bool]:
        """The record, and whether it is new; several in one turn see each other's labels, but not each other's records."""
        arguments = request.arguments()
        label = None if chosen is None else self._chosen(namespace, chosen)
        key = key_of(namespace, party, request, label)
        if key is not None:
            earlier = self._earlier(turn, key, namespace, arguments, label, party)
            if earlier is not None:
                return earlier, False
            arguments.append((IDS.requestDigest, Literal(key.digest)))
        if request.target is not None:
            targets.check(request.target, self._facts(turn).by_name)
            arguments += target_index(namespace)
        self._may_allocate(turn, namespace, party)
        self._in_pace(turn, namespace, party)
        if "parent" in request.metadata:
            arguments += self._below(turn, namespace, party, request.metadata)
        name = self._free(turn, namespace, request.metadata) if label is None else self._untaken(turn, namespace, label)
        if key is not None:  # only now: who may not allocate, or says too little, is answered as if it were free
            self._not_taken(turn, key, namespace)
        kind = IDS.Mint if chosen is None else IDS.Registration
        return self._begin(turn, namespace, name, kind, party, arguments, None if key is None else key.node), True

    def _begin(
        self,
        turn: Turn,
        namespace: Namespace,
        name: tuple[str, NamedNode],
        kind: NamedNode,
        party: Party,
        arguments: list[tuple[NamedNode, Term]],
        key: NamedNode | None,
    ) -> Record:
        scheme, context, (label, claimed) = namespace.scheme, namespace.context, name
        iri = NamedNode(scheme.iri(label, context))
        head: list[tuple[NamedNode, Term]] = [
            (IDS.inNamespace, namespace.iri),
            (SKOS.notation, Literal(label)),
            (IDS.type, namespace.identifier_class),
        ]
        if scheme.provisional(label, context):
            head.append((IDS.quality, IDS.Provisional))
        event = self._event(turn, kind, iri, party, *head, *arguments)
        record = apply(None, event)
        assert record is not None
        claims = [(claimed, iri)] + ([(key, iri)] if key is not None else [])
        issued = (namespace.base, *scheme.series(label, context))
        turn.enlist(Change(((event, record.log),), begins=True, claims=tuple(claims), issued=(issued,), begun=(record,)))
        return record

    def _may_allocate(self, view: View, namespace: Namespace, party: Party) -> None:
        if namespace.frozen:
            raise StageConflict(f"namespace {namespace.name} is frozen: nothing is allocated there any more", namespace=namespace.name)
        if namespace.allocators and party.name != namespace.owner and self.facts(view, party).names.isdisjoint(namespace.allocators):
            raise NotPermitted(
                f"{party.name} may not allocate in {namespace.name}; its owner {namespace.owner} can allow it with `idstore namespace allow`",
                namespace=namespace.name,
                party=party.name,
            )

    def _in_pace(self, turn: Turn, namespace: Namespace, party: Party) -> None:
        limit = namespace.per_minute
        if limit is None:
            return
        listed, gone = turn.catalogue.allocated(party.name, namespace.base, turn.moment - _MINUTE, limit, self.store.origin)
        given_up = (any(turn.quads(NamedNode(event), IDS.inNamespace, namespace.iri)) for event in gone)  # they count as well
        if listed + sum(given_up) >= limit:
            raise NotPermitted(
                f"{party.name} has allocated {limit} identifiers in {namespace.name} within a minute, which is its limit; wait a moment",
                namespace=namespace.name,
                limit=limit,
            )

    def _chosen(self, namespace: Namespace, text: str) -> str:
        scheme = namespace.scheme
        if not scheme.chosen:
            derives = isinstance(scheme, Deriving)
            why = "derives them from an article's metadata" if derives else "draws them, so that no number carries a meaning"
            mint = f"idstore mint {namespace.name}{' --metadata FILE' if derives else ''}"
            raise NotPermitted(
                f"nobody chooses an identifier in {namespace.name}: the scheme {scheme.name} {why}; use `{mint}`",
                namespace=namespace.name,
                scheme=scheme.name,
            )
        label = scheme.label(text, namespace.context)
        refused = scheme.reserved(label, namespace.context) if isinstance(scheme, Reserving) else None
        if refused is not None:
            raise NotPermitted(refused, namespace=namespace.name, label=label)
        return label

    def _untaken(self, turn: Turn, namespace: Namespace, label: str) -> tuple[str, NamedNode]:
        """A chosen label and the node that stands for it among the claims. Raises AlreadyRegistered."""
        claimed = label_node(namespace, label)
        if turn.holder(claimed) is not None:
            raise AlreadyRegistered(f"{label!r} is taken in {namespace.name}; choose another label", label=label, namespace=namespace.name)
        return label, claimed

    def _free(self, turn: Turn, namespace: Namespace, metadata: Mapping[str, str]) -> tuple[str, NamedNode]:
        """The first candidate that nobody holds, and the node that stands for it among the claims. Raises NamespaceExhausted, InvalidData."""
        return self._first_free(turn, namespace, namespace.scheme.candidates(_Allocation(turn, namespace, metadata, self._clocked)))

    def _first_free(self, turn: Turn, namespace: Namespace, labels: Iterable[str]) -> tuple[str, NamedNode]:
        """The first of the labels that nobody holds. Raises NamespaceExhausted, and what finding them raises."""
        for label in labels:
            claimed = label_node(namespace, label)
            if turn.holder(claimed) is None:
                return label, claimed
        raise NamespaceExhausted(f"namespace {namespace.name} has no free identifier left", namespace=namespace.name)
