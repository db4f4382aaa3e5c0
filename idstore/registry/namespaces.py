"""Namespaces: adding, allowing allocation, freezing, transferring."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Final, TypeVar

from pyoxigraph import Literal, NamedNode

from idstore.characters import ascii_lower
from idstore.errors import (
    AlreadyRegistered,
    InvalidData,
    InvalidIdentifier,
    NotPermitted,
    StageConflict,
    UnknownScheme,
)
from idstore.model import names, particulars, terms
from idstore.model import namespace as namespaces
from idstore.model.namespace import TRUE, Namespace
from idstore.model.particulars import PREDICATES
from idstore.model.party import Party, node
from idstore.model.terms import Term, iri_of
from idstore.registry.core import Part
from idstore.registry.visibility import any_quad
from idstore.schemes import (
    Adjustable,
    Context,
    Hierarchical,
    Profiled,
    Reserving,
    Scheme,
    Typed,
    rdswip,
    scheme,
)
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import DCTERMS, EVENTS, IDS, PUBLIC_LOG, RDF, SKOS, SPACE

T = TypeVar("T")


class Namespaces(Part):
    """Acts on namespaces."""

    def add_namespace(
        self, name: str, base: str, scheme_name: str, party: Party, settings: Mapping[str, str] | None = None
    ) -> Namespace:
        """Add a namespace, owned by the party, which must be an administrator.

        name         by which commands and requests name it.
        base         what its IRIs begin with; of handles also the prefix alone.
        scheme_name  name of the scheme: rdswip, pilin, handle, puid, scholars-portal, or that of a plug-in.
        settings     those of the scheme that differ from its defaults.
        A prefix that is derived from a registered one is added by the owner of that one.

        Raises InvalidData (name, base, settings), UnknownScheme, AlreadyRegistered (name or base),
        NotPermitted, StageConflict (the parent is frozen).
        """
        code = scheme(scheme_name)
        said = _checked(name, base, code, settings or {})

        def act(transaction: Transaction) -> Namespace:
            self.core.require_administrator(transaction, party, "add namespaces")
            self._check_name_free(transaction, name)
            context = self._with_parent(transaction, code, said)
            arguments: list[tuple[NamedNode, Term]] = [
                (IDS.name, Literal(name)),
                (IDS.scheme, Literal(code.name)),
            ]
            arguments += namespaces.setting_pairs(code, namespaces.settings_of(context.settings))
            event = self.core.event(
                transaction, IDS.NamespaceAddition, NamedNode(context.base), party, *arguments
            )
            new = namespaces.apply(None, event)
            others = self.core.facts(transaction).by_base.values()
            check_derived(None, new, others, party.name)
            check_bases(new, others)
            self.core.log_event(transaction, event, PUBLIC_LOG, new.quads(), [])
            return new

        return self.core.act(party, act)

    def _check_name_free(self, transaction: Transaction, name: str) -> None:
        if name in self.core.facts(transaction).by_name:
            raise AlreadyRegistered(f"there is already a namespace {name!r}; choose another name", name=name)

    def _with_parent(self, transaction: Transaction, code: Scheme, context: Context) -> Context:
        """Return the context of a new namespace, with its registered parent in the settings.

        Raises InvalidData: the given parent is not registered here.
        """
        if not isinstance(code, Hierarchical):
            return context
        registered = {
            names.start_key(space.base): space for space in self.core.facts(transaction).by_base.values()
        }
        parent = next((registered.get(names.start_key(base)) for base in code.ancestors(context.base)), None)
        if parent is not None:
            return code.context(context.base, {**context.settings, "parent": parent.base})
        said = context.settings.get("parent", "")
        if said:
            raise InvalidData(
                f"the parent prefix {said} is not registered here; add its namespace first, or omit the"
                " setting parent",
                parent=said,
            )
        return context

    def derived(self, name: str) -> Sequence[Namespace]:
        """Return the namespaces whose prefix is derived from that of a namespace, by name.

        The parent of a prefix is the nearest registered one, also if that was registered later.
        """
        spaces = self.namespaces()
        base, registered = self.namespace(name).base, {names.start_key(one.base): one.base for one in spaces}
        return [one for one in spaces if _parent(one, registered) == base]

    def namespaces(self) -> Sequence[Namespace]:
        """Return every namespace, by name.

        Of several with one name, first the one that the name refers to.
        """

        def question(view: View) -> Sequence[Namespace]:
            facts = self.core.facts(view)
            return sorted(
                facts.by_base.values(), key=lambda space: (space.name, space is not facts.by_name[space.name])
            )

        return self.store.read(question)

    def namespace(self, name: str) -> Namespace:
        """Return the namespace with that name or base. Raises UnknownNamespace."""
        return self.store.read(lambda view: self.core.namespace(view, name))

    def allow(
        self, name: str, parties: Sequence[str], party: Party, *, per_minute: int | None = None
    ) -> Namespace:
        """Set the parties that may allocate in a namespace, and their rate. Only its owner may.

        parties     these parties and groups, besides the owner; empty: everyone.
        per_minute  identifiers that one party may allocate in any 60 seconds; None: any number.
        Raises UnknownNamespace, NotPermitted, InvalidData.
        """
        if per_minute is not None and per_minute < 1:
            raise InvalidData(
                f"a limit of {per_minute} a minute allows nothing; use 1 or more, or freeze the namespace",
                limit=per_minute,
            )
        if per_minute is not None and per_minute > namespaces.LARGEST:
            raise InvalidData(
                f"a limit of {per_minute} a minute is too large; use at most {namespaces.LARGEST}, or no"
                " limit",
                limit=per_minute,
            )
        arguments: list[tuple[NamedNode, Term]] = [(IDS.party, node(Party(text).name)) for text in parties]
        if per_minute is not None:
            arguments.append((IDS.perMinute, namespaces.number(per_minute)))
        return self._change(name, party, IDS.NamespaceAllowance, *arguments)

    def set_namespace(self, name: str, changes: Mapping[str, str], party: Party) -> Namespace:
        """Change settings and particulars of a namespace. Only its owner may.

        changes  new values by name. Particulars: description, contact, policy, licence, publisher, and bind
                 (who may bind published identifiers: anyone, known or allocators); an empty text removes
                 one. Settings: those that the scheme can change, and before the first identifier all that
                 decide about labels; an empty text stands for the default.
        What depends on the labels that were issued only an administrator may change: it tells of hidden ones.
        Raises UnknownNamespace, NotPermitted, InvalidData (an unknown name, a value that does not fit, what
        may not change and why), AlreadyRegistered (an alias of another namespace).
        Values that are there already change nothing.
        """

        def act(transaction: Transaction) -> Namespace:
            namespace = self.core.namespace(transaction, name)
            self._check_owned(namespace, party)
            secret = _depending_on_labels(namespace, changes)
            if secret:
                act = f"change {', '.join(secret)} of a namespace, which depends on hidden identifiers, too"
                self.core.require_administrator(transaction, party, act)
            used = not secret or is_used(transaction, namespace)
            new = {**_new_settings(namespace, changes, used=used), **_new_particulars(namespace, changes)}
            if not new:
                return namespace
            arguments = namespaces.setting_pairs(namespace.scheme, sorted(new.items()))
            event = self.core.event(transaction, IDS.NamespaceChange, namespace.iri, party, *arguments)
            after = namespaces.apply(namespace, event)
            others = self.core.facts(transaction).by_base.values()
            if after.bases != namespace.bases:
                check_derived(namespace, after, others, party.name)
                check_bases(after, (other for other in others if other.base != after.base))
            self._check_ranges(transaction, namespace, after)
            self.core.log_event(transaction, event, PUBLIC_LOG, after.quads(), namespace.quads())
            return after

        return self.core.act(party, act)

    def _check_ranges(self, view: View, before: Namespace, after: Namespace) -> None:
        """Raise InvalidData if labels issued here could no longer be chosen. It names none of them."""
        code = after.scheme
        if not isinstance(code, Reserving) or before.context == after.context:
            return
        for event, label in self._issued(view, before):
            if (
                code.reserved(label, before.context) is None
                and code.reserved(label, after.context) is not None
                and not any(view.quads(event, DCTERMS.isPartOf))  # of an import
            ):
                raise InvalidData(
                    f"the ranges that {before.name} reserves cannot leave out labels that were issued here;"
                    " keep the ranges that there are, and add others",
                    namespace=before.name,
                    setting="reserved",
                )

    def _issued(self, view: View, namespace: Namespace) -> Iterator[tuple[NamedNode, str]]:
        """Yield the allocations of a namespace: the event and the label."""
        for quad in view.quads(None, IDS.withNamespace, namespace.iri):
            event = iri_of(quad.subject)
            for label in view.quads(event, IDS.withLabel):
                assert isinstance(label.object, Literal)
                yield event, label.object.value

    def freeze(self, name: str, party: Party, *, frozen: bool = True) -> Namespace:
        """Stop allocation in a namespace, or resume it. Only its owner may.

        Raises UnknownNamespace, NotPermitted.
        Identifiers issued elsewhere can still be imported, because that allocates nothing.
        """
        return self._change(
            name,
            party,
            IDS.NamespaceFreeze,
            (IDS.frozen, TRUE if frozen else Literal("false", datatype=TRUE.datatype)),
        )

    def add_type(self, name: str, code: str, title: str, party: Party) -> Namespace:
        """Add a type to a namespace, such as ``lan`` of PUIDs, with its ``x-`` form. Only administrators may.

        code   the type, in lower-case letters and digits.
        title  what it stands for.
        Raises UnknownNamespace, NotPermitted, InvalidData (a scheme without types, the code, the title),
        AlreadyRegistered.
        """

        def act(transaction: Transaction) -> Namespace:
            namespace = self.core.namespace(transaction, name)
            self.core.require_administrator(transaction, party, "add types")
            if not isinstance(namespace.scheme, Typed):
                reason = (
                    f"the labels of {namespace.name} have no types: its scheme is {namespace.scheme_name}"
                )
                raise InvalidData(reason, namespace=namespace.name, scheme=namespace.scheme_name)
            namespace.scheme.with_type(
                namespace.context,
                terms.check_size(code, "code of the type"),
                terms.check_size(title, "title of the type"),
            )
            if any(label_type.code == code for label_type in namespace.types):
                raise AlreadyRegistered(
                    f"{namespace.name} already has the type {code}", namespace=namespace.name, type=code
                )
            return self._amend(
                transaction,
                namespace,
                party,
                IDS.TypeAddition,
                (SKOS.notation, Literal(code)),
                (IDS.name, Literal(title.strip())),
            )

        return self.core.act(party, act)

    def transfer_namespace(self, name: str, receiver: Party, party: Party) -> Namespace:
        """Offer a namespace to another party; the transfer completes when the receiver makes the same call.

        receiver  the other party; the owner itself, to withdraw an offer.
        Raises UnknownNamespace, NotPermitted, StageConflict, InvalidData (a group).
        """

        def act(transaction: Transaction) -> Namespace:
            namespace = self.core.namespace(transaction, name)
            if not (namespace.offered == receiver.name == party.name):
                self._check_owned(namespace, party)
            self.core.check_owner(transaction, receiver)
            if receiver.name == namespace.owner and namespace.offered is None:
                raise StageConflict(
                    f"{namespace.name} already belongs to {receiver.name}",
                    namespace=namespace.name,
                    owner=namespace.owner,
                )
            return self._amend(transaction, namespace, party, IDS.Transfer, (IDS.party, node(receiver.name)))

        return self.core.act(party, act)

    def comment_namespace(self, name: str, text: str, party: Party) -> None:
        """Comment on a namespace, visible to everyone; only its owner may.

        Raises UnknownNamespace, NotPermitted, InvalidData.
        """
        self._change(name, party, IDS.Comment, (RDF.value, Literal(terms.check_text(text, "comment"))))

    def _change(
        self, name: str, party: Party, kind: NamedNode, *arguments: tuple[NamedNode, Term]
    ) -> Namespace:

        def act(transaction: Transaction) -> Namespace:
            namespace = self.core.namespace(transaction, name)
            self._check_owned(namespace, party)
            return self._amend(transaction, namespace, party, kind, *arguments)

        return self.core.act(party, act)

    def _check_owned(self, namespace: Namespace, party: Party) -> None:
        if namespace.owner != party.name:
            raise NotPermitted(
                f"only the owner of namespace {namespace.name}, {namespace.owner}, may do this",
                namespace=namespace.name,
                owner=namespace.owner,
            )

    def _amend(
        self,
        transaction: Transaction,
        namespace: Namespace,
        party: Party,
        kind: NamedNode,
        *arguments: tuple[NamedNode, Term],
    ) -> Namespace:
        event = self.core.event(transaction, kind, namespace.iri, party, *arguments)
        after = namespaces.apply(namespace, event)
        self.core.log_event(transaction, event, PUBLIC_LOG, after.quads(), namespace.quads())
        return after


def _checked(name: str, base: str, code: Scheme, settings: Mapping[str, str]) -> Context:
    """Return base and settings of a namespace in their stored form. Raises InvalidData, also for the name."""
    namespaces.check_name(name)
    for key, value in settings.items():
        terms.check_size(f"{key}={value}", f"setting {terms.check_size(key, 'name of a setting')}")
    context = code.context(terms.check_size(base, "base IRI"), settings)
    terms.iri(context.base, "base IRI")
    return context


def check_stored(namespace: Namespace) -> None:
    """Raise InvalidData unless name, base and settings are as `Namespaces.add_namespace` stores them.

    Settings may be missing: those that a scheme got later.
    """
    context = _checked(namespace.name, namespace.base, namespace.scheme, dict(namespace.settings))
    if context.base != namespace.base:
        raise InvalidData(f"the base must be {context.base}", base=namespace.base)
    for key, text in namespace.settings:
        if context.settings[key] != text:
            raise InvalidData(
                f"the setting {key}={text!r} must be {context.settings[key]!r}", setting=key, value=text
            )


def check_derived(
    before: Namespace | None, after: Namespace, others: Collection[Namespace], party: str
) -> None:
    """Raise NotPermitted or StageConflict unless a party may derive the new bases of a namespace.

    A base of any scheme counts that is a form of a derived prefix, and a prefix derived from an alias.
    """
    registered = {names.start_key(base): space for space in others for base in space.bases}
    codes = _hierarchies([after, *others])
    for base in after.bases:
        if before is None or base not in before.bases:
            for code in codes:
                _check_ancestors(registered, code, base, party)


def _parent(namespace: Namespace, registered: Mapping[str, str]) -> str | None:
    """Return the base of the namespace that a prefix is derived from: as stated, else the nearest one."""
    if namespace.parent is not None:
        return namespace.parent.value
    with suppress(UnknownScheme):  # its package is not installed
        code = namespace.scheme
        return _nearest(registered, code, namespace.base) if isinstance(code, Hierarchical) else None
    return None


def _nearest(registered: Mapping[str, T], code: Hierarchical, base: str) -> T | None:
    """Return what is registered for the nearest prefix that a base derives from; keys: `names.start_key`."""
    found = (registered.get(names.start_key(ancestor)) for ancestor in code.ancestors(base))
    return next(filter(None, found), None)


def _hierarchies(spaces: Iterable[Namespace]) -> list[Hierarchical]:
    """Return the schemes of some namespaces whose bases derive from each other."""
    codes: list[Hierarchical] = []
    for name in sorted({space.scheme_name for space in spaces}):
        with suppress(UnknownScheme):  # its package is not installed
            code = scheme(name)
            codes += [code] if isinstance(code, Hierarchical) else []
    return codes


def _check_ancestors(registered: Mapping[str, Namespace], code: Hierarchical, base: str, party: str) -> None:
    """Raise NotPermitted, StageConflict: a party may not derive a base from the nearest registered one."""
    parent = _nearest(registered, code, base)
    if parent is None:
        return
    if parent.owner != party:
        raise NotPermitted(
            f"only the owner of {parent.name}, {parent.owner}, may add {base}, whose prefix is derived from"
            " it",
            parent=parent.base,
            owner=parent.owner,
        )
    if parent.frozen:
        raise StageConflict(
            f"namespace {parent.name} is frozen: it takes no derived prefix such as that of {base}",
            namespace=parent.name,
        )


_FLAGS: Final = {"true": "false", "false": "true"}
"""Value of a setting that is a flag → the other value."""
_FIXED: Final = {
    "base": "all its identifiers begin with it",
    "name": "people and files refer to the namespace by it",
    "scheme": "it decides the form of all identifiers",
    "parent": "the owner of the parent prefix agreed to it",
    "types": "types are added one by one, and stay",
}
"""Why these never change. The other settings decide about labels."""


def _new_particulars(namespace: Namespace, changes: Mapping[str, str]) -> dict[str, str]:
    """Return the particulars among the changes that differ from the present ones. Raises InvalidData."""
    present = dict(namespace.particulars)
    new = {key: particulars.checked(key, text) for key, text in changes.items() if key in PREDICATES}
    if new.get("bind") == particulars.ALLOCATORS and namespace.scheme_name == rdswip.NAME:
        raise InvalidData(
            f"bind={particulars.ALLOCATORS} is not for {namespace.name}: all may bind identifiers of the"
            f" scheme {rdswip.NAME}; write bind={particulars.ANYONE} or bind={particulars.KNOWN}",
            setting="bind",
            namespace=namespace.name,
        )
    return {key: text for key, text in new.items() if text != present.get(key, "")}


def accepting(namespace: Namespace, text: str) -> str | None:
    """Return a setting, as ``key=value``, with which a namespace would read a text; None if there is none.

    Such a setting can be changed before the first identifier is issued.
    """
    code, present = namespace.scheme, namespace.context.settings
    choices = [("profile", name) for name in (code.profiles if isinstance(code, Profiled) else {})]
    choices += [(key, _FLAGS[value]) for key, value in present.items() if value in _FLAGS]
    for key, value in choices:
        profile = code.profiles[value] if isinstance(code, Profiled) and key == "profile" else {key: value}
        with suppress(InvalidData, InvalidIdentifier):
            code.label(text, code.context(namespace.base, {**present, **profile}))
            return f"{key}={value}"
    return None


def is_used(view: View, namespace: Namespace) -> bool:
    """Whether an identifier was ever issued in a namespace, a released or hidden one included."""
    return any_quad(view.quads(None, IDS.withNamespace, namespace.iri))


def _depending_on_labels(namespace: Namespace, changes: Mapping[str, str]) -> list[str]:
    """Return the settings among the changes that may change or not by the labels that were issued."""
    code = namespace.scheme
    free = {*PREDICATES, *_FIXED, *(code.adjustable if isinstance(code, Adjustable) else ())}
    if isinstance(code, Reserving):
        free.discard("reserved")
    known = {*code.defaults, *(["profile"] if isinstance(code, Profiled) else [])}
    return [key for key in changes if key in known - free]


def _new_settings(namespace: Namespace, changes: Mapping[str, str], *, used: bool) -> dict[str, str]:
    """Return the settings among the changes that differ from the present ones. Raises InvalidData.

    used  whether identifiers were issued: then what decides about labels stays.
    """
    wanted = {key: text for key, text in changes.items() if key not in PREDICATES}
    if not wanted:
        return {}
    code, present = namespace.scheme, dict(namespace.context.settings)
    adjustable = code.adjustable if isinstance(code, Adjustable) else ()
    profiles = code.profiles if isinstance(code, Profiled) else {}
    possible = adjustable
    if not used:
        possible = [*(key for key in code.defaults if key not in _FIXED), *(["profile"] if profiles else [])]
    for key in wanted:
        if key not in possible:
            raise InvalidData(_why_fixed(namespace, key, possible), setting=key, namespace=namespace.name)
    filled = {key: text or code.defaults[key] for key, text in wanted.items() if text or key != "profile"}
    replaced = profiles.get(filled.get("profile", ""), {})
    kept = {key: text for key, text in present.items() if key not in replaced}
    after = code.context(namespace.base, {**kept, **filled}).settings
    gone = set(present.get("alias", "").split()) - set(after.get("alias", "").split())
    if gone:
        raise InvalidData(
            f"the alias {', '.join(sorted(gone))} of {namespace.name} cannot be taken away: names were"
            f" written with it; write alias={present['alias']}, then the new ones",
            setting="alias",
            namespace=namespace.name,
        )
    return {key: text for key, text in after.items() if text != present.get(key)}


def _why_fixed(namespace: Namespace, key: str, adjustable: Sequence[str]) -> str:
    """Return why something of a namespace cannot be changed, and what can be."""
    possible = ", ".join([*adjustable, *PREDICATES])
    if key == "owner":
        return f"the owner of {namespace.name} is not set; transfer the namespace instead"
    code = namespace.scheme
    there = {*_FIXED, *code.defaults, *(["profile"] if isinstance(code, Profiled) else [])}
    if key not in there:
        return f"{namespace.name} has no {key!r}; what can be set is {possible}"
    why = _FIXED.get(key, "it decides which labels there are and which are the same, and labels were issued")
    return (
        f"{key} of {namespace.name} cannot be changed, because {why}; add another namespace, or set one of"
        f" {possible}"
    )


def check_bases(new: Namespace, others: Iterable[Namespace]) -> None:
    """Raise if a new namespace's base or alias could contain, or be contained in, another one.

    Bases count in all their written forms: https://doi.org/10.5072/ is the base of the prefix 10.5072.

    Raises InvalidData: it is reserved for idstore; AlreadyRegistered: it overlaps.
    """
    if names.start_key(new.base).startswith((SPACE, EVENTS)):
        raise InvalidData(f"{new.base} is reserved for idstore; choose another base", base=new.base)
    taken = ((namespace, other_base) for namespace in others for other_base in namespace.bases)
    for (namespace, other_base), base in product(taken, new.bases):
        same = names.start_key(base) == names.start_key(other_base)
        # with overlapping bases one name could be issued twice
        if any(_overlap(folded(base), folded(other_base)) for folded in (names.start_key, ascii_lower)):
            raise AlreadyRegistered(
                f"the base {base} {'belongs to' if same else 'overlaps with that of'} namespace"
                f" {namespace.name}; choose another",
                base=base,
                namespace=namespace.name,
            )


def _overlap(one: str, other: str) -> bool:
    """Return whether names under one base can be names under the other one; no label contains a bare #."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and "#" not in long[len(short) :]
