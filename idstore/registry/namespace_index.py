"""An index of namespaces, which finds those that can read a text without trying each of them.

It tells what a party means by a text, bare labels included. `Names` of ``model`` tells which texts are equal,
for which a bare label is no name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from idstore import spreadsheets, wrapped
from idstore.characters import ascii_upper
from idstore.errors import InvalidIdentifier, UnknownScheme
from idstore.model.namespace import Namespace, is_form_prefix
from idstore.remedies import Remedy
from idstore.schemes import Address, Addressed, Scheme, Typed, Uniform, well_known

_MANY: Final = 4
"""Namespaces that read bare labels alike and are looked up together; fewer are looked up one by one."""


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """Namespaces that read the same label in a bare text, which is its own comparison key there."""

    label: str
    bases: frozenset[str]


class NamespaceIndex:
    """Namespaces by base and by scheme."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._by_base: dict[str, Namespace] = {}
        self._by_scheme: dict[str, list[Namespace]] = {}
        for namespace in namespaces:
            self._by_base |= {ascii_upper(base): namespace for base in namespace.bases}
            self._by_scheme.setdefault(namespace.scheme_name, []).append(namespace)
        self._groups = {name: _uniform_groups(spaces) for name, spaces in self._by_scheme.items()}
        self._lengths = sorted({len(base) for base in self._by_base}, reverse=True)

    def home(self, text: str) -> Namespace | None:
        """Return the namespace with whose base a text begins; of several bases the longest counts."""
        folded = ascii_upper(text)
        bases = (self._by_base.get(folded[:length]) for length in self._lengths if length < len(text))
        return next(filter(None, bases), None)

    def candidates(self, text: str, *, whole: bool = False) -> list[Namespace]:
        """Return the namespaces that may read a text.

        whole  only those for which the text is more than a bare label that the party chose. In schemes that
               make their labels, or name types, the labels are such.
        A bare ``a/b`` whose prefix is that of a namespace is a whole name, and no label of other namespaces.
        Cost: flat, but for bare labels, which every namespace of a scheme may have.
        """
        home = self.home(text)
        if home is not None:
            return [home]
        return [
            namespace
            for spaces in self._by_scheme.values()
            for namespace in self._of_scheme(spaces, text, whole=whole)
        ]

    def grouped(self, text: str) -> tuple[list[LabelGroup], list[tuple[Namespace, str]]]:
        """Return the `readings` of a text: groups of many namespaces, and the other readings one by one.

        Cost: one reading for each group, and for each namespace in none.
        """
        text = text.strip()
        if ":" in text or self.home(text) is not None:
            return [], self.readings(text)
        groups: list[LabelGroup] = []
        others: list[Namespace] = []
        for name, spaces in self._by_scheme.items():
            candidates = self._of_scheme(spaces, text, whole=False)
            if candidates is not spaces:
                others += candidates
                continue
            groups += [
                LabelGroup(label, bases)
                for first, bases in self._groups[name][0]
                for _, label in readings_in([first], text)
            ]
            others += self._groups[name][1]
        return groups, list(readings_in(others, text))

    def readings(self, text: str, *, whole: bool = False) -> list[tuple[Namespace, str]]:
        """Return the namespaces that read the whole text, each with the label that it reads.

        whole  see `candidates`.
        An address that no namespace reads as it is written is read in its usual form.
        Raises UnknownScheme: the text is an identifier of a namespace whose scheme is not installed.
        """
        found = list(readings_in(self.candidates(text, whole=whole), text))
        usual = text if found else well_known.usual(text)
        return found if usual == text else list(readings_in(self.candidates(usual, whole=whole), usual))

    def label(self, namespace: Namespace, text: str) -> str:
        """Return the label of a text that stands for an identifier of ``namespace``, ``NAME:label`` included.

        Raises InvalidIdentifier: the namespace does not read it, or the text means an identifier of another
        namespace or registry, although it could be a label.
        """
        code, context, text = namespace.scheme, namespace.context, text.strip()
        name, colon, rest = text.partition(":")
        if colon and name == namespace.name and not is_form_prefix(name) and self.home(text) is None:
            return code.label(rest, context)
        label = code.label(text, context)
        address = _address(code, text)
        home = None if address is None else self._at(address.base)
        if address is None or not address.bare or (home is not None and home.base == namespace.base):
            return label
        forms = {form.kind: form.text for form in code.written_forms(label, context)}
        insist = f"write {forms.get('handle', code.iri(label, context))} if it is a label here"
        meant = address.likely or text
        home = home or self._named_by(code, address.likely)
        if home is not None:
            reason = (
                f"it is the identifier {meant} of namespace {home.name}; name that namespace, or {insist}"
            )
        elif address.likely:
            reason = f"it looks like {meant} of another registry; leave it there and bind to it, or {insist}"
        else:
            return label
        raise InvalidIdentifier(text, reason, 0, code.name)

    def check_unwrapped(self, namespace: Namespace, label: str) -> None:
        """Raise InvalidIdentifier: a label is an identifier with its prefix, or with something around it.

        White space that a label begins or ends with is such a thing.
        """
        code, inner = namespace.scheme, wrapped.unwrapped(label)
        meant = label.strip() if label != label.strip() else ""
        texts = (label, inner, wrapped.usual_signs(label), wrapped.without_marks(label))
        for text in dict.fromkeys(texts):
            with suppress(InvalidIdentifier):
                again = code.label(text, namespace.context)
                if again != text:
                    meant = code.iri(again, namespace.context)
        enclosed = not (label[:1].isalnum() or label[:1].isspace())
        if not meant and inner != label:
            of_sheet = spreadsheets.linked(label) or spreadsheets.unmarked(label)
            odd = wrapped.is_odd(label) or of_sheet is not None
            meant = inner if odd or (enclosed and self._is_whole(code, inner)) else ""
        reason = f"it looks like {meant} with something before or around it; write that, or insist"
        if not meant and spreadsheets.is_result(label):
            meant = label
            reason = "it is a formula or an error of a spreadsheet; write its value, or insist"
        if meant:
            raise InvalidIdentifier(label, reason, 0, code.name, remedy=Remedy.INSIST)

    def _is_whole(self, code: Scheme, text: str) -> bool:
        """Whether a text is a whole identifier of a namespace, or looks like one of another registry."""
        if self.home(text) is not None:
            return True
        address = _address(code, text)
        return address is not None and (bool(address.likely) or self._at(address.base) is not None)

    def _named_by(self, code: Scheme, text: str | None) -> Namespace | None:
        address = None if text is None else _address(code, text)
        return None if address is None else self._at(address.base)

    def _at(self, base: str) -> Namespace | None:
        return self._by_base.get(ascii_upper(base))

    def _of_scheme(self, spaces: list[Namespace], text: str, *, whole: bool) -> Iterable[Namespace]:
        """Return the candidates among the namespaces of one scheme."""
        try:
            code = spaces[0].scheme
        except UnknownScheme:  # its package is not installed
            return ()
        address = _address(code, text)
        if address is None:
            return (
                ()
                if whole and code.chosen and not isinstance(code, Typed) and not _parses(code, text)
                else spaces
            )
        home = self._at(address.base)
        if home is not None:
            return (home,) if home.scheme_name == code.name else ()
        return spaces if address.bare and not whole else ()


