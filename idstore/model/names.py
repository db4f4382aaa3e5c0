"""Comparison of texts that name things: one name in several written forms is one name."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from idstore.errors import InvalidIdentifier, UnknownScheme
from idstore.model.event import Event
from idstore.model.kinds import kind_of
from idstore.model.namespace import Namespace
from idstore.model.terms import hashed
from idstore.schemes import Hosted, well_known

_PROTOCOLS: Final = ("http://", "https://")
_SIZE: Final = 4096
"""Number of texts whose keys are kept."""


NAMED: Final = 10
"""Most identifiers that a message names, if several have one target."""
ENOUGH: Final = NAMED + 2
"""How many suffice to know whether there are more, and one of them may be the identifier itself."""


def already_leading(target: str, others: Sequence[str]) -> str:
    """Return in words which other identifiers have a target, or are bound to it as the same thing.

    It names `NAMED` of them, and says if there are more.
    """
    named = ", ".join(others[:NAMED])
    more = " and others" if others[NAMED:] else ""
    return f"{target}: {named}{more} already lead{'s' * (len(others) == 1)} there"


def sketch(text: str) -> str:
    """Return a coarse form of a text, for indexes: it does not depend on namespaces.

    Each text with the key of another one has one of that one's `Names.sketches`; so have some other texts.
    Catalogues store it: a change of the rule needs a new format of stores.
    """
    folded = unquote(well_known.key(text)).upper()
    return f"HTTPS{folded[4:]}" if folded.startswith("HTTP:") else folded


@lru_cache(maxsize=8192)
def start_key(base: str) -> str:
    """Return the comparison key of the beginning of names: of a base, in any of its written forms."""
    return well_known.start_key(base)


def target_number(event: Event) -> int | None:
    """Return the number by which catalogues find the target of an event; None without a target."""
    target = event.target
    return None if target is None else hashed(sketch(target))


class Names:
    """Compares texts by the rules of some namespaces, and of well-known schemes. Safe for concurrent threads.

    A comparison depends on the texts alone, never on the existence of an identifier. What a party means by a
    text, `NamespaceIndex` of ``registry`` tells.
    """

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._namespaces = tuple(namespaces)
        self._beginnings: _Beginnings | None = None
        self._read = lru_cache(maxsize=_SIZE)(self._reading)

    def key(self, text: str) -> str:
        """Return the comparison key of a text: texts are one name exactly if their keys are equal.

        The key of a name in one of the namespaces, registered or not, is the IRI of the label's key. A key is
        not for display.
        """
        reading = self._read(text)
        return well_known.key(text) if reading is None else reading[0].key_iri(reading[1])

    def same(self, one: str, other: str) -> bool:
        """Return whether two texts are the same name."""
        return one == other or self.key(one) == self.key(other)

    def form(self, text: str) -> str | None:
        """Return a text that is a name in one of the namespaces, registered or not; None for other texts.

        A bare handle (``PREFIX/SUFFIX``) is returned with its URI scheme. Other bare labels tell no
        namespace.
        """
        return next((form for form in (text, f"hdl:{text}") if self._read(form) is not None), None)

    def kind(self, text: str) -> str:
        """Return the base of the text's namespace; of other texts what `kind_of` returns for every form."""
        reading = self._read(text)
        return kind_of(well_known.key(text)) if reading is None else reading[0].base

    def sketches(self, text: str) -> frozenset[str]:
        """Return the `sketch` of every text that can have the same key."""
        reading = self._read(text)
        if reading is None:
            return frozenset({sketch(text)})
        namespace, label = reading
        rest = namespace.scheme.iri(label, namespace.context).removeprefix(namespace.base)
        return frozenset({sketch(text), *(sketch(start + rest) for start in _starts(namespace))})

    def _reading(self, text: str) -> tuple[Namespace, str] | None:
        """Return the namespace that an IRI is a name of, and the label; None if there is none.

        Cost: one look-up for each length of a beginning of names.
        """
        if not self._namespaces:
            return None
        if self._beginnings is None:
            self._beginnings = _Beginnings(self._namespaces)
        for namespace, rest in self._beginnings.of(well_known.key(text)):
            for form in (text, namespace.base + rest):
                try:
                    return namespace, namespace.scheme.label(form, namespace.context)
                except (InvalidIdentifier, UnknownScheme):
                    continue
        return None


class _Beginnings:
    """The beginnings of names, each with its namespaces. Case and protocol of a beginning are folded."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._namespaces: dict[str, list[Namespace]] = {}
        addressed: dict[str, list[Namespace]] = {}
        for namespace in namespaces:
            for base in map(_folded, namespace.bases):
                self._namespaces.setdefault(base, []).append(namespace)
            for address in {*map(_folded, _addresses(namespace))}:
                addressed.setdefault(address, []).append(namespace)
        for address, sharing in addressed.items():
            if len(sharing) == 1:  # a shared one tells no namespace
                self._namespaces.setdefault(address, sharing)
        self._lengths = sorted({len(start) for start in self._namespaces}, reverse=True)

    def of(self, known: str) -> Iterator[tuple[Namespace, str]]:
        """Yield the namespaces that a key of `well_known` can be a name of, and the rest after the beginning.

        The longest beginnings come first.
        """
        text = known.upper()
        for length in self._lengths:
            for namespace in self._namespaces.get(text[:length], ()):
                yield namespace, known[length:]


def _folded(start: str) -> str:
    return well_known.key(start).upper()


def _starts(namespace: Namespace) -> Iterator[str]:
    yield from namespace.bases
    yield from _addresses(namespace)


def _addresses(namespace: Namespace) -> Iterator[str]:
    """Yield the beginnings of addresses under neither base nor alias, by either protocol."""
    try:
        scheme = namespace.scheme
    except UnknownScheme:
        return
    for address in scheme.hosted_bases(namespace.context) if isinstance(scheme, Hosted) else ():
        yield address
        if address.startswith(_PROTOCOLS):
            protocol, _, rest = address.partition("://")
            yield f"{'https' if protocol == 'http' else 'http'}://{rest}"
