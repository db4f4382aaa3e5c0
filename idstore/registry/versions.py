"""Works and versions: the identifier of a work leads to its newest version, that of a version is stable.

Drafts are numbered V0.1, V0.2, …; V1.0 is the first approved release, V1.1 a minor amendment, V2.0 the next
release.
Sources: PILIN, Identifier Association Policy; PILIN, Version Control Policy; Handle Suffix Format Policy ("To
cite the latest version of this work").
"""

from collections.abc import Sequence

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, StageConflict
from idstore.model.party import Party
from idstore.model.record import Identifier, Record
from idstore.registry.allocation import Allocations
from idstore.registry.core import check_living
from idstore.registry.requests import Request
from idstore.registry.resolution import Resolver, version_number
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import DCTERMS, IDS, OWL

_MAKE = "make a version of"


class Versions(Resolver, Allocations):
    """Acts on versions."""

    def add_version(
        self,
        work: Identifier,
        number: str,
        party: Party,
        request: Request = Request(),
        *,
        existing: Identifier | None = None,
    ) -> Record:
        """Make an identifier a version of a work; only the owner of the work may.

        number    in the form of the policy: ``V0.1``, ``V1.0``; the V may be omitted.
        request   data of a new identifier, which is minted in the namespace of the work.
        existing  an identifier of the party to use instead of a new one.

        The work must be published, because a version reveals it. The version stays private until it is
        fixated.
        Raises as `mint`; StageConflict (the work is not published), InvalidData (not a number; a version
        cannot have versions or belong to two works), AlreadyRegistered (a visible version has the number).
        """
        parsed = version_number(number)
        if parsed is None:
            raise InvalidData(
                f"{number!r} is not a version number; write V0.1 for a first draft, V1.0 for a first release",
                number=number,
            )
        if request.fixate:
            raise InvalidData(
                "a version is published by an act of its own; leave fixate out", field="fixate", value=True
            )
        version_text = f"V{parsed[0]}.{parsed[1]}"

        def act(transaction: Transaction) -> Record:
            home = self.core.own_record(
                transaction, self._identify(transaction, work, party), party, "add versions to"
            )
            _check_work(home)
            if existing is None:
                record, fresh = self._allocate_in(
                    transaction, self.core.namespace(transaction, home.namespace), party, request, None
                )
            else:
                record, fresh = (
                    self.core.own_record(
                        transaction, self._identify(transaction, existing, party), party, _MAKE
                    ),
                    True,
                )
            if (record.work, record.version) == (home.iri, version_text):  # a repeated request
                return record
            if not fresh:  # the earlier result may belong to another party now
                record = self.core.own_record(transaction, record.node, party, _MAKE)
            self._check_version(transaction, record, home, version_text, party)
            event = self.core.event(
                transaction,
                IDS.Versioning,
                record.node,
                party,
                (DCTERMS.isVersionOf, home.node),
                (OWL.versionInfo, Literal(version_text)),
            )
            return self.core.record_events(transaction, record, event)

        return self.core.act(party, act)

    def _check_version(
        self, transaction: Transaction, record: Record, home: Record, number: str, party: Party
    ) -> None:
        if record.work is not None:
            reason = f"is version {record.version} of {record.work}, permanently"
            raise InvalidData(f"{record.iri} {reason}; mint another identifier", id=record.iri)
        if record.iri == home.iri or self._versions(transaction, record.node, party):
            raise InvalidData(
                f"{record.iri} is a work, and a work cannot be a version; mint another identifier",
                id=record.iri,
            )
        holder = next(
            (other for other in self._versions(transaction, home.node, party) if other.version == number),
            None,
        )
        if holder is not None:
            raise AlreadyRegistered(
                f"{home.iri} already has a version {number}, {holder.iri}; choose another number",
                id=home.iri,
                version=holder.iri,
            )

    def versions(self, work: Identifier, party: Party) -> Sequence[Record]:
        """Return the versions of a work that the party may see, newest first. Raises as `show`."""

        def question(view: View) -> Sequence[Record]:
            sight = self.core.sight(view, party)
            iri = self._identify_for(view, work, sight)
            return self._versions_in(
                view,
                self.core.visible_quads(view, sight, None, DCTERMS.isVersionOf, iri, of_records=True),
                sight,
            )

        return self.store.read(question)

    def _versions(self, transaction: Transaction, work: NamedNode, party: Party) -> list[Record]:
        """As `versions`, for an act, which does not read the graphs of a sight."""
        return self._versions_in(
            transaction,
            transaction.quads(None, DCTERMS.isVersionOf, work),
            self.core.sight(transaction, party),
        )


def _check_work(home: Record) -> None:
    check_living(home)
    if home.work is not None:
        reason = f"is version {home.version} of {home.work}, and a version has no versions"
        raise InvalidData(f"{home.iri} {reason}; add one to the work", id=home.iri, work=home.work)
    if not home.public:
        reason = "is not published yet, and its versions would reveal it"
        raise StageConflict(f"{home.iri} {reason}; fixate it first", id=home.iri, stage=home.stage.value)
