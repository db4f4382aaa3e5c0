"""Requests for identifiers, and how the same one is known again."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, NotRegistered, RequestConflict
from idstore.frozen import dataclass, field
from idstore.model import terms
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.terms import Term
from idstore.registry.naming import Naming
from idstore.schemes import Deriving, scheme
from idstore.stores import Turn
from idstore.vocabulary import IDS, RDF, SKOS, SPACE, closed_graph


@dataclass(frozen=True, slots=True)
class Request:
    """What comes with a new identifier.

    name, lang   what people call the thing, and in which language.
    comment      a remark for the grant list (public after fixation).
    target       the URI that the identifier leads to.
    request_key  the caller's own key: the same key by the same party in the same namespace gives the same identifier for ever.
    metadata     what the scheme derives the label from. Where the scheme tells from them that things are the same (articles by their DOI), they
                 are a key as well, whoever comes with it; a key of the caller's own goes before it.
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
        import json

        return _hash(json.dumps(said, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Key:
    """By what a request is known again.

    node    stands for it among the claims.
    text    the key itself.
    said    what messages call it.
    digest  as the event keeps it: the node's own part, and a hash of the arguments that must be the same.
    shared  whether it is the same for every party.
    """

    node: NamedNode
    text: str
    said: str
    digest: str
    shared: bool


def key_of(namespace: Namespace, party: Party, request: Request, label: str | None) -> Key | None:
    """The key of a request: the caller's own, else what its metadata say of the thing; None if there is neither.

    Raises InvalidData: an empty key, as of a variable that was never set, would give all its requests one identifier.
    """
    if request.request_key is not None:
        text = terms.plain(request.request_key, "request key")
        owner, key, said, digest = party.name, text, f"request key {text!r}", request.digest(label)
    else:
        same = same_as(namespace, request.metadata)
        if same is None:
            return None
        owner, key, said, digest = "", same, same, _hash(same)
    own = _hash(f"{owner}\0{namespace.base}\0{key}")
    return Key(NamedNode(f"{SPACE}request/{own}"), key, said, f"{own}:{digest}", shared=not owner)


def same_as(namespace: Namespace, metadata: Mapping[str, str]) -> str | None:
    """What metadata of the same thing have in common; None if nothing tells, or if they describe what is below another identifier."""
    code = _deriving(namespace.scheme_name)
    return None if code is None or "parent" in metadata else code.same(metadata)


@cache
def _deriving(name: str) -> Deriving | None:
    """The scheme, if it derives labels; remembered, since it is asked for every request, and asking is slow."""
    code = scheme(name)
    return code if isinstance(code, Deriving) else None


class Requesting(Naming):
    """Knowing requests again."""

    def _earlier(
        self, turn: Turn, key: Key, namespace: Namespace, arguments: list[tuple[NamedNode, Term]], label: str | None, party: Party
    ) -> Record | None:
        """What the same request made before, also where nothing may be allocated any more; nothing of what another made and keeps hidden.

        Raises RequestConflict.
        """
        sight = self.sight(turn, party)
        if key.shared:
            known = self._visible(turn, namespace, key.node, sight)
            return None if known is None else self._load(turn, known, sight)
        iri = turn.holder(key.node)
        if iri is None:
            return None
        record = None
        with suppress(NotRegistered):
            record = self._load(turn, iri, sight)
        same = turn.quads(None, IDS.requestDigest, Literal(key.digest))
        if not any(quad.object == iri for one in same for quad in turn.quads(terms.named(one.subject), IDS.about)):
            other = "" if record is None else f" ({self._difference(turn, iri, key, arguments, label)})"
            raise RequestConflict(
                f"{key.said} was used for {iri.value} with other arguments{other}; use a new key", key=key.text, id=iri.value
            )
        if record is not None:
            return record
        released = sight.everything or any(turn.quads(None, IDS.about, iri, closed_graph(party.name)))
        fate = "was released since" if released else f"{party.name} may not see any more"
        raise RequestConflict(f"{key.said} made {iri.value}, which {fate}; use a new key", key=key.text, id=iri.value)

    def _difference(self, turn: Turn, iri: NamedNode, key: Key, arguments: list[tuple[NamedNode, Term]], label: str | None) -> str:
        """What of a request is not as it was; for who sees what it made: else the time would tell how much was done with that since."""
        made = next(event for event, _ in self._history(turn, iri) if (event.text(IDS.requestDigest) or "").startswith(key.digest[:33]))
        now = dict(arguments)
        found = [word for predicate, word in _SAID.items() if made.one(predicate) != now.get(predicate)]
        if label != (made.text(SKOS.notation) if made.kind == IDS.Registration else None):
            found.append("label")
        return f"another {', '.join(found or ['metadata'])}"

    def _not_taken(self, turn: Turn, key: Key, namespace: Namespace) -> None:
        """Raise AlreadyRegistered if what `_earlier` does not tell has the key: released or another's draft, which nothing tells apart."""
        if turn.holder(key.node) is not None:
            raise AlreadyRegistered(
                f"{key.said} is taken in {namespace.name}; if it is meant to get another identifier, give a request key of your own",
                key=key.text,
                namespace=namespace.name,
            )


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]


_SAID = {IDS.name: "name", RDF.value: "comment", IDS.target: "target"}
