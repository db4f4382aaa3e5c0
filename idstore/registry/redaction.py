"""Redaction: an administrator replaces a text, or a party's name, by a pseudonym, in the log as well.

The pseudonym ends in the number of the redaction's event. It is no digest, so a guess of the text cannot be
tested. The digest of a request that contained the text is replaced for the same reason: the request cannot be
repeated by its key afterwards.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol
from urllib.parse import quote

from pyoxigraph import Literal, NamedNode, Quad

from idstore.errors import InvalidData, NotPermitted, NotRegistered
from idstore.model import event as events
from idstore.model import terms
from idstore.model.change import Claim
from idstore.model.event import Event
from idstore.model.namespace import TRUE
from idstore.model.particulars import PREDICATES, term
from idstore.model.party import Party, node
from idstore.model.record import reserved
from idstore.model.terms import Term
from idstore.registry.core import Core, DryRunEnded, Part
from idstore.registry.imports.replay import home_of
from idstore.registry.requests import request_claim
from idstore.stores.contract import Bulk, View
from idstore.vocabulary import (
    EVENTS,
    IDS,
    PAV,
    PUBLIC_LOG,
    RDF,
    SKOS,
    SPACE,
    XSD,
    argument_property,
    renamed_graph,
    setting_key,
    store_name,
)

_SHORTEST: Final = 3
"""Characters of the shortest text that can be redacted: a shorter one occurs everywhere."""
_FIXED: Final = frozenset(
    {
        SKOS.notation,
        IDS.delivery,
        IDS.kind,
        IDS.path,
        IDS.permissions,
        IDS.publisher,
        IDS.requestDigest,
        IDS.scheme,
        IDS.valueType,
    }
)
"""Properties whose texts identify something, or are settings; no redaction changes them."""
_NAMED: Final = (
    IDS.Namespace,
    IDS.NamespaceAddition,
    IDS.Party,
    IDS.Storage,
    IDS.StorageAddition,
    IDS.TypeAddition,
)
"""Classes whose names identify something."""
_ADDRESSES: Final = frozenset({IDS.target, PAV.authoredBy, RDF.object})
"""Properties of records and events whose IRIs can hold a text, besides the relations of bindings."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """The result of a redaction, real or predicted.

    pseudonym  what stands in the place of the text; of a dry run none.
    events     the changed events, in order, as they were before, with their new contents: IRI and kind each.
    kept       identifiers and namespaces whose own IRIs contain the text, which stay.
    """

    pseudonym: str
    events: tuple[tuple[str, str], ...]
    kept: tuple[str, ...] = ()


class _Replacement(Protocol):
    """What a redaction replaces."""

    renamed: tuple[str, str] | None

    def quad(self, quad: Quad) -> Quad:
        """Return the quad to keep in the place of one."""

    def stays(self, subject: NamedNode) -> bool:
        """Whether the IRI of an identifier or namespace contains what is replaced."""

    def forget_request(self, event: NamedNode) -> None:
        """Replace the digest of an event's request as well, if what is replaced was part of the request."""


