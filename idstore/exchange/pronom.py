"""Updates of a namespace of PUIDs from PRONOM.

The formats of a DROID signature file become identifiers: their names follow PRONOM, the PUIDs stay. PRONOM's
reports state how formats are related. Its JSON records do both.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import ExchangeError, ImportConflict, InvalidData, InvalidIdentifier
from idstore.exchange.droid import Release, SignatureFile
from idstore.exchange.pronom_reports import PronomReport
from idstore.model import terms
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.imports.adopt import Adoption, Published
from idstore.registry.imports.relate import Related, Stated
from idstore.remedies import Remedy
from idstore.schemes import puid
from idstore.vocabulary import ADMS, IDS, SKOS


def import_formats(
    registry: Registry,
    signatures: SignatureFile,
    party: Party,
    namespace: str | None = None,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> Adoption:
    """Register the new PUIDs of a signature file, and update names that PRONOM changed; all or nothing.

    namespace  the target; by default the namespace with the base ``info:pronom/``.
    dry_run    report only.
    force      import a file that is older than the last one that changed something, or not known to be as
               new, so that former names return, and leave local identifiers that have names of the file as
               they are. The log says so.

    Only administrators may. The same file again writes nothing; PUIDs that are missing in the file are
    reported, never deleted.
    Raises ExchangeError (the file), NotPermitted, InvalidData or UnknownNamespace (no such namespace of
    PUIDs), ImportConflict (an older file, or a local identifier: see `force`), StoreUnavailable.
    Cost: a second for 2,500 formats.
    """
    home = _home(registry, namespace)
    last = _last(registry, party, home)
    older = last is not None and not signatures.release.is_as_new_as(last)
    if last is not None and older and not force:
        raise _refusal(signatures, last)
    note = _note(signatures)
    if force:
        note += f" (forced, over version {last.version})" if last is not None and older else " (forced)"
    return registry.adopt(home.base, _published(signatures, home), party, note, dry_run=dry_run, force=force)


RELATIONS: Final[Mapping[str, NamedNode]] = MappingProxyType(
    {
        "Has priority over": IDS.hasPriorityOver,
        "Has lower priority than": IDS.hasLowerPriorityThan,
        "Is previous version of": ADMS.next,
        "Is subsequent version of": ADMS.prev,
        "Is subtype of": SKOS.broader,
        "Is supertype of": SKOS.narrower,
        "Can contain": IDS.canContain,
        "Can be contained by": IDS.canBeContainedIn,
        "Equivalent to": SKOS.exactMatch,
    }
)
"""PRONOM's relations and their RDF terms: published terms where there are any."""

ELSEWHERE: Final[Mapping[str, tuple[re.Pattern[str], str]]] = MappingProxyType(
    {
        "Wikidata QID Identifier": (
            re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/)?(Q[1-9][0-9]*)", re.ASCII),
            "http://www.wikidata.org/entity/{}",
        ),
        "Library of Congress Format Description Identifier": (
            re.compile(
                r"(?:https?://www\.loc\.gov/preservation/digital/formats/fdd/)?(fdd[0-9]{6})(?:\.s?html)?",
                re.ASCII,
            ),
            "https://www.loc.gov/preservation/digital/formats/fdd/{}.shtml",
        ),
    }
)
"""Kinds of identifiers of the format in other registries: form of the text, and of the IRI.

Media types and Apple's type identifiers cover many formats each, and are no identifiers of one format.
"""


def import_relations(
    registry: Registry,
    reports: Sequence[PronomReport],
    party: Party,
    note: str,
    namespace: str | None = None,
    *,
    dry_run: bool = False,
) -> Related:
    """Bind the PUIDs of PRONOM's reports, and deprecate as PRONOM does; all or nothing.

    They are bound to each other, and to the same format at Wikidata and the Library of Congress.

    note       the origin of the reports, for the log.
    namespace  the target; by default the namespace with the base ``info:pronom/``.
    dry_run    report only.

    Only administrators may. The same reports again write nothing. Relations that PRONOM no longer reports are
    listed, never unbound. A relation of a kind that is not in `RELATIONS`, to a format without a report, or
    to a number that several reports have, is skipped and listed.
    Raises ExchangeError (a text is too long), NotPermitted, InvalidData or UnknownNamespace (no such
    namespace of PUIDs), StoreUnavailable.
    """
    home = _home(registry, namespace)
    stated, passed = _statements(reports)
    related = registry.relate(home.base, stated, party, note, dry_run=dry_run)
    return replace(related, passed=(*passed, *related.passed))


