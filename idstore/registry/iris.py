"""IRIs as people write them: whole ones, and prefixed names such as ``wd:Q42``.

The known prefixes are the names of the registry's namespaces, those of `MAPPING_PREFIXES`, and those of the
package bioregistry where it is installed.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Final

from pyoxigraph import NamedNode

from idstore import bioregistry_package, characters, wrapped
from idstore.errors import InvalidData, InvalidIdentifier, UnknownScheme
from idstore.model import orcid, terms
from idstore.model.names import Names
from idstore.model.namespace import TRUE, Namespace
from idstore.model.terms import Term
from idstore.model.uri_schemes import begins_uri
from idstore.registry.facts import Facts
from idstore.remedies import Remedy
from idstore.vocabulary import IDS, MAPPING_PREFIXES

_WELL_KNOWN: Final = {"wd": "http://www.wikidata.org/entity/"}
"""Prefixes that need no package, and stand in no export."""
_ORCID: Final = r"(?i:https?://(?:www\.)?orcid\.org/)"
_WEB: Final = r"(?i:https?):"
_HOST: Final = _WEB + r"//([^/?#@]*@)?[^/?#@:]"
_TWICE: Final = re.compile(rf"{_WEB}//(?P<inner>{_WEB[:-1]}:?//.*)", re.DOTALL)
"""An address that was put behind the beginning of another one."""
_HIDDEN: Final = f"[\u00ad\u200b\u2060\ufeff{characters.BIDI}]"
"""Characters that are not shown, and have no use in an address: joiners of letters have one."""
_NAME: Final = r"([A-Za-z0-9_][A-Za-z0-9_.+-]*):(.+)"


def expanded(text: str, by_name: Mapping[str, Namespace], *, force: bool = False) -> str:
    """Return the IRI that a text stands for: the expansion of a prefixed name, else the text itself.

    by_name  the namespaces of the registry.
    force    whether a text with an unknown prefix stands for itself.

    Raises InvalidData: the prefix is unknown, or the rest is not an identifier of the namespace.
    """
    match = re.fullmatch(_NAME, text, re.DOTALL)
    if match is None or begins_uri(text) or text.startswith(tuple(space.base for space in by_name.values())):
        return text
    prefix, rest = match.groups()
    if not rest.startswith("//"):
        if prefix in by_name:
            return _identifier(by_name[prefix], rest, text)
        base = MAPPING_PREFIXES.get(prefix) or _WELL_KNOWN.get(prefix) or _of_bioregistry(prefix)
        if base is not None:
            return base + rest
    if force:
        return text
    close = get_close_matches(prefix, [*MAPPING_PREFIXES, *by_name], n=1)
    raise InvalidData(
        f"{text!r} is no IRI, because {prefix} is neither a registered URI scheme nor a known prefix"
        f"{f' (perhaps {close[0]}?)' if close else ''}; write the whole IRI, or insist",
        field="target",
        text=text,
        prefix=prefix,
        remedy=Remedy.INSIST,
    )


def identified(text: str, facts: Facts, *, force: bool = False) -> str:
    """Return the IRI that a target stands for: see `expanded`; of a bare name in one namespace its IRI.

    White space and invisible characters around it count for nothing.

    force  see `expanded`; also take an invisible character that makes an address look like another one.
    Raises InvalidData: see `expanded`; several namespaces read the name.
    """
    text = characters.trimmed(text)
    if not (force or text.isascii()):
        hidden = re.search(_HIDDEN, text)
        if hidden is not None:
            raise InvalidData(
                f"{characters.printable(text)} has U+{ord(hidden[0]):04X},"
                f" {characters.kind(hidden[0])}; remove it, or insist",
                field="target",
                text=text,
                position=hidden.start(),
                remedy=Remedy.INSIST,
            )
    reason = "" if force or "://" not in text else wrapped.spoilt(text)
    if reason:
        raise InvalidData(
            f"{characters.printable(text)} is not one address: {reason}; write the address alone, or insist",
            field="target",
            text=text,
            remedy=Remedy.INSIST,
        )
    if ":" in text:
        whole = expanded(text, facts.by_name, force=force)
        if not force and re.match(_ORCID, whole):
            orcid.normal(whole)
        return whole
    found = sorted(
        space.scheme.iri(label, space.context) for space, label in facts.index.readings(text, whole=True)
    )
    if found[1:]:
        raise InvalidData(
            f"{text!r} is a name in several namespaces; write the one that is meant: {', '.join(found)}",
            field="target",
            text=text,
        )
    return found[0] if found else text


def check_target(uri: str, names: Names, about: str | None = None) -> str:
    """Return a URI unchanged.

    about  the identifier that leads or is bound to the URI.
    Raises InvalidData: a web address without host, or with another one in its place; a form of ``about``.
    """
    if re.match(_WEB, uri) and not re.match(_HOST, uri):
        raise InvalidData(
            f"{uri!r} is not a web address, because it has no host; write it as in http://example.org/a",
            field="target",
            text=uri,
        )
    twice = _TWICE.match(uri)
    if twice is not None:
        raise InvalidData(
            f"{uri!r} is not a web address, because one begins inside its host; write it once",
            field="target",
            text=uri,
        )
    if about is not None and names.same(uri, about):
        form = "" if uri == about else f" ({uri} is another form of it)"
        raise InvalidData(
            f"{about} cannot lead or be bound to itself{form}", field="target", id=about, text=uri
        )
    return uri


def target(uri: str, facts: Facts, about: str | None = None, *, force: bool = False) -> NamedNode:
    """Return the IRI of a target. Raises InvalidData.

    about  the identifier that is to lead there, if it is known already.
    force  see `identified`.
    """
    return terms.iri(check_target(identified(uri, facts, force=force), facts.names, about))


def insisted(check: Callable[[], object], *, force: bool) -> list[tuple[NamedNode, Term]]:
    """Run a check. If it refuses and the party insists, return the argument of the event that says so.

    Raises as the check, unless the party insists.
    """
    try:
        check()
    except (InvalidData, InvalidIdentifier):
        if not force:
            raise
        return [(IDS.forced, TRUE)]
    return []


def readings(text: str, facts: Facts) -> tuple[str, ...]:
    """Return what a text may stand for in stored data: itself, and the IRI that is `identified`."""
    try:
        return tuple(dict.fromkeys((text, identified(text, facts))))
    except InvalidData:  # it may be stored as it is
        return (text,)


def _identifier(namespace: Namespace, label: str, text: str) -> str:
    """Return the IRI of ``NAMESPACE:label``, whether or not it is registered."""
    try:
        return namespace.scheme.iri(namespace.scheme.label(label, namespace.context), namespace.context)
    except (InvalidIdentifier, UnknownScheme) as error:
        raise InvalidData(
            f"{text!r} is a short form of this store that cannot be read ({error}); write the whole IRI,"
            f" those of namespace {namespace.name} begin with {namespace.base}",
            field="target",
            text=text,
            namespace=namespace.name,
        ) from error


@cache
def _of_bioregistry(prefix: str) -> str | None:
    """Return the IRI of a prefix in bioregistry's data, which the package contains; None without it."""
    try:
        bioregistry = bioregistry_package.load()
    except ImportError:
        return None
    resource = bioregistry.get_resource(prefix, strict=False)
    iri: str | None = None if resource is None else resource.get_rdf_uri_prefix() or resource.get_uri_prefix()
    return iri
