"""Replacement of an article by a new copy: the new copy keeps the identifier, the old one gets its own.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotPermitted
from idstore.model.binding import Binding
from idstore.model.change import Claim
from idstore.model.event import Event
from idstore.model.names import Names
from idstore.model.namespace import Namespace
from idstore.model.party import Party, node
from idstore.model.record import Identifier, Record, Stage
from idstore.model.terms import Term, iri_of, tagged
from idstore.registry import iris
from idstore.registry.allocation import Allocations
from idstore.registry.core import check_living
from idstore.registry.disclosure import inherited
from idstore.registry.request_keys import deriving
from idstore.registry.requests import Key, Request, check_metadata, key_of
from idstore.schemes import Deriving
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import DCTERMS, EVENTS, IDS, OWL


@dataclass(frozen=True, slots=True)
class Replaced:
    """The result of a replacement.

    old       the record of the old copy.
    moved     the files and events that are now below the old copy, as far as the party sees them.
    bindings  the bindings that stay with the identifier, as far as the party sees them: whether they hold for
              the new copy too is for those who made them to say.
    """

    old: Record
    moved: tuple[str, ...]
    bindings: tuple[Binding, ...]


class Replacements(Allocations):
    """Replacement of articles, and what belongs to them."""

    def parts(self, id: Identifier, party: Party) -> Sequence[Record]:
        """Return the files and events of an article, and its old copies, that the party may see, by IRI.

        A file or an event has `Record.below` and `Record.kind`; an old copy has neither. Raises as `show`.
        """

        def question(view: View) -> Sequence[Record]:
            sight = self.core.sight(view, party)
            article = self.core.load(view, self._identify_for(view, id, sight), sight)
            home = self.core.facts(view).by_base.get(article.namespace)
            if home is None or deriving(home.scheme_name) is None:
                return []
            found = set()
            for predicate in (IDS.below, DCTERMS.isReplacedBy):
                quads = self.core.visible_quads(view, sight, None, predicate, article.node, of_records=True)
                found |= {iri_of(quad.subject) for quad in quads}
            with_records = (one for one in found if not one.value.startswith(EVENTS))
            records = [self.core.load(view, one, sight) for one in with_records]
            return sorted(
                (one for one in records if one.namespace == article.namespace), key=lambda one: one.iri
            )

        return self.store.read(question)

    def replace(
        self,
        id: Identifier,
        metadata: Mapping[str, str],
        party: Party,
        target: str | None = None,
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Replaced:
        """Assign an article's identifier to a new copy.

        The old copy gets the next of ``_old1``, ``_old2``, ..., and with it the target of the identifier, and
        its files and events. Only the owner of the namespace may.
        metadata  of the new copy: they must give the same label, or the DOI that the identifier was minted
                  with. A new DOI belongs to the identifier from now on.
        target    of the new copy; None: the identifier has no target until its owner sets one.
        force     whether a target is taken that is refused otherwise: see `idstore.registry.iris`.
        dry_run   return the result, and change nothing.

        The record of the old copy has the same owner, stage, names and grant list, is deprecated, and is
        replaced by the identifier.
        Raises NotRegistered, NotPermitted, InvalidData (not an article, other metadata, the target),
        StageConflict (a tombstone, a frozen namespace).
        """
        check_metadata(metadata)

        def act(transaction: Transaction) -> Replaced:
            record = self.core.seen_record(transaction, self._identify(transaction, id, party), party)
            namespace = self.core.namespace(transaction, record.namespace)
            _check_replacer(namespace, record, party)
            self._check_allocator(transaction, namespace, party)
            self._check_pace(transaction, namespace, party)
            leads: list[tuple[NamedNode, Term]] = []
            if target is not None:
                facts, own = self.core.facts(transaction), record.iri
                leads = [
                    (IDS.target, iris.target(target, facts, own, force=force)),
                    *iris.insisted(lambda: iris.target(target, facts, own), force=force),
                ]
            key = key_of(namespace, party, Request(metadata=metadata), None)
            labels = self._old_labels(transaction, namespace, record, metadata, key)
            event = self._log_replacement(transaction, record, key, party)
            name = self._first_free(transaction, namespace, labels)
            arguments = _arguments(record, event, party, self.core.facts(transaction).names)
            old = self._begin(transaction, namespace, name, IDS.Mint, party, arguments)
            self._retarget(transaction, record, leads, event, party)
            moved = self._move(transaction, record, old, event, party)
            return Replaced(old, moved, record.bindings)

        return self.core.act(party, act, dry_run=dry_run)

    def _log_replacement(
        self, transaction: Transaction, record: Record, key: Key | None, party: Party
    ) -> Event:
        """Log the replacement of an article, and claim the key of its new metadata if the key is free."""
        free = key is not None and transaction.claim(key.node) is None
        claimed = [key] if key is not None and free else []
        arguments = [(IDS.requestDigest, Literal(key.logged)) for key in claimed]
        event = self.core.event(transaction, IDS.Replacement, record.node, party, *arguments)
        change = self.core.transition(transaction, record, record, event)
        claims = tuple(Claim(key.node, record.node, key.digest) for key in claimed)
        check_living(record)
        self.core.enlist(transaction, changed(change, claims=claims))
        return event

    def _retarget(
        self,
        transaction: Transaction,
        record: Record,
        leads: list[tuple[NamedNode, Term]],
        replacement: Event,
        party: Party,
    ) -> None:
        """Give an article the target of its new copy, as arguments of the event; none: no target."""
        if record.target is None and not leads:
            return
        part = (DCTERMS.isPartOf, replacement.node)
        event = self.core.event(transaction, IDS.Targeting, record.node, party, *leads, part)
        self.core.record_events(transaction, record, event)

    def _move(
        self, transaction: Transaction, record: Record, old: Record, replacement: Event, party: Party
    ) -> tuple[str, ...]:
        """Move the files and events of an article to its old copy; return those that the party sees."""
        sight, moved = self.core.sight(transaction, party), []
        for quad in list(transaction.quads(None, IDS.below, record.node)):
            if not isinstance(quad.subject, NamedNode) or quad.subject.value.startswith(EVENTS):
                continue
            part = self.core.load(transaction, quad.subject)
            if part.stage is Stage.TOMBSTONE:
                continue
            event = self.core.event(
                transaction,
                IDS.Replacement,
                part.node,
                party,
                (IDS.below, old.node),
                (DCTERMS.isPartOf, replacement.node),
            )
            self.core.record_events(transaction, part, event)
            moved += [part.iri] if sight.sees(part.graph) else []
        return tuple(sorted(moved))

    def _old_labels(
        self,
        transaction: Transaction,
        namespace: Namespace,
        record: Record,
        metadata: Mapping[str, str],
        key: Key | None,
    ) -> Iterator[str]:
        """Return labels for the old copy. Raises InvalidData unless the metadata are those of the article."""
        scheme = namespace.scheme
        if not isinstance(scheme, Deriving):
            raise InvalidData(
                f"{namespace.name} has no replacements: its scheme, {scheme.name}, derives no identifiers",
                scheme=scheme.name,
            )
        labels = scheme.old_copies(record.label, namespace.context)
        derived = scheme.derive(metadata, namespace.context).label
        same = derived == scheme.original(record.label)
        if not _is_of(transaction, record, key, otherwise=same):
            told = "their key, such as the DOI, belongs to another one" if same else f"they give {derived}"
            raise InvalidData(
                f"the metadata describe another article than {record.iri}: {told}",
                id=record.iri,
                label=derived,
            )
        return labels


def _is_of(transaction: Transaction, record: Record, key: Key | None, *, otherwise: bool) -> bool:
    """Return whether metadata with that key belong to the record; ``otherwise`` if the key is free."""
    claim = None if key is None else transaction.claim(key.node)
    return otherwise if claim is None else claim.holder == record.node


def _check_replacer(namespace: Namespace, record: Record, party: Party) -> None:
    if namespace.owner != party.name:
        raise NotPermitted(
            f"only the owner of namespace {namespace.name}, {namespace.owner}, may replace {record.iri}",
            id=record.iri,
            owner=namespace.owner,
            party=party.name,
        )


def _arguments(record: Record, event: Event, party: Party, names: Names) -> list[tuple[NamedNode, Term]]:
    """Return the arguments of the event that begins the old copy's record."""
    arguments: list[tuple[NamedNode, Term]] = [
        (DCTERMS.isPartOf, event.node),
        (DCTERMS.isReplacedBy, record.node),
    ]
    target = record.resolves_to(names)
    if target is not None:
        arguments.append((IDS.target, NamedNode(target)))
    arguments += [(IDS.name, tagged(name, lang)) for lang, name in record.names]
    if record.owner != party.name:
        arguments.append((IDS.owner, node(record.owner)))
    if record.version is not None:
        arguments.append((OWL.versionInfo, Literal(record.version)))
    if record.public:
        arguments.append((IDS.stage, IDS.Fixated))
    return arguments + inherited(record, Party(record.owner))
