"""The interface of schemes, and the registry of installed schemes.

A scheme is the code for one kind of identifier: the grammar of labels, the generation of new labels, their
written forms, and the rule that decides whether two texts are the same name. A scheme is a module with an
object that implements `Scheme`. Five come with idstore; other packages announce theirs in the entry-point
group ``idstore.schemes``.

A *label* in a *context* (base IRI and settings) makes a *name*. The IRI of the identifier is the base
followed by the label, percent-encoded where the syntax of IRIs requires it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from idstore.errors import UnknownScheme

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN: Final = {
    "handle": "idstore.schemes.handle",
    "pilin": "idstore.schemes.pilin",
    "puid": "idstore.schemes.puid",
    "rdswip": "idstore.schemes.rdswip",
    "scholars-portal": "idstore.schemes.scholars_portal",
}
"""Modules of the schemes that come with idstore; each defines ``SCHEME``."""
GROUP: Final = "idstore.schemes"
"""The entry-point group in which packages announce schemes."""


@dataclass(frozen=True, slots=True)
class Context:
    """A concrete context: the properties of a namespace that a scheme uses.

    base       common beginning of all IRIs of the namespace, in the form that the scheme's ``context``
               returned.
    settings   all settings of the scheme as text, defaults included.
    """

    base: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """A written form of an identifier.

    kind  a short word: ``uri``, ``hdl``, ``bare``.
    text  the form.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    r"""A syntax rule of labels, in regular expressions that Python, SHACL and SPARQL engines read alike.

    The expressions use no look-ahead, no back-references, no ``\d`` and no ``\p{..}``, and do not depend on
    ``$`` alone to exclude a line break.

    slug       short word, unique in the scheme; the IRI of the rule's shape ends in it.
    title      subject of the rule, in a few words.
    message    text of a report about a label that breaks the rule.
    patterns   regular expressions. A label has them all if `re.search` finds each of them in the label.
    forbidden  False: a label breaks the rule unless it has all patterns. True: a label that has all patterns
               breaks the rule.
    fixed      whether the rule is the same at all settings of the scheme.
    advisory   whether it binds new labels alone (`Restricting`): a label that was issued elsewhere and breaks
               it gets a warning.
    """

    slug: str
    title: str
    message: str
    patterns: tuple[str, ...]
    forbidden: bool = False
    fixed: bool = False
    advisory: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """A label derived from metadata.

    label       the label, before any resolution of collisions.
    extensions  parts of the label that go beyond the scheme's policy, a sentence each.
    doubts      metadata that a person should check, because another label might have been meant.
    irregular   those of the doubts that are about fields without a known form; a strict request is refused.
    """

    label: str
    extensions: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    irregular: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelRelations:
    """What the form of a label says about its identifier; each other identifier by its label.

    below        the identifier that it is a file or an event of.
    kind         its kind below that; None if the label leaves it open.
    replaced_by  the identifier that it is an old copy of.
    """

    below: str | None = None
    kind: str | None = None
    replaced_by: str | None = None


class Name(Protocol):
    """The result of ``parse``: a frozen value, equal to another if the standard treats both as the same name.

    ``str(name)`` is the canonical form.
    """

    def __str__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...