class Redaction(Part):
    """Redaction of texts and of parties' names."""

    def redact_text(self, text: str, reason: str, party: Party, *, dry_run: bool = False) -> Redacted:
        """Replace a text by a pseudonym wherever a comment, note, name, reason, value or address has it.

        The text may be a part of these, or of what an owner says of a namespace. Identifiers, labels, names
        of namespaces and of parties, and settings stay.
        reason   why; the log shows it to everyone.
        dry_run  only report.

        Only administrators may. Raises NotPermitted, InvalidData (the text is too short, or in the reason),
        NotRegistered (it occurs nowhere), StoreUnavailable.
        Cost: every quad is read and written; acts wait meanwhile.
        """
        terms.check_text(text, "text to redact")
        if len(text) < _SHORTEST:
            raise InvalidData(
                f"a text to redact has at least {_SHORTEST} characters; give more of it", field="text"
            )
        if text in reason:
            raise InvalidData(
                "the reason contains the text to redact, and the log keeps it; give another one",
                field="reason",
            )

        def replacement(view: View, pseudonym: str, event: NamedNode) -> _Replacement:
            if text in pseudonym:
                raise InvalidData(
                    "the text occurs in the pseudonym that would replace it; give more of it", field="text"
                )
            return _GivenText(view, text, pseudonym, event.value)

        return self._redact(
            replacement, "no text that can be replaced contains the given one", reason, party, dry_run
        )

    def redact_party(self, name: str, reason: str, party: Party, *, dry_run: bool = False) -> Redacted:
        """Replace the name of another party by a pseudonym, wherever it stands for the party.

        Everything of the party stays with the pseudonym: ownership, grants, bindings, events. A party that
        acts under the former name again is a new one. Tokens are no part of the registry's statements:
        `idstore.tokens.redact_party` revokes them first. Parameters, errors and cost: see `redact_text`.
        """
        former = Party(name)
        if former == party:
            raise NotPermitted(
                "nobody redacts their own name, since the right to act ends with it; ask another"
                " administrator",
                party=party.name,
            )
        if name in reason:
            raise InvalidData(
                "the reason contains the name to redact, and the log keeps it; give another one",
                field="reason",
            )
        return self._redact(
            lambda _, pseudonym, __: _PartyName(name, pseudonym),
            f"no party {name!r} has acted here, and nothing is about it",
            reason,
            party,
            dry_run,
        )

    def _redact(
        self,
        prepare: Callable[[View, str, NamedNode], _Replacement],
        absent: str,
        reason: str,
        party: Party,
        dry_run: bool,
    ) -> Redacted:
        self.core.only_administrators(party, acting=True)
        result: Redacted | None = None
        try:
            with self.store.bulk() as bulk:
                core = Core(bulk)
                core.only_administrators(party, acting=True)
                about = NamedNode(store_name(bulk.origin))
                event = core.event(
                    bulk,
                    IDS.Redaction,
                    about,
                    party,
                    (IDS.reason, Literal(terms.check_text(reason, "reason"))),
                )
                pseudonym = f"{events.REDACTED}{event.token:016x}"
                replacement = prepare(bulk, pseudonym, event.node)
                changed, kept = _changes(bulk, replacement)
                if not changed:
                    missing = NotRegistered("", absent)
                    missing.field = "text" if replacement.renamed is None else "name"
                    raise missing
                result = Redacted(
                    "" if dry_run else pseudonym, tuple((one.iri, one.act) for one, _ in changed), kept
                )
                if dry_run:
                    raise DryRunEnded  # noqa: TRY301 the bulk has no effect
                public = any(graph == PUBLIC_LOG for _, graph in changed)
                _log(core, bulk, _completed(event, replacement, public=public))
                redacted = [after for after, _ in changed]
                bulk.redact(
                    replacement.quad, redacted, [*_claims(bulk, redacted, pseudonym)], replacement.renamed
                )
        except DryRunEnded:
            pass
        assert result is not None
        return result


def _completed(event: Event, replacement: _Replacement, *, public: bool) -> Event:
    """Return the event of a redaction; one of drafts alone is as private as these."""
    arguments: list[tuple[NamedNode, Term]] = list(event.arguments)
    if replacement.renamed is not None:
        arguments.append((IDS.party, node(replacement.renamed[1])))
    if not public:
        arguments.append((IDS.internal, TRUE))
    return replace(event, arguments=tuple(arguments))


def _log(core: Core, bulk: Bulk, event: Event) -> None:
    core.log_event(bulk, event, home_of(event, ()) or PUBLIC_LOG, [], [])


def _changes(view: View, replacement: _Replacement) -> tuple[list[tuple[Event, NamedNode]], tuple[str, ...]]:
    """Return the events that change, as they are afterwards, with their graphs, and the IRIs that stay."""
    places: dict[NamedNode, NamedNode] = {}
    kept: dict[str, None] = {}
    for quad in view.quads():
        subject, graph = quad.subject, quad.graph_name
        assert isinstance(subject, NamedNode) and isinstance(graph, NamedNode)
        if subject.value.startswith(EVENTS) and replacement.quad(quad) != quad:
            places[subject] = graph
        elif quad.predicate in (IDS.stage, IDS.scheme) and replacement.stays(subject):
            kept[subject.value] = None
    changed = []
    for iri, graph in places.items():
        replacement.forget_request(iri)
        quads = list(view.quads(iri, None, None, graph))
        if any(quad.predicate == IDS.about for quad in quads):
            after = [replacement.quad(quad) for quad in quads]
            changed.append((events.parse(iri, after), graph))
    return sorted(changed, key=lambda pair: pair[0].order), tuple(sorted(kept))


def _claims(view: View, redacted: Iterable[Event], pseudonym: str) -> Iterator[Claim]:
    """Yield the claims of the request keys whose digest is replaced, as they are afterwards."""
    for event in redacted:
        claim = request_claim(event.text(IDS.requestDigest) or "", NamedNode(event.about))
        earlier = view.claim(claim.key) if claim.digest == pseudonym else None
        if earlier is not None and earlier.holder == claim.holder:
            yield claim


