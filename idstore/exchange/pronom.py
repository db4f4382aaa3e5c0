"""Keeping a namespace of PUIDs up with PRONOM.

The formats of a DROID signature file become identifiers, names follow, PUIDs stay; PRONOM's reports tell how they are related.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.exchange.droid import SignatureFile
from idstore.exchange.reports import Report
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.adopting import Adoption, Published
from idstore.registry.relating import Related, Stated
from idstore.schemes import puid
from idstore.vocabulary import ADMS, IDS, SKOS


def import_formats(
    registry: Registry,
    signatures: SignatureFile,
    party: Party,
    namespace: str | None = None,
    *,
    dry_run: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> Adoption:
    """Register the PUIDs of a signature file that are new, and rename those that PRONOM names otherwise now; all or nothing.

    namespace  where to; unless said, the one of the base ``info:pronom/``.
    dry_run    report only.
    warn       is told if the file is older than the one that changed something last, as the log tells: names go back to what they were.

    Only administrators may. Reading the same file again writes nothing; PUIDs that are missing in the file are reported, never deleted.
    Raises ExchangeError (the file), NotPermitted, InvalidData or UnknownNamespace (no such namespace of PUIDs), StoreUnavailable.
    Cost: a second for 2,500 formats.
    """
    home = _home(registry, namespace)
    last = _last(registry, party, home)
    found = registry.adopt(home.base, _published(signatures, home), party, _note(signatures), dry_run=dry_run)
    version = signatures.release.version or ""
    if last is not None and version.isdecimal() and int(version) < last:
        warn(
            f"{signatures.name} is version {version}, and version {last} was taken in last: formats that were renamed since"
            f" {'would get' if dry_run else 'have'} their former names again; import the newer file to set that right"
        )
    return found


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
"""PRONOM's relations, and what says them here: a published term, where there is one."""


def import_relations(
    registry: Registry, found: Sequence[Report], party: Party, note: str, namespace: str | None = None, *, dry_run: bool = False
) -> Related:
    """Bind the PUIDs of PRONOM's reports to each other, and deprecate those that PRONOM deprecates; all or nothing.

    note       where the reports come from, for the log.
    namespace  where to; unless said, the one of the base ``info:pronom/``.
    dry_run    report only.

    Only administrators may. Reading the same reports again writes nothing; relations that are not reported any more are told, never unbound.
    A relation of a kind that is not in `RELATIONS`, or to a format without a report, is passed over, and told.
    Raises NotPermitted, InvalidData or UnknownNamespace (no such namespace of PUIDs), StoreUnavailable.
    """
    home = _home(registry, namespace)
    puids = {one.pronom_id: one.puid for one in found}
    passed: list[str] = []
    stated = [_stated(one, puids, passed) for one in found]
    related = registry.relate(home.base, stated, party, note, dry_run=dry_run)
    return replace(related, passed=(*passed, *related.passed))


def _stated(one: Report, puids: Mapping[str, str], passed: list[str]) -> Stated:
    """What a report says of its PUID; what cannot be taken over goes to ``passed``."""
    relations = []
    for relation in one.relations:
        if relation.kind not in RELATIONS:
            passed.append(f"{one.puid}: PRONOM's relation {relation.kind!r} has no term here")
        elif relation.pronom_id not in puids:
            passed.append(f"{one.puid}: no report is about format {relation.pronom_id} ({relation.name}), which it is related to")
        else:
            relations.append((RELATIONS[relation.kind].value, puids[relation.pronom_id]))
    return Stated(one.puid, tuple(relations), one.deprecation, one.successors)


def _home(registry: Registry, name: str | None) -> Namespace:
    if name is None:
        found = next((known for known in registry.namespaces() if known.base == puid.PRONOM), None)
        if found is None:
            remedy = f"idstore namespace add pronom {puid.PRONOM} --scheme {puid.NAME}"
            raise InvalidData(f"no namespace here has the base {puid.PRONOM}; add one with `{remedy}`", base=puid.PRONOM)
        return found
    home = registry.namespace(name)
    if home.scheme_name != puid.NAME:
        raise InvalidData(
            f"namespace {home.name} holds {home.scheme_name} identifiers; a signature file lists PUIDs, name a namespace of those",
            namespace=home.name,
        )
    return home


def _published(signatures: SignatureFile, home: Namespace) -> Iterator[Published]:
    scheme, context = home.scheme, home.context
    for one in signatures:
        try:
            label = scheme.label(one.puid, context)
        except InvalidIdentifier as error:
            signatures.refuse(one.line, f"{one.puid} cannot be in namespace {home.name}: {error.reason}")
            continue
        yield Published(label, one.name, one.version)


def _last(registry: Registry, party: Party, home: Namespace) -> int | None:
    """The version of the signature file that changed something last, None if the log tells of none."""
    notes = (entry.event.text(SKOS.note) or "" for entry in registry.log(party, id=home.base, kinds=("Import",)))
    return next((int(said[1]) for said in reversed([_VERSION.match(note) for note in notes]) if said is not None), None)


_SORT: Final = "DROID signature file"
_VERSION: Final = re.compile(rf"{_SORT} version (\d+)\b", re.ASCII)


def _note(signatures: SignatureFile) -> str:
    """Where the formats come from, for the log; `_VERSION` reads it."""
    release = signatures.release
    parts = [_SORT, release.version and f"version {release.version}", release.date and f"of {release.date}"]
    return " ".join(part for part in parts if part)
