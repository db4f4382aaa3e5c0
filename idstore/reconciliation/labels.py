"""Identifiers with their names beside them, in lines of limited width for people."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from idstore.characters import printable
from idstore.vocabulary import MAPPING_PREFIXES

WIDTH: Final = 200
"""Most characters of a line for people."""
_SHORTER: Final = ((None, None), (None, 40), (None, 20), (70, 20))
"""Most characters of an identifier, and of a name, in the order in which a line tries to fit; None: all."""
Label = Callable[[str], str]
"""Returns an identifier or target with its name beside it."""
NameOf = Callable[[str], str]
"""Returns the name of an identifier or target; empty if none is known."""


def fitted(lines: Callable[[Label], Iterable[str]], name_of: NameOf) -> Iterator[str]:
    """Yield lines that are safe to print and have at most `WIDTH` characters.

    Names are cut first, then identifiers, then the end of the line.
    """
    labels = [partial(labelled, name_of, longest=most, longest_name=name) for most, name in _SHORTER]
    for versions in zip(*map(lines, labels), strict=True):
        texts = [*map(printable, versions)]
        yield next((text for text in texts if len(text) <= WIDTH), cut(texts[-1], WIDTH))


def labelled(name_of: NameOf, iri: str, longest: int | None = None, longest_name: int | None = None) -> str:
    """Return an identifier or target with its name beside it, both cut to so many characters.

    Of an identifier the end is left, since identifiers differ there.
    """
    name = cut(name_of(iri), longest_name)
    shown = iri if longest is None or len(iri) <= longest else f"…{iri[1 - longest :]}"
    return f"{shown} “{name}”" if name else shown


def cut(text: str, longest: int | None) -> str:
    """Return a text cut to so many characters, at a space if there is one in its second half."""
    if longest is None or len(text) <= longest:
        return text
    words = text[:longest].rpartition(" ")[0]
    return f"{words if len(words) > longest // 2 else text[: longest - 1]}…"


def short(iri: str) -> str:
    """Return an IRI with a well-known prefix, if one applies."""
    return next(
        (
            f"{prefix}:{iri[len(space) :]}"
            for prefix, space in MAPPING_PREFIXES.items()
            if iri.startswith(space)
        ),
        iri,
    )