class Allocation(Protocol):
    """The information and services that a scheme may use while it generates a new label."""

    context: Context
    metadata: Mapping[str, str]
    """The data that the label is derived from (empty for opaque schemes)."""

    @property
    def asked(self) -> int:
        """Time of the request in milliseconds since 1970; other requests may have been served since."""

    def now(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00Z."""

    def wait_until(self, moment: int) -> None:
        """Wait until the clock reaches ``moment`` (milliseconds since 1970), or was set back since `now`.

        In a registry it does not return: the registry calls ``candidates`` again later, with the same
        `asked`.
        """

    def issued(self, series: str) -> int:
        """Return how many labels of ``series`` the namespace ever issued, imported ones included.

        For schemes that draw labels: the count shows how full the series is. It does not give the next
        number, because numbers may be missing: see `highest`.
        """

    def highest(self, series: str) -> int:
        """Return the highest number that the namespace ever issued in ``series``, or 0.

        For schemes that count: the next number is one more. The highest number never decreases, also if its
        label is released. It may exceed `issued`, because an import can leave numbers out.
        """


@runtime_checkable
class Scheme(Protocol):
    """A kind of identifier. All methods are pure, except ``candidates`` (clock and randomness)."""

    name: str
    """The name in commands and settings: lower-case letters, digits and hyphens."""
    title: str
    """One line for users: the things that the scheme identifies, and its owner."""
    identifier_class: str
    """IRI of the class of its identifiers, in any domain of the scheme's author.

    Records have it as their type (``rdf:type``), in queries and exports too, and the shape of the labels
    targets it.
    """
    defaults: Mapping[str, str]
    """All settings with their default values; every setting has one.

    If the party that adds the namespace must state a value, the default is one that ``context`` refuses, such
    as the empty text. Settings cannot be changed once the namespace is added, except those of `Adjustable`.
    """
    chosen: bool
    """Whether parties may choose labels (``register``)."""
    bulk: bool
    """Whether a party may allocate several labels at once."""
    example: str
    """A valid text, for help and error messages."""

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """Check a base and settings, add the defaults, and return both in their stored form.

        Raises InvalidData, which names the setting or the fault of the base, and the remedy.
        """

    def parse(self, text: str) -> Name:
        """Read a label, and its other written forms if it has any, independently of a namespace.

        The settings are the defaults; a setting without a usable default allows every value.
        Raises InvalidIdentifier, with the reason and the position of the first invalid character.
        """

    def label(self, text: str, context: Context) -> str:
        """Read any written form (bare label, full IRI, ...) and return the canonical label in the context.

        The registry stores and prints the returned spelling. A scheme that folds case here has one spelling
        for each name, as ``pilin`` has: ``rules`` allow that spelling alone.
        Raises InvalidIdentifier if the text is malformed, breaks the settings, or is of another context (at
        position 0).
        """

    def iri(self, label: str, context: Context) -> str:
        """Return the IRI of a canonical label."""

    def key(self, label: str, context: Context) -> str:
        """Return the comparison key.

        Two labels of a context are the same name exactly if their keys are equal. The registry never prints
        the key. A scheme that folds case here keeps the spelling that was registered, as ``handle`` does for
        DOI names: ``rules`` must allow all spellings. The key of a key is the key itself.
        """

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """Return all written forms of the identifier; ``label`` reads each of them."""

    def series(self, label: str, context: Context) -> tuple[str, int]:
        """Return the name of the series that counts a label, and the number of the label in that series.

        The name is any text; a scheme with one series returns ``""``. The number is 0 for a label without a
        number: the registry then counts it, and the highest number stays. `Allocation.issued` and
        `Allocation.highest` take the name.
        """

    def provisional(self, label: str, context: Context) -> bool:
        """Whether the scheme's standard calls the identifier not persistent."""

    def rules(self, settings: Mapping[str, str]) -> Sequence[Rule]:
        """Return the syntax of labels under all settings; `idstore.schemes.shapes` renders it to SHACL."""

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """Yield candidates for a new label, best first; the registry takes the first free one.

        ``label`` accepts each candidate.
        Raises InvalidData (no label can be derived from the metadata, or the namespace mints no labels of the
        scheme), NamespaceExhausted (there are no more labels, for example after the largest number).
        """


@runtime_checkable
class Deriving(Protocol):
    """Extension of `Scheme` for schemes that derive labels from metadata."""

    kinds: Mapping[str, str]
    """Kinds of identifiers below an identifier (metadata ``parent`` and ``kind``), each with its label's
    beginning."""

    def derive(self, metadata: Mapping[str, str], context: Context) -> Derived:
        """Return the label that the metadata determine. Raises InvalidData, which names the field."""

    def same(self, metadata: Mapping[str, str]) -> str | None:
        """Return a text that all metadata of one thing share (its DOI), or None."""

    def original(self, label: str) -> str:
        """Return a derived label without its collision suffix.

        Raises InvalidData for a label that was not derived.
        """

    def old_copies(self, label: str, context: Context) -> Iterator[str]:
        """Yield candidates, best first, for the label of the old copy when a new one takes over ``label``."""

    def relations(self, label: str) -> LabelRelations:
        """Return what the form of a label says."""


@runtime_checkable
class Generating(Protocol):
    """Extension of `Scheme` for schemes that generate arbitrary labels of one length while any are left."""

    def space(self, settings: Mapping[str, str]) -> int:
        """Return how many labels of that length exist."""


@runtime_checkable
class Aliasing(Protocol):
    """Extension of `Scheme` for schemes whose names can also be written under other bases."""

    def aliases(self, context: Context) -> tuple[str, ...]:
        """Return the other bases. ``label`` reads names under them; no other namespace may have them."""


@dataclass(frozen=True, slots=True)
class Address:
    """The context that a text states.

    base    its base, in any ASCII case; a registry may have no such namespace.
    bare    whether the text may also be a label of another context: 10.1045/a under the prefix 12345.
    likely  full form of the identifier that a bare text probably means, if that is rather an identifier of
            another registry than a label: hdl:10.1045/a.
    """

    base: str
    bare: bool = False
    likely: str | None = None


@runtime_checkable
class Addressed(Protocol):
    """Extension of `Scheme` for schemes that find the context of a text without trying every context."""

    def address(self, text: str) -> Address | None:
        """Return the context that a text states.

        None: it states none, and every context of the scheme may read it. Where the text is an address that
        no context of the scheme has, the base is any text that is no base.
        """


@runtime_checkable
class Uniform(Protocol):
    """Extension of `Scheme` for schemes whose contexts read bare labels alike."""

    def uniform(self, context: Context) -> bool:
        """Return whether a context reads a bare label as every context with the same settings does.

        A bare label has no ``:`` and states no base (see `Address`). Each label that the context reads must
        also be its own comparison key.
        """


@runtime_checkable
class Hierarchical(Protocol):
    """Extension of `Scheme` for schemes whose bases derive from each other, as prefixes of handles do."""

    def ancestors(self, base: str) -> tuple[str, ...]:
        """Return the bases that a base of any scheme is derived from, in any ASCII case, nearest first."""


@runtime_checkable
class Timestamped(Protocol):
    """Extension of `Scheme` for schemes whose labels tell when they were made."""

    def made(self, label: str) -> int:
        """Return the time, in milliseconds since 1970."""


@runtime_checkable
class Hosted(Protocol):
    """Extension of `Scheme` for schemes whose names have addresses under neither the base nor an alias."""

    def hosted_bases(self, context: Context) -> tuple[str, ...]:
        """Return the beginnings of those addresses; a label follows. ``label`` reads names under them.

        Namespaces may share a beginning; then an address under it tells none of them.
        """


@runtime_checkable
class Adjustable(Protocol):
    """Extension of `Scheme` for schemes with settings that can be changed.

    Such a setting changes no issued label, no comparison key and no shape. Labels are still read in all
    written forms that depend on it.
    """

    adjustable: Sequence[str]
    """The names of these settings."""


@runtime_checkable
class Profiled(Protocol):
    """Extension of `Scheme` for schemes with a setting ``profile``, which stands for several settings."""

    profiles: Mapping[str, Mapping[str, str]]
    """Name of a profile → its settings."""


@runtime_checkable
class Valued(Protocol):
    """Extension of `Scheme` for schemes whose identifiers carry typed values, as in the Handle System."""

    def typed(self, type: str, data: str | bytes) -> str | bytes:
        """Return the data of a value in their stored form. Raises InvalidData if they do not fit the type."""


@dataclass(frozen=True, slots=True)
class LabelType:
    """A code within a label for the kind of the identified thing, such as ``fmt`` in ``fmt/18``.

    title        meaning of the code in a few words, may be empty.
    provisional  whether identifiers of the type are not persistent.
    """

    code: str
    title: str
    provisional: bool = False


@runtime_checkable
class Typed(Protocol):
    """Extension of `Scheme` for schemes whose labels name types, which administrators may add."""

    def types(self, context: Context) -> Sequence[LabelType]:
        """Return the types of a namespace."""

    def with_type(self, context: Context, code: str, title: str) -> Context:
        """Return the context with the type, unchanged if it has the type already.

        It reads all labels that it read before in the same way. Raises InvalidData, which names the fault of
        code or title.
        """


@runtime_checkable
class Restricting(Protocol):
    """Extension of `Scheme` for rules that new labels obey, and that labels issued elsewhere may break."""

    def check_new(self, label: str, context: Context) -> None:
        """Raise InvalidIdentifier if a label cannot be given to anything new."""


@runtime_checkable
class Reserving(Protocol):
    """Extension of `Scheme` for schemes where parties may choose (``register``) only some labels."""

    def assigned_elsewhere(self, context: Context) -> bool:
        """Return whether another registry assigns the labels, except those that may be chosen here."""

    def reserved(self, label: str, context: Context) -> str | None:
        """Return the reason why the label cannot be chosen, with the remedy; None if it may be chosen."""


@cache
def scheme(name: str) -> Scheme:
    """Return the installed scheme ``name``; only its module is imported.

    Raises UnknownScheme if no package announces it, with a list of all names, or if two packages announce it.
    """
    if name in BUILT_IN:
        built_in: Scheme = import_module(BUILT_IN[name]).SCHEME
        return built_in
    points = _announced().get(name, ())
    if not points:
        raise UnknownScheme(
            f"no scheme {name!r} is installed; the installed schemes are {', '.join(_names())}", scheme=name
        )
    if len(points) > 1:
        raise _ambiguous(name)
    loaded: Scheme = points[0].load()
    return loaded


@cache
def installed() -> Mapping[str, Scheme]:
    """Return all installed schemes by name, sorted.

    Raises UnknownScheme if two packages announce the same name.
    """
    for name in _announced().keys() & BUILT_IN.keys():
        raise _ambiguous(name)
    return {name: scheme(name) for name in _names()}


@cache
def _announced() -> "Mapping[str, Sequence[EntryPoint]]":
    """Return the entry points of the schemes of other packages by name, without an import of a scheme."""
    from importlib.metadata import entry_points  # costs 20 ms, and most stores use built-in schemes alone

    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, []).append(point)
    return points


def _names() -> list[str]:
    return sorted({*BUILT_IN, *_announced()})


def _ambiguous(name: str) -> UnknownScheme:
    return UnknownScheme(f"two packages announce a scheme {name!r}; uninstall one of them", scheme=name)
