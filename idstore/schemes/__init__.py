"""What a scheme is, and where the installed ones are found.

A scheme is code for one kind of identifier: the grammar of its labels, how a new one is found, its written forms, and when two
texts are the same name. Each is one module that offers one object fulfilling `Scheme`, announced in the entry-point group
``idstore.schemes``; the five that come with idstore use that same public door.

A *label* in a *context* (base IRI + settings) makes a *name*; the IRI of the identifier is the base followed by the label,
percent-encoded where an IRI demands it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Protocol, runtime_checkable

from idstore.errors import UnknownScheme
from idstore.frozen import dataclass
from idstore.schemes._announced import announced


@dataclass(frozen=True, slots=True)
class Context:
    """A concrete context: what a scheme needs to know of a namespace.

    base       IRI that every identifier of the namespace begins with, in the form the scheme's ``context`` gave it.
    settings   every setting of the scheme, in text, defaults filled in.
    """

    base: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """One way to write an identifier: ``kind`` is a short word ("uri", "hdl", "proxy", "bare"), ``text`` the form itself."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    r"""One syntax rule of labels, in regular expressions that Python, SHACL and SPARQL engines read alike.

    They do without look-ahead, back-references, ``\d`` and ``\p{..}``, and never rely on ``$`` alone to keep a line break out.

    slug       short word, unique in its scheme; the IRI of the rule's shape ends in it.
    title      what the rule is about, in a few words.
    message    what a report says of a label that breaks it.
    patterns   all of these must be found in a label; if ``forbidden``, a label in which all of them are found is refused.
    """

    slug: str
    title: str
    message: str
    patterns: tuple[str, ...]
    forbidden: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """A label derived from metadata.

    label       the label, before collisions are looked at.
    extensions  what of it goes beyond the letter of the scheme's policy, a sentence each.
    doubts      what in the metadata somebody should look at: another label might have been meant.
    """

    label: str
    extensions: tuple[str, ...]
    doubts: tuple[str, ...] = ()


class Name(Protocol):
    """What ``parse`` returns: a frozen value, equal when the standard says that two texts are the same name.

    ``str(name)`` is the canonical form.
    """

    def __str__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...


class Allocation(Protocol):
    """What a scheme may ask for while it looks for a new label."""

    context: Context
    metadata: Mapping[str, str]
    """What the label is derived from (empty for opaque schemes)."""

    @property
    def asked(self) -> int:
        """When the label was asked for, in milliseconds since 1970: whoever asks may have to wait for others first."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01T00:00Z."""

    def wait_until(self, moment: int) -> None:
        """Return when the clock shows ``moment`` (milliseconds since 1970) or later, or was set back since `now`."""

    def issued(self, series: str) -> int:
        """How many labels of ``series`` were ever issued in this namespace."""

    def highest(self, series: str) -> int:
        """The highest number ever issued in ``series`` of this namespace, 0 if none: it never goes down."""


@runtime_checkable
class Scheme(Protocol):
    """One kind of identifier. Every method is pure, but ``candidates`` (clock and randomness)."""

    name: str
    """The name users type: lower-case letters, digits and hyphens."""
    title: str
    """One line for people: what the scheme identifies, and whose it is."""
    identifier_class: str
    """IRI of the class of its identifiers."""
    defaults: Mapping[str, str]
    """Every setting with its default value."""
    chosen: bool
    """Whether parties may choose labels (``register``)."""
    bulk: bool
    """Whether a party may take several labels at once (``mint --count``)."""
    example: str
    """A valid text, for help and error messages."""

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """Check a base and settings, fill in the defaults, and bring both into their stored form.

        Raises InvalidData, naming the setting or what is wrong with the base, and the remedy.
        """

    def parse(self, text: str) -> Name:
        """Read any written form, without knowing a namespace, under the default settings.

        Raises InvalidIdentifier, with the reason and the position of the first offending character.
        """

    def label(self, text: str, context: Context) -> str:
        """Read ``text``, in any written form (bare label, full IRI, ...), as an identifier of this context: its canonical label.

        Raises InvalidIdentifier: malformed, against the settings, or of another context (position 0).
        """

    def iri(self, label: str, context: Context) -> str:
        """The IRI of a canonical label."""

    def key(self, label: str, context: Context) -> str:
        """The comparison key: two labels of a context are the same name exactly when their keys are equal."""

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """Every form in which to write the identifier; ``label`` reads each of them back."""

    def series(self, label: str, context: Context) -> tuple[str, int]:
        """The series that a label is counted in, and its number there (0 where numbers mean nothing): see `Allocation`."""

    def provisional(self, label: str, context: Context) -> bool:
        """Whether the scheme's standard calls this identifier not persistent."""

    def rules(self, settings: Mapping[str, str]) -> Sequence[Rule]:
        """The syntax of labels under these settings (all of them), as `idstore.schemes.shapes` renders it to SHACL."""

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """Labels to try for a new identifier, best first; the registry takes the first that nobody holds.

        Raises InvalidData (metadata that nothing can be derived from, a scheme in which this namespace mints nothing),
        NamespaceExhausted.
        """


