"""Particulars of a namespace: what its owner says of it and of its data, and who may bind its identifiers.

They change no identifier. Each is a text, stored as a property of the namespace.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyoxigraph import Literal, NamedNode

from idstore.errors import InvalidData
from idstore.model import terms
from idstore.vocabulary import DCAT, DCTERMS, IDS

PREDICATES: Final[Mapping[str, NamedNode]] = MappingProxyType(
    {
        "description": DCTERMS.description,
        "contact": DCAT.contactPoint,
        "policy": IDS.policy,
        "licence": DCTERMS.license,
        "publisher": DCTERMS.publisher,
        "bind": IDS.bindingPolicy,
    }
)
ANYONE: Final = "anyone"
KNOWN: Final = "known"
ALLOCATORS: Final = "allocators"
BINDERS: Final = (ANYONE, KNOWN, ALLOCATORS)
"""Who may bind published identifiers of a namespace, besides their owners: every party, the parties that were
added, or those that may allocate in it. ``anyone`` is the default, and not stored."""
_MAIL: Final = re.compile(r"[^@\s:/]+@(?=[^@\s:/]+\.[^@\s:/])[^@\s:/]+")
_ABSOLUTE: Final = re.compile(r"(https?://|urn:|mailto:)\S+", re.IGNORECASE)


def checked(name: str, text: str) -> str:
    """Return the stored form of a particular; empty: it is removed. Raises InvalidData."""
    text = text.strip()
    if not text:
        return ""
    if name == "bind":
        if text not in BINDERS:
            raise InvalidData(
                f"{text!r} does not say who may bind; write bind= with one of {', '.join(BINDERS)}",
                setting=name,
                value=text,
            )
        return "" if text == ANYONE else text
    if name == "contact" and _MAIL.fullmatch(text):
        text = f"mailto:{text}"
    if name in ("contact", "licence") and not _ABSOLUTE.fullmatch(text):
        example = (
            "curator@example.org or https://example.org/contact"
            if name == "contact"
            else "https://creativecommons.org/publicdomain/zero/1.0/"
        )
        raise InvalidData(f"the {name} {text!r} is no address; write one as {example}", setting=name)
    term(name, terms.check_text(text, name))
    return text


def term(name: str, text: str) -> NamedNode | Literal:
    """Return the value of a particular: an IRI, or a text. Raises InvalidData."""
    linked = name in ("contact", "licence") or (name == "publisher" and _ABSOLUTE.fullmatch(text))
    return terms.iri(text, name) if linked else Literal(text)
