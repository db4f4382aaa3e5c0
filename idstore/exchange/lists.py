"""Identifiers issued elsewhere, as a list: one a line, in any written form; what follows a tab is the name of the thing.

Empty lines, and lines that begin with ``# ``, are passed over. Plain or gzip, UTF-8.
"""

from collections.abc import Iterator
from typing import Final

from idstore.errors import InvalidIdentifier
from idstore.exchange.sources import Readable, Source, opened
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.adopting import Adoption, Published

_LONGEST: Final = 1 << 16
"""Bytes of a line."""


def import_list(registry: Registry, file: Readable, party: Party, namespace: str, *, dry_run: bool = False) -> Adoption:
    """Register the identifiers of a list that are new, as fixated ones of the party; all or nothing.

    Those held here stay as they are, but for a name that the list says otherwise. The rules of the namespace hold, and what is imported counts
    for its filling.
    Only administrators may. Raises ExchangeError (with file and line: no identifier of the namespace), NotPermitted, UnknownNamespace,
    InvalidData (an identifier twice), StoreUnavailable.
    """
    home = registry.namespace(namespace)
    with opened(file) as source:
        listed = list(_listed(source, home))
        note = f"identifiers issued elsewhere, listed in {source.name}"
    return registry.adopt(home.base, listed, party, note, whole=False, dry_run=dry_run)


def _listed(source: Source, home: Namespace) -> Iterator[Published]:
    number = 0
    while line := source.read_line(_LONGEST):
        number += 1
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise source.error(number, "it is not UTF-8") from error
        identifier, _, name = text.partition("\t")
        if not identifier or identifier.startswith("# "):
            continue
        try:
            yield Published(home.scheme.label(identifier, home.context), name.strip() or None)
        except InvalidIdentifier as error:
            where = f"{identifier} cannot be in namespace {home.name}: {error.reason} (at position {error.position})"
            raise source.error(number, where) from error