@runtime_checkable
class Deriving(Protocol):
    """What a scheme offers beside `Scheme` if it derives labels from metadata."""

    kinds: Mapping[str, str]
    """What can be minted below an identifier (metadata ``parent`` and ``kind``), with what its label has before the moment."""

    def derive(self, metadata: Mapping[str, str], context: Context) -> Derived:
        """The label that these metadata give. Raises InvalidData, naming the field."""

    def same(self, metadata: Mapping[str, str]) -> str | None:
        """A text that metadata of one thing have in common, however else they differ (its DOI); None where they have none."""

    def original(self, label: str) -> str:
        """The label that was derived, without what was added on a collision. Raises InvalidData for what was not derived."""

    def old_copies(self, label: str, context: Context) -> Iterator[str]:
        """Labels to try, best first, for the old copy of what ``label`` identifies when a new copy takes its place."""


@runtime_checkable
class Generating(Protocol):
    """What a scheme offers beside `Scheme` if it makes arbitrary labels, all of one length as long as there are any left."""

    def space(self, settings: Mapping[str, str]) -> int:
        """How many labels of that length there are."""


@runtime_checkable
class Aliasing(Protocol):
    """What a scheme offers beside `Scheme` if names can be written under other bases than their namespace's own."""

    def aliases(self, context: Context) -> tuple[str, ...]:
        """The other bases, none of which another namespace may have: ``label`` reads what is written under them."""


@runtime_checkable
class Valued(Protocol):
    """What a scheme offers beside `Scheme` if its identifiers carry typed values, as those of the Handle System do."""

    def typed(self, type: str, data: str | bytes) -> str | bytes:
        """The data of a value of that type, in the form in which they are kept. Raises InvalidData: not what the type holds."""


@dataclass(frozen=True, slots=True)
class LabelType:
    """A word that tells, within a label, what kind of thing it identifies: ``fmt`` in ``fmt/18``.

    title        what it means, in a few words; empty if nobody said.
    provisional  whether identifiers of this type are not meant to last.
    """

    code: str
    title: str
    provisional: bool = False


@runtime_checkable
class Typed(Protocol):
    """What a scheme offers beside `Scheme` if its labels name types, and administrators may add some."""

    def types(self, context: Context) -> Sequence[LabelType]:
        """The types of a namespace."""

    def with_type(self, context: Context, code: str, title: str) -> Context:
        """The context with one type more, or as it is if it has that type. Labels that it read before it reads as before.

        Raises InvalidData, naming what is wrong with the code or the title.
        """


@runtime_checkable
class Reserving(Protocol):
    """What a scheme offers beside `Scheme` if parties may choose some labels (``register``) and not others."""

    def reserved(self, label: str, context: Context) -> str | None:
        """Why nobody chooses this label, and what to do instead; None if it may be chosen."""


@cache
def _places() -> Mapping[str, Sequence[str]]:
    """Where the installed packages say that schemes are; nothing is imported yet."""
    found: dict[str, list[str]] = {}
    for name, place in announced():
        found.setdefault(name, []).append(place)
    return found


@cache
def scheme(name: str) -> Scheme:
    """The installed scheme ``name``; only its module is imported. Raises UnknownScheme, listing those there are, or when two packages announce it."""
    places = _places().get(name, ())
    if not places:
        raise UnknownScheme(f"no scheme {name!r} is installed; there are {', '.join(_places())}", scheme=name)
    if len(places) > 1:
        raise UnknownScheme(f"two packages announce a scheme {name!r}; uninstall one of them", scheme=name)
    module, _, attribute = places[0].partition("[")[0].strip().partition(":")
    loaded: Scheme = attrgetter(attribute.strip())(import_module(module.strip()))
    return loaded


@cache
def installed() -> Mapping[str, Scheme]:
    """Every installed scheme by name, sorted. Raises UnknownScheme for a name that two packages announce."""
    return {name: scheme(name) for name in _places()}
