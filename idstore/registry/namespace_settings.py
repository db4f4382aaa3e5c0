"""The settings and particulars of a namespace: which may change, and when.

A setting that decides about labels stays as soon as an identifier was issued.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.model import particulars
from idstore.model.namespace import Namespace
from idstore.model.particulars import PREDICATES
from idstore.schemes import Adjustable, Profiled, Reserving, rdswip

_FLAGS: Final = {"true": "false", "false": "true"}
"""Value of a setting that is a flag → the other value."""
_FIXED: Final = {
    "base": "all its identifiers begin with it",
    "name": "people and files refer to the namespace by it",
    "scheme": "it decides the form of all identifiers",
    "parent": "the owner of the parent prefix agreed to it",
    "types": "types are added one by one, and stay",
}
"""Why these never change. The other settings decide about labels."""


def new_particulars(namespace: Namespace, changes: Mapping[str, str]) -> dict[str, str]:
    """Return the particulars among the changes that differ from the present ones. Raises InvalidData."""
    present = dict(namespace.particulars)
    new = {key: particulars.checked(key, text) for key, text in changes.items() if key in PREDICATES}
    if new.get("bind") == particulars.ALLOCATORS and namespace.scheme_name == rdswip.NAME:
        raise InvalidData(
            f"bind={particulars.ALLOCATORS} is not for {namespace.name}: all may bind identifiers of the"
            f" scheme {rdswip.NAME}; write bind={particulars.ANYONE} or bind={particulars.KNOWN}",
            setting="bind",
            namespace=namespace.name,
        )
    return {key: text for key, text in new.items() if text != present.get(key, "")}


def accepting(namespace: Namespace, text: str) -> str | None:
    """Return a setting, as ``key=value``, with which a namespace would read a text; None if there is none.

    Such a setting can be changed before the first identifier is issued.
    """
    code, present = namespace.scheme, namespace.context.settings
    choices = [("profile", name) for name in (code.profiles if isinstance(code, Profiled) else {})]
    choices += [(key, _FLAGS[value]) for key, value in present.items() if value in _FLAGS]
    for key, value in choices:
        profile = code.profiles[value] if isinstance(code, Profiled) and key == "profile" else {key: value}
        with suppress(InvalidData, InvalidIdentifier):
            code.label(text, code.context(namespace.base, {**present, **profile}))
            return f"{key}={value}"
    return None


def depending_on_labels(namespace: Namespace, changes: Mapping[str, str]) -> list[str]:
    """Return the settings among the changes that may change or not by the labels that were issued."""
    code = namespace.scheme
    free = {*PREDICATES, *_FIXED, *(code.adjustable if isinstance(code, Adjustable) else ())}
    if isinstance(code, Reserving):
        free.discard("reserved")
    known = {*code.defaults, *(["profile"] if isinstance(code, Profiled) else [])}
    return [key for key in changes if key in known - free]


def new_settings(namespace: Namespace, changes: Mapping[str, str], *, used: bool) -> dict[str, str]:
    """Return the settings among the changes that differ from the present ones. Raises InvalidData.

    used  whether identifiers were issued: then what decides about labels stays.
    """
    wanted = {key: text for key, text in changes.items() if key not in PREDICATES}
    if not wanted:
        return {}
    code, present = namespace.scheme, dict(namespace.context.settings)
    adjustable = code.adjustable if isinstance(code, Adjustable) else ()
    profiles = code.profiles if isinstance(code, Profiled) else {}
    possible = adjustable
    if not used:
        possible = [*(key for key in code.defaults if key not in _FIXED), *(["profile"] if profiles else [])]
    for key in wanted:
        if key not in possible:
            raise InvalidData(_why_fixed(namespace, key, possible), setting=key, namespace=namespace.name)
    filled = {key: text or code.defaults[key] for key, text in wanted.items() if text or key != "profile"}
    replaced = profiles.get(filled.get("profile", ""), {})
    kept = {key: text for key, text in present.items() if key not in replaced}
    after = code.context(namespace.base, {**kept, **filled}).settings
    gone = set(present.get("alias", "").split()) - set(after.get("alias", "").split())
    if gone:
        raise InvalidData(
            f"the alias {', '.join(sorted(gone))} of {namespace.name} cannot be taken away: names were"
            f" written with it; write alias={present['alias']}, then the new ones",
            setting="alias",
            namespace=namespace.name,
        )
    return {key: text for key, text in after.items() if text != present.get(key)}


def _why_fixed(namespace: Namespace, key: str, adjustable: Sequence[str]) -> str:
    """Return why something of a namespace cannot be changed, and what can be."""
    possible = ", ".join([*adjustable, *PREDICATES])
    if key == "owner":
        return f"the owner of {namespace.name} is not set; transfer the namespace instead"
    code = namespace.scheme
    there = {*_FIXED, *code.defaults, *(["profile"] if isinstance(code, Profiled) else [])}
    if key not in there:
        return f"{namespace.name} has no {key!r}; what can be set is {possible}"
    why = _FIXED.get(key, "it decides which labels there are and which are the same, and labels were issued")
    return (
        f"{key} of {namespace.name} cannot be changed, because {why}; add another namespace, or set one of"
        f" {possible}"
    )
