"""Works and their versions: the identifier of a work leads to its newest version, that of a version stays with it.

Versions are numbered as drafts V0.1, V0.2, …, then V1.0 for the first approved release, V1.1 for minor amendments, V2.0 for the next release.
Sources: PILIN, Identifier Association Policy; PILIN, Version Control Policy; Handle Suffix Format Policy ("To cite the latest version of this work").
"""

from collections.abc import Sequence

from pyoxigraph import Literal, NamedNode

from idstore.errors import AlreadyRegistered, InvalidData, StageConflict
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.allocation import Allocating
from idstore.registry.core import living
from idstore.registry.requests import Request
from idstore.registry.resolving import Resolving, version_number
from idstore.stores import Turn
from idstore.vocabulary import DCTERMS, IDS, OWL

_MAKE = "make a version of"


class Versioning(Resolving, Allocating):
    """Adding versions, and listing them."""

    def add_version(self, work: str, number: str, party: Party, request: Request = Request(), *, existing: str | None = None) -> Record:
        """Make an identifier that of a version of a work; only the owner of the work may.

        number    as the policy numbers versions: ``V0.1``, ``V1.0``; the V may be left out.
        request   what comes with a new identifier, which is minted in the namespace of the work.
        existing  an identifier of the party's that is to be the version's, instead of a new one.

        The work must be published, since a version tells of it; the version is as private as it was, or created, until it is fixated.
        Raises as `mint`; StageConflict (the work is not published), InvalidData (no number; a version cannot have versions, or be that of two
        works), AlreadyRegistered (a version that the party may see has the number).
        """
        wanted = version_number(number)
        if wanted is None:
            raise InvalidData(
                f"{number!r} is not a version's number; write V0.1 for a first draft, V1.0 for a first release", number=number
            )
        said = f"V{wanted[0]}.{wanted[1]}"
        with self._acting(party) as turn:
            home = self._own(turn, self._identify(turn, work, party), party, "add versions to")
            _may_have_versions(home)
            if existing is None:
                record, fresh = self._allocate_in(turn, self._namespace(turn, home.namespace), party, request, None)
            else:
                record, fresh = self._own(turn, self._identify(turn, existing, party), party, _MAKE), True
            if (record.work, record.version) == (home.iri, said):  # the same request as before
                return record
            if not fresh:  # what the request key made earlier may be somebody else's by now
                record = self._own(turn, record.iri, party, _MAKE)
            self._may_be_version(turn, record, home, said, party)
            event = self._event(turn, IDS.Versioning, record.iri, party, (DCTERMS.isVersionOf, home.iri), (OWL.versionInfo, Literal(said)))
            return self._record_event(turn, record, event)

    def _may_be_version(self, turn: Turn, record: Record, home: Record, number: str, party: Party) -> None:
        if record.work is not None:
            reason = f"is version {record.version} of {record.work.value} already, and a version stays"
            raise InvalidData(f"{record.iri.value} {reason}; mint another identifier", id=record.iri.value)
        if record.iri == home.iri or self._versions(turn, record.iri, party):
            raise InvalidData(f"{record.iri.value} is a work, and no work is a version; mint another identifier", id=record.iri.value)
        taken = next((one for one in self._versions(turn, home.iri, party) if one.version == number), None)
        if taken is not None:
            raise AlreadyRegistered(
                f"{home.iri.value} has a version {number} already, {taken.iri.value}; choose another number",
                id=home.iri.value,
                version=taken.iri.value,
            )

    def versions(self, work: str, party: Party) -> Sequence[Record]:
        """The versions of a work that the party may see, the newest first. Raises as `show`."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            iri = self._identify_for(view, work, sight)
            return self._versions_in(view, self._seen_quads(view, sight, None, DCTERMS.isVersionOf, iri, of_records=True), sight)

    def _versions(self, turn: Turn, work: NamedNode, party: Party) -> list[Record]:
        """The same in a turn, without waiting for the engine, which would be asked for its graphs."""
        return self._versions_in(turn, turn.quads(None, DCTERMS.isVersionOf, work), self.sight(turn, party))


def _may_have_versions(home: Record) -> None:
    living(home)
    if home.work is not None:
        reason = f"is version {home.version} of {home.work.value}, and a version has no versions"
        raise InvalidData(f"{home.iri.value} {reason}; add one to the work", id=home.iri.value, work=home.work.value)
    if not home.public:
        reason = "is not published yet, and its versions would tell of it"
        raise StageConflict(f"{home.iri.value} {reason}; fixate it first", id=home.iri.value, stage=home.stage.value)
