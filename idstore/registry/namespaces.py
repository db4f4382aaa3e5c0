"""Namespaces: adding them, who may allocate there, freezing and handing them over."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, StageConflict
from idstore.model import namespace as namespaces
from idstore.model import terms
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party, node
from idstore.model.terms import Term
from idstore.registry.core import Core
from idstore.schemes import Scheme, Typed, scheme
from idstore.stores import Turn
from idstore.vocabulary import EVENTS, IDS, PUBLIC_LOG, RDF, SKOS, SPACE


class Namespacing(Core):
    """The namespaces of the registry."""

    def add_namespace(self, name: str, base: str, scheme_name: str, party: Party, settings: Mapping[str, str] | None = None) -> Namespace:
        """Add a namespace; the party must administer the registry, and owns it.

        Raises InvalidData (name, base, settings), UnknownScheme, AlreadyRegistered (name or base), NotPermitted.
        """
        code = scheme(scheme_name)
        namespaces.check_name(name)
        context = code.context(base, settings or {})
        terms.iri(context.base, "base IRI")
        with self._acting(party) as turn:
            self._administers(turn, party, "add namespaces")
            self._vacant(turn, name)
            self._parent(turn, code, context.settings.get("parent", ""), party)
            arguments: list[tuple[NamedNode, Term]] = [(IDS.name, Literal(name)), (IDS.scheme, Literal(code.name))]
            arguments += [(IDS.setting, Literal(f"{key}={value}")) for key, value in namespaces.settings_of(context.settings)]
            event = self._event(turn, IDS.NamespaceAddition, NamedNode(context.base), party, *arguments)
            made = namespaces.apply(None, event)
            check_bases(made, self._facts(turn).by_base.values())
            self._log(turn, event, PUBLIC_LOG, made.quads(), [])
            return made

    def _vacant(self, turn: Turn, name: str) -> None:
        if name in self._facts(turn).by_name:
            raise AlreadyRegistered(f"there is a namespace {name!r} already; choose another name", name=name)

    def _parent(self, turn: Turn, code: Scheme, prefix: str, party: Party) -> None:
        """A derived prefix needs its parent here, and the parent's owner to add it."""
        if not prefix:
            return
        wanted = code.context(prefix, {}).base.casefold()
        parent = next((known for known in self._facts(turn).by_base.values() if known.base.casefold() == wanted), None)
        if parent is None:
            raise InvalidData(
                f"the parent prefix {prefix} is not registered here; add its namespace first, or leave the setting parent out",
                parent=prefix,
            )
        if parent.owner != party.name:
            raise NotPermitted(
                f"only the owner of {parent.name}, {parent.owner}, may add prefixes derived from {prefix}",
                parent=prefix,
                owner=parent.owner,
            )

    def namespaces(self) -> Sequence[Namespace]:
        """Every namespace, by name; of several that have one, first the one that is called by it."""
        with self.store.reading() as view:
            facts = self._facts(view)
            return sorted(facts.by_base.values(), key=lambda one: (one.name, one is not facts.by_name[one.name]))

    def namespace(self, name: str) -> Namespace:
        """The namespace of that name or base. Raises UnknownNamespace."""
        with self.store.reading() as view:
            return self._namespace(view, name)

    def allow(self, name: str, parties: Sequence[str], party: Party, *, per_minute: int | None = None) -> Namespace:
        """Say who may allocate in a namespace, and how fast. Only its owner may.

        parties     these parties and groups (and the owner always); none: everyone.
        per_minute  identifiers that one party may allocate in any 60 seconds; None: any number.
        Raises UnknownNamespace, NotPermitted, InvalidData.
        """
        if per_minute is not None and per_minute < 1:
            raise InvalidData(f"a limit of {per_minute} a minute allows nothing; give 1 or more, or freeze the namespace", limit=per_minute)
        if per_minute is not None and per_minute > namespaces.LARGEST:
            raise InvalidData(
                f"a limit of {per_minute} a minute is too large; give {namespaces.LARGEST} at most, or none for any number",
                limit=per_minute,
            )
        arguments: list[tuple[NamedNode, Term]] = [(IDS.party, node(Party(one).name)) for one in parties]
        if per_minute is not None:
            arguments.append((IDS.perMinute, namespaces.number(per_minute)))
        return self._change(name, party, IDS.NamespaceAllowance, *arguments)

    def freeze(self, name: str, party: Party, *, frozen: bool = True) -> Namespace:
        """Allocate nothing more in a namespace, or allow it again. Only its owner may. Raises UnknownNamespace, NotPermitted.

        What was issued elsewhere can still be imported: nothing is allocated by that.
        """
        return self._change(name, party, IDS.NamespaceFreeze, (IDS.frozen, TRUE if frozen else Literal("false", datatype=TRUE.datatype)))

    def add_type(self, name: str, code: str, title: str, party: Party) -> Namespace:
        """Let the labels of a namespace name one type more, as ``lan`` of PUIDs; its ``x-`` form comes with it. Only administrators may.

        Raises UnknownNamespace, NotPermitted, InvalidData (a scheme without types, the code, the title), AlreadyRegistered.
        """
        with self._acting(party) as turn:
            known = self._namespace(turn, name)
            self._administers(turn, party, "add types")
            if not isinstance(known.scheme, Typed):
                reason = f"the labels of {known.name} name no types: its scheme is {known.scheme_name}"
                raise InvalidData(reason, namespace=known.name, scheme=known.scheme_name)
            known.scheme.with_type(known.context, code, title)
            if any(one.code == code for one in known.types):
                raise AlreadyRegistered(f"{known.name} has the type {code} already", namespace=known.name, type=code)
            return self._amend(turn, known, party, IDS.TypeAddition, (SKOS.notation, Literal(code)), (IDS.name, Literal(title.strip())))

    def transfer_namespace(self, name: str, receiver: Party, party: Party) -> Namespace:
        """Offer a namespace to another party; it changes hands when the receiver calls this in turn.

        Raises UnknownNamespace, NotPermitted, StageConflict, InvalidData (a group).
        """
        with self._acting(party) as turn:
            known = self._namespace(turn, name)
            if not (known.offered == receiver.name == party.name):
                self._owns(known, party)
            self._may_own(turn, receiver)
            if receiver.name == known.owner:
                raise StageConflict(f"{known.name} belongs to {receiver.name} already", namespace=known.name, owner=known.owner)
            return self._amend(turn, known, party, IDS.Transfer, (IDS.party, node(receiver.name)))

    def comment_namespace(self, name: str, text: str, party: Party) -> None:
        """Remark on a namespace; only its owner may. Everyone sees it. Raises UnknownNamespace, NotPermitted, InvalidData."""
        self._change(name, party, IDS.Comment, (RDF.value, Literal(terms.plain(text, "comment"))))

    def _change(self, name: str, party: Party, kind: NamedNode, *arguments: tuple[NamedNode, Term]) -> Namespace:
        with self._acting(party) as turn:
            known = self._namespace(turn, name)
            self._owns(known, party)
            return self._amend(turn, known, party, kind, *arguments)

    def _owns(self, known: Namespace, party: Party) -> None:
        if known.owner != party.name:
            raise NotPermitted(
                f"only the owner of namespace {known.name}, {known.owner}, may do this", namespace=known.name, owner=known.owner
            )

    def _amend(self, turn: Turn, known: Namespace, party: Party, kind: NamedNode, *arguments: tuple[NamedNode, Term]) -> Namespace:
        event = self._event(turn, kind, known.iri, party, *arguments)
        after = namespaces.apply(known, event)
        self._log(turn, event, PUBLIC_LOG, after.quads(), known.quads())
        return after

    def _administers(self, turn: Turn, party: Party, act: str) -> None:
        if not self.facts(turn, party).administrator:
            raise NotPermitted(f"only administrators may {act}, and {party.name} is none", party=party.name)


def check_bases(made: Namespace, others: Iterable[Namespace]) -> None:
    """Raise InvalidData or AlreadyRegistered if something else is, or could be, named under a new namespace's base, or an alias of it."""
    if made.base.startswith((SPACE, EVENTS)):
        raise InvalidData(f"{made.base} is idstore's own; choose a base of your own", base=made.base)
    taken = ((known, theirs) for known in others for theirs in known.bases)
    for (known, theirs), base in product(taken, made.bases):
        one, other = sorted((theirs.casefold(), base.casefold()), key=len)
        if other.startswith(one) and "#" not in other[len(one) :]:  # else one IRI could be issued twice; no label has a bare #
            raise AlreadyRegistered(
                f"the base {base} {'belongs to' if one == other else 'overlaps with that of'} namespace {known.name}; choose another",
                base=base,
                namespace=known.name,
            )
