"""Conformance kits for authors of plug-ins; idstore's own parts pass the same tests.

Subclass a kit in a test module of your own and give it what it asks for::

    from idstore.testing import SchemeTests

    class TestMyScheme(SchemeTests):
        scheme = SCHEME
        context = SCHEME.context("http://example.org/things/", {})
        valid = ("a1", "b2")
        invalid = ("", "A1")
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

import pytest
from pyoxigraph import NamedNode

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Context, Rule, Scheme, shapes

_DRAWN = 5


@dataclass(slots=True)
class SimulatedAllocation:
    """An allocation with a clock of its own: see `idstore.schemes.Allocation`.

    metadata  what labels are derived from.
    clock     milliseconds since 1970; `wait_until` moves it on.
    counts    of each series how many labels were issued.
    marks     of each series the highest number issued.
    waited    milliseconds since it was asked for.
    """

    context: Context
    metadata: Mapping[str, str] = field(default_factory=dict)
    clock: int = 1_800_000_000_000
    counts: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    waited: int = 0

    @property
    def asked(self) -> int:
        """So long ago."""
        return self.clock - self.waited

    def now(self) -> int:
        """What the clock shows."""
        return self.clock

    def wait_until(self, moment: int) -> None:
        """Move the clock on to ``moment``; it never goes back."""
        self.clock = max(self.clock, moment)

    def issued(self, series: str) -> int:
        """As told in ``counts``."""
        return self.counts.get(series, 0)

    def highest(self, series: str) -> int:
        """As told in ``marks``."""
        return self.marks.get(series, 0)


def obeys(label: str, rules: Sequence[Rule]) -> bool:
    """Whether a label breaks none of the rules, as a SHACL engine with Python's regular expressions sees it."""
    return bool(label) and all(all(re.search(pattern, label) for pattern in rule.patterns) is not rule.forbidden for rule in rules)


class SchemeTests:
    """What every scheme must do.

    scheme    the scheme.
    context   one of its contexts.
    valid     canonical labels of that context, also such as cannot stand alone because they look like another written form.
    invalid   texts that are no identifiers of that context.
    metadata  what a label can be minted from, where the scheme asks for it.
    mints     whether the context mints at all.
    """

    scheme: ClassVar[Scheme]
    context: ClassVar[Context]
    valid: ClassVar[Sequence[str]]
    invalid: ClassVar[Sequence[str]]
    metadata: ClassVar[Mapping[str, str]] = {}
    mints: ClassVar[bool] = True

    def _each(self, check: Callable[[str], None]) -> None:
        assert self.valid, "give some valid labels"
        for label in self.valid:
            check(label)

    def test_fulfils_the_protocol(self) -> None:
        """It has every member, a name that can be typed, and the IRI of a class."""
        assert isinstance(self.scheme, Scheme)
        assert re.fullmatch("[a-z][a-z0-9-]*", self.scheme.name)
        assert self.scheme.title
        NamedNode(self.scheme.identifier_class)

    def test_contexts_are_stored_as_they_are(self) -> None:
        """A context's base and settings give that context again, and every setting is there."""
        again = self.scheme.context(self.context.base, self.context.settings)
        assert (again.base, dict(again.settings)) == (self.context.base, dict(self.context.settings))
        assert set(again.settings) == set(self.scheme.defaults)
        NamedNode(again.base)

    def test_unknown_settings_are_refused_by_name(self) -> None:
        """The error names the setting and those there are."""
        with pytest.raises(InvalidData) as caught:
            self.scheme.context(self.context.base, {"no_such_setting": "1"})
        assert all(name in caught.value.message for name in ("no_such_setting", *self.scheme.defaults))

    def test_parsing_what_was_parsed_changes_nothing(self) -> None:
        """The canonical form is read as itself; equal names have equal hashes."""
        name = self.scheme.parse(self.scheme.example)
        again = self.scheme.parse(str(name))
        assert again == name
        assert str(again) == str(name)
        assert hash(again) == hash(name)

    def test_labels_obey_the_rules(self) -> None:
        """What the scheme's code takes for a label conforms to the scheme's shape."""
        rules = self.scheme.rules(self.context.settings)

        def check(label: str) -> None:
            assert obeys(label, rules), label

        self._each(check)

    def test_iris_belong_to_the_base(self) -> None:
        """An identifier's IRI is absolute, begins with the base, and is read as its label."""

        def check(label: str) -> None:
            iri = self.scheme.iri(label, self.context)
            NamedNode(iri)
            assert iri.startswith(self.context.base)
            assert iri != self.context.base
            assert self.scheme.label(iri, self.context) == label

        self._each(check)

    def test_written_forms_are_read_back(self) -> None:
        """Each written form gives the label, and the full IRI is one of them."""

        def check(label: str) -> None:
            forms = self.scheme.written_forms(label, self.context)
            assert self.scheme.iri(label, self.context) in [form.text for form in forms]
            assert [self.scheme.label(form.text, self.context) for form in forms] == [label] * len(forms)
            assert len({form.text for form in forms}) == len(forms)

        self._each(check)

    def test_keys_stay(self) -> None:
        """The key of a key is that key, and labels are counted in a series with a number of 0 or more."""

        def check(label: str) -> None:
            key = self.scheme.key(label, self.context)
            assert self.scheme.key(key, self.context) == key
            NamedNode(self.scheme.iri(key, self.context))
            assert self.scheme.series(label, self.context)[1] >= 0

        self._each(check)

    def test_invalid_texts_are_refused_with_the_position(self) -> None:
        """The error carries the text, a reason, the scheme's name and a position in the text or at its end."""
        assert self.invalid, "give some invalid texts"
        for text in self.invalid:
            with pytest.raises(InvalidIdentifier) as caught:
                self.scheme.label(text, self.context)
            assert (caught.value.text, caught.value.scheme) == (text, self.scheme.name)
            assert caught.value.reason
            assert 0 <= caught.value.position <= len(text)

    def test_minted_labels_conform(self) -> None:
        """What is minted can be read, obeys the rules, and is not offered twice in a row."""
        if not self.mints:
            return
        rules = self.scheme.rules(self.context.settings)
        drawn = list(islice(self.scheme.candidates(SimulatedAllocation(self.context, self.metadata)), _DRAWN))
        assert len(set(drawn)) == _DRAWN
        for label in drawn:
            assert self.scheme.label(self.scheme.iri(label, self.context), self.context) == label
            assert obeys(label, rules), label

    def test_shapes_are_named(self) -> None:
        """The namespace's shape has no blank nodes, and every shape in it has a name, a message and a severity."""
        triples = shapes.shape(self.scheme, self.context)
        said: dict[str, set[str]] = {}
        for triple in triples:
            assert isinstance(triple.subject, NamedNode)
            assert triple.subject.value.startswith(shapes.SHAPES)
            said.setdefault(triple.subject.value, set()).add(triple.predicate.value.rpartition("#")[2])
        assert all({"type", "name", "message", "severity"} <= predicates for predicates in said.values())
