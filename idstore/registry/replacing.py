"""Replacing an article by a new copy: the new one keeps the identifier, the old one gets an identifier of its own.

Source: Scholars Portal URI and File Naming Policy, version 0.3, section 2.1.1.
"""

from collections.abc import Iterator, Mapping

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData, NotPermitted
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.party import Party, node
from idstore.model.record import Record
from idstore.model.terms import Term, tagged
from idstore.registry.allocation import Allocating
from idstore.registry.below import inherited
from idstore.registry.requests import Key, Request, key_of
from idstore.schemes import Deriving
from idstore.stores import Turn
from idstore.vocabulary import DCTERMS, IDS, OWL


class Replacing(Allocating):
    """Old copies."""

    def replace(self, text: str, metadata: Mapping[str, str], party: Party) -> Record:
        """Let a new copy of an article take its identifier; the old copy gets the next ``_old1``, ``_old2``, ... The namespace's owner may.

        metadata  of the new copy: they must give the same label, or have the DOI that the identifier was minted with.

        Returns the record of the old copy: of the same owner, stage, names and grant list, deprecated, and replaced by the identifier, whose own
        record stays as it is.
        Raises NotRegistered, NotPermitted, InvalidData (no article, other metadata), StageConflict (a tombstone, a frozen namespace).
        """
        with self._acting(party) as turn:
            record = self._seen(turn, self._identify(turn, text, party), party)
            namespace = self._namespace(turn, record.namespace)
            _may_replace(namespace, record, party)
            self._may_allocate(turn, namespace, party)
            self._in_pace(turn, namespace, party)
            old = self._old_names(turn, namespace, record, metadata, party)
            event = self._event(turn, IDS.Replacement, record.iri, party)
            self._record_event(turn, record, event)
            name = self._first_free(turn, namespace, old)
            return self._begin(turn, namespace, name, IDS.Mint, party, _arguments(record, event, party), None)

    def _old_names(self, turn: Turn, namespace: Namespace, record: Record, metadata: Mapping[str, str], party: Party) -> Iterator[str]:
        """Labels for the old copy. Raises InvalidData unless the metadata are those of the article."""
        scheme = namespace.scheme
        if not isinstance(scheme, Deriving):
            raise InvalidData(f"in {namespace.name} nothing is replaced: its scheme, {scheme.name}, derives nothing", scheme=scheme.name)
        old = scheme.old_copies(record.label, namespace.context)
        derived = scheme.derive(metadata, namespace.context).label
        key = key_of(namespace, party, Request(metadata=metadata), None)
        if not _is_of(turn, record, key, otherwise=derived == scheme.original(record.label)):
            raise InvalidData(
                f"the metadata are of another article than {record.iri.value}: they give {derived}", id=record.iri.value, label=derived
            )
        return old


def _is_of(turn: Turn, record: Record, key: Key | None, *, otherwise: bool) -> bool:
    """Whether metadata with such a key are those of the record; ``otherwise`` where nobody has the key."""
    holder = None if key is None else turn.holder(key.node)
    return otherwise if holder is None else holder == record.iri


def _may_replace(namespace: Namespace, record: Record, party: Party) -> None:
    if namespace.owner != party.name:
        raise NotPermitted(
            f"only the owner of namespace {namespace.name}, {namespace.owner}, may replace {record.iri.value}",
            id=record.iri.value,
            owner=namespace.owner,
            party=party.name,
        )


def _arguments(record: Record, event: Event, party: Party) -> list[tuple[NamedNode, Term]]:
    """What the record of the old copy begins with."""
    made: list[tuple[NamedNode, Term]] = [(DCTERMS.isPartOf, event.iri), (DCTERMS.isReplacedBy, record.iri)]
    made += [(IDS.name, tagged(name, lang)) for lang, name in record.names]
    if record.owner != party.name:
        made.append((IDS.owner, node(record.owner)))
    if record.version is not None:
        made.append((OWL.versionInfo, Literal(record.version)))
    if record.public:
        made.append((IDS.stage, IDS.Fixated))
    return made + inherited(record, Party(record.owner))
