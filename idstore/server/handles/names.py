"""Handles, prefixes and parties as the Handle API names them.

``0.NA/12345`` is the record of the prefix 12345, and ``12345/alice`` that of the party alice, unless a handle
of that name is registered. Both records are made from what the registry says to everyone.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from idstore.characters import ascii_upper
from idstore.errors import InvalidData, UnknownScheme
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.value import Value
from idstore.registry import Registry
from idstore.schemes import value_types
from idstore.schemes._handles import PROXY, prefix_of
from idstore.schemes._text import encode
from idstore.schemes.handle_values import Admin, Reference, mask_of
from idstore.server.handles.answers import Code, Refusal

AUTHORITY: Final = "0.NA/"
"""The prefix of the handles of prefixes."""
ADMINISTRATOR, LIST, KEY = 100, 200, 300
"""The indexes where handles usually have an administrator, a list of administrators, a key."""
_USER: Final = re.compile(r"[0-9]{1,10}:(?P<handle>[^/]+/.+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class HandleName:
    """A handle of a namespace here: as it was asked for, and as an IRI."""

    text: str
    home: Namespace
    iri: str
    suffix: str


def prefixes(registry: Registry) -> dict[str, Namespace]:
    """Return the namespaces of handles by their prefixes, aliases included."""
    found: dict[str, Namespace] = {}
    for home in registry.namespaces():
        with suppress(UnknownScheme):  # its package is not installed
            if home.valued:
                found |= {prefix_of(base): home for base in home.bases if base.startswith(PROXY)}
    return found


def named(registry: Registry, handle: str, *, beginning: bool = False) -> HandleName:
    """Return a handle here.

    beginning  the suffix may be only the beginning of one, or empty.
    Raises Refusal (no handle, a prefix of another server), InvalidIdentifier.
    """
    prefix, slash, suffix = handle.partition("/")
    if not prefix or not slash or not (suffix or beginning):
        raise Refusal(
            Code.INVALID_HANDLE, f"{handle!r} is not a handle; write prefix and suffix, as 12345/abc"
        )
    home = home_of(registry, prefix)
    if home is None:
        raise Refusal(
            Code.NOT_RESPONSIBLE,
            f"the prefix {prefix} is not one of this server; ask for /api/prefixes, or ask another server",
        )
    if beginning:
        return HandleName(handle, home, "", suffix)
    label = home.scheme.label(f"hdl:{handle}", home.context)
    return HandleName(handle, home, home.scheme.iri(label, home.context), suffix)


def home_of(registry: Registry, prefix: str) -> Namespace | None:
    """Return the namespace with a prefix, in any case of ASCII letters."""
    base = f"{PROXY}{encode(prefix)}/"
    home = registry.store.read(lambda view: registry.core.facts(view).index.home(f"{base}_"))
    if home is None or ascii_upper(base) not in map(ascii_upper, home.bases):
        return None
    with suppress(UnknownScheme):
        return home if home.valued else None
    return None


def prefix_in(handle: str) -> str | None:
    """Return the prefix whose record a handle names; None for other handles.

    >>> prefix_in("0.na/12345"), prefix_in("12345"), prefix_in("12345/a")
    ('12345', '12345', None)
    """
    if ascii_upper(handle[: len(AUTHORITY)]) == AUTHORITY:
        return handle[len(AUTHORITY) :]
    return handle if handle and "/" not in handle else None


def prefix_values(registry: Registry, prefix: str) -> tuple[Value, ...]:
    """Return the values of the record of a prefix.

    The administrator of the prefix is the list of the parties that may add handles there by name: the owner
    of the namespace, and those that it allows. Raises Refusal.
    """
    home = home_of(registry, prefix)
    if home is None:
        raise Refusal(
            Code.NOT_RESPONSIBLE,
            f"the prefix {prefix} is not one of this server; ask for /api/prefixes, or ask another server",
        )
    own = prefix_of(home.base)
    admin = Admin(Reference(LIST, f"{AUTHORITY}{own}"), mask_of("add_handle,list_handles"))
    parties = ";".join(
        str(Reference(KEY, f"{own}/{name}")) for name in dict.fromkeys([home.owner, *sorted(home.allocators)])
    )
    return (
        Value(ADMINISTRATOR, value_types.ADMIN, str(admin), home.created),
        Value(LIST, value_types.LIST, parties, home.created),
    )


def party_values(registry: Registry, name: HandleName) -> tuple[Value, ...] | None:
    """Return the values of the record of a party that everyone may know of.

    None: there is no party of that name.
    """
    parties = registry.store.read(lambda view: registry.core.facts(view).parties)
    facts = parties.get(name.suffix)
    is_known = facts is not None and facts.added
    if not is_known and name.suffix not in {name.home.owner, *name.home.allocators}:
        return None
    return (Value(1, "DESC", f"{name.suffix}, a party of this registry", name.home.created),)


def party_in(registry: Registry, user: str) -> str | None:
    """Return the party that a user name ``INDEX:HANDLE`` stands for; None for another name.

    ``300:12345/alice`` is alice, ``300:0.NA/12345`` is the owner of that prefix's namespace. The prefix must
    be one of this server. The index is not compared.
    """
    found = _USER.fullmatch(user)
    if found is None:
        return None
    prefix, _, suffix = found["handle"].partition("/")
    if ascii_upper(f"{prefix}/") == AUTHORITY:
        home = home_of(registry, suffix)
        return None if home is None else home.owner
    with suppress(InvalidData):  # no name of a party
        return None if home_of(registry, prefix) is None else Party(suffix).name
    return None


def handle_of(iri: str) -> str:
    """Return the handle that an IRI of this registry stands for."""
    return unquote(iri.removeprefix(PROXY))
