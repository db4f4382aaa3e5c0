"""The bases of namespaces: no two overlap, and a derived prefix is its parent's owner's to give."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import product
from typing import TypeVar

from idstore.characters import ascii_lower
from idstore.errors import AlreadyRegistered, InvalidData, NotPermitted, StageConflict, UnknownScheme
from idstore.model import names
from idstore.model.namespace import Namespace
from idstore.schemes import Hierarchical, scheme
from idstore.vocabulary import EVENTS, SPACE

T = TypeVar("T")


def check_bases(new: Namespace, others: Iterable[Namespace]) -> None:
    """Raise if a new namespace's base or alias could contain, or be contained in, another one.

    Bases count in all their written forms: https://doi.org/10.5072/ is the base of the prefix 10.5072.

    Raises InvalidData: it is reserved for idstore; AlreadyRegistered: it overlaps.
    """
    if names.start_key(new.base).startswith((SPACE, EVENTS)):
        raise InvalidData(f"{new.base} is reserved for idstore; choose another base", base=new.base)
    taken = ((namespace, other_base) for namespace in others for other_base in namespace.bases)
    for (namespace, other_base), base in product(taken, new.bases):
        same = names.start_key(base) == names.start_key(other_base)
        # with overlapping bases one name could be issued twice
        if any(_overlap(folded(base), folded(other_base)) for folded in (names.start_key, ascii_lower)):
            raise AlreadyRegistered(
                f"the base {base} {'belongs to' if same else 'overlaps with that of'} namespace"
                f" {namespace.name}; choose another",
                base=base,
                namespace=namespace.name,
            )


def _overlap(one: str, other: str) -> bool:
    """Return whether names under one base can be names under the other one; no label contains a bare #."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and "#" not in long[len(short) :]


def check_derived(
    before: Namespace | None, after: Namespace, others: Collection[Namespace], party: str
) -> None:
    """Raise NotPermitted or StageConflict unless a party may derive the new bases of a namespace.

    A base of any scheme counts that is a form of a derived prefix, and a prefix derived from an alias.
    """
    registered = {names.start_key(base): space for space in others for base in space.bases}
    codes = _hierarchies([after, *others])
    for base in after.bases:
        if before is None or base not in before.bases:
            for code in codes:
                _check_ancestors(registered, code, base, party)


def parent_of(namespace: Namespace, registered: Mapping[str, str]) -> str | None:
    """Return the base of the namespace that a prefix is derived from: as stated, else the nearest one."""
    if namespace.parent is not None:
        return namespace.parent.value
    with suppress(UnknownScheme):  # its package is not installed
        code = namespace.scheme
        return _nearest(registered, code, namespace.base) if isinstance(code, Hierarchical) else None
    return None


def _nearest(registered: Mapping[str, T], code: Hierarchical, base: str) -> T | None:
    """Return what is registered for the nearest prefix that a base derives from; keys: `names.start_key`."""
    found = (registered.get(names.start_key(ancestor)) for ancestor in code.ancestors(base))
    return next(filter(None, found), None)


def _hierarchies(spaces: Iterable[Namespace]) -> list[Hierarchical]:
    """Return the schemes of some namespaces whose bases derive from each other."""
    codes: list[Hierarchical] = []
    for name in sorted({space.scheme_name for space in spaces}):
        with suppress(UnknownScheme):  # its package is not installed
            code = scheme(name)
            codes += [code] if isinstance(code, Hierarchical) else []
    return codes


def _check_ancestors(registered: Mapping[str, Namespace], code: Hierarchical, base: str, party: str) -> None:
    """Raise NotPermitted, StageConflict: a party may not derive a base from the nearest registered one."""
    parent = _nearest(registered, code, base)
    if parent is None:
        return
    if parent.owner != party:
        raise NotPermitted(
            f"only the owner of {parent.name}, {parent.owner}, may add {base}, whose prefix is derived from"
            " it",
            parent=parent.base,
            owner=parent.owner,
        )
    if parent.frozen:
        raise StageConflict(
            f"namespace {parent.name} is frozen: it takes no derived prefix such as that of {base}",
            namespace=parent.name,
        )
