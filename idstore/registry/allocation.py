"""Minting and registering: giving out names that nobody else holds, for ever."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, NamespaceExhausted, NotPermitted, NotRegistered, RequestConflict, StageConflict
from idstore.model import terms, times
from idstore.model.change import Change
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, apply
from idstore.model.terms import Term
from idstore.registry.naming import Naming, label_node
from idstore.schemes import Context
from idstore.stores import Turn, View
from idstore.vocabulary import IDS, RDF, SKOS, SPACE

_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Request:
    """What comes with a new identifier.

    name, lang   what people call the thing, and in which language.
    comment      a remark for the grant list (public after fixation).
    target       the URI that the identifier leads to.
    request_key  the caller's own key: the same key by the same party in the same namespace gives the same identifier for ever.
    metadata     what the scheme derives the label from.
    """

    name: str | None = None
    lang: str = terms.UNDETERMINED
    comment: str | None = None
    target: str | None = None
    request_key: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """The event's arguments. Raises InvalidData."""
        made: list[tuple[NamedNode, Term]] = []
        if self.name is not None:
            lang = self.lang if self.lang == terms.UNDETERMINED else terms.language(self.lang)
            made.append((IDS.name, terms.tagged(terms.plain(self.name, "name"), lang)))
        if self.comment is not None:
            made.append((RDF.value, Literal(terms.plain(self.comment, "comment"))))
        if self.target is not None:
            made.append((IDS.target, terms.iri(self.target)))
        return made

    def digest(self, label: str | None) -> str:
        """A hash of everything but the key."""
        said = {
            "name": self.name,
            "lang": self.lang,
            "comment": self.comment,
            "target": self.target,
            "metadata": dict(self.metadata),
            "label": label,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


class _Allocation:
    """What a scheme asks for while it looks for a label: see `idstore.schemes.Allocation`."""

    def __init__(self, turn: Turn, namespace: Namespace, metadata: Mapping[str, str]) -> None:
        self.context: Context = namespace.context
        self.metadata = metadata
        self._series = turn.issued(namespace.base)

    def now(self) -> int:
        return times.now()

    def wait_until(self, moment: int) -> None:
        while (ahead := moment - time.time_ns() / 1e6) > 0:
            time.sleep(ahead / 1000)

    def issued(self, series: str) -> int:
        return self._series.get(series, (0, 0))[0]

    def highest(self, series: str) -> int:
        return self._series.get(series, (0, 0))[1]


class Allocating(Naming):
    """Giving out identifiers."""

    def mint(self, namespace: str, party: Party, request: Request = Request()) -> Record:
        """Allocate an identifier nobody holds, and make it durable before returning.

        namespace   where to allocate: name or base; its scheme decides the form.

        Returns the record, in stage *created*, visible to its grant list alone.
        Raises UnknownNamespace, NotPermitted, NamespaceExhausted, InvalidData (the request), RequestConflict, StoreUnavailable (nothing was allocated).
        Cost: one durable commit, shared with every other commit that is waiting at that moment.
        Source: RDS/WIP Identifier Generator, "Principles".
        """
        return self._allocate(namespace, party, request, None)

    def register(self, namespace: str, label: str, party: Party, request: Request = Request()) -> Record:
        """Take a label of the caller's choice, where the scheme lets people name things.

        Raises as `mint`, and AlreadyRegistered, InvalidIdentifier.
        """
        return self._allocate(namespace, party, request, label)

    def _allocate(self, where: str, party: Party, request: Request, chosen: str | None) -> Record:
        arguments = request.arguments()
        with self._acting(party) as turn:
            namespace = self._namespace(turn, where)
            label = None if chosen is None else self._chosen(namespace, chosen)
            key = None if request.request_key is None else _request_node(party, namespace, request.request_key)
            if key is not None:
                earlier = self._earlier(turn, key, request, arguments, label, party)
                if earlier is not None:
                    return earlier
                arguments.append((IDS.requestDigest, Literal(f"{key.value.rpartition('/')[2]}:{request.digest(label)}")))
            self._may_allocate(turn, namespace, party)
            self._in_pace(turn, namespace, party)
            name = self._free(turn, namespace, request.metadata) if label is None else self._untaken(turn, namespace, label)
            kind = IDS.Mint if chosen is None else IDS.Registration
            return self._begin(turn, namespace, name, kind, party, arguments, key)

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
        listed, gone = turn.catalogue.allocated(party.name, namespace.base, turn.moment - _MINUTE, limit)
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
            raise NotPermitted(
                f"nobody chooses an identifier in {namespace.name}: the scheme {scheme.name} draws them, so that no number carries a meaning; use `idstore mint {namespace.name}`",
                namespace=namespace.name,
                scheme=scheme.name,
            )
        return scheme.label(text, namespace.context)

    def _untaken(self, turn: Turn, namespace: Namespace, label: str) -> tuple[str, NamedNode]:
        """A chosen label and the node that stands for it among the claims. Raises AlreadyRegistered."""
        claimed = label_node(namespace, label)
        if turn.holder(claimed) is not None:
            raise AlreadyRegistered(f"{label!r} is taken in {namespace.name}; choose another label", label=label, namespace=namespace.name)
        return label, claimed

    def _free(self, turn: Turn, namespace: Namespace, metadata: Mapping[str, str]) -> tuple[str, NamedNode]:
        """The first candidate that nobody holds, and the node that stands for it among the claims. Raises NamespaceExhausted, InvalidData."""
        for label in namespace.scheme.candidates(_Allocation(turn, namespace, metadata)):
            claimed = label_node(namespace, label)
            if turn.holder(claimed) is None:
                return label, claimed
        raise NamespaceExhausted(f"namespace {namespace.name} has no free identifier left", namespace=namespace.name)

    def _earlier(
        self, turn: Turn, key: NamedNode, request: Request, arguments: list[tuple[NamedNode, Term]], label: str | None, party: Party
    ) -> Record | None:
        """What the same request made before, also where nothing may be allocated any more. Raises RequestConflict."""
        iri = turn.holder(key)
        if iri is None:
            return None
        digest = f"{key.value.rpartition('/')[2]}:{request.digest(label)}"
        made = next(event for event, _ in self._history(turn, iri) if (event.text(IDS.requestDigest) or "").startswith(digest[:33]))
        if made.text(IDS.requestDigest) != digest:
            raise RequestConflict(
                f"request key {request.request_key!r} was used for {iri.value} with other arguments ({_difference(made, arguments, label)}); use a new key",
                key=request.request_key,
                id=iri.value,
            )
        sight = self.sight(turn, party)
        try:
            return self._load(turn, iri, sight)
        except NotRegistered:
            fate = "was released since" if self._history(turn, iri, sight) else f"{party.name} may not see any more"
            raise RequestConflict(
                f"request key {request.request_key!r} made {iri.value}, which {fate}; use a new key", key=request.request_key, id=iri.value
            ) from None


def _request_node(party: Party, namespace: Namespace, key: str) -> NamedNode:
    digest = hashlib.sha256(f"{party.name}\0{namespace.base}\0{key}".encode()).hexdigest()[:32]
    return NamedNode(f"{SPACE}request/{digest}")


_SAID = {IDS.name: "name", RDF.value: "comment", IDS.target: "target"}


def _difference(made: Event, arguments: list[tuple[NamedNode, Term]], label: str | None) -> str:
    """What of a request is not as it was."""
    now = dict(arguments)
    found = [word for predicate, word in _SAID.items() if made.one(predicate) != now.get(predicate)]
    if label != (made.text(SKOS.notation) if made.kind == IDS.Registration else None):
        found.append("label")
    return f"another {', '.join(found or ['metadata'])}"
