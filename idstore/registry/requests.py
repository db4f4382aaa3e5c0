"""Requests for identifiers, and the keys by which a repeated request is recognised."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace

from pyoxigraph import Literal, NamedNode

from idstore import arguments
from idstore.errors import AlreadyRegistered, InvalidData, NotRegistered, RequestConflict
from idstore.model import terms
from idstore.model.change import Claim
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.terms import Term
from idstore.registry.bindings import Statement, named
from idstore.registry.core import Core
from idstore.registry.lookup import visible_holder
from idstore.registry.request_keys import REQUESTS, deriving, key_node, short_hash
from idstore.stores.contract import Transaction
from idstore.vocabulary import IDS, RDF, SKOS, closed_graph


@dataclass(frozen=True, slots=True)
class Request:
    """The data of a request for a new identifier.

    name         name of the identified thing.
    lang         language of the name; ``und``: none.
    comment      a comment for the grant list (public after fixation).
    target       the URI that the identifier leads to; ``{label}`` in it stands for the percent-encoded label.
    request_key  the caller's own key: the same key by the same party in the same namespace always gives the
                 same identifier.
    metadata     source of the label, for the scheme. If the scheme can tell from metadata that things are the
                 same (articles by their DOI), the metadata are also a key, shared by all parties; a request
                 key takes precedence. The field ``key`` is the request key if there is no other.
    strict       whether metadata with a field that has no known form are refused.
    force        whether a target or label is taken that is refused otherwise: one with an unknown prefix, an
                 invisible character, or something around it.
    names        further names by language, given in the same commit.
    bindings     relations to other URIs, made in the same commit.
    fixate       whether the identifier is published for ever, in the same commit.
    """

    name: str | None = None
    lang: str = terms.UNDETERMINED
    comment: str | None = None
    target: str | None = None
    request_key: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    force: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    bindings: Sequence[Statement] = ()
    fixate: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind."""
        arguments.check_fields(self)

    def arguments(self) -> list[tuple[NamedNode, Term]]:
        """Return the event's arguments. Raises InvalidData."""
        check_metadata(self.metadata)
        self._check_languages()
        earlier: list[tuple[NamedNode, Term]] = []
        if self.name is not None:
            earlier.append((IDS.name, named(self.name, self.lang)))
        if self.comment is not None:
            earlier.append((RDF.value, Literal(terms.check_text(self.comment, "comment"))))
        if self.target is not None:
            earlier.append((IDS.target, terms.iri(self.target)))
        return earlier

    def _check_languages(self) -> None:
        """Raise InvalidData for two names in one language."""
        given = [*([] if self.name is None else [self.lang]), *self.names]
        twice = [lang for lang, count in Counter(map(str.lower, given)).items() if count > 1]
        if twice:
            raise InvalidData(
                f"there are two names in the language {twice[0]!r}; give one in each",
                field="names",
                value=twice[0],
            )

    def every_name(self) -> list[str]:
        """Return the names in all languages."""
        return [*([] if self.name is None else [self.name]), *self.names.values()]

    def digest(self, label: str | None) -> str:
        """Return a hash of everything but the key."""
        content: dict[str, object] = {
            "name": self.name,
            "lang": self.lang,
            "comment": self.comment,
            "target": self.target,
            "metadata": dict(self.metadata),
            "label": label,
        }
        if self.names:
            content["names"] = dict(self.names)
        if self.bindings:
            content["bindings"] = [[str(value) for value in astuple(one)] for one in self.bindings]
        if self.fixate:
            content["fixate"] = True
        import json

        return short_hash(json.dumps(content, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Key:
    """The key by which a repeated request is recognised.

    node         its claim node.
    text         the key itself.
    description  its name in messages.
    digest       a hash of the arguments that a repeated request must share.
    shared       whether it is the same for every party.
    """

    node: NamedNode
    text: str
    description: str
    digest: str
    shared: bool

    @property
    def logged(self) -> str:
        """The value of the event's ``ids:requestDigest``, from which the claim can be rebuilt."""
        return f"{self.node.value.removeprefix(REQUESTS)}:{self.digest}"

    def is_of(self, event: Event) -> bool:
        """Return whether this is the key of the request that the event carried out."""
        logged = event.text(IDS.requestDigest)
        return logged is not None and request_claim(logged, NamedNode(event.about)).key == self.node


def key_of(namespace: Namespace, party: Party, request: Request, label: str | None) -> Key | None:
    """Return the key of a request: the caller's own, else the one from its metadata; None without either.

    Raises InvalidData for an empty key: from an unset variable it would give all requests one identifier.
    """
    if request.request_key is not None:
        text = terms.check_text(request.request_key, "request key")
        owner, key, description, digest = party.name, text, f"request key {text!r}", request.digest(label)
    else:
        same = same_as(namespace, request.metadata)
        if same is None:
            return None
        owner, key, description, digest = "", same, same, short_hash(same)
    return Key(key_node(owner, namespace.base, key), key, description, digest, shared=not owner)


def with_own_key(request: Request) -> Request:
    """Return a request with the metadata's own key as its request key, unless it has another one."""
    if "key" not in request.metadata:
        return request
    metadata = {name: value for name, value in request.metadata.items() if name != "key"}
    key = request.metadata["key"] if request.request_key is None else request.request_key
    return replace(request, metadata=metadata, request_key=key)


def request_claim(logged: str, holder: NamedNode) -> Claim:
    """Rebuild the claim of a request key from the event's ``ids:requestDigest``."""
    own, _, digest = logged.partition(":")
    return Claim(NamedNode(REQUESTS + own), holder, digest)


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Raise InvalidData if a metadata field is no text, too long, not UTF-8, or holds a NUL character."""
    for name, value in metadata.items():
        if not isinstance(value, str):
            raise InvalidData(
                f"the field {name} is {value!r}; write it as text, in quotes", field=name, value=value
            )
        terms.check_size(value, f"metadata field {terms.check_size(name, 'name of a metadata field')}")
        if value.strip():
            terms.check_text(value, name)


def check_regular(namespace: Namespace, metadata: Mapping[str, str]) -> None:
    """Raise InvalidData if a label is derived from the metadata, and a field of them has no known form."""
    code = deriving(namespace.scheme_name)
    if code is not None and "parent" not in metadata:
        irregular = code.derive(metadata, namespace.context).irregular
        if irregular:
            reason = f"{'; '.join(irregular)}; correct the metadata"
            raise InvalidData(reason, field="metadata", irregular=[*irregular])


def same_as(namespace: Namespace, metadata: Mapping[str, str]) -> str | None:
    """Return what identifies the described thing.

    None if nothing does, or if it is below another identifier.
    """
    code = deriving(namespace.scheme_name)
    return None if code is None or "parent" in metadata else code.same(metadata)


def earlier_record(
    core: Core,
    transaction: Transaction,
    key: Key,
    namespace: Namespace,
    arguments: list[tuple[NamedNode, Term]],
    label: str | None,
    party: Party,
) -> Record | None:
    """Return the record that the same request made before, even if allocation is no longer possible.

    Another party's hidden record is not revealed. Raises RequestConflict.
    """
    sight = core.sight(transaction, party)
    if key.shared:
        holder = visible_holder(transaction, namespace, key.node, sight)
        return None if holder is None else core.load(transaction, holder, sight)
    claim = transaction.claim(key.node)
    if claim is None:
        return None
    iri, record = claim.holder, None
    with suppress(NotRegistered):
        record = core.load(transaction, iri, sight)
    if claim.digest != key.digest:
        other = "" if record is None else f" ({_difference(core, transaction, iri, key, arguments, label)})"
        raise RequestConflict(
            f"{key.description} was used for {iri.value} with other arguments{other}; use a new key",
            key=key.text,
            id=iri.value,
        )
    if record is not None:
        return record
    released = sight.everything or any(transaction.quads(None, IDS.about, iri, closed_graph(party.name)))
    fate = "was released since" if released else f"{party.name} may no longer see"
    raise RequestConflict(
        f"{key.description} made {iri.value}, which {fate}; use a new key (in a table, in a column key),"
        " or leave the request out",
        key=key.text,
        id=iri.value,
    )


def _difference(
    core: Core,
    transaction: Transaction,
    iri: NamedNode,
    key: Key,
    arguments: list[tuple[NamedNode, Term]],
    label: str | None,
) -> str:
    """Describe how a request differs from the earlier one, for a party that sees the earlier result.

    For other parties the response time would reveal the amount of later work on the identifier.
    """
    earlier = next(event for event, _ in core.history(transaction, iri) if key.is_of(event))
    now = dict(arguments)
    differences = [
        word for predicate, word in _ARGUMENTS.items() if earlier.get(predicate) != now.get(predicate)
    ]
    if label != (earlier.text(SKOS.notation) if earlier.kind == IDS.Registration else None):
        differences.append("label")
    return f"another {', '.join(differences or ['metadata'])}"


def check_key_free(transaction: Transaction, key: Key, namespace: Namespace) -> None:
    """Raise AlreadyRegistered if the key belongs to a released identifier or another party's draft.

    The error does not tell the two apart.
    """
    if transaction.claim(key.node) is not None:
        raise AlreadyRegistered(
            f"{key.description} is taken in {namespace.name}; use a request key of your own to get another"
            " identifier",
            key=key.text,
            namespace=namespace.name,
        )


_ARGUMENTS = {IDS.name: "name", RDF.value: "comment", IDS.target: "target"}