def _uniform_groups(
    spaces: Sequence[Namespace],
) -> tuple[list[tuple[Namespace, frozenset[str]]], list[Namespace]]:
    """Return groups of namespaces of a scheme that read alike, one of each with all bases; and the rest."""
    try:
        code = spaces[0].scheme
    except UnknownScheme:
        return [], [*spaces]
    groups: dict[object, list[Namespace]] = {}
    for namespace in spaces:
        alike = isinstance(code, Uniform) and code.uniform(namespace.context)
        groups.setdefault(namespace.settings if alike else None, []).append(namespace)
    few = groups.pop(None, [])
    many = [group for group in groups.values() if len(group) >= _MANY]
    few += [namespace for group in groups.values() if len(group) < _MANY for namespace in group]
    return [(group[0], frozenset(namespace.base for namespace in group)) for group in many], few


def named_readings(
    text: str, by_name: Mapping[str, Namespace], index: NamespaceIndex, *, whole: bool = False
) -> list[tuple[Namespace, str]]:
    """Return the readings of a text that may also be ``NAMESPACE:label``.

    Only the named namespace reads ``NAMESPACE:label``, unless other identifiers begin with the same word
    (``hdl:…``).
    White space around a text counts for nothing.
    Raises InvalidIdentifier: it is no identifier of the named namespace.
    """
    text = text.strip()
    name, colon, rest = text.partition(":")
    if not colon or name not in by_name:
        return index.readings(text, whole=whole)
    namespace, ambiguous = by_name[name], is_form_prefix(name)
    try:
        named = [(namespace, namespace.scheme.label(rest, namespace.context))]
    except InvalidIdentifier:
        if not ambiguous and index.home(text) is None:
            raise
        return index.readings(text, whole=whole)
    others = index.readings(text, whole=whole) if ambiguous else []
    return named + [reading for reading in others if reading not in named]


def readings_in(namespaces: Iterable[Namespace], text: str) -> Iterator[tuple[Namespace, str]]:
    """Yield the namespaces among these that read the whole text, each with the label that it reads."""
    for namespace in namespaces:
        try:
            yield namespace, namespace.scheme.label(text, namespace.context)
        except InvalidIdentifier:
            continue
        except UnknownScheme:  # its package is not installed; the other namespaces still work
            if text.startswith(namespace.base):
                raise


def _address(code: Scheme, text: str) -> Address | None:
    return cast("Addressed", code).address(text) if _is_addressed(type(code)) else None


@cache
def _is_addressed(kind: type[Scheme]) -> bool:
    """Whether schemes of a class find contexts; to ask a protocol each time costs as much as an answer."""
    return issubclass(kind, Addressed)


def _parses(code: Scheme, text: str) -> bool:
    try:
        code.parse(text)
    except InvalidIdentifier:
        return False
    return True
