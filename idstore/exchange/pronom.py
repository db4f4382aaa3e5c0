"""Keeping a namespace of PUIDs up with PRONOM: the formats of a DROID signature file become identifiers, names follow, PUIDs stay."""

from collections.abc import Iterator

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.exchange.droid import SignatureFile
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.adopting import Adoption, Published
from idstore.schemes import puid


def import_formats(
    registry: Registry, signatures: SignatureFile, party: Party, namespace: str | None = None, *, dry_run: bool = False
) -> Adoption:
    """Register the PUIDs of a signature file that are new, and rename those that PRONOM names otherwise now; all or nothing.

    namespace  where to; unless said, the one of the base ``info:pronom/``.
    dry_run    report only.

    Only administrators may. Reading the same file again writes nothing; PUIDs that are missing in the file are reported, never deleted.
    Raises ExchangeError (the file), NotPermitted, InvalidData or UnknownNamespace (no such namespace of PUIDs), StoreUnavailable.
    Cost: a second for 2,500 formats.
    """
    home = _home(registry, namespace)
    return registry.adopt(home.base, _published(signatures, home), party, _note(signatures), dry_run=dry_run)


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
            raise signatures.error(one.line, f"{one.puid} cannot be in namespace {home.name}: {error.reason}") from error
        yield Published(label, one.name, one.version)


def _note(signatures: SignatureFile) -> str:
    """Where the formats come from, for the log."""
    release = signatures.release
    parts = ["DROID signature file", release.version and f"version {release.version}", release.date and f"of {release.date}"]
    return " ".join(part for part in parts if part)
