"""What an identifier can lead to or be bound to: no IRI that somebody wrote by mistake."""

import re
from collections.abc import Mapping
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier, UnknownScheme
from idstore.model.namespace import Namespace, begins_a_form

_SCHEMES: Final = frozenset(
    {"ark", "data", "did", "file", "ftp", "geo", "ldap", "magnet", "mailto", "news", "pkg", "sftp", "ssh", "swh", "tag", "tel"}
)
"""Schemes of IRIs that people use, beside the forms of identifiers: a namespace of that name does not take them away."""
_WEB: Final = r"(?i:https?):"
_HOST: Final = _WEB + r"//([^/?#@]*@)?[^/?#@:]"


def check(uri: str, by_name: Mapping[str, Namespace], about: str | None = None) -> None:
    """Raise InvalidData for a short form of an identifier, a web address without a host, and for ``about``, the identifier itself."""
    if re.match(_WEB, uri) and not re.match(_HOST, uri):
        raise InvalidData(f"{uri!r} is no web address: it has no host; write it as in http://example.org/a", text=uri)
    if uri == about:
        raise InvalidData(f"{uri} cannot be bound to itself", id=uri)
    name, _, rest = uri.partition(":")
    namespace = by_name.get(name)
    if namespace is None or rest.startswith("//") or begins_a_form(name) or name.lower() in _SCHEMES:
        return
    raise InvalidData(f"{uri!r} is a short form of this store and no IRI; {_remedy(namespace, rest)}", text=uri, namespace=name)


def _remedy(namespace: Namespace, text: str) -> str:
    """What to write instead, whether or not it is registered."""
    try:
        return f"write {namespace.scheme.iri(namespace.scheme.label(text, namespace.context), namespace.context)}"
    except (InvalidIdentifier, UnknownScheme):
        return f"write the whole IRI, which begins with {namespace.base} if it is an identifier of the namespace {namespace.name}"