class _PartyName:
    """Replaces the name of a party, in its IRI, its description and the graphs that name it."""

    def __init__(self, name: str, pseudonym: str) -> None:
        self.renamed: tuple[str, str] | None = (name, pseudonym)
        self._old, self._new = node(name), node(pseudonym)

    def quad(self, quad: Quad) -> Quad:
        """Return the quad with the pseudonym's IRI and graphs."""
        graph, value = quad.graph_name, quad.object
        assert isinstance(graph, NamedNode) and self.renamed is not None
        if quad.subject == self._old and quad.predicate == IDS.name:
            value = Literal(self.renamed[1])
        return Quad(
            self._new if quad.subject == self._old else quad.subject,
            quad.predicate,
            self._new if value == self._old else value,
            renamed_graph(graph, *self.renamed),
        )

    def stays(self, _: NamedNode) -> bool:
        """Return False: a party's name is no part of an identifier."""
        return False

    def forget_request(self, _: NamedNode) -> None:
        """Do nothing: a request does not contain the name of its party."""


class _GivenText:
    """Replaces a text in literals, and in the IRIs of targets."""

    renamed: tuple[str, str] | None = None

    def __init__(self, view: View, text: str, pseudonym: str, event: str) -> None:
        self._forms = tuple(dict.fromkeys((text, quote(text, safe=""), quote(text))))
        self._pseudonym, self._event = pseudonym, event
        self._forgotten: set[NamedNode] = set()
        self._bases = (SPACE, EVENTS, *(base for base in _bases(view)))
        self._named = {quad.subject for kind in _NAMED for quad in view.quads(None, RDF.type, kind)}

    def stays(self, subject: NamedNode) -> bool:
        """Whether the IRI contains the text."""
        return self._occurs(subject.value)

    def forget_request(self, event: NamedNode) -> None:
        """Replace the digest of an event's request, by which a guess of the text could be tested."""
        self._forgotten.add(event)

    def _occurs(self, text: str) -> bool:
        """Whether the text occurs, as written or percent-encoded."""
        return any(form in text for form in self._forms)

    def quad(self, quad: Quad) -> Quad:
        """Return the quad with the pseudonym in the place of the text."""
        value = quad.object
        if quad.predicate == IDS.requestDigest and quad.subject in self._forgotten:
            assert isinstance(value, Literal)
            key, _, _ = value.value.partition(":")
            return Quad(quad.subject, quad.predicate, Literal(f"{key}:{self._pseudonym}"), quad.graph_name)
        if not (isinstance(value, NamedNode | Literal) and self._occurs(value.value)):
            return quad
        name = argument_property(quad.predicate)
        after = (
            self._iri(name, value)
            if isinstance(value, NamedNode)
            else self._literal(quad.subject, name, value)
        )
        return quad if after == value else Quad(quad.subject, quad.predicate, after, quad.graph_name)

    def _literal(self, subject: object, name: NamedNode, value: Literal) -> Literal:
        key = setting_key(name)
        if key is not None and key in PREDICATES:
            said = term(key, value.value)
            return Literal(
                self._iri(PREDICATES[key], said).value
                if isinstance(said, NamedNode)
                else self._replaced(said.value)
            )
        if key is not None or name in _FIXED or (name == IDS.name and subject in self._named):
            return value
        if value.language is not None:
            return Literal(self._replaced(value.value), language=value.language)
        return Literal(self._replaced(value.value)) if value.datatype == XSD.string else value

    def _iri(self, predicate: NamedNode, value: NamedNode) -> NamedNode:
        if value.value.startswith(self._bases) or (reserved(predicate) and predicate not in _ADDRESSES):
            return value
        return NamedNode(self._replaced(value.value))

    def _replaced(self, text: str) -> str:
        """Return a text with the pseudonym; of an IRI that would be none then, the redaction's event."""
        after = text
        for form in self._forms:
            after = after.replace(form, self._pseudonym)
        return self._event if _is_iri(text) and not _is_iri(after) else after


def _bases(view: View) -> Iterator[str]:
    """Yield the bases of the namespaces, whose IRIs are identifiers."""
    for quad in view.quads(None, RDF.type, IDS.Namespace):
        assert isinstance(quad.subject, NamedNode)
        yield quad.subject.value


def _is_iri(text: str) -> bool:
    try:
        terms.iri(text)
    except InvalidData:
        return False
    return True
