"""Namespaces: adding, allowing allocation, freezing, transferring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from pyoxigraph import Literal, NamedNode

from idstore import schemes
from idstore.errors import (
    AlreadyRegistered,
    InvalidData,
    NotPermitted,
    StageConflict,
)
from idstore.model import names, terms
from idstore.model import namespace as namespaces
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import Party, node
from idstore.model.terms import Term, iri_of
from idstore.registry.core import Part
from idstore.registry.namespace_bases import check_bases, check_derived, parent_of
from idstore.registry.namespace_settings import depending_on_labels, new_particulars, new_settings
from idstore.registry.visibility import any_quad
from idstore.schemes import (
    Context,
    Hierarchical,
    Reserving,
    Scheme,
    Typed,
)
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import DCTERMS, IDS, PUBLIC_LOG, RDF, SKOS

T = TypeVar("T")


class Namespaces(Part):
    """Acts on namespaces."""

    def add_namespace(
        self, name: str, base: str, scheme: str, party: Party, settings: Mapping[str, str] | None = None
    ) -> Namespace:
        """Add a namespace, owned by the party, which must be an administrator.

        name      by which commands and requests name it.
        base      what its IRIs begin with; of handles also the prefix alone.
        scheme    name of the scheme: rdswip, pilin, handle, puid, scholars-portal, or that of a plug-in.
        settings  those of the scheme that differ from its defaults.
        A prefix that is derived from a registered one is added by the owner of that one.

        Raises InvalidData (name, base, settings), UnknownScheme, AlreadyRegistered (name or base),
        NotPermitted, StageConflict (the parent is frozen).
        """
        code = schemes.scheme(scheme)
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
        above = next(iter(code.ancestors(context.base)), None)  # others stand in no setting
        parent = None if above is None else registered.get(names.start_key(above))
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
        return [one for one in spaces if parent_of(one, registered) == base]

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
                field="per_minute",
                value=per_minute,
            )
        arguments: list[tuple[NamedNode, Term]] = [(IDS.party, node(Party(text).name)) for text in parties]
        if per_minute is not None:
            arguments.append((IDS.perMinute, terms.integer(per_minute)))
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
            secret = depending_on_labels(namespace, changes)
            if secret:
                act = f"change {', '.join(secret)} of a namespace, which depends on hidden identifiers, too"
                self.core.require_administrator(transaction, party, act)
            used = not secret or is_used(transaction, namespace)
            new = {**new_settings(namespace, changes, used=used), **new_particulars(namespace, changes)}
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


def is_used(view: View, namespace: Namespace) -> bool:
    """Whether an identifier was ever issued in a namespace, a released or hidden one included."""
    return any_quad(view.quads(None, IDS.withNamespace, namespace.iri))