def import_records(
    registry: Registry,
    records: Sequence[PronomReport],
    party: Party,
    note: str,
    namespace: str | None = None,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> tuple[Adoption, Related]:
    """Register and name the formats of PRONOM's records, relate and deprecate them; all or nothing.

    Parameters and errors as of `import_formats` and `import_relations`. The records are taken for all that
    PRONOM publishes: other PUIDs are reported as vanished.
    """
    home = _home(registry, namespace)
    try:
        published = [_published_record(record, home) for record in records]
        stated, passed = _statements(records)
        adoption, related = registry.publish(
            home.base, published, stated, party, note, dry_run=dry_run, force=force
        )
    except InvalidIdentifier as error:
        reason = f"{error.text} cannot be in namespace {home.name}: {error.reason}"
        raise ExchangeError(note, None, reason) from error
    return adoption, replace(related, passed=(*passed, *related.passed))


def _published_record(record: PronomReport, home: Namespace) -> Published:
    """Return the format of a record. Raises InvalidIdentifier, ExchangeError."""
    try:
        for text, what in ((record.name, "name"), (record.version or "", "version")):
            terms.check_size(text, f"{what} of {record.puid}")
    except InvalidData as error:
        raise ExchangeError(record.source, None, error.message) from error
    return Published(home.scheme.label(record.puid, home.context), record.name, record.version)


def _statements(reports: Sequence[PronomReport]) -> tuple[list[Stated], list[str]]:
    """Return what the reports state, and why relations are skipped."""
    puids: dict[str, list[str]] = {}
    for report in reports:
        puids.setdefault(report.pronom_id, []).append(report.puid)
    passed: list[str] = []
    return [_stated(report, puids, passed) for report in reports], passed


def _stated(report: PronomReport, puids: Mapping[str, Sequence[str]], passed: list[str]) -> Stated:
    """Return the statements of a report; append skipped relations to ``passed``.

    puids  PRONOM's internal number → PUIDs of the reports that have it.
    Raises ExchangeError: a text is too long.
    """
    try:
        terms.check_size(report.puid, "PUID")
        terms.check_size(report.deprecation or "", "reason of the deprecation")
    except InvalidData as error:
        raise ExchangeError(report.source, None, error.message) from error
    relations = []
    for relation in report.relations:
        if relation.kind not in RELATIONS:
            passed.append(f"{report.puid}: PRONOM's relation {relation.kind!r} has no term here")
            continue
        target = f"format {relation.pronom_id} ({relation.name})"
        match puids.get(relation.pronom_id, ()):
            case ():
                passed.append(f"{report.puid}: no report is about {target}, which it is related to")
            case [puid]:
                relations.append((RELATIONS[relation.kind].value, puid))
            case several:
                passed.append(
                    f"{report.puid}: it is related to {target}, and the reports of {', '.join(several)} have"
                    " that number"
                )
    return Stated(
        report.puid,
        tuple(relations),
        report.deprecation,
        report.successors,
        tuple(_elsewhere(report, passed)),
    )


def _elsewhere(report: PronomReport, passed: list[str]) -> Iterator[tuple[str, str]]:
    """Yield relation and IRI of the format in other registries.

    The relation is no exact match: an item of Wikidata is often the match of several PUIDs.
    """
    for kind, text in report.identifiers:
        if kind not in ELSEWHERE or not text:
            continue
        form, iri = ELSEWHERE[kind]
        match = form.fullmatch(text)
        if match is None:
            passed.append(f"{report.puid}: {text[:80]!r} is no {kind}")
        else:
            yield SKOS.closeMatch.value, iri.format(match[1])


def _home(registry: Registry, name: str | None) -> Namespace:
    if name is None:
        home = next((namespace for namespace in registry.namespaces() if namespace.base == puid.PRONOM), None)
        if home is None:
            raise InvalidData(
                f"no namespace here has the base {puid.PRONOM}; add one of the scheme {puid.NAME}",
                base=puid.PRONOM,
                remedy=Remedy.ADD_PRONOM,
            )
        return home
    home = registry.namespace(name)
    if home.scheme_name != puid.NAME:
        raise InvalidData(
            f"namespace {home.name} holds {home.scheme_name} identifiers; a signature file lists PUIDs,"
            " name a namespace of those",
            namespace=home.name,
        )
    return home


def _published(signatures: SignatureFile, home: Namespace) -> Iterator[Published]:
    scheme, context = home.scheme, home.context
    for format in signatures:
        try:
            label = scheme.label(terms.check_size(format.puid, "PUID"), context)
            terms.check_size(format.name, f"name of {format.puid}")
            terms.check_size(format.version or "", f"version of {format.puid}")
        except InvalidIdentifier as error:
            signatures.refuse(
                format.line, f"{format.puid} cannot be in namespace {home.name}: {error.reason}"
            )
            continue
        except InvalidData as error:
            signatures.refuse(format.line, error.message)
            continue
        yield Published(label, format.name, format.version)


def _last(registry: Registry, party: Party, home: Namespace) -> Release | None:
    """Return the last numbered signature file that changed something, None if the log has none."""
    entries = registry.log(party, Filter(id=home.base, kinds=("Import",)))
    notes = [_RELEASE.fullmatch(entry.event.text(SKOS.note) or "") for entry in entries]
    return next((Release(match[1], match[2]) for match in reversed(notes) if match is not None), None)


def _refusal(signatures: SignatureFile, last: Release) -> ImportConflict:
    """Return the error that a signature file may be older than the last one."""
    release = signatures.release
    stated, known = f"is version {release.version}", f"version {last.version}"
    if release.number is None:
        stated = (
            f"is version {release.version!r}, which is no number" if release.version else "has no version"
        )
    elif release.number == last.number:
        stated += f" of {release.date}" if release.date else " without a date"
        known += f" of {last.date}"
    return ImportConflict(
        f"{signatures.name} {stated}, and {known} was imported last: formats that were renamed since would"
        " get their former names again; import a newer file, or insist",
        file=signatures.name,
        version=release.version if release.number is None else release.number,
        last=last.number,
        remedy=Remedy.INSIST,
    )


_SORT: Final = "DROID signature file"
_RELEASE: Final = re.compile(rf"{_SORT} version ([0-9]+)(?: of (.+?))?(?: \(forced.*\))?")


def _note(signatures: SignatureFile) -> str:
    """Return the origin of the formats, for the log; `_RELEASE` matches that of a numbered release."""
    release = signatures.release
    version = release.version if release.number is not None else release.version and repr(release.version)
    parts = [_SORT, version and f"version {version}", release.date and f"of {release.date}"]
    return " ".join(part for part in parts if part)
